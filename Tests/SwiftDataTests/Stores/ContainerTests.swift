import StrataCore
import SwiftData
import Testing

@Suite("Containers and stores")
struct ContainerTests {
  @Test("S81: related models are added to the schema, and a store that cannot be opened is an error")
  func opening() throws {
    let container = try ModelContainer(
      for: Book.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true))
    #expect(Set(container.schema.entities.map(\.name)) == ["Author", "Book", "Note", "Tag"])
    let folder = try Folder()
    try Data("no store at all, but a text that is long enough".utf8).write(to: folder.file())
    #expect(throws: SwiftDataError.loadIssueModelContainer) {
      try ModelContainer(for: Book.self, configurations: ModelConfiguration(url: folder.file()))
    }
  }

  @Test("S82: missing folders are made, names become files, in memory is /dev/null")
  func files() throws {
    let folder = try Folder()
    let url = folder.url.appendingPathComponent("a/b/Library.store")
    let container = try ModelContainer(for: Book.self, configurations: ModelConfiguration(url: url))
    let context = ModelContext(container)
    context.insert(Book("One"))
    try context.save()
    #expect(FileManager.default.fileExists(atPath: url.path))
    #expect(ModelConfiguration("Trips").url.lastPathComponent == "Trips.store")
    #expect(ModelConfiguration().url.lastPathComponent == "default.store")
    #expect(ModelConfiguration(isStoredInMemoryOnly: true).url.path == "/dev/null")
    let group = ModelConfiguration("Trips", groupContainer: .identifier("group.example")).url
    #expect(group.deletingLastPathComponent().lastPathComponent == "group.example")
  }

  @Test("S83: configurations with schemas of their own put models into different stores")
  func severalStores() throws {
    let folder = try Folder()
    func open() throws -> ModelContainer {
      try ModelContainer(
        for: Schema([Book.self, Stamp.self]),
        configurations: ModelConfiguration(
          "books", schema: Schema([Book.self]), url: folder.file("Books.store")),
        ModelConfiguration("stamps", schema: Schema([Stamp.self]), url: folder.file("Stamps.store")))
    }
    var ids: [PersistentIdentifier] = []
    do {
      let context = ModelContext(try open())
      let book = Book("One")
      let stamp = Stamp("NO", 1)
      context.insert(book)
      context.insert(stamp)
      try context.save()
      ids = [book.persistentModelID, stamp.persistentModelID]
      #expect(ids[0].storeIdentifier != ids[1].storeIdentifier)
    }
    let context = ModelContext(try open())
    #expect(try context.fetch(FetchDescriptor<Stamp>()).map(\.persistentModelID) == [ids[1]])
    #expect((context.model(for: ids[0]) as? Book)?.title == "One")
    #expect(throws: SwiftDataError.duplicateConfiguration) {
      try ModelContainer(
        for: Schema([Book.self]), configurations: ModelConfiguration("a", url: folder.file("X.store")),
        ModelConfiguration("b", url: folder.file("X.store")))
    }
    #expect(throws: SwiftDataError.configurationSchemaNotFoundInContainerSchema) {
      try ModelContainer(
        for: Schema([Book.self]),
        configurations: ModelConfiguration("a", schema: Schema([Stamp.self]), isStoredInMemoryOnly: true))
    }
  }

  @Test("S83: configurations without names are of different stores; names that were given differ")
  func unnamedConfigurations() throws {
    let folder = try Folder()
    func open() throws -> ModelContainer {
      let books = ModelConfiguration(schema: Schema([Book.self]), url: folder.file("a.store"))
      let stamps = ModelConfiguration(schema: Schema([Stamp.self]), url: folder.file("b.store"))
      return try ModelContainer(for: Schema([Book.self, Stamp.self]), configurations: books, stamps)
    }
    do {
      let context = ModelContext(try open())
      let (book, stamp) = (Book("One"), Stamp("NO", 1))
      context.insert(book)
      context.insert(stamp)
      try context.save()
      #expect(book.persistentModelID.storeIdentifier != stamp.persistentModelID.storeIdentifier)
    }
    #expect(try ModelContext(open()).fetch(FetchDescriptor<Stamp>()).map(\.country) == ["NO"])
    // A name that was given may be the one that stands for none.
    for name in ["default", "default 2", nil] {
      let context = ModelContext(
        try ModelContainer(
          for: Schema([Book.self, Stamp.self, Part.self]),
          configurations: ModelConfiguration(schema: Schema([Book.self]), isStoredInMemoryOnly: true),
          ModelConfiguration(schema: Schema([Stamp.self]), isStoredInMemoryOnly: true),
          ModelConfiguration(name, schema: Schema([Part.self]), isStoredInMemoryOnly: true)))
      let models: [any PersistentModel] = [Book("One"), Stamp("NO", 1), Part("wheel")]
      for model in models { context.insert(model) }
      try context.save()
      #expect(Set(models.map { $0.persistentModelID.storeIdentifier }).count == 3)
    }
    #expect(throws: SwiftDataError.duplicateConfiguration) {
      try ModelContainer(
        for: Schema([Book.self, Stamp.self]),
        configurations: ModelConfiguration("a", schema: Schema([Book.self]), isStoredInMemoryOnly: true),
        ModelConfiguration("a", schema: Schema([Stamp.self]), isStoredInMemoryOnly: true))
    }
    #expect(throws: SwiftDataError.duplicateConfiguration) {
      try ModelContainer(
        for: Schema([Book.self, Stamp.self]),
        configurations: ModelConfiguration(schema: Schema([Book.self]), url: folder.file("c.store")),
        ModelConfiguration(schema: Schema([Stamp.self]), url: folder.file("c.store")))
    }
  }

  @Test("S84, D1: one main context for each container, and containers in memory share nothing")
  @MainActor func contexts() throws {
    let container = try makeContainer()
    #expect(container.mainContext === container.mainContext)
    #expect(container.mainContext.container === container)
    container.mainContext.insert(Book("One"))
    try container.mainContext.save()
    #expect(try ModelContext(makeContainer()).fetchCount(FetchDescriptor<Book>()) == 0)
  }

  @Test("K3: the main context keeps the stores open, and they close with the last of it")
  @MainActor func mainContextKeepsStores() throws {
    let folder = try Folder()
    do {
      let configuration = ModelConfiguration(url: folder.file())
      let context = try ModelContainer(for: Book.self, configurations: configuration).mainContext
      context.autosaveEnabled = false
      context.insert(Book("One"))
      try context.save()
      #expect(context.container.mainContext === context)
      #expect(try ModelContext(context.container).fetchCount(FetchDescriptor<Book>()) == 1)
    }
    // A store that is open for writing cannot be opened for reading only.
    let reading = try ModelContainer(
      for: Book.self, configurations: ModelConfiguration(url: folder.file(), allowsSave: false))
    #expect(try ModelContext(reading).fetchCount(FetchDescriptor<Book>()) == 1)
  }

  @Test("K3: a context keeps its container")
  func contextKeepsContainer() throws {
    func make() throws -> ModelContext { ModelContext(try makeContainer()) }
    let context = try make()
    context.insert(Book("One"))
    try context.save()
    #expect(try context.fetchCount(FetchDescriptor<Book>()) == 1)
  }

  @Test("One store, two doors: what models have written is read and written by entity and attribute names")
  func twoDoors() throws {
    let folder = try Folder()
    let configuration = ModelConfiguration(url: folder.file())
    do {
      let context = ModelContext(try ModelContainer(for: Book.self, configurations: configuration))
      let book = Book("One", pages: 7, author: Author(name: "Ann"))
      book.mood = .merry
      context.insert(book)
      try context.save()
    }
    do {
      // The model as the store has it, and objects without classes.
      let model = try LMDBStore.model(at: folder.file())
      let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
      try coordinator.addPersistentStore(PersistentStoreDescription(url: folder.file()))
      let context = ManagedObjectContext(.confinement, coordinator: coordinator)
      let book = try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Book")).first)
      #expect(book.value(forKey: "title") as? String == "One")
      #expect(book.value(forKey: "mood") as? String == "merry")
      #expect(book.value(forKeyPath: "author.name") as? String == "Ann")
      book.setValue(8, forKey: "pages")
      try context.save()
    }
    let context = ModelContext(try ModelContainer(for: Book.self, configurations: configuration))
    let book = try #require(try context.fetch(FetchDescriptor<Book>()).first)
    #expect(book.pages == 8)
    // The way down: a child context of Strata's.
    let child = ManagedObjectContext(.confinement)
    child.parent = context.managedObjectContext
    let row = try #require(try child.fetch(FetchRequest<ManagedObject>(entityName: "Book")).first)
    row.setValue("Two", forKey: "title")
    try child.save()
    #expect(book.title == "Two")
    #expect(context.hasChanges)
  }
}
