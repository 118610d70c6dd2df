/// A type whose declaration is known, as far as its name in symbols needs.
final class Nominal: Sendable {
  let module: String
  let name: String
  let kind: TypeKind
  /// The type around it.
  let outer: Nominal?
  /// The module of the extension it is declared in, when that is not the module of what is extended.
  let extensionModule: String?
  /// What tells apart private types of one name: made of the module and the file.
  let discriminator: String?
  /// How the generated file writes it.
  let spelling: String
  let access: Access

  init(
    module: String, name: String, kind: TypeKind, outer: Nominal? = nil, extensionModule: String? = nil,
    discriminator: String? = nil, spelling: String, access: Access
  ) {
    self.module = module
    self.name = name
    self.kind = kind
    self.outer = outer
    self.extensionModule = extensionModule
    self.discriminator = discriminator
    self.spelling = spelling
    self.access = access
  }

  /// Equal for the same type.
  var key: String {
    (outer?.key ?? module) + "." + name + String(kind.letter) + (extensionModule ?? "")
      + (discriminator ?? "")
  }

  /// How far the type is seen, what is around it included.
  var reach: Access { outer.map { access.limited(by: $0.reach) } ?? access }

  /// The type itself and those around it, innermost first.
  var chain: [Nominal] { [self] + (outer?.chain ?? []) }
}

/// A type with everything in it known.
indirect enum ResolvedType: Sendable {
  case nominal(Nominal)
  /// `Outer<…>.Inner<…>` is beyond what properties have: only the innermost type has arguments.
  case bound(Nominal, [ResolvedType])
  case optional(ResolvedType)
  case tuple([ResolvedType])
  /// `any A & B`; none is `Any`.
  case existential([Nominal], isClass: Bool)

  static let void = ResolvedType.tuple([])

  /// Equal for the same type.
  var key: String {
    switch self {
    case .nominal(let type): type.key
    case .bound(let type, let arguments): type.key + "<" + arguments.map(\.key).joined(separator: ",") + ">"
    case .optional(let type): type.key + "?"
    case .tuple(let types): "(" + types.map(\.key).joined(separator: ",") + ")"
    case .existential(let types, let isClass):
      "any " + types.map(\.key).joined(separator: "&") + (isClass ? "&AnyObject" : "")
    }
  }

  /// How the generated file writes it.
  var spelling: String {
    switch self {
    case .nominal(let type): type.spelling
    case .bound(let type, let arguments):
      type.spelling + "<" + arguments.map(\.spelling).joined(separator: ", ") + ">"
    case .optional(.existential(let types, let isClass)) where types.count + (isClass ? 1 : 0) > 0:
      "(\(ResolvedType.existential(types, isClass: isClass).spelling))?"
    case .optional(let type): type.spelling + "?"
    case .tuple(let types): "(" + types.map(\.spelling).joined(separator: ", ") + ")"
    case .existential(let types, let isClass):
      if types.isEmpty {
        isClass ? "AnyObject" : "Any"
      } else {
        "any " + (types.map(\.spelling) + (isClass ? ["AnyObject"] : [])).joined(separator: " & ")
      }
    }
  }

  /// The type itself as a value.
  var metatype: String {
    if case .existential(let types, _) = self, !types.isEmpty { return "(\(spelling)).self" }
    return spelling + ".self"
  }

  /// How far the type is seen.
  var reach: Access {
    switch self {
    case .nominal(let type): type.reach
    case .bound(let type, let arguments): arguments.reduce(type.reach) { $0.limited(by: $1.reach) }
    case .optional(let type): type.reach
    case .tuple(let types): types.reduce(.public) { $0.limited(by: $1.reach) }
    case .existential(let types, _): types.reduce(.public) { $0.limited(by: $1.reach) }
    }
  }
}
