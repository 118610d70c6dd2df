import Foundation

/// What a commit changed, reported to all observers in commit order.
///
/// Carries the new rows themselves, shared and immutable, so that merging reads nothing and decodes nothing; of a batch, which
/// may have changed millions, their keys.
struct CommitNotice: Sendable {
  /// The store's place among the coordinator's stores.
  let storeIndex: Int
  /// The store's own count of its commits.
  let commitNumber: UInt64
  /// Who saved: so that a context does not merge its own save.
  let origin: ObjectIdentifier
  /// The rows written and deleted.
  let changes: ChangeSet
  /// Among them, those whose derived values the store has computed: the saving context has sent them without.
  var derivedRows: [RowChange] = []
  /// Those among `changes.touched` that the store has found: the saving context did not know them.
  var unsaidTouches: [RowTouch] = []
  /// Of a batch, instead of rows: which have changed. A context that holds some of them reads these.
  var batch: BatchChanges?
  /// False when the store had nothing to write: then the number is that of an earlier commit, perhaps another process's.
  var hasWritten = true
  /// Whether another process has committed: then `batch` says what is known of it.
  var isForeign = false
  /// How long the changes were in the hands of the store, and waited there for others: known to who has saved, while somebody asks for saves.
  var timeInStore = Duration.zero
  var timeWaited = Duration.zero
  /// Whether the store has found more than the change set said.
  var hasMoreThanWasSaid: Bool { !derivedRows.isEmpty || !unsaidTouches.isEmpty }
  /// How many rows it is about.
  var count: Int { batch?.count ?? changes.count }
  /// False when a context has saved to its parent and no store has the rows yet, and when there are no rows.
  var isStored: Bool { commitNumber > 0 }
}

/// An observer of commits. Called on a thread of the store or on one that saves, in commit order; must not wait, and must not hold a
/// context there even for a moment: the context would end on that thread if its user released it meanwhile.
protocol CommitObserver: AnyObject, Sendable {
  func coordinatorDidCommit(_ notice: CommitNotice)
}
