import SwiftData
import Testing

@Suite("Relationships")
struct RelationshipTests {
  @Test("S60, S61: inverses are found where one pair can be meant, and not of many to many")
  func inverses() throws {
    let schema = Schema([Book.self])
    #expect(schema.entitiesByName["Note"]?.relationshipsByName["book"]?.inverseName == "notes")
    #expect(schema.entitiesByName["Book"]?.relationshipsByName["tags"]?.inverseName == "books")
    let context = ModelContext(try makeContainer())
    let note = Note("n")
    let book = Book("One")
    book.notes = [note]
    context.insert(book)
    #expect(note.book === book)
  }

  @Test("S62: setting one side sets the other at once, and moves a child from its former parent")
  func symmetry() throws {
    let context = ModelContext(try makeContainer())
    let ann = Author(name: "Ann")
    let bob = Author(name: "Bob")
    let book = Book("One", author: ann)
    context.insert(ann)
    context.insert(bob)
    context.insert(book)
    #expect(ann.books == [book])
    bob.books.append(book)
    #expect(book.author === bob)
    #expect(ann.books.isEmpty)
    book.author = ann
    #expect(bob.books.isEmpty)
    ann.books.removeAll()
    #expect(book.author == nil)
    let tag = Tag("t")
    book.tags.append(tag)
    #expect(tag.books == [book])
    #expect(tag.modelContext === context)
    try context.save()
    #expect(tag.books == [book])
  }

  @Test("S63, D6: duplicates in a to-many collapse")
  func duplicates() throws {
    let context = ModelContext(try makeContainer())
    let tag = Tag("t")
    let book = Book("One")
    context.insert(book)
    book.tags = [tag, tag]
    #expect(book.tags.count == 1)
    book.tags.append(tag)
    #expect(book.tags.count == 1)
  }

  @Test("S64: an optional to-many reads as an empty array in a context, and nil before")
  func optionalToMany() throws {
    let context = ModelContext(try makeContainer())
    let book = Book("One")
    book.notes = nil
    #expect(book.notes == nil)
    context.insert(book)
    #expect(book.notes == [])
    book.notes?.append(Note("n"))
    #expect(book.notes?.count == 1)
    book.notes = nil
    #expect(book.notes == [])
  }

  @Test("S65: counts of members are checked by the save")
  func counts() throws {
    let context = ModelContext(try makeContainer())
    let item = Item("Box")
    context.insert(item)
    try context.save()
    item.parts = (0..<3).map { Part("\($0)") }
    #expect(throws: CocoaError.self) { try context.save() }
    item.parts = []
    try context.save()
  }

  @Test("K5: relationships of models without a context are plain values")
  func beforeInsertion() {
    let author = Author(name: "Ann")
    let book = Book("One", author: author)
    #expect(book.author === author)
    #expect(author.books.isEmpty)
    #expect(book.tags.isEmpty)
    book.tags = [Tag("a")]
    #expect(book.tags.first?.label == "a")
    #expect(book.tags.first?.books.isEmpty == true)
  }

  @Test("K6: relating a new model to a saved one inserts it")
  func newToSaved() throws {
    let context = ModelContext(try makeContainer())
    let author = Author(name: "Ann")
    context.insert(author)
    try context.save()
    let book = Book("One")
    book.author = author
    #expect(book.modelContext === context)
    try context.save()
    #expect(try context.fetch(FetchDescriptor<Book>()).first?.author === author)
  }

  @Test("K8, R10: a model is made, read and written without a container")
  func withoutContainer() {
    let book = Book("One")
    book.pages = 3
    book.mood = .merry
    #expect(book.pages == 3)
    #expect(book.mood == .merry)
    #expect(book.rating == nil)
    #expect(!book.hasChanges)
    #expect(!book.isDeleted)
  }
}

@Model
final class Dancer {
  var name: String
  var partner: Dancer?
  init(_ name: String) { self.name = name }
}

@Suite struct RelatedOrderTests {
  @Test("an order may follow a relationship of an entity to itself several times")
  func throughItself() throws {
    let container = try ModelContainer(
      for: Dancer.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true))
    let context = ModelContext(container)
    let dancers = ["a", "b", "c"].map { Dancer($0) }
    for (place, dancer) in dancers.enumerated() {
      context.insert(dancer)
      dancer.partner = dancers[(place + 1) % 3]
    }
    try context.save()
    func names(_ sort: SortDescriptor<Dancer>) throws -> [String] {
      try context.fetch(FetchDescriptor<Dancer>(sortBy: [sort])).map(\.name)
    }
    #expect(try names(SortDescriptor(\.partner?.name)) == ["c", "a", "b"])
    #expect(try names(SortDescriptor(\.partner?.partner?.name)) == ["b", "c", "a"])
    #expect(try names(SortDescriptor(\.partner?.partner?.partner?.name)) == ["a", "b", "c"])
  }
}
