import Foundation
import StrataCore
import Testing

/// A write to a connection that the other side has closed is an error, and does not end the program by a signal.
struct WithheldSignalTests {
  /// A socket whose other end is closed.
  private static func closed() throws -> Int32 {
    var ends: [Int32] = [-1, -1]
    #if canImport(Darwin)
      try #require(socketpair(AF_UNIX, SOCK_STREAM, 0, &ends) == 0)
    #else
      try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
    #endif
    close(ends[1])
    return ends[0]
  }

  private static func isBlocked() -> Bool {
    var blocked = sigset_t()
    pthread_sigmask(SIG_BLOCK, nil, &blocked)
    return sigismember(&blocked, SIGPIPE) == 1
  }

  private static func isPending() -> Bool {
    var pending = sigset_t()
    sigpending(&pending)
    return sigismember(&pending, SIGPIPE) == 1
  }

  @Test func aWriteToAClosedConnectionFailsWithoutASignal() throws {
    let socket = try Self.closed()
    defer { close(socket) }
    for isNested in [false, true, false] {
      // As `PQcancel` sends: with no flag that would keep the signal away.
      func write() -> (Int, Int32) { (send(socket, "x", 1, 0), errno) }
      let (count, code) = WithheldSignal.run(SIGPIPE) {
        isNested ? WithheldSignal.run(SIGPIPE) { write() } : write()
      }
      #expect(count == -1 && code == EPIPE)
      #expect(!Self.isBlocked() && !Self.isPending())
    }
  }

  @Test func aThreadThatBlocksTheSignalGoesOnBlockingIt() throws {
    let socket = try Self.closed()
    defer { close(socket) }
    WithheldSignal.run(SIGPIPE) {
      _ = WithheldSignal.run(SIGPIPE) { send(socket, "x", 1, 0) }
      #expect(Self.isBlocked() && Self.isPending())
    }
    #expect(!Self.isBlocked() && !Self.isPending())
  }
}
