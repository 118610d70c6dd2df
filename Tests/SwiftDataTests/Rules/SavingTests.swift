import StrataCore
import SwiftData
import Dispatch
import Testing

@Suite("Insert, change, save")
struct SavingTests {
  @Test("S29, K1: insert registers everything that relationships lead to, in both directions")
  func reachability() throws {
    let container = try makeContainer()
    let context = ModelContext(container)
    let author = Author(name: "Ann")
    let book = Book("One", author: author)
    book.tags = [Tag("a"), Tag("b")]
    context.insert(book)
    #expect(author.modelContext === context)
    #expect(book.tags.allSatisfy { $0.modelContext === context })
    #expect(context.insertedModelsArray.count == 4)
    #expect(author.books == [book])

    // The other direction: the author leads to new books.
    let second = Book("Two")
    author.books.append(second)
    #expect(second.modelContext === context)
    #expect(second.author === author)
    let third = Book("Three")
    third.author = author
    #expect(third.modelContext === context)
    #expect(Set(author.books.map(\.title)) == ["One", "Two", "Three"])
    try context.save()

    let other = ModelContext(container)
    #expect(try other.fetchCount(FetchDescriptor<Book>()) == 3)
    #expect(try other.fetchCount(FetchDescriptor<Tag>()) == 2)
    for book in try other.fetch(FetchDescriptor<Book>()) {
      #expect(book.modelContext === other)
      #expect(!book.persistentModelID.isTemporary)
    }
  }

  @Test("S29: a model whose initialiser relates it to one of a context is inserted there")
  func relatedInInitialiser() throws {
    let container = try makeContainer()
    let context = ModelContext(container)
    let author = Author(name: "Ann")
    context.insert(author)
    let book = Book("One", author: author)
    #expect(author.books.map(\.title) == ["One"])
    book.title = "Uno"
    #expect(book.modelContext === context)
    try context.save()
    #expect(!book.persistentModelID.isTemporary)
    #expect(try context.fetch(FetchDescriptor<Book>()).map(\.title) == ["Uno"])
  }

  @Test("S30: inserting again does nothing; inserting what was deleted brings it back")
  func insertingAgain() throws {
    let context = ModelContext(try makeContainer())
    let book = Book("One")
    context.insert(book)
    context.insert(book)
    #expect(context.insertedModelsArray.count == 1)
    try context.save()
    context.insert(book)
    #expect(!context.hasChanges)
    context.delete(book)
    #expect(book.isDeleted)
    context.insert(book)
    #expect(!book.isDeleted)
    try context.save()
    #expect(try context.fetchCount(FetchDescriptor<Book>()) == 1)
  }

  @Test("S30: what was set on a deleted model is saved when the model is inserted again")
  func editingWhatWasDeleted() throws {
    let container = try makeContainer()
    let context = ModelContext(container)
    let book = Book("One")
    context.insert(book)
    try context.save()
    context.delete(book)
    book.title = "Two"
    #expect(context.deletedModelsArray.count == 1 && context.changedModelsArray.isEmpty)
    context.insert(book)
    #expect(context.hasChanges && context.deletedModelsArray.isEmpty)
    try context.save()
    #expect(!context.hasChanges)
    #expect(try ModelContext(container).fetch(FetchDescriptor<Book>()).map(\.title) == ["Two"])

    // A model that stays deleted is just that.
    context.delete(book)
    book.title = "Three"
    try context.save()
    #expect(!context.hasChanges)
    #expect(try ModelContext(container).fetchCount(FetchDescriptor<Book>()) == 0)
  }

  @Test(
    "S31: a context of the main thread saves by itself on a later turn of the main queue; others never do")
  @MainActor func autosave() async throws {
    let container = try makeContainer()
    let context = container.mainContext
    #expect(context.autosaveEnabled)
    context.insert(Book("One"))
    #expect(context.hasChanges)
    try await turnsOfMainQueue(until: { !context.hasChanges })
    #expect(!context.hasChanges)
    #expect(try ModelContext(container).fetchCount(FetchDescriptor<Book>()) == 1)
    context.autosaveEnabled = false
    context.insert(Book("Two"))
    try await turnsOfMainQueue(until: { false })
    #expect(context.hasChanges)
  }

  @Test("S31, S35: what undo and redo change is saved by itself, too")
  @MainActor func autosaveOfUndo() async throws {
    let container = try makeContainer()
    let context = container.mainContext
    let book = Book("One")
    context.insert(book)
    try context.save()
    let manager = UndoManager()
    context.undoManager = manager
    book.title = "Two"
    try await turnsOfMainQueue(until: { !context.hasChanges })
    func stored() throws -> [String] {
      try ModelContext(container).fetch(FetchDescriptor<Book>()).map(\.title)
    }
    #expect(try stored() == ["Two"])
    manager.undo()
    #expect(book.title == "One" && context.hasChanges)
    try await turnsOfMainQueue(until: { !context.hasChanges })
    #expect(try stored() == ["One"])
    manager.redo()
    #expect(book.title == "Two" && context.hasChanges)
    try await turnsOfMainQueue(until: { !context.hasChanges })
    #expect(try stored() == ["Two"])
    // A deletion as well.
    context.delete(book)
    try await turnsOfMainQueue(until: { !context.hasChanges })
    #expect(try stored().isEmpty)
    manager.undo()
    try await turnsOfMainQueue(until: { !context.hasChanges })
    #expect(try stored() == ["Two"])
  }

