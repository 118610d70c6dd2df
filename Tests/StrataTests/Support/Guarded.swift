import Foundation

/// A value under a lock that the thread sanitizer sees. (A contended `Mutex` of the standard library is taken in code that is not
/// instrumented, and what it guards looks like a race.)
final class Guarded<Value>: @unchecked Sendable {
  // Safe: the value is only touched under the lock.
  private let lock = NSLock()
  private var value: Value

  init(_ value: Value) { self.value = value }

  func withLock<R>(_ body: (inout Value) throws -> R) rethrows -> R { try lock.withLock { try body(&value) } }
}
