import Foundation
import Strata
import StrataCore
import Testing

@testable import StrataPostgres

/// Servers that have no connection to spare, or take no changes.
///
/// One after the other: each grants something on the database, which the server refuses to two at once.
@Suite(.serialized) struct BusyServerTests {
  /// A role of its own, which owns what it makes.
  private func makeRole(_ options: String = "") throws -> String {
    let role = "role_" + TestServer.freshNamespace()
    let administrator = try connection(TestServer.required().url("none"))
    try administrator.runText("CREATE ROLE \(role) LOGIN \(options)")
    try administrator.runText("GRANT CREATE ON DATABASE postgres TO \(role)")
    return role
  }

  /// The address of a new namespace for the role.
  private func address(_ role: String) throws -> URL {
    var components = try #require(
      URLComponents(
        url: TestServer.required().url(TestServer.freshNamespace()), resolvingAgainstBaseURL: true))
    components.queryItems = components.queryItems?.map {
      $0.name == "user" ? URLQueryItem(name: "user", value: role) : $0
    }
    return try #require(components.url)
  }

  /// A connection beside the store, as soon as one is to be had.
  private func connection(_ url: URL) throws -> PostgresConnection {
    let deadline = ContinuousClock.now + .seconds(30)
    while true {
      do {
        return try PostgresConnection(ServerAddress(url), password: nil, deadline: deadline)
      } catch {
        guard PostgresConnection.mayTryAgain(after: error, until: deadline) else { throw error }
      }
    }
  }

  private func store(_ url: URL, timeout: Duration) throws -> PostgresStore {
    var options = PostgresStoreOptions()
    options.timeout = timeout
    options.listens = false
    return try PostgresStore(url: url, schema: try Library.make().schema(), options: options)
  }

  @Test func aConnectionThatAnotherProgramHasIsWaitedFor() throws {
    let url = try address(makeRole("CONNECTION LIMIT 1"))
    let store = try store(url, timeout: .seconds(30))
    let context = ManagedObjectContext(
      .confinement, coordinator: PersistentStoreCoordinator(managedObjectModel: Library.make()))
    try #require(context.persistentStoreCoordinator).attach(store)
    try context.make("Author", ["name": "Ada"])
    store.pool.dropIdle()
    // Another program has the one connection.
    let taken = Mutex<PostgresConnection?>(try connection(url))
    // On a busy machine a short time ends before the server has answered.
    var isTold = false
    for patience in [Duration.milliseconds(200), .seconds(2), .seconds(20)] where !isTold {
      let impatient = #expect(throws: StorageError.self) { try self.store(url, timeout: patience) }
      #expect([.serverBusy, .unreachable].contains(impatient?.kind))
      isTold = impatient?.detail.contains("too many connections") == true
    }
    #expect(isTold)
    let isWaiting = DispatchSemaphore(value: 0)
    Thread {
      isWaiting.wait()
      Thread.sleep(forTimeInterval: 0.3)
      taken.withLock { $0 = nil }
    }.start()
    isWaiting.signal()
    try context.save()
    #expect(try context.texts("Author", "name") == ["Ada"])
    store.close()
    try PostgresStores.destroy(at: url)
  }

  /// A standby that is about to be promoted, say. Who makes an object cannot be told of an error.
  @Test func aKeyIsHadAsSoonAsTheServerTakesChanges() throws {
    let role = try makeRole()
    let url = try address(role)
    let store = try store(url, timeout: .seconds(30))
    let administrator = try connection(TestServer.required().url("none"))
    try administrator.runText("ALTER ROLE \(role) SET default_transaction_read_only = true")
    store.pool.dropIdle()
    let isAsked = DispatchSemaphore(value: 0)
    Thread {
      isAsked.wait()
      Thread.sleep(forTimeInterval: 0.3)
      _ = try? administrator.runText("ALTER ROLE \(role) SET default_transaction_read_only = false")
    }.start()
    isAsked.signal()
    #expect(try store.makePrimaryKey(hierarchy: 0) > 0)
    store.close()
    try PostgresStores.destroy(at: url)
  }

  @Test func aServerThatTakesNoChangesSaysSo() throws {
    let role = try makeRole()
    let url = try address(role)
    let store = try store(url, timeout: .seconds(30))
    let coordinator = PersistentStoreCoordinator(managedObjectModel: Library.make())
    try coordinator.attach(store)
    let context = ManagedObjectContext(.confinement, coordinator: coordinator)
    try context.make("Author", ["name": "Ada"])
    try context.save()
    let administrator = try connection(TestServer.required().url("none"))
    // As a standby does, of all that is written.
    func readOnly(_ isOn: Bool) throws {
      try administrator.runText("ALTER ROLE \(role) SET default_transaction_read_only = \(isOn)")
      store.pool.dropIdle()
    }
    try readOnly(true)
    try context.make("Author", ["name": "Bob"])
    let error = #expect(throws: StorageError.self) { try context.save() }
    #expect(error?.kind == .readOnlyMedia)
    #expect(error?.detail.contains("takes no changes") == true && error?.detail.contains("25006") == true)
    #expect(context.hasChanges)
    #expect(try context.count(for: FetchRequest<ManagedObject>(entityName: "Author")) == 2)
    let migration = #expect(throws: StorageError.self) {
      try PostgresStores.migrate(at: url, to: MigrationTests.newer())
    }
    #expect(migration?.kind == .readOnlyMedia)
    let opening = #expect(throws: StorageError.self) {
      try self.store(self.address(role), timeout: .seconds(30))
    }
    #expect(opening?.kind == .readOnlyMedia)
    try readOnly(false)
    try context.save()
    #expect(try context.texts("Author", "name").sorted() == ["Ada", "Bob"])
    store.close()
    try PostgresStores.destroy(at: url)
  }
}
