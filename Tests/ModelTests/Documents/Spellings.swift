import Foundation
import StrataModels

// What Docs/TypedModels.md shows and no other test needs. The page's code is looked for in the sources of these tests.

final class Account: ManagedObject {
  static let number = Slot<Account, String>("number")
  static let balance = Slot<Account, Decimal>("balance")
  static let owner = Slot<Account, Person?>("owner")

  override class var entityDeclaration: EntityDeclaration? {
    EntityDeclaration(
      Account.self,
      [
        number.attribute(.unique),
        balance.attribute(default: 0),
        owner.relationship(inverse: "accounts"),
      ])
  }

  var number: String {
    get { read(Account.number) }
    set { write(newValue, Account.number) }
  }
  var balance: Decimal {
    get { read(Account.balance) }
    set { write(newValue, Account.balance) }
  }
  var owner: Person? {
    get { read(Account.owner) }
    set { write(newValue, Account.owner) }
  }
}

@Managed final class Person: ManagedObject {
  var name = ""
  @Relationship var accounts: Set<Account>
}

@Managed nonisolated final class Memo: ManagedObject {
  var text = ""
}

enum Spellings {
  /// Fills a library.
  static func fill(_ url: URL) async throws -> PersistentContainer {
    let library = try await PersistentContainer(for: Book.self, Author.self, at: url)
    try await library.background { context in
      let book = Book(context: context)
      book.isbn = "978-0141439549"
      book.title = "Middlemarch"
      let chapter = Chapter(context: context)
      chapter.heading = "Miss Brooke"
      book.chapters.append(chapter)
    }
    return library
  }

  /// An object, its value, and an object again.
  static func copy(_ book: Book, _ context: ManagedObjectContext) throws -> Book {
    let value = book.value
    let data = try JSONEncoder().encode(value)
    let decoded = try JSONDecoder().decode(Book.Value.self, from: data)
    let copy = try context.insert(decoded)
    try book.apply(decoded)
    precondition(copy.objectID != book.objectID, "a copy is an object of its own")
    return copy
  }

  /// Questions with cases of enums, and in the order of people.
  static func ask(_ context: ManagedObjectContext) throws -> (late: [Book], shelf: [Book]) {
    let late = try context.fetch(
      Book.self, where: #Predicate { $0.title.contains("a") && $0.format == .paper },
      sortedBy: .init(\.published, .reverse),
      limit: 20)
    let shelf = try context.fetch(
      Book.self, where: #Predicate { [.paper, .audio].contains($0.format) },
      sortedBy: [SortDescriptor(\.title, comparator: .localizedStandard)])
    return (late, shelf)
  }

  /// Values without objects.
  static func values(_ context: ManagedObjectContext) throws -> (values: [Book.Value], titles: [String]) {
    struct Title { let title: String, published: Date? }
    let values = try context.fetch(
      Book.Value.self, where: #Predicate { $0.format == .paper }, sortedBy: \.title, limit: 20)
    let titles = try context.fetch(
      Book.self, values: \.title, \.published, as: Title.init, sortedBy: \.title)
    return (values, titles.map(\.title))
  }
}
