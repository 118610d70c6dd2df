import Foundation

/// A write that waits for its turn.
///
/// It is run by the thread that serves the queue, perhaps several times, and finished exactly once, by the thread that took it out
/// of the queue.
class WriteJob: @unchecked Sendable {
  // Unchecked: `deadline` is touched under the queue's lock; `wasTriedAgain`, `wasGivenRoom` and what subclasses add belong to the
  // thread that took the job out of the queue.

  /// How long it waits for its turn.
  let patience: Duration
  /// When it has waited long enough.
  fileprivate(set) var deadline: ContinuousClock.Instant
  /// Whether it was run again because its transaction did not know a keyspace.
  final var wasTriedAgain = false
  /// Whether it was run again because the disk was full and the store's log held room.
  final var wasGivenRoom = false

  init(patience: Duration) {
    self.patience = patience
    deadline = ContinuousClock.now.advanced(by: patience)
  }

  /// Does the work and keeps its result. May be called again after a run that was not committed.
  func run(_ transaction: borrowing WriteTransaction) throws {}

  /// Notifies the waiting thread: nil when the last run was committed, else why not.
  func finish(_ error: (any Error)?) {}
}

/// A write with a result.
final class TypedWriteJob<R: Sendable>: WriteJob, @unchecked Sendable {
  // Unchecked: see `WriteJob`.
  private let body: @Sendable (borrowing WriteTransaction) throws -> R
  private let completion: @Sendable (Result<R, any Error>) -> Void
  private var result: R?

  init(
    patience: Duration, _ body: @escaping @Sendable (borrowing WriteTransaction) throws -> R,
    completion: @escaping @Sendable (Result<R, any Error>) -> Void
  ) {
    self.body = body
    self.completion = completion
    super.init(patience: patience)
  }

  override func run(_ transaction: borrowing WriteTransaction) throws { result = try body(transaction) }

  override func finish(_ error: (any Error)?) {
    if let error {
      completion(.failure(error))
    } else if let result {
      completion(.success(result))
    } else {
      trap("a write was reported as committed that never ran")
    }
  }
}

/// The line of writes in front of one environment's writer thread.
///
///     submit ──▶ no thread writes or waits: written by the calling thread (a leader)
///        └─────▶ otherwise it waits ──▶ writer thread, one after the other
///
/// One thread at a time serves the queue: the writer thread or a leader. A thread that comes later never goes ahead of one that waits.
///
/// LMDB can wait for another process's writer but not stop waiting. So a job stays in this queue until the
/// writer thread holds the write lock, and a second thread, which only watches the clock, takes out the jobs
/// whose time is over. The watcher sleeps until the earliest deadline it knows, so that it wakes about once
/// per `patience` and not once per job.
final class WriterQueue: @unchecked Sendable {
  // Unchecked: everything is touched under `lock`.
  private let lock = SystemLock()
  private let watch = SystemLock()
  private var jobs: [WriteJob] = []
  private var head = 0
  private var isClosing = false
  /// Whether some thread serves: runs a job, or is about to begin.
  private var isServed = false
  /// Whether the thread that serves has finished its job and reports the result.
  private var isFinishing = false
  /// How many threads wait for that in order to lead.
  private var comingLeaders = 0
  /// Whether the writer thread knows that no more jobs come.
  private var hasEnded = false
  /// Whether the threads run: they start with the first job.
  private var hasThreads = false
  /// When the watcher looks next; nil when it sleeps until it is woken. Under `watch`.
  private var nextLook: ContinuousClock.Instant?
  private var watcherShouldEnd = false

  /// What happens to a job.
  enum Admission {
    /// It waits, and the caller must start the two threads first.
    case queuedFirst
    /// It waits.
    case queued
    /// The queue takes no more jobs.
    case refused
  }

  /// Adds a job at the end.
  func add(_ job: WriteJob) -> Admission {
    let admission = lock.withLock { () -> Admission in
      if isClosing { return .refused }
      jobs.append(job)
      lock.wakeAll()
      if hasThreads { return .queued }
      hasThreads = true
      return .queuedFirst
    }
    if admission != .refused { noteDeadline(job.deadline) }
    return admission
  }

  /// Puts a job that must run again in front, with a fresh deadline.
  func putBack(_ job: WriteJob) {
    let deadline = ContinuousClock.now.advanced(by: job.patience)
    lock.withLock {
      job.deadline = deadline
      if head > 0 {
        head -= 1
        jobs[head] = job
      } else {
        jobs.insert(job, at: 0)
      }
    }
    noteDeadline(deadline)
  }

  /// Waits for a job without taking it, and until it is this thread's turn to serve: the job's deadline, or nil when the queue is closed and
  /// empty. `endServing` must follow.
  func waitForJob() -> ContinuousClock.Instant? {
    lock.withLock {
      while isServed || head == jobs.count {
        if isClosing, !isServed {
          hasEnded = true
          return nil
        }
        lock.wait()
      }
      isServed = true
      return jobs[head].deadline
    }
  }

