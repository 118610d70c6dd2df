import StrataCore

/// What a request asks of stores. The raw values are Core Data's (rule 267).
public typealias NSPersistentStoreRequestType = PersistentStoreRequestType

extension PersistentStoreRequestType {
  /// Reads.
  public static var fetchRequestType: PersistentStoreRequestType { .fetch }
  /// Writes a context's changes. Only `save()` does that.
  public static var saveRequestType: PersistentStoreRequestType { .save }
  /// Makes records from values.
  public static var batchInsertRequestType: PersistentStoreRequestType { .batchInsert }
  /// Gives many records the same values.
  public static var batchUpdateRequestType: PersistentStoreRequestType { .batchUpdate }
  /// Deletes many records.
  public static var batchDeleteRequestType: PersistentStoreRequestType { .batchDelete }
}

/// Something that a context carries out in its stores: a fetch, a batch, a history request. One of its subclasses is what is asked.
open class NSPersistentStoreRequest: NSObject, NSCopying {
  /// The stores that are concerned; nil for all that hold the entity (rule 106).
  open var affectedStores: [NSPersistentStore]?

  /// What is asked.
  open var requestType: NSPersistentStoreRequestType {
    stop("NSPersistentStoreRequest asks for nothing; use one of its subclasses.")
  }

  /// The stores that are concerned, by their UUIDs.
  final var affectedStoreIdentifiers: Set<UUID>? { affectedStores.map { Set($0.map(\.store.identifier)) } }

  /// Carries the request out, on the context's queue.
  func outcome(in context: NSManagedObjectContext) throws -> NSPersistentStoreResult {
    stop("NSPersistentStoreRequest asks for nothing; use one of its subclasses.")
  }

  /// A request like this one. Subclasses copy themselves.
  open func copy(with zone: NSZone? = nil) -> Any {
    stop("NSPersistentStoreRequest asks for nothing; use one of its subclasses.")
  }

  open override func copy() -> Any { copy(with: nil) }
}

/// What executing a request gives.
open class NSPersistentStoreResult: NSObject {}

/// What a request that is executed away from the context's queue gives (rule 112).
open class NSPersistentStoreAsynchronousResult: NSPersistentStoreResult {
  /// The context of the request.
  public let managedObjectContext: NSManagedObjectContext

  init(_ context: NSManagedObjectContext) { managedObjectContext = context }

  /// Why there is no result; nil while it is not known.
  open var operationError: (any Error)? { nil }

  /// How far it has come; cancelling it cancels the request.
  open var progress: Progress? { nil }

  /// Ends the request. Does nothing when it has ended.
  open func cancel() {}
}

extension ManagedObjectContext {
  /// Carries `request` out in the stores (rule 113): a fetch, an asynchronous fetch, a batch, a history request. On the context's queue.
  ///
  /// - Throws: what the kind of request throws; 134070 for a request to save, which only `save()` does.
  @discardableResult
  public func execute(_ request: NSPersistentStoreRequest) throws -> NSPersistentStoreResult {
    try cocoa {
      if request.requestType == .save {
        throw CoreDataError(
          .persistentStoreOperation,
          "execute(_:) carries out no save requests; call save() on the context that has the changes.")
      }
      if let result = try programResult(request) { return result }
      return try request.outcome(in: self)
    }
  }
}
