import Dispatch
import Foundation
import Synchronization

/// The saves waiting for one store. Those that arrive while another is being written are written together: one store
/// transaction, one sync; each still succeeds or fails alone (contexts.md, rule 13).
///
///     save A ──▶ idle: written at once          ┌▶ written together,
///     save B ──▶ waits ─┐                       │  when A is done
///     save C ──▶ waits ─┴───────────────────────┘
final class CommitQueue: Sendable {
  private let store: any PersistentStore
  private let state = Mutex(State())

  private struct State {
    var waiting: [Waiting] = []
    var isWriting = false
  }

  private struct Waiting: Sendable {
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
    let waiting = Waiting(changes: changes) { result in
      if case .success(let value) = result { committed(value) }
      reply.fulfil(result)
    }
    let isFirst = state.withLock { state in
      state.waiting.append(waiting)
      defer { state.isWriting = true }
      return !state.isWriting
    }
    if isFirst { writeNext(deadline) }
    work?()
    meanwhile()
    return try reply.wait().get()
  }

  /// Takes what waits and hands it to the store; called again when that is done.
  private func writeNext(_ deadline: Duration?) {
    let group = state.withLock { state in
      let group = Array(state.waiting.prefix(Self.mostTogether))
      state.waiting.removeFirst(group.count)
      if group.isEmpty { state.isWriting = false }
      return group
    }
    if group.isEmpty { return }
    store.commit(group.map(\.changes), deadline: deadline) { results in
      for (waiting, result) in zip(group, results) { waiting.done(result) }
      self.writeNext(deadline)
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

  func wait() -> Value {
    arrived.wait()
    guard let value = value.withLock({ $0 }) else { trap("a reply was signalled without a value") }
    return value
  }
}
