/// A type as the source spells it.
indirect enum TypeSyntax: Hashable {
  struct Component: Hashable {
    let name: String
    var arguments: [TypeSyntax] = []
  }
  struct Element: Hashable {
    let label: String?
    let type: TypeSyntax
  }

  /// `Name`, `Outer.Inner`, `Module.Name<Argument>`.
  case named([Component])
  case optional(TypeSyntax)
  case array(TypeSyntax)
  case dictionary(TypeSyntax, TypeSyntax)
  case tuple([Element])
  /// `A & B`.
  case composition([TypeSyntax])
  /// What no property of a managed object can have, in words.
  case other(String)
}

extension TypeSyntax: CustomStringConvertible {
  /// As it would be written.
  var description: String {
    switch self {
    case .named(let components):
      components.map { component in
        component.arguments.isEmpty
          ? component.name
          : component.name + "<" + component.arguments.map(\.description).joined(separator: ", ") + ">"
      }.joined(separator: ".")
    case .optional(.composition(let parts)): "(\(TypeSyntax.composition(parts)))?"
    case .optional(let type): "\(type)?"
    case .array(let element): "[\(element)]"
    case .dictionary(let key, let value): "[\(key): \(value)]"
    case .tuple(let elements):
      "(" + elements.map { ($0.label.map { "\($0): " } ?? "") + "\($0.type)" }.joined(separator: ", ") + ")"
    case .composition(let parts): parts.map(\.description).joined(separator: " & ")
    case .other(let text): text
    }
  }
}
