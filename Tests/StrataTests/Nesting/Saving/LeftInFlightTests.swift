import Foundation
import Strata
import Testing

/// A context without children leaves what it is saving, and the store refuses the save: nothing of that is seen again.
struct LeftInFlightTests {
  /// All entries of a new child of `context`, and then its own, as “location rating”.
  private func seen(_ context: ManagedObjectContext) throws -> [[String]] {
    func entries(_ context: ManagedObjectContext) throws -> [String] {
      try context.performAndWait {
        try context.entries().map { "\($0.location ?? "nil") \($0.rating)" }
      }
    }
    // The child is the first one: what the context had captured for it would become rows now.
    let child = ManagedObjectContext(.privateQueue, parent: context)
    return [try entries(child), try entries(context)]
  }

  /// Another context saves an edit of each entry.
  private func rate(_ rating: Int16, in store: TemporaryStore) throws {
    let other = store.context()
    for entry in try other.entries() { entry.rating = rating }
    try other.save()
  }

  /// `context` edits Bells and makes another entry, and leaves both by `leaving` while they are being saved. The save is refused.
  private func leave(
    _ context: ManagedObjectContext, of store: TemporaryStore, behind gate: StoreGate,
    by leaving: @Sendable (ManagedObjectContext) -> Void
  ) async throws {
    try store.save("Bells")
    try context.performAndWait {
      try context.entry("Bells").rating = 5
      Entry.make("Ghost", in: context)
    }
    try rate(1, in: store)
    gate.close()
    let saving = Task { try await context.saveAsynchronously() }
    await gate.isReached()
    context.performAndWait { leaving(context) }
    gate.open()
    let result = await saving.result
    #expect(throws: CoreDataError.self, "the store has refused it") { try result.get() }
    context.performAndWait { #expect(!context.hasChanges) }
  }

  @Test(
    "reset() while a save is under way that the store refuses: neither a first child nor the context sees the edits"
  )
  func reset() async throws {
    let gate = StoreGate()
    let store = try TemporaryStore(behind: gate)
    let context = store.context(.privateQueue)
    try await leave(context, of: store, behind: gate) { $0.reset() }
    #expect(try seen(context) == [["Bells 1"], ["Bells 1"]])
    try context.performAndWait {
      #expect(!context.hasChanges)
      try context.entry("Bells").rating = 4
      try context.save()
    }
    #expect(try store.savedEntries() == ["Bells 4"])
  }

  @Test(
    "a context that has gone to another coordinator meanwhile shows that one's objects, also when the first one is gone",
    arguments: [false, true])
  func otherCoordinator(isFirstGone: Bool) async throws {
    let context = ManagedObjectContext(.privateQueue)
    weak var coordinator: PersistentStoreCoordinator?
    var first: TemporaryStore?
    do {
      let gate = StoreGate()
      let store = try TemporaryStore(behind: gate)
      context.performAndWait { context.persistentStoreCoordinator = store.coordinator }
      // Leaving waits for the save.
      try await leave(context, of: store, behind: gate) {
        gate.openSoon()
        $0.persistentStoreCoordinator = nil
      }
      coordinator = store.coordinator
      if !isFirstGone { first = store }
    }
    if isFirstGone {
      for _ in 0..<60_000 where coordinator != nil { try await Task.sleep(for: .milliseconds(5)) }
      #expect(coordinator == nil)
    }
    // The same model: its first entry is at the place of the other store's.
    let second = try TemporaryStore()
    try second.save("Winki")
    context.performAndWait { context.persistentStoreCoordinator = second.coordinator }
    #expect(try seen(context) == [["Winki 3"], ["Winki 3"]])
    try context.performAndWait {
      #expect(!context.hasChanges)
      try context.save()
    }
    #expect(try second.savedEntries() == ["Winki 3"])
    if let first { #expect(try first.savedEntries() == ["Bells 1"]) }
  }
}
