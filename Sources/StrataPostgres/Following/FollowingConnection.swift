@preconcurrency import Dispatch
import Foundation
import StrataCore

/// The connection through which a store follows what others commit: it listens, and it reads the newest commits. Made when it is first needed; made again when
/// it is lost. May be used from any thread, by one at a time.
///
/// ```
///   COMMIT of another ─▶ NOTIFY ─▶ socket ─▶ handlers ─▶ "what is new?" through the same connection
/// ```
///
/// While the server does not let it listen, or cannot be reached, the handlers are called from time to time: whoever is called looks what is new.
final class FollowingConnection: Sendable {
  typealias Handler = @Sendable (StoreWatchEvent) -> Void

  private struct State {
    var connection: PostgresConnection?
    /// Tells that there is something to read.
    var source: (any DispatchSourceRead)?
    var isListening = false
    var isRetrying = false
    var isClosed = false
    var handlers: [Int: Handler] = [:]
    var nextHandler = 0
  }

  /// Counts for a handler as long as it lives.
  private final class Watch: Sendable {
    private let connection: FollowingConnection
    private let number: Int

    init(_ connection: FollowingConnection, _ number: Int) {
      self.connection = connection
      self.number = number
    }

    deinit { connection.remove(number) }
  }

  private let connect: @Sendable () throws -> PostgresConnection
  private let timeout: Duration
  private let retryInterval: Duration
  private let channel: String
  /// What the store's own commits say.
  private let ownPayload: String
  private let state = Mutex(State())
  private let queue = DispatchQueue(label: "strata.postgres.follower")

  /// - Parameters:
  ///   - retryInterval: How often it is tried to listen, where that fails.
  ///   - connect: Makes a connection.
  init(
    channel: String, ownPayload: String, timeout: Duration, retryInterval: Duration,
    connect: @escaping @Sendable () throws -> PostgresConnection
  ) {
    self.channel = channel
    self.ownPayload = ownPayload
    self.timeout = timeout
    self.retryInterval = retryInterval
    self.connect = connect
  }

  /// The channel of a store.
  static func channel(_ identifier: UUID) -> String { "strata_" + identifier.uuidString.lowercased() }

  /// Calls `handler` whenever others may have committed, until the last reference to the result is gone.
  func watch(_ handler: @escaping Handler) -> any AnyObject & Sendable {
    let number = state.withLock { state in
      state.nextHandler += 1
      state.handlers[state.nextHandler] = handler
      return state.nextHandler
    }
    queue.async { self.listen() }
    return Watch(self, number)
  }

  private func remove(_ number: Int) {
    // What the handler holds ends outside of the lock.
    let handler = state.withLock { $0.handlers.removeValue(forKey: number) }
    withExtendedLifetime(handler) {}
  }

  /// Whether the server tells of commits at the moment.
  var isListening: Bool { state.withLock { $0.isListening } }

  /// Reads through the connection. Once more when it turns out to be dead: reading twice does no harm.
  func read<R: Sendable>(_ body: (PostgresConnection, ContinuousClock.Instant) throws -> R) throws -> R {
    do {
      return try readOnce(body)
    } catch let error as StorageError where error.kind == .unreachable {
      return try readOnce(body)
    } catch let error as SQLError where error.kind == .unreachable {
      return try readOnce(body)
    }
  }

  private func readOnce<R: Sendable>(_ body: (PostgresConnection, ContinuousClock.Instant) throws -> R) throws
    -> R
  {
    let deadline = ContinuousClock.now + timeout
    let (result, hasMore) = try state.withLock { state throws -> (Result<R, any Error>, Bool) in
      let connection = try use(&state)
      let result = Result { try body(connection, deadline) }
      _ = connection.reset()
      // What has come with the answer makes the socket ready no more.
      let payloads = connection.notifications()
      if payloads == nil { drop(&state) }
      return (result, payloads?.contains { $0 != ownPayload } ?? true)
    }
    if hasMore { queue.async { self.tell() } }
    return try result.get()
  }

  /// The connection, a new one if need be. Under the lock.
  private func use(_ state: inout State) throws -> PostgresConnection {
    if state.isClosed {
      throw StorageError(.closed, operation: "use store", path: "", detail: "The store was closed.")
    }
    if let connection = state.connection {
      if connection.isUsable { return connection }
      drop(&state)
    }
    let made = try connect()
    state.connection = made
    return made
  }

  /// Lets go of a connection that is dead. Under the lock.
  private func drop(_ state: inout State) {
    // The source holds the connection until it has let go of the socket.
    state.source?.cancel()
    state.source = nil
    state.connection = nil
    state.isListening = false
    if !state.isClosed, !state.handlers.isEmpty { retry(&state) }
  }

  private func retry(_ state: inout State) {
    if state.isRetrying { return }
    state.isRetrying = true
    queue.asyncAfter(deadline: .now() + retryInterval.seconds) { [weak self] in
      guard let self else { return }
      self.state.withLock { $0.isRetrying = false }
      listen()
    }
  }

  /// Begins to listen, and has everybody look: something may have been missed. On the queue.
  private func listen() {
    state.withLock { state in
      if state.isClosed || state.isListening || state.handlers.isEmpty { return }
      do {
        let connection = try use(&state)
        try connection.run(
          SQLStatement("LISTEN \(Identifier.quoted(channel))"), deadline: ContinuousClock.now + timeout)
        let source = DispatchSource.makeReadSource(fileDescriptor: connection.socket, queue: queue)
        source.setEventHandler { [weak self] in self?.receive() }
        source.setCancelHandler { withExtendedLifetime(connection) {} }
        source.activate()
        state.source = source
        state.isListening = true
      } catch {
        // Not on a standby, and not where a pooler stands between: then the store is looked at from time to time.
        state.connection.map { _ = $0.reset() }
        retry(&state)
      }
    }
    tell()
  }

  /// Something came from the server. On the queue.
  private func receive() {
    let hasNews = state.withLock { state -> Bool in
      guard let connection = state.connection, state.isListening else { return false }
      guard let payloads = connection.notifications() else {
        drop(&state)
        return true
      }
      return payloads.contains { $0 != ownPayload }
    }
    if hasNews { tell() }
  }

  private func tell() {
    for handler in state.withLock({ Array($0.handlers.values) }) { handler(.written) }
  }

  /// Ends everything.
  func close() {
    let old = state.withLock { state -> State in
      let old = state
      state.isClosed = true
      state.source?.cancel()
      state.source = nil
      state.connection = nil
      state.handlers = [:]
      state.isListening = false
      return old
    }
    withExtendedLifetime(old) {}
  }
}
