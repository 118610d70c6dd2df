import Foundation
@_spi(Testing) import Strata
import Testing

/// What batches do to contexts that are alive (rules 183, 274, 276).
struct BatchMergeTests {
  let store: TemporaryStore
  let context: ManagedObjectContext

  init() throws {
    store = try TemporaryStore()
    context = store.context()
  }

  private func rate(_ rating: Int16, _ configure: (inout BatchUpdateRequest) -> Void = { _ in }) throws {
    var request = BatchUpdateRequest(entityName: "Entry", propertiesToUpdate: ["rating": rating])
    configure(&request)
    try context.execute(request)
  }

  @Test("rule 274, better: the executing context shows the new values at once, its edits stay on top")
  func theExecutingContextMerges() throws {
    try store.save("a", "b")
    let (a, b) = (try context.entry("a"), try context.entry("b"))
    b.rating = 1
    b.notes = "mine"
    // A fault would take the row without a word (rule 177).
    #expect(a.rating == 3)
    let recorder = NotificationRecorder(context)
    try rate(5)
    #expect(a.rating == 5)
    #expect(b.rating == 1)
    #expect(recorder.all(.didChange).last?.refreshed == [a.objectID, b.objectID])
    #expect(recorder.all(.didMerge).last?.updatedIDs == [a.objectID, b.objectID])
    // No conflict: the edit stands on the new row.
    try context.save()
    #expect(try store.savedEntries() == ["a 5", "b 1"])
  }

  @Test("rule 274: without merging, objects stay as they are until the result is merged by hand (rule 183)")
  func mergingByHand() throws {
    try store.save("a", "b")
    let a = try context.entry("a")
    #expect(a.rating == 3)
    var request = BatchUpdateRequest(entityName: "Entry", propertiesToUpdate: ["rating": 5])
    request.mergesIntoContext = false
    request.resultType = .objectIDs
    let recorder = NotificationRecorder(context)
    let result = try context.execute(request)
    #expect(a.rating == 3)
    #expect(recorder.names.isEmpty)
    ManagedObjectContext.mergeChanges(
      fromRemoteContextSave: [
        ManagedObjectContext.NotificationKey.updatedObjects.rawValue: result.objectIDs ?? []
      ],
      into: [context])
    #expect(a.rating == 5)
  }

  @Test("rules 174, 199: deleted objects in use become deleted, those with unsaved edits a conflict")
  func deletedObjectsBecomeDeleted() throws {
    try store.save("a", "b", "c")
    let (a, b) = (try context.entry("a"), try context.entry("b"))
    #expect(a.location == "a")
    b.rating = 1
    try context.execute(
      BatchDeleteRequest(
        fetchRequest: FetchRequest<Entry>(entityName: "Entry", predicate: Attribute("location") < "c")))
    #expect(a.isDeleted)
    #expect(a.location == "a")
    #expect(!b.isDeleted)
    #expect(try context.entries().map(\.location) == ["b", "c"])
    #expect(throws: CoreDataError.self) { try context.save() }
    context.mergePolicy = .rollback
    try context.save()
    #expect(try store.savedEntries() == ["c 3"])
  }

  @Test("rule 179: inserted rows are made known: the first ones as objects, all of them as a list")
  func insertedRowsAreMadeKnown() throws {
    let recorder = NotificationRecorder(context)
    var lists: [BatchObjectIDs] = []
    // Unsafe: posted on the thread of the test, which uses the context.
    nonisolated(unsafe) let note = { (userInfo: [AnyHashable: Any]?) in
      let key = ManagedObjectContext.NotificationKey.insertedBatchObjectIDs.rawValue
      if let list = userInfo?[key] as? BatchObjectIDs { lists.append(list) }
    }
    let tokens = [
      ManagedObjectContext.didChangeObjectsNotification,
      ManagedObjectContext.didMergeChangesObjectIDsNotification,
    ].map {
      NotificationCenter.default.addObserver(forName: $0, object: context, queue: nil) { note($0.userInfo) }
    }
    defer { tokens.forEach(NotificationCenter.default.removeObserver) }
    var request = BatchInsertRequest(
      entityName: "Entry", objects: (0..<2_500).map { ["location": "\($0)"] })
    request.resultType = .objectIDs
    let ids = try #require(try context.execute(request).objectIDs)
    let first = Set(ids.prefix(1_024))
    let told = recorder.all(.didChange).map(\.inserted)
    let isRight = told.first == first && told.dropFirst().allSatisfy(\.isEmpty)
    #expect(isRight)
    let merged = recorder.all(.didMerge).reduce(Set()) { $0.union($1.insertedIDs) }
    let isMerged = merged == first
    #expect(isMerged)
    let areAll = lists.count == 2 && lists.allSatisfy { Array($0) == ids }
    #expect(areAll)
    #expect(!context.hasChanges)
    #expect(context.registeredObjects.isEmpty)
  }

