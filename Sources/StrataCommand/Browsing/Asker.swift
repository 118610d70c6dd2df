import StrataCore
import Synchronization

/// Who has asked. They may be gone before there is an answer, and then nobody needs it.
///
/// May be used from any thread.
package final class Asker: Sendable {
  private struct State {
    var isGone = false
    var next = 0
    var ends: [Int: @Sendable () -> Void] = [:]
  }
  private let state = Mutex(State())

  package init() {}

  /// Whether nobody waits for the answer any more.
  package var isGone: Bool { state.withLock { $0.isGone } }

  /// Says that nobody waits any more: ends what is being done for them.
  package func leave() {
    let ends = state.withLock { state in
      defer { state.ends = [:] }
      state.isGone = true
      return Array(state.ends.values)
    }
    for end in ends { end() }
  }

  /// Carries out `body`. `end` is called once when they leave meanwhile, on the thread of whoever says so: it is to make `body` throw soon.
  /// - Throws: `CancellationError` when they are gone already; what `body` throws.
  func whileThere<R>(_ end: @escaping @Sendable () -> Void, _ body: () throws -> R) throws -> R {
    let number = try state.withLock { state in
      if state.isGone { throw CancellationError() }
      state.next += 1
      state.ends[state.next] = end
      return state.next
    }
    defer { state.withLock { _ = $0.ends.removeValue(forKey: number) } }
    return try body()
  }

  /// Carries out `body` with a monitor of fetches, which are stopped when they leave.
  /// - Throws: `CancellationError` when they have left; what `body` throws.
  func monitoring<R>(_ body: (FetchMonitor) throws -> R) throws -> R {
    let monitor = FetchMonitor()
    return try whileThere({ monitor.stop() }) { try body(monitor) }
  }
}
