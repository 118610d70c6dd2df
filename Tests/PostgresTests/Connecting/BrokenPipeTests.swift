import Foundation
import Testing

@testable import StrataPostgres

/// What is written to a connection that the server has closed is an error, and does not end the program by a signal.
struct BrokenPipeTests {
  /// A socket whose other end is closed.
  private static func closed() throws -> Int32 {
    var ends: [Int32] = [-1, -1]
    try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
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
    for _ in 0..<3 {
      // As `PQcancel` sends: with no flag that would keep the signal away.
      let (count, code) = BrokenPipe.withoutSignal { (send(socket, "x", 1, 0), errno) }
      #expect(count == -1 && code == EPIPE)
      #expect(!Self.isBlocked() && !Self.isPending())
    }
  }

  @Test func aThreadThatBlocksTheSignalGoesOnBlockingIt() throws {
    let socket = try Self.closed()
    defer { close(socket) }
    var pipe = sigset_t()
    sigemptyset(&pipe)
    sigaddset(&pipe, SIGPIPE)
    pthread_sigmask(SIG_BLOCK, &pipe, nil)
    defer { pthread_sigmask(SIG_UNBLOCK, &pipe, nil) }
    _ = BrokenPipe.withoutSignal { send(socket, "x", 1, 0) }
    #expect(Self.isBlocked() && !Self.isPending())
  }
}
