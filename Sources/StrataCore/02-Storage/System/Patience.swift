import Synchronization

/// How long a task of several steps may wait for others, in all its steps together.
///
/// Only waiting counts, not the work: a migration may take as long as it takes. A wait that was in vain leaves nothing, so that no step after
/// it waits again.
package final class Patience: Sendable {
  private struct State {
    var left: Duration
    var vainWaits = 0
  }

  private let state: Mutex<State>

  package init(_ limit: Duration) { state = Mutex(State(left: limit)) }

  /// What is left of it.
  package var left: Duration { state.withLock { $0.left } }

  /// How many waits were in vain.
  var vainWaits: Int { state.withLock { $0.vainWaits } }

  /// Takes away what was waited.
  func spend(_ waited: Duration) { state.withLock { $0.left = max(.zero, $0.left - waited) } }

  /// Runs `body`, all of which is waiting, with the moment until which it may wait.
  package func wait<R>(_ body: (ContinuousClock.Instant) throws -> R) rethrows -> R {
    let begin = ContinuousClock.now
    let deadline = begin.advanced(by: left)
    do {
      let result = try body(deadline)
      spend(begin.duration(to: .now))
      return result
    } catch {
      noteFailure(error, after: begin.duration(to: .now))
      throw error
    }
  }

  fileprivate func noteFailure(_ error: any Error, after waited: Duration) {
    guard (error as? StorageError)?.kind == .busy else { return spend(waited) }
    state.withLock {
      $0.left = .zero
      $0.vainWaits += 1
    }
  }
}

extension Environment {
  /// `write`, which waits for its turn no longer than `patience` says; with nil as long as every write.
  func write<R: Sendable>(
    within patience: Patience?, _ body: @escaping @Sendable (borrowing WriteTransaction) throws -> R
  ) throws -> R {
    guard let patience else { return try write(body) }
    let begin = ContinuousClock.now
    let turn = Turn()
    defer { patience.spend(begin.duration(to: turn.came.withLock { $0 } ?? begin)) }
    do {
      return try write(deadline: patience.left) { transaction in
        turn.came.withLock { came in if came == nil { came = .now } }
        return try body(transaction)
      }
    } catch {
      if turn.came.withLock({ $0 == nil }) { patience.noteFailure(error, after: begin.duration(to: .now)) }
      throw error
    }
  }

  /// When a write's turn came.
  private final class Turn: Sendable {
    let came = Mutex<ContinuousClock.Instant?>(nil)
  }
}
