import SwiftData
import Testing

@Suite("Identity and registration")
struct IdentityTests {
  @Test("S21, D10: an identifier exists from the end of the initialiser, temporary, unique and stable")
  func temporaryIdentifier() throws {
    let one = Book("One")
    let two = Book("Two")
    #expect(one.persistentModelID == one.persistentModelID)
    #expect(one.persistentModelID != two.persistentModelID)
    #expect(one.persistentModelID.storeIdentifier == nil)
    #expect(one.persistentModelID.isTemporary)
    #expect(one.persistentModelID.entityName == "Book")
    let before = one.persistentModelID
    let context = ModelContext(try makeContainer())
    context.insert(one)
    #expect(one.persistentModelID == before)
    #expect(one.persistentModelID.storeIdentifier == nil)
    let found: Book? = context.registeredModel(for: before)
    #expect(found === one)
  }

  @Test("S22: the first save makes the identifier permanent, and nothing changes it again")
  func permanentIdentifier() throws {
    let folder = try Folder()
    let configuration = ModelConfiguration(url: folder.file())
    var identifier: PersistentIdentifier
    do {
      let context = ModelContext(try ModelContainer(for: Book.self, configurations: configuration))
      let book = Book("One")
      context.insert(book)
      try context.save()
      identifier = book.persistentModelID
      #expect(identifier.storeIdentifier != nil)
      #expect(!identifier.isTemporary)
      book.title = "Other"
      try context.save()
      #expect(book.persistentModelID == identifier)
    }
    let context = ModelContext(try ModelContainer(for: Book.self, configurations: configuration))
    let again = try #require(try context.fetch(FetchDescriptor<Book>()).first)
    #expect(again.persistentModelID == identifier)
    #expect(again.title == "Other")
  }

  @Test("S23: willSave sees temporary identifiers, didSave and its user info permanent ones")
  func identifiersInNotifications() throws {
    let context = ModelContext(try makeContainer())
    // Unsafe: posted on the thread that saves.
    nonisolated(unsafe) let book = Book("One")
    context.insert(book)
    let log = Log()
    let will = NotificationCenter.default.addObserver(
      forName: ModelContext.willSave, object: context, queue: nil
    ) { _ in
      log.entries.append("will \(book.persistentModelID.isTemporary)")
    }
    let did = NotificationCenter.default.addObserver(
      forName: ModelContext.didSave, object: context, queue: nil
    ) { note in
      let key = ModelContext.NotificationKey.insertedIdentifiers.rawValue
      let inserted = note.userInfo?[key] as? [PersistentIdentifier] ?? []
      log.entries.append("did \(book.persistentModelID.isTemporary) \(inserted == [book.persistentModelID])")
    }
    defer { for observer in [will, did] { NotificationCenter.default.removeObserver(observer) } }
    try context.save()
    #expect(log.entries == ["will true", "did false true"])
  }

