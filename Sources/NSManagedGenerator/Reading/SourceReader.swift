/// Finds the declarations of one Swift file: types, extensions, other names for types, and what is `@NSManaged`.
///
/// Function bodies and everything else between braces is passed over.
struct SourceReader {
  let tokens: [Token]
  var position = 0
  var result: SourceDeclarations
  /// What the braces that are open belong to; nil for bodies.
  private(set) var braces: [Frame?] = []
  /// Open round and square brackets since the last brace.
  private var depth = 0
  private var depths: [Int] = []
  private(set) var conditions = ConditionStack()

  /// A type's or an extension's braces.
  struct Frame {
    let part: Scope.Part
    /// Whether it belongs to a global actor.
    let isIsolated: Bool
    /// What members are that say nothing of their access.
    let memberAccess: Access
  }

  /// The declarations of a file; `names` are looked for.
  static func read(_ bytes: [UInt8], file: String, lookingFor names: Set<String> = []) -> SourceDeclarations {
    var reader = SourceReader(bytes, file)
    reader.run(names)
    return reader.result
  }

  private init(_ bytes: [UInt8], _ file: String) {
    tokens = Lexer.tokens(of: bytes)
    result = SourceDeclarations(file: file)
  }

  private var token: Token { tokens[position] }
  func at(_ index: Int) -> Token { tokens[min(max(index, 0), tokens.count - 1)] }
  func place(_ token: Token) -> Place {
    Place(file: result.file, line: token.line, column: token.column)
  }
  var scope: Scope { Scope(parts: braces.compactMap { $0?.part }) }
  /// Whether declarations that matter may stand here.
  private var isDeclaring: Bool { depth == 0 && (braces.last.map { $0 != nil } ?? true) }

  private mutating func run(_ names: Set<String>) {
    while token.kind != .end {
      let start = position
      step()
      // Reading a declaration moves on by itself; everything else is one token.
      if position == start { position += 1 }
      if !names.isEmpty {
        for index in start..<position where at(index).isName && names.contains(at(index).text) {
          if !at(index - 1).is(".") { result.mentioned.insert(at(index).text) }
        }
      }
    }
  }

  private mutating func step() {
    switch token.kind {
    case .directive: conditions.apply(token.text)
    case .hint: hint()
    case .sign:
      switch token.text {
      case "{": open(nil)
      case "}": close()
      case "(", "[": depth += 1
      case ")", "]": depth = max(depth - 1, 0)
      case "@" where at(position + 1).is("NSManaged") && isDeclaring: managed()
      default: break
      }
    case .word where isDeclaring && !at(position - 1).is("."):
      switch token.text {
      case "class", "struct", "enum", "actor", "protocol": typeDeclaration()
      case "extension": extensionDeclaration()
      case "typealias": alias()
      case "import": importDeclaration()
      case "var", "let": keyedProperty()
      case "func": keyedMethod()
      default: break
      }
    default: break
    }
  }

  private mutating func open(_ frame: Frame?) {
    braces.append(frame)
    depths.append(depth)
    depth = 0
  }

  private mutating func close() {
    guard braces.popLast() != nil else { return }
    depth = depths.removeLast()
  }

  // MARK: Types

  private mutating func typeDeclaration() {
    guard let kind = TypeKind(rawValue: token.text), at(position + 1).isName,
      !["func", "var", "let", "subscript", "init", "override", "final"].contains(at(position + 1).text)
        || at(position + 1).kind == .quotedWord
    else { return }
    let keyword = token
    let modifiers = modifiersBefore(position)
    let access = modifiers.access
    let name = at(position + 1).text
    position += 2
    let isGeneric = token.is("<")
    if isGeneric { skipAngles() }
    let inherited = inheritance()
    guard skipToBrace() else { return }
    let declared = access ?? memberAccess
    result.types.append(
      TypeDeclaration(
        name: name, kind: kind, access: declared, scope: scope, inherited: inherited, isGeneric: isGeneric,
        isIsolated: modifiers.isIsolated, conditions: conditions.current, place: place(keyword)))
    open(
      Frame(
        part: .init(name: [name], isExtension: false, isGeneric: isGeneric), isIsolated: modifiers.isIsolated,
        memberAccess: declared == .private || declared == .fileprivate ? .fileprivate : .internal))
    position += 1
  }

