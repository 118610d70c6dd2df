/// An index as a store has it.
public struct StoredIndex: Sendable, Hashable {
  /// One attribute of the index.
  public struct Attribute: Sendable, Hashable {
    /// The attribute's name; that of an element of a composite attribute with the whole path.
    public let name: String
    /// The direction in which the index sorts it.
    public let isAscending: Bool
  }

  /// The name, without the entity's; `unique(a,b)` for a uniqueness constraint.
  public let name: String
  /// The entity that the index is for, with its subentities.
  public let entityName: String
  /// The attributes in the order in which the index sorts by them.
  public let attributes: [Attribute]
  /// The rows that it holds, as the format string of a predicate; nil when it holds all rows.
  public let predicateFormat: String?
  /// Whether it stands for a uniqueness constraint.
  public let isUnique: Bool
  /// Whether the model declares it.
  public let isDeclared: Bool
  /// Whether it was added to the store: `PersistentStoreCoordinator.addIndex`.
  public let isAdded: Bool
  /// Whether fetches may use it. While it is being built they do not.
  public let isComplete: Bool
  /// How many entries it has now.
  public let entryCount: Int
}

/// How far the building of an index is.
public struct IndexProgress: Sendable, Hashable {
  /// The rows that were looked at.
  public internal(set) var completedRows: Int
  /// How many there are to look at: the rows of the entity's hierarchy.
  public internal(set) var totalRows: Int

  /// From 0 to 1.
  public var fractionCompleted: Double {
    totalRows == 0 ? 1 : Double(completedRows) / Double(totalRows)
  }
}
