import SwiftData
import Testing

@ModelActor
actor Librarian {
  func add(_ title: String) throws -> PersistentIdentifier {
    let book = Book(title)
    modelContext.insert(book)
    try modelContext.save()
    return book.persistentModelID
  }
  func title(of id: PersistentIdentifier) -> String? { self[id, as: Book.self]?.title }
  func isAuthor(_ id: PersistentIdentifier) -> Bool { self[id, as: Author.self] != nil }
  func rename(_ id: PersistentIdentifier, _ title: String) throws {
    self[id, as: Book.self]?.title = title
    try modelContext.save()
  }
  func isOnMainThread() -> Bool { Thread.isMainThread }
  func identity() -> ObjectIdentifier { ObjectIdentifier(modelContext) }
}

@Suite("Actors")
struct ActorTests {
  @Test("S77, S79: a model actor has a context of its own, and models are passed as identifiers")
  func ownContext() async throws {
    let container = try makeContainer()
    let librarian = Librarian(modelContainer: container)
    let id = try await librarian.add("One")
    #expect(await librarian.title(of: id) == "One")
    #expect(await librarian.isAuthor(id) == false)
    #expect(await librarian.identity() == librarian.identity())
    let context = ModelContext(container)
    let book = try #require(context.model(for: id) as? Book)
    context.delete(book)
    try context.save()
    #expect(await librarian.title(of: id) == nil)
  }

  @Test("S78: an actor's jobs never run on the main thread")
  @MainActor func offTheMainThread() async throws {
    let librarian = Librarian(modelContainer: try makeContainer())
    #expect(await librarian.isOnMainThread() == false)
  }

  @Test("S80, D5: what an actor saves, the main context shows")
  @MainActor func mainContextFollows() async throws {
    let container = try makeContainer()
    let librarian = Librarian(modelContainer: container)
    let id = try await librarian.add("One")
    let book = try #require(container.mainContext.fetch(FetchDescriptor<Book>()).first)
    #expect(book.title == "One")
    try await librarian.rename(id, "Two")
    try await turnsOfMainQueue(until: { book.title == "Two" })
    #expect(book.title == "Two")
  }

  @Test("S77: contexts, actors and the main context work on one store at once")
  func together() async throws {
    let container = try makeContainer()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for worker in 0..<4 {
        group.addTask {
          let librarian = Librarian(modelContainer: container)
          for number in 0..<25 { _ = try await librarian.add("\(worker) \(number)") }
        }
      }
      try await group.waitForAll()
    }
    #expect(try ModelContext(container).fetchCount(FetchDescriptor<Book>()) == 100)
  }
}
