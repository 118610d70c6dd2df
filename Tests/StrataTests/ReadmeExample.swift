import Foundation
import Strata

final class Book: ManagedObject {
  override class var declaredSlots: [String]? { ["title"] }

  var title: String? {
    get { readString(slot: 0) }
    set { write(newValue, slot: 0) }
  }
}

@MainActor func titlesThatBeginWithMiddle(storedAt url: URL) async throws -> [String] {
  let attributes = [AttributeDescription("title", .string)]
  let book = EntityDescription("Book", managedObjectClass: Book.self, properties: attributes)
  let container = PersistentContainer(name: "Library", model: ManagedObjectModel(entities: [book]))
  container.persistentStoreDescriptions = [PersistentStoreDescription(url: url)]
  try await container.loadPersistentStores()
  let novel = Book(context: container.viewContext)
  novel.title = "Middlemarch"
  try container.viewContext.save()
  let middle = FetchRequest<Book>(entityName: "Book", predicate: Attribute("title").beginsWith("Middle"))
  return try container.viewContext.fetch(middle).compactMap(\.title)
}
