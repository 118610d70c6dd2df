import SwiftData
import Testing

/// Models that protect each other from being deleted.
enum Guarded {
  @Model final class Keeper {
    @Relationship(deleteRule: .deny, inverse: \Animal.keeper) var animals: [Animal] = []
    init() {}
  }
  @Model final class Animal {
    @Relationship(deleteRule: .deny) var keeper: Keeper?
    init() {}
  }
  /// One cannot be without the other.
  @Model final class Key {
    var lock: Lock
    init(lock: Lock) { self.lock = lock }
  }
  @Model final class Lock {
    @Relationship(inverse: \Key.lock) var keys: [Key] = []
    init() {}
  }
}

@Suite("Delete")
struct DeletingTests {
  @Test("S41: what a deletion shows before and after its save")
  func deletion() throws {
    let context = ModelContext(try makeContainer())
    let book = Book("One")
    context.insert(book)
    try context.save()
    context.delete(book)
    #expect(book.isDeleted)
    #expect(book.modelContext === context)
    #expect(context.deletedModelsArray.first === book)
    #expect(try context.fetch(FetchDescriptor<Book>()).isEmpty)
    try context.save()
    #expect(!book.isDeleted)
    #expect(book.modelContext == nil)
    #expect(context.deletedModelsArray.isEmpty)
  }

  @Test("S42: deleting what was never saved, twice, or of no context")
  func harmlessDeletions() throws {
    let context = ModelContext(try makeContainer())
    let book = Book("One")
    context.delete(book)
    #expect(!context.hasChanges)
    context.insert(book)
    context.delete(book)
    context.delete(book)
    #expect(context.insertedModelsArray.isEmpty)
    #expect(context.deletedModelsArray.isEmpty)
    try context.save()
    #expect(try context.fetchCount(FetchDescriptor<Book>()) == 0)
  }

  @Test("S43, S45: cascade, nullify and deny act when their own side is deleted")
  func deleteRules() throws {
    let container = try makeContainer()
    let context = ModelContext(container)
    let author = Author(name: "Ann")
    let books = ["One", "Two"].map { Book($0, author: author) }
    let tag = Tag("t")
    tag.books = books
    context.insert(author)
    context.insert(tag)
    try context.save()
    // Nullify: of a book its author keeps the others.
    context.delete(books[0])
    try context.save()
    #expect(author.books == [books[1]])
    #expect(tag.books == [books[1]])
    // Cascade.
    context.delete(author)
    try context.save()
    #expect(try context.fetchCount(FetchDescriptor<Book>()) == 0)
    #expect(tag.books.isEmpty)

    let shelf = Shelf("A")
    let item = Item("Box")
    item.shelf = shelf
    context.insert(item)
    try context.save()
    context.delete(shelf)
    let error = #expect(throws: CocoaError.self) { try context.save() }
    #expect(error?.code.rawValue == 1600)
    // In one save with what it protects, it may go.
    context.delete(item)
    try context.save()
    #expect(try ModelContext(container).fetchCount(FetchDescriptor<Shelf>()) == 0)
  }

  @Test("S44, U13: delete rules show in the context's own fetches before the save")
  func rulesBeforeSave() throws {
    let context = ModelContext(try makeContainer())
    let author = Author(name: "Ann")
    let book = Book("One", author: author)
    context.insert(book)
    try context.save()
    context.delete(author)
    context.processPendingChanges()
    #expect(book.isDeleted)
    #expect(try context.fetchCount(FetchDescriptor<Book>()) == 0)
  }

  @Test("S46: erase empties all stores, and contexts show it")
  func erase() throws {
    let container = try makeContainer()
    let context = ModelContext(container)
    let item = Item("Box")
    item.shelf = Shelf("A")
    context.insert(item)
    context.insert(Book("One", author: Author(name: "Ann")))
    try context.save()
    try container.erase()
    #expect(try context.fetchCount(FetchDescriptor<Book>()) == 0)
    #expect(try context.fetchCount(FetchDescriptor<Shelf>()) == 0)
    #expect(try context.fetchCount(FetchDescriptor<Author>()) == 0)
  }

  @Test("S46: erase deletes models that protect each other")
  func erasingTheProtected() throws {
    let container = try ModelContainer(
      for: Book.self, Guarded.Keeper.self, Guarded.Key.self,
      configurations: ModelConfiguration(isStoredInMemoryOnly: true))
    let context = ModelContext(container)
    let keeper = Guarded.Keeper()
    context.insert(keeper)
    for _ in 0..<3 {
      let animal = Guarded.Animal()
      context.insert(animal)
      animal.keeper = keeper
    }
    context.insert(Guarded.Key(lock: Guarded.Lock()))
    context.insert(Book("One"))
    try context.save()
    context.delete(keeper)
    #expect(throws: (any Error).self) { try context.save() }
    context.rollback()
    try container.erase()
    #expect(try context.fetchCount(FetchDescriptor<Book>()) == 0)
    #expect(try context.fetchCount(FetchDescriptor<Guarded.Keeper>()) == 0)
    #expect(try context.fetchCount(FetchDescriptor<Guarded.Animal>()) == 0)
    #expect(try context.fetchCount(FetchDescriptor<Guarded.Lock>()) == 0)
    #expect(try context.fetchCount(FetchDescriptor<Guarded.Key>()) == 0)
  }

  @Test("S47, K7: a deleted model is read without a trap")
  func readingTheDead() throws {
    let container = try makeContainer()
    let context = ModelContext(container)
    let author = Author(name: "Ann")
    let book = Book("One", author: author)
    book.mood = .sad
    context.insert(book)
    try context.save()
    context.delete(book)
    try context.save()
    #expect(book.title == "One")
    #expect(book.mood == .sad)
    #expect(book.author == nil)
    #expect(book.tags.isEmpty)
    // One whose values were never loaded, and whose row has gone.
    let second = Book("Two")
    context.insert(second)
    try context.save()
    let identifier = second.persistentModelID
    let earlier = ModelContext(container)
    let before = try #require(earlier.model(for: identifier) as? Book)
    context.delete(second)
    try context.save()
    #expect(before.title == "Two")
    let other = ModelContext(container)
    let fault = try #require(other.model(for: identifier) as? Book)
    #expect(fault.title == "")
    #expect(fault.mood == .calm)
    #expect(fault.notes == [])
  }

  @Test("S48, D4: deleting a class of models by a predicate shows at once everywhere, rules included")
  func batchDeletion() throws {
    let container = try makeContainer()
    let context = ModelContext(container)
    let other = ModelContext(container)
    for name in ["Ann", "Bob"] {
      let author = Author(name: name)
      author.books = [Book("\(name) 1"), Book("\(name) 2")]
      context.insert(author)
    }
    try context.save()
    #expect(try other.fetch(FetchDescriptor<Book>()).count == 4)
    try context.delete(model: Author.self, where: #Predicate { $0.name == "Ann" })
    #expect(!context.hasChanges)
    for context in [context, other] {
      #expect(try context.fetch(FetchDescriptor<Author>()).map(\.name) == ["Bob"])
      #expect(try context.fetchCount(FetchDescriptor<Book>()) == 2)
    }
    try context.delete(model: Author.self)
    #expect(try other.fetchCount(FetchDescriptor<Book>()) == 0)
  }
}
