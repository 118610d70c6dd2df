/// The types that one module declares, by their names with dots.
struct ModuleTable {
  let name: String
  private(set) var types: [String: TypeDeclaration] = [:]
  /// The module of the type an extension that declares the type belongs to is not this one: the path begins with that type.
  private(set) var aliases: [String: AliasDeclaration] = [:]

  init(name: String, _ files: [SourceDeclarations]) {
    self.name = name
    for file in files {
      for type in file.types where !Conditions.areImpossible(type.conditions) {
        let path = (type.scope.path + [type.name]).joined(separator: ".")
        if types[path] == nil { types[path] = type }
      }
      for alias in file.aliases where !Conditions.areImpossible(alias.conditions) {
        let path = (alias.scope.path + [alias.name]).joined(separator: ".")
        if aliases[path] == nil { aliases[path] = alias }
      }
    }
    for file in files {
      for hint in file.hints where hint.module == name {
        let path = hint.path.joined(separator: ".")
        types[path] =
          types[path]
          ?? TypeDeclaration(
            name: hint.path.last ?? "", kind: hint.kind, access: .public,
            scope: Self.scope(hint.path.dropLast()),
            inherited: [], isGeneric: false, conditions: [], place: Place(file: file.file, line: 1, column: 1)
          )
      }
    }
  }

  /// Whether something of that name stands outside of all types.
  func declares(_ name: String) -> Bool { types[name] != nil || aliases[name] != nil }

  private static func scope(_ path: ArraySlice<String>) -> Scope {
    Scope(parts: path.map { .init(name: [$0], isExtension: false, isGeneric: false) })
  }

  /// The types as hints describe them.
  static func hinted(_ module: String, _ hints: [TypeHint], _ file: String) -> ModuleTable {
    var declarations = SourceDeclarations(file: file)
    declarations.hints = hints
    return ModuleTable(name: module, [declarations])
  }
}

/// What is known of conditions without a compiler.
enum Conditions {
  private static let absent: Set<String> = Set(AppleModules.names.map { "canImport(\($0))" }).union([
    "os(macOS)", "os(OSX)", "os(iOS)", "os(tvOS)", "os(watchOS)", "os(visionOS)",
    "targetEnvironment(simulator)",
    "targetEnvironment(macCatalyst)",
  ])

  /// Whether some condition never holds where this package's CoreData is: on Apple's systems there is another.
  static func areImpossible(_ conditions: [String]) -> Bool { conditions.contains { holds($0) == false } }

  /// Whether it holds; nil when that is not known.
  static func holds(_ condition: String) -> Bool? {
    let text = condition.filter { !$0.isWhitespace }
    if let parts = split(text, "||") {
      let values = parts.map(holds)
      return values.contains(true) ? true : values.allSatisfy { $0 == false } ? false : nil
    }
    if let parts = split(text, "&&") {
      let values = parts.map(holds)
      return values.contains(false) ? false : values.allSatisfy { $0 == true } ? true : nil
    }
    if text.hasPrefix("!") { return holds(String(text.dropFirst())).map { !$0 } }
    if text.hasPrefix("("), text.hasSuffix(")") { return holds(String(text.dropFirst().dropLast())) }
    if text == "true" { return true }
    return text == "false" || absent.contains(text) ? false : nil
  }

  /// At the operators outside of brackets; nil when there is none.
  private static func split(_ text: String, _ sign: String) -> [String]? {
    var parts: [String] = []
    var part = ""
    var depth = 0
    for character in text {
      if character == "(" { depth += 1 }
      if character == ")" { depth -= 1 }
      part.append(character)
      if depth == 0, part.hasSuffix(sign) {
        parts.append(String(part.dropLast(sign.count)))
        part = ""
      }
    }
    return parts.isEmpty ? nil : parts + [part]
  }
}
