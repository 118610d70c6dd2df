import Foundation
import Strata

// The model that these tests ask about, written as a program writes it.
//
//     Author ──books──▶▶ Book                     inverse author
//     Book   ──chapters──▶▶ Chapter, ordered      inverse book, cascade; unique: isbn
//            ──tags──▶▶ Tag                       inverse books

enum Format: String, Codable, CaseIterable {
  case paper, audio, braille
}

/// An enumeration whose cases nobody can list.
enum Shelf: String, Codable {
  case upper, lower
}

struct Language: RawRepresentable, Codable, Hashable {
  let rawValue: String
  static let english = Language(rawValue: "en")
}

final class Author: ManagedObject {
  override class var declaredSlots: [String]? { ["name", "books"] }

  var name: String? {
    get { readString(slot: 0) }
    set { write(newValue, slot: 0) }
  }
  var books: RelatedObjects<Book> { related(slot: 1) }
}

final class Book: ManagedObject {
  override class var declaredSlots: [String]? {
    [
      "title", "isbn", "pages", "published", "format", "shelf", "language", "isBorrowed", "author",
      "chapters", "tags",
    ]
  }

  var title: String {
    get { readString(slot: 0) ?? "" }
    set { write(newValue, slot: 0) }
  }
  var isbn: String? {
    get { readString(slot: 1) }
    set { write(newValue, slot: 1) }
  }
  var pages: Int64 {
    get { readInt64(slot: 2) }
    set { write(newValue, slot: 2) }
  }
  var published: Date? {
    get { readDate(slot: 3) }
    set { write(newValue, slot: 3) }
  }
  var format: Format {
    get { Format(rawValue: readString(slot: 4) ?? "") ?? .paper }
    set { write(newValue.rawValue, slot: 4) }
  }
  var shelf: Shelf? {
    get { readString(slot: 5).flatMap(Shelf.init) }
    set { write(newValue?.rawValue, slot: 5) }
  }
  var language: Language? {
    get { readString(slot: 6).map(Language.init) }
    set { write(newValue?.rawValue, slot: 6) }
  }
  var isBorrowed: Bool {
    get { readBool(slot: 7) }
    set { write(newValue, slot: 7) }
  }
  var author: Author? {
    get { readObject(slot: 8) }
    set { write(newValue, slot: 8) }
  }
  var chapters: OrderedRelatedObjects<Chapter> { orderedRelated(slot: 9) }
  var tags: RelatedObjects<Tag> { related(slot: 10) }

  var isLong: Bool { pages > 300 }
  var label: String { "\(title), \(pages)" }
}

final class Chapter: ManagedObject {
  override class var declaredSlots: [String]? { ["heading", "length", "book"] }

  var heading: String {
    get { readString(slot: 0) ?? "" }
    set { write(newValue, slot: 0) }
  }
  var length: Int64 {
    get { readInt64(slot: 1) }
    set { write(newValue, slot: 1) }
  }
  var book: Book? {
    get { readObject(slot: 2) }
    set { write(newValue, slot: 2) }
  }
}

final class Tag: ManagedObject {
  override class var declaredSlots: [String]? { ["name", "books"] }

  var name: String? {
    get { readString(slot: 0) }
    set { write(newValue, slot: 0) }
  }
  var books: RelatedObjects<Book> { related(slot: 1) }
}

