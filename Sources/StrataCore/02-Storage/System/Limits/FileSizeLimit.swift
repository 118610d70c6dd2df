import Foundation

/// How large this process may make a file: `ulimit -f`, RLIMIT_FSIZE.
///
/// A write beyond it raises SIGXFSZ, which ends a process that has said nothing else. Threads of this package block the signal for good (`SystemThread`); whatever else
/// writes to files does so in `withoutSignal`. Then the call fails with EFBIG, which is a ``StorageError`` of kind `diskFull`.
package enum FileSizeLimit {
  /// In bytes; nil for any size.
  static var current: Int? {
    var limit = rlimit()
    guard getrlimit(resource, &limit) == 0, limit.rlim_cur < rlim_t(Int.max) else { return nil }
    return Int(limit.rlim_cur)
  }

  #if canImport(Darwin)
    private static let resource = RLIMIT_FSIZE
  #else
    private static let resource = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
  #endif

  /// Runs `body`, whose writes beyond the limit fail and raise no signal. So do those of threads that it makes, which inherit that. Three calls of the system; may be nested.
  package static func withoutSignal<R>(_ body: () throws -> R) rethrows -> R {
    var signals = sigset_t()
    var before = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGXFSZ)
    pthread_sigmask(SIG_BLOCK, &signals, &before)
    defer {
      // Who had it blocked before keeps it so, with what has come.
      if sigismember(&before, SIGXFSZ) == 0 {
        takePending(&signals)
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
      }
    }
    return try body()
  }

  /// Forgets the signal that a write has raised: it would be delivered as soon as it is permitted again.
  private static func takePending(_ signals: inout sigset_t) {
    #if canImport(Darwin)
      var pending = sigset_t()
      var taken: Int32 = 0
      if sigpending(&pending) == 0, sigismember(&pending, SIGXFSZ) == 1 { sigwait(&signals, &taken) }
    #else
      var atOnce = timespec()
      while sigtimedwait(&signals, nil, &atOnce) < 0, errno == EINTR {}
    #endif
  }
}
