import Foundation

/// A mutex of the operating system with its condition variables, at a fixed address.
///
/// Chosen over `Synchronization.Mutex` where waiting for a condition, or the thread sanitizer's view of the
/// ordering, is part of the job. Uncontended lock and unlock cost about 15 ns. The owner keeps it alive.
package final class SystemLock: @unchecked Sendable {
  // Unchecked: the two pointers never change after init and point at objects made for use by many threads.
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

  /// - Parameter isRecursive: whether the thread that holds it may lock it again.
  package init(isRecursive: Bool = false) {
    mutex.initialize(to: pthread_mutex_t())
    condition.initialize(to: pthread_cond_t())
    var attributes = pthread_mutexattr_t()
    pthread_mutexattr_init(&attributes)
    if isRecursive { pthread_mutexattr_settype(&attributes, Int32(PTHREAD_MUTEX_RECURSIVE)) }
    var code = pthread_mutex_init(mutex, &attributes)
    pthread_mutexattr_destroy(&attributes)
    precondition(code == 0, "a mutex could not be made: \(code)")
    #if canImport(Darwin)
      code = pthread_cond_init(condition, nil)
    #else
      // Deadlines must not move when the clock is set.
      var clock = pthread_condattr_t()
      pthread_condattr_init(&clock)
      pthread_condattr_setclock(&clock, CLOCK_MONOTONIC)
      code = pthread_cond_init(condition, &clock)
      pthread_condattr_destroy(&clock)
    #endif
    precondition(code == 0, "a condition variable could not be made: \(code)")
  }

  deinit {
    pthread_cond_destroy(condition)
    pthread_mutex_destroy(mutex)
    condition.deallocate()
    mutex.deallocate()
  }

  @inline(__always)
  package func lock() { pthread_mutex_lock(mutex) }

  @inline(__always)
  package func unlock() { pthread_mutex_unlock(mutex) }

  /// Runs `body` with the lock held.
  @inline(__always)
  package func withLock<R>(_ body: () throws -> R) rethrows -> R {
    lock()
    defer { unlock() }
    return try body()
  }

  /// Runs `body` with the lock held, unless another thread holds it: nil then.
  @inline(__always)
  package func withLockIfAvailable<R>(_ body: () throws -> R) rethrows -> R? {
    guard pthread_mutex_trylock(mutex) == 0 else { return nil }
    defer { unlock() }
    return try body()
  }

  /// Gives up the lock until a thread calls `wakeAll()`; may return for no reason. The lock must be held.
  package func wait() { pthread_cond_wait(condition, mutex) }

  /// The same, but not past `deadline`. Whether the deadline is still ahead.
  package func wait(until deadline: ContinuousClock.Instant) -> Bool {
    let left = ContinuousClock.now.duration(to: deadline)
    guard left > .zero else { return false }
    let (seconds, attoseconds) = left.components
    // A wait of more than a day may as well end early: callers look again.
    var seconds64 = min(seconds, 86_400)
    var nanoseconds = attoseconds / 1_000_000_000
    #if canImport(Darwin)
      var relative = timespec(tv_sec: Int(seconds64), tv_nsec: Int(nanoseconds))
      pthread_cond_timedwait_relative_np(condition, mutex, &relative)
    #else
      var time = timespec()
      clock_gettime(CLOCK_MONOTONIC, &time)
      nanoseconds += Int64(time.tv_nsec)
      seconds64 += Int64(time.tv_sec) + nanoseconds / 1_000_000_000
      time = timespec(tv_sec: Int(seconds64), tv_nsec: Int(nanoseconds % 1_000_000_000))
      pthread_cond_timedwait(condition, mutex, &time)
    #endif
    return ContinuousClock.now < deadline
  }

  /// Wakes one of the threads in `wait`.
  package func wakeOne() { pthread_cond_signal(condition) }

  /// Wakes every thread in `wait`.
  package func wakeAll() { pthread_cond_broadcast(condition) }
}
