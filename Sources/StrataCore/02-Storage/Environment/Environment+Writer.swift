import CLMDBShim
import Foundation
import Synchronization

/// Writing, by one thread at a time.
///
///     submit ─▶ queue ─▶ begin (waits for other processes) ─▶ run ─▶ commit ─▶ finish         on the writer thread
///        │        ▲                                            │        │
///        │        └────────── grow, reopen ◀── map full ───────┴────────┘
///        └─▶ no writer: begin (never waits) ─▶ run ─▶ commit ─▶ finish                         on the calling thread
///
/// LMDB's write lock is bound to a thread, and waiting for it cannot be stopped; so writes that may have to wait run on a thread
/// of their own, and a job is taken out of the queue only once the lock is held. `FileTurn` says beforehand whether the lock is free.
extension Environment {
  /// Runs `body` in a write transaction on the writer thread, commits it, and returns its result.
  ///
  /// `body` may run several times before a commit succeeds, so it must build its result from nothing. Inside
  /// it, nothing of the user's may be called. Called on the writer thread, or inside a read, it stops the
  /// process: "write inside a transaction".
  ///
  /// - Parameter deadline: how long to wait for its turn; nil means the environment's `writerDeadline`.
  /// - Throws: what `body` throws, and then nothing is written; `StorageError`: `.busy` when the turn did
  ///   not come, `.replaced` when the file was deleted or replaced, `.diskFull`, `.permission` for a
  ///   read-only environment, `.closed`, `.forked`. After a failed commit `isOutcomeUnknown` says whether it
  ///   may have happened all the same.
  func write<R: Sendable>(
    deadline: Duration? = nil, _ body: @escaping @Sendable (borrowing WriteTransaction) throws -> R
  ) throws -> R {
    try checkProcess()
    let current = SystemThread.current
    if writerThread.load(ordering: .relaxed) == current || leaderThread.load(ordering: .relaxed) == current
      || pool.isCurrentThreadInside
    {
      trap("write inside a transaction: the writer would wait for itself. Use the transaction at hand.")
    }
    let outcome = Outcome<R>()
    submitWrite(deadline: deadline, body) { outcome.set($0) }
    return try outcome.wait().get()
  }

  /// The same without waiting: `completion` gets the result.
  ///
  /// Completions run on the writer thread, in the order of the commits; those of writes whose turn did not
  /// come run on the thread that watches the deadlines. They must be short and must not write.
  ///
  /// - Parameter here: the calling thread may write by itself when no other thread writes or waits: then all is done, and `completion` was called, when
  ///   this returns. For short writes whose callers wait for them anyway.
  func submitWrite<R: Sendable>(
    deadline: Duration? = nil, here: Bool = false,
    _ body: @escaping @Sendable (borrowing WriteTransaction) throws -> R,
    completion: @escaping @Sendable (Result<R, any Error>) -> Void
  ) {
    let job = TypedWriteJob(patience: deadline ?? options.writerDeadline, body, completion: completion)
    do {
      try checkProcess()
      if isReadOnly {
        throw StorageError(
          .permission, operation: "mdb_txn_begin", path: path, detail: "The store was opened read-only.")
      }
      if here, lead(job) { return }
      switch queue.add(job) {
      case .queued: break
      case .queuedFirst: startThreads()
      case .refused: throw closedError("mdb_txn_begin")
      }
    } catch {
      job.finish(error)
    }
  }

  /// The error after the last `close`.
  func closedError(_ operation: String) -> StorageError {
    StorageError(.closed, operation: operation, path: path, detail: "The store was closed.")
  }

  private func startThreads() {
    do {
      try SystemThread.start("strata-writer") { self.runWriter() }
    } catch {
      // Other threads may have queued behind this job: they would never be served.
      for job in queue.abandon() { job.finish(error) }
      return
    }
    // Without the watcher deadlines would not be kept; that beats not writing at all.
    try? SystemThread.start("strata-deadline") { self.runWatcher() }
  }

