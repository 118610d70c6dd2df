import Foundation

/// What a successful commit says.
public struct CommitResult: Sendable {
  /// The store's own count of its commits, the same for all change sets written together unless the store records a history.
  public let commitNumber: UInt64
  /// Rows whose derived values the commit has computed, as they are stored: rows of the change set, and rows of others that
  /// follow from it.
  public var derivedRows: [RowChange] = []
  /// Rows that have lost a relationship to a row that the commit deletes, where its change set says nothing of that.
  public var touched: [RowTouch] = []
}

/// Rows a change set is based on have changed or gone (rules 189–192): nothing of it was written.
public struct CommitConflict: Error, Sendable, CustomStringConvertible {
  /// All rows in conflict.
  public let conflicts: [RowConflict]
  /// Not smaller than the version any row ever had: rows written again under an old key count on from here, so that
  /// they are not taken for what the key stood for before.
  public internal(set) var newestVersion: UInt32 = 0

  public var description: String {
    "\(conflicts.count) row\(conflicts.count == 1 ? " has" : "s have") changed in the store since."
  }
}

/// A row that has changed in the store since the version a change is based on.
public struct RowConflict: Sendable {
  /// The hierarchy's number in the schema.
  public let hierarchy: Int
  /// The row's key.
  public let primaryKey: UInt64
  /// The row as it is stored now; nil when it is gone.
  public let stored: FetchedRow?
}

/// Rows of a change set break uniqueness constraints: nothing of it was written.
public struct UniquenessViolation: Error, Sendable, CustomStringConvertible {
  /// All pairs of rows that share the values of a constraint.
  public let violations: [ConstraintViolation]

  public var description: String {
    let shown = violations.prefix(5).map { "\($0)" }.joined(separator: " ")
    return violations.count > 5 ? shown + " … and \(violations.count - 5) more." : shown
  }
}

/// Two rows with the same values of a uniqueness constraint.
public struct ConstraintViolation: Sendable, Hashable, CustomStringConvertible {
  /// The number of the changed row's entity in the schema.
  public let entity: Int
  /// The number of the constraint's index in the schema.
  public let index: Int
  /// The name of the entity that declares the constraint.
  public let entityName: String
  /// The attributes of the constraint.
  public let constraint: [String]
  /// The key of the row in the change set.
  public let primaryKey: UInt64
  /// The key of the row that has the same values.
  public let otherPrimaryKey: UInt64
  /// Whether the other row is stored and not part of the change set (rule 202).
  public let isInStore: Bool

  public var description: String {
    "\(entityName) p\(primaryKey) has the same \(constraint.joined(separator: ", ")) as p\(otherPrimaryKey)"
      + (isInStore ? " in the store." : " in the same save.")
  }
}
