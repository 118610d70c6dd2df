import Foundation

/// What a successful commit says.
package struct CommitResult: Sendable {
  /// The store's own count of its commits, the same for all change sets written together unless the store records a history.
  package let commitNumber: UInt64
  /// Rows whose derived values the commit has computed, as they are stored: rows of the change set, and rows of others that
  /// follow from it.
  package var derivedRows: [RowChange] = []
  /// Rows that have lost a relationship to a row that the commit deletes, where its change set says nothing of that.
  package var touched: [RowTouch] = []
  /// Whether the number is of a commit of this store: a change set that has nothing to write has that of the commit before it, which may be
  /// another process's.
  var hasWritten = true
  /// How long the change set waited for others, while somebody asks for that.
  var timeWaited = Duration.zero

  package init(commitNumber: UInt64, derivedRows: [RowChange] = [], touched: [RowTouch] = []) {
    self.commitNumber = commitNumber
    self.derivedRows = derivedRows
    self.touched = touched
  }
}

/// Rows a change set is based on have changed or gone (rules 189–192): nothing of it was written.
package struct CommitConflict: Error, Sendable, CustomStringConvertible {
  /// All rows in conflict.
  package let conflicts: [RowConflict]
  /// Not smaller than the version any row ever had: rows written again under an old key count on from here, so that
  /// they are not taken for what the key stood for before.
  package internal(set) var newestVersion: UInt32 = 0

  package init(conflicts: [RowConflict], newestVersion: UInt32 = 0) {
    self.conflicts = conflicts
    self.newestVersion = newestVersion
  }

  package var description: String {
    "\(conflicts.count) row\(conflicts.count == 1 ? " has" : "s have") changed in the store since."
  }
}

/// A row that has changed in the store since the version a change is based on.
package struct RowConflict: Sendable {
  /// The hierarchy's number in the schema.
  package let hierarchy: Int
  /// The row's key.
  package let primaryKey: UInt64
  /// The row as it is stored now; nil when it is gone.
  package let stored: FetchedRow?

  package init(hierarchy: Int, primaryKey: UInt64, stored: FetchedRow?) {
    self.hierarchy = hierarchy
    self.primaryKey = primaryKey
    self.stored = stored
  }
}

/// Rows of a change set break uniqueness constraints: nothing of it was written.
package struct UniquenessViolation: Error, Sendable, CustomStringConvertible {
  /// All pairs of rows that share the values of a constraint.
  package let violations: [ConstraintViolation]

  package init(violations: [ConstraintViolation]) { self.violations = violations }

  /// The same of rows that were all in the store before they were written anew.
  package var ofStoredRows: UniquenessViolation {
    UniquenessViolation(violations: violations.map(\.ofStoredRows))
  }

  package var description: String {
    let shown = violations.prefix(5).map { "\($0)" }.joined(separator: " ")
    return violations.count > 5 ? shown + " … and \(violations.count - 5) more." : shown
  }
}

/// Two rows with the same values of a uniqueness constraint.
package struct ConstraintViolation: Sendable, Hashable, CustomStringConvertible {
  /// The number of the changed row's entity in the schema.
  package let entity: Int
  /// The number of the constraint's index in the schema.
  package let index: Int
  /// The name of the entity that declares the constraint.
  package let entityName: String
  /// The attributes of the constraint.
  package let constraint: [String]
  /// The key of the row in the change set.
  package let primaryKey: UInt64
  /// The key of the row that has the same values.
  package let otherPrimaryKey: UInt64
  /// Whether the other row is stored and not part of the change set (rule 202).
  package let isInStore: Bool

  package init(
    entity: Int, index: Int, entityName: String, constraint: [String], primaryKey: UInt64,
    otherPrimaryKey: UInt64, isInStore: Bool
  ) {
    self.entity = entity
    self.index = index
    self.entityName = entityName
    self.constraint = constraint
    self.primaryKey = primaryKey
    self.otherPrimaryKey = otherPrimaryKey
    self.isInStore = isInStore
  }

  fileprivate var ofStoredRows: ConstraintViolation {
    ConstraintViolation(
      entity: entity, index: index, entityName: entityName, constraint: constraint, primaryKey: primaryKey,
      otherPrimaryKey: otherPrimaryKey, isInStore: true)
  }

  package var description: String {
    "\(entityName) p\(primaryKey) has the same \(constraint.joined(separator: ", ")) as p\(otherPrimaryKey)"
      + (isInStore ? " in the store." : " in the same save.")
  }
}