  private func runWriter() {
    writerThread.store(SystemThread.current, ordering: .relaxed)
    while let deadline = queue.waitForJob() {
      do {
        try serve(until: deadline)
      } catch let error as StorageError where error.kind == .busy && error.code == 0 {
        // The gate stayed shut; the watcher takes out the jobs whose time is over.
      } catch {
        // The transaction could not even begin: that is the answer to the first in line.
        if let job = queue.take() { finish(job, error) }
      }
      queue.endServing()
    }
    queue.endWatcher()
    writerThread.store(0, ordering: .relaxed)
    finishClosing()
  }

  private func runWatcher() {
    watcherThread.store(SystemThread.current, ordering: .relaxed)
    queue.watchDeadlines { job in
      job.finish(
        StorageError(
          .busy, operation: "mdb_txn_begin", path: path,
          detail: "Another program kept the store locked for writing for \(job.patience)."))
      // Closing the store need not wait any longer, either.
      lock.withLock { lock.wakeAll() }
    }
    watcherThread.store(0, ordering: .relaxed)
  }

  /// Runs `job` on the calling thread if no other thread writes or waits to; false when it has to queue up.
  func lead(_ job: WriteJob) -> Bool {
    guard queue.beginLeading() else { return false }
    defer { queue.endServing() }
    guard let transaction = beginWriteAtOnce() else { return false }
    leaderThread.store(SystemThread.current, ordering: .relaxed)
    defer { leaderThread.store(0, ordering: .relaxed) }
    serve(job, transaction)
    switch queue.settleReturned() {
    case .none: break
    case .needsThreads: startThreads()
    case .refused(let jobs): for job in jobs { job.finish(closedError("mdb_txn_begin")) }
    }
    return true
  }

  /// Begins a transaction, takes the first job, and runs it.
  private func serve(until deadline: ContinuousClock.Instant) throws {
    let transaction = try beginWrite(until: deadline)
    guard let job = queue.take() else {
      mdb_txn_abort(transaction)
      return leaveWriting()
    }
    serve(job, transaction)
  }

  /// Runs `job`. A job that must be run again goes back into the queue.
  private func serve(_ job: WriteJob, _ transaction: OpaquePointer) {
    do {
      try checkIdentity()
      try LastCommit.requireBase(ofWriting: transaction, path: path)
    } catch {
      mdb_txn_abort(transaction)
      leaveWriting()
      finish(job, error)
      return
    }
    let outcome = run(job, transaction)
    var hasLog = false
    if case .failed = outcome, let log { hasLog = log.isInForce && log.reasonToRecover == nil }
    leaveWriting()
    switch outcome {
    case .committed:
      finish(job, nil)
    case .failed(let error as StorageError) where error.code == EINVAL && !job.wasTriedAgain:
      // A reader has opened a keyspace that another process has made since this transaction began, which does not know it.
      job.wasTriedAgain = true
      queue.putBack(job)
    case .failed(let error as StorageError)
    where error.kind == .diskFull && !error.isOutcomeUnknown && hasLog && !job.wasGivenRoom:
      // The log has room of its own, and keeps pages that became free since its checkpoint.
      job.wasGivenRoom = true
      log?.wantRoom()
      queue.putBack(job)
    case .failed(let error):
      finish(job, error)
    case .needsRoom:
      do {
        try grow(until: .now.advanced(by: job.patience))
        queue.putBack(job)
      } catch {
        finish(job, error)
      }
    case .needsReopening(let error, let transactionID):
      finish(job, afterReopening(error, transactionID))
    }
  }

  /// Reports how `job` ended. A thread that comes to write meanwhile waits until this thread no longer serves: commits are reported in their order.
  private func finish(_ job: WriteJob, _ error: (any Error)?) {
    queue.beginFinishing()
    job.finish(error)
  }

  /// The transaction has ended: others may write.
  private func leaveWriting() {
    turn.leave()
    pool.leaveWriter()
  }

  private enum WriteOutcome {
    case committed
    case failed(any Error)
    case needsRoom
    case needsReopening(StorageError, transactionID: Int)
  }

