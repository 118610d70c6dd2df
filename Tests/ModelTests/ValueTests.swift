import Foundation
import StrataModels
import Testing
import TortureKit

@Suite("The value of an object")
struct ValueTests {
  private func library() async throws -> PersistentContainer {
    try await PersistentContainer(for: Book.self, at: .inMemory)
  }

  @Test("A value crosses contexts, is JSON and back, and becomes an object again")
  func roundTrip() async throws {
    let container = try await library()
    let value = try await container.performBackgroundTask { context -> Book.Value in
      let book = Book(context: context)
      book.isbn = "1"
      book.title = "Middlemarch"
      book.format = .screen
      book.published = Date(timeIntervalSinceReferenceDate: 5)
      book.author = Author(context: context)
      for heading in ["b", "a"] {
        let chapter = Chapter(context: context)
        chapter.heading = heading
        book.chapters.append(chapter)
      }
      try context.save()
      return book.value
    }
    #expect(
      value.isbn == "1" && value.title == "Middlemarch" && value.format == .screen
        && value.chapters.count == 2)
    let data = try JSONEncoder().encode(value)
    let decoded = try JSONDecoder().decode(Book.Value.self, from: data)
    #expect(decoded == value && decoded.hashValue == value.hashValue)
    let text = String(decoding: data, as: UTF8.self)
    #expect(text.contains("\"format\":\"screen\"") && text.contains("x-coredata:"))
    try await container.performBackgroundTask { context in
      var other = decoded
      other.isbn = "2"
      let copy = try context.insert(other)
      #expect(copy.value == other && copy.author?.books.count == 2)
      try context.save()
      let chapters = copy.chapters.map(\.heading)
      #expect(chapters == ["b", "a"])
    }
  }

  @Test("What a JSON text leaves out is the default value; what has none, or is wrong, is an error")
  func missingKeys() throws {
    func decode(_ text: String) throws -> Book.Value {
      try JSONDecoder().decode(Book.Value.self, from: Data(text.utf8))
    }
    #expect(try decode(#"{"isbn": "3"}"#) == Book.Value(isbn: "3"))
    #expect(throws: DecodingError.self) { try decode("{}") }
    #expect(throws: DecodingError.self) { try decode(#"{"isbn": "3", "format": "papyrus"}"#) }
    #expect(throws: DecodingError.self) { try decode(#"{"isbn": "3", "title": null}"#) }
    #expect(throws: DecodingError.self) { try decode(#"{"isbn": 3}"#) }
    #expect(throws: DecodingError.self) { try decode(#"{"isbn": "3", "author": "nonsense"}"#) }
  }

  @Test("Applying a value changes what differs and nothing else")
  func apply() async throws {
    let container = try await library()
    try await container.performBackgroundTask { context in
      let book = Book(context: context)
      book.isbn = "1"
      try context.save()
      var value = book.value
      try book.apply(value)
      #expect(!book.hasChanges)
      value.title = "Emma"
      try book.apply(value)
      #expect(book.changedValues().keys.sorted() == ["title"])
      try context.save()
      // A value that a new object only shows is set all the same.
      let empty = Book(context: context)
      try empty.apply(Book.Value(isbn: ""))
      #expect(empty.hasValue(forKey: "isbn"))
      context.delete(empty)
    }
  }

  @Test("An ID of an object that is gone is an error, and no half-made object stays")
  func missingRelations() async throws {
    let container = try await library()
    try await container.performBackgroundTask { context in
      let author = Author(context: context)
      try context.save()
      let id = author.objectID
      context.delete(author)
      try context.save()
      #expect(throws: (any Error).self) { try context.insert(Book.Value(isbn: "9", author: id)) }
      #expect(!context.hasChanges)
      #expect(throws: (any Error).self) { try context.insert(Chapter.Value(book: id)) }
    }
  }
}
