// What key-value coding looks for by name. Nothing is consumed: bodies are passed over by the main loop.

extension SourceReader {
  /// The properties at `var` or `let`, if another file of the module may read them of every object of the class.
  mutating func keyedProperty() {
    guard mayBeKeyed(isOfClass: false) else { return }
    var place: Int? = position + 1
    while let index = place {
      let name = at(index)
      guard name.isName, name.text != "_" else { return }
      var next = index + 1
      if at(next).is(":") {
        var parser = TypeParser(tokens: tokens, position: next + 1)
        guard parser.type() != nil else { return }
        next = parser.position
      }
      if at(next).is("{"), getterMayWaitOrThrow(next) { return }
      note(.property, name)
      place = nextProperty(next)
    }
  }

  /// The name of the next property of the same declaration, `b` of `var a = 1, b = 2`, from behind the name and the type of one on.
  private func nextProperty(_ index: Int) -> Int? {
    var (index, depth) = (index, 0)
    while at(index).kind != .end {
      let token = at(index)
      if depth == 0, token.line > at(index - 1).line, !at(index - 1).is(","), !at(index - 1).is("="),
        !token.is("."), !token.is(","), !token.is("="), !token.is("{")
      {
        return nil
      }
      if ["(", "[", "{"].contains(where: token.is) { depth += 1 }
      if [")", "]", "}"].contains(where: token.is) { depth -= 1 }
      if depth < 0 || token.is(";") { return nil }
      // A name that neither a type nor a value follows is one of `A<B, C>`, or has its type behind the last one.
      if depth == 0, token.is(","), at(index + 1).isName, at(index + 2).is(":") || at(index + 2).is("=") {
        return index + 1
      }
      index += 1
    }
    return nil
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
      modifiers.attributes.isDisjoint(with: ["available", "NSManaged", "nonobjc"])
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
