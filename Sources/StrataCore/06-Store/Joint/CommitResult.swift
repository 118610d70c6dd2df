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
}

/// Rows a change set is based on have changed or gone (rules 189–192): nothing of it was written.
package struct CommitConflict: Error, Sendable, CustomStringConvertible {
  /// All rows in conflict.
  package let conflicts: [RowConflict]
  /// Not smaller than the version any row ever had: rows written again under an old key count on from here, so that
  /// they are not taken for what the key stood for before.
  package internal(set) var newestVersion: UInt32 = 0

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
}

/// Rows of a change set break uniqueness constraints: nothing of it was written.
package struct UniquenessViolation: Error, Sendable, CustomStringConvertible {
  /// All pairs of rows that share the values of a constraint.
  package let violations: [ConstraintViolation]

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

  package var description: String {
    "\(entityName) p\(primaryKey) has the same \(constraint.joined(separator: ", ")) as p\(otherPrimaryKey)"
      + (isInStore ? " in the store." : " in the same save.")
  }
}
