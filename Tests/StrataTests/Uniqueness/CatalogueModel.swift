import Foundation
import Strata

/// The model the uniqueness tests live in.
///
///     Product    unique: sku; maker and model together
///       ──vendor──▶ Vendor          inverse products
///       ──tags──▶▶ Tag              many-to-many, inverse products
///       ──parts──▶▶ Part            inverse product, ordered
///       ──box──▶ Box                one-to-one, inverse content
///     Vendor     unique: code       Tag    unique: name
///     Order      ──item──▶ Product, ──extras──▶▶ Product, both without inverse
///     Part (abstract)               unique: serial
///      ├ Bolt     length
///      │  └ LongBolt                unique: serial and length, which extends the constraint of Part
///      └ Nut
enum CatalogueModel {
  static func make() -> ManagedObjectModel {
    let longBolt = EntityDescription("LongBolt", uniquenessConstraints: [["serial", "length"]])
    let bolt = EntityDescription(
      "Bolt", properties: [AttributeDescription("length", .integer64)], subentities: [longBolt])
    let nut = EntityDescription("Nut", properties: [AttributeDescription("width", .integer64)])
    let part = EntityDescription(
      "Part", isAbstract: true,
      properties: [AttributeDescription("serial", .integer64), AttributeDescription("note", .string)],
      uniquenessConstraints: [["serial"]], subentities: [bolt, nut])
    let product = EntityDescription(
      "Product",
      properties: [
        AttributeDescription("sku", .string), AttributeDescription("name", .string),
        AttributeDescription("price", .integer64, defaultValue: 0), AttributeDescription("note", .string),
        AttributeDescription("maker", .string), AttributeDescription("model", .integer64),
        AttributeDescription("mood", .string, isTransient: true),
      ],
      uniquenessConstraints: [["sku"], ["maker", "model"]])
    let vendor = EntityDescription(
      "Vendor", properties: [AttributeDescription("code", .string), AttributeDescription("name", .string)],
      uniquenessConstraints: [["code"]])
    let tag = EntityDescription(
      "Tag", properties: [AttributeDescription("name", .string)], uniquenessConstraints: [["name"]])
    let box = EntityDescription("Box", properties: [AttributeDescription("name", .string)])
    let order = EntityDescription("Order", properties: [AttributeDescription("name", .string)])
    join(product, "vendor", 1, vendor, "products", 0)
    join(product, "tags", 0, tag, "products", 0)
    join(product, "box", 1, box, "content", 1)
    join(product, "parts", 0, part, "product", 1, isOrdered: true)
    order.properties.append(RelationshipDescription("item", to: product, maxCount: 1))
    order.properties.append(RelationshipDescription("extras", to: product, maxCount: 0))
    return ManagedObjectModel(entities: [part, bolt, longBolt, nut, product, vendor, tag, box, order])
  }

  private static func join(
    _ left: EntityDescription, _ name: String, _ maxCount: Int, _ right: EntityDescription,
    _ inverseName: String,
    _ inverseMaxCount: Int, isOrdered: Bool = false
  ) {
    let relationship = RelationshipDescription(name, to: right, maxCount: maxCount, isOrdered: isOrdered)
    let inverse = RelationshipDescription(inverseName, to: left, maxCount: inverseMaxCount)
    relationship.inverseRelationship = inverse
    inverse.inverseRelationship = relationship
    left.properties.append(relationship)
    right.properties.append(inverse)
  }
}

extension ManagedObjectContext {
  /// A new object with these values.
  @discardableResult
  func new(_ entity: String, _ values: [String: Any] = [:]) -> ManagedObject {
    guard let description = persistentStoreCoordinator?.managedObjectModel.entitiesByName[entity] else {
      fatalError("the model has no entity \(entity)")
    }
    let object = ManagedObject(entity: description, insertInto: self)
    for (key, value) in values { object[key] = value }
    return object
  }

  /// All objects of an entity, oldest first.
  func all(_ entity: String, _ predicate: FetchPredicate? = nil) throws -> [ManagedObject] {
    try fetch(FetchRequest<ManagedObject>(entityName: entity, predicate: predicate))
  }

  /// The one product with that number.
  func product(_ sku: String) throws -> ManagedObject {
    let found = try all("Product", Attribute("sku") == sku)
    guard found.count == 1 else { throw WrongCount(count: found.count) }
    return found[0]
  }

  struct WrongCount: Error { let count: Int }
}

extension TemporaryStore {
  /// Saves products with these names under these numbers.
  func stock(_ products: KeyValuePairs<String, String>) throws {
    let context = context()
    for (sku, name) in products { context.new("Product", ["sku": sku, "name": name]) }
    try context.save()
  }

  /// All saved products as “sku name price”, in the order of their numbers.
  func products() throws -> [String] {
    try fresh { context in
      try context.all("Product").map {
        "\($0["sku"] as? String ?? "nil") \($0["name"] as? String ?? "nil") \($0["price"] as? Int64 ?? -1)"
      }.sorted()
    }
  }
}

extension ManagedObject {
  /// The names of the members of a relationship, products by their numbers, sorted.
  func names(_ relationship: String) -> [String] {
    let members =
      (self[relationship] as? Set<ManagedObject>).map(Array.init) ?? self[relationship] as? [ManagedObject]
      ?? []
    return members.compactMap { $0[$0.entity.name == "Product" ? "sku" : "name"] as? String }.sorted()
  }

  /// The object at the other end.
  func end(_ relationship: String) -> ManagedObject? { self[relationship] as? ManagedObject }
}

/// A policy that counts how often it is asked, and by how many conflicts.
final class CountingPolicy: MergePolicy, @unchecked Sendable {
  // Safe: used by one test on one thread.
  private(set) var calls = 0
  private(set) var conflicts = 0

  override func resolve(constraintConflicts list: [ConstraintConflict]) throws {
    calls += 1
    conflicts += list.count
    try super.resolve(constraintConflicts: list)
  }
}

let settlingPolicies: [MergePolicyType] = [
  .mergeByPropertyObjectTrump, .mergeByPropertyStoreTrump, .overwrite, .rollback,
]
