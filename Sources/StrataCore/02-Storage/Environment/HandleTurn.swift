/// Lets one thread after the other open keyspaces.
///
/// LMDB gives a new handle the next number that its transaction knows of; two transactions at once would give out the same one.
final class HandleTurn: @unchecked Sendable {
  // Unchecked: `isTaken` is touched under `lock`.
  private let lock = SystemLock()
  private var isTaken = false

  /// Runs `body` when no other thread opens keyspaces; nil when that has not come by `deadline`.
  func take<R>(until deadline: ContinuousClock.Instant, _ body: () throws -> R) rethrows -> R? {
    let isOurs = lock.withLock {
      while isTaken { guard lock.wait(until: deadline) else { return false } }
      isTaken = true
      return true
    }
    guard isOurs else { return nil }
    defer {
      lock.withLock {
        isTaken = false
        lock.wakeAll()
      }
    }
    return try body()
  }
}
