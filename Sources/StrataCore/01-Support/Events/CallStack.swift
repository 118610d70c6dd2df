import Foundation

/// The functions that are being called, by their return addresses: enough to tell one place of a program from another.
package enum CallStack {
  /// So many are looked at.
  static let depth = 40
  /// So many of them tell places apart: what is further out does not make another place of a loop.
  package static let significant = 24

  /// Hands the return addresses to `body`, the innermost first. None where the system does not tell them.
  @inline(never)
  static func withAddresses<R>(_ body: (UnsafeBufferPointer<UnsafeMutableRawPointer?>) -> R) -> R {
    withUnsafeTemporaryAllocation(of: UnsafeMutableRawPointer?.self, capacity: depth) { buffer in
      guard let backtrace, let base = buffer.baseAddress else {
        return body(UnsafeBufferPointer(rebasing: buffer[..<0]))
      }
      let count = Int(backtrace(base, Int32(depth)))
      return body(UnsafeBufferPointer(rebasing: buffer[..<max(0, min(count, depth))]))
    }
  }

  /// The C library's function; nil where it has none, or the program is linked so that it cannot be looked up.
  private static let backtrace: Function? = {
    // Unsafe: the C library declares it so, in a header that its module leaves out.
    dlsym(handle, "backtrace").map { unsafeBitCast($0, to: Function.self) }
  }()
  private typealias Function =
    @convention(c) (UnsafeMutablePointer<UnsafeMutableRawPointer?>, Int32) -> Int32

  #if canImport(Darwin)
    // Unsafe: the number is how the system spells “in all libraries”.
    private nonisolated(unsafe) static let handle = UnsafeMutableRawPointer(bitPattern: -2)
  #else
    private static var handle: UnsafeMutableRawPointer? { nil }
  #endif
}
