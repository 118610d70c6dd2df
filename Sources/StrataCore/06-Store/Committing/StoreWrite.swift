import Foundation
import Synchronization

/// What one run of a transaction that writes rows has done.
struct WriteOutcome<Value: Sendable>: Sendable {
  var value: Value
  /// The catalogue that it wrote with.
  var catalogue: StoreCatalogue
  /// Primary keys reserved along the way: hierarchy number and keys.
  var reserved: [(hierarchy: Int, keys: Range<UInt64>)] = []
  /// The user's metadata, when it was written.
  var metadata: StoreMetadata?
  /// Whether anything was written.
  var hasWritten = false
}

/// A save or a batch on its way through a transaction.
protocol StoreWrite: Sendable {
  associatedtype Value: Sendable

  /// Remembers the outcome in case that of the commit remains unknown.
  var attempt: CommitAttempt<WriteOutcome<Value>> { get }

  /// The body of the transaction. It may be run again from the beginning and leaves its traces only in what it returns.
  func run(_ transaction: borrowing WriteTransaction) throws -> WriteOutcome<Value>
}

extension LMDBStore {
  /// - Throws: ``CoreDataError`` for a store that may only be read; ``StorageError`` of kind `closed`.
  func requireWritable() throws {
    if isReadOnly {
      throw CoreDataError(.persistentStoreSave, "The store at \(parts.environment.path) is read-only.")
    }
    try requireOpen()
  }

  /// Runs `write` in a transaction of its own, and takes over what it has changed. When it cannot be told whether the commit took place,
  /// the store's stamp is asked.
  func submit<Write: StoreWrite>(
    _ write: Write, deadline: Duration?, here: Bool = false,
    completion: @escaping @Sendable (Result<Write.Value, any Error>) -> Void
  ) {
    submitWrite(deadline: deadline, here: here) {
      try write.run($0)
    } completion: { [parts] result in
      var result = result
      if case .failure(let error) = result, (error as? StorageError)?.isOutcomeUnknown == true,
        let outcome = try? parts.environment.read({
          write.attempt.outcome(stamp: try parts.meta.bytes("stamp", $0))
        })
      {
        result = .success(outcome)
      }
      completion(
        result.map { outcome in
          for (hierarchy, keys) in outcome.reserved { self.allocators[hierarchy].add(keys) }
          self.adopt(catalogue: outcome.catalogue, metadata: outcome.metadata)
          if outcome.hasWritten {
            self.removeReplacedFiles()
            self.automaticCompaction?.noteCommit(of: self)
          }
          return outcome.value
        })
    }
  }
}

/// Which state of its file a store is in. Not every write raises the number of the commit: metadata, indexes, and reserved keys do not. Each raises that of LMDB's
/// transaction, which means nothing to other processes, and nothing when the file was opened again.
struct StoreMoment: Equatable, Sendable {
  var commitNumber: UInt64
  var transactionID: Int
}

/// What every transaction that writes rows begins and ends with.
struct WriteFrame {
  let parts: StoreParts
  let catalogue: StoreCatalogue
  /// The last commit.
  let stamp: CommitStamp
  private let now: Date

  init(
    _ parts: StoreParts, _ known: StoreCatalogue, _ transaction: borrowing WriteTransaction,
    willWrite: () -> Void = {}
  ) throws {
    self.parts = parts
    catalogue = try parts.currentCatalogue(known, transaction, willWrite: willWrite)
    stamp = try parts.stamp(transaction.read)
    now = catalogue.history == nil ? Date() : parts.history.clock()
  }

  /// What writes down the changes of commit `number`; nil while the store records no history.
  func makeHistoryWriter(_ number: UInt64, _ origin: ChangeOrigin) -> HistoryWriter? {
    catalogue.history.map { HistoryWriter(number, parts.history.header(origin, at: now), $0, catalogue) }
  }

  /// Puts what was written down into the journal, as commit `number`.
  func write(_ recorder: JournalRecorder?, _ number: UInt64, _ transaction: borrowing WriteTransaction) throws
  {
    guard let recorder, let journal = parts.journal else { return }
    try journal.write(number, recorder.entry(codes: catalogue.entityCodes), transaction)
  }

