import CoreData
import Foundation
import Testing

/// A program that repeatedly imports what a server sends, with batch inserts.
@Suite("Imports by Apple's names")
struct ImportStoryTests {
  private static func makeContainer(_ folder: URL) throws -> NSPersistentContainer {
    let container = NSPersistentContainer(name: "Journal", managedObjectModel: Journal.makeModel())
    let description = NSPersistentStoreDescription(url: folder.appendingPathComponent("Journal.sqlite"))
    description.setOption(true as NSNumber, forKey: NSPersistentHistoryTrackingKey)
    container.persistentStoreDescriptions = [description]
    var failure: (any Error)?
    container.loadPersistentStores { failure = $1 }
    if let failure { throw failure }
    return container
  }

  private static func trips(_ context: NSManagedObjectContext) throws -> [Trip] {
    let request = NSFetchRequest<Trip>(entityName: "Trip")
    request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
    return try context.fetch(request)
  }

  enum Form: CaseIterable { case dictionaries, dictionaryHandler, objectHandler }

  private static func request(_ names: [String], _ form: Form) -> NSBatchInsertRequest {
    // Safe: each request runs on this thread.
    nonisolated(unsafe) var rest = names[...]
    switch form {
    case .dictionaries:
      return NSBatchInsertRequest(entity: Trip.entity(), objects: names.map { ["name": $0] })
    case .dictionaryHandler:
      return NSBatchInsertRequest(entity: Trip.entity()) { (values: NSMutableDictionary) in
        guard let name = rest.popFirst() else { return true }
        values["name"] = name
        return false
      }
    case .objectHandler:
      return NSBatchInsertRequest(entity: Trip.entity()) { (object: NSManagedObject) in
        guard let name = rest.popFirst() else { return true }
        (object as? Trip)?.name = name
        return false
      }
    }
  }

  @Test(
    "Rules 205, 272: what is there already is updated or kept, as the merge policy says",
    arguments: Form.allCases)
  func upsert(form: Form) throws {
    let container = try Self.makeContainer(try Journal.makeFolder())
    let context = container.newBackgroundContext()
    try context.performAndWait {
      let trip = Trip(context: context)
      trip.name = "Bells"
      let entry = Entry(context: context)
      entry.title = "first"
      entry.trip = trip
      try context.save()
      let error = #expect(throws: CocoaError.self) {
        try context.execute(Self.request(["Winki", "Bells"], form))
      }
      #expect(error?.errorCode == NSManagedObjectConstraintMergeError && error?.errorCode == 133021)
      #expect(error?.localizedDescription.contains("Record 2") == true)
      let conflict = (error?.userInfo["conflictList"] as? [NSConstraintConflict])?.first
      #expect(conflict?.constraint == ["name"] && conflict?.databaseObject == trip)
      #expect(try Self.trips(context).count == 1)

      context.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
      let insert = Self.request(["Winki", "Bells", "Winki"], form)
      insert.resultType = .objectIDs
      let result = try context.execute(insert) as? NSBatchInsertResult
      let ids = try #require(result?.result as? [NSManagedObjectID])
      #expect(ids.count == 2 && ids.last == trip.objectID)
      NSManagedObjectContext.mergeChanges(fromRemoteContextSave: [NSInsertedObjectsKey: ids], into: [context])
      #expect(try Self.trips(context).map(\.name) == ["Bells", "Winki"])
      #expect(entry.trip == trip)

      context.mergePolicy = NSMergePolicy.mergeByPropertyStoreTrump
      let again = Self.request(["Winki", "Jan Juc", "Bells"], form)
      again.resultType = .count
      #expect((try context.execute(again) as? NSBatchInsertResult)?.result as? Int == 1)
      #expect(try Self.trips(context).count == 3)
    }
  }

  @Test("IDs that are merged as inserted refresh the records that were there before")
  func mergedAsInserted() throws {
    let model = Journal.makeModel()
    model.entitiesByName["Entry"]?.uniquenessConstraints = [["title"]]
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(
      ofType: NSInMemoryStoreType, configurationName: nil, at: nil, options: nil)
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    try context.performAndWait {
      let entry = Entry(context: context)
      entry.title = "a"
      try context.save()
      context.mergePolicy = NSMergeByPropertyObjectTrumpMergePolicy
      let insert = NSBatchInsertRequest(
        entityName: "Entry", objects: [["title": "a", "rating": 5], ["title": "b"]])
      insert.resultType = .objectIDs
      let result = try context.execute(insert) as? NSBatchInsertResult
      let ids = try #require(result?.result as? [NSManagedObjectID])
      #expect(entry.rating == 0)
      NSManagedObjectContext.mergeChanges(fromRemoteContextSave: [NSInsertedObjectsKey: ids], into: [context])
      #expect(entry.rating == 5)
    }
  }

  @Test("Rules 119, 278: who has imported, and which moment of the history a save is")
  func history() throws {
    let container = try Self.makeContainer(try Journal.makeFolder())
    let coordinator = container.persistentStoreCoordinator
    let root = container.newBackgroundContext()
    root.transactionAuthor = "importer"
    let child = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    child.parent = root
    child.transactionAuthor = "child"
    let start = try #require(coordinator.currentPersistentHistoryToken(fromStores: nil))
    try child.performAndWait { _ = try child.execute(Self.request(["a"], .dictionaries)) }
    let request = NSPersistentHistoryChangeRequest.fetchHistory(after: start)
    let authors = try root.performAndWait {
      let result = try root.execute(request) as? NSPersistentHistoryResult
      return (result?.result as? [NSPersistentHistoryTransaction])?.map(\.author)
    }
    #expect(authors == ["importer"])

    // Safe: the notification is posted on this thread.
    nonisolated(unsafe) var told: [AnyHashable: Any] = [:]
    let observer = NotificationCenter.default.addObserver(
      forName: .NSManagedObjectContextDidSave, object: root, queue: nil
    ) { told = $0.userInfo ?? [:] }
    defer { NotificationCenter.default.removeObserver(observer) }
    try root.performAndWait {
      Trip(context: root).name = "b"
      try root.setQueryGenerationFrom(.current)
      try root.save()
    }
    let token = told[NSPersistentHistoryTokenKey] as? NSPersistentHistoryToken
    #expect(token != nil && token == coordinator.currentPersistentHistoryToken(fromStores: nil))
    #expect(told[NSManagedObjectContextQueryGenerationKey] is NSQueryGenerationToken)
  }

  @Test("Rule 112: the last progress of an asynchronous fetch is the number of rows")
  func progress() async throws {
    let coordinator = try Journal.makeCoordinator(at: nil)
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    let counts: [Int64] = try await withCheckedThrowingContinuation { continuation in
      context.perform {
        do {
          try context.execute(
            NSBatchInsertRequest(
              entityName: "Entry", objects: (0..<3_000).map { ["title": "\($0)"] }))
          let request = NSFetchRequest<Entry>(entityName: "Entry")
          request.fetchBatchSize = 50
          try context.execute(
            NSAsynchronousFetchRequest(fetchRequest: request) { result in
              continuation.resume(returning: [
                Int64(result.finalResult?.count ?? -1), result.progress?.totalUnitCount ?? -2,
                result.progress?.completedUnitCount ?? -2,
              ])
            })
        } catch { continuation.resume(throwing: error) }
      }
    }
    #expect(counts == [3_000, 3_000, 3_000])
    withExtendedLifetime(context) {}
  }
}
