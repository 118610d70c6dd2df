import Foundation

/// What a merge policy does about rows that changed in the store since the context read them (rule 188).
public enum MergePolicyType: UInt, Sendable {
  /// The save fails and writes nothing.
  case error = 0
  /// Property by property; where both sides changed one, the store's value wins.
  case mergeByPropertyStoreTrump = 1
  /// Property by property; where both sides changed one, the object's value wins.
  case mergeByPropertyObjectTrump = 2
  /// The whole object is written over whatever is stored.
  case overwrite = 3
  /// The object's changes are dropped.
  case rollback = 4
}

/// Decides what becomes of an object whose row was changed or deleted by somebody else since it was read.
///
/// The five ready-made policies are singletons and compare by identity. A subclass overrides
/// `resolve(mergeConflicts:)`, edits the objects of the conflicts as it likes, and calls super, which then settles each
/// conflict the way of its `mergeType` (rule 201). It runs on the context's queue, outside the store's transaction; the
/// save is tried again afterwards.
///
/// Uniqueness violations are not merged yet: under every policy they fail the save with code 133021 and write nothing.
open class MergePolicy: NSObject, @unchecked Sendable {  // Safe: the only stored property is a constant.
  /// How conflicts are settled.
  public let mergeType: MergePolicyType

  /// Makes a policy of the given kind; subclasses start from one of the five.
  public init(merge type: MergePolicyType) {
    mergeType = type
    super.init()
  }

  /// The save fails with code 133020 and the list of conflicts; nothing is written. The default (rule 188).
  public static let error = MergePolicy(merge: .error)
  /// Merges by property, the store's value wins (rule 194).
  public static let mergeByPropertyStoreTrump = MergePolicy(merge: .mergeByPropertyStoreTrump)
  /// Merges by property, the object's value wins (rule 195).
  public static let mergeByPropertyObjectTrump = MergePolicy(merge: .mergeByPropertyObjectTrump)
  /// Writes the whole object over the stored row (rule 196).
  public static let overwrite = MergePolicy(merge: .overwrite)
  /// Takes the stored row, drops the object's changes (rule 197).
  public static let rollback = MergePolicy(merge: .rollback)

  /// Settles all conflicts of one save attempt. Overrides edit objects first and call super last.
  /// - Throws: `CoreDataError` 133020 under the error policy, with the conflicts under
  ///   `NSPersistentStoreSaveConflictsErrorKey`; the save then fails, the context keeps its changes.
  open func resolve(mergeConflicts: [MergeConflict]) throws {
    try resolve(optimisticLockingConflicts: mergeConflicts)
  }

  /// The part of `resolve(mergeConflicts:)` that deals with row versions.
  open func resolve(optimisticLockingConflicts conflicts: [MergeConflict]) throws {
    if mergeType == .error {
      throw CoreDataError(.managedObjectMerge, userInfo: [CoreDataError.Key.saveConflicts: conflicts])
    }
    for conflict in conflicts { conflict.settle(mergeType) }
  }
}

/// One object whose row is not what the context last read (rules 190–193).
public final class MergeConflict {
  /// The object being saved.
  public let sourceObject: ManagedObject
  /// Attribute values the context last read or saved; nil when it never read the row.
  public let objectSnapshot: [String: Any]?
  /// The newer values in the store; nil when the row has been deleted.
  public let cachedSnapshot: [String: Any]?
  /// Values of an external store behind the coordinator's cache: always nil, Strata's stores have no such cache.
  public var persistedSnapshot: [String: Any]? { nil }
  /// The version of the row the context last read.
  public let oldVersionNumber: Int
  /// The version of the row in the store; 0 when it has been deleted (rule 191).
  public let newVersionNumber: Int

  /// The stored row the conflict is with.
  let stored: RowSnapshot?
  private let newestVersion: UInt32

  init(_ object: ManagedObject, stored: RowSnapshot?, newestVersion: UInt32) {
    sourceObject = object
    self.stored = stored
    self.newestVersion = newestVersion
    objectSnapshot = object.snapshot.map { object.dictionary(of: $0) }
    cachedSnapshot = stored.map { object.dictionary(of: $0) }
    oldVersionNumber = Int(object.snapshot?.version ?? 0)
    newVersionNumber = Int(stored?.version ?? 0)
  }

  /// Puts the object into the state in which `type` wants it saved.
  fileprivate func settle(_ type: MergePolicyType) {
    guard let context = sourceObject.context else { return }
    guard let stored else {
      // The row is gone (rule 199): who insists on the object writes it anew, who yields to the store lets it go.
      switch type {
      case .overwrite, .mergeByPropertyObjectTrump:
        context.reinsert(sourceObject, newestVersion: newestVersion)
      case .error, .rollback, .mergeByPropertyStoreTrump: context.dropVanished(sourceObject)
      }
      return
    }
    if sourceObject.isDeleted {
      switch type {
      case .overwrite, .mergeByPropertyObjectTrump: sourceObject.rebase(onto: stored)
      case .error, .rollback, .mergeByPropertyStoreTrump:
        context.undelete(sourceObject)
        sourceObject.discardEdits(takingRow: stored)
      }
      return
    }
    if sourceObject.isInserted { context.unreinsert(sourceObject) }
    switch type {
    case .error: break
    case .rollback:
      sourceObject.discardEdits(takingRow: stored)
    case .overwrite:
      sourceObject.keepEveryValue()
      sourceObject.rebase(onto: stored)
    case .mergeByPropertyObjectTrump:
      sourceObject.rebase(onto: stored)
    case .mergeByPropertyStoreTrump:
      sourceObject.yieldSlotsChanged(in: stored)
      sourceObject.rebase(onto: stored)
    }
    sourceObject.awake(fromSnapshotEvents: .mergePolicy)
  }
}
