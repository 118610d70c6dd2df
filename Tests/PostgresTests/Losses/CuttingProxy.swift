import Foundation
import StrataCore

/// Stands between a store and its server, on a socket of its own, and cuts one connection after so many bytes.
///
/// Unsafe parts: file descriptors, which threads of the proxy read and write; each is closed once, by the thread that took the connection.
final class CuttingProxy: Sendable {
  /// Which bytes are counted.
  enum Direction: Sendable { case toServer, toClient }

  private struct State {
    /// Bytes that may still pass before a cut; nil for no cut.
    var left: Int?
    var passed = 0
    var cuts = 0
    /// Whether no connection is made after the next cut.
    var refusesAfterCut = false
    /// Cuts that are still to come.
    var messageCuts: [MessageCut.Kind: MessageCut] = [:]
    /// What has passed so far.
    var seen: Set<MessageCut.Kind> = []
    /// How often connections were cut at which messages.
    var cutKinds: [MessageCut.Kind: Int] = [:]
  }

  let folder: URL
  private let listener: Int32
  private let server: String
  private let state = Mutex(State())
  private let direction: Direction

  struct Failure: Error { let call: String }

  /// Listens in `folder` for connections to the server in `serverFolder`.
  init(folder: URL, serverFolder: URL, direction: Direction) throws {
    self.folder = folder
    self.direction = direction
    server = serverFolder.appendingPathComponent(".s.PGSQL.5432").path
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    listener = Self.makeSocket()
    guard listener >= 0 else { throw Failure(call: "socket") }
    let path = folder.appendingPathComponent(".s.PGSQL.5432").path
    let isBound = Self.withAddress(path) { bind(listener, $0, $1) == 0 }
    guard isBound, listen(listener, 64) == 0 else { throw Failure(call: "bind") }
    ListeningSocket.acceptAll(listener) { [weak self] client in
      guard let self else {
        close(client)
        return
      }
      self.connect(client)
    }
  }

  deinit {
    ListeningSocket.end(listener)
    try? FileManager.default.removeItem(at: folder)
  }

  /// From now on so many bytes pass in the direction, then their connection is cut. Once.
  func cut(after count: Int?) { state.withLock { $0.left = count } }

  /// A connection is cut at such a message. Once; one cut for each kind of message may be still to come.
  func cut(at message: MessageCut) { state.withLock { $0.messageCuts[message.kind] = message } }
  /// Whether new connections are refused once there was a cut: as a network that is gone.
  func refuseAfterCut(_ isRefusing: Bool) { state.withLock { $0.refusesAfterCut = isRefusing } }
  /// Messages of which kinds have passed.
  var seen: Set<MessageCut.Kind> { state.withLock { $0.seen } }
  /// How often connections were cut at messages of which kind.
  var cutKinds: [MessageCut.Kind: Int] { state.withLock { $0.cutKinds } }

  /// How many bytes have passed in the direction.
  var passed: Int { state.withLock { $0.passed } }
  var cuts: Int { state.withLock { $0.cuts } }

  private static func makeSocket() -> Int32 {
    #if canImport(Glibc)
      socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    #else
      socket(AF_UNIX, SOCK_STREAM, 0)
    #endif
  }

  private static func withAddress<R>(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> R) -> R {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { target in
      target.copyBytes(from: path.utf8.prefix(target.count - 1))
    }
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
  }

  private func connect(_ client: Int32) {
    let target = Self.makeSocket()
    let isRefused = state.withLock { $0.refusesAfterCut && $0.cuts > 0 }
    let isConnected = !isRefused && Self.withAddress(server) { Foundation.connect(target, $0, $1) == 0 }
    guard isConnected else {
      close(client)
      close(target)
      return
    }
    let open = Mutex(2)
    @Sendable func finish() {
      shutdown(client, Int32(SHUT_RDWR))
      shutdown(target, Int32(SHUT_RDWR))
      let isLast = open.withLock { open in
        open -= 1
        return open == 0
      }
      if isLast {
        close(client)
        close(target)
      }
    }
    let box = Box(finish)
    Thread { [weak self] in
      self?.pump(client, target, .toServer)
      box.body()
    }.start()
    Thread { [weak self] in
      self?.pump(target, client, .toClient)
      box.body()
    }.start()
  }

  private struct Box: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }

  private func pump(_ source: Int32, _ target: Int32, _ way: Direction) {
    var buffer = [UInt8](repeating: 0, count: 16_384)
    var follower = MessageFollower(way)
    var before = 0
    while true {
      let count = read(source, &buffer, buffer.count)
      if count <= 0 { return }
      let messages = follower.follow(buffer[..<count])
      let (allowed, isCut) = state.withLock { state -> (Int, Bool) in
        if let place = Self.cut(&state, messages) { return (min(max(place - before, 0), count), true) }
        guard way == direction else { return (count, false) }
        guard let left = state.left, left < count else {
          state.left = state.left.map { $0 - count }
          state.passed += count
          return (count, false)
        }
        state.left = nil
        state.passed += left
        state.cuts += 1
        return (left, true)
      }
      before += count
      var sent = 0
      while sent < allowed {
        let written = buffer.withUnsafeBytes {
          send(target, $0.baseAddress.unsafelyUnwrapped + sent, allowed - sent, Int32(MSG_NOSIGNAL))
        }
        if written <= 0 { return }
        sent += written
      }
      if isCut { return }
    }
  }

  /// Counts messages towards the next cut; where it is, in all bytes of the connection's direction.
  private static func cut(_ state: inout State, _ messages: [MessageFollower.Message]) -> Int? {
    for message in messages {
      state.seen.insert(message.kind)
      guard let cut = state.messageCuts[message.kind] else { continue }
      state.messageCuts[message.kind]?.left -= 1
      if cut.left > 0 { continue }
      state.messageCuts[message.kind] = nil
      state.cuts += 1
      state.cutKinds[cut.kind, default: 0] += 1
      switch cut.place {
      case .before: return message.start
      case .inside: return (message.start + message.end) / 2
      case .behind: return message.end
      }
    }
    return nil
  }
}
