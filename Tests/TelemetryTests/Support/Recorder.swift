import Foundation
import Testing

@testable import StrataCore

/// Keeps the events that `filter` lets through, and hands them on.
final class Recorder: StrataObserver {
  private let kept = Mutex<[StrataEvent]>([])
  private let filter: @Sendable (StrataEvent) -> Bool
  private let next: (any StrataObserver)?

  /// Lets through what is about contexts, files or messages in whose text `tag` is.
  convenience init(about tag: String, next: (any StrataObserver)? = nil) {
    self.init({ $0.subject.contains(tag) }, next: next)
  }

  init(_ filter: @escaping @Sendable (StrataEvent) -> Bool, next: (any StrataObserver)? = nil) {
    self.filter = filter
    self.next = next
  }

  func observe(_ event: StrataEvent) {
    guard filter(event) else { return }
    kept.withLock { $0.append(event) }
    next?.observe(event)
  }

  /// What came since the last call.
  func take() -> [StrataEvent] {
    kept.withLock { kept in
      defer { kept = [] }
      return kept
    }
  }

  var count: Int { kept.withLock { $0.count } }

  /// What comes while `body` runs, of `kinds`.
  func during(
    _ kinds: StrataEvent.Kinds, options: StrataObservers.Options = .init(), _ body: () throws -> Void
  ) rethrows -> [StrataEvent] {
    let installation = StrataObservers.install(self, for: kinds, options: options)
    defer { installation.remove() }
    try body()
    StrataObservers.awaitLater()
    return take()
  }
}

/// Counts on several threads.
final class Tally: Sendable {
  private let value = Mutex(0)
  func add() { value.withLock { $0 += 1 } }
  var count: Int { value.withLock { $0 } }
}

extension StrataEvent {
  /// What tells whose event it is.
  var subject: String {
    switch self {
    case .save(let save): save.context
    case .fetch(let fetch): fetch.context
    case .fault(let fault): fault.context
    case .repeatedFaults(let faults): faults.context
    case .conflict(let conflict): conflict.context
    case .wait(let wait):
      switch wait.subject {
      case .writeTurn(let store): store.uuidString
      case .otherProcess(let path): path
      case .contextQueue(let context): context
      }
    case .batch(let batch): batch.context
    case .migration(let migration): migration.url.path
    case .heldPages(let held): held.path
    case .message(let message): message.text
    }
  }

  var save: SaveEvent? { if case .save(let value) = self { value } else { nil } }
  var fetch: FetchEvent? { if case .fetch(let value) = self { value } else { nil } }
  var fault: FaultEvent? { if case .fault(let value) = self { value } else { nil } }
  var repeated: RepeatedFaultsEvent? { if case .repeatedFaults(let value) = self { value } else { nil } }
  var conflict: ConflictEvent? { if case .conflict(let value) = self { value } else { nil } }
  var wait: WaitEvent? { if case .wait(let value) = self { value } else { nil } }
  var batch: BatchEvent? { if case .batch(let value) = self { value } else { nil } }
  var migration: MigrationEvent? { if case .migration(let value) = self { value } else { nil } }
  var held: HeldPagesEvent? { if case .heldPages(let value) = self { value } else { nil } }
  var message: MessageEvent? { if case .message(let value) = self { value } else { nil } }
}
