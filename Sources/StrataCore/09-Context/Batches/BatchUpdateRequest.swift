import Foundation

/// Gives many records new values straight in the store, without objects in a context and in one transaction: all of them or none.
///
///     var request = BatchUpdateRequest(entityName: "Flight", propertiesToUpdate: ["isArchived": true])
///     request.predicate = Attribute("date") < lastYear
///     let count = try context.execute(request).count
///
/// The predicate looks at what is stored, not at unsaved changes of any context. What would break the model is refused, and then
/// nothing is written: unknown names, values of another type, nil where a value is required (rule 270, better), duplicates of what
/// must be unique once all rows are written (so values may be moved along or swapped), references to nothing, derived and transient
/// attributes, to-many relationships. Validation rules and hooks are not asked (rule 266). Rows that have the values already are not
/// written.
///
/// Changed rows get a new version: contexts that have edited the objects meanwhile find a conflict when they save (rule 189).
public struct BatchUpdateRequest: PersistentStoreRequest, Sendable {
  /// The entity whose records are updated.
  public var entityName: String
  /// Which records; nil for all.
  public var predicate: FetchPredicate?
  /// Whether records of subentities are updated too. Default true (rule 269).
  public var includesSubentities = true
  /// What the properties become: a value that the attribute takes, the ID of a saved object for a to-one relationship, nil (a nil
  /// `Optional` or `AttributeValue.null`), or a ``FetchExpression``.
  public var propertiesToUpdate: [String: any Sendable]
  /// What is answered. Default: the status.
  public var resultType = BatchResultType.statusOnly
  /// Whether objects of the executing context that are concerned take the new values at once, below their unsaved edits.
  /// Contexts that merge automatically (`automaticallyMergesChangesFromParent`) do so anyway. Default true.
  public var mergesIntoContext = true
  /// The stores that are concerned, by their UUIDs; nil for all that hold the entity (rule 106).
  public var affectedStores: Set<UUID>?
  /// Tells how far the batch is and cancels it.
  public var progress = BatchProgress()
  /// How many rows are written at a time, within the one transaction.
  @_spi(Testing) public var step = BatchRows.chunkCount

  /// Always ``PersistentStoreRequestType/batchUpdate``.
  public var requestType: PersistentStoreRequestType { .batchUpdate }

  /// Gives the records of the entity that match `predicate` the values in `propertiesToUpdate`.
  public init(
    entityName: String, predicate: FetchPredicate? = nil, propertiesToUpdate: [String: any Sendable] = [:]
  ) {
    self.entityName = entityName
    self.predicate = predicate
    self.propertiesToUpdate = propertiesToUpdate
  }

  /// Carries the request out: called by `context.execute(_:)`.
  /// - Throws: what `context.execute(_:)` throws for this request.
  public func outcome(in context: ManagedObjectContext) throws -> BatchResult {
    try context.updateBatch(self)
  }
}
