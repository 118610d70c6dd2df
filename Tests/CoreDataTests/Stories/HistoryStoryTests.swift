import CoreData
import Foundation
import Testing

/// An app and its extension: two containers on one file.
@Suite("History by Apple's names")
struct HistoryStoryTests {
  private static func makeContainer(_ folder: URL) throws -> NSPersistentContainer {
    let model = Journal.makeModel()
    model.entitiesByName["Entry"]?.attributesByName["title"]?.preservesValueInHistoryOnDeletion = true
    let container = NSPersistentContainer(name: "Journal", managedObjectModel: model)
    let description = NSPersistentStoreDescription(url: folder.appendingPathComponent("Journal.sqlite"))
    description.setOption(true as NSNumber, forKey: NSPersistentHistoryTrackingKey)
    description.setOption(true as NSNumber, forKey: NSPersistentStoreRemoteChangeNotificationPostOptionKey)
    container.persistentStoreDescriptions = [description]
    var failure: (any Error)?
    container.loadPersistentStores { failure = $1 }
    if let failure { throw failure }
    return container
  }

  /// What an app keeps between launches.
  private static func archived(_ token: NSPersistentHistoryToken) throws -> NSPersistentHistoryToken? {
    let data = try NSKeyedArchiver.archivedData(withRootObject: token, requiringSecureCoding: true)
    return try NSKeyedUnarchiver.unarchivedObject(ofClass: NSPersistentHistoryToken.self, from: data)
  }

  @Test("an app merges what its extension has saved, by author, and deletes what both have seen")
  @MainActor
  func appAndExtension() throws {
    let folder = try Journal.makeFolder()
    let app = try Self.makeContainer(folder)
    let widget = try Self.makeContainer(folder)
    app.viewContext.transactionAuthor = "app"
    let context = widget.newBackgroundContext()
    context.name = "widgetContext"
    context.transactionAuthor = "widget"

    let view = app.viewContext
    let first = Entry(context: view)
    first.title = "Morning"
    try view.save()
    let token = try #require(
      app.persistentStoreCoordinator.currentPersistentHistoryToken(fromStores: nil))

    try context.performAndWait {
      let entry = try #require(try Journal.entry("Morning", context))
      entry.rating = 5
      try context.save()
      let other = Entry(context: context)
      other.title = "Evening"
      try context.save()
      context.delete(other)
      try context.save()
    }
    first.rating = 1
    view.refresh(first, mergeChanges: false)

    let last = try #require(try Self.archived(token))
    let request = NSPersistentHistoryChangeRequest.fetchHistory(after: last)
    let historyFetch = try #require(NSPersistentHistoryTransaction.fetchRequest)
    historyFetch.predicate = NSPredicate(format: "%K != %@", "author", "app")
    request.fetchRequest = historyFetch
    let result = try view.execute(request) as? NSPersistentHistoryResult
    let transactions = try #require(result?.result as? [NSPersistentHistoryTransaction])
    #expect(transactions.map(\.author) == ["widget", "widget", "widget"])
    #expect(transactions.first?.contextName == "widgetContext")
    let update = try #require(transactions.first?.changes?.first)
    #expect(update.changeType == .update && update.changedObjectID == first.objectID)
    #expect(update.updatedProperties?.map(\.name) == ["rating"])
    let deletion = try #require(transactions.last?.changes?.first)
    #expect(deletion.changeType == .delete && deletion.tombstone?["title"] as? String == "Evening")
    for transaction in transactions {
      view.mergeChanges(fromContextDidSave: transaction.objectIDNotification())
    }
    #expect(first.rating == 5)

    let newest = try #require(transactions.last?.token)
    try view.execute(NSPersistentHistoryChangeRequest.deleteHistory(before: newest))
    let rest = try view.execute(NSPersistentHistoryChangeRequest.fetchHistory(after: Date.distantPast))
    #expect(((rest as? NSPersistentHistoryResult)?.result as? [NSPersistentHistoryTransaction])?.count == 1)

