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

/// How a merge policy settles conflicts, with the cases that Core Data has: `NSMergePolicyType` by Core Data's names. The raw values are those of
/// ``MergePolicyType``.
public enum ManagedMergePolicyType: UInt, Sendable, CaseIterable {
  /// The save fails and writes nothing.
  case errorMergePolicyType = 0
  /// Property by property; where both sides changed one, the store's value wins.
  case mergeByPropertyStoreTrumpMergePolicyType = 1
  /// Property by property; where both sides changed one, the object's value wins.
  case mergeByPropertyObjectTrumpMergePolicyType = 2
  /// The whole object is written over whatever is stored.
  case overwriteMergePolicyType = 3
  /// The object's changes are dropped.
  case rollbackMergePolicyType = 4

  var core: MergePolicyType {
    switch self {
    case .errorMergePolicyType: .error
    case .mergeByPropertyStoreTrumpMergePolicyType: .mergeByPropertyStoreTrump
    case .mergeByPropertyObjectTrumpMergePolicyType: .mergeByPropertyObjectTrump
    case .overwriteMergePolicyType: .overwrite
    case .rollbackMergePolicyType: .rollback
    }
  }
}

/// Decides what happens to an object whose row was changed or deleted elsewhere since it was read, and of objects that
/// would share the values of a uniqueness constraint with others.
///
/// The five ready-made policies are singletons and compare by identity. A subclass overrides
/// `resolve(mergeConflicts:)`, or one of the two methods that it calls, edits the objects of the conflicts as it likes, and calls
/// super, which then settles each conflict that still stands the way of its `mergeType` (rule 201). It runs on the context's queue,
/// outside the store's transaction; the save is tried again afterwards.
///
/// Of a duplicate, a new object with values that another record has, becomes (rule 205):
///
/// | policy | its attributes and to-one relationships |
/// |---|---|
/// | object trump | those that are set, and so differ from the default, go to the record that is kept |
/// | overwrite | all go there, nil and defaults as well |
/// | store trump, rollback | are dropped |
///
/// Under all of them the duplicate leaves the context, what unsaved objects say of it they say of the record that is kept, and members
/// of its to-many relationships become members there. The stored record is kept; among objects of one save the stored
/// one, then the oldest. A duplicate of a subentity that has more properties than the record there is, is kept in its place and
/// takes its values over; entities of which neither inherits from the other cannot be merged, and fail the save with 133021.
///
/// An edited record that comes to have another one's values gives those values back under store trump, all its edits under rollback. Under
/// object trump and overwrite it is the other record that goes; its members stay.
///
/// Of rows of a ``BatchInsertRequest`` only the `mergeType` decides: there are no objects to be asked about.
open class MergePolicy: NSObject, @unchecked Sendable {  // Safe: the only stored property is a constant.
  /// How conflicts are settled.
  @_disfavoredOverload public let mergeType: MergePolicyType

  /// Makes a policy of the given kind; subclasses start from one of the five.
  public init(merge type: MergePolicyType) {
    mergeType = type
    super.init()
  }

