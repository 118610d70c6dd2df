import Foundation
import Strata
import StrataCore
import Testing
import TortureKit

@testable import StrataPostgres

/// Batch inserts of rows that are there already, and give parts of constraints: both engines make the same of them.
@Suite struct PartialUpsertTests {
  private static func model() -> ManagedObjectModel {
    ManagedObjectModel(entities: [
      EntityDescription(
        "Thing",
        properties: [
          AttributeDescription("key", .string), AttributeDescription("a", .integer64),
          AttributeDescription("b", .integer64, defaultValue: 0), AttributeDescription("note", .string),
        ],
        uniquenessConstraints: [["key"], ["a", "b"]])
    ])
  }

  /// What a batch comes to, and what is there then.
  private func told(
    _ rows: [[String: Any]], _ policy: MergePolicy, _ coordinator: PersistentStoreCoordinator
  ) throws -> [String] {
    let context = ManagedObjectContext(.confinement, coordinator: coordinator)
    context.mergePolicy = policy
    var outcome = "done"
    do { try context.execute(BatchInsertRequest(entityName: "Thing", objects: rows)) } catch let error
      as CoreDataError
    { outcome = "\(error.code)" }
    let reader = ManagedObjectContext(.confinement, coordinator: coordinator)
    let things = try reader.fetch(FetchRequest<ManagedObject>(entityName: "Thing")).map { thing in
      ["key", "a", "b", "note"].map { "\(thing.value(forKey: $0) ?? "nil")" }.joined(separator: " ")
    }
    return [outcome] + things.sorted()
  }

  @Test("rule 205: a row may give a record of the same batch a part of the values that a later row has")
  func partOfAConstraint() throws {
    let stand = try ServerStand(Self.model())
    let rows: [[String: Any]] = [
      ["key": "k", "a": 0], ["key": "k"], ["key": "k", "b": 1], ["a": 0, "b": 1, "note": "last"],
      ["a": 0, "b": 0, "note": "other"],
    ]
    #expect(
      try told(rows, .mergeByPropertyObjectTrump, stand.coordinator) == [
        "done", "k 0 1 last", "nil 0 0 other",
      ])
  }

  @Test("rule 205: random batches come to the same on both engines")
  func randomBatches() throws {
    let seed = UInt64.random(in: 0 ... .max)
    print("PartialUpsertTests seed \(seed)")
    var random = SeededGenerator(seed: seed)
    let stand = try ServerStand(Self.model())
    let twin = PersistentStoreCoordinator(managedObjectModel: Self.model())
    try twin.addPersistentStore(.inMemory)
    var (done, refused) = (0, 0)
    for round in 0..<40 {
      let rows: [[String: Any]] = (0..<random.below(8)).map { _ in
        var row: [String: Any] = [:]
        if random.below(4) > 0 { row["key"] = "k\(random.below(6))" }
        if random.below(2) == 0 { row["a"] = random.below(4) }
        if random.below(2) == 0 { row["b"] = random.below(3) }
        if random.below(2) == 0 { row["note"] = "n\(round)" }
        return row
      }
      let policy = [MergePolicy.mergeByPropertyObjectTrump, .overwrite, .rollback][random.below(3)]
      let here = try told(rows, policy, stand.coordinator)
      #expect(try told(rows, policy, twin) == here, "seed \(seed), round \(round): \(rows)")
      if here[0] == "done" { done += 1 } else { refused += 1 }
    }
    #expect(done > 0 && refused > 0, "seed \(seed)")
  }
}
