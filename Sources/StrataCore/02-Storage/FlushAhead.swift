import CLMDBShim
import Dispatch
import Synchronization

/// Has the system begin to write to the disk what a large commit has handed it so far, while LMDB hands it the rest.
///
///     commit    write  write  write  write  … flush, which finds little left ─▶ anchor
///     beside        begin  begin  begin  …
///
/// LMDB hands all changed pages to the system first and has them flushed then: the disk is idle for the first half and the
/// processor for the second. What is begun here the system begins by itself at any time, and what goes wrong then it tells the flush: a
/// commit is as durable as before. Where the system has no such call nothing happens.
final class FlushAhead: Sendable {
  private struct State {
    var isOver = false
    var isBeginning = false
  }

  private let descriptor: mdb_filehandle_t
  private let state = Mutex(State())
  private let end = DispatchSemaphore(value: 0)
  private let idle = DispatchSemaphore(value: 0)

  private init(_ descriptor: mdb_filehandle_t) { self.descriptor = descriptor }

  /// Commits `transaction`, and flushes ahead when its `work` has taken long enough for many pages. Returns LMDB's code.
  static func commit(_ transaction: OpaquePointer, flushes: Bool, work: Duration) -> Int32 {
    var descriptor = mdb_filehandle_t()
    guard flushes, work >= fewest, mdb_env_get_fd(mdb_txn_env(transaction), &descriptor) == 0 else {
      return mdb_txn_commit(transaction)
    }
    let flush = FlushAhead(descriptor)
    flush.start()
    defer { flush.stop() }
    return mdb_txn_commit(transaction)
  }

  /// A transaction that was made in less time has changed a few hundred pages at most.
  private static let fewest = Duration.milliseconds(2)
  /// How long LMDB goes on writing between two looks: some hundred pages.
  private static let interval = DispatchTimeInterval.microseconds(500)

  private func start() {
    DispatchQueue.global(qos: .userInitiated).async { [self] in
      while end.wait(timeout: .now() + Self.interval) == .timedOut, begin() {}
    }
  }

  /// False when the commit is over, or the system cannot do it.
  private func begin() -> Bool {
    let isOver = state.withLock { state in
      state.isBeginning = !state.isOver
      return state.isOver
    }
    if isOver { return false }
    let code = strata_begin_flush(descriptor)
    return state.withLock { state in
      state.isBeginning = false
      if state.isOver { idle.signal() }
      return !state.isOver && code == 0
    }
  }

  /// Afterwards nobody uses the descriptor any more.
  private func stop() {
    let isBeginning = state.withLock { state in
      state.isOver = true
      return state.isBeginning
    }
    end.signal()
    if isBeginning { idle.wait() }
  }
}
