import Dispatch
import Foundation
import Synchronization

/// The saves and batches waiting for one store. Saves that arrive while another is being written are written together: one
/// store transaction, one sync; each still succeeds or fails alone (contexts 13). A batch has a transaction of its own.
///
///     save A  ──▶ idle: written at once          ┌▶ written together,
///     save B  ──▶ waits ─┐                       │  when A is done
///     save C  ──▶ waits ─┴───────────────────────┘
///     batch D ──▶ waits ───────────────────────────▶ written alone, when B and C are done
///
/// Small saves are written by the threads that save: the first thread writes (A); when it is done, the first of those that wait (B) is woken and writes
/// for all that wait by then, in their order. So one thread is woken between two transactions, and it finds its own save written when it returns. The queue
/// is never free while a save waits: a thread that comes later never goes first. Large saves go to the store's own thread, since the thread that
/// saves has work to do beside it (Decisions/0003), and so do batches.
///
/// Threads whose saves were written mostly save again at once. So the thread that writes next waits a moment for them where a write takes longer than the
/// moment (`Pace`): otherwise few saves would be in each transaction, since half of the threads miss each one. A thread that saves alone never waits.
final class CommitQueue: @unchecked Sendable {
  // Unchecked: `state` is touched under `lock`. That is the system's: a `Mutex` would be handed to threads that sleep (`PostingTurn`).
  private let store: any StoreEngine
  private let patience: @Sendable (Duration) -> Duration
  private let lock = SystemLock()
  // `@exclusivity(unchecked)`: the lock sees to that.
  @exclusivity(unchecked) private var state = State()

  private struct State {
    var waiting: [Waiting] = []
    /// A thread writes, or has been given the turn.
    var isWriting = false
    var pace = Pace()
    /// How many saves the thread that has the turn waits for; 0 when it does not.
    var awaited = 0
  }

  /// What the last group tells of the next one.
  private struct Pace {
    /// How many saves were in it or came meanwhile: as many threads may save now.
    var savers = 0
    /// When it was written.
    var ended = ContinuousClock.now
    /// How long it took.
    var duration = Duration.zero
    /// How long after its end the next group waits for more saves.
    var patience = Duration.zero
  }

  private enum Waiting: Sendable {
    case save(Save)
    case batch(StoreBatch, done: @Sendable (Result<BatchOutcome, any Error>) -> Void)

    var save: Save? {
      if case .save(let save) = self { return save }
      return nil
    }
  }

  /// One save, and what the thread that waits for it must do next.
  private final class Save: Sendable {
    enum Message {
      /// It is this thread's turn to write for all that wait.
      case turn
      case result(Result<CommitResult, any Error>)
    }

    let changes: ChangeSet
    /// Whether the thread that saves may be given the turn to write.
    let isSmall: Bool
    let committed: @Sendable (CommitResult) -> Void
    private let mailbox = Mutex(Mailbox())

    private struct Mailbox {
      var hasTurn = false
      var result: Result<CommitResult, any Error>?
      /// When it was its turn, while somebody asks for that.
      var begun: ContinuousClock.Instant?
      /// There while a thread waits.
      var arrived: DispatchSemaphore?
    }

    init(_ changes: ChangeSet, isSmall: Bool, committed: @escaping @Sendable (CommitResult) -> Void) {
      self.changes = changes
      self.isSmall = isSmall
      self.committed = committed
    }

    func fulfil(_ result: Result<CommitResult, any Error>) { change { $0.result = result } }

    func begin(_ time: ContinuousClock.Instant) { mailbox.withLock { $0.begun = time } }

    /// How long it has waited since `asked`; zero when it is not known.
    func timeWaited(since asked: ContinuousClock.Instant) -> Duration {
      mailbox.withLock { $0.begun.map { $0 - asked } ?? .zero }
    }

    func giveTurn() { change { $0.hasTurn = true } }

    private func change(_ body: (inout Mailbox) -> Void) {
      let arrived = mailbox.withLock { mailbox in
        body(&mailbox)
        return mailbox.arrived
      }
      arrived?.signal()
    }

    /// The next message; waits for it.
    func next() -> Message {
      while true {
        let (message, arrived) = mailbox.withLock { mailbox -> (Message?, DispatchSemaphore?) in
          if let result = mailbox.result { return (.result(result), nil) }
          if mailbox.hasTurn {
            mailbox.hasTurn = false
            return (.turn, nil)
          }
          let arrived = mailbox.arrived ?? DispatchSemaphore(value: 0)
          mailbox.arrived = arrived
          return (nil, arrived)
        }
        if let message { return message }
        arrived?.wait()
      }
    }
  }

