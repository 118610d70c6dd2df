import Foundation

/// Records that would share the values of a uniqueness constraint (rules 202, 203).
///
/// ```
///   between objects of one save     databaseObject nil      two or more conflictingObjects
///   with a stored record            databaseObject set      one conflictingObject
/// ```
///
/// Used on the queue of the context whose objects it names.
public final class ConstraintConflict: NSObject {
  /// The names of the attributes and to-one relationships that must not have the same values in two records.
  public let constraint: [String]
  /// The values that are shared, by attribute; of to-one relationships the IDs of the objects that they lead to.
  public let constraintValues: [String: Any]
  /// The stored record that has the values; nil when only objects of this save have them.
  public let databaseObject: ManagedObject?
  /// What is stored of `databaseObject`: attributes, and IDs of to-one relationships; nil without one.
  public let databaseSnapshot: [String: Any]?
  /// The objects of this save that have the values; none of a batch insert, whose rows are no objects.
  public let conflictingObjects: [ManagedObject]
  /// What each of `conflictingObjects` was when it was last read or saved, in their order; nil for a new object, where Core
  /// Data has an `NSNull`.
  public let conflictingSnapshots: [[String: Any]?]

  /// The shared values, in the order of `constraint`.
  let values: [AttributeValue]
  /// Of a row of a batch insert: which, and with what it is in conflict.
  private let batchWords: String?

  /// Makes a conflict, as a save does when a store refuses duplicates. The values are those that the first of `conflicting` has.
  ///
  /// Traps when `conflicting` is empty, or `constraint` names something that is no attribute and no to-one relationship of it.
  public init(
    constraint: [String], database databaseObject: ManagedObject?, databaseSnapshot: [String: Any]?,
    conflicting conflictingObjects: [ManagedObject], conflictingSnapshots: [[String: Any]?]
  ) {
    guard let first = conflictingObjects.first else {
      trap("a constraint conflict needs an object that is in conflict")
    }
    self.constraint = constraint
    self.databaseObject = databaseObject
    self.databaseSnapshot = databaseSnapshot
    self.conflictingObjects = conflictingObjects
    self.conflictingSnapshots = conflictingSnapshots
    values = first.values(of: constraint)
    batchWords = nil
    constraintValues = Dictionary(zip(constraint, values.map(first.shown))) { $1 }
    super.init()
  }

  /// A conflict between nothing, as Core Data's `init()` makes it.
  public override init() {
    constraint = []
    constraintValues = [:]
    databaseObject = nil
    databaseSnapshot = nil
    conflictingObjects = []
    conflictingSnapshots = []
    values = []
    batchWords = "a constraint conflict between no records"
    super.init()
  }

  /// A row of a batch insert and the stored record that has its values, if it is one.
  init(
    batch duplicate: BatchDuplicates.Duplicate, _ words: String, _ stored: ManagedObject?,
    _ row: RowSnapshot?, speaksFoundation: Bool
  ) {
    constraint = duplicate.constraint
    values = duplicate.values
    constraintValues = Dictionary(
      zip(
        constraint,
        values.map { value -> Any in
          if let stored { return stored.shown(value) }
          return (speaksFoundation ? value.foundationValue : value.anyValue) ?? NSNull()
        })
    ) { $1 }
    databaseObject = stored
    databaseSnapshot = stored.flatMap { stored in row.map { stored.dictionary(of: $0) } }
    conflictingObjects = []
    conflictingSnapshots = []
    batchWords = words
    super.init()
  }

  /// The values, and the records that have them.
  public override var description: String {
    if let batchWords { return batchWords }
    let values = zip(constraint, values).map { name, value in
      if case .reference = value, let target = constraintValues[name] as? ManagedObjectID {
        return "\(name) \(target.entityName)/p\(target.recordKey)"
      }
      return "\(name) \(value)"
    }.joined(separator: ", ")
    let objects = conflictingObjects.prefix(5).map { "\($0.home.token.entityName)/p\($0.primaryKey)" }
    let more = conflictingObjects.count > 5 ? ", … and \(conflictingObjects.count - 5) more" : ""
    let stored = databaseObject.map { " and the stored \($0.home.token.entityName)/p\($0.primaryKey)" } ?? ""
    return objects.joined(separator: ", ") + more + stored + " have the same " + values
  }

  /// Whether `object` is in its context, stays there and has the values still: a merge policy may have changed it since.
  func stands(for object: ManagedObject) -> Bool {
    object.context != nil && !object.isMarkedDeleted && object.values(of: constraint) == values
  }
}

extension ManagedObject {
  /// The values of attributes named, edits included. Fires a fault.
  fileprivate final func values(of names: [String]) -> [AttributeValue] {
    names.map { name in
      guard let slot = home.entity.slot(named: name), home.entity.relationship(slot: slot)?.isToMany != true
      else {
        trap(
          "\(home.token.entityName) has no attribute or to-one relationship “\(name)” that a constraint could name."
        )
      }
      return currentValue(slot)
    }
  }

  /// A value of a constraint as it is told: of a reference the ID.
  fileprivate final func shown(_ value: AttributeValue) -> Any {
    if case .reference(let bits) = value {
      return context?.identifier(bits, inStore: home.storeIndex) ?? NSNull()
    }
    return handedOut(value) ?? NSNull()
  }
}

extension CoreDataError {
  /// What a save throws when constraint conflicts stay unresolved (rule 204).
  static func unresolved(_ conflicts: [ConstraintConflict], _ reason: String? = nil) -> CoreDataError {
    let shown = conflicts.prefix(5).map { "\($0)" }.joined(separator: "; ")
    let more = conflicts.count > 5 ? " … and \(conflicts.count - 5) more" : ""
    return CoreDataError(
      .managedObjectConstraintMerge,
      "Uniqueness constraints are violated, nothing was saved: \(shown)\(more)."
        + (reason.map { " " + $0 } ?? ""),
      userInfo: [
        Key.constraintConflicts: conflicts, Key.saveConflicts: conflicts,
        Key.affectedObjects: affected(conflicts),
      ])
  }

  private static func affected(_ conflicts: [ConstraintConflict]) -> [ManagedObject] {
    var seen = Set<ObjectIdentifier>()
    return conflicts.flatMap(\.conflictingObjects).filter { seen.insert(ObjectIdentifier($0)).inserted }
  }
}
