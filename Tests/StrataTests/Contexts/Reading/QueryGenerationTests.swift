import Foundation
import Strata
import Testing

/// Contexts pinned to one commit (section P, rule 168; contexts 14).
struct QueryGenerationTests {
  let store: TemporaryStore
  let context: ManagedObjectContext

  init() throws {
    store = try TemporaryStore()
    context = store.context()
  }

  /// Another context changes everything.
  private func change() throws {
    let other = store.context()
    for entry in try other.entries() { (entry.rating, entry.photo) = (5, Data(repeating: 5, count: 5_000)) }
    Entry.make("later", in: other)
    try other.save()
  }

  @Test("rule 289: unpinned by default; .current pins at the next read, for fetches, counts and faults alike")
  func pinsLazily() throws {
    #expect(context.queryGenerationToken == nil)
    let writer = store.context()
    let first = Entry.make("Bells", in: writer)
    first.photo = Data(repeating: 3, count: 5_000)
    Entry.make("Winki", in: writer)
    try writer.save()
    try context.setQueryGenerationFrom(.current)
    #expect(context.queryGenerationToken == .current)
    try store.save("Gunna")
    #expect(try context.entryCount() == 3, "pinned only here")
    let token = try #require(context.queryGenerationToken)
    #expect(token != .current && token.isAlive)
    try change()
    #expect(try context.entryCount() == 3)
    #expect(try context.entries(Attribute("rating") == 5).isEmpty)
    #expect(try context.entries().map(\.rating) == [3, 3, 3])
    let fault = try #require(context.object(with: first.objectID) as? Entry)
    #expect(fault.rating == 3 && fault.photo == Data(repeating: 3, count: 5_000))
    Entry.make("mine", in: context)
    #expect(try context.entries().map(\.location) == ["Bells", "Gunna", "Winki", "mine"])
    #expect(token.age > .zero)
  }

  @Test("rule 290: a token aligns two contexts, nil unpins")
  func alignsAndUnpins() throws {
    try store.save("Bells")
    try context.setQueryGenerationFrom(.current)
    #expect(try context.entryCount() == 1)
    try change()
    let other = store.context()
    #expect(try other.entryCount() == 2)
    try other.setQueryGenerationFrom(context.queryGenerationToken)
    #expect(try other.entryCount() == 1)
    #expect(other.queryGenerationToken == context.queryGenerationToken)
    try other.setQueryGenerationFrom(nil)
    #expect(try other.entryCount() == 2 && context.entryCount() == 1)
  }

  @Test("rules 291, 292: save, merging and reset move on; objects stay as they are until they are refreshed")
  func movesOn() throws {
    try store.save("Bells")
    let steps: [(String, () throws -> Void)] = [
      ("save", { try context.save() }), ("reset", { context.reset() }),
      ("merge", { context.mergeChanges(fromContextDidSave: Notification(name: .didSave)) }),
    ]
    var count = 1
    for (name, step) in steps {
      try context.setQueryGenerationFrom(.current)
      #expect(try context.entryCount() == count)
      let seen = try context.entry("Bells")
      let rating = seen.rating
      try change()
      count += 1
      #expect(try context.entryCount() == count - 1)
      try step()
      #expect(try context.entryCount() == count, "\(name)")
      #expect(seen.rating == rating)
      if seen.managedObjectContext != nil {
        context.refresh(seen, mergeChanges: true)
        #expect(seen.rating == 5)
      }
      context.reset()
    }
  }

  @Test("a save that writes nothing does not move a context that merges past a batch of another one")
  func nothingWritten() throws {
    try store.save("Bells", "Winki")
    let pinned = store.context(.privateQueue)
    pinned.automaticallyMergesChangesFromParent = true
    func ratings() throws -> [Int16] {
      // What has been handed over to the context's queue comes first.
      try pinned.performAndWait {
        let count = try pinned.count(
          for: FetchRequest<Entry>(entityName: "Entry", predicate: Attribute("rating") == 5))
        return try pinned.entries().map(\.rating) + [Int16(count)]
      }
    }
    try pinned.performAndWait { try pinned.setQueryGenerationFrom(.current) }
    #expect(try ratings() == [3, 3, 0])
    try store.context().execute(
      BatchUpdateRequest(entityName: "Entry", propertiesToUpdate: ["rating": 5]))
    #expect(try ratings() == [3, 3, 0])
    let same = try context.entry("Bells")
    same.rating = 5
    #expect(context.hasChanges)
    try context.save()
    #expect(try ratings() == [3, 3, 0])
    same.rating = 4
    try context.save()
    pinned.performAndWait { pinned.refreshAllObjects() }
    #expect(try ratings() == [4, 5, 1], "what writes something moves it on")
  }

