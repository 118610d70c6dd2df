import Foundation

/// A store that is attached to a coordinator, of whatever engine.
///
/// All properties may be read from any thread.
public protocol PersistentStore: AnyObject, Sendable {
  /// The store's UUID, the same for the life of the store.
  var identifier: UUID { get }
  /// Where the store is; nil for a store in memory.
  var url: URL? { get }
  /// The store's type, such as ``LMDBStore/type``.
  var storeType: String { get }
  /// The configuration whose entities the store holds; nil for all.
  var configurationName: String? { get }
  /// Whether commits are refused.
  var isReadOnly: Bool { get }
  /// The metadata as last committed or read by this process, the standard keys included (rule 303).
  var metadata: StoreMetadata { get }
}

/// What a coordinator needs of a store: the joint below which another engine may be put. Engines are part of this package.
///
/// Batch-sized: one call per request, not per object. All methods may be called from any thread and
/// concurrently; reads never wait for writers. Entity and hierarchy numbers are those of the schema the store
/// was opened with.
package protocol StoreEngine: PersistentStore, StoreReading {
  /// A primary key no object of the hierarchy ever had.
  ///
  /// Takes from a reserved block without I/O; only when that runs out, a small write reserves more.
  func makePrimaryKey(hierarchy: Int) throws -> UInt64

  /// A key for a new object when `makePrimaryKey` has failed: whoever makes an object cannot be told of an error, so that the save of it fails instead. Nil, the default,
  /// when the engine has no such keys, or not after that error.
  func makeProvisionalKey(hierarchy: Int, after error: any Error) -> UInt64?

  /// What rows of the entity begin with.
  func rowStamp(entity: Int) -> RowStamp

  /// A view of the newest commit that stays what it is; nil when the engine has none to give (rule 295). The default is nil.
  func makeSnapshot() throws -> (any StoreSnapshot)?

  /// Writes change sets together, each of which succeeds or fails alone: one transaction, one sync.
  ///
  /// Returns at once. `completion` is called with one result per change set, in their order, on a thread of
  /// the store and in commit order; it must not wait and must not commit or make keys. Failures are
  /// ``CommitConflict``, ``UniquenessViolation``, ``CoreDataError`` and ``StorageError``.
  func commit(
    _ changeSets: [ChangeSet], deadline: Duration?,
    completion: @escaping @Sendable ([Result<CommitResult, any Error>]) -> Void)

  /// The same for small change sets of threads that wait for them, on the calling thread where the engine can write there at once: then `completion`
  /// has been called when this returns. Otherwise, and by default, as `commit`.
  func commitHere(
    _ changeSets: [ChangeSet], deadline: Duration?,
    completion: @escaping @Sendable ([Result<CommitResult, any Error>]) -> Void)

  /// Carries out a batch, whole or not at all, in a transaction of its own; otherwise as `commit`. Fails with
  /// `CancellationError` when the batch's progress was cancelled. The default fails: the engine knows no batches.
  func execute(
    _ batch: StoreBatch, deadline: Duration?,
    completion: @escaping @Sendable (Result<BatchOutcome, any Error>) -> Void)

  /// What the saving thread can do for a change set while the store writes it; nil when there is nothing.
  ///
  /// Called before `commit` of the change set, which it may mark; what it returns must be called once, afterwards: the commit
  /// may wait for it. The default returns nil.
  func workAlongside(_ changes: inout ChangeSet) -> (() -> Void)?

  /// Makes every commit durable that has returned. The default does nothing: commits are durable when they return.
  /// - Throws: ``StorageError``.
  func flush() throws

  /// Refuses while another coordinator of this process, or another process, has the store open. The default refuses nothing.
  /// - Throws: ``StorageError`` `.busy`.
  func requireSoleUse() throws

  /// What an error of a write means for a program, where the engine knows more than the error says. The default is the error.
  func explained(_ error: any Error) -> any Error

  /// Notes that this store was made from `source`, and has been of the versions that `source` was of. The default does nothing.
  /// - Throws: ``StorageError``.
  func addLineage(of source: any StoreEngine) throws

  /// The store as one that may record a history; the default is nil, for an engine that cannot.
  var historyStore: (any HistoryStore)? { get }

  /// The store as one that others may write to while it is open; the default is nil.
  var followedStore: (any FollowedStore)? { get }

  /// The store as one whose indexes can be added and removed; the default is nil.
  var indexingStore: (any IndexingStore)? { get }

  /// The store as one that can be copied to a file; the default is nil.
  var copyableStore: (any CopyableStore)? { get }

  /// The store as one that can give free room back; the default is nil.
  var compactableStore: (any CompactableStore)? { get }

  /// The store as one whose answers come from the program's code; the default is nil.
  var contextualStore: (any ContextualStore)? { get }

  /// Whether each question costs a way there and back, so that contexts ask for what they will probably want, too. The default is false.
  var isFar: Bool { get }

  /// Gives back what the store holds. Every later call throws ``StorageError`` of kind `closed`.
  func close()
}

