/// A line that is being typed: what keys do to it. Knows nothing of a terminal.
struct EditedLine {
  enum Key: Equatable {
    case text(String)
    case backspace, delete, left, right, home, end, up, down, tab
    case deleteWord, deleteToStart, deleteToEnd
    case enter, interrupt, endOfFile, redraw
  }

  enum Event: Equatable {
    case none
    /// The line is complete.
    case line(String)
    /// There will be no more lines.
    case ended
    /// What could stand here, to be listed.
    case candidates([String])
  }

  private(set) var characters: [Character] = []
  private(set) var cursor = 0
  private(set) var history: [String]
  /// Which earlier line is shown; `history.count` for the new one.
  private var place: Int
  private var unfinished = ""
  private let complete: (String) -> (start: Int, words: [String])
  private static let longestHistory = 1_000

  init(history: [String] = [], complete: @escaping (String) -> (start: Int, words: [String])) {
    self.history = Array(history.suffix(Self.longestHistory))
    place = self.history.count
    self.complete = complete
  }

  var text: String { String(characters) }

  mutating func press(_ key: Key) -> Event {
    switch key {
    case .text(let text):
      characters.insert(contentsOf: text, at: cursor)
      cursor += text.count
    case .backspace:
      if cursor > 0 {
        cursor -= 1
        characters.remove(at: cursor)
      }
    case .delete: if cursor < characters.count { characters.remove(at: cursor) }
    case .left: cursor = max(0, cursor - 1)
    case .right: cursor = min(characters.count, cursor + 1)
    case .home: cursor = 0
    case .end: cursor = characters.count
    case .up: show(place - 1)
    case .down: show(place + 1)
    case .deleteToStart:
      characters.removeFirst(cursor)
      cursor = 0
    case .deleteToEnd: characters.removeLast(characters.count - cursor)
    case .deleteWord:
      var start = cursor
      while start > 0, characters[start - 1].isWhitespace { start -= 1 }
      while start > 0, !characters[start - 1].isWhitespace { start -= 1 }
      characters.removeSubrange(start..<cursor)
      cursor = start
    case .tab: return completed()
    case .interrupt: reset()
    case .endOfFile:
      if characters.isEmpty { return .ended }
      return press(.delete)
    case .enter:
      let line = text
      if !line.allSatisfy(\.isWhitespace), history.last != line {
        history.append(line)
        if history.count > Self.longestHistory { history.removeFirst() }
      }
      reset()
      return .line(line)
    case .redraw: break
    }
    return .none
  }

  private mutating func reset() {
    characters = []
    cursor = 0
    unfinished = ""
    place = history.count
  }

  private mutating func show(_ wanted: Int) {
    guard wanted >= 0, wanted <= history.count, wanted != place else { return }
    if place == history.count { unfinished = text }
    place = wanted
    characters = Array(wanted == history.count ? unfinished : history[wanted])
    cursor = characters.count
  }

  private mutating func completed() -> Event {
    let (start, words) = complete(String(characters[..<cursor]))
    if words.isEmpty || start > cursor { return .none }
    let common = Completer.common(words)
    let typed = String(characters[start..<cursor])
    let isWhole = words.count == 1
    if common.count > typed.count || isWhole {
      let ending = isWhole && !common.hasSuffix("/p") ? " " : ""
      characters.replaceSubrange(start..<cursor, with: common + ending)
      cursor = start + common.count + ending.count
      return .none
    }
    return .candidates(words)
  }
}
