import Foundation
import StrataCore

/// One state of a store: a transaction that is kept open on a connection of its own. May be used from any thread, by one at a time.
final class PostgresSnapshot: WalkedSnapshot {
  private struct State {
    var connection: PostgresConnection?
    /// Whether the server has ended the transaction.
    var isLost = false
  }

  /// Behind what makes the state: what the server refuses afterwards is taken back up to here, so that the state goes on.
  private static let savepoint = "strata_state"

  private let pool: ConnectionPool
  private let mapping: StoreMapping
  private let identifier: UUID
  private let timeout: Duration
  private let state: Mutex<State>
  private let begin = ContinuousClock.now

  /// Nil when as many connections are in use as snapshots may take.
  init?(_ pool: ConnectionPool, _ mapping: StoreMapping, identifier: UUID, share: Int, timeout: Duration)
    throws
  {
    guard let connection = try pool.borrow(share: share) else { return nil }
    do {
      // A table that is made anew by a migration would be seen without its rows: as long as the state is read, no table goes. The first statement behind the lock
      // is what makes the state.
      try connection.run(
        [
          SQLStatement("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"),
          SQLStatement("LOCK TABLE \(mapping.tableNames.joined(separator: ", ")) IN ACCESS SHARE MODE"),
          SQLStatement("SELECT pg_catalog.set_config('idle_in_transaction_session_timeout', '0', true)"),
          SQLStatement("SELECT commit_number FROM \(mapping.qualified("strata_store"))"),
          SQLStatement("SAVEPOINT \(Self.savepoint)"),
        ], deadline: ContinuousClock.now + timeout)
    } catch {
      pool.giveBack(connection)
      throw error
    }
    self.pool = pool
    self.mapping = mapping
    self.identifier = identifier
    self.timeout = timeout
    state = Mutex(State(connection: connection))
  }

  deinit { release() }

  var age: Duration { ContinuousClock.now - begin }

  func release() {
    let connection = state.withLock { state in
      defer { state.connection = nil }
      return state.connection
    }
    if let connection { pool.giveBack(connection) }
  }

  /// Once more when a statement was prepared for what the server had then: the state is the same.
  private func read<R>(_ body: (PostgresReading) throws -> sending R) throws -> R {
    try state.withLock { state in
      if state.isLost {
        throw StorageError(
          .unreachable, operation: "read snapshot", path: "",
          detail: "The generation has ended: its transaction on the server is gone. Pin the newest state.")
      }
      guard let connection = state.connection else {
        throw StorageError(
          .closed, operation: "read snapshot", path: "", detail: "The snapshot was released.")
      }
      var isSecond = false
      while true {
        do {
          return try body(
            PostgresReading(
              mapping, identifier: identifier, connection: connection,
              deadline: ContinuousClock.now + timeout))
        } catch let error as SQLError {
          let isOutdated = error.state == CommitRun.unsupportedState && !isSecond
          do {
            try connection.run(
              SQLStatement("ROLLBACK TO SAVEPOINT \(Self.savepoint)"),
              deadline: ContinuousClock.now + timeout)
            // A statement was prepared for a column that somebody has given another type before the state was pinned.
            if isOutdated { try connection.forgetPrepared(deadline: ContinuousClock.now + timeout) }
          } catch {
            // The connection goes back when the snapshot is released.
            state.isLost = true
          }
          guard isOutdated, !state.isLost else {
            throw error.storageError("read snapshot", pool.address.words)
          }
          isSecond = true
        }
      }
    }
  }

  func fetch(_ request: ResolvedFetchRequest, mode: FetchMode) throws -> FetchedRows {
    try read { try $0.fetch(request, mode: mode) }
  }
  func explain(_ request: ResolvedFetchRequest, mode: FetchMode, isExecuting: Bool) throws
    -> FetchExplanation.StorePart?
  {
    try read { try $0.explain(request, mode: mode, isExecuting: isExecuting) }
  }
  func rows(hierarchy: Int, from key: UInt64, most count: Int) throws -> [FetchedRow] {
    try read { try $0.rows(hierarchy: hierarchy, from: key, most: count) }
  }
  func facts() throws -> StoreFacts { try read { try $0.facts() } }
  func parts() throws -> [StoredPart] { try read { try $0.parts() } }
  func rows(hierarchy: Int, primaryKeys: [UInt64]) throws -> [FetchedRow?] {
    try read { try $0.rows(hierarchy: hierarchy, primaryKeys: primaryKeys) }
  }
  func row(hierarchy: Int, primaryKey: UInt64) throws -> FetchedRow? {
    try read { try $0.row(hierarchy: hierarchy, primaryKey: primaryKey) }
  }
  func rows(_ lookup: UniqueLookup) throws -> [FetchedRow?] { try read { try $0.rows(lookup) } }
  func members(_ edges: EdgeSet, of owner: UInt64) throws -> [UInt64] {
    try read { try $0.members(edges, of: owner) }
  }
  func members(_ edges: EdgeSet, of owners: [UInt64]) throws -> [[UInt64]] {
    try read { try $0.members(edges, of: owners) }
  }
  func memberCount(_ edges: EdgeSet, of owner: UInt64) throws -> Int {
    try read { try $0.memberCount(edges, of: owner) }
  }
  func hasMember(_ edges: EdgeSet, of owner: UInt64, _ member: UInt64) throws -> Bool {
    try read { try $0.hasMember(edges, of: owner, member) }
  }
  func placedMembers(_ edges: EdgeSet, of owner: UInt64) throws -> [PlacedMember] {
    try read { try $0.placedMembers(edges, of: owner) }
  }
  func placedMembers(_ edges: EdgeSet, of owners: [UInt64]) throws -> [[PlacedMember]] {
    try read { try $0.placedMembers(edges, of: owners) }
  }
  func externalValue(entity: Int, primaryKey: UInt64, slot: Int, version: UInt32) throws -> Data? {
    try read { try $0.externalValue(entity: entity, primaryKey: primaryKey, slot: slot, version: version) }
  }
}
