import Foundation
import Testing

@testable import StrataCore

/// Partial indexes in which earlier versions had other rows: those found the empty text in every text.
struct IndexSignatureTests {
  private static func model(_ format: String) throws -> ManagedObjectModel {
    let index = FetchIndexDescription(name: "bySize", attributes: ["size"])
    index.partialIndexPredicate = try FetchPredicate(format: format)
    let properties = [AttributeDescription("name", .string), AttributeDescription("size", .integer64)]
    return ManagedObjectModel(entities: [
      EntityDescription("Spot", properties: properties, indexes: [index])
    ])
  }

  @Test(
    "rule 346: the signature tells only those indexes from earlier ones that may look for an empty text",
    arguments: [
      (#"name CONTAINS "" OR size > 5"#, true), (#"NOT name BEGINSWITH[c] """#, true),
      (#"name ENDSWITH[cd] "x""#, true), (#"name CONTAINS "x" AND name ENDSWITH """#, true),
      (#"name CONTAINS "x" OR size > 5"#, false), (#"name == """#, false),
      (#"name BEGINSWITH[c] "x""#, false), ("size > 5", false),
    ])
  func signature(format: String, isOther: Bool) throws {
    let index = try #require(try Self.model(format).schema().indexes.first)
    #expect(index.signature.hasSuffix("parts\n") == isOther, "\(index.signature)")
    let condition = try #require(index.condition)
    #expect(index.signature.contains("where \(condition.text)\n"))
  }

  @Test("rule 346: an index that an earlier version has built for such a predicate is built anew")
  func rebuilt() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("signed-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let url = folder.appendingPathComponent("Spots.strata")
    let model = try Self.model(#"name CONTAINS "" OR size > 5"#)
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    let schema = try model.schema()
    let first = try LMDBStore(url: url, schema: schema)
    try coordinator.attach(first)
    let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    try context.performAndWait {
      for size in 0..<10 {
        let object = ManagedObject(entity: model.entities[0], insertInto: context)
        object.setValue("spot \(size)", forKey: "name")
        object.setValue(size, forKey: "size")
      }
      try context.save()
    }
    try coordinator.remove(first)

    // As an earlier version has left it: with other entries, under its own signature.
    let earlier = try LMDBStore(url: url, schema: schema)
    let (parts, index) = (earlier.parts, schema.indexes[0])
    let keyspace = try #require(parts.indexes[index.number])
    let signature = index.signature.replacingOccurrences(of: "parts\n", with: "")
    try parts.environment.write { transaction in
      try parts.meta.put("index/" + index.name, Array(signature.utf8), transaction)
      try transaction.clear(keyspace)
      try StoreCatalogue.raiseGeneration(parts.meta, transaction)
    }
    #expect(try earlier.indexes().first { $0.name == "bySize" }?.isComplete == false)
    earlier.close()

    let store = try LMDBStore(url: url, schema: schema)
    defer { store.close() }
    let found = try #require(try store.indexes().first { $0.name == "bySize" })
    #expect(found.isComplete && found.entryCount == 4)
    #expect(try store.check().isSound)
  }
}
