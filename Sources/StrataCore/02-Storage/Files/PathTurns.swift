/// Lets one thread after the other of this process do something with the file of a name.
///
/// The holder of the turn may take it again: what it calls may need one as well. There is no time-out.
final class PathTurns: @unchecked Sendable {
  // Unchecked: `owners` is touched under `lock`.
  private let lock = SystemLock()
  private var owners: [String: (thread: SystemThread.Number, depth: Int)] = [:]

  /// Runs `body` when no other thread has the turn at `path`.
  func take<R>(_ path: String, _ body: () throws -> R) rethrows -> R { try take(path) { _ in try body() } }

  /// The same; `body` is told whether this thread has had the turn already.
  func take<R>(_ path: String, _ body: (_ again: Bool) throws -> R) rethrows -> R {
    let current = SystemThread.current
    let again = lock.withLock {
      while let owner = owners[path], owner.thread != current { lock.wait() }
      owners[path, default: (current, 0)].depth += 1
      return (owners[path]?.depth ?? 0) > 1
    }
    defer {
      lock.withLock {
        owners[path]?.depth -= 1
        if owners[path]?.depth == 0 {
          owners[path] = nil
          lock.wakeAll()
        }
      }
    }
    return try body(again)
  }
}
