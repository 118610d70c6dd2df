/// Writes what the compiler leaves out: the accessors of `@NSManaged` properties, and the methods.
///
/// For each an ordinary method is written that has the symbol of the accessor. It stands in the same module, in an extension of the
/// class, and is as public as the property: the compiler refuses anything else when it sees the whole module.
struct AccessorGenerator {
  /// What is generated for.
  struct Target {
    let module: String
    let files: [SourceDeclarations]
    let otherModules: [String]
    let load: (String) -> ModuleTable?
  }

  private let target: Target
  private let resolver: TypeResolver
  private let imports: [String: [String]]
  private let keyHints: [KeyHint]
  /// The names in the model of the properties of each class, by the class's key.
  private var propertyNames: [String: Set<String>] = [:]
  private var members: [Member] = []
  private(set) var problems: [Problem] = []

  /// One property or method, written.
  private struct Member {
    let owner: String
    let conditions: [String]
    let lines: [String]
  }

  init(_ target: Target) {
    self.target = target
    imports = Dictionary(
      target.files.map { file in (file.file, file.imports.map(\.module)) }, uniquingKeysWith: { $0 + $1 })
    keyHints = target.files.flatMap(\.keyHints)
    let hinted = target.files.flatMap(\.hints)
    resolver = TypeResolver(
      module: ModuleTable(name: target.module, target.files),
      otherModules: target.otherModules + Set(hinted.map(\.module)).subtracting(target.otherModules).sorted(),
      load: { name in
        let hints = hinted.filter { $0.module == name }
        return target.load(name) ?? (hints.isEmpty ? nil : ModuleTable.hinted(name, hints, ""))
      })
  }

  /// The generated file's text; empty parts are left out.
  mutating func generate() -> String {
    problems = target.files.flatMap(\.problems)
    let properties = target.files.flatMap(\.properties)
    for hint in keyHints where !properties.contains(where: { hint.isAbout($0.name, in: $0.scope) }) {
      let name = (hint.owner + [hint.property]).joined(separator: ".")
      problems.append(Problem(place: hint.place, message: "there is no @NSManaged property “\(name)”"))
    }
    for file in target.files {
      for property in file.properties {
        attempt(property.conditions, property.place) { try $0.write(property) }
      }
    }
    for file in target.files {
      for method in file.methods { attempt(method.conditions, method.place) { try $0.write(method) } }
    }
    return text
  }

  /// Notes a problem; where the code may not be compiled at all, the compiler decides.
  private mutating func attempt(
    _ conditions: [String], _ place: Place, _ body: (inout AccessorGenerator) throws -> Void
  ) {
    if Conditions.areImpossible(conditions) { return }
    do {
      try body(&self)
    } catch let problem as Problem {
      if conditions.isEmpty {
        problems.append(problem)
      } else {
        let text = "\(problem.place.file):\(problem.place.line): \(problem.message)"
        members.append(
          Member(owner: "", conditions: conditions, lines: ["#error(\(Spelling.literal(text)))"]))
      }
    } catch {
      problems.append(Problem(place: place, message: "\(error)"))
    }
  }

  // MARK: Owners

  /// The class a member belongs to, and how its extension is called.
  private struct Owner {
    let type: Nominal
    let extended: String
    /// The module, where the class is another module's.
    let extensionModule: String?
    /// The file's mark, for a private member.
    let discriminator: String?
    /// What generated names begin with.
    let prefix: String
  }

  private func context(_ scope: Scope, _ place: Place) -> TypeResolver.Context {
    .init(scope: scope, imports: imports[place.file] ?? [], place: place)
  }

  private func owner(_ scope: Scope, _ access: Access, _ place: Place) throws -> Owner {
    let context = context(scope, place)
    let type = try resolver.owner(of: scope, in: context)
    guard type.kind == .class else {
      throw Problem(place: place, message: "@NSManaged stands in \(type.name), which is no class")
    }
    if scope.parts.contains(where: \.isGeneric) || resolver.declaration(of: type)?.isGeneric == true {
      throw Problem(
        place: place,
        message: "@NSManaged in a generic class or in an extension with conditions cannot be generated")
    }
    try checkInheritance(of: type, place)
    // A private class cannot be named in another file; all classes have the same calling convention.
    let isHidden = type.chain.contains { $0.discriminator != nil }
    return Owner(
      type: type, extended: isHidden ? coreData("NSManagedObject") : type.spelling,
      extensionModule: type.module == target.module ? nil : target.module,
      discriminator: access.isPrivate && !isHidden
        ? FileDiscriminator.text(module: target.module, file: place.file) : nil,
      prefix: type.chain.reversed().map(\.name).joined(separator: "_"))
  }

  /// Traces the class to `NSManagedObject`, as far as its superclasses are of this module.
  private func checkInheritance(of type: Nominal, _ place: Place) throws {
    var next = type
    for _ in 0..<100 {
      if KnownTypes.isBase(next) { return }
      guard let declaration = resolver.declaration(of: next) else {
        // Another module's class: its own module was compiled with it. Foundation's are none.
        if ["Foundation", "FoundationEssentials", "Swift"].contains(next.module) { break }
        return
      }
      let around = context(declaration.scope, declaration.place)
      guard let parent = declaration.inherited.first else { break }
      guard let superclass = resolver.nominal(parent, in: around) else {
        // Nothing is known of it, so it is not the module's.
        return
      }
      guard superclass.kind == .class else { break }
      next = superclass
    }
    throw Problem(
      place: place,
      message: "@NSManaged stands in \(type.name), which is no subclass of NSManagedObject")
  }

