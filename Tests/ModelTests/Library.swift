import Foundation
import StrataModels

/// What a book is printed as: stored as its raw value, not `Codable`.
enum Format: String, CaseIterable {
  case paper, audio, screen
}

/// Stored as a number; its first case stands for no value.
enum Rating: Int16 {
  case none = 0
  case fair = 3
  case fine = 7
}

@Managed final class Book: ManagedObject {
  @Unique var isbn: String
  var title = ""
  @Indexed var published: Date?
  var format = Format.paper
  @Relationship(.cascade, inverse: \Chapter.book) var chapters: [Chapter]
  @Relationship(inverse: \Author.books) var author: Author?
  @Derived("chapters.@count") var length: Int
  @Transient var isOpen = false
}

@Managed final class Author: ManagedObject {
  @Attribute(.minimumLength(1)) var name = "anonymous"
  @Relationship var books: Set<Book>
}

@Managed final class Chapter: ManagedObject {
  var heading = ""
  var pages: Int32 = 0
  @Relationship var book: Book?
}

/// The same model written by hand, in descriptions.
enum PlainLibrary {
  static func model() -> ManagedObjectModel {
    let book = EntityDescription(
      "Book",
      properties: [
        AttributeDescription("isbn", .string, isOptional: false),
        AttributeDescription("title", .string, isOptional: false, defaultValue: ""),
        AttributeDescription("published", .date),
        AttributeDescription("format", .string, isOptional: false, defaultValue: "paper"),
        DerivedAttributeDescription("length", .integer64, derivationExpression: "chapters.@count"),
        AttributeDescription("isOpen", .boolean, isTransient: true, defaultValue: false),
      ], uniquenessConstraints: [["isbn"]],
      indexes: [FetchIndexDescription(name: "byPublished", attributes: ["published"])])
    let author = EntityDescription(
      "Author",
      properties: [AttributeDescription("name", .string, isOptional: false, defaultValue: "anonymous")])
    let chapter = EntityDescription(
      "Chapter",
      properties: [
        AttributeDescription("heading", .string, isOptional: false, defaultValue: ""),
        AttributeDescription("pages", .integer32, isOptional: false, defaultValue: 0),
      ])
    let chapters = RelationshipDescription(
      "chapters", to: chapter, maxCount: 0, isOrdered: true, deleteRule: .cascade)
    let ofBook = RelationshipDescription("book", to: book, maxCount: 1)
    chapters.inverseRelationship = ofBook
    ofBook.inverseRelationship = chapters
    let ofAuthor = RelationshipDescription("author", to: author, maxCount: 1)
    let books = RelationshipDescription("books", to: book, maxCount: 0)
    ofAuthor.inverseRelationship = books
    books.inverseRelationship = ofAuthor
    book.properties += [chapters, ofAuthor]
    author.properties += [books]
    chapter.properties += [ofBook]
    return ManagedObjectModel(entities: [book, author, chapter])
  }
}