extension StoreEngine {
  /// Nil: an engine without snapshots.
  /// - Throws: nothing here; an engine's own method throws ``StorageError``.
  package func makeSnapshot() throws -> (any StoreSnapshot)? { nil }
  package func makeProvisionalKey(hierarchy: Int, after error: any Error) -> UInt64? { nil }
  package func flush() throws {}
  package func requireSoleUse() throws {}
  package func explained(_ error: any Error) -> any Error { error }
  package func addLineage(of source: any StoreEngine) throws {}
  package var isFar: Bool { false }
  package var historyStore: (any HistoryStore)? { nil }
  package var followedStore: (any FollowedStore)? { nil }
  package var indexingStore: (any IndexingStore)? { nil }
  package var copyableStore: (any CopyableStore)? { nil }
  package var compactableStore: (any CompactableStore)? { nil }
  package var contextualStore: (any ContextualStore)? { nil }
  package func workAlongside(_ changes: inout ChangeSet) -> (() -> Void)? { nil }
  package func commitHere(
    _ changeSets: [ChangeSet], deadline: Duration?,
    completion: @escaping @Sendable ([Result<CommitResult, any Error>]) -> Void
  ) { commit(changeSets, deadline: deadline, completion: completion) }
}

/// A row of a store.
package struct FetchedRow: Sendable {
  /// The row's key within its hierarchy.
  package let primaryKey: UInt64
  /// The number of the row's entity in the schema.
  package let entity: Int
  /// The row's values in the layout the schema has now; nil when only identifiers were asked for.
  package let snapshot: RowSnapshot?

  @inlinable package init(primaryKey: UInt64, entity: Int, snapshot: RowSnapshot?) {
    self.primaryKey = primaryKey
    self.entity = entity
    self.snapshot = snapshot
  }
}

/// The result of a fetch.
package struct FetchedRows: Sendable {
  /// The rows in order; empty when only a count was asked for.
  package var rows: ContiguousArray<FetchedRow>
  /// How many rows are in the window.
  package var count: Int
  /// How they were found.
  package let plan: FetchPlan
  /// How many rows were looked at; nil where nobody has counted them.
  var examinedCount: Int?

  /// How they were found, in words.
  package var explanation: String { plan.description }

  init(rows: ContiguousArray<FetchedRow>, count: Int, plan: FetchPlan) {
    self.rows = rows
    self.count = count
    self.plan = plan
  }

  /// What an engine with plans of its own has found, `description` says how.
  package init(rows: ContiguousArray<FetchedRow>, count: Int, description: String) {
    self.init(
      rows: rows, count: count,
      plan: FetchPlan(
        access: .scan, isOrdered: true, residual: nil, filtersEntities: false, description: description))
  }
}
