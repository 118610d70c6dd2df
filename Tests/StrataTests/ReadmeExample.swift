import Foundation
import Strata

final class Book: ManagedObject {
  var title: String? {
    get { readString(slot: 0) }
    set { write(newValue, slot: 0) }
  }
  var pages: Int64 {
    get { readInt64(slot: 1) }
    set { write(newValue, slot: 1) }
  }
}

@MainActor func titlesOfLongBooks(storedAt url: URL) async throws -> [String] {
  let attributes = [AttributeDescription("title", .string), AttributeDescription("pages", .integer64)]
  let book = EntityDescription("Book", managedObjectClass: Book.self, properties: attributes)
  let container = PersistentContainer(name: "Library", model: ManagedObjectModel(entities: [book]))
  container.persistentStoreDescriptions = [PersistentStoreDescription(url: url)]
  try await container.loadPersistentStores()
  let novel = Book(context: container.viewContext)
  novel.title = "Middlemarch"
  novel.pages = 880
  try container.viewContext.save()
  let long = FetchRequest<Book>(entityName: "Book", predicate: Attribute("pages") > 500)
  return try container.viewContext.fetch(long).compactMap(\.title)
}
