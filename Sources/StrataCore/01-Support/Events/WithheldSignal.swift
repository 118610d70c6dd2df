import Foundation

/// A signal that a call of the system raises in its own thread when it fails, and that ends a program which neither handles nor ignores it.
package enum WithheldSignal {
  /// Runs `body`, in which `number` is not delivered to this thread, nor to threads that it makes; what has come of it is forgotten. Who had it blocked before keeps it so, with what has come. Three
  /// calls of the system; may be nested.
  package static func run<R>(_ number: Int32, _ body: () throws -> R) rethrows -> R {
    var signals = sigset_t()
    var before = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, number)
    pthread_sigmask(SIG_BLOCK, &signals, &before)
    defer {
      if sigismember(&before, number) == 0 {
        takePending(number, &signals)
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
      }
    }
    return try body()
  }

  /// It would be delivered as soon as it is permitted again.
  private static func takePending(_ number: Int32, _ signals: inout sigset_t) {
    #if canImport(Darwin)
      var pending = sigset_t()
      var taken: Int32 = 0
      if sigpending(&pending) == 0, sigismember(&pending, number) == 1 { sigwait(&signals, &taken) }
    #else
      var atOnce = timespec()
      while sigtimedwait(&signals, nil, &atOnce) < 0, errno == EINTR {}
    #endif
  }
}