  /// The most saves written in one transaction.
  static let mostTogether = 256
  /// The most rows of a save that its own thread writes.
  static let mostInSmall = 256
  /// The most saves that a group waits for.
  static let mostAwaited = 32

  /// - Parameter patience: how long a group waits for more saves, if writing takes so long.
  init(
    store: any StoreEngine,
    patience: @escaping @Sendable (Duration) -> Duration = CommitQueue.patience(writing:)
  ) {
    self.store = store
    self.patience = patience
  }

  /// As long as the write takes, within limits. One that flushes nothing is over before a sleeping thread could be woken.
  static func patience(writing: Duration) -> Duration {
    writing < .microseconds(100) ? .zero : min(writing, .microseconds(200))
  }

  /// Writes `changes`, waits until they are as durable as the store promises. `committed` is called in commit order,
  /// before any later save is reported; it must not wait. `meanwhile` runs on the calling thread, while the store writes if another thread does that.
  /// - Throws: what the store reports for this change set alone.
  func commit(
    _ changes: ChangeSet, deadline: Duration?, meanwhile: () -> Void,
    committed: @escaping @Sendable (CommitResult) -> Void
  ) throws -> CommitResult {
    var changes = changes
    let work = store.workAlongside(&changes)
    let isSmall = work == nil && changes.count <= Self.mostInSmall
    let save = Save(changes, isSmall: isSmall, committed: committed)
    let asked = Watching.concerns(.savesAndWaits) ? ContinuousClock.now : nil
    let isFirst = enqueue(.save(save))
    if isFirst { writeNext(deadline, here: isSmall) }
    work?()
    meanwhile()
    while true {
      switch save.next() {
      case .result(var result):
        if let asked, !isFirst { tellWait(save.timeWaited(since: asked), &result) }
        return try result.get()
      case .turn: writeNext(deadline, here: true)
      }
    }
  }

  @inline(never)
  private func tellWait(_ time: Duration, _ result: inout Result<CommitResult, any Error>) {
    if case .success(var value) = result {
      value.timeWaited = time
      result = .success(value)
    }
    StrataObservers.tell(.wait(WaitEvent(subject: .writeTurn(store: store.identifier), duration: time)))
  }

  /// Carries out `batch` when its turn comes, and waits for it. `committed` is called as by `commit`. A context that observes the
  /// progress is called on this thread.
  /// - Throws: what the store reports; then nothing has been written.
  func execute(
    _ batch: StoreBatch, deadline: Duration?, committed: @escaping @Sendable (BatchOutcome) -> Void
  ) throws -> BatchOutcome {
    let reply = Reply<Result<BatchOutcome, any Error>>()
    let isFirst = enqueue(
      .batch(batch) { result in
        if case .success(let outcome) = result { committed(outcome) }
        reply.fulfil(result)
      })
    if isFirst { writeNext(deadline, here: false) }
    guard let report = batch.progress.report else { return try reply.wait().get() }
    return try reply.wait(every: .milliseconds(100)) { report(batch.progress) }.get()
  }

  /// How many saves and batches wait for their turn, and whether none is being written: for tests.
  var waitingCount: Int { lock.withLock { state.waiting.count } }
  var isFree: Bool { lock.withLock { !state.isWriting } }

  /// Whether no thread writes: then the caller must.
  private func enqueue(_ waiting: Waiting) -> Bool {
    lock.withLock {
      state.waiting.append(waiting)
      if state.awaited > 0, state.waiting.count >= state.awaited {
        state.awaited = 0
        lock.wakeAll()
      }
      defer { state.isWriting = true }
      return !state.isWriting
    }
  }

  /// Waits for the threads that saved a moment ago, before a group is taken.
  private func gather() {
    lock.withLock {
      let pace = state.pace
      let (awaited, end) = (min(pace.savers, Self.mostAwaited), pace.ended + pace.patience)
      guard state.waiting.count < awaited else { return }
      state.awaited = awaited
      while state.awaited > 0, lock.wait(until: end) {}
      state.awaited = 0
    }
  }