  /// A write transaction that this thread holds; the writer's section is entered.
  private func beginWrite(until deadline: ContinuousClock.Instant) throws -> OpaquePointer {
    while true {
      try checkProcess()
      try recoverIfNeeded(until: deadline)
      let environment: OpaquePointer
      do {
        environment = try pool.enterWriter(until: deadline)
      } catch let error as StorageError where error.code == MDB_PANIC {
        try reopen(until: deadline)
        continue
      }
      // Before the transaction begins, which sees then that their pages are free.
      endReleasedPins(waits: false)
      var transaction: OpaquePointer?
      isAwaitingOthers.store(true, ordering: .releasing)
      let asked = Watching.concerns(.waits) ? ContinuousClock.now : nil
      let hasWaited = turn.take()
      if let asked, hasWaited {
        let (path, time) = (path, ContinuousClock.now - asked)
        // This thread holds the locks now.
        StrataObservers.tellLater { .wait(WaitEvent(subject: .otherProcess(path: path), duration: time)) }
      }
      let code = mdb_txn_begin(environment, nil, 0, &transaction)
      isAwaitingOthers.store(false, ordering: .releasing)
      if code == 0, let transaction { return transaction }
      leaveWriting()
      switch code {
      case MDB_MAP_RESIZED: try adoptForeignGrowth(until: deadline)
      case MDB_PANIC: try reopen(until: deadline)
      default: throw StorageError(code, "mdb_txn_begin", path: path)
      }
    }
  }

  /// The same for a thread that must not wait; nil when another thread writes, or in any unusual case, which the writer thread handles.
  private func beginWriteAtOnce() -> OpaquePointer? {
    // A file at its limit raises a signal that only the writer thread blocks (`SystemThread`).
    if FileSizeLimit.current != nil { return nil }
    if log?.reasonToRecover != nil { return nil }
    guard let environment = pool.enterWriterAtOnce() else { return nil }
    endReleasedPins(waits: false)
    guard turn.tryTake() else {
      pool.leaveWriter()
      return nil
    }
    var transaction: OpaquePointer?
    if mdb_txn_begin(environment, nil, 0, &transaction) == 0, let transaction { return transaction }
    leaveWriting()
    return nil
  }

  /// The point where a transaction becomes the newest one; `work` is how long it took to make. LMDB's code.
  ///
  /// - Throws: ``StorageError`` when there is a log that cannot be written; nothing is committed then.
  private func commit(_ transaction: OpaquePointer, work: Duration) throws -> Int32 {
    if let log { return try log.commit(transaction, work: work) }
    return FlushAhead.commit(transaction, flushes: options.flushesCommits, work: work)
  }

  private func run(_ job: WriteJob, _ transaction: OpaquePointer) -> WriteOutcome {
    var firstFailure: Int32 = 0
    let start = ContinuousClock.now
    let transactionID = mdb_txn_id(transaction)
    defer { log?.end() }
    do {
      try withUnsafeMutablePointer(to: &firstFailure) { failure in
        let recorder = try log?.begin(transaction)
        try job.run(
          WriteTransaction(
            read: ReadTransaction(handle: transaction), firstFailure: failure, recorder: recorder))
      }
    } catch {
      mdb_txn_abort(transaction)
      return firstFailure == MDB_MAP_FULL ? .needsRoom : .failed(error)
    }
    if firstFailure != 0 {
      mdb_txn_abort(transaction)
      return firstFailure == MDB_MAP_FULL ? .needsRoom : .failed(writeError(firstFailure, "mdb_put"))
    }
    let code: Int32
    do {
      code = try commit(transaction, work: ContinuousClock.now - start)
    } catch {
      return .failed(logError(error))
    }
    if code == 0 {
      countCommit()
      return .committed
    }
    if code == MDB_MAP_FULL { return .needsRoom }
    let error = writeError(code, "mdb_txn_commit")
    return isBroken() ? .needsReopening(error, transactionID: transactionID) : .failed(error)
  }

  /// Finds out after MDB_PANIC whether the commit may have happened.
  private func afterReopening(_ failure: StorageError, _ transactionID: Int) -> StorageError {
    var failure = failure
    failure.isOutcomeUnknown = true
    guard (try? reopen(until: .now.advanced(by: options.writerDeadline))) != nil else { return failure }
    // Commits are numbered: while the last one lies below ours, ours is not in the file.
    if let last = try? read({ $0.id }), last < transactionID { failure.isOutcomeUnknown = false }
    return failure
  }

