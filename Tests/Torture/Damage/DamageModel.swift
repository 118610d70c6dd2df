import Foundation
import StrataCore
import TortureKit

/// What the stores hold that are damaged: rows of all kinds, indexes, a constraint, large values.
enum DamageModel {
  static func make() -> ManagedObjectModel {
    let animal = EntityDescription(
      "Animal",
      properties: [
        AttributeDescription("name", .string, isOptional: true),
        AttributeDescription("age", .integer32, isOptional: true),
        AttributeDescription("weight", .double, isOptional: true),
        AttributeDescription("price", .decimal, isOptional: true),
        AttributeDescription("born", .date, isOptional: true),
        AttributeDescription("chip", .uuid, isOptional: true),
        AttributeDescription("picture", .binaryData, isOptional: true),
        AttributeDescription("story", .string, isOptional: true),
        AttributeDescription("page", .uri, isOptional: true),
      ], uniquenessConstraints: [["chip"]],
      indexes: [
        FetchIndexDescription(name: "byName", attributes: ["name", "age"]),
        FetchIndexDescription(name: "byBorn", attributes: ["born"]),
      ],
      subentities: [
        EntityDescription("Bird", properties: [AttributeDescription("span", .float, isOptional: true)])
      ])
    let cage = EntityDescription(
      "Cage", properties: [AttributeDescription("number", .integer16, isOptional: true)])
    return ManagedObjectModel(entities: [animal, cage])
  }

  /// Compiled once; the model is valid.
  static let schema = Result { try make().schema() }

  /// A store's bytes after some random saves.
  static func image(_ random: inout SeededGenerator, path: String) throws -> [UInt8] {
    let opened = try OpenDamage(path)
    let context = opened.context
    var seed = random
    try context.performAndWait {
      for _ in 0..<(1 + seed.below(4)) {
        for _ in 0..<seed.below(60) { fill(try insert(context, &seed), &seed) }
        for object in try context.fetch(FetchRequest<ManagedObject>(entityName: "Animal")) {
          if seed.chance(10) { context.delete(object) } else if seed.chance(15) { fill(object, &seed) }
        }
        try context.save()
      }
    }
    random = seed
    try opened.close()
    return [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
  }

  static func insert(_ context: ManagedObjectContext, _ random: inout SeededGenerator) throws -> ManagedObject
  {
    let name = random.pick(["Animal", "Bird", "Bird", "Cage"])
    guard let entity = try schema.get().entity(named: name) else {
      throw TortureViolation("no entity \(name)")
    }
    return ManagedObject(entity: entity.entityDescription, insertInto: context)
  }

  static func fill(_ object: ManagedObject, _ random: inout SeededGenerator) {
    if object.entity.name == "Cage" { return object.setValue(random.below(1000), forKey: "number") }
    object.setValue(String(repeating: "n", count: random.below(40)) + "\(random.below(1000))", forKey: "name")
    object.setValue(random.below(100), forKey: "age")
    object.setValue(Double(random.below(1000)) / 8, forKey: "weight")
    object.setValue(Date(timeIntervalSinceReferenceDate: Double(random.below(1_000_000))), forKey: "born")
    object.setValue(UUID(), forKey: "chip")
    if random.chance(12) { object.setValue(Data(random.bytes(random.below(20_000))), forKey: "picture") }
    if random.chance(15) {
      object.setValue(String(repeating: "once ", count: random.below(600)), forKey: "story")
    }
  }
}

/// A store opened through a coordinator with one context.
struct OpenDamage {
  let context: ManagedObjectContext
  let store: LMDBStore
  private let coordinator: PersistentStoreCoordinator

  init(_ path: String) throws {
    let schema = try DamageModel.schema.get()
    var options = LMDBStoreOptions()
    options.durability = .none
    coordinator = PersistentStoreCoordinator(managedObjectModel: schema.model)
    store = try LMDBStore(url: URL(fileURLWithPath: path), schema: schema, options: options)
    try coordinator.attach(store)
    context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
  }

  func close() throws { try coordinator.remove(store) }
}