  @Test("S31, S35, K12: without autosave a turn of the main queue is an event for undo and for delete rules")
  @MainActor func turnsWithoutAutosave() async throws {
    let container = try makeContainer()
    let context = container.mainContext
    context.autosaveEnabled = false
    let author = Author(name: "Ann")
    let book = Book("One", author: author)
    context.insert(book)
    try context.save()
    let manager = UndoManager()
    context.undoManager = manager
    let told = Log()
    let observer = NotificationCenter.default.addObserver(
      forName: ManagedObjectContext.didChangeObjectsNotification, object: context.managedObjectContext,
      queue: nil
    ) { _ in told.entries.append("told") }
    defer { NotificationCenter.default.removeObserver(observer) }
    book.title = "Two"
    book.pages = 2
    try await turnsOfMainQueue(until: { !told.entries.isEmpty })
    book.title = "Three"
    try await turnsOfMainQueue(until: { told.entries.count == 2 })
    #expect(told.entries.count == 2)
    context.delete(author)
    #expect(!book.isDeleted)
    try await turnsOfMainQueue(until: { book.isDeleted })
    #expect(book.isDeleted)
    manager.undo()
    #expect(!book.isDeleted && !author.isDeleted && book.title == "Three")
    manager.undo()
    #expect(book.title == "Two" && book.pages == 2)
    manager.undo()
    #expect(book.title == "One" && book.pages == 0)
    #expect(!manager.canUndo)
    // Nothing of it was saved.
    #expect(try ModelContext(container).fetch(FetchDescriptor<Book>()).map(\.title) == ["One"])
  }

  @Test("S32: a save without changes does nothing and posts nothing")
  func nothingToSave() throws {
    let context = ModelContext(try makeContainer())
    let log = Log()
    let observer = NotificationCenter.default.addObserver(forName: nil, object: context, queue: nil) {
      log.entries.append($0.name.rawValue)
    }
    defer { NotificationCenter.default.removeObserver(observer) }
    #expect(!context.hasChanges)
    try context.save()
    #expect(log.entries.isEmpty)
    let book = Book("One")
    context.insert(book)
    #expect(context.hasChanges)
    #expect(book.hasChanges)
    try context.save()
    #expect(log.entries.count == 2)
    book.pages = 5
    #expect(context.hasChanges)
  }

  @Test("S33, D9: a refused save throws Core Data's error and keeps the changes")
  func refusedSave() throws {
    let container = try makeContainer()
    let context = ModelContext(container)
    let item = Item("Box")
    item.parts = [Part("a"), Part("b"), Part("c")]
    context.insert(item)
    let error = #expect(throws: CocoaError.self) { try context.save() }
    #expect(error?.code.rawValue == 1590)
    #expect(context.insertedModelsArray.count == 4)
    item.parts.removeLast()
    try context.save()
    #expect(try ModelContext(container).fetchCount(FetchDescriptor<Part>()) == 3)
  }

  @Test("S33: a store that may not be written refuses every save")
  func readOnlyStore() throws {
    let folder = try Folder()
    do {
      let context = ModelContext(
        try ModelContainer(for: Book.self, configurations: ModelConfiguration(url: folder.file())))
      context.insert(Book("One"))
      try context.save()
    }
    let container = try ModelContainer(
      for: Book.self, configurations: ModelConfiguration(url: folder.file(), allowsSave: false))
    let context = ModelContext(container)
    let book = try #require(try context.fetch(FetchDescriptor<Book>()).first)
    book.title = "Two"
    #expect(throws: CocoaError.self) { try context.save() }
    #expect(context.hasChanges)
    context.rollback()
    #expect(book.title == "One")
    context.insert(Book("Three"))
    #expect(throws: CocoaError.self) { try context.save() }
  }

  @Test("S34, K4: rollback discards inserts and deletions and restores values")
  func rollback() throws {
    let context = ModelContext(try makeContainer())
    let author = Author(name: "Ann")
    let kept = Book("Kept", author: author)
    let gone = Book("Gone")
    context.insert(kept)
    context.insert(gone)
    try context.save()
    kept.title = "Changed"
    kept.author = nil
    context.delete(gone)
    let new = Book("New")
    context.insert(new)
    context.rollback()
    #expect(!context.hasChanges)
    #expect(kept.title == "Kept")
    #expect(kept.author === author)
    #expect(author.books == [kept])
    #expect(!gone.isDeleted)
    #expect(new.modelContext == nil)
    #expect(new.title == "New")
    #expect(try context.fetchCount(FetchDescriptor<Book>()) == 2)
  }

