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
    try WithheldSignal.run(SIGXFSZ, body)
  }
}
