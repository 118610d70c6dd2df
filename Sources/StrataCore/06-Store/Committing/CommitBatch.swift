import Foundation
import Synchronization

/// Change sets on their way into one transaction.
///
/// `run` is the body of the transaction: it may be run again from the beginning and leaves its traces only in
/// what it returns.
struct CommitBatch: Sendable {
  /// What a run did.
  struct Outcome: Sendable {
    /// One per change set.
    var results: [Result<CommitResult, any Error>]
    /// Primary keys reserved along the way: hierarchy number and keys.
    var reserved: [(hierarchy: Int, keys: Range<UInt64>)] = []
    /// The user's metadata, when it was written.
    var metadata: StoreMetadata?
    /// The catalogue the batch was written with.
    var catalogue: StoreCatalogue
    /// Whether anything was saved.
    var hasWritten = false
  }

  let changeSets: [ChangeSet]
  let parts: StoreParts
  let catalogue: StoreCatalogue
  /// By hierarchy number.
  let allocators: [PrimaryKeyAllocator]
  /// Remembers the outcome in case that of the commit remains unknown.
  let attempt: CommitAttempt<Outcome>

  func run(_ transaction: borrowing WriteTransaction) throws -> Outcome {
    var isUnchanged = true
    let catalogue = try parts.currentCatalogue(catalogue, transaction) { isUnchanged = false }
    let stamp = try parts.stamp(transaction.read)
    var number = stamp.commitNumber
    var outcome = Outcome(results: [], catalogue: catalogue)
    var journal = parts.makeRecorder()
    let now = catalogue.history == nil ? Date() : parts.history.clock()
    var hasWritten = false
    for changeSet in changeSets {
      // In a history each save has a number of its own; without one, those that are written together share theirs.
      if catalogue.history != nil, hasWritten {
        try parts.write(journal, number, catalogue, transaction)
        journal = parts.makeRecorder()
        hasWritten = false
      }
      let next = hasWritten ? number : number + 1
      let history = parts.makeHistoryWriter(next, changeSet.origin, catalogue, at: now)
      let writer = ChangeSetWriter(
        changeSet: changeSet, parts: parts, catalogue: catalogue, journal: journal, history: history)
      if var failure = try writer.prepare(transaction.read, isUnchanged: isUnchanged) {
        if var conflict = failure as? CommitConflict {
          // A commit raises the version of a row by one at most.
          conflict.newestVersion = UInt32(truncatingIfNeeded: next)
          failure = conflict
        }
        outcome.results.append(.failure(failure))
        continue
      }
      if writer.hasChanges {
        isUnchanged = false
        try writer.write(transaction)
        try history?.finish(transaction)
        hasWritten = true
      }
      if let metadata = changeSet.metadata {
        isUnchanged = false
        let own = metadata.withoutStandardKeys
        try parts.meta.put("metadata", try own.encoded(path: parts.environment.path), transaction)
        outcome.metadata = own
        hasWritten = true
      }
      if hasWritten { number = next }
      outcome.results.append(
        .success(
          CommitResult(
            commitNumber: number, derivedRows: writer.derivedRows, touched: writer.unsaidTouches)))
    }
    if number > stamp.commitNumber {
      outcome.hasWritten = true
      try reserveKeys(&outcome, transaction)
      try parts.putStamp(number, nonce: attempt.nonce, transaction)
      if hasWritten { try parts.write(journal, number, catalogue, transaction) }
      try parts.trimHistory(catalogue, at: now, transaction)
    }
    attempt.note(outcome, number: number)
    return outcome
  }

