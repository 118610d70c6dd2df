import Foundation
import StrataCore

/// A store of the program's own that is asked record by record: over a server, a database, anything that can answer.
///
/// Subclass it, register the class with `NSPersistentStoreCoordinator.registerStoreClass(_:forStoreType:)`, and add a store of that type. A subclass overrides
/// `loadMetadata()`, `execute(_:with:)`, `newValuesForObject(with:with:)`, `newValue(forRelationship:forObjectWith:with:)` and
/// `obtainPermanentIDs(for:)`. All of them are called on the queue of the context that asks, one at a time for each store. What they throw is thrown by what the
/// program has called: `fetch`, `save`; a fault that cannot be fulfilled reports it.
open class NSIncrementalStore: NSPersistentStore, @unchecked Sendable {
  // @unchecked Sendable: as its superclass says; nothing of its own changes.

  /// The keys of new objects that wait for their references, while `obtainPermanentIDs(for:)` runs.
  final class Claims: @unchecked Sendable {
    // @unchecked Sendable: made and used by one call, on one thread.
    var keys: [String: [UInt64]] = [:]

    func take(_ entityName: String) -> UInt64? {
      guard let key = keys[entityName]?.first else { return nil }
      keys[entityName]?.removeFirst()
      return key
    }
  }
  @TaskLocal static var claims: Claims?

  /// A UUID for the store at `storeURL`, which has none yet: for `loadMetadata()`.
  open class func identifierForNewStore(at storeURL: URL) -> Any { UUID().uuidString }

  /// Sets `metadata`, with at least `NSStoreUUIDKey`. Subclasses must override it.
  /// - Throws: why the store cannot be opened; here, that it is not overridden.
  open override func loadMetadata() throws {
    throw Self.missing("loadMetadata()", self)
  }

  /// Carries a request out.
  ///
  /// - For an `NSFetchRequest`, the answer is an array: of `NSManagedObject`s of `context`, which `context.object(with:)` makes of IDs, of
  ///   `NSManagedObjectID`s, of dictionaries, or of one `NSNumber`, as the request's `resultType` says. The store sees to predicate, order, limit and
  ///   offset. What the context has not saved takes no part: it lays that over the answer.
  /// - For an `NSSaveChangesRequest`, the answer is an empty array. Its objects are those of `context`. Everything is to be written or nothing. In a conflict
  ///   the store throws an error whose user info has the `NSMergeConflict`s under `NSPersistentStoreSaveConflictsErrorKey`: the context's merge policy
  ///   settles them, and the store is asked again.
  /// - For batch requests, the answer is an `NSPersistentStoreResult` of the request's kind.
  /// - Throws: what the program's code throws; here, that it is not overridden.
  open func execute(_ request: NSPersistentStoreRequest, with context: NSManagedObjectContext?) throws -> Any
  {
    throw Self.missing("execute(_:with:)", self)
  }

  /// The values of a record.
  /// - Throws: `CocoaError` 133000 (`managedObjectReferentialIntegrity`) when there is no such record: its object is inaccessible then. Anything else says
  ///   that it cannot be read now. Here, that it is not overridden.
  open func newValuesForObject(with objectID: NSManagedObjectID, with context: NSManagedObjectContext) throws
    -> NSIncrementalStoreNode
  {
    throw Self.missing("newValuesForObject(with:with:)", self)
  }

  /// What a relationship of a record leads to: for a to-one an `NSManagedObjectID` or `NSNull`, for a to-many an array or a set of IDs, in order for an
  /// ordered one.
  /// - Throws: what the program's code throws; here, that it is not overridden.
  open func newValue(
    forRelationship relationship: NSRelationshipDescription, forObjectWith objectID: NSManagedObjectID,
    with context: NSManagedObjectContext?
  ) throws -> Any {
    throw Self.missing("newValue(forRelationship:forObjectWith:with:)", self)
  }

  /// The IDs that new objects have from now on, in the order of `array`: made with `newObjectID(for:referenceObject:)`, one after the other, each
  /// with a reference that no other record has. Called before objects are saved, and by `obtainPermanentIDs(for:)` of their context.
  /// - Throws: what the program's code throws; here, that it is not overridden.
  open func obtainPermanentIDs(for array: [NSManagedObject]) throws -> [NSManagedObjectID] {
    throw Self.missing("obtainPermanentIDs(for:)", self)
  }

  /// A context uses these records from now on.
  open func managedObjectContextDidRegisterObjects(with objectIDs: [NSManagedObjectID]) {}

  /// A context does not use these records any more. It may be told some time later: at the context's next request, or at that of another one when the context is
  /// gone.
  open func managedObjectContextDidUnregisterObjects(with objectIDs: [NSManagedObjectID]) {}

  // MARK: IDs

  /// The ID of the record that the store calls `data`: a string, a number, a UUID or anything else whose description tells it from other records of the
  /// hierarchy. The ID's URI ends in it: `x-coredata://…/Entity/p<reference>`.
  public final func newObjectID(for entity: NSEntityDescription, referenceObject data: Any)
    -> NSManagedObjectID
  {
    openEngine("newObjectID(for:referenceObject:)").identifier(of: data, entity, Self.claims)
  }

  /// What the store calls the record with that ID: what `newObjectID(for:referenceObject:)` was given last. Of an ID made of a URI whose reference the store has not
  /// named in this process, a number for digits, otherwise a string. Traps for an object that has no reference yet, and for an ID of another store.
  public final func referenceObject(for objectID: NSManagedObjectID) -> Any {
    openEngine("referenceObject(for:)").reference(of: objectID)
  }

  private static func missing(_ method: String, _ store: NSIncrementalStore) -> CoreDataError {
    CoreDataError(
      .persistentStoreOperation, "\(Swift.type(of: store)) is a store that does not override \(method).")
  }
}

extension NSPersistentStore {
  /// What is below a store of the program's own. Traps, saying what was called, while the store is not open.
  final func openEngine(_ method: String) -> ProgramEngine {
    guard let engine else {
      stop("\(method) of \(Swift.type(of: self)) needs a store that a coordinator has open.")
    }
    return engine
  }
}
