/// The `#if` around what is being read.
struct ConditionStack {
  private struct Level {
    /// The conditions of the branches before this one.
    var passed: [String]
    /// This branch's own; nil in `#else`.
    var own: String?
  }
  private var levels: [Level] = []

  /// What must hold for the code here to be compiled, outermost first.
  var current: [String] {
    levels.map { level in
      (level.passed.map { "!(\($0))" } + (level.own.map { ["(\($0))"] } ?? [])).joined(separator: " && ")
    }
  }

  /// Goes on behind a line such as `#if os(Linux)`.
  mutating func apply(_ directive: String) {
    let words = directive.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: true)
    var keyword = words.first.map(String.init) ?? ""
    var condition = words.count > 1 ? String(words[1]).trimmingBlanks : ""
    // `#if(os(Linux))`, `#if!DEBUG`.
    for name in ["#elseif", "#if"] where keyword.hasPrefix(name) && keyword != name {
      condition = String(directive.dropFirst(name.count)).trimmingBlanks
      keyword = name
    }
    switch keyword {
    case "#if": levels.append(Level(passed: [], own: condition))
    case "#elseif":
      guard var level = levels.popLast() else { return }
      if let own = level.own { level.passed.append(own) }
      level.own = condition
      levels.append(level)
    case "#else":
      guard var level = levels.popLast() else { return }
      if let own = level.own { level.passed.append(own) }
      level.own = nil
      levels.append(level)
    default: _ = levels.popLast()
    }
  }
}

extension String {
  /// Without blanks at either end.
  var trimmingBlanks: String {
    var text = self[...]
    while text.first?.isWhitespace == true { text.removeFirst() }
    while text.last?.isWhitespace == true { text.removeLast() }
    return String(text)
  }
}
