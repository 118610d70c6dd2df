import CoreData
import Testing

@Suite("Incremental stores: identity")
struct IncrementalIdentityTests {
  @Test(
    "URIs end in the reference, and lead back to the same ID",
    arguments: ["b1", "17", "a/b c%é", "0", "-3", "p1"])
  func uris(_ reference: String) throws {
    let stack = try ServerStack()
    stack.server.plant("Book", reference, ["title": "It"])
    let uri = try stack.context.run {
      try #require(try stack.context.fetch(Shelf.request("Book")).first).objectID.uriRepresentation()
    }
    #expect(uri.absoluteString.hasPrefix("x-coredata://\(stack.store.identifier ?? "")/Book/p"))
    #expect(uri.lastPathComponent == "p" + reference || reference.contains("/"))
    let id = try #require(stack.coordinator.managedObjectID(forURIRepresentation: uri))
    try stack.context.run {
      let here = try stack.context.existingObject(with: id).value(forKey: "title") as? String
      #expect(here == "It")
      #expect("\(stack.store.referenceObject(for: id))" == reference)
    }
    // In a stack that has not seen the record.
    let other = try ServerStack(ServerStore.self, (stack.server, stack.url))
    let found = try #require(other.coordinator.managedObjectID(forURIRepresentation: uri))
    #expect(found == id)
    try other.context.run {
      let there = try other.context.existingObject(with: found).value(forKey: "title") as? String
      #expect(there == "It")
    }
  }

  @Test("The store names records by numbers, strings and UUIDs; what is spelled alike is the same record")
  func references() throws {
    let stack = try ServerStack()
    let entity = try #require(NSEntityDescription.entity(forEntityName: "Book", in: stack.context))
    let tag = try #require(NSEntityDescription.entity(forEntityName: "Tag", in: stack.context))
    let uuid = UUID()
    let number = stack.store.newObjectID(for: entity, referenceObject: NSNumber(value: 9))
    #expect(stack.store.referenceObject(for: number) as? NSNumber == 9)
    #expect(number == stack.store.newObjectID(for: entity, referenceObject: 9))
    #expect(number != stack.store.newObjectID(for: tag, referenceObject: 9))
    let byUUID = stack.store.newObjectID(for: entity, referenceObject: uuid)
    #expect(stack.store.referenceObject(for: byUUID) as? UUID == uuid)
    #expect(byUUID == stack.store.newObjectID(for: entity, referenceObject: uuid.uuidString))
    let digits = try #require(
      stack.coordinator.managedObjectID(
        forURIRepresentation: URL(string: "x-coredata://\(stack.store.identifier ?? "")/Book/p4711")!))
    #expect(stack.store.referenceObject(for: digits) as? NSNumber == 4711)
    #expect(
      stack.coordinator.managedObjectID(
        forURIRepresentation: URL(string: "x-coredata://\(stack.store.identifier ?? "")/Nobody/p1")!) == nil)
  }

  @Test("A new object has a temporary ID until it is saved, and is the same object afterwards")
  func permanentIDs() throws {
    let stack = try ServerStack()
    try stack.context.run {
      let book = Shelf.make("Book", ["title": "New"], in: stack.context)
      let id = book.objectID
      #expect(id.isTemporaryID && id.uriRepresentation().lastPathComponent.hasPrefix("t"))
      try stack.context.obtainPermanentIDs(for: [book])
      #expect(stack.server.takeLog() == ["NEW Book"])
      #expect(book.objectID.uriRepresentation().lastPathComponent == "pbook-1")
      try stack.context.save()
      #expect(!book.objectID.isTemporaryID && book.objectID == id)
      // Asked for once.
      #expect(stack.server.takeLog() == ["APPLY 1"])
      #expect(try stack.context.fetch(Shelf.request("Book")).first === book)
    }
  }

  /// Gives the IDs in the wrong order.
  final class Muddled: ServerStore, @unchecked Sendable {
    override class var storeType: String { "MuddledStore" }
    override func obtainPermanentIDs(for array: [NSManagedObject]) throws -> [NSManagedObjectID] {
      try super.obtainPermanentIDs(for: array).reversed()
    }
  }

  @Test("IDs that belong to other objects are refused before anything is written")
  func muddledIDs() throws {
    let stack = try ServerStack(Muddled.self)
    try stack.context.run {
      Shelf.make("Book", ["title": "A"], in: stack.context)
      Shelf.make("Book", ["title": "B"], in: stack.context)
      let error = #expect(throws: CocoaError.self) { try stack.context.save() }
      #expect(error?.localizedDescription.contains("permanent ID") == true)
      #expect(stack.context.insertedObjects.count == 2 && stack.server.count("Book") == 0)
    }
  }

  /// Calls every new book by its title.
  final class Titled: ServerStore, @unchecked Sendable {
    override class var storeType: String { "TitledStore" }
    override func obtainPermanentIDs(for array: [NSManagedObject]) throws -> [NSManagedObjectID] {
      array.map { newObjectID(for: $0.entity, referenceObject: $0.value(forKey: "title") ?? "none") }
    }
  }

  @Test("References may be taken from values; one that is free again names a new record")
  func naturalKeys() throws {
    let stack = try ServerStack(Titled.self)
    try stack.context.run {
      let first = Shelf.make("Book", ["title": "Emma"], in: stack.context)
      try stack.context.save()
      #expect(first.objectID.uriRepresentation().lastPathComponent == "pEmma")
      let twin = Shelf.make("Book", ["title": "Emma"], in: stack.context)
      #expect(throws: CocoaError.self) { try stack.context.save() }
      stack.context.delete(twin)
      stack.context.delete(first)
      try stack.context.save()
      let second = Shelf.make("Book", ["title": "Emma"], in: stack.context)
      try stack.context.save()
      #expect(second.objectID != first.objectID)
      #expect(second.objectID.uriRepresentation().lastPathComponent == "pEmma")
      #expect(try stack.context.fetch(Shelf.request("Book")) == [second])
    }
  }

  @Test("The store is told which records a context uses, and which no more")
  func registrations() throws {
    let stack = try ServerStack()
    stack.plant()
    try stack.context.run {
      let books = try stack.context.fetch(Shelf.request("Book"))
      #expect(Set(stack.store.registered) == Set(books.map(\.objectID)))
      let count = stack.store.registered.count
      _ = try stack.context.fetch(Shelf.request("Book"))
      #expect(stack.store.registered.count == count)
      let new = Shelf.make("Tag", ["word": "x"], in: stack.context)
      try stack.context.save()
      #expect(stack.store.registered.last == new.objectID)
    }
    do {
      let other = NSManagedObjectContext.on(stack.coordinator)
      try other.run { _ = try other.fetch(Shelf.request("Author")) }
    }
    #expect(stack.store.unregistered.isEmpty)
    try stack.context.run { _ = try stack.context.fetch(Shelf.request("Book")) }
    #expect(stack.store.unregistered.count == 2)
  }

  @Test(
    "A class that does not say how to read its closed stores is named when they are asked for their metadata")
  func closedStores() {
    final class Bare: NSIncrementalStore, @unchecked Sendable {}
    let url = URL(fileURLWithPath: "/nowhere/store")
    for ask in [
      { _ = try Bare.metadataForPersistentStore(with: url) },
      { try Bare.setMetadata([:], forPersistentStoreAt: url) },
    ] as [() throws -> Void] {
      let error = #expect(throws: CocoaError.self, performing: ask)
      #expect(error?.code == .persistentStoreOpen)
      #expect(
        error.map { "\($0)".contains("Bare does not override") } == true, "\(String(describing: error))")
    }
  }
}
