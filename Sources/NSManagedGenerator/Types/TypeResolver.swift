/// Finds out which types the names in the target's sources mean.
///
/// In the compiler's order: types nested in what is around, those that superclasses have, the module's own, then imported ones: the
/// modules the file imports as far as their sources are here, Foundation, the standard library. What is not found is told, with
/// the way to say what it is.
final class TypeResolver {
  let module: ModuleTable
  /// Reads the sources of another module; nil when they are not here.
  private let load: (String) -> ModuleTable?
  private let moduleNames: [String]
  private var loaded: [String: ModuleTable?] = [:]
  private let known: [String: (module: String, kind: TypeKind)]

  init(module: ModuleTable, otherModules: [String], load: @escaping (String) -> ModuleTable?) {
    self.module = module
    moduleNames = otherModules
    self.load = load
    var known: [String: (String, TypeKind)] = [:]
    for line in KnownTypes.table.split(separator: "\n") {
      let words = line.split(separator: " ")
      guard words.count > 2, let kind = TypeKind(rawValue: String(words[1])) else { continue }
      for name in words.dropFirst(2) { known[String(name)] = (String(words[0]), kind) }
    }
    for name in KnownTypes.standard.keys {
      known[name] = ("Swift", KnownTypes.standardEnums.contains(name) ? .enum : .struct)
    }
    self.known = known
  }

  /// Where a name stands: what is around it and what its file imports.
  struct Context {
    let scope: Scope
    let imports: [String]
    let place: Place
    var depth = 0
    /// The module whose source is read there, where that is not the one that is generated for.
    fileprivate var home: ModuleTable?

    init(scope: Scope, imports: [String], place: Place) {
      self.scope = scope
      self.imports = imports
      self.place = place
    }

    fileprivate func deeper(_ scope: Scope? = nil) -> Context {
      var context = Context(scope: scope ?? self.scope, imports: imports, place: place)
      context.depth = depth + 1
      context.home = home
      return context
    }

    /// A place in another module's source, of which it is not known what its file imports.
    fileprivate func deeper(_ scope: Scope, home: ModuleTable) -> Context {
      var context = Context(scope: scope, imports: [], place: place)
      context.depth = depth + 1
      context.home = home
      return context
    }
  }

  // MARK: Types

  /// What `syntax` means there.
  /// - Throws: `Problem`.
  func resolve(_ syntax: TypeSyntax, in context: Context) throws -> ResolvedType {
    guard context.depth < 50 else { throw problem("“\(syntax)” is defined in terms of itself", context) }
    switch syntax {
    case .optional(let type): return .optional(try resolve(type, in: context))
    case .array(let element): return .bound(standard("Array"), [try resolve(element, in: context)])
    case .dictionary(let key, let value):
      return .bound(standard("Dictionary"), [try resolve(key, in: context), try resolve(value, in: context)])
    case .tuple(let elements):
      guard elements.allSatisfy({ $0.label == nil }) else {
        throw problem("a tuple with labels, \(syntax), is no type for a managed property", context)
      }
      return .tuple(try elements.map { try resolve($0.type, in: context) })
    case .composition(let parts): return try composition(parts, context)
    case .other(let text): throw problem("“\(text)” is no type for a managed property", context)
    case .named(let components): return try named(components, syntax, context)
    }
  }

  private func composition(_ parts: [TypeSyntax], _ context: Context) throws -> ResolvedType {
    var protocols: [Nominal] = []
    var isClass = false
    for part in parts {
      guard case .existential(let more, let needsClass) = try resolve(part, in: context) else {
        throw problem(
          "“\(TypeSyntax.composition(parts))”: a class with protocols cannot be used; use the class", context)
      }
      protocols += more
      isClass = isClass || needsClass
    }
    // In symbols protocols stand in the order of their modules and names.
    protocols.sort { ($0.module, $0.name) < ($1.module, $1.name) }
    return .existential(protocols, isClass: isClass)
  }

  private func named(_ components: [TypeSyntax.Component], _ syntax: TypeSyntax, _ context: Context) throws
    -> ResolvedType
  {
    let arguments = components.last?.arguments ?? []
    guard components.dropLast().allSatisfy(\.arguments.isEmpty) else {
      throw problem("“\(syntax)”: a type nested in a generic one cannot be used", context)
    }
    let path = components.map(\.name)
    if path == ["Any"] || path == ["Swift", "Any"] { return .existential([], isClass: false) }
    if path == ["AnyObject"] || path == ["Swift", "AnyObject"] { return .existential([], isClass: true) }
    if path == ["Void"] { return .void }
    guard let found = try lookUp(path, context) else { throw unknown(syntax, context) }
    let resolved = try arguments.map { try resolve($0, in: context) }
    switch found {
    case .type(let type):
      if type.kind == .protocol { return .existential([type], isClass: false) }
      if type.key == standard("Optional").key, resolved.count == 1 { return .optional(resolved[0]) }
      return resolved.isEmpty ? .nominal(type) : .bound(type, resolved)
    case .alias(let type):
      guard resolved.isEmpty else {
        throw problem("“\(syntax)”: a generic typealias cannot be used", context)
      }
      return type
    }
  }

