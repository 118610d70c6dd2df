import Foundation
import SwiftData
import Testing

@Model
class Sheet {
  var width: CGFloat
  var depth: CGFloat? = 1.5
  @Attribute(.codable) var packed: CGFloat
  init(_ width: CGFloat) {
    self.width = width
    packed = width + 1
  }
}

@Model
final class WideSheet: Sheet {
  var span: CGFloat = 8
  var gap: CGFloat?
  init(_ span: CGFloat, gap: CGFloat) {
    self.span = span
    self.gap = gap
    super.init(span * 2)
  }
}

@Model
final class Depot {
  var name: String
  init(_ name: String) { self.name = name }
}

@Model
class Wagon {
  var name: String
  init(name: String) { self.name = name }
}

@Model
final class Tanker: Wagon {
  var depot: Depot?
  init(_ depot: Depot) {
    self.depot = depot
    super.init(name: "of \(depot.name)")
  }
}

@Suite("Values and rows that are there before the model is inserted")
struct EarlyRowTests {
  @Test("Numbers of type CGFloat are what they were given, in a draft and in a row, also of a submodel")
  func floats() throws {
    let container = try ModelContainer(
      for: Sheet.self, WideSheet.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true))
    let context = ModelContext(container)
    let sheet = Sheet(2)
    let wide = WideSheet(3, gap: 0.5)
    func check(_ sheet: Sheet, _ wide: WideSheet) {
      #expect(sheet.width == 2 && sheet.depth == 1.5 && sheet.packed == 3)
      #expect(wide.width == 6 && wide.span == 3 && wide.gap == 0.5 && wide.packed == 7)
    }
    check(sheet, wide)
    context.insert(sheet)
    context.insert(wide)
    check(sheet, wide)
    try context.save()
    let sheets = try ModelContext(container).fetch(FetchDescriptor<Sheet>(sortBy: [SortDescriptor(\.width)]))
    check(sheets[0], try #require(sheets[1] as? WideSheet))
  }

  @Test(
    "S29: a submodel whose initialiser relates it has one record, with all values", arguments: [false, true])
  func relatedSubmodel(isInserted: Bool) throws {
    let container = try ModelContainer(
      for: Wagon.self, Tanker.self, Depot.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true)
    )
    let context = ModelContext(container)
    let depot = Depot("North")
    context.insert(depot)
    let tanker = Tanker(depot)
    if isInserted { context.insert(tanker) }
    #expect(tanker.name == "of North" && tanker.depot === depot)
    #expect(tanker.modelContext === context)
    try context.save()
    let other = ModelContext(container)
    let stored = try other.fetch(FetchDescriptor<Wagon>())
    #expect(stored.map(\.name) == ["of North"])
    #expect((stored.first as? Tanker)?.depot?.name == "North")
  }

  private func contextWithAuthor() throws -> (ModelContext, Author) {
    let context = ModelContext(
      try ModelContainer(
        for: Author.self, Book.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true)))
    let author = Author(name: "Ann")
    context.insert(author)
    return (context, author)
  }

  @Test("S29, S30: a model whose row was made before it was inserted is inserted once")
  func insertedLate() throws {
    let (context, author) = try contextWithAuthor()
    let book = Book("One", author: author)
    #expect(author.books.count == 1)
    context.insert(book)
    #expect(book.title == "One" && book.author === author)
    try context.save()
    #expect(try context.fetch(FetchDescriptor<Book>()).map(\.title) == ["One"])
  }

  @Test("S29: the same when it becomes a member of a relationship")
  func relatedLate() throws {
    let (context, author) = try contextWithAuthor()
    let book = Book("One", author: author)
    #expect(author.books.count == 1)
    let other = Author(name: "Bob")
    context.insert(other)
    other.books.append(book)
    try context.save()
    #expect(book.author === other && author.books.isEmpty)
    #expect(try context.fetch(FetchDescriptor<Book>()).map(\.title) == ["One"])
  }

  @Test("S42: a model that is to be inserted on its own and was deleted before is not stored")
  func deletedEarly() throws {
    let (context, author) = try contextWithAuthor()
    let book = Book("One", author: author)
    context.delete(book)
    try context.save()
    #expect(try context.fetchCount(FetchDescriptor<Book>()) == 0)
    #expect(author.books.isEmpty)
  }
}
