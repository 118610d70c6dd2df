import Foundation
import Strata
import Testing
import TortureKit

/// Indexes that are added while other processes use the store, and by processes that do not live to see them complete.
@Suite(.serialized) struct AddedIndexProcessTests {
  private static let odd = FetchRequest<Note>(
    entityName: "Note", predicate: Attribute("count") >= Int64(100) && Attribute("count") < Int64(500),
    sortDescriptors: [FetchSort("count")])

  /// The store of `url` in this process, with `count` notes in it if it is new.
  private func open(_ folder: TemporaryFolder, notes: Int = 0, rowsPerIndexStep: Int = 50) throws
    -> PersistentStoreCoordinator
  {
    let url = folder.url.appendingPathComponent("Live.strata")
    let coordinator = try LiveModel.open(url, rowsPerIndexStep: rowsPerIndexStep)
    let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    try context.performAndWait {
      for number in 0..<notes {
        let note = Note(context: context)
        (note.title, note.count) = ("note \(number)", Int64(number * 7_919 % 1_000))
      }
      try context.save()
    }
    return coordinator
  }

  private func start(_ folder: TemporaryFolder, _ steps: String...) throws -> ChildProcess {
    try ChildProcess(
      ChildProcess.program("Torture"),
      ["live-writer", folder.url.appendingPathComponent("Live.strata").path] + steps)
  }

  private func close(_ coordinator: PersistentStoreCoordinator) throws {
    for store in coordinator.persistentStores { try coordinator.remove(store) }
  }

  /// The store is sound, and what the index finds is what all rows say.
  private func examine(_ coordinator: PersistentStoreCoordinator, isIndexed: Bool) throws {
    let check = try #require(coordinator.persistentStores[0] as? LMDBStore).check()
    #expect(check.isSound, "\(check.problems)")
    let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    try context.performAndWait {
      // One commit for all questions: others may be saving.
      try context.setQueryGenerationFrom(.current)
      #expect(try context.explain(Self.odd).indexName == (isIndexed ? "Note.byCount" : nil))
      let all = try context.fetch(FetchRequest<Note>(entityName: "Note")).map(\.count)
      #expect(try context.fetch(Self.odd).map(\.count) == all.filter { $0 >= 100 && $0 < 500 }.sorted())
    }
  }

  private func add(_ coordinator: PersistentStoreCoordinator) async throws {
    try await coordinator.addIndex(
      FetchIndexDescription(name: "byCount", attributes: ["count"]), toEntityNamed: "Note",
      in: coordinator.persistentStores[0])
  }

  /// The other process had the store open before, saves on all the while, and knows nothing of the index but what the file says.
  @Test func anotherProcessKeepsItRightWhileItGrowsAndAfterwards() async throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    let coordinator = try open(folder, notes: 1_500)
    let child = try start(folder, "churn-until:done")
    #expect(child.readLine() == "churning")
    try await add(coordinator)
    try examine(coordinator, isIndexed: true)
    let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    // Some more of its saves come after.
    let newest = try context.performAndWait { try self.newest(context) }
    #expect(try await eventually { try context.performAndWait { try self.newest(context) != newest } })
    try context.performAndWait {
      Note(context: context).title = "done"
      try context.save()
    }
    #expect(child.readLines() == ["done churn-until:done"])
    #expect(child.wait() == 0)
    try examine(coordinator, isIndexed: true)
    try close(coordinator)
  }

  /// The notes that churning has left, by their IDs: each of its saves makes one.
  private func newest(_ context: ManagedObjectContext) throws -> [ManagedObjectID] {
    try context.fetch(
      FetchRequest<Note>(entityName: "Note", predicate: Attribute("title") == "churn")
    ).map(\.objectID).sorted { "\($0)" < "\($1)" }
  }

  /// What another process adds is used here from the next fetch on, or the one after: opening it makes no fetch wait.
  @Test func whatAnotherProcessAddsIsUsedHere() async throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    let coordinator = try open(folder, notes: 400)
    try examine(coordinator, isIndexed: false)
    let child = try start(folder, "add-index:100")
    #expect(child.readLines() == ["done add-index:100"])
    #expect(child.wait() == 0)
    let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    let isUsed = try await eventually {
      try await context.perform {
        _ = try context.fetch(Self.odd)
        return try context.explain(Self.odd).indexName == "Note.byCount"
      }
    }
    #expect(isUsed)
    try examine(coordinator, isIndexed: true)
    try close(coordinator)
  }

  /// Killed between two steps: no process uses the half index, every one keeps it up, and the next one that opens the store completes it.
  @Test(arguments: [1, 2, 7, 19]) func whoeverOpensTheStoreNextCompletesIt(steps: Int) async throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    let coordinator = try open(folder, notes: 1_000)
    let child = try start(folder, "die-adding:50:\(steps)")
    _ = child.readLines()
    #expect(child.wait() == 128 + SIGKILL)
    // This process had the store open all along.
    try examine(coordinator, isIndexed: false)
    let names = try coordinator.indexes(in: coordinator.persistentStores[0]).map {
      "\($0.name) \($0.isComplete)"
    }
    #expect(names == ["byCount false"])
    let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    try context.performAndWait {
      for (place, note) in try context.fetch(FetchRequest<Note>(entityName: "Note")).enumerated() {
        if place % 10 == 0 { note.count += 5 }
        if place % 37 == 0 { context.delete(note) }
      }
      try context.save()
    }
    try examine(coordinator, isIndexed: false)
    if steps == 7 {
      // Adding it once more continues where it was left.
      try await add(coordinator)
    } else {
      try close(coordinator)
    }
    let again = steps == 7 ? coordinator : try open(folder)
    try examine(again, isIndexed: true)
    try close(again)
  }

  /// Killed at any moment while it adds the index, beside another that saves.
  ///
  /// `STRATA_INDEX_KILLS=n` sets how often.
  @Test func killedAtAnyMomentItIsThereOrNot() throws {
    let kills = ProcessInfo.processInfo.environment["STRATA_INDEX_KILLS"].flatMap(Int.init) ?? 12
    var (isThere, isNot) = (0, 0)
    for kill in 0..<kills {
      let folder = try TemporaryFolder()
      defer { folder.remove() }
      let coordinator = try open(folder, notes: 1_000)
      let saver = try start(folder, "churn-until:done")
      #expect(saver.readLine() == "churning")
      let builder = try start(folder, "insert:x", "add-index:5")
      #expect(builder.readLine() == "done insert:x")
      usleep(UInt32(kill * 8_000 % 97_000))
      builder.kill()
      let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
      try context.performAndWait {
        Note(context: context).title = "done"
        try context.save()
      }
      #expect(saver.readLines() == ["done churn-until:done"])
      let check = try #require(coordinator.persistentStores[0] as? LMDBStore).check()
      #expect(check.isSound, "\(check.problems)")
      let isAdded = try !coordinator.indexes(in: coordinator.persistentStores[0]).isEmpty
      if isAdded { isThere += 1 } else { isNot += 1 }
      try close(coordinator)
      let again = try open(folder)
      try examine(again, isIndexed: isAdded)
      try close(again)
    }
    print("index kills: \(isThere) left the index behind, \(isNot) came before it")
    #expect(isThere > 0)
  }
}
