/// What one event or one merge has changed in what a context shows, as values that may be carried to any task.
///
/// Unlike the did-change notification it also reports rows that are no objects in the context, too: what others have saved, batches,
/// other processes' commits (rule 178, better). An ID may be in several of the sets.
public struct ManagedObjectContextChange: Sendable, Hashable {
  /// New records, by whomever.
  public var inserted: Set<ManagedObjectID> = []
  /// Objects that were edited here, or by a child.
  public var updated: Set<ManagedObjectID> = []
  /// Records that were deleted.
  public var deleted: Set<ManagedObjectID> = []
  /// Records whose rows others have changed, and objects that show other values without having been edited: merged, refreshed,
  /// rolled back.
  public var refreshed: Set<ManagedObjectID> = []
  /// All objects were refreshed, or others have changed more than can be listed: any record may be new, another one, or gone.
  public var isAllRefreshed = false
  /// The context was reset: objects and IDs from before count no more (`invalidatedAll`).
  public var isEverythingInvalidated = false

  /// All the IDs.
  public var all: Set<ManagedObjectID> { inserted.union(updated).union(deleted).union(refreshed) }
}

extension ManagedObjectContextChange {
  init(_ change: ContextChange) {
    inserted = Set(change.inserted)
    updated = Set(change.updated)
    deleted = Set(change.deleted)
    refreshed = Set(change.refreshed)
    isAllRefreshed = change.isAllRefreshed
    isEverythingInvalidated = change.isEverythingInvalidated
  }
}
