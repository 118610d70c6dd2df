import StrataModels

/// What a book is printed as. Stored as its raw value.
enum Format: String, Codable, CaseIterable {
  case paper, audio, screen
}

@Managed final class Book: ManagedObject {
  @Unique var isbn: String
  @Attribute(.minimumLength(1, warning: "A book has a title.")) var title = ""
  @Indexed var published: Int16 = 1900
  var format = Format.paper
  @Relationship(.cascade, inverse: \Chapter.book) var chapters: [Chapter]
  @Relationship(inverse: \Author.books) var author: Author?
  @Derived("chapters.@count") var length: Int
  @Transient var isOpen = false
}

@Managed final class Author: ManagedObject {
  @Unique var name: String
  @Relationship var books: Set<Book>
}

@Managed final class Chapter: ManagedObject {
  var heading = ""
  var pages: Int32 = 0
  @Relationship var book: Book?
}
