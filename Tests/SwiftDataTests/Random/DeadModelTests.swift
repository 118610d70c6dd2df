import SwiftData
import Testing

/// Models without a row are read on and on: they show the last values that were known.
///
/// `STRATA_DEAD_READS=1000000` sets how many properties each test reads.
@Suite("Reading the dead")
struct DeadModelTests {
  static let reads =
    ProcessInfo.processInfo.environment["STRATA_DEAD_READS"].flatMap { Int($0) } ?? 50_000

  /// Books with everything that they lead to, saved, and an `Everything` beside each.
  private static func fill(_ context: ModelContext, _ count: Int = 20) throws -> Models {
    let author = Author(name: UUID().uuidString)
    var models = Models()
    for number in 0..<count {
      let book = Book("book \(number)", pages: number, author: author)
      book.notes = [Note("note \(number)", book: book)]
      book.tags = [Tag("tag \(number)")]
      context.insert(book)
      let everything = Everything()
      everything.int = number
      everything.string = "text \(number)"
      everything.picture = Data(repeating: 7, count: 40_000)
      everything.address = Residence(street: "street", city: "city", zip: number)
      context.insert(everything)
      models.books.append(book)
      models.everything.append(everything)
    }
    try context.save()
    return models
  }

  /// Reads so many properties, and more until each was read.
  private static func read(_ models: Models) {
    var count = 0
    repeat { count += models.read() } while count < reads
  }

  @Test("K7: models that were deleted and saved")
  func deleted() throws {
    let context = ModelContext(try makeContainer())
    let models = try Self.fill(context)
    // The last values are those that were read: others are not known any more.
    _ = models.read()
    models.delete(in: context)
    Self.read(models)
    try context.save()
    #expect(models.books.allSatisfy { $0.modelContext == nil && !$0.isDeleted })
    Self.read(models)
    #expect(models.books[3].title == "book 3")
    #expect(models.everything[3].string == "text 3")
    #expect(models.everything[3].address.zip == 3)
  }

  @Test("K7: models that another context has deleted, looked at before and never looked at")
  func deletedElsewhere() throws {
    let container = try makeContainer()
    let context = ModelContext(container)
    let models = try Self.fill(context)
    let (known, unknown) = (ModelContext(container), ModelContext(container))
    let looked = models.found(in: known)
    _ = looked.read()
    let faults = models.found(in: unknown)
    models.delete(in: context)
    try context.save()
    Self.read(looked)
    Self.read(faults)
    known.processPendingChanges()
    unknown.processPendingChanges()
    Self.read(looked)
    Self.read(faults)
    #expect(looked.books[3].title == "book 3")
    #expect(looked.books.allSatisfy { $0.modelContext == nil && !$0.isDeleted })
    Self.read(looked)
    #expect(try known.fetchCount(FetchDescriptor<Book>()) == 0)
    #expect(try unknown.fetch(FetchDescriptor<Everything>()).isEmpty)
  }

  @Test("K7: new models that were rolled back, and changed ones")
  func rolledBack() throws {
    let container = try makeContainer()
    let context = ModelContext(container)
    let saved = try Self.fill(context)
    let book = Book("never saved", pages: 9, author: saved.books[0].author)
    let everything = Everything()
    everything.string = "never saved"
    context.insert(book)
    context.insert(everything)
    saved.books[1].title = "changed"
    context.delete(saved.books[2])
    context.processPendingChanges()
    context.rollback()
    let models = Models(books: [book], everything: [everything])
    Self.read(models)
    Self.read(saved)
    #expect(book.modelContext == nil)
    #expect(saved.books[1].title == "book 1")
    #expect(saved.books[2].modelContext === context)
    #expect(try context.fetchCount(FetchDescriptor<Book>()) == 20)
  }

  @Test("K7: after erase(), in a context that has the models and in one that does not use them for a while")
  func erased() throws {
    let container = try makeContainer()
    let (context, other) = (ModelContext(container), ModelContext(container))
    let models = try Self.fill(context)
    let there = models.found(in: other)
    _ = models.read()
    try container.erase()
    Self.read(models)
    Self.read(there)
    #expect(try context.fetchCount(FetchDescriptor<Book>()) == 0)
    Self.read(models)
    Self.read(there)
    #expect(models.books[3].title == "book 3")
    try other.save()
    Self.read(there)
  }

  @Test("K3, K7: the container and its contexts are gone")
  func withoutContainer() throws {
    var models: [Models] = []
    do {
      let container = try makeContainer()
      let (context, other) = (ModelContext(container), ModelContext(container))
      let saved = try Self.fill(context)
      let faults = saved.found(in: other)
      let unsaved = Book("unsaved", pages: 1)
      context.insert(unsaved)
      saved.books[0].pages = 77
      models = [saved, faults, Models(books: [unsaved], everything: [])]
    }
    #expect(models.allSatisfy { $0.books.allSatisfy { $0.modelContext == nil } })
    for some in models { Self.read(some) }
    #expect(models[0].books[0].pages == 77)
    #expect(models[2].books[0].title == "unsaved")
  }

  @Test("K7: an actor's models, deleted by the main context")
  func inAnActor() async throws {
    let container = try makeContainer()
    let context = ModelContext(container)
    let models = try Self.fill(context)
    let mourner = Mourner(modelContainer: container)
    await mourner.find(models.books.map(\.persistentModelID), models.everything.map(\.persistentModelID))
    models.delete(in: context)
    try context.save()
    await mourner.read()
    #expect(await mourner.title(3) == "book 3")
  }

  /// Keeps models and reads them.
  @ModelActor actor Mourner {
    private var models = Models()

    func find(_ books: [PersistentIdentifier], _ everything: [PersistentIdentifier]) {
      models.books = books.compactMap { self[$0, as: Book.self] }
      models.everything = everything.compactMap { self[$0, as: Everything.self] }
      _ = models.read()
    }
    func read() {
      DeadModelTests.read(models)
      modelContext.processPendingChanges()
      DeadModelTests.read(models)
    }
    func title(_ place: Int) -> String { models.books[place].title }
  }
}

/// What is read.
private struct Models {
  var books: [Book] = []
  var everything: [Everything] = []

  /// The same rows' models in another context, none of whose values is read.
  func found(in context: ModelContext) -> Models {
    Models(
      books: books.compactMap { context.model(for: $0.persistentModelID) as? Book },
      everything: everything.compactMap { context.model(for: $0.persistentModelID) as? Everything })
  }

  func delete(in context: ModelContext) {
    for book in books { context.delete(book) }
    for one in everything { context.delete(one) }
  }

  /// Reads every property of each; how many those were.
  func read() -> Int {
    for book in books {
      _ = (book.title, book.pages, book.rating, book.mood, book.published, book.scratch)
      _ = (book.author?.name, book.author?.books.count, book.tags.first?.label, book.notes?.first?.text)
      _ = (book.hasChanges, book.isDeleted, book.persistentModelID, book.modelContext == nil)
    }
    for one in everything {
      _ = (one.int, one.int8, one.int16, one.int32, one.int64)
      _ = (one.uint, one.uint8, one.uint16, one.uint32, one.uint64)
      _ = (one.float, one.double, one.decimal, one.bool, one.string, one.date, one.data, one.uuid, one.url)
      _ = (one.optionalInt, one.optionalString, one.optionalDate, one.optionalUUID)
      _ = (one.ints, one.optionalInts, one.strings, one.dictionary, one.mood, one.optionalMood)
      _ = (one.address, one.optionalAddress, one.payment, one.payments, one.picture, one.session)
    }
    return books.count * 14 + everything.count * 34
  }
}