  @Test("rule 293: saving compares with the store, not with the generation")
  func savingLooksAtTheStore() throws {
    try store.save("Bells")
    try context.setQueryGenerationFrom(.current)
    let mine = try context.entry("Bells")
    mine.rating = 1
    try change()
    #expect(throws: CoreDataError.self) { try context.save() }
    context.mergePolicy = .mergeByPropertyObjectTrump
    try context.save()
    #expect(try store.savedEntries() == ["Bells 1", "later 3"])
  }

  @Test("rule 168: contexts above read the generation of the one below, and have none of their own")
  func children() throws {
    try store.save("Bells")
    try context.setQueryGenerationFrom(.current)
    let child = ManagedObjectContext(.privateQueue, parent: context)
    #expect(try child.performAndWait { try child.entryCount() } == 1)
    try change()
    #expect(try child.performAndWait { try child.entryCount() } == 1)
    child.performAndWait {
      #expect(child.queryGenerationToken == nil)
      #expect(throws: CoreDataError.self) { try child.setQueryGenerationFrom(.current) }
    }
    try context.setQueryGenerationFrom(nil)
    #expect(try child.performAndWait { try child.entryCount() } == 2)
  }

  @Test("rule 294: a store added later is not part of an older generation")
  func aStoreAddedLater() throws {
    try store.save("Bells")
    try context.setQueryGenerationFrom(.current)
    #expect(try context.entryCount() == 1)
    try store.coordinator.addPersistentStore(
      PersistentStoreDescription(url: store.folderURL.appendingPathComponent("Second.strata")))
    let second = store.coordinator.persistentStores[1]
    let writer = store.context()
    try writer.assign(Entry.make("Winki", in: writer), to: second)
    try writer.save()
    #expect(try writer.entryCount() == 2)
    #expect(try context.entryCount() == 1)
    try context.setQueryGenerationFrom(.current)
    #expect(try context.entryCount() == 2)
  }

  @Test("rule 296: a generation ends after the coordinator's limit; reading it says so, pinning again helps")
  func aGenerationEnds() async throws {
    try store.save("Bells")
    store.coordinator.queryGenerationLimit = .milliseconds(50)
    let context = store.context(.privateQueue)
    let token = try await context.perform {
      try context.setQueryGenerationFrom(.current)
      // On a busy machine the generation may be over before this is through.
      _ = try? context.entryCount()
      return context.queryGenerationToken
    }
    for _ in 0..<60_000 where token?.isAlive == true { try await Task.sleep(for: .milliseconds(5)) }
    #expect(token?.isAlive == false)
    await #expect(throws: CoreDataError.self) { try await context.perform { try context.entryCount() } }
    store.coordinator.queryGenerationLimit = .seconds(600)
    let count = try await context.perform {
      try context.setQueryGenerationFrom(.current)
      return try context.entryCount()
    }
    #expect(count == 1)
  }

  @Test("rule 296: letting go of a generation lets the store use its space again")
  func spaceIsUsedAgain() throws {
    func size() throws -> Int {
      try store.url.resourceValues(forKeys: [.fileSizeKey]).fileSize ?? 0
    }
    let writer = store.context()
    let entry = Entry.make("Bells", in: writer)
    func write(_ times: Int) throws {
      for number in 0..<times {
        entry.photo = Data(repeating: UInt8(truncatingIfNeeded: number), count: 100_000)
        try writer.save()
      }
    }
    try write(20)
    let before = try size()
    try write(20)
    let free = try size() - before
    try context.setQueryGenerationFrom(.current)
    #expect(try context.entryCount() == 1)
    // The log of small saves keeps some megabytes by itself, from one checkpoint to the next.
    try write(120)
    let pinned = try size() - before - free
    #expect(pinned > 6_000_000, "a pinned commit keeps what was replaced since")
    try context.setQueryGenerationFrom(nil)
    let grown = try size()
    try write(120)
    #expect(try size() - grown < pinned / 4)
  }
}
