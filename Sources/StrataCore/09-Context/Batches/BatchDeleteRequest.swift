import Foundation

/// Deletes many records straight in the store, without objects in a context and in one transaction: all of them or none.
///
///     try context.execute(BatchDeleteRequest(fetchRequest: FetchRequest<Flight>(entityName: "Flight", predicate: …)))
///
/// Delete rules are applied as a context does (rules 212, 271): cascade takes others along; deny refuses the whole batch when
/// an object that stays is still referred to, before anything is written; nullify clears references, and is refused where the reference is mandatory; no
/// action leaves them. No reference to nothing comes about otherwise. Minimum counts are not looked at, and hooks are not called.
///
/// What is unsaved in any context is not looked at either: the predicate sees what is stored.
public struct BatchDeleteRequest: PersistentStoreRequest, Sendable {
  enum Subject: Sendable {
    case matching(FetchSpecification)
    case identifiers([ManagedObjectID])
  }
  let subject: Subject

  /// What is answered. Default: the status.
  public var resultType = BatchResultType.statusOnly
  /// Whether objects of the executing context that are concerned become deleted at once. Contexts that merge automatically
  /// (`automaticallyMergesChangesFromParent`) do so anyway. Default true.
  public var mergesIntoContext = true
  /// The stores that are concerned, by their UUIDs; nil for all that hold the entity (rule 106).
  public var affectedStores: Set<UUID>?
  /// Tells how far the batch is and cancels it.
  public var progress = BatchProgress()
  /// How many rows are written at a time, within the one transaction.
  @_spi(Testing) public var step = BatchRows.chunkCount

  /// Always ``PersistentStoreRequestType/batchDelete``.
  public var requestType: PersistentStoreRequestType { .batchDelete }

  /// Deletes what `fetchRequest` would fetch from the store: predicate, subentities, order and window count.
  public init<R>(fetchRequest: FetchRequest<R>) {
    subject = .matching(fetchRequest.specification)
    affectedStores = fetchRequest.affectedStores
  }

  /// Deletes these records, which are of one entity, or of entities that inherit from one (rule 271). Those that do not exist any
  /// more do not count.
  public init(objectIDs: [ManagedObjectID]) { subject = .identifiers(objectIDs) }

  /// Carries the request out: called by `context.execute(_:)`.
  /// - Throws: what `context.execute(_:)` throws for this request.
  public func outcome(in context: ManagedObjectContext) throws -> BatchResult {
    try context.deleteBatch(self)
  }
}
