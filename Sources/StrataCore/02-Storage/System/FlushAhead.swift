import CLMDBShim

/// Has the system begin to write to the disk what a large commit has handed it so far, while LMDB hands it the rest.
///
///     commit    write  write  write  write  … flush, which finds little left ─▶ anchor
///     beside        begin  begin  begin  …
///
/// LMDB hands all changed pages to the system first and has them flushed then: the disk is idle for the first half and the
/// processor for the second. What is begun here the system may begin by itself at any time, with the same outcome: the commit waits for
/// LMDB's own flush and reports what that reports. Where the system has no such call nothing happens.
///
/// Unchecked: the two flags are touched under `lock`.
final class FlushAhead: @unchecked Sendable {
  private let lock = SystemLock()
  private var isOver = false
  private var isBeginning = false
  private let descriptor: mdb_filehandle_t

  private init(_ descriptor: mdb_filehandle_t) { self.descriptor = descriptor }

  /// Commits `transaction`, and flushes ahead when its `work` has taken long enough for many pages. Returns LMDB's code.
  static func commit(_ transaction: OpaquePointer, flushes: Bool, work: Duration) -> Int32 {
    var descriptor = mdb_filehandle_t()
    guard flushes, work >= leastWork, mdb_env_get_fd(mdb_txn_env(transaction), &descriptor) == 0 else {
      return mdb_txn_commit(transaction)
    }
    let flush = FlushAhead(descriptor)
    // Without a thread the commit takes as long as it did before. Not one of Dispatch's: those open files of their own.
    guard (try? SystemThread.start("strata-flush") { flush.run() }) != nil else {
      return mdb_txn_commit(transaction)
    }
    defer { flush.stop() }
    return mdb_txn_commit(transaction)
  }

  /// A transaction that was made in less time has changed a few hundred pages at most.
  private static let leastWork = Duration.milliseconds(2)
  /// How long LMDB goes on writing between two looks: some hundred pages.
  private static let interval = Duration.microseconds(500)

  private func run() {
    lock.withLock {
      var code: Int32 = 0
      while code == 0 {
        let end = ContinuousClock.now + Self.interval
        while !isOver, lock.wait(until: end) {}
        if isOver { return }
        isBeginning = true
        lock.unlock()
        // An error ends this, and is LMDB's flush's to report: the commit does not hang on what is begun here.
        code = strata_begin_flush(descriptor)
        lock.lock()
        isBeginning = false
        lock.wakeAll()
      }
    }
  }

  /// Afterwards the descriptor is not used any more.
  private func stop() {
    lock.withLock {
      isOver = true
      lock.wakeAll()
      while isBeginning { lock.wait() }
    }
  }
}
