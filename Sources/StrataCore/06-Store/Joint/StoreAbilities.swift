import Foundation

// What some engines can do and others cannot. A coordinator asks the joint for them: ``StoreEngine/historyStore`` and so on.

/// A store that records a history of its commits when it is asked to.
///
/// All methods may be called from any thread. They throw ``StorageError`` when the store cannot be read or written.
package protocol HistoryStore: StoreEngine {
  /// The newest commit and its mark; nil while no history is recorded.
  func currentHistoryMoment() throws -> HistoryMoment?

  /// A commit as a moment of the history; nil while none is recorded. Without a mark when the store cannot be read now.
  func historyMoment(ofCommit number: UInt64) -> HistoryMoment?

  /// The mark of the newest transaction up to commit `number`; nil when the history no longer has it, or there is none.
  func historyMark(upTo number: UInt64) throws -> UInt64?

  /// The newest commit that the history no longer has, and the newest of all; nil while no history is recorded.
  func historyBounds() throws -> (purged: UInt64, newest: UInt64)?

  /// Some of the history, as `question` asks.
  func history(_ question: HistoryQuestion) throws -> HistoryBatch

  /// Deletes what is older than a commit or a date; returns how many transactions.
  func deleteHistory(before number: UInt64?, date: Date?) throws -> Int

  /// Notes that a named reader has seen everything up to a commit; nil forgets the reader.
  func setHistoryConsumer(named name: String, to number: UInt64?) throws

  /// The named readers, and how far each has read.
  func historyConsumers() throws -> [HistoryConsumer]

  /// Deletes the history and records none until the store is opened with one again.
  func endHistory() throws
}

/// A store that counts its commits and says what others, such as another process, have committed.
///
/// All methods may be called from any thread. They throw ``StorageError`` when the store cannot be read.
package protocol FollowedStore: StoreEngine {
  /// The number of the newest commit.
  func commitNumber() throws -> UInt64

  /// The number of the newest commit when the store was opened.
  var firstCommitNumber: UInt64 { get }

  /// Whether others can write to the store while it is open: if not, it is not followed.
  var isShared: Bool { get }

  /// Has `handler` called soon after others have written, on any thread, until the last reference to what is returned is gone. Nil where the engine, or
  /// the system, has no such means: then the store is looked at from time to time. The handler must be called once more whenever something may have been
  /// missed.
  func makeWatch(_ handler: @escaping @Sendable (StoreWatchEvent) -> Void) -> (any AnyObject & Sendable)?

  /// How often it is looked.
  var followingHabits: FollowingHabits { get }

  /// Whether what is watched is still the store.
  var isInPlace: Bool { get }

  /// What was committed since commit `number`.
  func journal(after number: UInt64) throws -> JournalReading

  /// A commit of which nothing is known.
  func unknownCommit(_ number: UInt64) -> JournaledCommit
}

/// What the watch of a store tells.
package enum StoreWatchEvent: Sendable {
  /// Something was written.
  case written
  /// The store may not be where it was.
  case moved
}

/// How a store is looked at for what others have committed.
package struct FollowingHabits: Sendable {
  /// So long after a watch has told of a write it is looked again: for engines that tell of it before the commit can be seen.
  package var recheckDelays: [Duration] = []
  /// How often it is looked where there is no watch.
  package var pollInterval = Duration.seconds(1)
  /// How often it is looked beside a watch that may miss something; nil for one that does not.
  package var watchedPollInterval: Duration?

  package init() {}
}

/// A store whose indexes can be added and removed while it is in use.
package protocol IndexingStore: StoreEngine {
  /// Adds an index, step by step beside other writers.
  /// - Throws: see `addIndex(_:toEntityNamed:in:)` of the coordinator.
  func addIndex(_ added: AddedIndex, report: (@Sendable (IndexProgress) -> Void)?) async throws

  /// Removes an index that was added.
  /// - Throws: see `removeIndex(named:ofEntityNamed:in:)` of the coordinator.
  func removeIndex(named name: String) async throws

  /// The indexes that there are, also those being built.
  /// - Throws: ``StorageError``.
  func indexes() throws -> [StoredIndex]
}

/// A store that can be copied to a file while it is in use.
package protocol CopyableStore: StoreEngine {
  /// Writes a copy of the store, as of now, to `url`, where there is nothing yet.
  /// - Throws: ``StorageError``; there is no new file then.
  func backup(to url: URL, compacting: Bool) throws

  /// Writes a copy of the store, as of now, to `url`, where there is nothing, or an empty store, such as destroying leaves: it is replaced.
  /// - Throws: ``StorageError``; what is at `url` is as it was then.
  func copy(into url: URL) throws

  /// Runs `body` while nothing is saved to the store: what is copied then is all that there is. Saves that are being written are waited for; those that come
  /// meanwhile fail. When `body` throws, the store goes on as before; otherwise nothing is ever saved to it any more.
  /// - Throws: what `body` throws; ``StorageError`` when the store cannot be locked.
  func sealed<R>(_ body: () throws -> R) throws -> R
}

extension CopyableStore {
  /// For stores that are only read.
  package func sealed<R>(_ body: () throws -> R) throws -> R { try body() }
}

/// A store whose answers come from code of the program, which wants to know the context that asks, on that context's queue.
///
/// A context asks it through `reading(for:)` only, and has it write on the thread that saves: saves of such a store are never carried out together, nor
/// off the context's queue. The context is handed on as it is: floors below it do not know what it is.
package protocol ContextualStore: StoreEngine {
  /// The store as `context` reads it.
  func reading(for context: AnyObject) -> any StoreReading

  /// Writes one change set, on the calling thread, which is that of `context`'s queue. `committed` is called before any later commit is.
  /// - Parameter context: The context that saves; nil when it is not known, which a store may refuse.
  /// - Throws: what `StoreEngine.commit` fails with, and whatever the program's code throws; nothing is written then as far as that code keeps to it.
  func commit(_ changes: ChangeSet, for context: AnyObject?, committed: (CommitResult) -> Void) throws
    -> CommitResult

  /// Gives new objects the identifiers that they have in the store: `keys` by entity number, in the order of their insertion.
  /// - Throws: what the program's code throws.
  func settleIdentifiers(_ keys: [(entity: Int, primaryKey: UInt64)], for context: AnyObject) throws
}

extension LMDBStore: CopyableStore {
  package var copyableStore: (any CopyableStore)? { self }
  package var historyStore: (any HistoryStore)? { self }
  package var followedStore: (any FollowedStore)? { self }
  package var indexingStore: (any IndexingStore)? { self }
  package func requireSoleUse() throws { try parts.environment.requireSoleUse() }

  package func sealed<R>(_ body: () throws -> R) throws -> R {
    if isReadOnly { return try body() }
    let parts = parts
    try requireOpen()
    // In a transaction of its own: each save either has ended before, or sees it.
    do {
      try parts.environment.write { transaction in parts.seal(true) }
      return try body()
    } catch {
      parts.seal(false)
      throw error
    }
  }
}