  /// Takes what waits and writes it: on the calling thread if `here`, otherwise by handing it to the store.
  private func writeNext(_ deadline: Duration?, here: Bool) {
    if here { gather() }
    let (saves, first) = lock.withLock { () -> ([Save], Waiting?) in
      let first = state.waiting.first
      var saves: [Save] = []
      for waiting in state.waiting.prefix(Self.mostTogether) {
        guard let save = waiting.save, save.isSmall || !here else { break }
        saves.append(save)
      }
      let taken = max(saves.count, first == nil ? 0 : 1)
      // Mostly one waits. The room for it is kept.
      if taken == state.waiting.count {
        state.waiting.removeAll(keepingCapacity: true)
      } else {
        state.waiting.removeFirst(taken)
      }
      return (saves, first)
    }
    switch first {
    case nil: trap("a save was told to write and nothing waited")
    case .save: write(saves, deadline, here: here)
    case .batch(let batch, let done):
      store.execute(batch, deadline: deadline) { result in
        done(result)
        self.passOn(deadline)
      }
    }
  }

  private func write(_ saves: [Save], _ deadline: Duration?, here: Bool) {
    let changes = saves.map { $0.changes }
    if Watching.concerns(.savesAndWaits) {
      let now = ContinuousClock.now
      for save in saves { save.begin(now) }
    }
    guard here else {
      return store.commit(changes, deadline: deadline) { self.finish(saves, $0, deadline) }
    }
    let answer = Answer()
    let start = ContinuousClock.now
    store.commitHere(changes, deadline: deadline) { results in
      if answer.isLate(results) { self.finish(saves, results, deadline) }
    }
    // Only now: the thread that writes next finds the store free.
    if let results = answer.whenReturned() { finish(saves, results, deadline, since: start) }
  }

  /// - Parameter start: when the calling thread began to write them, if it did.
  private func finish(
    _ saves: [Save], _ results: [Result<CommitResult, any Error>], _ deadline: Duration?,
    since start: ContinuousClock.Instant? = nil
  ) {
    for (save, result) in zip(saves, results) {
      if case .success(let value) = result { save.committed(value) }
    }
    // Before they are woken: the store need not wait for that.
    passOn(deadline, start.map { (saves: saves.count, start: $0) })
    for (save, result) in zip(saves, results) { save.fulfil(result) }
  }

  /// What a store reports of a group: before the call returns, or later on a thread of its own.
  private final class Answer: Sendable {
    private struct State {
      var results: [Result<CommitResult, any Error>]?
      var hasReturned = false
    }
    private let state = Mutex(State())

    /// Keeps `results` for the caller; true when it does not read them any more.
    func isLate(_ results: [Result<CommitResult, any Error>]) -> Bool {
      state.withLock { state in
        if !state.hasReturned { state.results = results }
        return state.hasReturned
      }
    }

    /// What was reported so far: the call has returned.
    func whenReturned() -> [Result<CommitResult, any Error>]? {
      state.withLock { state in
        state.hasReturned = true
        return state.results
      }
    }
  }

  /// A transaction is over: the first waiting thread gets the turn to write, or the queue is free.
  private func passOn(_ deadline: Duration?, _ written: (saves: Int, start: ContinuousClock.Instant)? = nil) {
    let first = lock.withLock {
      notePace(written)
      if state.waiting.isEmpty { state.isWriting = false }
      return state.waiting.first
    }
    switch first {
    case nil: return
    case .save(let save) where save.isSmall: save.giveTurn()
    case .save, .batch: writeNext(deadline, here: false)
    }
  }

  /// Under `lock`. After a write that another thread did nothing is known of those who save.
  private func notePace(_ written: (saves: Int, start: ContinuousClock.Instant)?) {
    guard let written else {
      state.pace.savers = 0
      return
    }
    let now = ContinuousClock.now
    let duration = now - written.start
    // One slow write, for a checkpoint, does not make the next ones slow.
    let patience = patience(min(duration, state.pace.duration))
    state.pace = Pace(
      savers: written.saves + state.waiting.count, ended: now, duration: duration, patience: patience)
  }
}

/// A value that one thread waits for and another sets.
final class Reply<Value: Sendable>: Sendable {
  private let arrived = DispatchSemaphore(value: 0)
  private let value = Mutex<Value?>(nil)

  init() {}

  func fulfil(_ value: Value) {
    self.value.withLock { $0 = value }
    arrived.signal()
  }

  /// Waits and calls `meanwhile` on the calling thread now and then.
  func wait(every interval: DispatchTimeInterval, _ meanwhile: () -> Void) -> Value {
    while arrived.wait(timeout: .now() + interval) == .timedOut { meanwhile() }
    arrived.signal()
    return wait()
  }

  func wait() -> Value {
    arrived.wait()
    guard let value = value.withLock({ $0 }) else { trap("a reply was signalled without a value") }
    return value
  }
}
