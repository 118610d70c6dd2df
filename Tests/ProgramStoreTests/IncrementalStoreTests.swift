import CoreData
import Testing

@Suite("Incremental stores: reading")
struct IncrementalReadingTests {
  @Test("A store is opened by its class, which is told coordinator, URL and options")
  func opening() throws {
    let stack = try ServerStack()
    #expect(stack.coordinator.persistentStores == [stack.store])
    #expect(stack.store.persistentStoreCoordinator === stack.coordinator)
    #expect(stack.store.url == stack.url && stack.store.type == "ServerStore")
    #expect(stack.store.options?["answer"] as? Int == 42)
    #expect(stack.store.events == ["added"])
    #expect(stack.store.identifier == stack.store.metadata[NSStoreUUIDKey] as? String)
    #expect(stack.coordinator.persistentStore(for: stack.url) === stack.store)
    #expect(NSPersistentStoreCoordinator.registeredStoreTypes["ServerStore"] != nil)
    #expect(NSPersistentStoreCoordinator.registeredStoreTypes[NSSQLiteStoreType] != nil)
    try stack.coordinator.remove(stack.store)
    #expect(stack.store.events == ["added", "removing"])
    #expect(stack.store.persistentStoreCoordinator == nil && stack.coordinator.persistentStores.isEmpty)
  }