enum Library {
  static func makeModel() -> ManagedObjectModel {
    let author = EntityDescription(
      "Author", managedObjectClass: Author.self, properties: [AttributeDescription("name", .string)])
    let book = EntityDescription(
      "Book", managedObjectClass: Book.self,
      properties: [
        AttributeDescription("title", .string), AttributeDescription("isbn", .string),
        AttributeDescription("pages", .integer64, defaultValue: 0), AttributeDescription("published", .date),
        AttributeDescription("format", .string, defaultValue: "paper"),
        AttributeDescription("shelf", .string), AttributeDescription("language", .string),
        AttributeDescription("isBorrowed", .boolean, defaultValue: false),
      ], uniquenessConstraints: [["isbn"]])
    let chapter = EntityDescription(
      "Chapter", managedObjectClass: Chapter.self,
      properties: [
        AttributeDescription("heading", .string), AttributeDescription("length", .integer64, defaultValue: 0),
      ])
    let tag = EntityDescription(
      "Tag", managedObjectClass: Tag.self, properties: [AttributeDescription("name", .string)])
    join(
      RelationshipDescription("author", to: author, maxCount: 1),
      RelationshipDescription("books", to: book, maxCount: 0), book, author)
    join(
      RelationshipDescription("chapters", to: chapter, maxCount: 0, isOrdered: true, deleteRule: .cascade),
      RelationshipDescription("book", to: book, maxCount: 1), book, chapter)
    join(
      RelationshipDescription("tags", to: tag, maxCount: 0),
      RelationshipDescription("books", to: book, maxCount: 0), book, tag)
    return ManagedObjectModel(entities: [author, book, chapter, tag])
  }

  private static func join(
    _ relationship: RelationshipDescription, _ inverse: RelationshipDescription, _ owner: EntityDescription,
    _ destination: EntityDescription
  ) {
    relationship.inverseRelationship = inverse
    inverse.inverseRelationship = relationship
    owner.properties.append(relationship)
    destination.properties.append(inverse)
  }

  /// A container whose store is in memory.
  static func open() async throws -> PersistentContainer {
    let container = PersistentContainer(name: "Library", model: makeModel())
    container.persistentStoreDescriptions = [.inMemory]
    try await container.loadPersistentStores()
    return container
  }

  /// Six books by two authors, saved:
  ///
  ///     title           pages  year  format   author        tags
  ///     Emma              474  1815  paper    Jane Austen   novel, village
  ///     Persuasion        249  1817  audio    Jane Austen   novel
  ///     Middlemarch       880  1871  paper    George Eliot  novel, village
  ///     Silas Marner      260  1861  braille  George Eliot  –
  ///     Café stories       90  –     paper    –             –
  ///     cafe notes         12  2020  audio    –             –
  static func fill(_ context: ManagedObjectContext) throws {
    let austen = Author(context: context)
    austen.name = "Jane Austen"
    let eliot = Author(context: context)
    eliot.name = "George Eliot"
    let novel = Tag(context: context)
    novel.name = "novel"
    let village = Tag(context: context)
    village.name = "village"
    let emma = make("Emma", 474, 1815, .paper, austen, in: context)
    let persuasion = make("Persuasion", 249, 1817, .audio, austen, in: context)
    let middlemarch = make("Middlemarch", 880, 1871, .paper, eliot, in: context)
    make("Silas Marner", 260, 1861, .braille, eliot, in: context)
    make("Café stories", 90, nil, .paper, nil, in: context)
    make("cafe notes", 12, 2020, .audio, nil, in: context)
    novel.books.formUnion([emma, persuasion, middlemarch])
    village.books.formUnion([emma, middlemarch])
    for (number, heading) in ["Miss Brooke", "Old and Young", "Waiting for Death"].enumerated() {
      let chapter = Chapter(context: context)
      chapter.heading = heading
      chapter.length = Int64(number + 1) * 10
      middlemarch.chapters.append(chapter)
    }
    try context.save()
  }

  @discardableResult
  static func make(
    _ title: String, _ pages: Int64, _ year: Int? = nil, _ format: Format = .paper, _ author: Author? = nil,
    in context: ManagedObjectContext
  ) -> Book {
    let book = Book(context: context)
    book.title = title
    book.pages = pages
    book.published = year.map { date($0) }
    book.format = format
    book.author = author
    return book
  }

  /// The first moment of a year.
  static func date(_ year: Int) -> Date {
    DateComponents(
      calendar: Calendar(identifier: .gregorian), timeZone: TimeZone(secondsFromGMT: 0), year: year, month: 1,
      day: 1
    ).date ?? .distantPast
  }
}

/// A filled library and a context of its own, used on the main actor.
@MainActor struct Reading {
  let container: PersistentContainer
  var context: ManagedObjectContext { container.viewContext }

  init() async throws {
    container = try await Library.open()
    try Library.fill(container.viewContext)
  }
}
