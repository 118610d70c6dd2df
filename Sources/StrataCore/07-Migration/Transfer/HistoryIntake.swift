import Foundation

/// Writes a history that comes from elsewhere into a store that has none yet: transaction by transaction, with ascending numbers.
///
/// Changes wait until there are some megabytes of them; those of objects side by side are one. Used by one thread.
package final class HistoryIntake {
  /// What has happened to rows side by side.
  private struct Change {
    let kind: HistoryFormat.Kind
    let entity: Int
    let slots: SlotBitmap
    let values: [(slot: Int, value: AttributeValue)]
    let first: UInt64
    var last: UInt64
  }

  private struct Transaction {
    let number: UInt64
    let header: HistoryHeader
    /// Where to go on: parts before this one are written.
    var part: UInt32 = 0
    var changes: [Change] = []
  }

  /// Beyond these, changes would have no numbers of their own (`changeID`).
  package static let largestNumber: UInt64 = 1 << 34

  /// How many transactions with changes, and how many changes, were taken over.
  package private(set) var (transactionCount, changeCount) = (0, 0)
  /// The last transaction that the history no longer tells, and the last of all; nil where there is nothing to say.
  private(set) var bounds: (purged: UInt64, newest: UInt64)?
  /// By hierarchy, the largest key that a change names.
  private(set) var largestKeys: [UInt64]
  private let store: LMDBStore
  private let keyspace: Keyspace
  /// The one that was begun, until it has a change.
  private var begun: Transaction?
  private var waiting: [Transaction] = []
  private var bytes = 0
  private static let mostBytes = 2 << 20

  /// - Parameter store: Records a history, and has told nothing in it.
  init(_ store: LMDBStore) throws {
    self.store = store
    largestKeys = store.parts.schema.hierarchies.map { _ in 0 }
    guard let keyspace = store.catalogue.history else {
      throw StorageError(
        .invalid, operation: "history", path: store.url?.path ?? "",
        detail: "The store records no history, and cannot take one over.")
    }
    self.keyspace = keyspace
  }

  /// Begins the next transaction. One without changes is not kept.
  /// - Parameter number: 1 to ``largestNumber``.
  /// - Throws: `StoreIntake.Refusal` for a number that is none, or not above the last one.
  package func begin(_ number: UInt64, _ header: HistoryHeader) throws {
    guard number > bounds?.newest ?? 0, number <= Self.largestNumber else {
      throw StoreIntake.Refusal(
        line: 0, "The transaction \(number) of the history is not behind the last one, or none.")
    }
    bounds = (bounds?.purged ?? number - 1, number)
    begun = Transaction(number: number, header: header)
  }

  /// Numbers up to this one were given, though there may be nothing of them any more: 0 to ``largestNumber``.
  package func end(at number: UInt64) {
    if number <= bounds?.newest ?? 0 { return }
    bounds = (bounds?.purged ?? number, number)
  }

  /// Adds a change to the transaction that was begun last.
  ///
  /// - Parameters:
  ///   - object: Need not exist any more; no new object will have its key.
  ///   - slots: Of an update: what has other values.
  ///   - values: Of a deletion: what stays, without nil.
  /// - Throws: ``StorageError``.
  package func add(
    _ kind: HistoryFormat.Kind, _ object: ObjectAddress, slots: SlotBitmap = SlotBitmap(),
    values: [(slot: Int, value: AttributeValue)] = []
  ) throws {
    if let transaction = begun {
      begun = nil
      transactionCount += 1
      waiting.append(transaction)
      bytes += 200 + transaction.header.byteCount
    }
    guard let place = waiting.indices.last else { return }
    changeCount += 1
    let hierarchy = store.parts.schema.entities[object.entity].hierarchyNumber
    largestKeys[hierarchy] = max(largestKeys[hierarchy], object.key)
    if let last = waiting[place].changes.indices.last, values.isEmpty {
      let before = waiting[place].changes[last]
      if before.kind == kind, before.entity == object.entity, before.slots == slots, before.values.isEmpty,
        object.key == before.last + 1
      {
        waiting[place].changes[last].last = object.key
        return
      }
    }
    waiting[place].changes.append(
      Change(
        kind: kind, entity: object.entity, slots: slots, values: values, first: object.key, last: object.key))
    bytes += MemoryLayout<Change>.stride + values.reduce(0) { $0 + 64 + $1.value.byteCount }
    if bytes >= Self.mostBytes { try flush(goesOn: true) }
  }

  /// Writes what waits.
  /// - Throws: ``StorageError``.
  func finish() throws { try flush(goesOn: false) }

  private func flush(goesOn: Bool) throws {
    let (transactions, keyspace, catalogue) = (waiting, keyspace, store.catalogue)
    let part = try store.parts.environment.write { transaction -> UInt32 in
      var part: UInt32 = 0
      for item in transactions {
        let writer = HistoryWriter(item.number, item.header, keyspace, catalogue, from: item.part)
        for change in item.changes {
          if !change.values.isEmpty {
            try writer.bury(change.first, of: change.entity, change.values, transaction)
            continue
          }
          for key in change.first...change.last {
            try writer.note(change.kind, key, of: change.entity, change.slots, transaction)
          }
        }
        try writer.finish(transaction)
        part = writer.part
      }
      return part
    }
    (waiting, bytes) = ([], 0)
    if goesOn, let last = transactions.last {
      waiting = [Transaction(number: last.number, header: last.header, part: part)]
    }
  }
}

extension HistoryHeader {
  fileprivate var byteCount: Int {
    [origin.author, origin.contextName, bundleIdentifier, processName].reduce(0) {
      $0 + ($1?.utf8.count ?? 0)
    }
  }
}

extension AttributeValue {
  /// About how much memory the content takes.
  fileprivate var byteCount: Int {
    switch self {
    case .string(let text): text.utf8.count
    case .data(let data): data.count
    case .url(let url): url.absoluteString.utf8.count
    default: 0
    }
  }
}
