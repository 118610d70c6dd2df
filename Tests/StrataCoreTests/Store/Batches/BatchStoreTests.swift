import Foundation
import Testing

@_spi(Testing) @testable import StrataCore

/// Batches and the file below them.
struct BatchStoreTests {
  /// A stack on a store whose map is small and has to grow.
  private func stack(_ folder: URL) throws -> (PersistentStoreCoordinator, LMDBStore) {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: StoreFixture.model())
    var options = LMDBStoreOptions.scratch
    options.mapSize = 1 << 20
    let store = try LMDBStore(
      url: folder.appendingPathComponent("Small.strata"), schema: coordinator.requireSchema(),
      options: options)
    try coordinator.attach(store)
    return (coordinator, store)
  }

  @Test("a batch that outgrows the map begins again, and every row is there once")
  func growth() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("strata-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let (coordinator, store) = try stack(folder)
    let context = ManagedObjectContext(.confinement, coordinator: coordinator)
    var number = 0
    let text = String(repeating: "x", count: 200)
    var insert = BatchInsertRequest(entityName: "Item") { (values: inout [String: Any]) in
      values = ["i64": number, "s": "\(number)\(text)", "code": "\(number)"]
      number += 1
      return number > 6_000
    }
    insert.step = 500
    #expect(try context.execute(insert).count == 6_000)
    #expect(number == 6_001)
    #expect(insert.progress.completedCount == 6_000)
    var update = BatchUpdateRequest(
      entityName: "Item",
      propertiesToUpdate: ["t": text, "i64": FetchExpression.function(.add, [.key("i64"), .constant(1)])])
    update.step = 500
    #expect(try context.execute(update).count == 6_000)
    let sum = try context.fetch(FetchRequest<ManagedObject>(entityName: "Item")).reduce(Int64(0)) {
      $0 + ($1.value(forKey: "i64") as? Int64 ?? 0)
    }
    #expect(sum == (1...6_000).reduce(Int64(0)) { $0 + Int64($1) })
    #expect(try store.check().problems == [])
    let delete = BatchDeleteRequest(
      fetchRequest: FetchRequest<ManagedObject>(entityName: "Item", predicate: Attribute("i64") > 10))
    #expect(try context.execute(delete).count == 5_990)
    #expect(try store.check().problems == [])
    try coordinator.remove(store)
  }

  @Test("a batch that is cancelled while it writes leaves nothing behind")
  func cancelledWhileWriting() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("strata-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let (coordinator, store) = try stack(folder)
    let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    // On a busy machine a small batch may be done before the thread that cancels it has had its turn.
    for count in [5_000, 50_000, 500_000] {
      let progress = BatchProgress()
      Thread.detachNewThread {
        while progress.completedCount < 10 { usleep(50) }
        progress.cancel()
      }
      let left: Int? = try await context.perform {
        var request = BatchInsertRequest(
          entityName: "Place", objects: (0..<count).map { ["name": "\($0)", "x": $0] })
        request.step = 1
        request.progress = progress
        let places = FetchRequest<ManagedObject>(entityName: "Place")
        do {
          _ = try context.execute(request)
          _ = try context.execute(BatchDeleteRequest(fetchRequest: places))
          return nil
        } catch is CancellationError { return try context.count(for: places) }
      }
      guard let left else { continue }
      #expect(left == 0 && progress.completedCount >= 10 && progress.totalCount == count)
      #expect(try store.check().problems == [])
      return try coordinator.remove(store)
    }
    Issue.record("no batch was cancelled in time")
    #expect(try store.check().problems == [])
    try coordinator.remove(store)
  }

  @Test("progress is reported on the queue of the executing context, while it waits")
  func reports() throws {
    let fixture = try StoreFixture()
    let coordinator = PersistentStoreCoordinator(managedObjectModel: StoreFixture.model())
    try coordinator.attach(
      try LMDBStore(
        url: fixture.directory.appendingPathComponent("Other.strata"), schema: coordinator.requireSchema(),
        options: .scratch))
    let context = ManagedObjectContext(.confinement, coordinator: coordinator)
    // Another process holds the store until it has been reported that nothing arrived.
    let store = try #require(coordinator.persistentStores.first as? LMDBStore)
    // Keys are at hand: reserving some would wait for the other process too, and tells nothing.
    for hierarchy in store.parts.schema.hierarchies {
      _ = try store.makePrimaryKey(hierarchy: hierarchy.number)
    }
    let gate = DispatchSemaphore(value: 0)
    store.parts.environment.submitWrite { _ in
      gate.wait()
    } completion: { _ in
    }
    let thread = SystemThread.current
    var request = BatchInsertRequest(entityName: "Place", objects: [["name": "a"]])
    request.progress = BatchProgress { progress in
      #expect(SystemThread.current == thread)
      #expect(progress.completedCount == 0)
      gate.signal()
    }
    #expect(try context.execute(request).count == 1)
    for store in coordinator.persistentStores { try coordinator.remove(store) }
  }
}
