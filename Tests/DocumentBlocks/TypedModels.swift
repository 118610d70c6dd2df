import Foundation
import StrataModels

// What Docs/TypedModels.md takes for granted: Scripts/check-blocks compiles the page's code with it.

enum Format: String, CaseIterable {
  case paper, audio, screen
}

@Managed final class Author: ManagedObject {
  var name = ""
  @Relationship var books: Set<Book>
}

@Managed final class Chapter: ManagedObject {
  var heading = ""
  @Relationship var book: Book?
}

@Managed final class Person: ManagedObject {
  var name = ""
  @Relationship var accounts: Set<Account>
}

@Managed final class Shelf: ManagedObject {
  @Relationship var publications: Set<Publication>
}