  /// Raises the counter of a hierarchy above `key`, and `ahead` more: the keys between. What another context has in hand and not saved yet
  /// may be unsecured: that is over now.
  func reserveKeys(
    _ hierarchy: Int, above key: UInt64, ahead: UInt64 = 0, _ allocator: PrimaryKeyAllocator,
    _ transaction: borrowing WriteTransaction
  ) throws -> Range<UInt64> {
    let old = try parts.counter(hierarchy, transaction.read)
    let start = max(old, key + 1, allocator.unsecuredEnd)
    let end = max(start, min(start + ahead, PrimaryKeyAllocator.end))
    if end > old { try parts.setCounter(hierarchy, end, transaction) }
    return start..<end
  }

  /// Ends a transaction that has written something: with the stamp of commit `number`, and without what is too old in the history, now and
  /// then.
  func end(_ number: UInt64, nonce: UInt64, _ transaction: borrowing WriteTransaction) throws {
    try parts.putStamp(number, nonce: nonce, transaction)
    if let log = parts.environment.log, log.needsPermission { try parts.carryOver(log, transaction) }
    guard let keyspace = catalogue.history, parts.history.isTrimDue(at: now) else { return }
    try HistoryTrim(meta: parts.meta, keyspace: keyspace).run(parts.history.retention, at: now, transaction)
  }
}

extension StoreParts {
  /// Gives the store the format of stores that may have a log. It permits the log once that is committed: in the next write.
  func carryOver(_ log: StoreLog, _ transaction: borrowing WriteTransaction) throws {
    let format = try meta.number("format", UInt32.self, transaction.read) ?? MetaKeyspace.plainFormat
    if format >= MetaKeyspace.loggedFormat { return log.permit() }
    try meta.put("format", number: MetaKeyspace.loggedFormat, transaction)
  }

  /// The moment that a view shows.
  func moment(_ transaction: borrowing ReadTransaction) throws -> StoreMoment {
    StoreMoment(commitNumber: try stamp(transaction).commitNumber, transactionID: transaction.id)
  }

  /// The moment of the last commit, on which a write transaction stands that has changed nothing yet.
  func moment(before transaction: borrowing WriteTransaction) throws -> StoreMoment {
    StoreMoment(
      commitNumber: try stamp(transaction.read).commitNumber, transactionID: transaction.read.id - 1)
  }

  /// The stamp of the last commit.
  /// - Throws: `StorageError` of kind `replaced` when the file holds another store by now, `damaged` for a number that is none.
  func stamp(_ transaction: borrowing ReadTransaction) throws -> CommitStamp {
    guard let stamp = CommitStamp(try meta.bytes("stamp", transaction)), stamp.identifier == identifier else {
      throw StorageError(
        .replaced, operation: "commit", path: environment.path, detail: "The file now holds another store.")
    }
    guard stamp.commitNumber < CommitStamp.limit else {
      throw damaged("The number of the last commit, \(stamp.commitNumber), is damaged.")
    }
    return stamp
  }

  /// The catalogue, read again when another process has added to `known`. Indexes that this process cannot keep up
  /// are struck from the store, and reported to `willWrite`: a process that knows them builds them again.
  /// - Throws: ``MissingKeyspaces`` when the store has gained an index or a history that the transaction would have to keep right.
  func currentCatalogue(
    _ known: StoreCatalogue, _ transaction: borrowing WriteTransaction, willWrite: () -> Void = {}
  ) throws -> StoreCatalogue {
    if known.isOfOtherVersion { throw isMigrated }
    let generation = try meta.number("generation", UInt64.self, transaction.read) ?? 0
    if generation == known.generation && known.indexes.foreign.isEmpty && known.missingKeyspaces.isEmpty {
      return known
    }
    var fresh = try readCatalogue(transaction.read)
    if fresh.isOfOtherVersion { throw isMigrated }
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
