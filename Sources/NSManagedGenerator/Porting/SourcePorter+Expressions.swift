extension SourcePorter {
  /// At `#keyPath`.
  mutating func keyPath() {
    guard at(position + 2).is("("), let close = closing(position + 2) else { return }
    let names = keys(position + 3..<close)
    guard !names.isEmpty else { return }
    write(names.joined(separator: "."), to: close)
  }

  /// At a name, a call that is no more than the name of a getter.
  mutating func selectorName() {
    guard at(position + 1).is("("), let close = closing(position + 1), at(position + 2).is("#"),
      at(position + 3).is("selector"), at(position + 4).is("("), closing(position + 4) == close - 1,
      at(position + 5).is("getter"), at(position + 6).is(":"),
      let name = keys(position + 7..<close - 1).last
    else { return }
    write(name, to: close)
  }

  /// Makes a text of what is from here to a bracket.
  private mutating func write(_ path: String, to close: Int) {
    let range = token.range.lowerBound..<at(close).range.upperBound
    if let whole = interpolation, position == 1, close == tokens.count - 3 {
      // The code is nothing else: the text can say it itself.
      replace(whole.range, with: path, line: token.line, "\(text(whole.range)) → \(path)")
    } else {
      let new = Spelling.literal(path)
      replace(range, with: new, line: token.line, "\(text(range)) → \(new)")
    }
    position = close
  }

  /// The properties that are named there, as models call them.
  private mutating func keys(_ indexes: Range<Int>) -> [String] {
    let names = indexes.map(at).filter(\.isName).map(\.text)
    guard !names.isEmpty else { return [] }
    let properties = properties(names)
    var type = names.count > properties.count ? names[names.count - properties.count - 1] : enclosingType
    if type == "self" || type == "Self" { type = enclosingType }
    return properties.map { property in
      let key = folder.key(of: property, in: type)
      // Of what class the next one is a property is not known.
      type = nil
      if key == nil {
        remark("“\(property)” has another name in the model in some classes: see whether it is one of those")
      }
      return key ?? property
    }
  }

  private var enclosingType: String? { frames.last { $0 != nil }??.name }

  /// The names without those of modules and types, which stand before them: `Module.Book.title`.
  private func properties(_ names: [String]) -> [String] {
    if ["self", "Self"].contains(names[0]), names.count > 1 { return Array(names.dropFirst()) }
    let last =
      names.lastIndex(where: folder.types.contains)
      ?? names.lastIndex { $0.first?.isUppercase == true && $0 != $0.uppercased() }
      ?? (names[0].first?.isUppercase == true ? 0 : nil)
    guard let last, last < names.count - 1 else { return names }
    return Array(names[(last + 1)...])
  }

  /// At `#selector`, outside of what `observer()` has taken.
  mutating func selector() {
    guard at(position + 2).is("("), let close = closing(position + 2) else { return }
    if position == handledSelector {
      position = close
      return
    }
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
    if sign.is("CVarArg") { return argument() }
    if sign.is("!") || sign.is("?"), Self.unkept.contains(at(position + 2).text), isOfUserInfo(position) {
      let type = at(position + 2).text
      return remark(
        "Foundation on Linux makes a Swift value of the \(type) in userInfo, and the cast fails: keep it in an object of a class of your own"
      )
    }
    if sign.is("!") || sign.is("?"), at(position + 2).is("Set"), isRelationshipSet(before: position) {
      return remark(
        "Foundation on Linux makes an empty set of one that stands for a relationship: cast its objects, Set(set.allObjects as! [Member])"
      )
    }
    guard sign.is("!") || sign.is("?"), at(position + 2).is("NSFetchRequest"),
      let end = closingAngle(position + 3)
    else { return }
    let type = text(at(position + 2).range.lowerBound..<at(end).range.upperBound)
    let isOfAny = at(end - 1).is("NSFetchRequestResult")
    let isMade = at(position - 1).is(")") && at(position - 2).is("(") && at(position - 3).is("fetchRequest")
    if isOfAny, isMade {
      if sign.is("?") {
        return remark("as? \(type): a Swift class keeps its type argument; write `as` and no `if let`")
      }
      return replace(sign.range, with: "", line: token.line, "as! \(type) → as \(type)")
    }
    guard sign.is("!") || isOfAny, let first = operand(before: position),
      isMade || isRequest(first..<position)
    else {
      return remark(
        "a Swift class keeps its type argument, so this cast fails for a request with another one: make a copy, \(type)(request)"
      )
    }
    let start = at(first).range.lowerBound
    // Whoever asks with `as?` goes on with an optional.
    let (opening, closing) = sign.is("?") ? ("Optional(\(type)(", "))") : ("\(type)(", ")")
    replace(start..<start, with: opening, line: token.line, "as\(sign.text) \(type) → \(opening)…\(closing)")
    replace(at(position - 1).range.upperBound..<at(end).range.upperBound, with: closing, line: token.line, "")
    position = end
  }

  /// Classes whose objects come out of an `NSDictionary` as values.
  private static let unkept: Set<String> = [
    "NSMutableDictionary", "NSMutableArray", "NSMutableSet", "NSMutableString", "NSMutableData",
  ]

  /// Whether what is cast at `index` is an entry of the `userInfo` of something, which is a dictionary of Foundation's: `userInfo[key]`,
  /// `userInfo.object(forKey: key)`.
  private func isOfUserInfo(_ index: Int) -> Bool {
    guard at(index - 1).is("]") || at(index - 1).is(")"), let open = opening(index - 1) else { return false }
    if at(index - 1).is("]") { return at(open - 1).is("userInfo") }
    return at(open - 1).is("object") && at(open - 2).is(".") && at(open - 3).is("userInfo")
  }

  /// Whether what is cast at `index` certainly comes from `mutableSetValue(forKey:)`: the call itself, or a name that the file gives its result.
  private func isRelationshipSet(before index: Int) -> Bool {
    if at(index - 1).is(")") {
      return opening(index - 1).map { at($0 - 1).is("mutableSetValue") } ?? false
    }
    guard at(index - 1).isName, !at(index - 2).is(".") else { return false }
    let name = at(index - 1).text
    return fileTokens.indices.dropLast(2).contains { place in
      guard fileTokens[place].isName, fileTokens[place].text == name, fileTokens[place + 1].is("=") else {
        return false
      }
      return fileTokens[(place + 2)...].prefix { $0.line == fileTokens[place].line }
        .contains { $0.is("mutableSetValue") }
    }
  }

  /// Where the expression begins that is cast at `index`: names, calls and brackets with dots between them; nil for any other one.
  private func operand(before index: Int) -> Int? {
    var next = index - 1
    while true {
      if at(next).is("!") { next -= 1 }
      if at(next).is(")") || at(next).is("]") {
        guard let open = opening(next) else { return nil }
        next = open - 1
        if at(open).followsSpace
          || !(at(next).isName || at(next).is(">") || at(next).is(")") || at(next).is("]"))
        {
          return open
        }
        continue
      }
      if at(next).is(">") {
        guard let open = openingAngle(next) else { return nil }
        next = open - 1
      }
      guard at(next).isName, !["try", "await", "in", "return"].contains(at(next).text) else { return nil }
      guard at(next - 1).is(".") else { return next }
      next -= 2
      guard next >= 0, !at(next).is("?") else { return nil }
    }
  }

  /// Whether an expression certainly is a request: one that is made there, or a name that the file declares as nothing else.
  private func isRequest(_ indexes: Range<Int>) -> Bool {
    let first = indexes.lowerBound
    if at(first).is("NSFetchRequest"), let angle = closingAngle(first + 1), at(angle + 1).is("(") {
      return closing(angle + 1) == indexes.upperBound - 1
    }
    guard indexes.count == 1, at(first).isName else { return false }
    let name = at(first).text
    var isDeclared = false
    for index in fileTokens.indices.dropLast(4)
    where fileTokens[index].isName && fileTokens[index].text == name {
      if index > 0, fileTokens[index - 1].is(".") { continue }
      let (sign, value) = (fileTokens[index + 1], fileTokens[index + 2])
      if sign.is("in") || sign.is(",") && index > 0 && fileTokens[index - 1].is("{") { return false }
      if sign.is(":"), value.is("NSFetchRequest") {
        var end = index + 3
        while end < fileTokens.count - 1, !fileTokens[end].is(">") { end += 1 }
        if fileTokens[end + 1].is("?") || fileTokens[end + 1].is("!") { return false }
        isDeclared = true
      } else if sign.is(":"), value.text.first?.isUppercase == true || ["any", "some"].contains(value.text) {
        return false
      } else if sign.is("="), index > 0, ["let", "var"].contains(fileTokens[index - 1].text) {
        guard
          value.is("NSFetchRequest")
            || value.isName && fileTokens[index + 3].is(".")
              && fileTokens[index + 4].is("fetchRequest")
        else { return false }
        isDeclared = true
      }
    }
    return isDeclared
  }

  private func closingAngle(_ open: Int) -> Int? {
    guard at(open).is("<") else { return nil }
    var depth = 0
    var index = open
    while at(index).kind != .end, !at(index).is(";"), !at(index).is("{") {
      if at(index).is("<") { depth += 1 }
      if at(index).is(">"), !at(index - 1).is("-") { depth -= 1 }
      if depth == 0 { return index }
      index += 1
    }
    return nil
  }

  private func openingAngle(_ close: Int) -> Int? {
    var depth = 0
    var index = close
    while index >= 0, at(index).isName || ["<", ">", ".", ",", "[", "]", "?"].contains(at(index).text) {
      if at(index).is(">") { depth += 1 }
      if at(index).is("<") { depth -= 1 }
      if depth == 0 { return index }
      index -= 1
    }
    return nil
  }

  private func opening(_ close: Int) -> Int? {
    var depth = 0
    var index = close
    while index >= 0 {
      if at(index).kind == .sign {
        if [")", "]", "}"].contains(at(index).text) { depth += 1 }
        if ["(", "[", "{"].contains(at(index).text) { depth -= 1 }
        if depth == 0 { return index }
      }
      index -= 1
    }
    return nil
  }

  /// At `as`, before `CVarArg`.
  private mutating func argument() {
    guard at(position - 1).is("]"), let open = opening(position - 1),
      at(open).followsSpace || !at(open - 1).isName
    else { return }
    remark("a list is no CVarArg: write the list alone, or as NSArray")
  }

  /// At `FileProtectionType`: what is no object elsewhere is one as a text.
  mutating func fileProtection() {
    guard at(position + 1).is("."), at(position + 2).isName, at(position + 3).is("as"),
      at(position + 4).is("NSObject")
    else { return }
    replace(
      at(position + 2).range.upperBound..<at(position + 4).range.upperBound, with: ".rawValue as NSString",
      line: token.line, "as NSObject → .rawValue as NSString")
    position += 4
  }

  /// At `archivedData`, if what is archived certainly is a predicate or sort descriptors.
  mutating func archive() {
    guard at(position + 1).is("("), let close = closing(position + 1),
      let root = arguments(position + 1, close).first, root.label == "withRootObject",
      isCriterion(root.first..<root.end)
    else { return }
    remark(
      "Foundation on Linux archives no predicates and no sort descriptors, and stops the process: keep predicateFormat, or key and ascending"
    )
  }

  private static let criteria: Set<String> = [
    "NSPredicate", "NSCompoundPredicate", "NSComparisonPredicate", "NSSortDescriptor",
  ]

  /// Whether an expression is made there of a class of predicates or sort descriptors, alone or in a list, or is a name that the file declares so, or a property of a request.
  private func isCriterion(_ indexes: Range<Int>) -> Bool {
    guard let last = indexes.last(where: { !at($0).is("!") }) else { return false }
    let first = indexes.lowerBound
    if Self.criteria.contains(at(at(first).is("[") ? first + 1 : first).text) { return !at(last).isName }
    guard at(last).isName else { return false }
    let name = at(last).text
    if last > first, at(last - 1).is(".") {
      if ["predicate", "sortDescriptors"].contains(name) { return true }
      guard last == first + 2, at(first).is("self") else { return false }
    } else if last > first {
      return false
    }
    return fileTokens.indices.dropLast(3).contains { index in
      guard fileTokens[index].isName, fileTokens[index].text == name,
        fileTokens[index + 1].is(":") || fileTokens[index + 1].is("=")
      else { return false }
      return Self.criteria.contains(fileTokens[index + (fileTokens[index + 2].is("[") ? 3 : 2)].text)
    }
  }

  /// At `addObserver`.
  mutating func observer() {
    let (name, number) = (position, token.line)
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
      let selectorEnd = closing(handler.first + 2), selectorEnd == handler.end - 1,
      let call = call(handler.first + 3, selectorEnd)
    else { return }
    // Only the selector goes: what else is in the call stays as it is, with its comments.
    let (label, next) = (handler.first - 2, arguments[2].first - 2)
    let taken = at(label).range.lowerBound..<at(handler.end).range.upperBound
    if text(taken).contains("//") || text(taken).contains("/*") { return }
    var stop = taken.upperBound
    let blanks = [UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"), UInt8(ascii: "\n")]
    if text(taken.upperBound..<at(next).range.lowerBound).trimmingBlanks.isEmpty {
      let isFirst = text(line(around: taken.lowerBound).range.lowerBound..<taken.lowerBound).trimmingBlanks
        .isEmpty
      let isNear = isFirst || at(next).line == at(handler.end).line
      while isNear, stop < bytes.count, blanks.contains(bytes[stop]) { stop += 1 }
    }
    var start = taken.lowerBound
    if stop == taken.upperBound {
      // The next argument stands on a line of its own: no blank is left at the end of this one.
      while start > 0, bytes[start - 1] == UInt8(ascii: " ") { start -= 1 }
    }
    replace(start..<stop, with: "", line: number, "")
    let end = at(close).range.upperBound
    replace(end..<end, with: " { \(call) }", line: number, "#selector → a closure")
    handledSelector = handler.first
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
    var labels: [String]?
    if at(index + 1).is("(") {
      labels = (index + 2..<end).map(at).filter(\.isName).map(\.text)
      guard labels?.count == 1 else { return nil }
    }
    func fitting(_ methods: [String: Set<[FolderFacts.Parameter]>]) -> Set<[FolderFacts.Parameter]> {
      (methods[name] ?? []).filter { labels == nil || $0.map(\.label) == labels }
    }
    // Methods of this file come before others of that name.
    let own = fitting(methods)
    let known = own.isEmpty ? fitting(folder.methods) : own
    if labels == nil || !known.isEmpty { guard known.count == 1 else { return nil } }
    guard let parameters = known.first ?? labels?.map({ .init(label: $0, type: "") }), parameters.count < 2
    else {
      return nil
    }
    let method = Spelling.name(name)
    // A closure of two parameters must name both where it uses only one.
    guard let only = parameters.first else { return "observer, _ in observer.\(method)()" }
    let bridged = ["NSNotification", "AnyObject"].contains(only.type)
    let value = bridged ? "$1 as \(only.type)" : "$1"
    return "$0.\(method)(\(only.label == "_" ? "" : only.label + ": ")\(value))"
  }
}
