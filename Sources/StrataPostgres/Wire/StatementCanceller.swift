import CLibPQ
import Foundation

/// Asks the server to give up the statement that a session is at. May be used from any thread, while another one waits for the statement.
final class StatementCanceller: @unchecked Sendable {
  // @unchecked Sendable: libpq's cancel object never changes, and `PQcancel` may be called from any thread.

  private let handle: OpaquePointer

  /// Takes over what `PQgetCancel` has made.
  init(_ handle: OpaquePointer) { self.handle = handle }

  deinit { PQfreeCancel(handle) }

  /// Nothing happens when the session is at no statement, or the server is gone. The corresponding libpq function is `PQcancel`.
  func cancel() {
    var words = [CChar](repeating: 0, count: 256)
    BrokenPipe.withoutSignal { _ = PQcancel(handle, &words, Int32(words.count)) }
  }
}

/// Writing to a connection that the other side has closed raises SIGPIPE, which ends a program that does not ignore it. libpq keeps it away from everything but `PQcancel`.
enum BrokenPipe {
  /// Runs `body` on this thread, and takes back the SIGPIPE that it raises. What the thread blocked before, and what the program does about the signal, stays as it is.
  static func withoutSignal<Result>(_ body: () throws -> Result) rethrows -> Result {
    var (pipe, before) = (sigset_t(), sigset_t())
    sigemptyset(&pipe)
    sigaddset(&pipe, SIGPIPE)
    let wasPending = isPending
    pthread_sigmask(SIG_BLOCK, &pipe, &before)
    defer {
      if !wasPending, isPending {
        #if canImport(Darwin)
          var signal: Int32 = 0
          sigwait(&pipe, &signal)
        #else
          // One for the whole process may have gone to another thread meanwhile: nothing is waited for.
          var moment = timespec()
          while sigtimedwait(&pipe, nil, &moment) < 0, errno == EINTR {}
        #endif
      }
      pthread_sigmask(SIG_SETMASK, &before, nil)
    }
    return try body()
  }

  private static var isPending: Bool {
    var pending = sigset_t()
    sigpending(&pending)
    return sigismember(&pending, SIGPIPE) == 1
  }
}
