import SwiftData
import Testing

@Suite("What models that undo takes out, or brings back, lead to")
struct UndoneModelTests {
  private let context: ModelContext
  private let manager = UndoManager()

  init() throws {
    context = ModelContext(
      try ModelContainer(
        for: Author.self, Guarded.Key.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true)))
    context.autosaveEnabled = false
    context.undoManager = manager
  }

  @Test("What was kept of a deleted model is kept no more once undo has brought it back")
  func deletionUndone() throws {
    let author = Author(name: "Ann")
    let (one, two) = (Book("One"), Book("Two"))
    context.insert(author)
    context.insert(two)
    author.books = [one]
    context.processPendingChanges()
    context.delete(author)
    context.processPendingChanges()
    #expect(author.modelContext == nil && author.books == [one])
    manager.undo()
    #expect(author.modelContext === context && author.books == [one])
    manager.redo()
    #expect(author.modelContext == nil && author.books == [one])
    manager.undo()
    author.books = []
    try context.save()
    context.delete(author)
    try context.save()
    #expect(author.modelContext == nil && author.books.isEmpty)
    context.insert(author)
    #expect(author.books.isEmpty && one.author == nil)
    try context.save()
    #expect(try context.fetch(FetchDescriptor<Author>()).map(\.books.count) == [0])
  }

  @Test(
    "A model whose insertion is undone leads to what it led to, and brings that along when it is inserted again"
  )
  func insertionUndone() throws {
    let author = Author(name: "Ann")
    context.insert(author)
    author.books = [Book("One")]
    context.processPendingChanges()
    manager.undo()
    #expect(author.modelContext == nil && !context.hasChanges)
    #expect(author.books.map(\.title) == ["One"])
    manager.redo()
    #expect(author.modelContext === context && author.books.map(\.title) == ["One"])
    author.books[0].title = "Changed"
    context.processPendingChanges()
    manager.undo()
    manager.undo()
    #expect(author.modelContext == nil && author.books.map(\.title) == ["One"])
    context.insert(author)
    #expect(author.books.map(\.title) == ["One"])
    try context.save()
    #expect(try context.fetch(FetchDescriptor<Book>()).map(\.author?.name) == ["Ann"])
  }

  @Test("A required relationship of a model that undo or redo has taken out can be read")
  func required() throws {
    let key = Guarded.Key(lock: Guarded.Lock())
    let lock = key.lock
    context.insert(key)
    context.processPendingChanges()
    manager.undo()
    #expect(key.modelContext == nil && key.lock === lock)
    manager.redo()
    try context.save()
    // Undone behind a save, the model is to be deleted.
    manager.undo()
    #expect(key.isDeleted && key.lock === lock)
    try context.save()
    #expect(key.modelContext == nil && key.lock === lock)
  }
}
