import Foundation
import Strata
import Testing
import TortureKit

/// Stores whose files get shorter while contexts of this process and others use them.
@Suite(.serialized) struct CompactedStoreTests {
  /// A store of which most was deleted.
  private func open(
    _ folder: TemporaryFolder, _ change: @escaping (inout PersistentStoreDescription) -> Void = { _ in }
  ) throws -> PersistentStoreCoordinator {
    let coordinator = try LiveModel.open(url(folder)) { description in
      description.recordsHistory = true
      change(&description)
    }
    let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    try context.performAndWait {
      for number in 0..<6_000 {
        let note = Note(context: context)
        (note.title, note.count) = (String(repeating: "note \(number) ", count: 30), Int64(number))
      }
      try context.save()
      for note in try context.fetch(FetchRequest<Note>(entityName: "Note")) where note.count % 100 != 0 {
        context.delete(note)
      }
      try context.save()
      // A view of the very commit that has freed pages keeps them.
      try context.fetch(FetchRequest<Note>(entityName: "Note", fetchLimit: 1)).first?.title = "changed"
      try context.save()
    }
    return coordinator
  }

  private func url(_ folder: TemporaryFolder) -> URL { folder.url.appendingPathComponent("Live.strata") }

  private func size(_ folder: TemporaryFolder) throws -> Int {
    try #require(try FileManager.default.attributesOfItem(atPath: url(folder).path)[.size] as? Int)
  }

  private func close(_ coordinator: PersistentStoreCoordinator) throws {
    for store in coordinator.persistentStores { try coordinator.remove(store) }
  }

  private func counts(_ context: ManagedObjectContext) throws -> [Int64] {
    try context.performAndWait {
      try context.fetch(FetchRequest<Note>(entityName: "Note", sortDescriptors: [FetchSort("count")])).map(
        \.count)
    }
  }

  @Test func identifiersTokensAndGenerationsStay() async throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    let coordinator = try open(folder)
    let store = try #require(coordinator.persistentStores[0] as? LMDBStore)
    let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    let pinned = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    let id = try context.performAndWait {
      let request = FetchRequest<Note>(entityName: "Note", predicate: Attribute("count") == Int64(500))
      return try #require(try context.fetch(request).first).objectID
    }
    try pinned.performAndWait { try pinned.setQueryGenerationFrom(.current) }
    // The first read takes the generation.
    _ = try counts(pinned)
    let token = try #require(try coordinator.currentHistoryToken())
    try context.performAndWait {
      let note = Note(context: context)
      (note.title, note.count) = ("after the generation", 7)
      try context.save()
    }
    let (before, free) = (try size(folder), try store.statistics().freeBytes)
    #expect(free > before / 2)
    try await coordinator.compact(store)

    let expected = (0..<60).map { Int64($0 * 100) }
    #expect(try counts(pinned) == expected)
    #expect(try counts(context) == [0, 7] + expected.dropFirst())
    try pinned.performAndWait { try pinned.setQueryGenerationFrom(nil) }
    let report = try await coordinator.compact(store)
    #expect(try size(folder) == report.size)
    #expect(report.size < before / 4, "\(report)")
    let figures = try store.statistics()
    #expect(figures.freeBytes < free / 4)
    #expect(figures.usedBytes + figures.freeBytes == figures.fileSize)

    try context.performAndWait {
      let note = try context.existingObject(with: id) as? Note
      #expect(note?.count == 500)
    }
    let history = try coordinator.historyCount(after: token)
    #expect(history == 1)
    #expect(try store.check().isSound)
    // Closed and opened again.
    try close(coordinator)
    let again = try LiveModel.open(url(folder))
    #expect(
      try counts(ManagedObjectContext(.privateQueue, coordinator: again)) == [0, 7] + expected.dropFirst())
    try close(again)
  }

  @Test func anotherProcessGoesOnSavingAndReading() async throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    let coordinator = try open(folder)
    let store = try #require(coordinator.persistentStores[0] as? LMDBStore)
    let child = try ChildProcess(
      ChildProcess.program("Torture"), ["live-writer", url(folder).path, "churn-until:done"])
    #expect(child.readLine() == "churning")
    let before = try size(folder)
    _ = try await coordinator.compact(store)
    let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    let number = try store.commitNumber()
    #expect(try await eventually { try store.commitNumber() > number + 3 })
    try context.performAndWait {
      Note(context: context).title = "done"
      try context.save()
    }
    #expect(child.readLines() == ["done churn-until:done"])
    #expect(child.wait() == 0)
    // What its log has kept is free now.
    let report = try await coordinator.compact(store)
    #expect(report.size <= before / 2, "\(report)")
    #expect(try store.check().isSound)
    try close(coordinator)
  }

  @Test func aCancelledTaskLeavesAWholeStore() async throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    let coordinator = try open(folder)
    let store = try #require(coordinator.persistentStores[0] as? LMDBStore)
    let task = Task { try await coordinator.compact(store) }
    task.cancel()
    await #expect(throws: CancellationError.self) { _ = try await task.value }
    #expect(try store.check().isSound)
    #expect(try await coordinator.compact(store).size < 1 << 20)
    try close(coordinator)
  }

  @Test func storesOfOthersAreRefused() async throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    let coordinator = try open(folder)
    let other = try LiveModel.open(folder.url.appendingPathComponent("Other.strata"))
    await #expect(throws: CoreDataError.self) {
      _ = try await coordinator.compact(other.persistentStores[0])
    }
    try close(coordinator)
    try close(other)
  }

  @Test func aContainerCompactsItsStoresAlsoThoseInMemory() async throws {
    let container = PersistentContainer(name: "Live", model: LiveModel.make())
    container.persistentStoreDescriptions = [.inMemory]
    try await container.loadPersistentStores()
    let context = container.newBackgroundContext()
    try await context.perform {
      for number in 0..<4_000 {
        Note(context: context).title = String(repeating: "note \(number) ", count: 30)
      }
      try context.save()
      for note in try context.fetch(FetchRequest<Note>(entityName: "Note")) { context.delete(note) }
      try context.save()
    }
    let reports = try await container.compact()
    #expect(reports.count == 1)
    #expect(reports[0].size < reports[0].sizeBefore / 4, "\(reports)")
  }

  @Test func aStoreIsCompactedByItself() async throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    let coordinator = try LiveModel.open(url(folder)) { $0.compactsAutomatically = true }
    let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    try await context.perform {
      for number in 0..<3_000 {
        Note(context: context).title = String(repeating: "note \(number) ", count: 500)
      }
      try context.save()
    }
    let before = try size(folder)
    try #require(before > 16 << 20)
    try await context.perform {
      for note in try context.fetch(FetchRequest<Note>(entityName: "Note")) { context.delete(note) }
      try context.save()
    }
    #expect(try await eventually { try size(folder) < before / 8 })
    let store = try #require(coordinator.persistentStores[0] as? LMDBStore)
    #expect(try store.check().isSound)
    try close(coordinator)
  }
}

extension PersistentStoreCoordinator {
  fileprivate func historyCount(after token: PersistentHistoryToken) throws -> Int {
    var count = 0
    try forEachHistoryTransaction(.fetchHistory(after: token)) { _ in
      count += 1
      return true
    }
    return count
  }
}
