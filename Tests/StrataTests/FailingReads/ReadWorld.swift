import Foundation
import Strata
import Testing

/// A small store and a context on it, for stories with reads that fail.
///
///     Shelf ──books──▶▶ Book      cascade, inverse shelf; unique: name; derived: size
///     Book ──tags──▶▶ Tag         many-to-many, inverse books; unique: isbn; a large cover
///
/// Shelf “a” holds the books 1, 2 and 3, shelf “b” book 4. Tag “old” has 1 and 2, “new” has 2 and 3.
final class ReadWorld: @unchecked Sendable {
  // Unchecked: used on one thread, or on the context's queue.
  let store: TemporaryStore
  let context: ManagedObjectContext
  /// What a story holds.
  var held: [ManagedObject] = []
  /// What a story wants to remember from one step to the next.
  var results: FetchedResultsController<ManagedObject>?
  var listener: ListListener?
  var other: ManagedObjectContext?
  var found: [ManagedObject] = []
  var notes: [Notification] = []
  var kept: AnyObject?
  private let failures = Guarded<[StorageError.Kind]>([])

  static let cover = Data(repeating: 7, count: 40_000)

  /// - Parameter bookClass: The class of books, for hooks.
  init(
    recordsHistory: Bool = false, _ type: ConcurrencyType = .confinement,
    bookClass: ManagedObject.Type = ManagedObject.self
  ) throws {
    store = try TemporaryStore(Self.sharedModel(bookClass)) { $0.recordsHistory = recordsHistory }
    try Self.stock(store.context())
    context = store.context(type)
    hear(context)
  }

  /// What the context cannot read is written down.
  func hear(_ context: ManagedObjectContext) {
    context.performAndWait {
      context.readFailureHandler = { [failures] failure in
        let kind = (failure.error as? StorageError)?.kind ?? .other
        failures.withLock { $0.append(kind) }
      }
    }
  }

  func takeFailures() -> [StorageError.Kind] {
    failures.withLock { list in
      defer { list = [] }
      return list
    }
  }

  /// One model for all worlds with books of one class: each story is told hundreds of times.
  private static func sharedModel(_ bookClass: ManagedObject.Type) -> ManagedObjectModel {
    models.withLock { models in
      let known = models[ObjectIdentifier(bookClass)] ?? model(bookClass)
      models[ObjectIdentifier(bookClass)] = known
      return known
    }
  }

  private static let models = Guarded<[ObjectIdentifier: ManagedObjectModel]>([:])

  static func model(_ bookClass: ManagedObject.Type = ManagedObject.self) -> ManagedObjectModel {
    let shelf = EntityDescription(
      "Shelf",
      properties: [
        AttributeDescription("name", .string),
        DerivedAttributeDescription("size", .integer64, derivationExpression: "books.@count"),
      ], uniquenessConstraints: [["name"]])
    let book = EntityDescription(
      "Book", managedObjectClass: bookClass,
      properties: [
        AttributeDescription("isbn", .integer64), AttributeDescription("title", .string),
        AttributeDescription("pages", .integer64, defaultValue: 0),
        AttributeDescription("cover", .binaryData),
      ], uniquenessConstraints: [["isbn"]],
      indexes: [FetchIndexDescription(name: "byTitle", attributes: ["title"])])
    let tag = EntityDescription("Tag", properties: [AttributeDescription("name", .string)])
    func join(
      _ left: EntityDescription, _ name: String, _ most: Int, _ right: EntityDescription, _ inverse: String,
      _ inverseMost: Int, _ rule: DeleteRule
    ) {
      let there = RelationshipDescription(name, to: right, maxCount: most, deleteRule: rule)
      let back = RelationshipDescription(inverse, to: left, maxCount: inverseMost)
      (there.inverseRelationship, back.inverseRelationship) = (back, there)
      left.properties.append(there)
      right.properties.append(back)
    }
    join(shelf, "books", 0, book, "shelf", 1, .cascade)
    join(book, "tags", 0, tag, "books", 0, .nullify)
    return ManagedObjectModel(entities: [shelf, book, tag])
  }

  private static func stock(_ context: ManagedObjectContext) throws {
    let shelves = ["a", "b"].map { context.new("Shelf", ["name": $0]) }
    let books = (1...4).map {
      context.new(
        "Book", ["isbn": $0, "title": "t\($0)", "pages": $0 * 10, "shelf": shelves[$0 == 4 ? 1 : 0]])
    }
    books[0]["cover"] = cover
    context.new("Tag", ["name": "old", "books": Set(books[0...1])])
    context.new("Tag", ["name": "new", "books": Set(books[1...2])])
    try context.save()
  }

  // MARK: Looking

  /// All that is stored.
  func picture() throws -> [String] { try store.fresh { try Self.picture($0) } }

