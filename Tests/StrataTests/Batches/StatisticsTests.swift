import Foundation
import Strata
import Testing

/// Counters of a context.
struct StatisticsTests {
  let store: TemporaryStore
  let context: ManagedObjectContext

  init() throws {
    store = try TemporaryStore()
    try store.save("a", "b", "c")
    context = store.context()
  }

  @Test("requests, rows, objects and faults are counted, from zero after a reset")
  func reading() throws {
    #expect(context.statistics == ManagedObjectContext.Statistics())
    let entries = try context.entries()
    _ = try context.entryCount()
    _ = try context.fetch(FetchRequest<ManagedObjectID>(entityName: "Entry"))
    #expect(context.statistics.fetches == 3)
    #expect(context.statistics.rowsRead == 3)
    #expect(context.statistics.objectsMade == 3)
    #expect(context.statistics.faultsFired == 0)
    #expect(context.statistics.timeInStore > .zero)
    for entry in entries {
      context.refresh(entry, mergeChanges: false)
      #expect(entry.location != nil)
    }
    #expect(context.statistics.faultsFired == 3)
    context.resetStatistics()
    #expect(context.statistics == ManagedObjectContext.Statistics())
  }

  @Test("saves, attempts and conflicts are counted")
  func writing() throws {
    let other = store.context()
    let mine = try context.entry("a")
    try other.entry("a").rating = 1
    try other.save()
    mine.rating = 2
    #expect(throws: (any Error).self) { try context.save() }
    #expect(context.statistics.saves == 0)
    #expect(context.statistics.saveAttempts == 1)
    #expect(context.statistics.conflicts == 1)
    context.mergePolicy = .mergeByPropertyObjectTrump
    try context.save()
    #expect(context.statistics.saves == 1)
    #expect(context.statistics.saveAttempts == 3)
    #expect(context.statistics.conflicts == 2)
  }

  @Test("batches and their rows are counted")
  func batches() throws {
    try context.execute(BatchUpdateRequest(entityName: "Entry", propertiesToUpdate: ["rating": 1]))
    try context.execute(BatchInsertRequest(entityName: "Note", objects: [["key": "a"], ["key": "b"]]))
    #expect(context.statistics.batches == 2)
    #expect(context.statistics.batchRows == 5)
    #expect(context.statistics.timeInStore > .zero)
  }
}
