/// Reads a type from tokens, beginning at `position`, which is left behind it.
struct TypeParser {
  let tokens: [Token]
  var position: Int

  private var token: Token { tokens[position] }
  private func next(_ offset: Int = 1) -> Token { tokens[min(position + offset, tokens.count - 1)] }

  /// The type here; nil when there is none.
  mutating func type() -> TypeSyntax? {
    skipSpecifiers()
    guard let first = postfixType() else { return nil }
    if isArrow { return function() }
    guard token.is("&") else { return first }
    var parts = [first]
    while token.is("&") {
      position += 1
      guard let part = postfixType() else { return nil }
      parts.append(part)
    }
    return .composition(parts)
  }

  private var isArrow: Bool {
    token.is("-") && next().is(">")
      || (token.is("throws") || token.is("async") || token.is("rethrows")) && token.kind == .word
  }

  /// `inout`, `borrowing`, `any`, attributes and the like.
  private mutating func skipSpecifiers() {
    while true {
      if token.is("@") {
        position += 2
        if token.is("("), !token.followsSpace { skipBrackets() }
      } else if token.kind == .word,
        ["any", "some", "inout", "borrowing", "consuming", "__owned", "__shared", "sending", "isolated"]
          .contains(token.text),
        next().isName || next().is("(") || next().is("[") || next().is("@")
      {
        position += 1
      } else {
        return
      }
    }
  }

  private mutating func postfixType() -> TypeSyntax? {
    skipSpecifiers()
    guard var type = simpleType() else { return nil }
    while true {
      if token.is("?") || token.is("!"), !token.followsSpace {
        position += 1
        type = .optional(type)
      } else if token.is("."), next().is("Type") || next().is("Protocol") {
        position += 2
        type = .other("\(type).Type")
      } else {
        return type
      }
    }
  }

  private mutating func simpleType() -> TypeSyntax? {
    if token.is("[") { return collection() }
    if token.is("(") { return tuple() }
    guard token.isName else { return nil }
    var components: [TypeSyntax.Component] = []
    while token.isName {
      var component = TypeSyntax.Component(name: token.text)
      position += 1
      if token.is("<") {
        position += 1
        while !token.is(">"), token.kind != .end {
          guard let argument = self.type() else { return nil }
          component.arguments.append(argument)
          if token.is(",") { position += 1 } else { break }
        }
        guard token.is(">") else { return nil }
        position += 1
      }
      components.append(component)
      guard token.is("."), next().isName, !next().is("Type"), !next().is("Protocol") else { break }
      position += 1
    }
    return .named(components)
  }

  private mutating func collection() -> TypeSyntax? {
    position += 1
    guard let first = type() else { return nil }
    var result = TypeSyntax.array(first)
    if token.is(":") {
      position += 1
      guard let value = type() else { return nil }
      result = .dictionary(first, value)
    }
    guard token.is("]") else { return nil }
    position += 1
    return result
  }

  private mutating func tuple() -> TypeSyntax? {
    position += 1
    var elements: [TypeSyntax.Element] = []
    while !token.is(")"), token.kind != .end {
      var label: String?
      if token.isName, next().is(":") {
        label = token.text
        position += 2
      } else if token.isName, next().isName, next(2).is(":") {
        label = token.text
        position += 3
      }
      guard let type = type() else { return nil }
      elements.append(.init(label: label, type: type))
      while token.is(".") { position += 1 }
      if token.is(",") { position += 1 } else { break }
    }
    guard token.is(")") else { return nil }
    position += 1
    if elements.count == 1, !isArrow { return elements[0].type }
    return .tuple(elements)
  }

  private mutating func function() -> TypeSyntax? {
    while token.is("throws") || token.is("async") || token.is("rethrows") {
      position += 1
      if token.is("(") { skipBrackets() }
    }
    guard token.is("-"), next().is(">") else { return nil }
    position += 2
    guard let result = type() else { return nil }
    return .other("a function that returns \(result)")
  }

  /// From an opening bracket behind its closing one.
  mutating func skipBrackets() {
    var depth = 0
    while token.kind != .end {
      if token.is("(") || token.is("[") || token.is("{") { depth += 1 }
      if token.is(")") || token.is("]") || token.is("}") { depth -= 1 }
      position += 1
      if depth == 0 { return }
    }
  }
}