  @Test("rule 184: siblings that merge automatically are told of a batch as of a save, others are not")
  func siblingsMerge() async throws {
    try store.save("a", "b")
    let listening = store.context(.privateQueue)
    listening.automaticallyMergesChangesFromParent = true
    let deaf = store.context(.privateQueue)
    for sibling in [listening, deaf] {
      await sibling.perform {
        sibling.retainsRegisteredObjects = true
        let found = try? sibling.entries()
        #expect(found?.map(\.rating) == [3, 3])
      }
    }
    let executing = store.context(.privateQueue)
    try await executing.perform {
      _ = try executing.execute(
        BatchUpdateRequest(entityName: "Entry", propertiesToUpdate: ["rating": 5]))
    }
    func ratings(_ sibling: ManagedObjectContext) async -> [Int16] {
      await sibling.perform {
        sibling.registeredObjects.compactMap { $0 as? Entry }.map(\.rating).sorted()
      }
    }
    #expect(await ratings(listening) == [5, 5])
    #expect(await ratings(deaf) == [3, 3])
    try await executing.perform {
      _ = try executing.execute(
        BatchDeleteRequest(fetchRequest: FetchRequest<Entry>(entityName: "Entry")))
    }
    let deleted = await listening.perform { listening.deletedObjects.count }
    #expect(deleted == 2)
  }

  @Test("members of relationships are loaded again after a batch has changed the relationships")
  func membersAreLoadedAgain() throws {
    let store = try TemporaryStore(TeamModel.make())
    let context = store.context()
    let sales = context.make(Department.self, "sales")
    let ann = context.make(Employee.self, "ann")
    ann.department = sales
    context.make(Employee.self, "bob")
    try context.save()
    #expect(sales.employees.names == ["ann"])
    try context.execute(
      BatchUpdateRequest(
        entityName: "Employee", predicate: Attribute("name") == "bob",
        propertiesToUpdate: ["department": sales.objectID]))
    #expect(sales.employees.names == ["ann", "bob"])
    try context.execute(
      BatchInsertRequest(entityName: "Employee", objects: [["name": "cid", "department": sales.objectID]]))
    #expect(sales.employees.names == ["ann", "bob", "cid"])
    try context.execute(
      BatchDeleteRequest(
        fetchRequest: FetchRequest<Employee>(entityName: "Employee", predicate: Attribute("name") == "bob")))
    #expect(sales.employees.names == ["ann", "cid"])
    try context.execute(BatchDeleteRequest(objectIDs: [sales.objectID]))
    #expect(ann.department == nil)
    #expect(sales.isDeleted)
  }

  @Test(
    "rule 276: a batch does not move a pinned generation, of the executing context or of one that merges automatically"
  )
  func pinnedGenerationsStay() async throws {
    try store.save("a")
    let (pinned, executing) = (store.context(.privateQueue), store.context(.privateQueue))
    pinned.automaticallyMergesChangesFromParent = true
    @Sendable func ratings(_ reader: ManagedObjectContext) throws -> [Int16] {
      reader.refreshAllObjects()
      return try reader.entries().map(\.rating)
    }
    for reader in [pinned, executing] {
      let before = try await reader.perform {
        try reader.setQueryGenerationFrom(.current)
        return try ratings(reader)
      }
      #expect(before == [3])
    }
    let tokens = try await executing.perform {
      let before = executing.queryGenerationToken
      try executing.execute(BatchUpdateRequest(entityName: "Entry", propertiesToUpdate: ["rating": 5]))
      return [before, executing.queryGenerationToken]
    }
    #expect(tokens[0] == tokens[1])
    for reader in [pinned, executing] {
      let after = try await reader.perform {
        let pinned = try ratings(reader)
        try reader.setQueryGenerationFrom(nil)
        return [pinned, try ratings(reader)]
      }
      #expect(after == [[3], [5]])
    }
  }

  @Test("a child executes in the store: what is unsaved above it is neither seen nor written")
  func childrenExecuteInTheStore() throws {
    try store.save("a", "b")
    let child = ManagedObjectContext(.confinement, parent: context)
    let unsaved = try context.entry("a")
    unsaved.notes = "unsaved"
    Entry.make("new", in: context)
    let seen = try child.entry("b")
    #expect(seen.rating == 3)
    #expect(
      try child.execute(BatchUpdateRequest(entityName: "Entry", propertiesToUpdate: ["rating": 5])).count == 2
    )
    #expect(seen.rating == 5)
    #expect(try store.savedEntries() == ["a 5", "b 5"])
    #expect(!child.hasChanges)
    #expect(try child.entries().map(\.location) == ["a", "b", "new"])
    #expect(try child.entry("a").notes == "unsaved")
  }

  @Test("batches and saves of many contexts come one after another, none is lost")
  func amongSaves() async throws {
    try store.save("counter", rating: 0)
    let coordinator = store.coordinator
    try await withThrowingTaskGroup(of: Void.self) { group in
      for worker in 0..<4 {
        group.addTask {
          let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
          for round in 0..<10 {
            try await context.perform {
              if worker.isMultiple(of: 2) {
                _ = Entry.make("w\(worker)-\(round)", in: context)
                try context.save()
              } else {
                try context.execute(
                  BatchInsertRequest(entityName: "Entry", objects: [["location": "w\(worker)-\(round)"]]))
                try context.execute(
                  BatchUpdateRequest(
                    entityName: "Entry", predicate: Attribute("location").beginsWith("w\(worker)"),
                    propertiesToUpdate: ["rating": Int16(round)]))
              }
            }
          }
        }
      }
      try await group.waitForAll()
    }
    let entries = try store.context().entries()
    #expect(entries.count == 41)
    #expect(entries.filter { $0.location?.hasPrefix("w1") == true }.allSatisfy { $0.rating == 9 })
    #expect(try store.problems() == [])
  }
}
