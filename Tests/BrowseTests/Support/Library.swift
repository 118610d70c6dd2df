import Foundation
import Strata
import TortureKit

/// A store of books and authors, in a folder of its own.
final class Library {
  let folder: ScratchFolder
  let path: String
  let coordinator: PersistentStoreCoordinator

  /// The smallest picture there is: one pixel.
  static let picture =
    Data(
      base64Encoded:
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=")
    ?? Data()

  /// Two pixels beside each other.
  static let widePicture =
    Data(
      base64Encoded:
        "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAAAAADRSSBWAAAAC0lEQVR42mNg+A8AAQIBANEay48AAAAASUVORK5CYII=")
    ?? Data()

  static func model(isOrdered: Bool = false) -> ManagedObjectModel {
    let author = EntityDescription("Author")
    let book = EntityDescription("Book")
    let shelf = EntityDescription("Shelf")
    let books = RelationshipDescription("books", to: book, maxCount: 0)
    let own = RelationshipDescription("author", to: author, maxCount: 1)
    books.isOrdered = isOrdered
    books.inverseRelationship = own
    own.inverseRelationship = books
    let title = AttributeDescription("title", .string, isOptional: false, rules: [.maximumLength(40)])
    author.properties = [
      AttributeDescription("name", .string, isOptional: false), AttributeDescription("born", .integer16),
      AttributeDescription("portrait", .binaryData), books,
    ]
    author.uniquenessConstraints = [["name"]]
    book.properties = [
      title, AttributeDescription("year", .integer16), AttributeDescription("price", .decimal),
      AttributeDescription("printed", .date), own,
    ]
    book.indexes = [FetchIndexDescription(name: "byYear", attributes: ["year"])]
    // Without an inverse: what leads there can be followed all the same.
    shelf.properties = [
      AttributeDescription("room", .string), RelationshipDescription("first", to: book, maxCount: 1),
    ]
    return ManagedObjectModel(entities: [author, book, shelf])
  }

  /// - Parameters:
  ///   - count: How many books there are; book number n is of the year 1900 + n % 100.
  ///   - isOrdered: Whether the books of an author have an order.
  init(books count: Int = 3, recordsHistory: Bool = false, isOrdered: Bool = false) throws {
    folder = try ScratchFolder()
    path = folder("Library.strata")
    coordinator = PersistentStoreCoordinator(managedObjectModel: Library.model(isOrdered: isOrdered))
    var description = PersistentStoreDescription(url: URL(fileURLWithPath: path))
    description.recordsHistory = recordsHistory
    try coordinator.addPersistentStore(description)
    try edit(author: "Ann") { context in
      let authors = [
        self.make("Author", ["name": "Ursula", "born": 1929, "portrait": Self.picture], context),
        self.make(
          "Author", ["name": "<b>Tom</b>", "portrait": Data("A note,\nin two lines.".utf8)], context),
        self.make("Author", ["name": "Aiko", "portrait": Data((0..<600).map { UInt8($0 & 255) })], context),
      ]
      var first: ManagedObject?
      for number in 1...count {
        let book = self.make("Book", ["title": "Book \(number)", "year": 1900 + number % 100], context)
        book.setValue(authors[number % 3], forKey: "author")
        first = first ?? book
      }
      self.make("Shelf", ["room": "Attic"], context).setValue(first, forKey: "first")
    }
  }

  @discardableResult
  func make(_ entity: String, _ values: [String: Any], _ context: ManagedObjectContext) -> ManagedObject {
    // The model has the entity: the test says so.
    let object = ManagedObject(
      entity: coordinator.managedObjectModel.entitiesByName[entity]!, insertInto: context)
    for (key, value) in values { object.setValue(value, forKey: key) }
    return object
  }

  func edit(author: String? = nil, _ body: (ManagedObjectContext) throws -> Void) throws {
    let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    context.transactionAuthor = author
    try context.performAndWait {
      try body(context)
      try context.save()
    }
  }

  /// The objects of an entity that satisfy a condition, in another context.
  func values(_ entity: String, _ key: String, where condition: String? = nil) throws -> [String] {
    let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    return try context.performAndWait {
      var request = FetchRequest<ManagedObject>(entityName: entity)
      if let condition { request.predicate = try FetchPredicate(format: condition) }
      return try context.fetch(request).map { $0.value(forKey: key).map { "\($0)" } ?? "nil" }.sorted()
    }
  }

  func close() throws { for store in coordinator.persistentStores { try coordinator.remove(store) } }
}
