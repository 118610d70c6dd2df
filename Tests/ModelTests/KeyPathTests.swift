import Foundation
import StrataModels
import Testing
import TortureKit

@Suite("Key paths to properties of classes with @Managed")
struct KeyPathTests {
  @Test("A key path leads to the property's name, whatever type its values have")
  func names() async throws {
    let container = try await PersistentContainer(
      for: Everything.self, Thriller.self, Book.self, at: .inMemory)
    try await container.performBackgroundTask { context throws in
      func names(_ entity: String, _ paths: [AnyKeyPath]) throws -> [String] {
        try paths.map { try context.name(of: $0, fromEntity: entity) }
      }
      #expect(
        try names(
          "Thing",
          [\Everything.int8, \Everything.uint8, \Everything.uint16, \Everything.uint32, \Everything.int])
          == ["int8", "uint8", "uint16", "uint32", "int"])
      #expect(
        try names(
          "Thing",
          [\Everything.maybeInt8, \Everything.maybeDate, \Everything.text, \Everything.url, \Everything.uuid])
          == ["maybeInt8", "maybeDate", "text", "url", "uuid"])
      #expect(
        try names(
          "Thing", [\Everything.rating, \Everything.maybeRating, \Everything.flags, \Everything.decimal])
          == ["rating", "maybeRating", "flags", "decimal"])
      #expect(
        try names("Book", [\Book.format, \Book.author?.name, \Book.length]) == [
          "format", "author.name", "length",
        ])
      #expect(
        try names("Thriller", [\Thriller.title, \Thriller.deaths, \Novel.chapters]) == [
          "title", "deaths", "chapters",
        ])
      #expect(throws: (any Error).self) { try names("Thing", [\Everything.doubled]) }
    }
  }

  @Test("#Predicate reads typed properties")
  func predicates() async throws {
    let container = try await PersistentContainer(for: Book.self, at: .inMemory)
    try await container.performBackgroundTask { context throws in
      for (number, title) in ["Emma", "Middlemarch", "Persuasion"].enumerated() {
        let book = Book(context: context)
        book.isbn = "\(number)"
        book.title = title
        book.author = Author(context: context)
        book.author?.name = "author of \(title)"
      }
      try context.save()
      let predicate = try FetchPredicate(
        #Predicate<Book> { $0.title.contains("mm") || $0.author?.name == "author of Middlemarch" },
        model: container.managedObjectModel)
      let found = try context.fetch(FetchRequest<Book>(entityName: "Book", predicate: predicate))
      #expect(Set(found.map(\.title)) == ["Emma", "Middlemarch"])
    }
  }

  @Test("Requests in one line know typed properties, and rows of values have what the store has")
  func oneLine() async throws {
    let container = try await PersistentContainer(for: Everything.self, Book.self, at: .inMemory)
    try await container.performBackgroundTask { context throws in
      let thing = Everything(context: context)
      thing.address = Address(street: "Elm", number: 1)
      thing.owner = thing
      (thing.int, thing.uint8, thing.rating, thing.flags) = (40, 200, .fair, [.write])
      (thing.maybeRating, thing.maybeInt8, thing.maybeInt) = (.fine, -7, nil)
      for (isbn, format) in [("1", Format.paper), ("2", .audio), ("3", .screen)] {
        let book = Book(context: context)
        (book.isbn, book.title, book.format) = (isbn, "title \(isbn)", format)
      }
      try context.save()
      let rows = try context.fetch(
        Everything.self, values: \.int, \.uint8, \.rating, \.flags, \.maybeRating, \.maybeInt8, \.maybeInt)
      let row = try #require(rows.first)
      #expect(row.0 == 40 && row.1 == 200 && row.2 == .fair && row.3 == [.write])
      #expect(row.4 == .fine && row.5 == -7 && row.6 == nil)
      let formats: [Format] = try context.fetch(Book.self, values: \.format, sortedBy: .forward(\.isbn))
      #expect(formats.map(\.rawValue) == ["paper", "audio", "screen"])
      let titles = try context.fetch(
        Book.self, where: #Predicate { $0.title.contains("title") && $0.isbn != "2" },
        sortedBy: .init(\.isbn, .reverse), limit: 20
      ).map(\.title)
      #expect(titles == ["title 3", "title 1"])
      #expect(try context.count(Everything.self, where: #Predicate { $0.int > 39 }) == 1)
    }
  }
}
