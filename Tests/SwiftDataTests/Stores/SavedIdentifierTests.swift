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
    let log = IdentifierLog(context)
    context.insert(Book("New"))
    var refusals: [Int] = []
    try observing(ModelContext.willSave, of: context) {
      kept.title = "Stamped"
      context.insert(Book("Added"))
      do { try context.save() } catch { refusals.append((error as NSError).code) }
    } while: {
      try context.save()
    }
    #expect(refusals == [132_001])
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
    let log = IdentifierLog(context)
    let first = Book("First")
    context.insert(first)
    var rounds = 0
    try observing(ManagedObjectContext.didSaveObjectsNotification, of: context.managedObjectContext) {
      rounds += 1
      guard rounds == 1 else { return }
      context.insert(Book("Second"))
      saves(context)
    } while: {
      try context.save()
    }
    #expect(rounds == 2)
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

  @Test("S39, S57: a row that a new model has become is named as updated, one that made way as deleted")
  func merged() throws {
    let context = ModelContext(try makeContainer())
    context.autosaveEnabled = false
    let (ann, bob) = (Author(name: "Ann"), Author(name: "Bob"))
    for author in [ann, bob] { context.insert(author) }
    try context.save()
    let (annID, bobID) = (ann.persistentModelID, bob.persistentModelID)
    let log = IdentifierLog(context)
    let (again, eve) = (Author(name: "Ann", born: .distantPast), Author(name: "Eve"))
    for author in [again, eve] { context.insert(author) }
    try context.save()
    #expect(log.inserted == [eve.persistentModelID] && log.updated == [annID] && log.deleted.isEmpty)
    #expect(again.persistentModelID == annID)
    // Although no value of the row is another one.
    context.insert(Author(name: "Bob"))
    try context.save()
    #expect(log.inserted.isEmpty && log.updated == [bobID] && log.deleted.isEmpty)
    // Of two new models the row is named once, as new.
    let twins = [Author(name: "Twin"), Author(name: "Twin", born: .distantPast)]
    for author in twins { context.insert(author) }
    try context.save()
    #expect(log.inserted == [twins[0].persistentModelID] && log.updated.isEmpty && log.deleted.isEmpty)
    bob.name = "Ann"
    try context.save()
    #expect(log.inserted.isEmpty && log.updated == [bobID] && log.deleted == [annID])
    #expect(ann.modelContext == nil && ann.name == "Ann")
    // Nothing of that is left for the next save.
    bob.born = .distantFuture
    try context.save()
    #expect(log.inserted.isEmpty && log.updated == [bobID] && log.deleted.isEmpty)
  }

  @Test("S39, S57: a save that an observer of Core Data's didSave begins names its own rows only")
  func mergedInDidSave() throws {
    let context = ModelContext(try makeContainer())
    context.autosaveEnabled = false
    let (ann, bob) = (Author(name: "Ann"), Author(name: "Bob"))
    for author in [ann, bob] { context.insert(author) }
    try context.save()
    let log = IdentifierLog(context)
    var names: [[PersistentIdentifier]] = []
    context.insert(Author(name: "Ann"))
    var rounds = 0
    try observing(ManagedObjectContext.didSaveObjectsNotification, of: context.managedObjectContext) {
      rounds += 1
      guard rounds == 1 else { return }
      context.insert(Author(name: "Bob"))
      saves(context)
      names.append(log.updated)
    } while: {
      try context.save()
      names.append(log.updated)
    }
    #expect(names == [[bob.persistentModelID], [ann.persistentModelID]])
  }

  @Test("S39: an edited model whose row others delete during the save stays deleted, and is named as neither")
  func deletedMeanwhile() throws {
    let container = try makeContainer()
    let context = ModelContext(container)
    context.autosaveEnabled = false
    let book = Book("One")
    context.insert(book)
    try context.save()
    let identifier = book.persistentModelID
    let log = IdentifierLog(context)
    book.title = "Edited"
    try observing(ModelContext.willSave, of: context) {
      do { try ModelContext(container).delete(model: Book.self) } catch { Issue.record(error) }
    } while: {
      try context.save()
    }
    #expect(!log.inserted.contains(identifier) && !log.updated.contains(identifier))
    #expect(try ModelContext(container).fetchCount(FetchDescriptor<Book>()) == 0)
    #expect(try context.fetchCount(FetchDescriptor<Book>()) == 0)
  }

  @Test("S39: after an observer of the changes has saved them, didSave is about what came since")
  func savesInDidChange() throws {
    let context = ModelContext(try makeContainer())
    context.autosaveEnabled = false
    let log = IdentifierLog(context)
    context.insert(Book("First"))
    var seen: [String] = []
    try observing(ManagedObjectContext.didChangeObjectsNotification, of: context.managedObjectContext) {
      guard seen.isEmpty else { return }
      seen.append("changes")
      do { try context.managedObjectContext.save() } catch { Issue.record(error) }
    } while: {
      try observing(ModelContext.willSave, of: context) {
        seen.append("willSave")
        context.insert(Book("Added"))
      } while: {
        try context.save()
      }
    }
    #expect(seen == ["changes", "willSave"])
    #expect(log.inserted.map { (context.model(for: $0) as? Book)?.title } == ["Added"])
    #expect(try context.fetchCount(FetchDescriptor<Book>()) == 2)
  }

  @Test(
    "S39: a new model that an observer of Core Data's didSave has deleted is not named, unless that failed",
    arguments: [false, true])
  func deletedInDidSave(fails: Bool) throws {
    let context = ModelContext(try makeContainer())
    context.autosaveEnabled = false
    let (kept, gone) = (Book("Kept"), Book("Gone"))
    let log = IdentifierLog(context)
    context.insert(kept)
    context.insert(gone)
    var rounds = 0
    try observing(ManagedObjectContext.didSaveObjectsNotification, of: context.managedObjectContext) {
      rounds += 1
      guard rounds == 1 else { return }
      context.delete(gone)
      guard fails else { return saves(context) }
      let unnamed = context.managedObjectContext.insertNew(named: "Book")
      #expect(throws: (any Error).self) { try context.save() }
      #expect(unnamed != nil)
    } while: {
      try context.save()
    }
    #expect(rounds == (fails ? 1 : 2))
    #expect(log.inserted == (fails ? [kept, gone] : [kept]).map(\.persistentModelID))
  }

  @Test("S39: what an observer of willSave edits is undone by itself")
  func undoOfStamps() throws {
    let context = ModelContext(try makeContainer())
    context.autosaveEnabled = false
    let book = Book("One")
    context.insert(book)
    try context.save()
    context.undoManager = UndoManager()
    book.title = "Two"
    try observing(ModelContext.willSave, of: context) {
      book.pages = 7
    } while: {
      try context.save()
    }
    context.undoManager?.undo()
    #expect(book.title == "Two" && book.pages == 0)
    context.undoManager?.undo()
    #expect(book.title == "One")
  }

  private func saves(_ context: ModelContext) {
    do { try context.save() } catch { Issue.record(error) }
  }
}

