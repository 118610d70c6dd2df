import Foundation
import StrataModels
import Testing

// What Docs/Queries.md takes for granted: Scripts/check-blocks compiles the page's code with it.

@Managed final class Book: ManagedObject {
  var title = ""
  @Unique var isbn: String?
  var pages = 0
  var published: Date?
  @Relationship(inverse: \Author.books) var author: Author?
  @Relationship(inverse: \Tag.books) var tags: Set<Tag>
}

@Managed final class Author: ManagedObject {
  var name = ""
  @Relationship var books: Set<Book>
}

@Managed final class Tag: ManagedObject {
  var name = ""
  @Relationship var books: Set<Book>
}

@Managed final class Flight: ManagedObject {
  var name = ""
  var delay = 0
  var origin = ""
  @Relationship(inverse: \Plane.flights) var plane: Plane?
}

@Managed final class Plane: ManagedObject {
  var code = ""
  @Relationship var flights: Set<Flight>
}