  // MARK: Names

  private enum Found {
    case type(Nominal)
    case alias(ResolvedType)
  }

  /// The class of that name; nil for anything else, and for what is not known.
  func nominal(_ syntax: TypeSyntax, in context: Context) -> Nominal? {
    guard let type = try? resolve(syntax, in: context) else { return nil }
    switch type {
    case .nominal(let type), .bound(let type, _): return type
    case .existential(let types, _): return types.first
    default: return nil
    }
  }

  /// The module's own declaration of a type.
  func declaration(of type: Nominal) -> TypeDeclaration? {
    guard type.module == module.name else { return nil }
    return module.types[type.chain.reversed().map(\.name).joined(separator: ".")]
  }

  /// The declaration of a type of this module or of one whose sources are here.
  func knownDeclaration(of type: Nominal) -> TypeDeclaration? {
    if type.module == module.name { return declaration(of: type) }
    return table(type.module)?.types[type.chain.reversed().map(\.name).joined(separator: ".")]
  }

  /// Where the names in the declaration of `type` stand, which may be another module's.
  func context(of type: Nominal, _ declaration: TypeDeclaration, imports: [String]) -> Context {
    let context = Context(scope: declaration.scope, imports: imports, place: declaration.place)
    guard type.module != module.name, let home = table(type.module) else { return context }
    return context.deeper(declaration.scope, home: home)
  }

  /// The type that an extension's or a type's members belong to.
  func owner(of scope: Scope, in context: Context) throws -> Nominal {
    guard let last = scope.parts.last else {
      throw problem("@NSManaged stands outside of every class", context)
    }
    let around = Scope(parts: Array(scope.parts.dropLast()))
    let inside = context.deeper(around)
    let syntax = TypeSyntax.named(last.name.map { .init(name: $0) })
    guard let found = nominal(syntax, in: inside) else { throw unknown(syntax, context) }
    return found
  }

  private func lookUp(_ path: [String], _ context: Context) throws -> Found? {
    let module = context.home ?? self.module
    // Inside out.
    var parts = context.scope.parts[...]
    while let last = parts.last {
      let around = parts.flatMap(\.name)
      for length in stride(from: around.count, to: around.count - last.name.count, by: -1) {
        if let found = try member(path, of: Array(around[..<length]), module, context) { return found }
      }
      parts = parts.dropLast()
    }
    if let found = try find(path, in: module, context) { return found }
    for name in context.imports where name != module.name {
      if let table = table(name), let found = try find(path, in: table, context) { return found }
    }
    if path.count > 1, let found = try qualified(path, context) { return found }
    if let found = try knownType(path, context) { return found }
    for name in moduleNames {
      if let table = table(name), let found = try find(path, in: table, context) { return found }
    }
    return nil
  }

  /// `Module.Name`.
  private func qualified(_ path: [String], _ context: Context) throws -> Found? {
    let rest = Array(path.dropFirst())
    if path[0] == module.name {
      return try find(rest, in: module, context).map { respelled($0, path) }
    }
    if let table = table(path[0]) { return try find(rest, in: table, context).map { respelled($0, path) } }
    if ["Foundation", "Swift", "CoreData", "StrataCore", "Strata"].contains(path[0]) {
      return try knownType(rest, context).map { respelled($0, path) }
    }
    return nil
  }

  /// Written as the source does, which may tell it from another of that name.
  private func respelled(_ found: Found, _ path: [String]) -> Found {
    guard case .type(let type) = found else { return found }
    return .type(
      Nominal(
        module: type.module, name: type.name, kind: type.kind, outer: type.outer,
        extensionModule: type.extensionModule, discriminator: type.discriminator,
        spelling: path.joined(separator: "."), access: type.access))
  }

  private func knownType(_ path: [String], _ context: Context) throws -> Found? {
    if let alias = KnownTypes.aliases[path[0]], path.count == 1 {
      guard case .type(let type)? = try knownType([alias], context) else { return nil }
      return respelled(.type(type), path)
    }
    var outer: Nominal?
    for length in 1...path.count {
      guard let (module, kind) = known[path[..<length].joined(separator: ".")] else { return nil }
      outer = Nominal(
        module: module, name: path[length - 1], kind: kind, outer: outer,
        spelling: ([written(path[0], of: module)] + path[1..<length]).joined(separator: "."),
        access: .public)
    }
    return outer.map { .type($0) }
  }

