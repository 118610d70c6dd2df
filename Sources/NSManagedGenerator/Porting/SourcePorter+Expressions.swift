extension SourcePorter {
  /// At `#keyPath`.
  mutating func keyPath() {
    guard at(position + 2).is("("), let close = closing(position + 2) else { return }
    var names = (position + 3..<close).map(at).filter(\.isName).map(\.text)
    // Types stand before properties: `Module.Book.title`.
    while names.count > 1, names[0].first?.isUppercase == true { names.removeFirst() }
    guard !names.isEmpty else { return }
    let range = token.range.lowerBound..<at(close).range.upperBound
    let new = Spelling.literal(names.joined(separator: "."))
    replace(range, with: new, line: token.line, "\(text(range)) → \(new)")
    position = close
  }

  /// At `#selector`, outside of what `observer()` has taken.
  mutating func selector() {
    guard at(position + 2).is("("), let close = closing(position + 2) else { return }
    let names = (position + 3..<close).map(at)
    let range = token.range.lowerBound..<at(close).range.upperBound
    if names.first?.is("NSString") == true, names.count > 2, let name = names.dropFirst(2).first, name.isName
    {
      let new = "Selector(\"\(name.text):\")"
      replace(range, with: new, line: token.line, "\(text(range)) → \(new)")
    } else {
      remark("\(text(range)): there are no selectors without Objective-C; pass a closure")
    }
    position = close
  }

  /// At `as`.
  mutating func cast() {
    let sign = at(position + 1)
    guard sign.is("!") || sign.is("?"), at(position + 2).is("NSFetchRequest"), at(position + 3).is("<"),
      at(position + 4).is("NSFetchRequestResult"), at(position + 5).is(">"), at(position - 1).is(")"),
      at(position - 2).is("("), at(position - 3).is("fetchRequest")
    else { return }
    if sign.is("?") {
      return remark(
        "as? NSFetchRequest<NSFetchRequestResult>: a Swift class keeps its type argument; write `as` and no `if let`"
      )
    }
    replace(
      sign.range, with: "", line: token.line,
      "as! NSFetchRequest<NSFetchRequestResult> → as NSFetchRequest<NSFetchRequestResult>")
  }

  /// At `addObserver`.
  mutating func observer() {
    let (name, line) = (position, token.line)
    guard at(name + 1).is("("), let close = closing(name + 1) else { return }
    let arguments = arguments(name + 1, close)
    if arguments.contains(where: { $0.label == "forKeyPath" }) {
      return remark(
        "key-value observation is Apple's: use did-change notifications, a fetched results controller, or Observation"
      )
    }
    guard arguments.map(\.label) == ["", "selector", "name", "object"] else { return }
    let handler = arguments[1]
    guard at(handler.first).is("#"), at(handler.first + 1).is("selector"), at(handler.first + 2).is("("),
      let end = closing(handler.first + 2), let call = call(handler.first + 3, end)
    else { return }
    func written(_ argument: Argument) -> String {
      text(at(argument.first).range.lowerBound..<at(argument.end - 1).range.upperBound)
    }
    let range = at(name).range.lowerBound..<at(close).range.upperBound
    let new =
      "addObserver(\(written(arguments[0])), name: \(written(arguments[2])), object: \(written(arguments[3]))) { \(call) }"
    replace(range, with: new, line: line, "#selector → a closure")
    position = close
  }

  private struct Argument {
    let label: String
    let first: Int
    let end: Int
  }

  /// The arguments between two brackets.
  private func arguments(_ open: Int, _ close: Int) -> [Argument] {
    var result: [Argument] = []
    var start = open + 1
    var index = start
    func add() {
      guard start < index else { return }
      let hasLabel = at(start).isName && at(start + 1).is(":")
      result.append(
        Argument(label: hasLabel ? at(start).text : "", first: hasLabel ? start + 2 : start, end: index))
    }
    while index < close {
      if at(index).is("(") || at(index).is("[") || at(index).is("{"), let end = closing(index) {
        index = end + 1
        continue
      }
      if at(index).is(",") {
        add()
        start = index + 1
      }
      index += 1
    }
    add()
    return result
  }

  /// The call of a method that a selector names, of `$0` with the notification `$1`; nil when it takes something else.
  private func call(_ first: Int, _ end: Int) -> String? {
    var index = first
    while at(index).isName, at(index + 1).is(".") { index += 2 }
    guard at(index).isName else { return nil }
    let name = at(index).text
    var label: String?
    if at(index + 1).is("(") {
      let labels = (index + 2..<end).map(at).filter(\.isName).map(\.text)
      guard labels.count == 1 else { return nil }
      label = labels[0]
    } else {
      guard let known = folder.methods[name], known.count == 1, let only = known.first, only.count < 2 else {
        return nil
      }
      label = only.first
    }
    let method = Spelling.name(name)
    switch label {
    // A closure of two parameters must name both where it uses only one.
    case nil: return "observer, _ in observer.\(method)()"
    case "_"?: return "$0.\(method)($1)"
    case let label?: return "$0.\(method)(\(label): $1)"
    }
  }
}
