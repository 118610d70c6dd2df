import Foundation
import Strata
import StrataCore
import Testing

@testable import StrataPostgres

/// States of a store that are pinned.
@Suite struct PinnedTests {
  @Test func aFetchThatIsStoppedLeavesThePinnedStateInUse() throws {
    let stand = try ServerStand(Library.make())
    let context = stand.context()
    let subject = try #require(stand.coordinator.managedObjectModel.entitiesByName["Subject"])
    for name in ["a", "b", "c"] {
      ManagedObject(entity: subject, insertInto: context).setValue(name, forKey: "name")
    }
    try context.save()
    let snapshot = try #require(try stand.store.makeSnapshot())
    defer { snapshot.release() }
    // The server cannot decide it: rows come through a cursor.
    let request = try FetchRequest<ManagedObjectID>(
      entityName: "Subject", predicate: FetchPredicate(format: "name MATCHES '[ab]'"))
    var resolved = try ResolvedFetchRequest(request, schema: stand.store.mapping.schema)
    let monitor = FetchMonitor()
    monitor.stop()
    resolved.monitor = monitor
    #expect(throws: CancellationError.self) { try snapshot.fetch(resolved, mode: .rows) }
    resolved.monitor = nil
    #expect(try snapshot.fetch(resolved, mode: .rows).count == 2)
    #expect(try snapshot.fetch(resolved, mode: .identifiers).count == 2)
  }

  /// The server has no room for what this role sorts: a statement of the pinned transaction fails, and no other.
  @Test func aStatementThatTheServerRefusesLeavesThePinnedStateInUse() throws {
    let stand = try ServerStand(Library.make())
    let context = stand.context()
    for number in 0..<3_000 {
      try context.make("Subject", ["name": "\(number) \(String(repeating: "x", count: 80))"])
    }
    try context.save()
    let role = "narrow_" + UUID().uuidString.prefix(8).lowercased()
    try stand.sql(
      "CREATE ROLE \(role) LOGIN SUPERUSER; ALTER ROLE \(role) SET temp_file_limit = 0; ALTER ROLE \(role) SET work_mem = '64kB'"
    )
    defer { _ = try? stand.sql("DROP ROLE \(role)") }
    var components = try #require(URLComponents(url: stand.url, resolvingAgainstBaseURL: false))
    components.queryItems = components.queryItems?.map {
      $0.name == "user" ? URLQueryItem(name: "user", value: role) : $0
    }
    let other = try ServerStand(Library.make(), url: components.url)
    let pinned = other.context()
    try pinned.setQueryGenerationFrom(.current)
    #expect(try pinned.all("Subject").count == 3_000)
    for _ in 0..<2 {
      let error = #expect(throws: StorageError.self) { try pinned.all("Subject", by: "name") }
      #expect(error?.kind == .serverBusy)
    }
    try context.make("Subject", ["name": "late"])
    try context.save()
    #expect(try pinned.all("Subject").count == 3_000)
    #expect(try other.context().all("Subject").count == 3_001)
    for store in other.coordinator.persistentStores { try other.coordinator.remove(store) }
  }

  /// The session that the state is read through has prepared the statement for the type that the column has had.
  @Test func aColumnThatGotAnotherTypeBeforeItWasPinnedIsReadOnceMore() throws {
    let stand = try ServerStand(Library.make())
    let context = stand.context()
    try context.make("Subject", ["name": "first"])
    try context.save()
    #expect(try stand.context().texts("Subject", "name") == ["first"])
    try stand.sql(
      "ALTER TABLE \(stand.table("subject")) ALTER COLUMN name TYPE varchar(100) COLLATE \"C\"")
    let pinned = stand.context()
    try pinned.setQueryGenerationFrom(.current)
    #expect(try pinned.texts("Subject", "name") == ["first"])
    // The state is in use still.
    try context.make("Subject", ["name": "late"])
    try context.save()
    #expect(try pinned.texts("Subject", "name") == ["first"])
  }

  @Test(
    "rules 221, 293: a pinned context deletes what others have related something to since",
    arguments: [
      MergePolicyType.mergeByPropertyObjectTrump, .mergeByPropertyStoreTrump, .overwrite, .rollback,
    ], [false, true])
  func aPinnedDeletionTakesHoldOfNewcomers(policy: MergePolicyType, isRead: Bool) throws {
    let stand = try ServerStand(Library.make())
    let writer = stand.context()
    let (stays, goes) = (
      try writer.make("Book", ["title": "Emma"]), try writer.make("Book", ["title": "Persuasion"])
    )
    let (shelf, author) = (
      try writer.make("Shelf", ["room": "hall"]), try writer.make("Author", ["name": "Jane"])
    )
    try writer.save()
    let pinned = stand.context()
    pinned.mergePolicy = MergePolicy(merge: policy)
    try pinned.setQueryGenerationFrom(.current)
    let ends = try pinned.all("Shelf") + pinned.all("Author")
    let known = try pinned.all("Book")
    if isRead { #expect(known.allSatisfy { $0.value(forKey: "shelf") == nil }) }
    stays.setValue(shelf, forKey: "shelf")
    goes.setValue(author, forKey: "author")
    try writer.save()
    for end in ends { pinned.delete(end) }
    try withExtendedLifetime(known) { try pinned.save() }
    let fresh = stand.context()
    #expect(try fresh.texts("Book", "title") == ["Emma"])
    #expect(try fresh.all("Book").allSatisfy { $0.value(forKey: "shelf") == nil })
    #expect(try fresh.all("Shelf").isEmpty && fresh.all("Author").isEmpty)
  }

  @Test func noMoreThanTheirShareOfTheConnectionsArePinnedAtOnce() throws {
    var options = PostgresStoreOptions()
    options.maximumConnections = 6
    let stand = try ServerStand(Library.make(), options: options)
    for _ in 0..<10 {
      let snapshots = Mutex<[any StoreSnapshot]>([])
      DispatchQueue.concurrentPerform(iterations: 8) { _ in
        do {
          if let snapshot = try stand.store.makeSnapshot() { snapshots.withLock { $0.append(snapshot) } }
        } catch { Issue.record(error) }
      }
      #expect((1...2).contains(snapshots.withLock { $0.count }))
      for snapshot in snapshots.withLock({ $0 }) { snapshot.release() }
      // They may be lent again only when they are back.
      stand.store.pool.dropIdle()
    }
  }
}
