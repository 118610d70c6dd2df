import Foundation
import Strata
import Testing

/// Reading before the stores are loaded is an error, not an empty result.
@Suite("While no store is loaded")
struct NoStoreTests {
  let coordinator = PersistentStoreCoordinator(managedObjectModel: SurfModel.make())

  private func code(_ body: () throws -> Void) -> CoreDataError.Code? {
    do {
      try body()
      return nil
    } catch let error as CoreDataError {
      return error.code
    } catch {
      Issue.record(error)
      return nil
    }
  }

  @Test("Fetches, counts, pages, values and batches throw 134070, in children too")
  func readingThrows() throws {
    let root = ManagedObjectContext(.confinement, coordinator: coordinator)
    let child = ManagedObjectContext(.confinement)
    child.parent = root
    let lone = ManagedObjectContext(.confinement)
    for context in [root, child, lone] {
      let all = FetchRequest<Entry>(entityName: "Entry")
      let rows = FetchRequest<FetchedDictionary>(entityName: "Entry")
      #expect(code { _ = try context.fetch(all) } == .persistentStoreOperation)
      #expect(code { _ = try context.count(for: all) } == .persistentStoreOperation)
      #expect(code { _ = try context.count(for: rows) } == .persistentStoreOperation)
      #expect(code { _ = try context.fetch(rows) } == .persistentStoreOperation)
      #expect(
        code { _ = try context.fetch(FetchRequest<ManagedObjectID>(entityName: "Entry")) }
          == .persistentStoreOperation)
      #expect(code { _ = try context.fetchInBatches(all) } == .persistentStoreOperation)
      #expect(code { _ = try context.fetchPage(all, size: 3, after: nil) } == .persistentStoreOperation)
      #expect(code { _ = try context.explain(all) } == .persistentStoreOperation)
      #expect(
        code { _ = try context.execute(BatchDeleteRequest(fetchRequest: all)) } == .persistentStoreOperation)
      #expect(
        code {
          _ = try context.execute(BatchUpdateRequest(entityName: "Entry", propertiesToUpdate: ["rating": 2]))
        }
          == .persistentStoreOperation)
      #expect(
        code {
          _ = try context.execute(BatchInsertRequest(entityName: "Entry", objects: [["location": "x"]]))
        }
          == .persistentStoreOperation)
    }
    #expect(
      code { _ = try root.upsert(Surfer.self, by: ["email"], records: [["email": "a"]]) }
        == .persistentStoreOperation)
    #expect(
      code { _ = try coordinator.history(.fetchHistory(after: Date.distantPast)) }
        == .persistentStoreOperation)
    // Nothing to save is no reason to complain.
    try root.save()
  }

  @Test("So do fetched results, and the lookup of a record; once a store is there, everything works")
  func worksOnceThereIsAStore() throws {
    let context = ManagedObjectContext(.confinement, coordinator: coordinator)
    let other = try TemporaryStore()
    let writer = other.context()
    let entry = Entry.make("Bells", in: writer)
    try writer.save()
    let id = entry.objectID
    #expect(code { _ = try context.existingObject(with: id) } == .persistentStoreOperation)
    var request = FetchRequest<Entry>(entityName: "Entry")
    request.sortDescriptors = [FetchSort("location")]
    let results = FetchedResultsController(fetchRequest: request, managedObjectContext: context)
    #expect(code { try results.performFetch() } == .persistentStoreOperation)
    let store = try coordinator.addPersistentStore(.inMemory)
    #expect(try context.fetch(request).isEmpty)
    try results.performFetch()
    #expect(results.fetchedObjects?.isEmpty == true)
    try coordinator.remove(store)
    #expect(code { _ = try context.fetch(request) } == .persistentStoreOperation)
  }

  @Test("Asynchronous fetches throw it too")
  func asynchronously() async throws {
    let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    let error = await #expect(throws: CoreDataError.self) {
      _ = try await context.fetchAsynchronously(FetchRequest<ManagedObjectID>(entityName: "Entry"))
    }
    #expect(error?.code == .persistentStoreOperation)
  }
}
