import Foundation
import StrataModels
import Testing
import TortureKit

@Suite("Conditions in code about the object that a relationship leads to")
struct RelationshipConditionTests {
  @Test(
    "Attribute(\"author\") is compared with an object, an ID, one that may be nil, and with lists of those")
  func objects() async throws {
    let container = try await PersistentContainer(for: Book.self, at: .inMemory)
    try await container.performBackgroundTask { context throws in
      let authors = ["Austen", "Eliot"].map { name in
        let author = Author(context: context)
        author.name = name
        return author
      }
      for number in 0..<5 {
        let book = Book(context: context)
        book.isbn = ManagedValueFetchTests.isbn(number)
        book.title = "title \(number)"
        book.author = number == 4 ? nil : authors[number / 3]
      }
      try context.save()
      func count(_ condition: FetchPredicate) throws -> Int { try context.count(Book.self, where: condition) }
      let none: Author? = nil
      #expect(try count(Attribute("author") == authors[0]) == 3)
      #expect(try count(Attribute("author") == authors[1].objectID) == 1)
      #expect(try count(Attribute("author") == none) == 1)
      #expect(try count(Attribute("author") == nil) == 1)
      #expect(try count(Attribute("author") != authors[0]) == 2)
      #expect(try count(Attribute("author") != none?.objectID) == 4)
      #expect(try count(Attribute("author").isIn(authors)) == 4)
      #expect(try count(Attribute("author").isIn([authors[1].objectID])) == 1)
      #expect(try count(Attribute("author") == authors[0] && Attribute("title") == "title 2") == 1)
    }
  }

  @Test("Numbers of every type that attributes have can be compared")
  func numbers() async throws {
    let container = try await PersistentContainer(for: Trip.self, at: .inMemory)
    try await container.performBackgroundTask { context throws in
      for number in 0..<3 {
        let trip = Trip(context: context)
        trip.number = number
        trip.route = Route(name: "", end: Spot())
      }
      try context.save()
      func count(_ condition: FetchPredicate) throws -> Int { try context.count(Trip.self, where: condition) }
      #expect(try count(Attribute("number") == UInt8(2)) == 1)
      #expect(try count(Attribute("number") >= UInt16(1)) == 2)
      #expect(try count(Attribute("number") < UInt32(2)) == 2)
      #expect(try count(Attribute("number") > Int8(-1)) == 3)
    }
  }
}
