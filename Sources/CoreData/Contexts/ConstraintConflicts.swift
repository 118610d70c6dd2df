import StrataCore

extension NSConstraintConflict {
  /// A conflict about records with the same values of `constraint`, as policies of an application make them.
  public convenience init(
    constraint: [String], database databaseObject: NSManagedObject?, databaseSnapshot: [AnyHashable: Any]?,
    conflicting conflictingObjects: [NSManagedObject], conflictingSnapshots: [Any]
  ) {
    func named(_ values: [AnyHashable: Any]) -> [String: Any] {
      Dictionary(values.compactMap { key, value in (key.base as? String).map { ($0, value) } }) { $1 }
    }
    self.init(
      constraint: constraint, database: databaseObject, databaseSnapshot: databaseSnapshot.map(named),
      conflicting: conflictingObjects,
      conflictingSnapshots: conflictingSnapshots.map { ($0 as? [AnyHashable: Any]).map(named) })
  }
}
