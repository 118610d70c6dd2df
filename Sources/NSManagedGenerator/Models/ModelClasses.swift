/// Writes the classes of a model's entities, or their properties, as Xcode's editor does: per entity what it says of code generation.
///
/// Properties are ordinary computed ones over the accessors that `@NSManaged` uses too.
struct ModelClasses {
  private let entities: [ModelEntity]
  private let byName: [String: ModelEntity]

  /// - Throws: A sentence, for what is no model.
  init(contentsOf folder: String) throws {
    entities = try ModelReader.entities(of: folder)
    byName = Dictionary(entities.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
  }

  /// The generated file for the target's `module`.
  /// - Throws: A sentence, for a class name that is none.
  func text(module: String) throws -> String {
    var lines: [String] = []
    for entity in entities {
      guard let code = entity.code, let (owner, name) = try Self.className(entity) else { continue }
      // A class of another module is generated there.
      if let owner, owner != module { continue }
      lines += try Self.lines(for: entity, code, name, self)
    }
    if lines.isEmpty { return GeneratedFile.whole("") }
    return GeneratedFile.whole(
      (["import CoreData", "import Foundation"] + lines).joined(separator: "\n") + "\n")
  }

  // MARK: Classes

  /// The module, if the model says one, and the name; nil for an entity without a class of its own.
  private static func className(_ entity: ModelEntity) throws -> (
    module: String?, name: String
  )? {
    guard let full = entity.className, full != "NSManagedObject" else { return nil }
    let parts = full.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard (1...2).contains(parts.count), let name = parts.last, Spelling.isName(name) else {
      throw Refusal("\(entity.place): error: entity \(entity.name): “\(full)” cannot be the name of a class")
    }
    return (parts.count == 2 && !parts[0].isEmpty ? parts[0] : nil, name)
  }

  /// How an entity's class is called in code.
  private func typeName(of entity: String) throws -> String {
    guard let found = byName[entity], let (_, name) = try Self.className(found) else {
      return "NSManagedObject"
    }
    return Spelling.name(name)
  }

  private static func lines(
    for entity: ModelEntity, _ code: ModelEntity.Code, _ className: String, _ model: ModelClasses
  )
    throws -> [String]
  {
    let name = Spelling.name(className)
    var lines: [String] = [""]
    if code == .class {
      let parent = try entity.parent.map { try model.typeName(of: $0) } ?? "NSManagedObject"
      lines += ["public class \(name): \(parent) {}", ""]
    }
    lines += [
      "extension \(name) {",
      "  public class func fetchRequest() -> NSFetchRequest<\(name)> {",
      "    NSFetchRequest<\(name)>(entityName: \(Spelling.literal(entity.name)))",
      "  }",
    ]
    var accessors: [String] = []
    func property(_ property: String, _ type: String) {
      let key = "_\(className)_\(property)"
      let isOptional = type.hasSuffix("?")
      let read = isOptional ? "optional(\(type.dropLast()).self" : "value(\(type).self"
      lines += [
        "",
        "  public var \(Spelling.name(property)): \(type) {",
        "    get { \(key).\(read), of: self) }",
        "    set { \(key).set(newValue, of: self) }",
        "  }",
      ]
      accessors.append("nonisolated private let \(key) = NSManagedAccessor(\(Spelling.literal(property)))")
    }
    for attribute in entity.attributes { property(attribute.name, Self.type(of: attribute)) }
    for relationship in entity.relationships {
      let type = try model.typeName(of: relationship.destination)
      property(
        relationship.name,
        relationship.isToMany ? (relationship.isOrdered ? "NSOrderedSet?" : "NSSet?") : type + "?")
    }
    for (name, destination) in entity.fetched { property(name, "[\(try model.typeName(of: destination))]") }
    for relationship in entity.relationships where relationship.isToMany {
      lines += methods(of: relationship, try model.typeName(of: relationship.destination), className)
    }
    lines += ["}", ""] + accessors
    // Those below a class that is identifiable are so already.
    if entity.parent == nil { lines += ["", "extension \(name): Identifiable {}"] }
    return lines
  }

  // MARK: Properties

  private static func type(of attribute: ModelEntity.Attribute) -> String {
    let isScalar = attribute.isScalar
    switch attribute.type {
    case "Integer 16": return isScalar ? "Int16" : "NSNumber?"
    case "Integer 32": return isScalar ? "Int32" : "NSNumber?"
    case "Integer 64": return isScalar ? "Int64" : "NSNumber?"
    case "Double": return isScalar ? "Double" : "NSNumber?"
    case "Float": return isScalar ? "Float" : "NSNumber?"
    case "Boolean": return isScalar ? "Bool" : "NSNumber?"
    case "Decimal": return "NSDecimalNumber?"
    case "String": return "String?"
    case "Date": return isScalar ? "TimeInterval" : "Date?"
    case "Binary": return "Data?"
    case "UUID": return "UUID?"
    case "URI": return "URL?"
    case "Composite": return "[String: Any]?"
    case "ObjectID": return "NSManagedObjectID?"
    default: return (attribute.customClass ?? "NSObject") + "?"
    }
  }

  private static func methods(of relationship: ModelEntity.Relationship, _ type: String, _ className: String)
    -> [String]
  {
    let name = Spelling.capitalized(relationship.name)
    let key = "_\(className)_\(relationship.name)"
    let set = relationship.isOrdered ? "NSOrderedSet" : "NSSet"
    var methods: [(String, String)] = []
    if relationship.isOrdered {
      methods = [
        ("insertInto\(name)(_ value: \(type), at idx: Int)", "insert(value, at: idx, into: self)"),
        ("removeFrom\(name)(at idx: Int)", "remove(at: idx, from: self)"),
        (
          "insertInto\(name)(_ values: [\(type)], at indexes: NSIndexSet)",
          "insert(values, at: indexes, into: self)"
        ),
        ("removeFrom\(name)(at indexes: NSIndexSet)", "remove(at: indexes, from: self)"),
        ("replace\(name)(at idx: Int, with value: \(type))", "replace(at: idx, with: value, in: self)"),
        (
          "replace\(name)(at indexes: NSIndexSet, with values: [\(type)])",
          "replace(at: indexes, with: values, in: self)"
        ),
      ]
    }
    methods += [
      ("addTo\(name)(_ value: \(type))", "add(value, to: self)"),
      ("removeFrom\(name)(_ value: \(type))", "remove(value, from: self)"),
      ("addTo\(name)(_ values: \(set))", "add(values, to: self)"),
      ("removeFrom\(name)(_ values: \(set))", "remove(values, from: self)"),
    ]
    return methods.flatMap { ["", "  public func \($0.0) { \(key).\($0.1) }"] }
  }
}