  @Test("What loadMetadata throws reaches the caller, and nothing is attached")
  func refusedOpening() throws {
    ServerStore.register()
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Shelf.model())
    let nowhere = try #require(URL(string: "shelf://nobody/api"))
    let error = #expect(throws: CocoaError.self) {
      try coordinator.addPersistentStore(ofType: "ServerStore", configurationName: nil, at: nowhere)
    }
    #expect(error?.code == .fileReadNoSuchFile && coordinator.persistentStores.isEmpty)
    let unknown = #expect(throws: CocoaError.self) {
      try coordinator.addPersistentStore(ofType: "NoSuchStore", configurationName: nil, at: nowhere)
    }
    #expect(unknown?.errorCode == NSPersistentStoreInvalidTypeError)
    #expect(unknown?.localizedDescription.contains("NoSuchStore") == true)
  }

  @Test("A fetch reaches the store as it was made; its objects are faults, filled one by one")
  func fetching() throws {
    let stack = try ServerStack()
    stack.plant()
    let request = Shelf.request("Book", "pages > %@", [150], by: "title")
    request.fetchLimit = 5
    try stack.context.run {
      let books = try stack.context.fetch(request)
      #expect(Shelf.texts(books, "title") == ["Three", "Two"])
      let asked = try #require(stack.store.fetches.last)
      #expect(asked.entityName == "Book" && asked.fetchLimit == 5)
      #expect(asked.predicate.map { "\($0)" } == "pages > 150")
      #expect(asked.sortDescriptors?.map(\.key) == ["title"])
      #expect(asked.resultType == .managedObjectResultType)
      #expect(asked.affectedStores == [stack.store])
    }
    try stack.context.run { stack.context.reset() }
    _ = stack.server.takeLog()
    try stack.context.run {
      let books = try stack.context.fetch(Shelf.request("Book"))
      #expect(books.count == 3 && books.allSatisfy(\.isFault))
      #expect(stack.server.takeLog() == ["LIST Book"])
      #expect(books[0].value(forKey: "title") as? String == "One")
      #expect(books[0].value(forKey: "pages") as? Int == 100)
      #expect(stack.server.takeLog() == ["GET Book/b1"])
      // Again: the same objects, and the values that are there.
      let again = try stack.context.fetch(Shelf.request("Book"))
      #expect(again.map(ObjectIdentifier.init) == books.map(ObjectIdentifier.init))
      #expect(again[0].value(forKey: "title") as? String == "One")
      #expect(stack.server.takeLog() == ["LIST Book"])
    }
  }

  @Test("A sort descriptor reaches the store with the method of texts that it names")
  func textOrders() throws {
    let stack = try ServerStack()
    stack.plant()
    let request = Shelf.request("Book")
    request.sortDescriptors = [
      NSSortDescriptor(key: "title", ascending: false, selector: "caseInsensitiveCompare:"),
      NSSortDescriptor(key: "pages", ascending: true),
    ]
    request.fetchLimit = 2
    try stack.context.run {
      _ = try stack.context.fetch(request)
      let asked = try #require(stack.store.fetches.last?.sortDescriptors)
      #expect(asked == request.sortDescriptors)
      #expect(asked[0].comparator("a", "B") == .orderedAscending)
    }
  }

  @Test("IDs, counts and dictionaries are asked for by their result types")
  func resultTypes() throws {
    let stack = try ServerStack()
    stack.plant()
    try stack.context.run {
      let ids = NSFetchRequest<NSManagedObjectID>(entityName: "Author")
      ids.resultType = .managedObjectIDResultType
      let found = try stack.context.fetch(ids)
      #expect(Set(found.map { "\(stack.store.referenceObject(for: $0))" }) == ["ann", "bob"])
      #expect(try stack.context.count(for: Shelf.request("Book", "title BEGINSWITH %@", ["T"])) == 2)
      let rows = NSFetchRequest<NSDictionary>(entityName: "Book")
      rows.resultType = .dictionaryResultType
      rows.propertiesToFetch = ["title"]
      rows.sortDescriptors = [NSSortDescriptor(key: "pages", ascending: false)]
      #expect(try stack.context.fetch(rows).compactMap { $0["title"] as? String } == ["Three", "Two", "One"])
      #expect(
        stack.store.fetches.map(\.resultType)
          == [.managedObjectIDResultType, .countResultType, .dictionaryResultType])
    }
  }

  @Test("Relationships are followed both ways, in order where they have one")
  func relationships() throws {
    let stack = try ServerStack()
    stack.plant()
    stack.server.plant("Book", "b1", ["chapters": ["c3", "c1", "c2"]])
    for number in 1...3 {
      stack.server.plant("Chapter", "c\(number)", ["heading": "C\(number)", "book": "b1"])
    }
    try stack.context.run {
      let book = try #require(try stack.context.fetch(Shelf.request("Book", "title == %@", ["One"])).first)
      let author = try #require(book.value(forKey: "author") as? NSManagedObject)
      #expect(author.value(forKey: "name") as? String == "Ann")
      let books = try #require(author.value(forKey: "books") as? Set<NSManagedObject>)
      #expect(Set(Shelf.texts(Array(books), "title")) == ["One", "Two"] && books.contains(book))
      let chapters = try #require(book.value(forKey: "chapters") as? NSOrderedSet)
      #expect(
        Shelf.texts(chapters.array.compactMap { $0 as? NSManagedObject }, "heading") == ["C3", "C1", "C2"])
      let tags = try #require(book.value(forKey: "tags") as? Set<NSManagedObject>)
      #expect(Shelf.texts(Array(tags), "word") == ["red"])
      // A predicate that travels.
      let travelled = try stack.context.fetch(Shelf.request("Book", "author.name == %@", ["Bob"]))
      #expect(Shelf.texts(travelled, "title") == ["Three"])
    }
  }

  @Test("Subentities come with their own entity")
  func subentities() throws {
    let stack = try ServerStack()
    stack.server.plant("Note", "n", ["text": "plain"])
    stack.server.plant("Review", "r", ["text": "good", "stars": 4])
    try stack.context.run {
      let notes = try stack.context.fetch(Shelf.request("Note", by: "text"))
      #expect(notes.map { $0.entity.name } == ["Review", "Note"])
      #expect(notes[0].value(forKey: "stars") as? Int == 4)
      let plain = Shelf.request("Note")
      plain.includesSubentities = false
      #expect(try stack.context.fetch(plain).count == 1)
    }
  }

  @Test(
    "Errors of the store reach who asks: fetches throw them, faults report them, existingObject throws them")
  func failures() throws {
    let stack = try ServerStack()
    stack.plant()
    try stack.context.run {
      stack.server.fail("LIST", "offline")
      #expect(throws: ShelfServer.Refused(reason: "offline")) {
        try stack.context.fetch(Shelf.request("Book"))
      }
      #expect(throws: ShelfServer.Refused(reason: "offline")) {
        try stack.context.count(for: Shelf.request("Book"))
      }
      stack.server.recover()
      let book = try #require(try stack.context.fetch(Shelf.request("Book")).first)
      stack.server.fail("GET", "asleep")
      #expect(throws: ShelfServer.Refused(reason: "asleep")) {
        try stack.context.existingObject(with: book.objectID)
      }
      #expect(book.isFault)
      stack.server.recover()
      #expect(book.value(forKey: "title") as? String == "One")
    }
  }

  @Test("A record that is gone makes an inaccessible object")
  func goneRecords() throws {
    let stack = try ServerStack()
    stack.plant()
    try stack.context.run {
      let book = try #require(try stack.context.fetch(Shelf.request("Book")).first)
      stack.server.remove("Book", "b1")
      let error = #expect(throws: CocoaError.self) { try stack.context.existingObject(with: book.objectID) }
      #expect(error?.errorCode == NSManagedObjectReferentialIntegrityError)
      #expect(book.value(forKey: "title") == nil && book.isDeleted)
    }
  }

  @Test("Values of every type come and go, large ones too")
  func values() throws {
    let stack = try ServerStack()
    let isbn = UUID()
    let cover = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0) })
    let values: [String: Any] = [
      "title": String(repeating: "ä", count: 3_000), "pages": 7, "price": 1.5, "isLent": true, "isbn": isbn,
      "cover": cover, "cost": NSDecimalNumber(string: "12345678901234567890.12"), "extra": ["a", "b"],
    ]
    try stack.context.run {
      Shelf.make("Book", values, in: stack.context)
      try stack.context.save()
    }
    let stored = try #require(stack.server.peek("Book", "book-1"))
    #expect(stored.values["cover"] as? Data == cover && stored.values["extra"] as? [String] == ["a", "b"])
    let other = NSManagedObjectContext.on(stack.coordinator)
    try other.run {
      let book = try #require(try other.fetch(Shelf.request("Book")).first)
      #expect(book.value(forKey: "cover") as? Data == cover)
      #expect((book.value(forKey: "title") as? String)?.count == 3_000)
      #expect(book.value(forKey: "isbn") as? UUID == isbn && book.value(forKey: "isLent") as? Bool == true)
      #expect("\(book.value(forKey: "cost") ?? "")" == "12345678901234567890.12")
      #expect(book.value(forKey: "extra") as? [String] == ["a", "b"])
      // Another value changes; the large ones stay.
      book.setValue(8, forKey: "pages")
      try other.save()
      #expect(book.value(forKey: "cover") as? Data == cover)
      other.refresh(book, mergeChanges: false)
      #expect(book.value(forKey: "cover") as? Data == cover && book.value(forKey: "pages") as? Int == 8)
    }
    try stack.context.run {
      let book = try #require(try stack.context.fetch(Shelf.request("Book")).first)
      #expect(book.value(forKey: "cover") as? Data == cover)
    }
  }

  @Test("A value that the attribute does not take is an error with its name")
  func wrongValues() throws {
    let stack = try ServerStack()
    stack.server.plant("Book", "b", ["pages": "many"])
    try stack.context.run {
      let book = try #require(try stack.context.fetch(Shelf.request("Book")).first)
      let error = #expect(throws: CocoaError.self) { try stack.context.existingObject(with: book.objectID) }
      #expect(error?.localizedDescription.contains("Book.pages") == true)
    }
  }
}
