import Foundation
import Strata
import Testing

/// Work in the background that saves at its end.
@Suite struct BackgroundTests {
  private struct Stopped: Error {}

  @Test func itSavesAndReturns() async throws {
    let container = try await Library.open()
    let count = try await container.background { context in
      try Library.fill(context)
      Library.make("Another", 1, in: context)
      return try context.count(Book.self)
    }
    #expect(count == 7)
    let stored = try await container.background { try $0.count(Book.self) }
    #expect(stored == 7)
    try await container.background { context in
      _ = Library.make("Nothing returned", 1, in: context)
    }
    #expect(try await container.background { try $0.count(Book.self) } == 8)
  }

  @Test func anErrorRollsBackAndComesOut() async throws {
    let container = try await Library.open()
    let kept = Kept()
    await #expect(throws: Stopped.self) {
      try await container.background { context in
        Library.make("Lost", 1, in: context)
        kept.context = context
        throw Stopped()
      }
    }
    let context = try #require(kept.context)
    #expect(await context.perform { !context.hasChanges })
    #expect(try await container.background { try $0.count(Book.self) } == 0)
  }

  @Test func aSaveThatFailsRollsBack() async throws {
    let container = try await Library.open()
    await #expect(throws: CoreDataError.self) {
      try await container.background { context in
        for _ in 0..<2 { Library.make("Twice", 1, in: context).isbn = "same" }
      }
    }
    #expect(try await container.background { try $0.count(Book.self) } == 0)
    try await container.background(mergePolicy: .mergeByPropertyObjectTrump) { context in
      for _ in 0..<2 { Library.make("Twice", 1, in: context).isbn = "same" }
    }
    #expect(try await container.background { try $0.count(Book.self) } == 1)
  }

  @Test func aCancelledTaskSavesNothing() async throws {
    let container = try await Library.open()
    let before = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await container.background { Library.make("Lost", 1, in: $0).pages }
    }
    await #expect(throws: CancellationError.self) { try await before.value }
    let inside = Task {
      try await container.background { context in
        Library.make("Lost", 1, in: context)
        withUnsafeCurrentTask { $0?.cancel() }
        #expect(throws: CancellationError.self) { try Task.checkCancellation() }
      }
    }
    await #expect(throws: CancellationError.self) { try await inside.value }
    #expect(try await container.background { try $0.count(Book.self) } == 0)
  }

  @Test func beforeStoresAreLoadedItSaysSo() async throws {
    let container = PersistentContainer(name: "Library", model: Library.makeModel())
    let error = await #expect(throws: CoreDataError.self) { try await container.background { _ in } }
    #expect(error.map { "\($0)".contains("loadPersistentStores") } == true)
  }

  private final class Kept: @unchecked Sendable {
    // @unchecked Sendable: written by one task, read when that has ended.
    var context: ManagedObjectContext?
  }
}
