import CoreData
import Testing

@Suite("Did-change notifications of merges")
struct MergeKeyTests {
  /// What a context's did-change notifications say, and the last did-save notification of another one.
  private final class Told: @unchecked Sendable {
    // @unchecked Sendable: the contexts of the test take turns.
    var keys: [Set<String>] = []
    var merged: [Int?] = []
    var saved: Notification?
  }

  @Test(
    "Did-change of a merge has Core Data's key of merges, whichever way it comes, and no other did-change has",
    arguments: ["told", "by ID", "automatic"])
  func keyOfMerges(way: String) throws {
    let key = "NSObjectsChangedByMergeChangesKey"
    let coordinator = try Journal.makeCoordinator(at: nil)
    let (reader, writer) = (
      NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType),
      NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    )
    reader.automaticallyMergesChangesFromParent = way == "automatic"
    for context in [reader, writer] { context.persistentStoreCoordinator = coordinator }
    let told = Told()
    let center = NotificationCenter.default
    let tokens = [
      center.addObserver(forName: .NSManagedObjectContextObjectsDidChange, object: reader, queue: nil) {
        told.keys.append(Set(($0.userInfo ?? [:]).keys.compactMap { $0 as? String }))
        told.merged.append(($0.userInfo?[key] as? Set<NSManagedObject>)?.count)
      },
      center.addObserver(forName: .NSManagedObjectContextDidSave, object: writer, queue: nil) {
        told.saved = $0
      },
    ]
    defer { for token in tokens { center.removeObserver(token) } }
    func merge(_ kind: String, _ id: NSManagedObjectID) throws {
      switch way {
      case "told":
        let saved = try #require(told.saved)
        reader.performAndWait { reader.mergeChanges(fromContextDidSave: saved) }
      case "by ID":
        NSManagedObjectContext.mergeChanges(fromRemoteContextSave: [kind: [id]], into: [reader])
      default:
        // Behind the merge on the context's queue.
        reader.performAndWait {}
      }
    }
    let id = try writer.performAndWait {
      let entry = Entry(context: writer)
      entry.title = "Draft"
      try writer.save()
      return entry.objectID
    }
    try merge(NSInsertedObjectIDsKey, id)
    // Unsafe: used on the context's queue.
    nonisolated(unsafe) let entry = try #require(reader.performAndWait { reader.object(with: id) as? Entry })
    reader.performAndWait { #expect(entry.title == "Draft") }
    try writer.performAndWait {
      let same = try #require(try writer.existingObject(with: id) as? Entry)
      same.title = "Final"
      try writer.save()
    }
    try merge(NSUpdatedObjectIDsKey, id)
    reader.performAndWait {
      #expect(entry.title == "Final")
      entry.rating = 2
      reader.processPendingChanges()
    }
    #expect(
      told.keys == [[NSInsertedObjectsKey, key], [NSRefreshedObjectsKey, key], [NSUpdatedObjectsKey]])
    #expect(told.merged == [0, 1, nil])
  }
}
