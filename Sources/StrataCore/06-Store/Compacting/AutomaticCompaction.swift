import Dispatch
import Foundation
import Synchronization

/// Compacts a store by itself when more than half of its file is free, in a quiet moment, on a thread of its own.
///
/// ```
///   opened, or a commit ─▶ nothing more for two seconds ─▶ a look at the free list ─▶ compacted, when it is worth it
///        ▲                                                                                │
///        └──────────────── not again for a while, which doubles when it was in vain ◀─────┘
/// ```
///
/// The store keeps it, and it does not keep the store.
final class AutomaticCompaction: Sendable {
  /// When it is worth it.
  struct Policy: Sendable, Hashable {
    /// So many bytes must be free, besides half of the file.
    var leastFreeBytes = 8 << 20
    /// How long nothing was committed.
    var quietTime = Duration.seconds(2)
    /// How long there is no other attempt.
    var pause = Duration.seconds(60)
    static let longestPause = Duration.seconds(3_600)
  }

  private struct State {
    /// Counts commits, so that a look that is due can tell whether there was another one.
    var commits = 0
    var isDue = false
    var pause: Duration
    var nextAttempt: ContinuousClock.Instant?
  }

  private let policy: Policy
  private let state: Mutex<State>

  init(_ policy: Policy) {
    self.policy = policy
    state = Mutex(State(pause: policy.pause))
  }

  /// The store was opened, or something was committed to it.
  func noteCommit(of store: LMDBStore) {
    let begins = state.withLock { state in
      state.commits += 1
      defer { state.isDue = true }
      return !state.isDue
    }
    if begins { schedule(store, after: policy.quietTime) }
  }

  private func schedule(_ store: LMDBStore, after delay: Duration) {
    let seen = state.withLock { $0.commits }
    DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + delay.interval) { [weak store] in
      guard let store else { return }
      self.look(at: store, seen: seen)
    }
  }

  private func look(at store: LMDBStore, seen: Int) {
    let delay: Duration? = state.withLock { state in
      if state.commits != seen { return policy.quietTime }
      guard let next = state.nextAttempt else { return nil }
      let rest = ContinuousClock.now.duration(to: next)
      return rest > .zero ? rest : nil
    }
    if let delay { return schedule(store, after: delay) }
    do {
      guard try isWorthIt(store) else { return rest(store, seen) }
      try store.compact()
      settle(store, seen, isInVain: try isWorthIt(store))
    } catch let error as StorageError where error.kind == .closed {
      state.withLock { $0.isDue = false }
    } catch let error as StorageError where error.kind == .busy {
      // Another process does it.
      settle(store, seen, isInVain: true)
    } catch {
      settle(store, seen, isInVain: true)
      Diagnostics.write("the store \(store.parts.environment.path) could not be compacted", error, .warning)
    }
  }

  /// After an attempt in vain there is another one when the pause is over, whether anything is committed or not.
  private func settle(_ store: LMDBStore, _ seen: Int, isInVain: Bool) {
    let pause = state.withLock { state in
      state.pause = isInVain ? min(state.pause * 2, Policy.longestPause) : policy.pause
      state.nextAttempt = .now + state.pause
      return state.pause
    }
    if isInVain { schedule(store, after: pause) } else { rest(store, seen) }
  }

  /// Nothing is due until the next commit, which there may have been.
  private func rest(_ store: LMDBStore, _ seen: Int) {
    let hasMore = state.withLock { state in
      state.isDue = state.commits != seen
      return state.isDue
    }
    if hasMore { schedule(store, after: policy.quietTime) }
  }

  private func isWorthIt(_ store: LMDBStore) throws -> Bool {
    let figures = try store.statistics()
    return figures.freeBytes >= policy.leastFreeBytes && figures.freeBytes * 2 > figures.fileSize
  }
}

extension Duration {
  /// The same for Dispatch.
  fileprivate var interval: DispatchTimeInterval {
    .milliseconds(
      Int(clamping: components.seconds) * 1_000 + Int(components.attoseconds / 1_000_000_000_000_000))
  }
}
