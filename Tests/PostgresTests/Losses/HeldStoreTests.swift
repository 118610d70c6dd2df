import Foundation
import Strata
import StrataCore
import Testing

@testable import StrataPostgres

/// Somebody holds the store's own table: whoever opens the store or sets its metadata waits no longer than the timeout.
@Suite struct HeldStoreTests {
  /// What `body` throws while another session holds something of the store.
  private func kind(
    _ stand: ServerStand, holding statements: String, _ body: @escaping @Sendable (Duration) throws -> Void
  ) throws -> StorageError.Kind? {
    let holder = try PostgresConnection(
      ServerAddress(stand.url), password: nil, deadline: ContinuousClock.now + .seconds(30))
    try holder.hold(statements)
    let isOver = DispatchSemaphore(value: 0)
    let kind = Mutex<StorageError.Kind?>(nil)
    Thread {
      let found = kindOfError(body)
      kind.withLock { $0 = found }
      isOver.signal()
    }.start()
    let isInTime = isOver.wait(timeout: .now() + 120) == .success
    #expect(isInTime)
    try holder.runText("ROLLBACK")
    if !isInTime { isOver.wait() }
    return kind.withLock { $0 }
  }

  @Test func metadataIsNotWaitedForLongerThanTheTimeout() throws {
    let stand = try ServerStand(Library.make())
    let url = stand.url
    let store = stand.table("strata_store")
    let kind = try kind(stand, holding: "UPDATE \(store) SET metadata = metadata") { timeout in
      var options = PostgresStoreOptions()
      options.timeout = timeout
      try PostgresStores.setMetadata(
        StoreMetadata(values: ["colour": .string("red")]), at: url, options: options)
    }
    #expect(kind == .serverBusy)
    #expect(try PostgresStores.metadata(at: url)["colour"] == nil)
    try PostgresStores.setMetadata(StoreMetadata(values: ["colour": .string("red")]), at: url)
    #expect(try PostgresStores.metadata(at: url)["colour"] == .string("red"))
  }

  @Test func openingWaitsNoLongerThanTheTimeout() throws {
    let stand = try ServerStand(Library.make())
    let url = stand.url
    let store = stand.table("strata_store")
    let kind = try kind(stand, holding: "LOCK TABLE \(store) IN ACCESS EXCLUSIVE MODE") { timeout in
      var options = PostgresStoreOptions()
      options.timeout = timeout
      let coordinator = PersistentStoreCoordinator(managedObjectModel: Library.make())
      try coordinator.addPostgresStore(at: url, options: options)
    }
    #expect(kind == .serverBusy)
    _ = try stand.neighbour(Library.make())
  }
}
