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
}
