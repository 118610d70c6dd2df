/// Writes down what key-value coding finds by name in a module: the properties that managed object classes declare in Swift, their methods
/// `validate<Key>(_:)`, and what they say of the key paths that affect a key.
///
/// ```
/// public final class NSManagedKeys: NSManagedKeyTable {
///   public override class func declare(in keys: inout NSManagedKeyList) {
///     keys.add("fullName", \Author.fullName)
/// ```
///
/// Only what is certain is written: a class whose superclasses cannot be traced to `NSManagedObject`, a generic class or a class of a global actor has
/// no keys, because what does not compile here would keep the whole target from being built.
struct KeyTableGenerator {
  private let files: [SourceDeclarations]
  private let resolver: TypeResolver
  private let imports: [String: [String]]

  init(_ target: AccessorGenerator.Target) {
    files = target.files
    imports = Dictionary(
      target.files.map { file in (file.file, file.imports.map(\.module)) }, uniquingKeysWith: { $0 + $1 })
    resolver = TypeResolver(
      module: ModuleTable(name: target.module, target.files), otherModules: target.otherModules,
      load: target.load)
  }

  /// The class, with the imports it needs besides CoreData; empty where there is nothing to find.
  func text() -> String {
    var lines: [String] = []
    var modules: Set<String> = []
    for file in files {
      for member in file.keyed where !Conditions.areImpossible(member.conditions) {
        guard let type = owner(of: member), let line = line(for: member, type.spelling) else { continue }
        if type.module != resolver.module.name, !KnownTypes.isBase(type) {
          modules.insert(type.module)
        }
        lines +=
          member.conditions.map { "    #if \($0)" } + ["    " + line]
          + member.conditions.map { _ in "    #endif" }
      }
    }
    if lines.isEmpty { return "" }
    return
      (modules.sorted().map { "import \($0)" } + [
        "public final class NSManagedKeys: NSManagedKeyTable {",
        "  public override class func declare(in keys: inout NSManagedKeyList) {",
      ] + lines + ["  }", "}"]).joined(separator: "\n") + "\n"
  }

  private func line(for member: KeyedMember, _ type: String) -> String? {
    let name = Spelling.name(member.name)
    switch member.kind {
    case .property: return "keys.add(\(Spelling.literal(member.name)), \\\(type).\(name))"
    case .validation:
      guard let key = SourceReader.key(member.name, after: "validate") else { return nil }
      return "keys.addValidation(\(Self.key(key))) { (object: \(type), value) in try object.\(name)(value) }"
    case .affecting:
      guard let key = SourceReader.key(member.name, after: "keyPathsForValuesAffecting") else { return nil }
      return "keys.add(affecting: \(Self.key(key)), of: \(type).self, \(type).\(name)())"
    }
  }

  private static func key(_ name: String) -> String { Spelling.literal(Spelling.uncapitalized(name)) }

  /// The class that a member belongs to; nil where it is not certainly one of managed objects that another file may name.
  private func owner(of member: KeyedMember) -> Nominal? {
    let context = TypeResolver.Context(
      scope: member.scope, imports: imports[member.place.file] ?? [], place: member.place)
    guard let type = try? resolver.owner(of: member.scope, in: context), type.kind == .class,
      !type.chain.contains(where: { $0.discriminator != nil }), isManaged(type)
    else { return nil }
    return type
  }

  private func isManaged(_ type: Nominal) -> Bool {
    var next = type
    for _ in 0..<100 {
      // An extension of `NSManagedObject` itself: all classes have it.
      if KnownTypes.isBase(next) { return true }
      guard let declaration = resolver.knownDeclaration(of: next), !declaration.isGeneric,
        !declaration.isIsolated,
        !declaration.scope.parts.contains(where: \.isGeneric), let parent = declaration.inherited.first,
        let superclass = resolver.nominal(
          parent,
          in: resolver.context(of: next, declaration, imports: imports[declaration.place.file] ?? [])),
        superclass.kind == .class
      else { return false }
      next = superclass
    }
    return false
  }
}
