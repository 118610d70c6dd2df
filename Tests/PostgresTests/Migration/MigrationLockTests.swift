import Foundation
import Strata
import StrataCore
import Testing

@testable import StrataPostgres

/// A migration and those who read the store meanwhile.
@Suite struct MigrationLockTests {
  private func newer() -> ManagedObjectModel {
    let model = Library.make()
    model.entitiesByName["Book"]?.properties.append(
      AttributeDescription("rating", .integer16, isOptional: true))
    return model
  }

  private func connection(_ stand: ServerStand) throws -> PostgresConnection {
    try PostgresConnection(
      ServerAddress(stand.url), password: nil, deadline: ContinuousClock.now + .seconds(30))
  }

  /// Waits until a session waits for a table of the store's.
  private func waitForWaiting(_ stand: ServerStand, _ connection: PostgresConnection) throws {
    while true {
      let found = try connection.runText(
        "SELECT count(*) FROM pg_locks l JOIN pg_class c ON c.oid = l.relation JOIN pg_namespace n ON n.oid = c.relnamespace WHERE NOT l.granted AND n.nspname = '\(stand.store.mapping.namespace)'"
      )
      if try #require(found).text(0, 0) != "0" { return }
      Thread.sleep(forTimeInterval: 0.002)
    }
  }

  /// Each table that somebody has begun to read, in turn, and every other that is read next: whatever order the migration takes them in.
  @Test(.timeLimit(.minutes(5)), arguments: ["author", "book", "subject"])
  func itLetsGoOfTablesForOneWhoReadsOthers(first: String) throws {
    let stand = try ServerStand(Library.make())
    let context = stand.context()
    try context.make("Author", ["name": "Ada"])
    try context.save()
    let (reader, watcher) = (try connection(stand), try connection(stand))
    try reader.hold("SELECT * FROM \(stand.table(first)) LIMIT 1")
    let failure = Mutex<(any Error)?>(nil)
    let done = DispatchSemaphore(value: 0)
    Thread {
      do {
        try PostgresStores.migrate(at: stand.url, to: newer())
      } catch { failure.withLock { $0 = error } }
      done.signal()
    }.start()
    for name in ["author", "book", "card", "list", "person", "shelf", "subject"] where name != first {
      try waitForWaiting(stand, watcher)
      try reader.runText("SELECT count(*) FROM \(stand.table(name))")
    }
    try waitForWaiting(stand, watcher)
    try reader.runText("COMMIT")
    done.wait()
    #expect(failure.withLock { $0 } == nil)
    #expect(
      try PostgresStores.metadata(at: stand.url).versionHashes == newer().entityVersionHashesByName)
  }

  @Test func aReadThatTheServerHasEndedInFavourOfOthersIsMadeAgain() throws {
    let stand = try ServerStand(Library.make())
    for state in ["40P01", "40001"] {
      var tries = 0
      let answer = try stand.store.read { _, connection -> Int64 in
        tries += 1
        if tries < 3 { throw SQLError(state: state, message: "disturbed") }
        return try connection.run(SQLStatement("SELECT 7::bigint")).integer(0, 0)
      }
      #expect(answer == 7)
      #expect(tries == 3)
      tries = 0
      let error = #expect(throws: StorageError.self) {
        try stand.store.read { _, _ in
          tries += 1
          throw SQLError(state: state, message: "disturbed")
        }
      }
      #expect(error?.kind == .serverBusy)
      #expect(tries == 4, "not for ever")
    }
  }

  @Test func aStoreIsDestroyedWhileOthersReadIt() throws {
    let stand = try ServerStand(Library.make())
    let (reader, watcher) = (try connection(stand), try connection(stand))
    try reader.hold("SELECT * FROM \(stand.table("book")) LIMIT 1")
    let failure = Mutex<(any Error)?>(nil)
    let done = DispatchSemaphore(value: 0)
    Thread {
      do {
        try PostgresStores.destroy(at: stand.url)
      } catch { failure.withLock { $0 = error } }
      done.signal()
    }.start()
    try waitForWaiting(stand, watcher)
    try reader.runText("SELECT count(*) FROM \(stand.table("author"))")
    try reader.runText("COMMIT")
    done.wait()
    #expect(failure.withLock { $0 } == nil)
    #expect(throws: StorageError.self) { try PostgresStores.metadata(at: stand.url) }
  }

  @Test func stagesTakeTurnsAmongProcesses() throws {
    let stand = try ServerStand(Library.make())
    let options = PostgresStoreOptions()
    var isTaken = false
    try PostgresStores.inTurn(at: stand.url, Patience(.seconds(30)), options) {
      let error = #expect(throws: StorageError.self) {
        try PostgresStores.inTurn(at: stand.url, Patience(.milliseconds(30)), options) {
          Issue.record("both had the turn")
        }
      }
      #expect(error?.kind == .serverBusy)
    }
    try PostgresStores.inTurn(at: stand.url, Patience(.seconds(30)), options) { isTaken = true }
    #expect(isTaken)
  }
}