  /// The same by Core Data's names. Designated, so that subclasses override it.
  public init(merge type: ManagedMergePolicyType) {
    mergeType = type.core
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

  /// Settles all conflicts of one save attempt: row versions first, then uniqueness (rule 201). Overrides edit objects first and
  /// call super last.
  /// - Parameter list: `MergeConflict`s and `ConstraintConflict`s.
  /// - Throws: under the error policy `CoreDataError` 133020 or 133021, with the conflicts under `NSPersistentStoreSaveConflictsErrorKey`,
  ///   those of constraints also under `conflictList`; the save then fails, the context keeps its changes.
  open func resolve(mergeConflicts list: [Any]) throws {
    let locking = list.compactMap { $0 as? MergeConflict }
    let constraints = list.compactMap { $0 as? ConstraintConflict }
    if !locking.isEmpty { try resolve(optimisticLockingConflicts: locking) }
    if !constraints.isEmpty { try resolve(constraintConflicts: constraints) }
  }

  /// The part of `resolve(mergeConflicts:)` that deals with row versions. Delete rules of what an override has deleted are applied first.
  /// - Throws: `CoreDataError` 133020 under the error policy, with the conflicts; what reading a row throws.
  open func resolve(optimisticLockingConflicts conflicts: [MergeConflict]) throws {
    if mergeType == .error {
      let shown = conflicts.prefix(5).map { "\($0)" }.joined(separator: "; ")
      let more = conflicts.count > 5 ? "; … and \(conflicts.count - 5) more" : ""
      throw CoreDataError(
        .managedObjectMerge,
        "\(CoreDataError.Code.managedObjectMerge.sentence) Nothing was saved. \(shown)\(more).",
        userInfo: [CoreDataError.Key.saveConflicts: conflicts])
    }
    let context = conflicts.lazy.compactMap(\.sourceObject.context).first
    context?.propagateDeletionsOfPolicy()
    for conflict in conflicts { try conflict.settle(mergeType) }
    if isOverridden { context?.propagateDeletionsOfPolicy() }
  }

  /// Whether code of the application goes on when a method of this class returns, and may look at relationships.
  private var isOverridden: Bool { Swift.type(of: self) != MergePolicy.self }

  /// The part of `resolve(mergeConflicts:)` that deals with uniqueness constraints (rules 202–206). Delete rules of what an override has deleted are applied first, those of
  /// stored records that have gone at the end.
  /// - Throws: `CoreDataError` 133021 under the error policy, and for objects that cannot be merged. Nothing was changed then.
  open func resolve(constraintConflicts list: [ConstraintConflict]) throws {
    if mergeType == .error { throw CoreDataError.unresolved(list) }
    let context = list.lazy.compactMap { conflict in
      conflict.conflictingObjects.first?.context ?? conflict.databaseObject?.context
    }.first
    context?.propagateDeletionsOfPolicy()
    try ConstraintSettlement.settle(list, mergeType)
    if isOverridden { context?.propagateDeletionsOfPolicy() }
  }
}

/// One object whose row is not what the context last read (rules 190–193).
public final class MergeConflict: NSObject {
  /// The object being saved.
  public let sourceObject: ManagedObject
  /// Attribute values the context last read or saved; nil when it never read the row.
  public let objectSnapshot: [String: Any]?
  /// The newer values in the store; nil when the row has been deleted.
  public let cachedSnapshot: [String: Any]?
  /// Values of an external store behind the coordinator's cache: nil in conflicts of saves, Strata's stores have no such cache.
  public let persistedSnapshot: [String: Any]?
  /// The version of the row the context last read.
  public let oldVersionNumber: Int
  /// The version of the row in the store; 0 when it has been deleted (rule 191).
  public let newVersionNumber: Int

  /// The stored row the conflict is with.
  private let found: RowSnapshot?
  private let newestVersion: UInt32
  /// Not found by a save: the stored row is read when the conflict is settled.
  private let isMadeByHand: Bool

  init(_ object: ManagedObject, stored: RowSnapshot?, newestVersion: UInt32) {
    sourceObject = object
    found = stored
    isMadeByHand = false
    persistedSnapshot = nil
    self.newestVersion = newestVersion
    objectSnapshot = object.snapshot.map { object.dictionary(of: $0) }
    cachedSnapshot = stored.map { object.dictionary(of: $0) }
    oldVersionNumber = Int(object.snapshot?.version ?? 0)
    newVersionNumber = Int(stored?.version ?? 0)
    super.init()
  }

