import CoreData
import Testing

@Suite("Incremental stores: coordinators and hierarchies of contexts")
struct IncrementalStackTests {
  /// A store that is added without a URL.
  final class Unplaced: NSIncrementalStore, @unchecked Sendable {
    // @unchecked Sendable: it has no state of its own.
    static let storeType = "UnplacedStore"

    override func loadMetadata() throws {
      metadata = [NSStoreUUIDKey: UUID().uuidString, NSStoreTypeKey: Self.storeType]
    }

    override func execute(_ request: NSPersistentStoreRequest, with context: NSManagedObjectContext?) throws
      -> Any
    { [Any]() }
  }

  enum Ending: CaseIterable { case deletion, rollback }

  @Test(
    "A child's link to a new object that the parent has given up reaches no store",
    arguments: Ending.allCases)
  func goneTarget(_ ending: Ending) throws {
    let stack = try ServerStack()
    let child = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    child.parent = stack.context
    let tag = stack.context.performAndWait {
      let tag = Shelf.make("Tag", ["word": "blue"], in: stack.context)
      stack.context.processPendingChanges()
      return tag
    }
    let id = tag.objectID
    try child.run {
      let theirs = try child.existingObject(with: id)
      Shelf.make("Book", ["title": "Plain", "tags": NSSet(object: theirs)], in: child)
    }
    stack.context.performAndWait {
      switch ending {
      case .deletion: stack.context.delete(tag)
      case .rollback: stack.context.rollback()
      }
      stack.context.processPendingChanges()
    }
    try child.run { try child.save() }
    try stack.context.run {
      try stack.context.save()
      let books = try stack.context.fetch(Shelf.request("Book"))
      #expect(Shelf.texts(books, "title") == ["Plain"])
      #expect((books.first?.value(forKey: "tags") as? NSSet)?.count == 0)
    }
    #expect(stack.server.count("Tag") == 0)
  }

  @Test("A refused destruction leaves the store, and what is pending, as they are")
  func refusedDestruction() throws {
    let stack = try ServerStack()
    stack.plant()
    try stack.context.run {
      let book = try #require(try stack.context.fetch(Shelf.request("Book", by: "title")).first)
      book.setValue("Edited", forKey: "title")
      let error = #expect(throws: CocoaError.self) {
        try stack.coordinator.destroyPersistentStore(at: stack.url, ofType: ServerStore.storeType)
      }
      #expect(error?.code.rawValue == NSPersistentStoreOperationError)
      #expect(stack.coordinator.persistentStores.first === stack.store)
      #expect(stack.store.events == ["added"])
      try stack.context.save()
      #expect(stack.server.peek("Book", "b1")?.values["title"] as? String == "Edited")
    }
  }

  @Test("Stores without a URL can be added, several of them")
  func withoutURL() throws {
    NSPersistentStoreCoordinator.registerStoreClass(Unplaced.self, forStoreType: Unplaced.storeType)
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Shelf.model())
    let stores = try (0..<2).map { _ in
      try coordinator.addPersistentStore(ofType: Unplaced.storeType, configurationName: nil, at: nil)
    }
    #expect(coordinator.persistentStores == stores)
    #expect(stores.allSatisfy { coordinator.url(for: $0).path == "/dev/null" })
    try coordinator.remove(stores[0])
    #expect(coordinator.persistentStores == [stores[1]])
  }

  @Test("A store is told the batch size of a request, and what is to be read along")
  func requestHints() throws {
    let stack = try ServerStack()
    stack.plant()
    try stack.context.run {
      let request = Shelf.request("Book", by: "title")
      request.fetchBatchSize = 20
      request.relationshipKeyPathsForPrefetching = ["author"]
      #expect(Shelf.texts(try stack.context.fetch(request), "title") == ["One", "Three", "Two"])
      let told = try #require(stack.store.fetches.first { $0.entityName == "Book" })
      #expect(told.fetchBatchSize == 20 && told.relationshipKeyPathsForPrefetching == ["author"])
    }
  }

  @Test("An object that was made by its ID and is inserted is a new record of that ID, with what was set")
  func insertedByID() throws {
    let stack = try ServerStack()
    stack.plant()
    let entity = try #require(stack.coordinator.managedObjectModel.entitiesByName["Author"])
    let id = stack.store.newObjectID(for: entity, referenceObject: "zoe")
    try stack.context.run {
      let zoe = stack.context.object(with: id)
      zoe.setValue("Zoe", forKey: "name")
      stack.context.insert(zoe)
      #expect(zoe.isInserted && !zoe.isDeleted && stack.context.insertedObjects == [zoe])
      #expect(zoe.value(forKey: "name") as? String == "Zoe")
      try stack.context.save()
      #expect(zoe.objectID == id && stack.store.saves.last?.insertedObjects == [zoe])
      #expect(stack.server.peek("Author", "zoe")?.values["name"] as? String == "Zoe")
      #expect(!stack.context.hasChanges)
    }
  }
}