  private var memberAccess: Access { (braces.last ?? nil)?.memberAccess ?? .internal }

  private mutating func extensionDeclaration() {
    let modifiers = modifiersBefore(position)
    let access = modifiers.access
    var parser = TypeParser(tokens: tokens, position: position + 1)
    guard case .named(let components)? = parser.type() else { return }
    position = parser.position
    _ = inheritance()
    let isConstrained = token.is("where")
    guard skipToBrace() else { return }
    let member: Access =
      switch access {
      case .private, .fileprivate: .fileprivate
      case let access?: access
      case nil: .internal
      }
    open(
      Frame(
        part: .init(name: components.map(\.name), isExtension: true, isGeneric: isConstrained),
        isIsolated: modifiers.isIsolated,
        memberAccess: member))
    position += 1
  }

  private mutating func inheritance() -> [TypeSyntax] {
    guard token.is(":") else { return [] }
    var types: [TypeSyntax] = []
    repeat {
      position += 1
      var parser = TypeParser(tokens: tokens, position: position)
      if token.is("~") { parser.position += 1 }
      guard let type = parser.type() else { break }
      position = parser.position
      types.append(type)
    } while token.is(",")
    return types
  }

  private mutating func skipAngles() {
    var open = 0
    repeat {
      if token.is("<") { open += 1 }
      if token.is(">"), !at(position - 1).is("-") { open -= 1 }
      position += 1
    } while open > 0 && token.kind != .end
  }

  /// Stops at the opening brace of a declaration whose name has been read.
  private mutating func skipToBrace() -> Bool {
    while token.kind != .end, !token.is("{") {
      if token.is("}") || token.is(";") { return false }
      position += 1
    }
    return token.kind != .end
  }

  private mutating func alias() {
    let start = position
    guard at(position + 1).isName else { return }
    let name = at(position + 1).text
    position += 2
    var type: TypeSyntax?
    let isGeneric = token.is("<")
    if isGeneric { skipAngles() }
    if token.is("=") {
      var parser = TypeParser(tokens: tokens, position: position + 1)
      let parsed = parser.type()
      if !isGeneric { type = parsed }
    }
    result.aliases.append(
      AliasDeclaration(name: name, type: type, scope: scope, conditions: conditions.current))
    position = start + 2
  }

  private mutating func importDeclaration() {
    guard braces.isEmpty else { return }
    let modifiers = modifiersBefore(position)
    let access = modifiers.access
    position += 1
    if ["class", "struct", "enum", "protocol", "typealias", "func", "var", "let"].contains(token.text) {
      position += 1
    }
    guard token.isName, !modifiers.isTestable else { return }
    result.imports.append(
      ImportDeclaration(
        module: token.text, access: access?.rawValue ?? "", conditions: conditions.current))
  }

  private mutating func hint() {
    var text = token.text.trimmingBlanks
    if text.hasSuffix(".") { text.removeLast() }
    let words = text.split(whereSeparator: \.isWhitespace).map(String.init)
    if keyHint(words) { return }
    guard words.count >= 3, words[1] == "is", let last = words.last, let kind = TypeKind(rawValue: last)
    else {
      result.problems.append(
        Problem(
          place: place(token),
          message: "this says what a type is in a way not known; write “NSManaged: Module.Name is a struct” "
            + "(or class, enum, protocol), or “NSManaged: Class.property has the key name”"))
      return
    }
    let path = words[0].split(separator: ".").map(String.init)
    guard path.count >= 2 else {
      result.problems.append(
        Problem(
          place: place(token), message: "name the module too: “NSManaged: Module.\(words[0]) is a \(last)”"))
      return
    }
    result.hints.append(TypeHint(module: path[0], path: Array(path.dropFirst()), kind: kind))
  }