  /// Begins to serve, with a job that does not wait in the queue; false when another thread serves or waits. `endServing` must follow.
  ///
  /// A thread that was notified of the end of a write may come back before the notifying thread has ended its turn. It waits for that, since it takes no
  /// longer than a few instructions.
  func beginLeading() -> Bool {
    lock.withLock {
      while isFinishing, head == jobs.count, !isClosing {
        comingLeaders += 1
        lock.wait()
        comingLeaders -= 1
      }
      if isClosing || isServed || head < jobs.count { return false }
      isServed = true
      return true
    }
  }

  /// The thread that serves has ended its transaction, and only reports it: it waits for nothing more.
  func beginFinishing() { lock.withLock { isFinishing = true } }

  /// The next one may serve.
  func endServing() {
    lock.withLock {
      isServed = false
      isFinishing = false
      if head < jobs.count || isClosing || comingLeaders > 0 { lock.wakeAll() }
    }
  }

  /// Waits until a leader has come to the end. The queue is closed, so that no other one begins.
  func awaitLeader() { lock.withLock { while isServed { lock.wait() } } }

  /// What happens to a job that its leader has put back.
  enum Return {
    /// Nothing waits, or there is a writer thread that serves it.
    case none
    /// The caller must start the threads.
    case needsThreads
    /// The queue was closed, and never had a writer thread: these are never served.
    case refused([WriteJob])
  }

  /// Ensures that what a leader has put back is served. Called before `endServing`.
  func settleReturned() -> Return {
    lock.withLock {
      if hasThreads || head == jobs.count { return .none }
      if isClosing { return .refused(removeAll()) }
      hasThreads = true
      return .needsThreads
    }
  }

  private func removeAll() -> [WriteJob] {
    defer {
      jobs.removeAll()
      head = 0
    }
    return Array(jobs[head...])
  }

  /// Takes the first job; nil when all were taken out meanwhile.
  func take() -> WriteJob? {
    lock.withLock {
      guard head < jobs.count else { return nil }
      let job = jobs[head]
      head += 1
      if head == jobs.count {
        jobs.removeAll(keepingCapacity: true)
        head = 0
      } else if head > 256, head * 2 > jobs.count {
        jobs.removeFirst(head)
        head = 0
      }
      return job
    }
  }

  /// Takes no more jobs; those that wait are still served. Whether there is a writer thread to serve them.
  func close() -> Bool {
    lock.withLock {
      isClosing = true
      lock.wakeAll()
      return hasThreads
    }
  }

  /// Takes jobs again after `close`, as long as the writer thread has not come to the end. Whether it does.
  func reopen() -> Bool {
    lock.withLock {
      guard hasThreads, !hasEnded else { return false }
      isClosing = false
      return true
    }
  }

  /// Whether it takes jobs.
  var isOpen: Bool { lock.withLock { !isClosing } }

  /// Whether no job waits.
  var isEmpty: Bool { lock.withLock { head == jobs.count } }

  /// Takes out every job: the writer thread cannot be started.
  func abandon() -> [WriteJob] {
    lock.withLock {
      hasThreads = false
      return removeAll()
    }
  }

  // MARK: The watcher

  /// The watcher's life: calls `expire` with every job whose time is over, until `endWatcher`.
  func watchDeadlines(_ expire: (WriteJob) -> Void) {
    watch.lock()
    while !watcherShouldEnd {
      if let nextLook {
        if watch.wait(until: nextLook) { continue }
      } else {
        watch.wait()
        continue
      }
      nextLook = nil
      watch.unlock()
      let (expired, earliest) = takeExpired()
      for job in expired { expire(job) }
      if let earliest { noteDeadline(earliest) }
      watch.lock()
    }
    watch.unlock()
  }

  /// Ends the watcher. The writer thread calls it when it ends itself.
  func endWatcher() {
    watch.withLock {
      watcherShouldEnd = true
      watch.wakeAll()
    }
  }

  private func noteDeadline(_ deadline: ContinuousClock.Instant) {
    watch.withLock {
      if let nextLook, nextLook <= deadline { return }
      nextLook = deadline
      watch.wakeAll()
    }
  }

  private func takeExpired() -> (expired: [WriteJob], earliest: ContinuousClock.Instant?) {
    lock.withLock {
      let now = ContinuousClock.now
      var expired: [WriteJob] = []
      var kept: [WriteJob] = []
      for job in jobs[head...] {
        if job.deadline <= now { expired.append(job) } else { kept.append(job) }
      }
      if !expired.isEmpty {
        jobs = kept
        head = 0
      }
      return (expired, kept.map(\.deadline).min())
    }
  }
}
