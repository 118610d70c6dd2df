import StrataCore

/// Deletes many records straight in the store, without objects in a context. Contexts are notified when the application merges the IDs,
/// with `mergeChanges(fromRemoteContextSave:into:)`.
open class NSBatchDeleteRequest: NSPersistentStoreRequest {
  /// Which records are deleted.
  public let fetchRequest: NSFetchRequest<any NSFetchRequestResult>
  /// What is answered. Default: the status.
  open var resultType = NSBatchDeleteRequestResultType.resultTypeStatusOnly
  private let identifiers: [NSManagedObjectID]?

  /// Deletes what `fetch` finds in the store.
  public init(fetchRequest fetch: NSFetchRequest<any NSFetchRequestResult>) {
    fetchRequest = fetch
    identifiers = nil
    super.init()
  }

  /// Deletes the records with these IDs.
  public init(objectIDs objects: [NSManagedObjectID]) {
    identifiers = objects
    fetchRequest = NSFetchRequest<any NSFetchRequestResult>(entityName: objects.first?.entityName ?? "")
    fetchRequest.predicate = NSPredicate(format: "SELF IN %@", objects)
    super.init()
  }

  open override var requestType: NSPersistentStoreRequestType { .batchDelete }

  open override func copy(with zone: NSZone? = nil) -> Any {
    let copy =
      identifiers.map { NSBatchDeleteRequest(objectIDs: $0) }
      ?? NSBatchDeleteRequest(fetchRequest: fetchRequest)
    copy.resultType = resultType
    copy.affectedStores = affectedStores
    return copy
  }

  override func outcome(in context: NSManagedObjectContext) throws -> NSPersistentStoreResult {
    var request: BatchDeleteRequest
    if let identifiers {
      request = BatchDeleteRequest(objectIDs: identifiers)
    } else {
      let lowered = try fetchRequest.lowered(for: context)
      try lowered.requireStoresWindow("a batch delete")
      request = BatchDeleteRequest(fetchRequest: lowered.request)
    }
    request.resultType = resultType.core
    request.mergesIntoContext = false
    // Otherwise those of the fetch request count, which the batch has taken over.
    if let affectedStoreIdentifiers { request.affectedStores = affectedStoreIdentifiers }
    return NSBatchDeleteResult(try request.outcome(in: context))
  }
}