  /// `Class.property has the key name`.
  private mutating func keyHint(_ words: [String]) -> Bool {
    guard words.count == 5, words[1..<4] == ["has", "the", "key"] else { return false }
    let path = words[0].split(separator: ".").map(String.init)
    if let property = path.last, path.count >= 2 {
      result.keyHints.append(
        KeyHint(owner: path.dropLast(), property: property, key: words[4], place: place(token)))
    } else {
      result.problems.append(
        Problem(
          place: place(token),
          message: "name the class too: “NSManaged: Class.\(words[0]) has the key \(words[4])”"))
    }
    return true
  }

  // MARK: Modifiers

  private static let modifiers: Set<String> = [
    "public", "open", "internal", "package", "private", "fileprivate", "final", "dynamic", "override", "weak",
    "unowned", "nonisolated", "required", "indirect", "optional", "static", "lazy", "class", "unsafe",
    "mutating",
  ]

  /// What stands before a declaration.
  struct Modifiers {
    var access: Access?
    var words: Set<String> = []
    /// Without `@`.
    var attributes: Set<String> = []

    var isTestable: Bool { attributes.contains("testable") || attributes.contains("_implementationOnly") }
    /// Global actors are called so by custom; another name is not known here.
    var isIsolated: Bool { attributes.contains { $0.hasSuffix("Actor") } }
  }

  /// The modifiers and attributes before `index`.
  func modifiersBefore(_ index: Int) -> Modifiers {
    var modifiers = Modifiers()
    var index = index - 1
    while index >= 0 {
      let token = tokens[index]
      if token.kind == .hint {
        index -= 1
      } else if token.is(")") {
        var open = 0
        let end = index
        repeat {
          if tokens[index].is(")") { open += 1 }
          if tokens[index].is("(") { open -= 1 }
          index -= 1
        } while index >= 0 && open > 0
        // `private(set)` says nothing of reading; the brackets of anything but an attribute or a modifier end the search.
        guard index >= 0, tokens[index].isName else { break }
        if !Self.modifiers.contains(tokens[index].text), index == 0 || !tokens[index - 1].is("@") { break }
        if index > 0, tokens[index - 1].is("@") {
          modifiers.attributes.insert(tokens[index].text)
          index -= 2
          continue
        }
        if end - index == 3, Self.modifiers.contains(tokens[index].text) { index -= 1 }
      } else if token.kind == .word, Self.modifiers.contains(token.text) {
        if let found = Access(rawValue: token.text) { modifiers.access = found }
        modifiers.words.insert(token.text)
        index -= 1
      } else if token.isName, index > 0, tokens[index - 1].is("@") {
        modifiers.attributes.insert(token.text)
        index -= 2
      } else {
        break
      }
    }
    return modifiers
  }

  // MARK: @NSManaged

  private mutating func managed() {
    let start = token
    var access = modifiersBefore(position).access
    var setter: Access?
    setter = setterBefore(position)
    var name = objectiveCNameBefore(position)
    position += 2
    while token.kind != .end {
      if token.is("@") {
        name = objectiveCName(position) ?? name
        position += 2
        if token.is("("), !token.followsSpace { skipBrackets() }
      } else if token.kind == .directive {
        conditions.apply(token.text)
        position += 1
      } else if token.kind == .hint {
        hint()
        position += 1
      } else if token.kind == .word, Self.modifiers.contains(token.text) {
        let modifier = Access(rawValue: token.text)
        if at(position + 1).is("("), at(position + 2).is("set") {
          setter = modifier
          position += 4
        } else {
          access = modifier ?? access
          position += 1
          if token.is("("), !token.followsSpace { skipBrackets() }
        }
      } else {
        break
      }
    }
    let declared = access ?? memberAccess
    let written = declared.limited(by: .public)
    if token.is("var") || token.is("let") {
      position += 1
      properties(written, setter: (setter ?? written).limited(by: written), name)
    } else if token.is("func") {
      method(written)
    } else {
      result.problems.append(
        Problem(place: place(start), message: "@NSManaged stands before neither a property nor a method"))
    }
  }

