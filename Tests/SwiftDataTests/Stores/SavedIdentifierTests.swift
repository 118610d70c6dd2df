import StrataCore
import SwiftData
import Testing

/// What `didSave` names when observers, children and other contexts take part in a save.
@Suite("Saved identifiers")
struct SavedIdentifierTests {
  @Test("S39: many new models are named in the order of their insertion, with those of a context below")
  func manyInserted() throws {
    let context = ModelContext(try makeContainer())
    context.autosaveEnabled = false
    let log = IdentifierLog(context)
    let below = ManagedObjectContext(.confinement)
    below.parent = context.managedObjectContext
    let received = try #require(
      EntityDescription.insertNewObject(forEntityName: "Book", into: below) as ManagedObject?)
    received.setValue("Below", forKey: "title")
    try below.save()
    // So many that their rows are encoded while the changes are told.
    let books = (0..<5_000).map { Book("\($0)") }
    for book in books { context.insert(book) }
    let lastOnes = books.suffix(2)
    for book in lastOnes { context.delete(book) }
    try context.save()
    #expect(log.inserted.dropLast() == books.dropLast(2).map(\.persistentModelID)[...])
    let titles = log.inserted.suffix(1).map { (context.model(for: $0) as? Book)?.title }
    #expect(titles == ["Below"])
    #expect(try context.fetchCount(FetchDescriptor<Book>()) == 4_999)
  }

  @Test("S39: what an observer of willSave changes is saved and named; a save inside of it throws")
  func changesInWillSave() throws {
    let context = ModelContext(try makeContainer())
    context.autosaveEnabled = false
    let kept = Book("Kept")
    context.insert(kept)
    try context.save()
    // Unsafe: posted on the thread that saves.
    nonisolated(unsafe) let seen = (kept: kept, context: context, refused: ErrorLog())
    let observer = NotificationCenter.default.addObserver(
      forName: ModelContext.willSave, object: context, queue: nil
    ) { _ in
      seen.kept.title = "Stamped"
      seen.context.insert(Book("Added"))
      do { try seen.context.save() } catch { seen.refused.codes.append((error as NSError).code) }
    }
    let log = IdentifierLog(context)
    context.insert(Book("New"))
    try context.save()
    NotificationCenter.default.removeObserver(observer)
    #expect(seen.refused.codes == [132_001])
    #expect(log.inserted.map { (context.model(for: $0) as? Book)?.title } == ["New", "Added"])
    #expect(log.updated == [kept.persistentModelID])
    #expect(!context.hasChanges)
    // The refusal was of that one only.
    kept.title = "Last"
    try context.save()
    #expect(log.updated == [kept.persistentModelID] && log.inserted.isEmpty)
  }

  @Test("S39: an observer of Core Data's didSave that saves again leaves the identifiers of the first alone")
  func savesInDidSave() throws {
    let context = ModelContext(try makeContainer())
    context.autosaveEnabled = false
    // Unsafe: posted on the thread that saves.
    nonisolated(unsafe) let seen = context
    let again = Log()
    let observer = NotificationCenter.default.addObserver(
      forName: ManagedObjectContext.didSaveObjectsNotification, object: context.managedObjectContext,
      queue: nil
    ) { _ in
      guard again.entries.isEmpty else { return }
      again.entries.append("again")
      seen.insert(Book("Second"))
      do { try seen.save() } catch { again.entries.append("\(error)") }
    }
    defer { NotificationCenter.default.removeObserver(observer) }
    let log = IdentifierLog(context)
    let first = Book("First")
    context.insert(first)
    try context.save()
    #expect(again.entries == ["again"])
    #expect(log.inserted == [first.persistentModelID])
    #expect(try context.fetchCount(FetchDescriptor<Book>()) == 2)
  }

  @Test("S39: what a child has inserted and the save has merged with its twin is named once")
  func twinOfAChild() throws {
    let context = ModelContext(try makeContainer())
    context.autosaveEnabled = false
    let log = IdentifierLog(context)
    let below = ManagedObjectContext(.confinement)
    below.parent = context.managedObjectContext
    let received = try #require(
      EntityDescription.insertNewObject(forEntityName: "Author", into: below) as ManagedObject?)
    received.setValue("Ann", forKey: "name")
    try below.save()
    let twin = Author(name: "Ann")
    context.insert(twin)
    try context.save()
    #expect(log.inserted.count == 1)
    #expect(log.inserted == [twin.persistentModelID])
    #expect(try context.fetchCount(FetchDescriptor<Author>()) == 1)
  }

  @Test("S39: an edited model whose row others have deleted is named as inserted, and not as updated")
  func insertedAgain() throws {
    let container = try makeContainer()
    let context = ModelContext(container)
    context.autosaveEnabled = false
    let book = Book("One")
    context.insert(book)
    try context.save()
    let identifier = book.persistentModelID
    let observer = NotificationCenter.default.addObserver(
      forName: ModelContext.willSave, object: context, queue: nil
    ) { _ in
      do { try ModelContext(container).delete(model: Book.self) } catch { Issue.record(error) }
    }
    let log = IdentifierLog(context)
    book.title = "Edited"
    try context.save()
    NotificationCenter.default.removeObserver(observer)
    #expect(log.inserted == [identifier] && log.updated.isEmpty)
    #expect(try ModelContext(container).fetch(FetchDescriptor<Book>()).map(\.title) == ["Edited"])
  }

  @Test("S39: after an observer of the changes has saved them, didSave is about what came since")
  func savesInDidChange() throws {
    let context = ModelContext(try makeContainer())
    context.autosaveEnabled = false
    // Unsafe: posted on the thread that saves.
    nonisolated(unsafe) let seen = context
    let again = Log()
    let changes = NotificationCenter.default.addObserver(
      forName: ManagedObjectContext.didChangeObjectsNotification, object: context.managedObjectContext,
      queue: nil
    ) { _ in
      guard again.entries.isEmpty else { return }
      again.entries.append("changes")
      do { try seen.managedObjectContext.save() } catch { again.entries.append("\(error)") }
    }
    let saves = NotificationCenter.default.addObserver(
      forName: ModelContext.willSave, object: context, queue: nil
    ) { _ in
      again.entries.append("willSave")
      seen.insert(Book("Added"))
    }
    defer { for observer in [changes, saves] { NotificationCenter.default.removeObserver(observer) } }
    let log = IdentifierLog(context)
    context.insert(Book("First"))
    try context.save()
    #expect(again.entries == ["changes", "willSave"])
    #expect(log.inserted.map { (context.model(for: $0) as? Book)?.title } == ["Added"])
    #expect(try context.fetchCount(FetchDescriptor<Book>()) == 2)
  }

  @Test("S39: a new model that an observer of Core Data's didSave has deleted is not named")
  func deletedInDidSave() throws {
    let context = ModelContext(try makeContainer())
    context.autosaveEnabled = false
    let kept = Book("Kept")
    // Unsafe: posted on the thread that saves.
    nonisolated(unsafe) let seen = (context: context, gone: Book("Gone"))
    let again = Log()
    let observer = NotificationCenter.default.addObserver(
      forName: ManagedObjectContext.didSaveObjectsNotification, object: context.managedObjectContext,
      queue: nil
    ) { _ in
      guard again.entries.isEmpty else { return }
      again.entries.append("again")
      seen.context.delete(seen.gone)
      do { try seen.context.save() } catch { again.entries.append("\(error)") }
    }
    defer { NotificationCenter.default.removeObserver(observer) }
    let log = IdentifierLog(context)
    context.insert(kept)
    context.insert(seen.gone)
    try context.save()
    #expect(again.entries == ["again"])
    #expect(log.inserted == [kept.persistentModelID])
  }

  @Test("S39: what an observer of willSave edits is undone by itself")
  func undoOfStamps() throws {
    let context = ModelContext(try makeContainer())
    context.autosaveEnabled = false
    let book = Book("One")
    context.insert(book)
    try context.save()
    context.undoManager = UndoManager()
    // Unsafe: posted on the thread that saves.
    nonisolated(unsafe) let seen = book
    let observer = NotificationCenter.default.addObserver(
      forName: ModelContext.willSave, object: context, queue: nil
    ) { _ in seen.pages = 7 }
    book.title = "Two"
    try context.save()
    NotificationCenter.default.removeObserver(observer)
    context.undoManager?.undo()
    #expect(book.title == "Two" && book.pages == 0)
    context.undoManager?.undo()
    #expect(book.title == "One")
  }
}

private final class ErrorLog {
  var codes: [Int] = []
}

/// The identifiers that the last `didSave` of a context has named.
private final class IdentifierLog: @unchecked Sendable {
  // @unchecked Sendable: notifications are posted on the thread that saves, which is the test's.
  private(set) var inserted: [PersistentIdentifier] = []
  private(set) var updated: [PersistentIdentifier] = []
  private var observer: (any NSObjectProtocol)?

  init(_ context: ModelContext) {
    observer = NotificationCenter.default.addObserver(
      forName: ModelContext.didSave, object: context, queue: nil
    ) { [unowned self] note in
      inserted = note.userInfo?["insertedIdentifiers"] as? [PersistentIdentifier] ?? []
      updated = note.userInfo?["updatedIdentifiers"] as? [PersistentIdentifier] ?? []
    }
  }
  deinit { if let observer { NotificationCenter.default.removeObserver(observer) } }
}
