import CoreDataCombine
import Testing

final class Paperback: NSManagedObject {
  @NSManaged var title: String?
  @NSManaged var subtitle: String?
  @NSManaged var pages: Int64
  @NSManaged var mark: String?
  @NSManaged var author: Novelist?
  @NSManaged var shelves: NSSet?

  var heading: String { [title, subtitle].compactMap { $0 }.joined(separator: ": ") }
}

final class Novelist: NSManagedObject {
  @NSManaged var name: String?
  @NSManaged var books: Set<Paperback>
}

final class Rack: NSManagedObject {
  @NSManaged var room: String?
  @NSManaged var books: NSSet?
  @NSManaged func addToBooks(_ book: Paperback)
  @NSManaged func removeFromBooks(_ book: Paperback)
}

/// A store in memory, and two contexts that merge what the other one saves.
struct Library {
  let context: NSManagedObjectContext
  let sibling: NSManagedObjectContext

  init() throws {
    let url = try #require(Bundle.module.url(forResource: "Library", withExtension: "xcdatamodeld"))
    let model = try #require(NSManagedObjectModel(contentsOf: url))
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(
      ofType: NSInMemoryStoreType, configurationName: nil, at: nil, options: nil)
    func make() -> NSManagedObjectContext {
      let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
      context.persistentStoreCoordinator = coordinator
      return context
    }
    context = make()
    sibling = make()
    context.automaticallyMergesChangesFromParent = true
  }

  /// Runs `body` with a saved book in the context.
  func withBook(_ body: (Paperback, NSManagedObjectContext) throws -> Void) throws {
    try context.performAndWait {
      let book = Paperback(context: context)
      book.title = "Emma"
      book.pages = 474
      try context.save()
      try body(book, context)
    }
  }

  /// Changes the record of a book in the other context, and saves.
  func changeElsewhere(_ identifier: NSManagedObjectID, _ body: (Paperback) throws -> Void) throws {
    try sibling.performAndWait {
      sibling.refreshAllObjects()
      let book = try #require(try sibling.existingObject(with: identifier) as? Paperback)
      try body(book)
      try sibling.save()
    }
  }
}

/// What has come, in order.
final class Received<Value> {
  var values: [Value] = []
  func take() -> [Value] {
    defer { values = [] }
    return values
  }
}
