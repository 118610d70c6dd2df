import Foundation
import StrataCore

/// The connections of one store: made when they are needed, kept, and lent to one thread at a time. May be used from any thread.
final class ConnectionPool: Sendable {
  private struct State {
    var idle: [PostgresConnection] = []
    /// How many there are, lent ones too.
    var count = 0
    var isClosed = false
    /// Round trips of connections that were given back.
    var roundTrips = 0
  }

  let address: ServerAddress
  private let password: (@Sendable () throws -> String)?
  private let most: Int
  private let patience: Duration
  private let state = Mutex(State())
  private let freed = SystemLock()

  init(
    _ address: ServerAddress, most: Int, patience: Duration, password: (@Sendable () throws -> String)? = nil
  ) {
    self.address = address
    self.most = most
    self.patience = patience
    self.password = password
  }

  /// A connection that does not belong to the pool. Statements without a deadline take as long as they like.
  /// - Throws: ``StorageError`` as ``withConnection(_:)``; what gives the password.
  func makeSeparate() throws -> PostgresConnection {
    try PostgresConnection(address, password: password?(), deadline: ContinuousClock.now + patience)
  }

  /// Lends a connection to `body`; an open transaction is rolled back afterwards. Waits while all are lent, and while the server has none to spare.
  /// - Parameters:
  ///   - isCounted: Whether its round trips count among those of the store's users.
  ///   - end: When it stops waiting, if that is before the store's timeout.
  /// - Throws: ``StorageError`` `.closed`, `.serverBusy` when none is given back in time; `.unreachable`, `.refused` when there is none to be had; what
  ///   `body` throws.
  func withConnection<R>(
    isCounted: Bool = true, until end: ContinuousClock.Instant? = nil,
    _ body: (PostgresConnection) throws -> R
  ) throws -> R {
    let connection = try borrow(until: end)
    defer { giveBack(connection, isCounted: isCounted) }
    return try body(connection)
  }

  /// A connection to be kept until `giveBack`; nil when `share`, of all that there may be, are lent already.
  func borrow(share: Int) throws -> PostgresConnection? { try borrow(until: nil, share: share) }

  private func borrow(until end: ContinuousClock.Instant?) throws -> PostgresConnection {
    guard let connection = try borrow(until: end, share: nil) else { throw Self.closed }
    return connection
  }

  /// - Parameter share: Nil is the answer when so many are lent, instead of waiting; looked at in the moment in which one is taken.
  private func borrow(until end: ContinuousClock.Instant?, share: Int?) throws -> PostgresConnection? {
    let latest = ContinuousClock.now + patience
    let deadline = end.map { min($0, latest) } ?? latest
    while true {
      enum Answer { case old(PostgresConnection), new, none, tooMany }
      let answer = try state.withLock { state throws(StorageError) -> Answer in
        if state.isClosed { throw Self.closed }
        if let share, state.count - state.idle.count >= share { return .tooMany }
        if let connection = state.idle.popLast() { return .old(connection) }
        if state.count >= most { return .none }
        state.count += 1
        return .new
      }
      switch answer {
      case .old(let connection):
        if connection.isUsable {
          connection.patience = patience
          return connection
        }
        drop(connection)
      case .new:
        do {
          return try PostgresConnection(
            address, password: password?(), deadline: deadline, patience: patience)
        } catch {
          state.withLock { $0.count -= 1 }
          signal()
          // Meanwhile one of the store's own may be given back.
          guard PostgresConnection.mayTryAgain(after: error, until: deadline) else { throw error }
        }
      case .tooMany: return nil
      case .none:
        guard wait(until: deadline) else {
          throw StorageError(
            .serverBusy, operation: "talk to server", path: "",
            detail: "All \(most) connections to the store are in use.")
        }
      }
    }
  }

  /// Takes back what `borrow` has lent.
  func giveBack(_ connection: PostgresConnection, isCounted: Bool = true) {
    let isUsable = connection.reset()
    let isKept = state.withLock { state in
      let trips = connection.takeRoundTrips()
      if isCounted { state.roundTrips += trips }
      if state.isClosed || !isUsable { return false }
      state.idle.append(connection)
      return true
    }
    if isKept { signal() } else { drop(connection) }
  }

  private func drop(_ connection: PostgresConnection) {
    state.withLock { $0.count -= 1 }
    signal()
  }

  private func wait(until deadline: ContinuousClock.Instant) -> Bool {
    if ContinuousClock.now >= deadline { return false }
    freed.lock()
    defer { freed.unlock() }
    // Somebody may have given one back before the lock was taken.
    if state.withLock({ !$0.idle.isEmpty || $0.count < most || $0.isClosed }) { return true }
    _ = freed.wait(until: deadline)
    return true
  }

  private func signal() {
    freed.lock()
    freed.wakeOne()
    freed.unlock()
  }

  /// Drops all connections that are not lent: one has turned out to be dead, and the others have probably died with it.
  func dropIdle() {
    let idle = state.withLock { state in
      defer { state.idle = [] }
      return state.idle
    }
    idle.forEach(drop)
  }

  /// How many round trips have been made; those of lent connections when they are back.
  var roundTrips: Int { state.withLock { $0.roundTrips } }

  /// Closes all connections; those that are lent when they are given back.
  func close() {
    state.withLock { state in
      state.isClosed = true
      state.count -= state.idle.count
      state.idle = []
    }
    freed.lock()
    freed.wakeAll()
    freed.unlock()
  }

  private static let closed = StorageError(
    .closed, operation: "talk to server", path: "", detail: "The store was closed.")
}