  private func setterBefore(_ index: Int) -> Access? {
    guard index >= 4, tokens[index - 1].is(")"), tokens[index - 2].is("set") else { return nil }
    return Access(rawValue: tokens[index - 4].text)
  }

  /// The name in `@objc(name)` at `index`.
  private func objectiveCName(_ index: Int) -> String? {
    guard at(index).is("@"), at(index + 1).is("objc"), at(index + 2).is("("), !at(index + 2).followsSpace,
      at(index + 3).isName, at(index + 4).is(")")
    else { return nil }
    return at(index + 3).text
  }

  /// The same of an attribute among those before the one at `index`.
  private func objectiveCNameBefore(_ index: Int) -> String? {
    var index = index - 1
    while index >= 0 {
      if let name = objectiveCName(index) { return name }
      // Attributes and modifiers only, and what is in their brackets.
      guard
        at(index).isName && !["func", "var", "let"].contains(at(index).text) || at(index).is("@")
          || at(index).is("(") || at(index).is(")")
      else { return nil }
      index -= 1
    }
    return nil
  }

  private mutating func properties(_ access: Access, setter: Access, _ objectiveCName: String?) {
    var names: [(String, Token)] = []
    while token.isName {
      names.append((token.text, token))
      position += 1
      var type: TypeSyntax?
      if token.is(":") {
        var parser = TypeParser(tokens: tokens, position: position + 1)
        type = parser.type()
        position = parser.position
      }
      if type == nil, token.is(",") {
        position += 1
        continue
      }
      for (name, token) in names {
        result.properties.append(
          ManagedProperty(
            name: name, type: type, access: access, setterAccess: setter, objectiveCName: objectiveCName,
            scope: scope, conditions: conditions.current, place: place(token)))
      }
      names = []
      guard token.is(",") else { return }
      position += 1
    }
    for (_, token) in names {
      result.problems.append(Problem(place: place(token), message: "an @NSManaged property needs a type"))
    }
  }

  private mutating func method(_ access: Access) {
    position += 1
    let name = token
    position += 1
    guard name.isName, token.is("(") else {
      result.problems.append(Problem(place: place(name), message: "this @NSManaged method cannot be read"))
      return
    }
    position += 1
    var parameters: [ManagedMethod.Parameter] = []
    while token.isName {
      let label = token
      position += 1
      if token.isName { position += 1 }
      guard token.is(":") else { break }
      var parser = TypeParser(tokens: tokens, position: position + 1)
      guard let type = parser.type() else { break }
      position = parser.position
      parameters.append(
        .init(label: label.text == "_" && label.kind == .word ? nil : label.text, type: type))
      if token.is(",") { position += 1 }
    }
    guard token.is(")") else {
      result.problems.append(
        Problem(place: place(name), message: "the parameters of @NSManaged “\(name.text)” cannot be read"))
      return
    }
    position += 1
    var resultType: TypeSyntax?
    if token.is("-"), at(position + 1).is(">") {
      var parser = TypeParser(tokens: tokens, position: position + 2)
      resultType = parser.type()
      position = parser.position
    }
    result.methods.append(
      ManagedMethod(
        name: name.text, parameters: parameters, result: resultType, access: access, scope: scope,
        conditions: conditions.current, place: place(name)))
  }

  private mutating func skipBrackets() {
    var parser = TypeParser(tokens: tokens, position: position)
    parser.skipBrackets()
    position = parser.position
  }
}