  /// Whether LMDB refuses to continue because it could not write its anchor.
  private func isBroken() -> Bool {
    guard let (slot, environment) = try? pool.claim(until: .now.advanced(by: options.writerDeadline)) else {
      return true
    }
    defer { pool.leave(slot) }
    var probe: OpaquePointer?
    let code = mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &probe)
    if let probe { mdb_txn_abort(probe) }
    return code == MDB_PANIC
  }

  /// Looks for dead readers now and then: one that was killed keeps the file growing.
  private func countCommit() {
    bell.ring()
    commitsSinceReaderCheck += 1
    guard commitsSinceReaderCheck >= max(options.readerCheckInterval, 1) else { return }
    commitsSinceReaderCheck = 0
    guard let (slot, environment) = try? pool.claim(until: .now) else { return }
    defer { pool.leave(slot) }
    ReaderTable.check(environment)
    if Watching.concerns(.heldPages) { tellHeldPagesLater() }
  }

  /// Refuses to write when the names no longer lead to the files that were opened.
  ///
  /// Programs that open the new file take other locks than this process holds, and its commits would go to an invisible file.
  private func checkIdentity() throws {
    if options.isTemporary { return }
    let isSame = try file.status()?.identity == identity
    let isSameLock = try file.lockIdentity() == lock.withLock { lockIdentity }
    if isSame && isSameLock { return }
    throw StorageError(
      .replaced, operation: "lstat", path: path,
      detail: """
        The \(isSame ? "lock file beside the store" : "store's file") was deleted or replaced while it was \
        open. Nothing was written.
        """)
  }

  /// An input/output error of the log can mean that the disk is full, too.
  private func logError(_ error: any Error) -> any Error {
    guard let error = error as? StorageError, error.code == EIO else { return error }
    var found = writeError(error.code, error.operation)
    found.isOutcomeUnknown = error.isOutcomeUnknown
    return found
  }

  /// LMDB reports a short write as EIO. Mostly that is a full disk.
  private func writeError(_ code: Int32, _ operation: String) -> StorageError {
    var error = StorageError(code, operation, path: path)
    guard code == EIO else { return error }
    let size = (try? file.status())??.size ?? 0
    if let limit = FileSizeLimit.current, size + 1 << 20 >= limit {
      error.kind = .diskFull
      error.detail = "The file has reached the size limit of the process."
    } else if let free = file.system.freeSpace(file.directory), free < 1 << 20 {
      error.kind = .diskFull
      error.detail = "The disk is full."
    }
    return error
  }
}

/// Tells those in this process who wait for the commits of an environment whose file nobody can watch: it has no name.
final class CommitBell: Sendable {
  private let handlers = Mutex<[ObjectIdentifier: @Sendable () -> Void]>([:])
  private let isWatched = Atomic<Bool>(false)

  /// There is a commit.
  func ring() {
    if !isWatched.load(ordering: .relaxed) { return }
    for handler in handlers.withLock({ Array($0.values) }) { handler() }
  }

  /// Calls `handler` after every commit, on the thread that has written, for as long as what this returns is kept. It must not wait.
  func watch(_ handler: @escaping @Sendable () -> Void) -> any AnyObject & Sendable {
    let watch = Watch(self)
    handlers.withLock { handlers in
      handlers[ObjectIdentifier(watch)] = handler
      isWatched.store(true, ordering: .relaxed)
    }
    return watch
  }

  private func forget(_ watch: ObjectIdentifier) {
    // What the handler holds ends outside of the lock.
    let old = handlers.withLock { handlers in
      let old = handlers.removeValue(forKey: watch)
      isWatched.store(!handlers.isEmpty, ordering: .relaxed)
      return old
    }
    withExtendedLifetime(old) {}
  }

  private final class Watch: Sendable {
    private let bell: CommitBell
    init(_ bell: CommitBell) { self.bell = bell }
    deinit { bell.forget(ObjectIdentifier(self)) }
  }
}

/// A result that one thread waits for and another one sets.
private final class Outcome<R: Sendable>: @unchecked Sendable {
  // Unchecked: `result` is touched under `lock`.
  private let lock = SystemLock()
  private var result: Result<R, any Error>?

  func set(_ result: Result<R, any Error>) {
    lock.withLock {
      self.result = result
      lock.wakeAll()
    }
  }

  func wait() -> Result<R, any Error> {
    lock.withLock {
      while true {
        if let result { return result }
        lock.wait()
      }
    }
  }
}