  /// Raises the counters above all keys used, and ahead of those that will soon be.
  private func reserveKeys(_ outcome: inout Outcome, _ transaction: borrowing WriteTransaction) throws {
    // By hierarchy; mostly there is one, and a model may have thousands.
    var largest: [(hierarchy: Int, key: UInt64)] = []
    for (changeSet, result) in zip(changeSets, outcome.results) {
      guard case .success = result else { continue }
      changeSet.inserts.withUnsafeBufferPointer { inserts in
        var place = 0
        while place < inserts.count {
          // Runs of one entity after the other: the entity is looked up once for each.
          let entity = inserts[place].entity
          var key: UInt64 = 0
          while place < inserts.count, inserts[place].entity == entity {
            key = max(key, inserts[place].primaryKey)
            place += 1
          }
          let hierarchy = parts.schema.entities[entity].hierarchyNumber
          if let known = largest.firstIndex(where: { $0.hierarchy == hierarchy }) {
            largest[known].key = max(largest[known].key, key)
          } else {
            largest.append((hierarchy, key))
          }
        }
      }
    }
    for (hierarchy, key) in largest {
      let old = try parts.counter(hierarchy, transaction.read)
      // What another context has in hand and not saved yet may be unsecured: that is over now.
      let start = max(old, key + 1, allocators[hierarchy].unsecuredEnd)
      let wanted = allocators[hierarchy].wanted
      let end = max(start, min(start + wanted, PrimaryKeyAllocator.limit))
      if end > old { try parts.setCounter(hierarchy, end, transaction) }
      if end > start { outcome.reserved.append((hierarchy, start..<end)) }
    }
  }
}

/// What every transaction that writes rows begins with.
extension StoreParts {
  /// The stamp of the last commit.
  /// - Throws: `StorageError` of kind `replaced` when the file holds another store by now.
  func stamp(_ transaction: borrowing ReadTransaction) throws -> CommitStamp {
    guard let stamp = CommitStamp(try meta.bytes("stamp", transaction)), stamp.identifier == identifier else {
      throw StorageError(
        .replaced, operation: "commit", path: environment.path, detail: "The file now holds another store.")
    }
    return stamp
  }

  /// The catalogue, read again when another process has added to `known`. Indexes that this process cannot keep up
  /// are struck from the store, and reported to `willWrite`: a process that knows them builds them again.
  /// - Throws: ``MissingKeyspaces`` when the store has gained an index or a history that the transaction would have to keep right.
  func currentCatalogue(
    _ known: StoreCatalogue, _ transaction: borrowing WriteTransaction, willWrite: () -> Void = {}
  ) throws -> StoreCatalogue {
    let generation = try meta.number("generation", UInt64.self, transaction.read) ?? 0
    if generation == known.generation && known.indexes.foreign.isEmpty && known.missingKeyspaces.isEmpty {
      return known
    }
    var fresh = try readCatalogue(transaction.read)
    if !fresh.missingKeyspaces.isEmpty {
      throw MissingKeyspaces(names: fresh.missingKeyspaces)
    }
    if !fresh.indexes.foreign.isEmpty {
      willWrite()
      for name in fresh.indexes.foreign { try meta.delete("index/" + name, transaction) }
      try StoreCatalogue.raiseGeneration(meta, transaction)
      fresh = try readCatalogue(transaction.read)
    }
    return fresh
  }
}

/// What the last run of a transaction would have done, and a number that tells its commit from every other: what is
/// needed to find out whether a commit of unknown outcome took place.
final class CommitAttempt<Outcome: Sendable>: Sendable {
  /// Eight bytes that follow the stamp, and no other one.
  let nonce: UInt64
  private let outcome = Mutex<(Outcome, UInt64)?>(nil)

  init(_ nonce: UInt64) { self.nonce = nonce }

  func note(_ outcome: Outcome, number: UInt64) {
    self.outcome.withLock { $0 = (outcome, number) }
  }

  /// The outcome, when `stamp`, the bytes under "stamp", is this attempt's.
  func outcome(stamp: UnsafeRawBufferPointer?) -> Outcome? {
    guard let stamp, let number = CommitStamp(stamp)?.commitNumber else { return nil }
    return outcome.withLock { outcome in
      guard let outcome, outcome.1 == number,
        stamp.loadUnaligned(fromByteOffset: 24, as: UInt64.self) == nonce
      else { return nil }
      return outcome.0
    }
  }
}