  @Test("S24: after a save the temporary identifier finds nothing, the permanent one the same instance")
  func temporaryIdentifierEnds() throws {
    let context = ModelContext(try makeContainer())
    let book = Book("One")
    context.insert(book)
    let temporary = book.persistentModelID
    try context.save()
    let byOld: Book? = context.registeredModel(for: temporary)
    #expect(byOld == nil)
    let byNew: Book? = context.registeredModel(for: book.persistentModelID)
    #expect(byNew === book)
    #expect(
      try context.fetch(FetchDescriptor<Book>(predicate: #Predicate { $0.persistentModelID == temporary }))
        .isEmpty)
    let id = book.persistentModelID
    #expect(
      try context.fetch(FetchDescriptor<Book>(predicate: #Predicate { $0.persistentModelID == id })).first
        === book)
  }

  @Test("S19, S24: sets and dictionaries that hold new models find them after the first save")
  func setsOverSaves() throws {
    let container = try makeContainer()
    let context = ModelContext(container)
    let books = (0..<50).map { Book("\($0)") }
    // Some are hashed as drafts, some as rows.
    var chosen = Set(books.prefix(25))
    for book in books { context.insert(book) }
    chosen.formUnion(books)
    let titles = Dictionary(uniqueKeysWithValues: books.map { ($0, $0.title) })
    let hashes = books.map(\.hashValue)
    try context.save()
    #expect(books.map(\.hashValue) == hashes)
    #expect(books.allSatisfy { chosen.contains($0) && titles[$0] == $0.title })
    #expect(!chosen.insert(books[0]).inserted)
    chosen.reserveCapacity(1000)
    #expect(books.allSatisfy(chosen.contains))
    // Equal models have equal hashes, whichever context they are of.
    let there = try ModelContext(container).fetch(FetchDescriptor<Book>())
    #expect(there.count == 50 && there.allSatisfy(chosen.contains))
    #expect(Set(there) == chosen)
  }

  @Test("S19, S24: an instance in another context keeps the hash when the model that was new has gone")
  func hashOutlivesItsModel() throws {
    let container = try makeContainer()
    let other = ModelContext(container)
    var there: Set<Book> = []
    do {
      let context = ModelContext(container)
      let book = Book("One")
      context.insert(book)
      let here: Set = [book]
      try context.save()
      there = Set(try other.fetch(FetchDescriptor<Book>()))
      #expect(here == there)
    }
    let book = try #require(there.first)
    #expect(there.contains(book))
    let third = try #require(try ModelContext(container).fetch(FetchDescriptor<Book>()).first)
    #expect(there.contains(third))
  }

  @Test("S19, S57: a new model that becomes the row of another stays in the sets that hold it")
  func hashOverUpsert() throws {
    let container = try makeContainer()
    do {
      let context = ModelContext(container)
      context.insert(Author(name: "Ann"))
      try context.save()
    }
    let context = ModelContext(container)
    let again = Author(name: "Ann", born: .distantPast)
    context.insert(again)
    let held: Set = [again]
    try context.save()
    #expect(held.contains(again))
    // Those who have fetched the row agree with each other.
    let (one, two) = (ModelContext(container), ModelContext(container))
    let there = Set(try one.fetch(FetchDescriptor<Author>()))
    #expect(there == Set(try two.fetch(FetchDescriptor<Author>())))
    #expect(there.first?.born == .distantPast && there.first == again)
  }

  @Test(
    "S19: a new model that was rolled back, or deleted, and is inserted again stays in the sets that hold it")
  func hashOverInsertion() throws {
    let context = ModelContext(try makeContainer())
    for isDeleted in [false, true] {
      let book = Book("One")
      let held: Set = [book]
      context.insert(book)
      if isDeleted { context.delete(book) } else { context.rollback() }
      context.insert(book)
      #expect(held.contains(book))
      let identifier = book.persistentModelID
      let found: Book? = context.registeredModel(for: identifier)
      #expect(found === book)
      try context.save()
      #expect(held.contains(book))
    }
  }

  @Test("S19: a stored model that is deleted and inserted again before a save is related as it was")
  func relatedAfterInsertionAgain() throws {
    let container = try makeContainer()
    let context = ModelContext(container)
    let author = Author(name: "Ann")
    let book = Book("One", author: author)
    context.insert(book)
    try context.save()
    #expect(author.books.count == 1)
    context.delete(book)
    context.processPendingChanges()
    #expect(author.books.isEmpty)
    context.insert(book)
    #expect(author.books.first === book && book.author === author)
    try context.save()
    #expect(author.books.first === book && book.author === author)
    let reader = ModelContext(container)
    #expect(try reader.fetch(FetchDescriptor<Author>()).first?.books.count == 1)
  }

  @Test("S26: one instance for each row of a context")
  func oneInstance() throws {
    let container = try makeContainer()
    let context = ModelContext(container)
    let author = Author(name: "Ann")
    let book = Book("One", author: author)
    context.insert(book)
    try context.save()
    #expect(try context.fetch(FetchDescriptor<Book>()).first === book)
    #expect(context.model(for: book.persistentModelID) === book)
    #expect(author.books.first === book)
    let other = ModelContext(container)
    let there = try #require(try other.fetch(FetchDescriptor<Book>()).first)
    #expect(there !== book)
    #expect(there == book)
    #expect(there.hashValue == book.hashValue)
    #expect(there.author?.books.first === there)
  }

  @Test("S27: model(for:) makes a model, registeredModel(for:) gives what is there")
  func lookingUp() throws {
    let container = try makeContainer()
    let context = ModelContext(container)
    let book = Book("One")
    context.insert(book)
    try context.save()
    let other = ModelContext(container)
    let none: Book? = other.registeredModel(for: book.persistentModelID)
    #expect(none == nil)
    let found = try #require(other.model(for: book.persistentModelID) as? Book)
    // The row has been read, as it is near.
    #expect(other.managedObjectContext.statistics.faultsFired == 1)
    #expect(found.title == "One")
    let some: Book? = other.registeredModel(for: book.persistentModelID)
    #expect(some === found)
  }

  @Test("S28: a model has a context from its insertion to the save of its deletion")
  func modelContext() throws {
    let container = try makeContainer()
    let book = Book("One")
    #expect(book.modelContext == nil)
    var context: ModelContext? = ModelContext(container)
    context?.insert(book)
    #expect(book.modelContext === context)
    try context?.save()
    context?.delete(book)
    #expect(book.modelContext === context)
    try context?.save()
    #expect(book.modelContext == nil)
    let second = Book("Two")
    context?.insert(second)
    context = nil
    #expect(second.modelContext == nil)
    #expect(second.title == "Two")
  }

  @Test(
    "K2, K9: identifiers of one row are equal across contexts and after coding, whether or not the store is open"
  )
  func codedIdentifiers() throws {
    let container = try makeContainer()
    let context = ModelContext(container)
    let book = Book("One")
    context.insert(book)
    try context.save()
    let id = book.persistentModelID
    let decoded = try JSONDecoder().decode(PersistentIdentifier.self, from: JSONEncoder().encode(id))
    #expect(decoded == id)
    #expect(decoded.hashValue == id.hashValue)
    #expect(decoded.storeIdentifier == id.storeIdentifier)
    #expect(context.model(for: decoded) === book)
    #expect(!(decoded < id) && !(id < decoded))
    let foreign = try PersistentIdentifier.identifier(for: "store", entityName: "Book", primaryKey: 7)
    #expect(
      try JSONDecoder().decode(PersistentIdentifier.self, from: JSONEncoder().encode(foreign)) == foreign)
    #expect(foreign != (try PersistentIdentifier.identifier(for: "store", entityName: "Book", primaryKey: 8)))
  }
}

/// What observers have seen, on one thread.
final class Log: @unchecked Sendable {
  // @unchecked Sendable: notifications of these tests are posted on the thread that observes.
  var entries: [String] = []
}
