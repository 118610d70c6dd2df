import Synchronization

/// The standard library's mutex, in a form whose order the thread sanitizer sees.
///
/// On Linux a thread that has to wait for a `Synchronization.Mutex` takes it inside the standard library, which is built
/// without the sanitizer: whatever the mutex guards then looks like a race (Swift 6.3; six lines show it). Here who takes
/// the mutex also reads, and who leaves it also writes, an atomic flag that the sanitizer knows. Both are plain moves on
/// most processors.
///
/// It has the standard library's name, so that the other one is not taken by accident. May be used from any thread.
package struct Mutex<Value>: ~Copyable, Sendable {
  private let base: Synchronization.Mutex<Value>
  private let order = Atomic<Bool>(false)

  /// Guards `value` from now on.
  package init(_ value: consuming sending Value) { base = Synchronization.Mutex(value) }

  /// Calls `body` with the value while no other thread can look at it. Not re-entrant.
  @inline(__always)
  package borrowing func withLock<Result, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    try base.withLock { value throws(Failure) -> sending Result in
      _ = order.load(ordering: .acquiring)
      defer { order.store(false, ordering: .releasing) }
      return try body(&value)
    }
  }
}
