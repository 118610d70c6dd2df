/// Prevents writes to a store during a longer operation, on the thread of that operation.
///
/// LMDB's write lock belongs to the store's writer thread. It waits there, with nothing written, until it is told what to do at the end.
final class SourceLock: @unchecked Sendable {
  // Unchecked: everything that changes is touched under `lock`.
  private enum State {
    case waiting
    case held
    /// What the writer thread does last.
    case decided((@Sendable () throws -> Void)?)
    case ended((any Error)?)
  }

  /// Ends the transaction without a commit.
  private struct NothingWritten: Error {}

  private let lock = SystemLock()
  private var state = State.waiting

  /// Waits for the lock as a save does.
  /// - Throws: `StorageError` `.busy` when another process keeps it too long, `.replaced`.
  init(_ environment: Environment, _ patience: Patience?) throws {
    environment.submitWrite(deadline: patience?.left) { transaction in
      guard let last = self.hold() else { throw NothingWritten() }
      // The store's file is about to get another name.
      try environment.retireLog(transaction)
      try last()
      // Nothing is to be committed, least of all to a file that has gone.
      throw NothingWritten()
    } completion: {
      self.finish($0)
    }
    try lock.withLock {
      while case .waiting = state { lock.wait() }
      if case .ended(let error?) = state { throw error }
    }
  }

  /// Runs `last` with the store still locked, then unlocks it. Calling it again does nothing.
  func end(_ last: (@Sendable () throws -> Void)? = nil) throws {
    try lock.withLock {
      if case .held = state {
        state = .decided(last)
        lock.wakeAll()
      }
      while true {
        if case .ended(let error) = state {
          if let error { throw error }
          return
        }
        lock.wait()
      }
    }
  }

  /// On the writer thread: waits for what is to be done last.
  private func hold() -> (@Sendable () throws -> Void)? {
    lock.withLock {
      state = .held
      lock.wakeAll()
      while true {
        if case .decided(let last) = state { return last }
        lock.wait()
      }
    }
  }

  private func finish(_ result: Result<Void, any Error>) {
    lock.withLock {
      switch result {
      case .failure(let error) where !(error is NothingWritten): state = .ended(error)
      default: state = .ended(nil)
      }
      lock.wakeAll()
    }
  }
}
