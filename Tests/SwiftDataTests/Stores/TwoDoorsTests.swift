import CoreData
import StrataCore
import SwiftData
import Testing

/// One store through three modules: SwiftData, CoreData and Strata's own.
@Suite("One store, two doors")
struct TwoDoorsTests {
  private let folder: Folder
  init() throws { folder = try Folder() }

  private func openModels() throws -> ModelContainer {
    try ModelContainer(for: Book.self, configurations: ModelConfiguration(url: folder.file()))
  }

  /// A context of Core Data over the same file.
  private func openObjects() throws -> NSManagedObjectContext {
    let model = try #require(NSManagedObjectModel.makeManagedObjectModel(for: [Book.self]))
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    _ = try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: folder.file(), options: nil)
    let context = NSManagedObjectContext(concurrencyType: .mainQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    return context
  }

  private func insertBooks() throws {
    let context = ModelContext(try openModels())
    let author = Author(name: "Ada", born: Date(timeIntervalSinceReferenceDate: 60))
    let book = Book("One", pages: 7, author: author)
    book.mood = .sad
    book.rating = 4.5
    book.tags = [Tag("new")]
    context.insert(book)
    try context.save()
  }

  @Test("The model that Core Data has of the classes is that of the container, entity by entity")
  func models() throws {
    let model = try #require(NSManagedObjectModel.makeManagedObjectModel(for: [Book.self]))
    let context = ModelContext(try openModels())
    let own = try #require(context.managedObjectContext.persistentStoreCoordinator?.managedObjectModel)
    #expect(model.entityVersionHashesByName == own.entityVersionHashesByName)
    #expect(Set(model.entitiesByName.keys) == ["Author", "Book", "Note", "Tag"])
    let author = try #require(model.entitiesByName["Author"])
    #expect(author.attributesByName["born"]?.attributeType == .dateAttributeType)
    #expect(author.uniquenessConstraints as? [[String]] == [["name"]])
    #expect(author.relationshipsByName["books"]?.deleteRule == .cascadeDeleteRule)
    #expect(author.relationshipsByName["books"]?.inverseRelationship?.name == "author")
    let merged = try #require(
      NSManagedObjectModel.makeManagedObjectModel(for: Stamp.self, mergedWith: model))
    #expect(merged.entitiesByName.count == 5)
    #expect(NSManagedObjectModel.makeManagedObjectModel(for: Schema([Stamp.self]))?.entities.count == 1)
  }

  @Test("What SwiftData writes Core Data reads and changes, and SwiftData reads again")
  @MainActor
  func throughCoreData() throws {
    try insertBooks()
    do {
      let context = try openObjects()
      let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
      request.predicate = NSPredicate(format: "author.name == %@", "Ada")
      let book = try #require(try context.fetch(request).first)
      #expect(book.value(forKey: "title") as? String == "One")
      #expect(book.value(forKey: "pages") as? Int == 7)
      #expect(book.value(forKey: "mood") as? String == "sad")
      #expect(
        (book.value(forKey: "tags") as? Set<NSManagedObject>)?.first?.value(forKey: "label") as? String
          == "new")
      book.setValue("Two", forKey: "title")
      let other = NSEntityDescription.insertNewObject(forEntityName: "Book", into: context)
      other.setValue("Three", forKey: "title")
      other.setValue(book.value(forKey: "author"), forKey: "author")
      try context.save()
      for store in context.persistentStoreCoordinator?.persistentStores ?? [] {
        try context.persistentStoreCoordinator?.remove(store)
      }
    }
    let context = ModelContext(try openModels())
    let author = try #require(try context.fetch(FetchDescriptor<Author>()).first)
    #expect(Set(author.books.map(\.title)) == ["Two", "Three"])
    let three = try #require(author.books.first { $0.title == "Three" })
    #expect(three.pages == 0)
    #expect(three.mood == .calm)
  }

  @Test("Both doors at once: what one writes the other sees")
  @MainActor
  func atOnce() throws {
    try insertBooks()
    let objects = try openObjects()
    let models = ModelContext(try openModels())
    let book = try #require(try models.fetch(FetchDescriptor<Book>()).first)
    book.title = "Changed"
    try models.save()
    let request = NSFetchRequest<NSManagedObject>(entityName: "Book")
    let row = try #require(try objects.fetch(request).first)
    #expect(row.value(forKey: "title") as? String == "Changed")
    #expect(row.objectID.uriRepresentation().absoluteString == "\(book.persistentModelID)")
    row.setValue("Back", forKey: "title")
    try objects.save()
    #expect(
      try models.fetchCount(FetchDescriptor<Book>(predicate: #Predicate { $0.title == "Back" })) == 1)
  }

  @Test("A store that Core Data has made opens through SwiftData, entities and attributes being the same")
  @MainActor
  func madeByCoreData() throws {
    do {
      let context = try openObjects()
      let author = NSEntityDescription.insertNewObject(forEntityName: "Author", into: context)
      author.setValue("Bob", forKey: "name")
      let book = NSEntityDescription.insertNewObject(forEntityName: "Book", into: context)
      book.setValue("First", forKey: "title")
      book.setValue(author, forKey: "author")
      try context.save()
    }
    let context = ModelContext(try openModels())
    let book = try #require(try context.fetch(FetchDescriptor<Book>()).first)
    #expect(book.title == "First")
    #expect(book.author?.name == "Bob")
    #expect(book.author?.books == [book])
  }

  @Test("Strata itself opens what SwiftData has written, by the model that the file keeps")
  func natively() throws {
    try insertBooks()
    let model = try LMDBStore.model(at: folder.file())
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(PersistentStoreDescription(url: folder.file()))
    let context = ManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    try context.performAndWait {
      let found = try context.fetch(FetchRequest<ManagedObject>(entityName: "Book"))
      #expect(found.map { $0.value(forKey: "title") as? String } == ["One"])
      found.first?.setValue("Native", forKey: "title")
      try context.save()
    }
    let models = ModelContext(try openModels())
    #expect(try models.fetch(FetchDescriptor<Book>()).map(\.title) == ["Native"])
  }

  // MARK: The way down

  @Test("A child context over managedObjectContext: what it saves the models show")
  func children() throws {
    try insertBooks()
    let context = ModelContext(try openModels())
    let book = try #require(try context.fetch(FetchDescriptor<Book>()).first)
    let child = ManagedObjectContext(.privateQueue)
    child.parent = context.managedObjectContext
    try child.performAndWait {
      let row = try #require(try child.fetch(FetchRequest<ManagedObject>(entityName: "Book")).first)
      row.setValue("By the child", forKey: "title")
      #expect(book.title == "One")
      try child.save()
    }
    #expect(book.title == "By the child")
    #expect(context.hasChanges)
    try context.save()
    #expect(
      try ModelContext(try openModels()).fetch(FetchDescriptor<Book>()).map(\.title) == ["By the child"])
  }

  @Test("What a child saves on its queue the models show when their own thread asks, not before")
  @MainActor
  func childElsewhere() throws {
    try insertBooks()
    let container = try openModels()
    let context = container.mainContext
    context.autosaveEnabled = false
    let book = try #require(try context.fetch(FetchDescriptor<Book>()).first)
    #expect(book.title == "One")
    let child = ManagedObjectContext(.privateQueue)
    child.parent = context.managedObjectContext
    let saved = DispatchSemaphore(value: 0)
    child.perform {
      do {
        let row = try #require(try child.fetch(FetchRequest<ManagedObject>(entityName: "Book")).first)
        row.setValue("By the child", forKey: "title")
        try child.save()
      } catch { Issue.record(error) }
      saved.signal()
    }
    // The main thread is here all the time: nothing may have been merged on another one.
    saved.wait()
    #expect(book.title == "One")
    #expect(context.hasChanges)
    #expect(book.title == "By the child")
    try context.save()
    #expect(try ModelContext(container).fetch(FetchDescriptor<Book>()).map(\.title) == ["By the child"])
  }

  @Test(
    "A child of models made in a block of another private context sees what is inserted before and after it is made",
    arguments: [false, true])
  func childInOtherBlock(isThroughObjects: Bool) throws {
    let container = try openModels()
    let wanted = [["One", "Two"], ["By the child", "Two"]]
    let third = ManagedObjectContext(.privateQueue)
    let done = DispatchSemaphore(value: 0)
    // Unsafe: this thread waits meanwhile.
    nonisolated(unsafe) var result: Result<[[String]], any Error>?
    // Nobody waits for the block itself: it runs alone on the queue of the third one.
    third.perform {
      result = Result { try titles(container, isThroughObjects) }
      done.signal()
    }
    done.wait()
    #expect(try result?.get() == wanted)
    // In a block that is waited for, and in none, it is the same.
    #expect(try third.performAndWait { try titles(container, isThroughObjects) } == wanted)
    #expect(try titles(container, isThroughObjects) == wanted)
  }

  /// What a child of new models sees of two books, and the models after the child has edited the first one. Nothing is saved to the store.
  private func titles(_ container: ModelContainer, _ isThroughObjects: Bool) throws -> [[String]] {
    let models = ModelContext(container)
    models.autosaveEnabled = false
    let objects = models.managedObjectContext
    func insert(_ title: String) {
      if isThroughObjects {
        NSEntityDescription.insertNewObject(forEntityName: "Book", into: objects)
          .setValue(title, forKey: "title")
      } else {
        models.insert(Book(title))
      }
    }
    insert("One")
    let child = ManagedObjectContext(.confinement)
    child.parent = objects
    insert("Two")
    let rows = try child.fetch(
      FetchRequest<ManagedObject>(entityName: "Book", sortDescriptors: [FetchSort("title")]))
    let seen = rows.compactMap { $0.value(forKey: "title") as? String }
    rows.first?.setValue("By the child", forKey: "title")
    try child.save()
    return [seen, try models.fetch(FetchDescriptor<Book>()).map(\.title).sorted()]
  }

  @Test("S57: after managedObjectContext.reset() a new model still becomes the row with its unique values")
  func upsertAfterReset() throws {
    let context = ModelContext(try openModels())
    context.autosaveEnabled = false
    let first = Author(name: "Ada")
    context.insert(first)
    try context.save()
    let identifier = first.persistentModelID
    context.managedObjectContext.reset()
    let second = Author(name: "Ada", born: .distantPast)
    context.insert(second)
    try context.save()
    #expect(second.modelContext === context && second.persistentModelID == identifier)
    #expect(try context.fetch(FetchDescriptor<Author>()).map(\.born) == [.distantPast])
  }

  @Test("S57: a save of managedObjectContext makes new models rows with their unique values, too")
  func upsertThroughObjects() throws {
    let context = ModelContext(try openModels())
    context.autosaveEnabled = false
    let first = Author(name: "Ada")
    context.insert(first)
    try context.save()
    let second = Author(name: "Ada", born: .distantPast)
    context.insert(second)
    try context.managedObjectContext.save()
    #expect(second.modelContext === context && second.persistentModelID == first.persistentModelID)
    second.born = .distantFuture
    #expect(first.born == .distantFuture)
  }

  @Test("S31: what is changed through managedObjectContext is saved by itself, too")
  @MainActor
  func autosaveThroughObjects() async throws {
    let container = try openModels()
    let context = container.mainContext
    func stored() throws -> [String] {
      try ModelContext(container).fetch(FetchDescriptor<Book>()).map(\.title)
    }
    let book = NSEntityDescription.insertNewObject(
      forEntityName: "Book", into: context.managedObjectContext)
    book.setValue("One", forKey: "title")
    try await turnsOfMainQueue(until: { !context.hasChanges })
    #expect(try stored() == ["One"])
    book.setValue("Two", forKey: "title")
    #expect(context.hasChanges)
    try await turnsOfMainQueue(until: { !context.hasChanges })
    #expect(try stored() == ["Two"])
    context.managedObjectContext.delete(book)
    try await turnsOfMainQueue(until: { !context.hasChanges })
    #expect(try stored().isEmpty)
    // What a child context saves is an edit here, also where there is no object of it.
    let child = ManagedObjectContext(.mainQueue)
    child.parent = context.managedObjectContext
    let third = NSEntityDescription.insertNewObject(forEntityName: "Book", into: child)
    third.setValue("Three", forKey: "title")
    try child.save()
    try await turnsOfMainQueue(until: { !context.hasChanges })
    #expect(try stored() == ["Three"])
    context.autosaveEnabled = false
    let other = NSEntityDescription.insertNewObject(
      forEntityName: "Book", into: context.managedObjectContext)
    other.setValue("Four", forKey: "title")
    try await turnsOfMainQueue(until: { false })
    #expect(try context.hasChanges && stored() == ["Three"])
  }

  @Test("S31: an autosave that fails is tried again when there is another change, and not before")
  @MainActor
  func failingAutosaveThroughObjects() async throws {
    let container = try openModels()
    let context = container.mainContext
    let book = NSEntityDescription.insertNewObject(
      forEntityName: "Book", into: context.managedObjectContext)
    let log = Log()
    let observer = NotificationCenter.default.addObserver(
      forName: ModelContext.willSave, object: context, queue: nil
    ) { _ in log.entries.append("save") }
    defer { NotificationCenter.default.removeObserver(observer) }
    // It has no title, which it must have.
    try await turnsOfMainQueue(until: { false })
    #expect(context.hasChanges && log.entries == ["save"])
    book.setValue("One", forKey: "title")
    try await turnsOfMainQueue(until: { !context.hasChanges })
    #expect(!context.hasChanges && log.entries == ["save", "save"])
  }

  @Test("A query generation of managedObjectContext holds the models where they are")
  func generations() throws {
    try insertBooks()
    let container = try openModels()
    let (pinned, writer) = (ModelContext(container), ModelContext(container))
    try pinned.managedObjectContext.setQueryGenerationFrom(.current)
    #expect(try pinned.fetchCount(FetchDescriptor<Book>()) == 1)
    writer.insert(Book("Two"))
    try writer.save()
    #expect(pinned.managedObjectContext.queryGenerationToken != nil)
    try pinned.managedObjectContext.setQueryGenerationFrom(nil)
    #expect(try pinned.fetchCount(FetchDescriptor<Book>()) == 2)
  }

  @Test("An explanation of a fetch by managedObjectContext names the entity and how it is looked up")
  func explanations() throws {
    try insertBooks()
    let context = ModelContext(try openModels())
    let request = FetchRequest<ManagedObject>(
      entityName: "Author",
      predicate: .compare(
        FetchComparison(
          .keyPath(base: .evaluatedObject, keys: ["name"]), .equal, .constant(.string("Ada")))))
    let explanation = try context.managedObjectContext.explain(request)
    #expect("\(explanation)".contains("Author"))
  }
}