  private static func written(_ access: Access) -> String {
    switch access {
    case .public, .open: "public"
    case .package: "package"
    default: "internal"
    }
  }

  // MARK: Properties

  private mutating func write(_ property: ManagedProperty) throws {
    guard let syntax = property.type else {
      throw Problem(place: property.place, message: "an @NSManaged property needs a type")
    }
    let owner = try owner(property.scope, property.access, property.place)
    let type = try resolver.resolve(syntax, in: context(property.scope, property.place))
    let hint = keyHints.first { $0.isAbout(property.name, in: property.scope) }
    let name = hint?.key ?? property.name
    propertyNames[owner.type.key, default: []].insert(name)
    func symbol(_ accessor: Mangler.Accessor) -> String {
      Mangler.accessor(
        accessor, of: property.name, type, in: owner.type, extensionModule: owner.extensionModule,
        discriminator: owner.discriminator)
    }
    let key = "_\(owner.prefix)_\(property.name)"
    let (read, wrapped) =
      if case .optional(let wrapped) = type { ("optional", wrapped) } else { ("value", type) }
    members.append(
      Member(
        owner: owner.extended, conditions: property.conditions,
        lines: [
          "@_silgen_name(\"\(symbol(.getter))\")",
          "\(Self.written(property.access)) nonisolated final func _get\(key)() -> \(type.spelling) { \(key).\(read)(\(wrapped.metatype), of: self) }",
          "@_silgen_name(\"\(symbol(.setter))\")",
          "\(Self.written(property.setterAccess)) nonisolated final func _set\(key)(_ value: __owned \(type.spelling)) { "
            + "\(key).set(value, of: self) }",
        ]))
    if hint == nil, let primitive = SourceReader.key(property.name, after: "primitive") {
      let names = [property.name, Spelling.uncapitalized(primitive)].map(Spelling.literal)
      members.append(
        Member(
          owner: "", conditions: property.conditions,
          lines: [
            "nonisolated private let \(key) = \(coreData("NSManagedPrimitive"))(\(names.joined(separator: ", ")))"
          ]))
    } else {
      members.append(accessor(key, name, property.conditions))
    }
  }

  private func accessor(_ key: String, _ name: String, _ conditions: [String]) -> Member {
    Member(
      owner: "", conditions: conditions,
      lines: [
        "nonisolated private let \(key) = \(coreData("NSManagedAccessor"))(\(Spelling.literal(name)))"
      ])
  }

  /// How CoreData's type of that name is written. Not with the module where that is not needed: programs have types called `CoreData`.
  private func coreData(_ name: String) -> String {
    resolver.module.declares(name) ? "CoreData." + name : name
  }

  // MARK: Methods

  private mutating func write(_ method: ManagedMethod) throws {
    let owner = try owner(method.scope, method.access, method.place)
    let around = context(method.scope, method.place)
    let parameters = try method.parameters.map { try resolver.resolve($0.type, in: around) }
    let result = try method.result.map { try resolver.resolve($0, in: around) } ?? .void
    guard let change = MemberChange(method), result.key == ResolvedType.void.key else {
      throw Problem(
        place: method.place,
        message:
          "Core Data generates no method “\(method.name)” of this form; it does addTo…, removeFrom…, insertInto… "
          + "and replace… of relationships")
    }
    let symbol = Mangler.method(
      method.name, labels: method.parameters.map(\.label), parameters: parameters, result: result,
      in: owner.type,
      extensionModule: owner.extensionModule, discriminator: owner.discriminator)
    let number = members.count
    let key = "_\(owner.prefix)_\(method.name)_\(number)"
    let list = zip(change.arguments, zip(method.parameters, parameters)).map { name, parameter in
      "\(parameter.0.label.map(Spelling.name) ?? "_") \(name): \(parameter.1.spelling)"
    }
    members.append(
      Member(
        owner: owner.extended, conditions: method.conditions,
        lines: [
          "@_silgen_name(\"\(symbol)\")",
          "\(Self.written(method.access)) nonisolated final func _call\(key)(\(list.joined(separator: ", "))) { \(key).\(change.call) }",
        ]))
    members.append(accessor(key, name(of: change.relationship, owner.type), method.conditions))
  }

  /// The relationship a method's name speaks of: the property of that name if there is one, otherwise with a small letter.
  private func name(of capitalized: String, _ owner: Nominal) -> String {
    let names = propertyNames[owner.key] ?? []
    let found = names.filter { Spelling.capitalized($0) == capitalized }.sorted().first
    return found ?? Spelling.uncapitalized(capitalized)
  }

  // MARK: The file

  private var text: String {
    if members.isEmpty { return "" }
    var lines = importLines
    for member in members {
      lines.append("")
      lines += member.conditions.map { "#if \($0)" }
      if member.owner.isEmpty {
        lines += member.lines
      } else {
        lines.append("extension \(member.owner) {")
        lines += member.lines.map { "  " + $0 }
        lines.append("}")
      }
      lines += member.conditions.map { _ in "#endif" }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private var importLines: [String] {
    var lines = ["import CoreData", "import Foundation"]
    var known: Set<ImportDeclaration> = []
    for file in target.files where !file.properties.isEmpty || !file.methods.isEmpty {
      for one in file.imports where !Conditions.areImpossible(one.conditions) && known.insert(one).inserted {
        let line = (one.access.isEmpty ? "" : one.access + " ") + "import \(one.module)"
        if lines.contains(line) { continue }
        lines += one.conditions.map { "#if \($0)" } + [line] + one.conditions.map { _ in "#endif" }
      }
    }
    return lines
  }
}
