import CoreData
import Testing

@Suite("Incremental stores: saving")
struct IncrementalSavingTests {
  @Test("A save hands over the context's own objects, with what has become of them")
  func saving() throws {
    let stack = try ServerStack()
    stack.plant()
    try stack.context.run {
      let books = try stack.context.fetch(Shelf.request("Book", by: "title"))
      let author = try #require(try stack.context.fetch(Shelf.request("Author", "name == %@", ["Bob"])).first)
      let new = Shelf.make("Book", ["title": "Four", "author": author], in: stack.context)
      books[0].setValue("Uno", forKey: "title")
      stack.context.delete(books[2])
      try stack.context.save()
      let save = try #require(stack.store.saves.last)
      #expect(save.insertedObjects == [new])
      #expect(
        save.updatedObjects?.contains(books[0]) == true && save.updatedObjects?.contains(author) == true)
      #expect(save.deletedObjects == [books[2]] && save.lockedObjects?.isEmpty == true)
      #expect(stack.server.peek("Book", "b1")?.values["title"] as? String == "Uno")
      #expect(stack.server.peek("Book", "b2") == nil)
      #expect(stack.server.peek("Book", "book-1")?.values["author"] as? String == "bob")
      #expect(
        Set(stack.server.peek("Author", "bob")?.values["books"] as? [String] ?? []) == ["b3", "book-1"])
      #expect(stack.server.peek("Author", "ann")?.values["books"] as? [String] == ["b1"])
      #expect(!stack.context.hasChanges)
    }
  }

  @Test("A save that fails throws the store's error; everything is pending and can be saved again")
  func failing() throws {
    let stack = try ServerStack()
    stack.plant()
    try stack.context.run {
      let book = try #require(try stack.context.fetch(Shelf.request("Book", by: "title")).first)
      book.setValue("Edited", forKey: "title")
      let new = Shelf.make("Book", ["title": "New"], in: stack.context)
      for failing in ["NEW", "APPLY"] {
        stack.server.fail(failing, "down")
        #expect(throws: ShelfServer.Refused(reason: "down")) { try stack.context.save() }
        stack.server.recover()
        #expect(stack.context.insertedObjects == [new] && stack.context.updatedObjects == [book])
        #expect(stack.server.peek("Book", "b1")?.values["title"] as? String == "One")
        #expect(book.value(forKey: "title") as? String == "Edited")
      }
      try stack.context.save()
      #expect(stack.server.peek("Book", "b1")?.values["title"] as? String == "Edited")
      #expect(stack.server.count("Book") == 4)
    }
  }

  @Test("Unsaved changes are laid over what the store finds")
  func pendingChanges() throws {
    let stack = try ServerStack()
    stack.plant()
    try stack.context.run {
      let all = try stack.context.fetch(Shelf.request("Book", by: "pages"))
      all[0].setValue(250, forKey: "pages")
      stack.context.delete(all[2])
      Shelf.make("Book", ["title": "New", "pages": 150], in: stack.context)
      let found = try stack.context.fetch(Shelf.request("Book", "pages > %@", [120], by: "pages"))
      #expect(Shelf.texts(found, "title") == ["New", "Two", "One"])
      let request = Shelf.request("Book", by: "pages")
      request.fetchLimit = 2
      #expect(Shelf.texts(try stack.context.fetch(request), "title") == ["New", "Two"])
      request.includesPendingChanges = false
      request.fetchLimit = 0
      #expect(try stack.context.fetch(request).count == 3)
      // An author that is renamed has a say in which books match.
      let ann = try #require(try stack.context.fetch(Shelf.request("Author", "name == %@", ["Ann"])).first)
      ann.setValue("Anna", forKey: "name")
      #expect(try stack.context.fetch(Shelf.request("Book", "author.name == %@", ["Ann"])).isEmpty)
      let hers = try stack.context.fetch(Shelf.request("Book", "author.name == %@", ["Anna"], by: "title"))
      #expect(Shelf.texts(hers, "title") == ["One", "Two"])
    }
  }

  @Test("Delete rules: cascade, nullify and deny")
  func deleteRules() throws {
    let stack = try ServerStack()
    stack.plant()
    stack.server.plant("Note", "n", ["text": "mind", "book": "b3"])
    stack.server.plant("Book", "b3", ["notes": ["n"]])
    try stack.context.run {
      let authors = try stack.context.fetch(Shelf.request("Author", by: "name"))
      stack.context.delete(authors[1])
      let denied = #expect(throws: CocoaError.self) { try stack.context.save() }
      #expect(denied?.errorCode == NSValidationRelationshipDeniedDeleteError)
      stack.context.rollback()
      stack.context.delete(authors[0])
      try stack.context.save()
      #expect(stack.server.peek("Book", "b1") == nil && stack.server.peek("Book", "b2") == nil)
      #expect(stack.server.peek("Book", "b3") != nil)
      #expect(stack.server.peek("Tag", "t")?.values["books"] as? [String] == [])
    }
  }

  @Test("Another context has saved first: the merge policy decides", arguments: [0, 1, 2])
  func conflictsOfContexts(_ policy: Int) throws {
    let stack = try ServerStack()
    stack.plant()
    let other = NSManagedObjectContext.on(stack.coordinator)
    try other.run {
      try #require(try other.fetch(Shelf.request("Book", "title == %@", ["One"])).first).setValue(
        1, forKey: "pages")
    }
    try stack.context.run {
      let book = try #require(try stack.context.fetch(Shelf.request("Book", "title == %@", ["One"])).first)
      book.setValue("Mine", forKey: "title")
      book.setValue(2, forKey: "pages")
      try stack.context.save()
    }
    try other.run {
      switch policy {
      case 0:
        let error = #expect(throws: CocoaError.self) { try other.save() }
        #expect(error?.errorCode == NSManagedObjectMergeError)
        #expect(stack.server.peek("Book", "b1")?.values["pages"] as? Int == 2)
      case 1:
        other.mergePolicy = NSMergeByPropertyObjectTrumpMergePolicy
        try other.save()
        #expect(stack.server.peek("Book", "b1")?.values["pages"] as? Int == 1)
        #expect(stack.server.peek("Book", "b1")?.values["title"] as? String == "Mine")
      default:
        other.mergePolicy = NSMergeByPropertyStoreTrumpMergePolicy
        try other.save()
        #expect(stack.server.peek("Book", "b1")?.values["pages"] as? Int == 2)
        #expect(stack.server.peek("Book", "b1")?.values["title"] as? String == "Mine")
      }
    }
  }

  @Test("The store finds a conflict: its NSMergeConflicts go to the merge policy", arguments: [true, false])
  func conflictsOfTheStore(_ resolves: Bool) throws {
    let stack = try ServerStack()
    stack.plant()
    try stack.context.run {
      let book = try #require(try stack.context.fetch(Shelf.request("Book", "title == %@", ["One"])).first)
      book.setValue("Mine", forKey: "title")
      stack.server.plant("Book", "b1", ["pages": 999])
      guard resolves else {
        let error = #expect(throws: CocoaError.self) { try stack.context.save() }
        #expect(error?.errorCode == NSManagedObjectMergeError)
        #expect(stack.server.peek("Book", "b1")?.values["title"] as? String == "One")
        #expect(book.hasChanges)
        return
      }
      stack.context.mergePolicy = NSMergeByPropertyObjectTrumpMergePolicy
      try stack.context.save()
      #expect(stack.server.peek("Book", "b1")?.values["title"] as? String == "Mine")
      #expect(stack.server.peek("Book", "b1")?.values["pages"] as? Int == 999)
      #expect(book.value(forKey: "pages") as? Int == 999)
    }
  }

  @Test("A record that a refresh finds changed is read again, and saves are based on it")
  func refreshing() throws {
    let stack = try ServerStack()
    stack.plant()
    try stack.context.run {
      let book = try #require(try stack.context.fetch(Shelf.request("Book", "title == %@", ["One"])).first)
      #expect(book.value(forKey: "title") as? String == "One")
      stack.server.plant("Book", "b1", ["title": "Changed"])
      #expect(book.value(forKey: "title") as? String == "One")
      stack.context.refresh(book, mergeChanges: false)
      #expect(book.value(forKey: "title") as? String == "Changed")
      book.setValue(5, forKey: "pages")
      try stack.context.save()
      #expect(stack.server.peek("Book", "b1")?.values["pages"] as? Int == 5)
    }
  }

  @Test("A child saves to its parent, the parent to the store")
  func children() throws {
    let stack = try ServerStack()
    stack.plant()
    let child = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    child.parent = stack.context
    let id = try child.run {
      let author = try #require(try child.fetch(Shelf.request("Author", "name == %@", ["Ann"])).first)
      author.setValue("Annie", forKey: "name")
      let new = Shelf.make("Book", ["title": "Child", "author": author], in: child)
      try child.save()
      #expect(stack.server.count("Book") == 3)
      return new.objectID
    }
    try stack.context.run {
      #expect(stack.context.hasChanges)
      try stack.context.save()
      #expect(stack.server.count("Book") == 4)
      #expect(stack.server.peek("Author", "ann")?.values["name"] as? String == "Annie")
      #expect(stack.server.peek("Book", "book-1")?.values["author"] as? String == "ann")
      #expect(stack.context.object(with: id).value(forKey: "title") as? String == "Child")
    }
    try child.run {
      let found = try child.existingObject(with: id).value(forKey: "title") as? String
      #expect(found == "Child")
    }
  }

  @Test("Other contexts merge what was saved, and fetched results follow")
  @MainActor
  func fetchedResults() async throws {
    let stack = try ServerStack()
    stack.plant()
    let view = NSManagedObjectContext(concurrencyType: .mainQueueConcurrencyType)
    view.persistentStoreCoordinator = stack.coordinator
    view.automaticallyMergesChangesFromParent = true
    let controller = NSFetchedResultsController(
      fetchRequest: Shelf.request("Book", "pages > %@", [50], by: "title"), managedObjectContext: view,
      sectionNameKeyPath: nil, cacheName: nil)
    // Without one the list stays what it was.
    let list = FollowingList()
    controller.delegate = list
    try controller.performFetch()
    #expect(Shelf.texts(controller.fetchedObjects ?? [], "title") == ["One", "Three", "Two"])
    try stack.context.run {
      let books = try stack.context.fetch(Shelf.request("Book", by: "title"))
      books[0].setValue("Zero", forKey: "title")
      stack.context.delete(books[1])
      Shelf.make("Book", ["title": "Five", "pages": 500], in: stack.context)
      Shelf.make("Book", ["title": "Thin", "pages": 5], in: stack.context)
      try stack.context.save()
    }
    // What was told of the save is ahead of these in the queue, and worked off in slices.
    for _ in 0..<1_000 {
      await view.perform {}
      if controller.fetchedObjects?.first?.value(forKey: "title") as? String == "Five" { break }
    }
    #expect(Shelf.texts(controller.fetchedObjects ?? [], "title") == ["Five", "Two", "Zero"])
  }

  private final class FollowingList: NSFetchedResultsControllerDelegate {
    func controllerDidChangeContent(
      _ controller: NSFetchedResultsController<any NSFetchRequestResult>
    ) {}
  }

  @Test("Metadata are set with a save, alone or with others")
  func metadata() throws {
    let stack = try ServerStack()
    try stack.context.run {
      stack.coordinator.setMetadata(["color": "green"], for: stack.store)
      #expect(stack.coordinator.metadata(for: stack.store)["color"] as? String == "green")
      #expect(stack.store.metadata["color"] == nil)
      try stack.context.save()
      #expect(stack.store.metadata["color"] as? String == "green")
      #expect(stack.store.metadata[NSStoreUUIDKey] as? String == stack.store.identifier)
      #expect(stack.server.metadata["color"] as? String == "green")
    }
    #expect(stack.coordinator.metadata(for: stack.store)["color"] as? String == "green")
  }

  @Test("Batch requests are the store's own; those that it does not know are its error")
  func batches() throws {
    let stack = try ServerStack()
    stack.plant()
    try stack.context.run {
      let fetch = NSFetchRequest<any NSFetchRequestResult>(entityName: "Book")
      fetch.predicate = NSPredicate(format: "pages > 150")
      let result = try stack.context.execute(NSBatchDeleteRequest(fetchRequest: fetch))
      let ids = try #require((result as? NSBatchDeleteResult)?.result as? [NSManagedObjectID])
      #expect(ids.count == 2 && stack.server.count("Book") == 1)
      let update = NSBatchUpdateRequest(entityName: "Book")
      update.propertiesToUpdate = ["pages": 1]
      let error = #expect(throws: CocoaError.self) { try stack.context.execute(update) }
      #expect(error?.errorCode == NSPersistentStoreUnsupportedRequestTypeError)
    }
  }

  @Test("Nothing is written to a store that is read-only")
  func readOnly() throws {
    let stack = try ServerStack()
    stack.plant()
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Shelf.model())
    try coordinator.addPersistentStore(
      ofType: "ServerStore", configurationName: nil, at: stack.url,
      options: [NSReadOnlyPersistentStoreOption: NSNumber(value: true)])
    let context = NSManagedObjectContext.on(coordinator)
    try context.run {
      try #require(try context.fetch(Shelf.request("Book")).first).setValue("No", forKey: "title")
      #expect(throws: CocoaError.self) { try context.save() }
      #expect(stack.server.peek("Book", "b1")?.values["title"] as? String == "One")
    }
  }

  @Test("A store of Strata and one of the program's in one coordinator")
  func twoStores() throws {
    ServerStore.register()
    let model = Shelf.model()
    model.setEntities(["Tag"].compactMap { model.entitiesByName[$0] }, forConfigurationName: "Local")
    model.setEntities(
      ["Author", "Book", "Chapter", "Note", "Review"].compactMap { model.entitiesByName[$0] },
      forConfigurationName: "Remote")
    let (server, url) = ShelfServer.start()
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(
      ofType: NSInMemoryStoreType, configurationName: "Local", at: nil)
    try coordinator.addPersistentStore(ofType: "ServerStore", configurationName: "Remote", at: url)
    let context = NSManagedObjectContext.on(coordinator)
    try context.run {
      Shelf.make("Tag", ["word": "here"], in: context)
      Shelf.make("Book", ["title": "There"], in: context)
      try context.save()
      #expect(server.count("Book") == 1 && server.count("Tag") == 0)
      #expect(try context.count(for: Shelf.request("Tag")) == 1)
      let update = NSBatchUpdateRequest(entityName: "Tag")
      update.propertiesToUpdate = ["word": "there"]
      try context.execute(update)
    }
  }
}
