import CoreData
import Testing

@Suite("Atomic stores")
struct AtomicStoreTests {
  @Test("What is saved is in the file, and there when it is opened again")
  func roundTrip() throws {
    let stack = try FileStack()
    let uris = try stack.context.run {
      let ann = Shelf.make(
        "Author", ["name": "Ann", "born": Date(timeIntervalSinceReferenceDate: 1.5)], in: stack.context)
      let one = Shelf.make(
        "Book", ["title": "One", "pages": 10, "price": 0.1, "author": ann], in: stack.context)
      Shelf.make("Book", ["title": "Two", "author": ann], in: stack.context)
      let chapters = ["a", "b", "c"].map { Shelf.make("Chapter", ["heading": $0], in: stack.context) }
      one.setValue(NSOrderedSet(array: [chapters[2], chapters[0], chapters[1]]), forKey: "chapters")
      one.setValue(Set([Shelf.make("Tag", ["word": "red"], in: stack.context)]), forKey: "tags")
      try stack.context.save()
      #expect(!one.objectID.isTemporaryID)
      return [ann, one].map { $0.objectID.uriRepresentation() }
    }
    #expect(stack.store.saveCount == 1 && stack.store.cacheNodes().count == 7)
    try stack.coordinator.remove(stack.store)
    let again = try FileStack(stack.url)
    #expect(again.store.identifier == stack.store.identifier)
    try again.context.run {
      let ids = try uris.map { try #require(again.coordinator.managedObjectID(forURIRepresentation: $0)) }
      let ann = try again.context.existingObject(with: ids[0])
      #expect(ann.value(forKey: "name") as? String == "Ann")
      #expect(ann.value(forKey: "born") as? Date == Date(timeIntervalSinceReferenceDate: 1.5))
      let books = try again.context.fetch(Shelf.request("Book", "author.name == %@", ["Ann"], by: "title"))
      #expect(Shelf.texts(books, "title") == ["One", "Two"] && books[0].objectID == ids[1])
      #expect(books[0].value(forKey: "price") as? Double == 0.1)
      let chapters = (books[0].value(forKey: "chapters") as? NSOrderedSet)?.array as? [NSManagedObject] ?? []
      #expect(Shelf.texts(chapters, "heading") == ["c", "a", "b"])
      #expect(try again.context.fetch(Shelf.request("Tag", "ANY books.title == %@", ["One"])).count == 1)
    }
  }

  @Test("A save that fails leaves nodes and file as they were, and can be tried again")
  func failing() throws {
    let stack = try FileStack()
    try stack.context.run {
      let ann = Shelf.make("Author", ["name": "Ann"], in: stack.context)
      let book = Shelf.make("Book", ["title": "One", "author": ann], in: stack.context)
      try stack.context.save()
      let before = try Data(contentsOf: stack.url)
      stack.store.isDiskFull = true
      book.setValue("Changed", forKey: "title")
      Shelf.make("Book", ["title": "Two", "author": ann], in: stack.context)
      stack.context.delete(
        try #require(Shelf.make("Tag", ["word": "x"], in: stack.context) as NSManagedObject?))
      #expect(throws: FileStore.Full()) { try stack.context.save() }
      #expect(stack.context.insertedObjects.count == 1 && stack.context.updatedObjects.contains(book))
      #expect(stack.store.cacheNodes().count == 2)
      #expect(stack.store.cacheNode(for: book.objectID)?.value(forKey: "title") as? String == "One")
      #expect(try Data(contentsOf: stack.url) == before)
      let other = NSManagedObjectContext.on(stack.coordinator)
      try other.run {
        let found = try other.fetch(Shelf.request("Book"))
        #expect(Shelf.texts(found, "title") == ["One"])
      }
      stack.store.isDiskFull = false
      try stack.context.save()
      #expect(stack.store.cacheNodes().count == 3)
      #expect(stack.store.cacheNode(for: book.objectID)?.value(forKey: "title") as? String == "Changed")
    }
  }

  @Test("A deletion that fails leaves the record and those that refer to it")
  func failingDeletion() throws {
    let stack = try FileStack()
    try stack.context.run {
      let ann = Shelf.make("Author", ["name": "Ann"], in: stack.context)
      Shelf.make("Book", ["title": "One", "author": ann], in: stack.context)
      let tag = Shelf.make("Tag", ["word": "red"], in: stack.context)
      try stack.context.save()
      stack.store.isDiskFull = true
      stack.context.delete(ann)
      stack.context.delete(tag)
      #expect(throws: FileStore.Full()) { try stack.context.save() }
      #expect(stack.store.cacheNodes().count == 3)
      stack.store.isDiskFull = false
      try stack.context.save()
      // The book went with its author.
      #expect(stack.store.cacheNodes().isEmpty && Set(stack.store.removed).count == 3)
    }
  }

  @Test("Requests are decided on the nodes: predicates, order, window, count, rows of values")
  func requests() throws {
    let stack = try FileStack()
    try stack.context.run {
      for number in 0..<20 {
        Shelf.make("Book", ["title": "B\(number % 4)", "pages": number], in: stack.context)
      }
      try stack.context.save()
      let request = Shelf.request("Book", "title == %@ AND pages > %@", ["B1", 3], by: "pages")
      request.fetchLimit = 2
      request.fetchOffset = 1
      #expect(try stack.context.fetch(request).map { $0.value(forKey: "pages") as? Int } == [9, 13])
      #expect(try stack.context.count(for: Shelf.request("Book", "pages < 5")) == 5)
      let rows = NSFetchRequest<NSDictionary>(entityName: "Book")
      rows.resultType = .dictionaryResultType
      let sum = NSExpressionDescription()
      sum.name = "sum"
      sum.expression = NSExpression(forFunction: "sum:", arguments: [NSExpression(forKeyPath: "pages")])
      sum.expressionResultType = .integer64AttributeType
      rows.propertiesToFetch = ["title", sum]
      rows.propertiesToGroupBy = ["title"]
      rows.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
      let found = try stack.context.fetch(rows)
      #expect(found.map { $0["sum"] as? Int } == [40, 45, 50, 55])
    }
  }

  @Test("Two contexts: a conflict by version, and merging")
  func conflicts() throws {
    let stack = try FileStack()
    let other = NSManagedObjectContext.on(stack.coordinator)
    other.automaticallyMergesChangesFromParent = false
    try stack.context.run {
      Shelf.make("Book", ["title": "One", "pages": 1], in: stack.context)
      try stack.context.save()
    }
    try other.run {
      try #require(try other.fetch(Shelf.request("Book")).first).setValue(2, forKey: "pages")
    }
    try stack.context.run {
      try #require(try stack.context.fetch(Shelf.request("Book")).first).setValue("Uno", forKey: "title")
      try stack.context.save()
    }
    try other.run {
      let error = #expect(throws: CocoaError.self) { try other.save() }
      #expect(error?.errorCode == NSManagedObjectMergeError)
      other.mergePolicy = NSMergeByPropertyObjectTrumpMergePolicy
      try other.save()
    }
    let node = try #require(stack.store.cacheNodes().first)
    #expect(node.value(forKey: "title") as? String == "Uno" && node.value(forKey: "pages") as? Int64 == 2)
  }

  @Test("A child's objects reach the file with their parent's save")
  func children() throws {
    let stack = try FileStack()
    let child = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    child.parent = stack.context
    try child.run {
      let author = Shelf.make("Author", ["name": "Ann"], in: child)
      Shelf.make("Book", ["title": "One", "author": author], in: child)
      try child.save()
    }
    #expect(stack.store.cacheNodes().isEmpty)
    try stack.context.run { try stack.context.save() }
    #expect(stack.store.cacheNodes().count == 2)
  }

  @Test("A damaged file is not opened, and what load throws reaches the caller")
  func damaged() throws {
    let stack = try FileStack()
    try stack.context.run {
      Shelf.make("Book", ["title": "One"], in: stack.context)
      try stack.context.save()
    }
    try stack.coordinator.remove(stack.store)
    try Data("no library".utf8).write(to: stack.url)
    #expect(throws: FileStore.Damaged(reason: "Shelf.json is no library.")) { try FileStack(stack.url) }
  }

  @Test("Batch requests are refused with the code for it; objects are changed instead")
  func batches() throws {
    let stack = try FileStack()
    try stack.context.run {
      let error = #expect(throws: CocoaError.self) {
        try stack.context.execute(
          NSBatchDeleteRequest(fetchRequest: NSFetchRequest<any NSFetchRequestResult>(entityName: "Book")))
      }
      #expect(error?.errorCode == NSPersistentStoreUnsupportedRequestTypeError)
    }
  }

  @Test("Metadata: of the open store, of the closed one, set with a save")
  func metadata() throws {
    let stack = try FileStack()
    try stack.context.run {
      stack.coordinator.setMetadata(["note": "hello"], for: stack.store)
      try stack.context.save()
    }
    let found = try NSPersistentStoreCoordinator.metadataForPersistentStore(
      ofType: FileStore.storeType, at: stack.url)
    #expect(found["note"] as? String == "hello")
    #expect(found[NSStoreUUIDKey] as? String == stack.store.identifier)
    let error = #expect(throws: CocoaError.self) {
      try stack.coordinator.destroyPersistentStore(at: stack.url, ofType: FileStore.storeType)
    }
    #expect(error?.localizedDescription.contains(FileStore.storeType) == true)
  }

