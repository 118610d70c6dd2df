// What key-value coding looks for by name. Nothing is consumed: bodies are passed over by the main loop.

extension SourceReader {
  /// A property at `var` or `let`, if another file of the module may read it of every object of the class.
  mutating func keyedProperty() {
    let name = at(position + 1)
    guard name.isName, name.text != "_", mayBeKeyed(isOfClass: false) else { return }
    var next = position + 2
    if at(next).is(":") {
      var parser = TypeParser(tokens: tokens, position: next + 1)
      guard parser.type() != nil else { return }
      next = parser.position
    }
    if at(next).is("{"), getterMayWaitOrThrow(next) { return }
    note(.property, name)
  }

  /// A method at `func`, if its name has a meaning.
  mutating func keyedMethod() {
    let name = at(position + 1)
    guard name.isName, at(position + 2).is("(") else { return }
    if let key = Self.key(name.text, after: "validate"), !Self.checksOfObjects.contains(key) {
      guard at(position + 3).is("_"), at(position + 4).isName, at(position + 5).is(":"),
        mayBeKeyed(isOfClass: false)
      else { return }
      var parser = TypeParser(tokens: tokens, position: position + 6)
      guard let type = parser.type(), Self.pointers.contains("\(type)"), at(parser.position).is(")"),
        at(parser.position + 1).is("throws"), at(parser.position + 2).is("{")
      else { return }
      note(.validation, name)
    } else if Self.key(name.text, after: "keyPathsForValuesAffecting") != nil, at(position + 3).is(")"),
      at(position + 4).is("-"), at(position + 5).is(">"), mayBeKeyed(isOfClass: true)
    {
      var parser = TypeParser(tokens: tokens, position: position + 6)
      if let type = parser.type(), "\(type)" == "Set<String>" { note(.affecting, name) }
    }
  }

  /// The key that a method's name speaks of: `Title` of `validateTitle`.
  static func key(_ name: String, after prefix: String) -> String? {
    guard name.hasPrefix(prefix), let first = name.dropFirst(prefix.count).first, !first.isLowercase else {
      return nil
    }
    return String(name.dropFirst(prefix.count))
  }

  private static let checksOfObjects: Set<String> = ["Value", "ForInsert", "ForUpdate", "ForDelete"]
  private static let pointers: Set<String> = [
    "AutoreleasingUnsafeMutablePointer<AnyObject?>", "UnsafeMutablePointer<AnyObject?>",
  ]

  private func mayBeKeyed(isOfClass: Bool) -> Bool {
    guard let frame = braces.last ?? nil, !frame.isIsolated else { return false }
    let modifiers = modifiersBefore(position)
    guard modifiers.words.isDisjoint(with: ["static", "class"]) != isOfClass, !modifiers.isIsolated,
      modifiers.attributes.isDisjoint(with: ["available", "NSManaged"])
    else { return false }
    return !(modifiers.access ?? frame.memberAccess).isPrivate && !scope.parts.contains(where: \.isGeneric)
  }

  private mutating func note(_ kind: KeyedMember.Kind, _ name: Token) {
    result.keyed.append(
      KeyedMember(
        kind: kind, name: name.text, scope: scope, conditions: conditions.current, place: place(name)))
  }

  /// Whether the braces at `index` have a getter that is asynchronous or throws: no key path leads to such a property.
  private func getterMayWaitOrThrow(_ index: Int) -> Bool {
    var depth = 0
    var index = index
    repeat {
      let token = at(index)
      if token.is("{") { depth += 1 }
      if token.is("}") { depth -= 1 }
      if depth == 1, token.is("get"), at(index + 1).is("async") || at(index + 1).is("throws") { return true }
      if token.kind == .end { return false }
      index += 1
    } while depth > 0
    return false
  }
}