  private func standard(_ name: String) -> Nominal {
    Nominal(
      module: "Swift", name: name, kind: name == "Optional" ? .enum : .struct,
      spelling: written(name, of: "Swift"), access: .public)
  }

  /// The name of another module's type, with the module before it where this one has a type of that name.
  private func written(_ name: String, of other: String) -> String {
    let own = Spelling.name(name)
    if !module.declares(name) { return own }
    switch other {
    case "FoundationEssentials", "FoundationInternationalization": return "Foundation." + own
    // Programs see its types by the names that CoreData gives them.
    case "StrataCore": return "CoreData.NS" + name
    default: return other + "." + own
    }
  }

  private func table(_ name: String) -> ModuleTable? {
    if let known = loaded[name] { return known }
    let table = moduleNames.contains(name) ? load(name) : nil
    loaded[name] = .some(table)
    return table
  }

  private func find(_ path: [String], in table: ModuleTable, _ context: Context) throws -> Found? {
    try member(path, of: [], table, context)
  }

  /// The type `path`, nested in `outer`: its own, or a superclass's.
  private func member(_ path: [String], of outer: [String], _ table: ModuleTable, _ context: Context) throws
    -> Found?
  {
    let whole = outer + path
    for length in stride(from: whole.count, to: outer.count, by: -1) {
      let name = whole[..<length].joined(separator: ".")
      if let type = table.types[name], length == whole.count { return .type(nominal(type, table, context)) }
      if let alias = table.aliases[name] {
        guard let type = alias.type else {
          throw problem("“\(name)”, a generic typealias, cannot be used", context)
        }
        // A name means there what it means in that module, whatever this one calls so.
        let inside =
          table.name == module.name ? context.deeper(alias.scope) : context.deeper(alias.scope, home: table)
        if length == whole.count {
          let resolved = try resolve(type, in: inside)
          // What another module calls so may have a name there that cannot be written here: CoreData's `NSManagedObject`.
          if table.name != module.name, outer.isEmpty, case .nominal(let type) = resolved {
            return respelled(.type(type), path)
          }
          return .alias(resolved)
        }
        guard case .named(let components) = type else { return nil }
        let rest = whole[length...].map { TypeSyntax.Component(name: $0) }
        return .alias(try resolve(.named(components + rest), in: inside))
      }
    }
    // What a superclass nests is there too.
    if !outer.isEmpty, context.depth < 40, let type = table.types[outer.joined(separator: ".")],
      type.kind == .class,
      let inherited = type.inherited.first, case .named(let components) = inherited
    {
      let name = components.map(\.name)
      if table.types[name.joined(separator: ".")]?.kind == .class {
        return try member(path, of: name, table, context.deeper())
      }
    }
    return nil
  }

  private func nominal(_ type: TypeDeclaration, _ table: ModuleTable, _ context: Context) -> Nominal {
    var outer: Nominal?
    var extensionModule: String?
    for (index, part) in type.scope.parts.enumerated() {
      for (number, name) in part.name.enumerated() {
        let path = type.scope.parts[..<index].flatMap(\.name) + part.name[...number]
        if let declared = table.types[path.joined(separator: ".")] {
          outer = one(declared, outer, nil, table)
        } else if case .type(let known)? = try? knownType(path, context) {
          outer = known
          extensionModule = table.name
        } else if part.isExtension, index == 0, number == 0,
          let found = nominal(
            .named([.init(name: name)]),
            in: table.name == module.name ? context.deeper(Scope()) : context.deeper(Scope(), home: table))
        {
          outer = found
          if found.module != table.name { extensionModule = table.name }
        }
      }
    }
    return one(type, outer, extensionModule, table)
  }

  private func one(
    _ type: TypeDeclaration, _ outer: Nominal?, _ extensionModule: String?, _ table: ModuleTable
  )
    -> Nominal
  {
    // In a private type nothing needs the file a second time.
    let isPrivate = type.access.isPrivate && !(outer?.chain.contains { $0.discriminator != nil } ?? false)
    return Nominal(
      module: table.name, name: type.name, kind: type.kind, outer: outer, extensionModule: extensionModule,
      discriminator: isPrivate ? FileDiscriminator.text(module: table.name, file: type.place.file) : nil,
      spelling: outer.map { $0.spelling + "." + Spelling.name(type.name) }
        ?? (table.name == module.name ? Spelling.name(type.name) : written(type.name, of: table.name)),
      access: type.access)
  }

  // MARK: Problems

  private func problem(_ message: String, _ context: Context) -> Problem {
    Problem(place: context.place, message: message)
  }

  private func unknown(_ syntax: TypeSyntax, _ context: Context) -> Problem {
    problem(
      "cannot find out what kind of type “\(syntax)” is; its declaration is in no source this tool can see. Say it in a "
        + "comment, in any file of the target: // NSManaged: Module.\(syntax) is a struct   (or class, enum, protocol)",
      context)
  }
}