    do {
      try view.execute(NSPersistentHistoryChangeRequest.fetchHistory(after: last))
      Issue.record("the token is expired")
    } catch let error as CocoaError where error.errorCode == NSPersistentHistoryTokenExpiredError {
      // Everything is read again.
    }
    let error = #expect(throws: (any Error).self) {
      try view.execute(NSPersistentHistoryChangeRequest.fetchHistory(after: last))
    }
    #expect((error as NSError?)?.code == NSPersistentHistoryTokenExpiredError)
    #expect((error as NSError?)?.domain == NSCocoaErrorDomain)
  }

  @Test("the token of a remote-change notification is where the next fetch begins")
  func remoteChanges() async throws {
    let folder = try Journal.makeFolder()
    let app = try Self.makeContainer(folder)
    let widget = try Self.makeContainer(folder)
    let tokens = AsyncStream<NSPersistentHistoryToken>.makeStream()
    let observer = NotificationCenter.default.addObserver(
      forName: .NSPersistentStoreRemoteChange, object: app.persistentStoreCoordinator, queue: nil
    ) { note in
      if let token = note.userInfo?[NSPersistentHistoryTokenKey] as? NSPersistentHistoryToken {
        tokens.continuation.yield(token)
      }
    }
    defer { NotificationCenter.default.removeObserver(observer) }
    let context = widget.newBackgroundContext()
    try await context.perform {
      Entry(context: context).title = "Noon"
      try context.save()
    }
    let token = try #require(await tokens.stream.first { _ in true })
    let reader = app.newBackgroundContext()
    try await reader.perform {
      let request = NSPersistentHistoryChangeRequest.fetchHistory(after: token)
      request.resultType = .count
      #expect((try reader.execute(request) as? NSPersistentHistoryResult)?.result as? Int == 0)
      Entry(context: reader).title = "Night"
      try reader.save()
      #expect((try reader.execute(request) as? NSPersistentHistoryResult)?.result as? Int == 1)
    }
  }

  @Test("requests for changes, with sort descriptors and limits")
  func changes() throws {
    let container = try Self.makeContainer(try Journal.makeFolder())
    let context = container.newBackgroundContext()
    try context.performAndWait {
      for number in 1...4 {
        Entry(context: context).title = "Entry \(number)"
        try context.save()
      }
      let fetch = try #require(NSPersistentHistoryChange.fetchRequest)
      fetch.predicate = NSPredicate(
        format: "changeType == %d AND changedEntity == %@", NSPersistentHistoryChangeType.insert.rawValue,
        Entry.entity())
      fetch.sortDescriptors = [NSSortDescriptor(key: "changeID", ascending: false)]
      fetch.fetchLimit = 2
      let request = NSPersistentHistoryChangeRequest.fetchHistory(withFetch: fetch)
      request.resultType = .changesOnly
      let result = try context.execute(request) as? NSPersistentHistoryResult
      let changes = try #require(result?.result as? [NSPersistentHistoryChange])
      #expect(changes.map { $0.transaction?.transactionNumber } == [4, 3])
      fetch.sortDescriptors = [
        NSSortDescriptor(key: "changeID", ascending: false) { _, _ in .orderedSame }
      ]
      #expect(throws: CocoaError.self) {
        try context.execute(NSPersistentHistoryChangeRequest.fetchHistory(withFetch: fetch))
      }
      let wrong = NSFetchRequest<any NSFetchRequestResult>(entityName: "Entry")
      #expect(throws: CocoaError.self) {
        try context.execute(NSPersistentHistoryChangeRequest.fetchHistory(withFetch: wrong))
      }
    }
  }

  @Test("a deletion with a fetch request leaves what others have saved")
  func deletingByAuthor() throws {
    let container = try Self.makeContainer(try Journal.makeFolder())
    let context = container.newBackgroundContext()
    try context.performAndWait {
      for author in ["app", "widget", "app", "sync", "app"] {
        context.transactionAuthor = author
        Entry(context: context).title = author
        try context.save()
      }
      func authors() throws -> [String?] {
        let request = NSPersistentHistoryChangeRequest.fetchHistory(after: Date.distantPast)
        let result = try context.execute(request) as? NSPersistentHistoryResult
        return (result?.result as? [NSPersistentHistoryTransaction] ?? []).map(\.author)
      }
      func delete(_ fetch: NSFetchRequest<any NSFetchRequestResult>) throws -> Int? {
        let request = NSPersistentHistoryChangeRequest.deleteHistory(before: Date().addingTimeInterval(60))
        request.fetchRequest = fetch
        request.resultType = .count
        return (try context.execute(request) as? NSPersistentHistoryResult)?.result as? Int
      }
      let fetch = try #require(NSPersistentHistoryTransaction.fetchRequest)
      fetch.predicate = NSPredicate(format: "author == %@", "nobody")
      #expect(try delete(fetch) == 0)
      #expect(try authors().count == 5)
      fetch.predicate = NSCompoundPredicate(
        orPredicateWithSubpredicates: ["app", "widget"].map { NSPredicate(format: "%K = %@", "author", $0) })
      #expect(try delete(fetch) == 3)
      // What matches behind another transaction stays, too.
      #expect(try authors() == ["sync", "app"])

      let changes = try #require(NSPersistentHistoryChange.fetchRequest)
      changes.predicate = NSPredicate(format: "changeType == %d", 0)
      let error = #expect(throws: CocoaError.self) { try delete(changes) }
      #expect(error?.code.rawValue == 134_060)
      #expect(try authors() == ["sync", "app"])
    }
  }

  @Test("a sub-query chooses transactions by their changes")
  func subquery() throws {
    let container = try Self.makeContainer(try Journal.makeFolder())
    let context = container.newBackgroundContext()
    try context.performAndWait {
      let entry = Entry(context: context)
      entry.title = "Morning"
      try context.save()
      entry.title = "Evening"
      try context.save()
      let fetch = try #require(NSPersistentHistoryTransaction.fetchRequest)
      fetch.predicate = NSPredicate(
        format: "SUBQUERY(changes, $c, $c.changeType == %d).@count > 0",
        NSPersistentHistoryChangeType.update.rawValue)
      let request = NSPersistentHistoryChangeRequest.fetchHistory(withFetch: fetch)
      let result = try context.execute(request) as? NSPersistentHistoryResult
      let found = result?.result as? [NSPersistentHistoryTransaction]
      #expect(found?.map(\.transactionNumber) == [2])
    }
  }

  @Test("without the option a request is refused, and a store that has a history continues to record it")
  func withoutOption() throws {
    let coordinator = try Journal.makeCoordinator(at: nil)
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    #expect(coordinator.currentPersistentHistoryToken(fromStores: coordinator.persistentStores) == nil)
    context.performAndWait {
      let error = #expect(throws: CocoaError.self) {
        try context.execute(NSPersistentHistoryChangeRequest.fetchHistory(after: Date.distantPast))
      }
      #expect(error?.code.rawValue == 134_091)
    }
    let description = NSPersistentStoreDescription()
    #expect(description.historyMaximumAge == 30 * 86_400)
    description.historyMaximumAge = 0
    #expect(description.historyMaximumAge == 0)
  }

  @Test("a store's metadata by its class; a save request is a value that contexts do not execute")
  func smallNames() throws {
    let folder = try Journal.makeFolder()
    let url = folder.appendingPathComponent("Journal.sqlite")
    let container = try Self.makeContainer(folder)
    let context = container.newBackgroundContext()
    context.performAndWait {
      let entry = Entry(context: context)
      let request = NSSaveChangesRequest(inserted: [entry], updated: nil, deleted: [], locked: nil)
      #expect(request.insertedObjects == [entry] && request.requestType == .saveRequestType)
      let error = #expect(throws: CocoaError.self) { try context.execute(request) }
      #expect(error?.code.rawValue == 134_070)
    }
    for store in container.persistentStoreCoordinator.persistentStores {
      try container.persistentStoreCoordinator.remove(store)
    }
    try NSPersistentStore.setMetadata(["owner": "Anna"], forPersistentStoreAt: url)
    let metadata = try NSPersistentStore.metadataForPersistentStore(with: url)
    #expect(metadata["owner"] as? String == "Anna" && metadata[NSStoreUUIDKey] is String)
  }
}
