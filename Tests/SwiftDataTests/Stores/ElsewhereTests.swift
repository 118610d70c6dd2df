import SwiftData
import Testing

/// What one context shows when another has deleted models.
@Suite("Deleted elsewhere")
struct ElsewhereTests {
  private let container: ModelContainer
  private let context: ModelContext
  private let books: [Book]

  init() throws {
    container = try makeContainer()
    context = ModelContext(container)
    context.autosaveEnabled = false
    for title in ["a", "b", "c"] { context.insert(Book(title, author: Author(name: title))) }
    try context.save()
    books = try context.fetch(FetchDescriptor<Book>(sortBy: [SortDescriptor(\.title)]))
  }

  private func deleteElsewhere(_ titles: String...) throws {
    let other = ModelContext(container)
    for book in try other.fetch(FetchDescriptor<Book>()) where titles.contains(book.title) {
      other.delete(book)
    }
    try other.save()
  }

  /// The notifications that `body` has the context post.
  private func notifications(_ body: () throws -> Void) rethrows -> [Notification] {
    // Unsafe: posted on the thread that saves.
    nonisolated(unsafe) var found: [Notification] = []
    let observer = NotificationCenter.default.addObserver(
      forName: ModelContext.didSave, object: context, queue: nil
    ) { found.append($0) }
    defer { NotificationCenter.default.removeObserver(observer) }
    try body()
    return found
  }

