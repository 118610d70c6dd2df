import Foundation

/// What a request asks of the stores. The raw values are Core Data's (rule 267).
public enum PersistentStoreRequestType: UInt, Sendable, CaseIterable {
  /// Reads.
  case fetch = 1
  /// Writes a context's changes. Only `save()` does that.
  case save = 2
  /// Makes records from values.
  case batchInsert = 5
  /// Gives many records the same values.
  case batchUpdate = 6
  /// Deletes many records.
  case batchDelete = 7
  /// Reads or deletes the history of stores.
  case history = 8
}

/// Something that `ManagedObjectContext.execute(_:)` carries out in the stores.
///
/// A value; names in it are checked when it is executed.
public protocol PersistentStoreRequest {
  /// What executing the request gives.
  associatedtype Outcome

  /// What is asked.
  var requestType: PersistentStoreRequestType { get }

  /// The stores that are concerned, by their UUIDs; nil for all that hold the entity (rule 106).
  var affectedStores: Set<UUID>? { get }

  /// Carries the request out. Called by `context.execute(_:)`, on the context's queue.
  func outcome(in context: ManagedObjectContext) throws -> Outcome
}

extension ManagedObjectContext {
  /// Carries `request` out in the stores (rule 113): a fetch, an asynchronous fetch, a batch, a history request.
  ///
  /// - Throws: `CoreDataError` 134070 for a request to save, which only `save()` does; otherwise what the kind of request
  ///   throws.
  @discardableResult
  public func execute<Request: PersistentStoreRequest>(_ request: Request) throws -> Request.Outcome {
    checkAccess()
    if request.requestType == .save {
      throw CoreDataError(
        .persistentStoreOperation,
        "execute(_:) carries out no save requests; call save() on the context that has the changes.")
    }
    return try request.outcome(in: self)
  }
}