/// Calls `observer` for each notification of the name that `object` posts while `body` runs.
private func observing(
  _ name: Notification.Name, of object: AnyObject, _ observer: @escaping () -> Void,
  while body: () throws -> Void
) rethrows {
  nonisolated(unsafe) let observer = observer  // Unsafe: what `body` has posted is posted on its thread.
  let token = NotificationCenter.default.addObserver(forName: name, object: object, queue: nil) { _ in
    observer()
  }
  defer { NotificationCenter.default.removeObserver(token) }
  try body()
}

/// The identifiers that the last `didSave` of a context has named.
// @unchecked Sendable: used on the thread that saves, which is the test's.
private final class IdentifierLog: @unchecked Sendable {
  private(set) var inserted: [PersistentIdentifier] = []
  private(set) var updated: [PersistentIdentifier] = []
  private(set) var deleted: [PersistentIdentifier] = []
  private var observer: (any NSObjectProtocol)?

  init(_ context: ModelContext) {
    observer = NotificationCenter.default.addObserver(
      forName: ModelContext.didSave, object: context, queue: nil
    ) { [unowned self] note in
      inserted = note.userInfo?["insertedIdentifiers"] as? [PersistentIdentifier] ?? []
      updated = note.userInfo?["updatedIdentifiers"] as? [PersistentIdentifier] ?? []
      deleted = note.userInfo?["deletedIdentifiers"] as? [PersistentIdentifier] ?? []
    }
  }
  deinit { if let observer { NotificationCenter.default.removeObserver(observer) } }
}