  static func picture(_ context: ManagedObjectContext) throws -> [String] {
    func names(_ object: ManagedObject, _ key: String, _ name: String) -> String {
      let members = object[key] as? Set<ManagedObject> ?? []
      return members.map { "\($0[name] ?? "-")" }.sorted().joined(separator: " ")
    }
    let shelves = try context.all("Shelf").map {
      "\($0["name"] ?? "-")(\($0["size"] ?? "-")): \(names($0, "books", "isbn"))"
    }
    let books = try context.all("Book").map { book in
      let shelf = (book["shelf"] as? ManagedObject)?["name"] as? String ?? "-"
      let cover = (book["cover"] as? Data).map { $0 == Self.cover ? " cover" : " \($0.count)" } ?? ""
      return
        "\(book["isbn"] ?? "-") \(book["title"] ?? "-") \(book["pages"] ?? "-") on \(shelf) [\(names(book, "tags", "name"))]\(cover)"
    }
    let tags = try context.all("Tag").map { "\($0["name"] ?? "-") of \(names($0, "books", "isbn"))" }
    return (shelves + books + tags).sorted()
  }

  /// What objects that are no faults show.
  func look() -> [ObjectIdentifier: [String: String]] {
    context.performAndWait {
      var result: [ObjectIdentifier: [String: String]] = [:]
      for object in held where !object.isFault { result[ObjectIdentifier(object)] = values(object) }
      return result
    }
  }

  private func values(_ object: ManagedObject) -> [String: String] {
    var result: [String: String] = [:]
    for name in object.entity.attributesByName.keys where name != "size" {
      result[name] = (object[name] as? Data).map { "\($0.count)" } ?? "\(object[name] ?? "-")"
    }
    return result
  }

  /// Held objects that show something else than before.
  func changed(since before: [ObjectIdentifier: [String: String]]) -> [String] {
    context.performAndWait {
      held.compactMap { object in
        guard let old = before[ObjectIdentifier(object)], object.managedObjectContext != nil else {
          return before[ObjectIdentifier(object)] == nil ? nil : "\(object.objectID) has left"
        }
        let new = values(object)
        return old == new ? nil : "\(old) became \(new)"
      }
    }
  }

  /// What is edited, and what is inserted.
  func edits() -> [String] {
    context.performAndWait {
      let edited = context.updatedObjects.map {
        "\($0.objectID.uriRepresentation()) \($0.changedValues().keys.sorted())"
      }
      return (edited + context.insertedObjects.map { "new \($0.objectID.uriRepresentation())" }).sorted()
    }
  }

  /// The IDs of what is deleted, and of held objects that say so.
  func deleted() -> Set<ManagedObjectID> {
    context.performAndWait {
      Set(context.deletedObjects.map(\.objectID)).union(held.filter(\.isDeleted).map(\.objectID))
    }
  }

  // MARK: Finding

  func book(_ isbn: Int, _ context: ManagedObjectContext? = nil) throws -> ManagedObject {
    try #require(try (context ?? self.context).all("Book", Attribute("isbn") == isbn).first)
  }

  func shelf(_ name: String, _ context: ManagedObjectContext? = nil) throws -> ManagedObject {
    try #require(try (context ?? self.context).all("Shelf", Attribute("name") == name).first)
  }

  func tag(_ name: String, _ context: ManagedObjectContext? = nil) throws -> ManagedObject {
    try #require(try (context ?? self.context).all("Tag", Attribute("name") == name).first)
  }

  /// All books, held, with their rows read.
  @discardableResult
  func holdBooks() throws -> [ManagedObject] {
    let books = try context.all("Book").sorted { $0["isbn"] as? Int64 ?? 0 < $1["isbn"] as? Int64 ?? 0 }
    held += books
    return books
  }

  /// All books, held as faults without rows.
  @discardableResult
  func holdFaults() throws -> [ManagedObject] {
    let ids = try store.fresh { context in
      try context.all("Book").sorted { $0["isbn"] as? Int64 ?? 0 < $1["isbn"] as? Int64 ?? 0 }.map(\.objectID)
    }
    let books = ids.map { context.object(with: $0) }
    held += books
    return books
  }

  /// Another context saves.
  func elsewhere(_ body: (ManagedObjectContext) throws -> Void) throws {
    try store.fresh { context in
      try body(context)
      try context.save()
    }
  }
}

/// Writes down what a list tells.
final class ListListener: FetchedResultsChangeDelegate {
  typealias Result = ManagedObject
  var kinds: [String] = []
  var errors: [any Error] = []

  func controller(
    _ controller: FetchedResultsController<ManagedObject>, didChange object: ManagedObject,
    at indexPath: IndexPath?, for type: FetchedResultsChangeType, newIndexPath: IndexPath?
  ) { kinds.append("\(type)") }

  func controller(_ controller: FetchedResultsController<ManagedObject>, didFailWith error: any Error) {
    errors.append(error)
  }
}