  @Test("The library is kept by a container, whose description names the type")
  @MainActor
  func containers() throws {
    let stack = try FileStack()
    try stack.coordinator.remove(stack.store)
    let container = NSPersistentContainer(name: "Shelf", managedObjectModel: Shelf.model())
    let description = NSPersistentStoreDescription(url: stack.url)
    description.type = FileStore.storeType
    container.persistentStoreDescriptions = [description]
    var failure: (any Error)?
    container.loadPersistentStores { failure = $1 }
    #expect(failure == nil && container.persistentStoreCoordinator.persistentStores.first is FileStore)
    Shelf.make("Book", ["title": "One"], in: container.viewContext)
    try container.viewContext.save()
    #expect(try container.viewContext.count(for: Shelf.request("Book")) == 1)
  }

  @Test("Requests that no store looks up are worked out with the objects, as in stores in memory")
  func inMemory() throws {
    let stack = try FileStack()
    try stack.context.run {
      for (title, pages) in [("One", 10), ("Three", 30), ("Two", 20)] {
        Shelf.make("Book", ["title": title, "pages": pages], in: stack.context)
      }
      try stack.context.save()
      let request = Shelf.request("Book", by: "title")
      request.predicate = NSPredicate { object, _ in
        ((object as? NSManagedObject)?.value(forKey: "title") as? String)?.count == 3
      }
      #expect(try Shelf.texts(stack.context.fetch(request), "title") == ["One", "Two"])
      request.sortDescriptors = [
        NSSortDescriptor(key: "title", ascending: true) { first, second in
          String((first as? String ?? "").reversed()).compare(String((second as? String ?? "").reversed()))
        }
      ]
      request.fetchLimit = 1
      #expect(try Shelf.texts(stack.context.fetch(request), "title") == ["One"])
      #expect(try stack.context.count(for: request) == 1)
    }
  }
}
