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
final class CommitQueue: Sendable {
  private let store: any PersistentStore
  private let state = Mutex(State())

  private struct State {
    var waiting: [Waiting] = []
    var isWriting = false
  }

  private enum Waiting: Sendable {
    case save(Save)
    case batch(StoreBatch, done: @Sendable (Result<BatchOutcome, any Error>) -> Void)

    var save: Save? {
      if case .save(let save) = self { return save }
      return nil
    }
  }

  private struct Save: Sendable {
    let changes: ChangeSet
    let done: @Sendable (Result<CommitResult, any Error>) -> Void
  }

  /// The most saves written in one transaction.
  private static let mostTogether = 256

  init(store: any PersistentStore) { self.store = store }

  /// Writes `changes`, waits until they are as durable as the store promises. `committed` is called in commit order,
  /// before any later save is reported; it must not wait. `meanwhile` runs on the calling thread while the store writes.
  /// - Throws: what the store reports for this change set alone.
  func commit(
    _ changes: ChangeSet, deadline: Duration?, meanwhile: () -> Void,
    committed: @escaping @Sendable (CommitResult) -> Void
  ) throws -> CommitResult {
    let reply = Reply<Result<CommitResult, any Error>>()
    var changes = changes
    let work = store.workAlongside(&changes)
    let save = Save(changes: changes) { result in
      if case .success(let value) = result { committed(value) }
      reply.fulfil(result)
    }
    enqueue(.save(save), deadline)
    work?()
    meanwhile()
    return try reply.wait().get()
  }

  /// Carries out `batch` when its turn comes, and waits for it. `committed` is called as by `commit`. A context that observes the
  /// progress is called on this thread.
  /// - Throws: what the store reports; then nothing has been written.
  func execute(
    _ batch: StoreBatch, deadline: Duration?, committed: @escaping @Sendable (BatchOutcome) -> Void
  ) throws -> BatchOutcome {
    let reply = Reply<Result<BatchOutcome, any Error>>()
    enqueue(
      .batch(batch) { result in
        if case .success(let outcome) = result { committed(outcome) }
        reply.fulfil(result)
      }, deadline)
    guard let report = batch.progress.report else { return try reply.wait().get() }
    return try reply.wait(every: .milliseconds(100)) { report(batch.progress) }.get()
  }

  private func enqueue(_ waiting: Waiting, _ deadline: Duration?) {
    let isFirst = state.withLock { state in
      state.waiting.append(waiting)
      defer { state.isWriting = true }
      return !state.isWriting
    }
    if isFirst { writeNext(deadline) }
  }

  /// Takes what waits and hands it to the store; called again when that is done.
  private func writeNext(_ deadline: Duration?) {
    let (saves, first) = state.withLock { state -> ([Save], Waiting?) in
      let saves = state.waiting.prefix(Self.mostTogether).prefix { $0.save != nil }.compactMap(\.save)
      let first = state.waiting.first
      state.waiting.removeFirst(max(saves.count, first == nil ? 0 : 1))
      if first == nil { state.isWriting = false }
      return (saves, first)
    }
    switch first {
    case nil: return
    case .save:
      store.commit(saves.map(\.changes), deadline: deadline) { results in
        for (save, result) in zip(saves, results) { save.done(result) }
        self.writeNext(deadline)
      }
    case .batch(let batch, let done):
      store.execute(batch, deadline: deadline) { result in
        done(result)
        self.writeNext(deadline)
      }
    }
  }
}

/// A value one thread waits for and another brings.
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
