import StrataCore
import SwiftData
import Testing

@Model
final class Ticket {
  var id: UUID
  @Attribute(.codable) var residence = Residence(street: "", city: "", zip: nil)
  @Attribute(.transformable(by: "SwiftDataTests.Colour")) var colour: Colour?
  init(_ id: UUID) { self.id = id }
}

/// A value that is not Codable: a transformer keeps it.
struct Colour: Equatable, Sendable {
  var red: UInt8
}

private struct ColourTransformer: AttributeTransformer {
  struct NoColour: Error {}
  func transform(_ value: Any) throws -> Data {
    guard let colour = value as? Colour else { throw NoColour() }
    return Data([colour.red])
  }
  func reverse(_ data: Data) throws -> Any {
    guard let red = data.first else { throw NoColour() }
    return Colour(red: red)
  }
}

@Suite("Equality, faults and the dead")
struct AfterlifeTests {
  @Test("S19: models are equal by identifier, not by values")
  func equality() throws {
    let container = try makeContainer()
    let context = ModelContext(container)
    let (one, two) = (Book("Same"), Book("Same"))
    #expect(one != two)
    context.insert(one)
    context.insert(two)
    #expect(Set([one, two, one]).count == 2)
    try context.save()
    #expect(one != two)
    let other = ModelContext(container)
    let there = try #require(other.model(for: one.persistentModelID) as? Book)
    #expect(there == one)
    #expect(Set([there, one]).count == 1)
  }

  @Test("S25: id is the persistent identifier, unless the class declares its own")
  func identifiers() throws {
    let book = Book("One")
    #expect(book.id == book.persistentModelID)
    #expect(Schema.entityName(for: LogV2.Entry.self) == "Entry")
    let id = UUID()
    let ticket = Ticket(id)
    #expect(ticket.id == id)
  }

  @Test("S56: a fetched model reads its row when it is first asked")
  func faults() throws {
    let container = try makeContainer()
    let context = ModelContext(container)
    context.insert(Book("One"))
    try context.save()
    let other = ModelContext(container)
    let book = try #require(try other.fetch(FetchDescriptor<Book>()).first)
    let row = try #require(book.persistentBackingData as AnyObject as? ManagedObject)
    #expect(row.isFault)
    #expect(book.title == "One")
    #expect(!row.isFault)
  }

  @Test("S70, S71: values that a transformer keeps, and those that are encoded as a whole")
  func transformersAndBlobs() throws {
    AttributeTransformers.set(ColourTransformer(), forName: "SwiftDataTests.Colour")
    let container = try ModelContainer(
      for: Ticket.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true))
    let context = ModelContext(container)
    let ticket = Ticket(UUID())
    ticket.colour = Colour(red: 7)
    ticket.residence = Residence(street: "Main", city: "Oslo", zip: 1)
    context.insert(ticket)
    #expect(ticket.colour == Colour(red: 7))
    try context.save()
    let other = ModelContext(container)
    let there = try #require(try other.fetch(FetchDescriptor<Ticket>()).first)
    #expect(there.colour == Colour(red: 7))
    #expect(there.residence.city == "Oslo")
    there.colour = nil
    try other.save()
    #expect(try context.fetch(FetchDescriptor<Ticket>()).first?.colour == nil)
    #expect(ticket.colour == nil)
  }

  @Test("K7: dead and deleted models are read a million times")
  func readingTheDeadOftenEnough() throws {
    let container = try makeContainer()
    var dead: [Book] = []
    do {
      let context = ModelContext(container)
      let author = Author(name: "Ann")
      let books = (0..<50).map { Book("\($0)", pages: $0, author: author) }
      for book in books { context.insert(book) }
      try context.save()
      for book in books.prefix(20) { context.delete(book) }
      try context.save()
      let other = ModelContext(container)
      dead = books + books.suffix(30).compactMap { other.model(for: $0.persistentModelID) as? Book }
    }
    #expect(dead.allSatisfy { $0.modelContext == nil })
    var pages = 0
    for _ in 0..<(1_000_000 / (dead.count * 5)) {
      for book in dead {
        pages &+= book.pages &+ book.title.count
        pages &+= book.tags.count
        if book.author != nil { pages &+= 1 }
        if book.mood == .merry { pages &+= 1 }
      }
    }
    #expect(pages > 0)
    #expect(dead[0].title == "0")
    #expect(dead[49].title == "49")
  }
}