  @Test("S28, S32, S38, S53, S54: a deletion by another context is no change of this one")
  func noChange() throws {
    try deleteElsewhere("a")
    #expect(try context.fetchCount(FetchDescriptor<Book>()) == 2)
    #expect(!context.hasChanges)
    #expect(context.deletedModelsArray.isEmpty)
    #expect(books[0].modelContext == nil && !books[0].isDeleted && !books[0].hasChanges)
    #expect(books[0].title == "a")
    #expect(try context.fetch(FetchDescriptor<Book>(), batchSize: 2).count == 2)
    let sorted = FetchDescriptor<Book>(sortBy: [SortDescriptor(\.title)])
    #expect(
      try context.fetchIdentifiers(sorted) == [books[1].persistentModelID, books[2].persistentModelID])
    var count = 0
    try context.enumerate(sorted) { _ in count += 1 }
    #expect(count == 2)
    #expect(try notifications { try context.save() }.isEmpty)
  }

  @Test("S32, S37: what this context has changed is there to be saved beside what another has deleted")
  func beside() throws {
    books[1].title = "B"
    try deleteElsewhere("a")
    #expect(context.hasChanges)
    #expect(context.changedModelsArray.map(\.persistentModelID) == [books[1].persistentModelID])
    let posted = try notifications { try context.save() }
    #expect(posted.count == 1)
    #expect(!context.hasChanges)
    #expect(books[0].modelContext == nil && books[0].title == "a")
    #expect(Set(try ModelContext(container).fetch(FetchDescriptor<Book>()).map(\.title)) == ["B", "c"])
  }

  @Test("S48, S32: nor is a deletion of many, by this context or another")
  func many() throws {
    try ModelContext(container).delete(model: Book.self, where: #Predicate { $0.title == "a" })
    #expect(!context.hasChanges && books[0].modelContext == nil)
    try context.delete(model: Book.self, where: #Predicate { $0.title == "b" })
    #expect(!context.hasChanges && books[1].modelContext == nil)
    #expect(books.map(\.title) == ["a", "b", "c"])
    #expect(try context.fetch(FetchDescriptor<Book>(), batchSize: 10).count == 1)
  }

  @Test("S27, S32: a model of a row that is gone is no change, however it is found out")
  func faults() throws {
    let gone = books[0].persistentModelID
    try deleteElsewhere("a")
    let late = ModelContext(container)
    let fault = try #require(late.model(for: gone) as? Book)
    #expect(fault.pages == 0)
    #expect(!late.hasChanges && fault.modelContext == nil)
    #expect(try notifications { try late.save() }.isEmpty)
  }

  @Test("S32: a context that only reads does not keep what others delete")
  func onlyReading() throws {
    weak var row: AnyObject?
    let reader = ModelContext(container)
    var held = try reader.fetch(FetchDescriptor<Book>())
    row = held.first?.persistentBackingData as AnyObject?
    #expect(held.count == 3 && row != nil)
    try deleteElsewhere("a", "b", "c")
    #expect(!reader.hasChanges)
    held = []
    #expect(row == nil)
  }

  @Test("S28, S38: a model that another context has deleted belongs to the context that it is inserted into")
  func insertedElsewhere() throws {
    try deleteElsewhere("a")
    #expect(!context.hasChanges)
    let other = ModelContext(container)
    other.autosaveEnabled = false
    other.insert(books[0])
    try other.save()
    other.delete(books[0])
    context.delete(books[1])
    #expect(context.deletedModelsArray.map(\.persistentModelID) == [books[1].persistentModelID])
    try context.save()
    #expect(books[0].isDeleted && books[0].modelContext === other)
    other.rollback()
    #expect(try other.fetch(FetchDescriptor<Book>()).contains { $0.title == "a" })
    try deleteElsewhere("c")
    #expect(!context.hasChanges)
    #expect(books[0].modelContext === other)
  }

  @Test("S35, S37: undoing a change of a model that another context has deleted brings nothing back")
  func undo() throws {
    let manager = UndoManager()
    manager.groupsByEvent = false
    context.undoManager = manager
    manager.beginUndoGrouping()
    books[0].title = "A"
    context.processPendingChanges()
    manager.endUndoGrouping()
    try context.save()
    try deleteElsewhere("A")
    #expect(!context.hasChanges)
    manager.undo()
    context.processPendingChanges()
    try context.save()
    #expect(Set(try ModelContext(container).fetch(FetchDescriptor<Book>()).map(\.title)) == ["b", "c"])
  }

  @Test("S41: deleting a model that another context has deleted is nothing to save")
  func twice() throws {
    try deleteElsewhere("a")
    context.delete(books[0])
    #expect(!context.hasChanges)
    books[1].author?.books = []
    try deleteElsewhere("b")
    context.delete(books[1])
    try context.save()
    #expect(try ModelContext(container).fetch(FetchDescriptor<Book>()).map(\.title) == ["c"])
  }

  @Test("K7: what leads to a model that another context has deleted leads nowhere")
  func relationships() throws {
    let author = try #require(books[0].author)
    #expect(author.books.count == 1)
    try deleteElsewhere("a")
    #expect(!context.hasChanges)
    #expect(author.books.isEmpty)
    #expect(books[0].title == "a")
  }

  /// Saves the context, and has another one delete and save when that has begun.
  private func save(
    _ context: ModelContext, whileOther body: @escaping (ModelContext) throws -> Void
  ) throws {
    let other = ModelContext(context.container)
    // Unsafe: posted on the thread that saves.
    nonisolated(unsafe) let delete = { () throws in
      try body(other)
      try other.save()
    }
    nonisolated(unsafe) var failure: (any Error)?
    let observer = NotificationCenter.default.addObserver(
      forName: ModelContext.willSave, object: context, queue: nil
    ) { _ in do { try delete() } catch { failure = error } }
    defer { NotificationCenter.default.removeObserver(observer) }
    try context.save()
    if let failure { throw failure }
  }

  @Test("U3: a deletion that a save finds out about wins over the edit, as one that is known before")
  func inTheMiddle() throws {
    let author = try #require(books[0].author)
    author.born = Date(timeIntervalSinceReferenceDate: 1)
    books[0].title = "edited"
    author.books.append(Book("new"))
    books[1].title = "kept"
    try save(context) { other in
      for author in try other.fetch(FetchDescriptor<Author>()) where author.name == "a" {
        other.delete(author)
      }
    }
    #expect(!context.hasChanges && author.modelContext == nil && books[0].modelContext == nil)
    let fresh = ModelContext(container)
    #expect(try fresh.fetch(FetchDescriptor<Author>()).map(\.name).sorted() == ["b", "c"])
    let stored = try fresh.fetch(FetchDescriptor<Book>(sortBy: [SortDescriptor(\.title)]))
    #expect(stored.map(\.title) == ["c", "kept", "new"])
    #expect(stored.map { $0.author?.name } == ["c", "b", nil])
    #expect(try context.fetch(FetchDescriptor<Book>()).count == 3)
  }

  @Test("U3, K7: the required relationship of an edited model that goes so leads where it led")
  func requiredInTheMiddle() throws {
    let context = ModelContext(
      try ModelContainer(
        for: Guarded.Key.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true)))
    context.autosaveEnabled = false
    let (lock, other) = (Guarded.Lock(), Guarded.Lock())
    let key = Guarded.Key(lock: lock)
    context.insert(key)
    context.insert(other)
    try context.save()
    key.lock = other
    try save(context) { try $0.delete(model: Guarded.Key.self) }
    #expect(key.modelContext == nil && key.lock === other)
    #expect(try ModelContext(context.container).fetchCount(FetchDescriptor<Guarded.Key>()) == 0)
  }
}