  @Test("S35, K12: undo takes back what one processPendingChanges has grouped")
  func undo() throws {
    let context = ModelContext(try makeContainer())
    #expect(context.undoManager == nil)
    context.undoManager = UndoManager()
    let author = Author(name: "Ann")
    let book = Book("One", author: author)
    context.insert(book)
    try context.save()
    book.title = "Two"
    book.pages = 7
    context.processPendingChanges()
    context.delete(book)
    context.processPendingChanges()
    context.undoManager?.undo()
    #expect(!book.isDeleted)
    #expect(author.books == [book])
    context.undoManager?.undo()
    #expect(book.title == "One")
    #expect(book.pages == 0)
    context.undoManager?.redo()
    #expect(book.title == "Two")
    book.author = nil
    context.processPendingChanges()
    #expect(author.books.isEmpty)
    context.undoManager?.undo()
    #expect(author.books == [book])
  }

  @Test("S36, U4: transaction saves once behind its block, and not when that throws")
  func transaction() throws {
    struct Refusal: Error {}
    let container = try makeContainer()
    let context = ModelContext(container)
    let other = ModelContext(container)
    try context.transaction {
      context.insert(Book("One"))
      let stored = try other.fetchCount(FetchDescriptor<Book>())
      #expect(stored == 0)
    }
    #expect(!context.hasChanges)
    #expect(try other.fetchCount(FetchDescriptor<Book>()) == 1)
    #expect(throws: Refusal.self) {
      try context.transaction {
        context.insert(Book("Two"))
        throw Refusal()
      }
    }
    #expect(context.hasChanges)
    #expect(try other.fetchCount(FetchDescriptor<Book>()) == 1)
  }

  @Test(
    "S37, K16, U3: what a sibling saves is shown from the next use on, by property beside what is changed here"
  )
  func siblings() throws {
    let container = try makeContainer()
    let context = ModelContext(container)
    let book = Book("One", pages: 10)
    context.insert(book)
    let other = ModelContext(container)
    #expect(try other.fetchCount(FetchDescriptor<Book>()) == 0)
    try context.save()
    let there = try #require(try other.fetch(FetchDescriptor<Book>()).first)
    there.title = "Two"
    try other.save()
    #expect(try context.fetch(FetchDescriptor<Book>()).first?.title == "Two")
    #expect(book.title == "Two")
    // Both change the one row.
    book.pages = 11
    there.title = "Three"
    there.rating = 4
    try other.save()
    #expect(book.pages == 11)
    try context.save()
    _ = try other.fetch(FetchDescriptor<Book>())
    #expect(there.pages == 11)
    #expect(there.title == "Three")
    #expect(book.rating == 4)
  }

  @Test("S38: the arrays of inserted, changed and deleted models")
  func arrays() throws {
    let context = ModelContext(try makeContainer())
    let book = Book("One")
    let second = Book("Two")
    context.insert(book)
    book.title = "Uno"
    #expect(context.insertedModelsArray.count == 1)
    #expect(context.changedModelsArray.isEmpty)
    context.insert(second)
    try context.save()
    #expect(context.insertedModelsArray.isEmpty)
    book.pages = 1
    context.delete(second)
    #expect(context.changedModelsArray.count == 1)
    #expect(context.changedModelsArray.first === book)
    #expect(context.deletedModelsArray.first === second)
    try context.save()
    #expect(context.insertedModelsArray.isEmpty)
    #expect(context.changedModelsArray.isEmpty)
    #expect(context.deletedModelsArray.isEmpty)
  }

  @Test("S39: didSave names what was inserted, updated and deleted")
  func notifications() throws {
    let context = ModelContext(try makeContainer())
    let kept = Book("Kept")
    let gone = Book("Gone")
    context.insert(kept)
    context.insert(gone)
    try context.save()
    let goneID = gone.persistentModelID
    var found: [String: [PersistentIdentifier]] = [:]
    nonisolated(unsafe) let box = UnsafeMutablePointer<[String: [PersistentIdentifier]]>.allocate(capacity: 1)
    box.initialize(to: [:])
    defer { box.deallocate() }
    let observer = NotificationCenter.default.addObserver(
      forName: ModelContext.didSave, object: context, queue: nil
    ) {
      box.pointee = $0.userInfo as? [String: [PersistentIdentifier]] ?? [:]
    }
    defer { NotificationCenter.default.removeObserver(observer) }
    kept.title = "Changed"
    context.delete(gone)
    let new = Book("New")
    context.insert(new)
    try context.save()
    found = box.pointee
    box.deinitialize(count: 1)
    typealias Key = ModelContext.NotificationKey
    for key in ["inserted", "insertedIdentifiers", Key.insertedIdentifiers.rawValue] {
      #expect(found[key] == [new.persistentModelID])
    }
    for key in ["updated", "updatedIdentifiers", Key.updatedIdentifiers.rawValue] {
      #expect(found[key] == [kept.persistentModelID])
    }
    for key in ["deleted", "deletedIdentifiers", Key.deletedIdentifiers.rawValue] {
      #expect(found[key] == [goneID])
    }
  }
}

/// Lets the main queue run until `condition`, at most a hundred turns.
@MainActor func turnsOfMainQueue(until condition: () -> Bool) async throws {
  for _ in 0..<100 where !condition() {
    await withCheckedContinuation { continuation in DispatchQueue.main.async { continuation.resume() } }
  }
}
