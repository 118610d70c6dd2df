@preconcurrency import Dispatch
import Foundation
import StrataCore

/// The connection through which a store is told of what others commit: it listens, and does nothing else. Made when it is first needed; made again when it is
/// lost. May be used from any thread.
///
/// ```
///   COMMIT of another ─▶ NOTIFY ─▶ socket ─▶ handlers, which ask what is new
/// ```
///
/// While the server does not let it listen, or cannot be reached, the handlers are called from time to time: whoever is called looks what is new. Nobody waits
/// for a connection that is being made, but the queue that makes it.
final class FollowingConnection: Sendable {
  typealias Handler = @Sendable (StoreWatchEvent) -> Void

  private struct State {
    var connection: PostgresConnection?
    /// Tells that there is something to read.
    var source: (any DispatchSourceRead)?
    var isListening = false
    var isConnecting = false
    var isRetrying = false
    /// How often it was tried in vain, one after the other, and when it is tried next.
    var failures = 0
    var nextAttempt = ContinuousClock.now
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

  private static let longestPause = Duration.seconds(60)

  private let connect: @Sendable () throws -> PostgresConnection
  private let timeout: Duration
  private let retryInterval: Duration
  private let channel: String
  /// What the store's own commits say.
  private let ownPayload: String
  private let state = Mutex(State())
  private let queue = DispatchQueue(label: "strata.postgres.follower")
  /// Where connections are made, which takes as long as the server likes.
  private let connecting = DispatchQueue(label: "strata.postgres.follower.connecting")

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
    queue.async { self.look() }
    return Watch(self, number)
  }

  private func remove(_ number: Int) {
    // What the handler holds ends outside of the lock.
    let handler = state.withLock { $0.handlers.removeValue(forKey: number) }
    withExtendedLifetime(handler) {}
  }

  /// Whether the server tells of commits at the moment.
  var isListening: Bool { state.withLock { $0.isListening } }

  /// Lets go of a connection that is dead. Under the lock.
  private func drop(_ state: inout State) {
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
      look()
    }
  }

  /// Unless the server tells of commits: sees to it that it does, and has everybody look meanwhile. On the queue.
  private func look() {
    let (isMissing, isFirst) = state.withLock { state -> (Bool, Bool) in
      if state.isClosed || state.isListening || state.handlers.isEmpty { return (false, false) }
      retry(&state)
      if state.isConnecting || ContinuousClock.now < state.nextAttempt { return (true, false) }
      state.isConnecting = true
      return (true, true)
    }
    if isFirst { connecting.async { [weak self] in self?.listen() } }
    if isMissing { tell() }
  }

  /// Begins to listen, and has everybody look: something may have been missed. Where connections are made.
  private func listen() {
    do {
      let connection = try connect()
      try connection.run(
        SQLStatement("LISTEN \(Identifier.quoted(channel))"), deadline: ContinuousClock.now + timeout)
      let socket = try SocketCopy(of: connection)
      let source = DispatchSource.makeReadSource(fileDescriptor: socket.descriptor, queue: queue)
      source.setEventHandler { [weak self] in self?.receive() }
      // The source holds the connection and the copy until it has let go of the socket.
      source.setCancelHandler { withExtendedLifetime((connection, socket)) {} }
      source.activate()
      let isWanted = state.withLock { state -> Bool in
        state.isConnecting = false
        state.failures = 0
        if state.isClosed || state.handlers.isEmpty { return false }
        state.connection = connection
        state.source = source
        state.isListening = true
        return true
      }
      if !isWanted { return source.cancel() }
      // What has come before the source was there makes the socket ready no more.
      queue.async { [weak self] in
        self?.receive()
        self?.tell()
      }
    } catch {
      // Not on a standby, and not where a pooler stands between: then the store is looked at from time to time.
      state.withLock { state in
        state.isConnecting = false
        // A server that never lets anybody listen is not asked every second.
        let pause = min(retryInterval * (1 << min(state.failures, 16)), max(retryInterval, Self.longestPause))
        state.failures += 1
        state.nextAttempt = ContinuousClock.now + pause
      }
    }
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

/// A second descriptor of a connection's socket. libpq closes its own when the server has ended the session, and another socket may get that number while somebody still waits for it.
private final class SocketCopy: Sendable {
  let descriptor: Int32

  /// - Throws: ``StorageError`` of kind `outOfMemory` when the process has none left.
  init(of connection: PostgresConnection) throws {
    descriptor = fcntl(connection.socket, F_DUPFD_CLOEXEC, 0)
    guard descriptor >= 0 else {
      throw StorageError(
        .outOfMemory, operation: "watch server", path: "", detail: "\(String(cString: strerror(errno)))")
    }
  }

  deinit { close(descriptor) }
}