  /// A conflict that code has made, of `source`, a stored object, with the newest row of its store; to hand it to a merge policy.
  ///
  /// Versions and snapshots are what the conflict tells. A policy settles it with the row that is stored then; of an object that was
  /// never saved there is nothing to settle.
  /// - Parameters:
  ///   - srcObject: The object, which is stored.
  ///   - newvers: The version of the stored row; 0 for a row that was deleted.
  ///   - oldvers: The version that the object is based on.
  ///   - cachesnap: What the coordinator's newest row has, by property.
  ///   - persnap: What the store has, by property.
  public init(
    source srcObject: ManagedObject, newVersion newvers: Int, oldVersion oldvers: Int,
    cachedSnapshot cachesnap: [String: Any]?, persistedSnapshot persnap: [String: Any]?
  ) {
    sourceObject = srcObject
    found = nil
    isMadeByHand = true
    newestVersion = UInt32(clamping: max(newvers, oldvers))
    objectSnapshot = srcObject.snapshot.map { srcObject.dictionary(of: $0) }
    cachedSnapshot = cachesnap
    persistedSnapshot = persnap
    oldVersionNumber = oldvers
    newVersionNumber = newvers
    super.init()
  }

  /// The record, which of its properties others have changed, and which the context has.
  public override var description: String {
    let others: String
    if let row = found {
      let slots = sourceObject.snapshot.map { sourceObject.slots(changedFrom: $0, to: row) }
      others = "has changed " + names(slots ?? SlotBitmap())
    } else {
      others = newVersionNumber == 0 ? "has deleted it" : "has changed it"
    }
    let own =
      sourceObject.isMarkedDeleted
      ? "has deleted it" : "has changed " + names(sourceObject.slotsThatDiffer)
    return "\(sourceObject.home.token.entityName)/p\(sourceObject.primaryKey): another writer \(others), "
      + "this context \(own)"
  }

  private func names(_ slots: SlotBitmap) -> String {
    var names: [String] = []
    slots.forEach { names.append(sourceObject.home.entity.attributes[$0].name) }
    if names.isEmpty { return "its relationships" }
    return names.prefix(8).joined(separator: ", ") + (names.count > 8 ? " and \(names.count - 8) more" : "")
  }

  /// Puts the object into the state in which `type` wants it saved.
  fileprivate func settle(_ type: MergePolicyType) throws {
    guard let context = sourceObject.context else { return }
    if isMadeByHand, sourceObject.isMarkedInserted || sourceObject.isFault { return }
    guard let stored = isMadeByHand ? try sourceObject.newestRow() : found else {
      // The row is gone (rule 199): a policy that insists on the object writes it again, one that yields to the store releases it.
      switch type {
      case .overwrite, .mergeByPropertyObjectTrump:
        try context.reinsert(sourceObject, newestVersion: newestVersion)
      case .error, .rollback, .mergeByPropertyStoreTrump: context.dropVanished(sourceObject)
      }
      return
    }
    if sourceObject.isMarkedDeleted {
      switch type {
      case .overwrite, .mergeByPropertyObjectTrump: sourceObject.rebase(onto: stored)
      case .error, .rollback, .mergeByPropertyStoreTrump:
        // Its owners have it back, as the row that it was deleted with says; the stored one may name others.
        context.takeBackDeletion(of: sourceObject)
        context.knowingLeavers(after: sourceObject) {
          sourceObject.discardEdits(takingRow: stored)
          sourceObject.adoptLostMembers()
        }
        context.forgetMembers(referredToBy: sourceObject.home.entity, nil)
      }
      return
    }
    if sourceObject.isMarkedInserted { context.unreinsert(sourceObject) }
    switch type {
    case .error: break
    case .rollback:
      sourceObject.discardEdits(takingRow: stored)
      sourceObject.adoptLostMembers()
      context.forgetMembers(referredToBy: sourceObject.home.entity, nil)
    case .overwrite:
      try sourceObject.keepEveryValue(exceptPartners: true)
      sourceObject.rebase(onto: stored)
    case .mergeByPropertyObjectTrump:
      sourceObject.dropSettledEdits()
      sourceObject.rebase(onto: stored)
    case .mergeByPropertyStoreTrump:
      sourceObject.yieldSlotsChanged(in: stored)
      sourceObject.rebase(onto: stored)
    }
    sourceObject.awake(fromSnapshotEvents: .mergePolicy)
  }
}
