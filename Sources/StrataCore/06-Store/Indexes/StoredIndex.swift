/// An index as a store has it.
public struct StoredIndex: Sendable, Hashable {
  /// One attribute of the index.
  public struct Attribute: Sendable, Hashable {
    /// The attribute's name; that of an element of a composite attribute with the whole path.
    public let name: String
    /// The direction in which the index sorts it.
    public let isAscending: Bool

    package init(name: String, isAscending: Bool) { (self.name, self.isAscending) = (name, isAscending) }
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
  /// How many entries it has now; on a server, how many rows it counted when it last looked.
  public let entryCount: Int

  package init(
    name: String, entityName: String, attributes: [Attribute], predicateFormat: String?, isUnique: Bool,
    isDeclared: Bool, isAdded: Bool, isComplete: Bool, entryCount: Int
  ) {
    (self.name, self.entityName, self.attributes) = (name, entityName, attributes)
    (self.predicateFormat, self.isUnique) = (predicateFormat, isUnique)
    (self.isDeclared, self.isAdded, self.isComplete) = (isDeclared, isAdded, isComplete)
    self.entryCount = entryCount
  }
}

/// How far the building of an index is.
public struct IndexProgress: Sendable, Hashable {
  /// The rows that were looked at.
  public internal(set) var completedRows: Int
  /// How many there are to look at: the rows of the entity's hierarchy.
  public internal(set) var totalRows: Int

  package init(completedRows: Int, totalRows: Int) {
    (self.completedRows, self.totalRows) = (completedRows, totalRows)
  }

  /// From 0 to 1.
  public var fractionCompleted: Double {
    totalRows == 0 ? 1 : Double(completedRows) / Double(totalRows)
  }
}

extension AddedIndex {
  /// The name is that of another index.
  package var isTaken: CoreDataError {
    CoreDataError(
      .persistentStoreOperation,
      "The entity \(entity) has an index called “\(name)” already, which is another one.")
  }

  package var wasRemoved: CoreDataError {
    CoreDataError(
      .persistentStoreOperation, "The index \(qualifiedName) was removed while it was being built.")
  }

  package var isNotHeld: CoreDataError {
    CoreDataError(
      .persistentStoreOperation, "The store's configuration does not hold the entity \(entity).")
  }

  /// An index that nobody has added, but perhaps the model declares, cannot be removed.
  package static func isNone(_ name: String, isOfModel: Bool) -> CoreDataError {
    CoreDataError(
      .persistentStoreOperation,
      isOfModel
        ? "The index \(name) is declared by the model: it goes when the model goes without it."
        : "The store has no index \(name) that was added to it.")
  }
}
