import StrataCore

// What a context throws is what Core Data throws: see `cocoa(_:_:)`.

extension NSManagedObjectContext {
  /// The object for `objectID`, whose row is read if it is not in the context.
  /// - Throws: `CocoaError` 133000 when there is no such row.
  public func existingObject(with objectID: NSManagedObjectID) throws -> NSManagedObject {
    try cocoa { try self.StrataCore::existingObject(with: objectID) }
  }

  /// Does nothing: IDs are final from birth.
  /// - Throws: nothing; the signature is Core Data's.
  public func obtainPermanentIDs(for objects: [NSManagedObject]) throws {
    try cocoa { try self.StrataCore::obtainPermanentIDs(for: objects) }
  }

  /// Pins the context's reads to a query generation; nil unpins.
  /// - Throws: `CocoaError` in a context with a parent.
  public func setQueryGenerationFrom(_ generation: NSQueryGenerationToken?) throws {
    try cocoa { try self.StrataCore::setQueryGenerationFrom(generation) }
  }

  /// Says into which store the new object goes. A store that another coordinator has open, too, may be that coordinator's. Traps for a store that cannot take it.
  public func assign(_ object: Any, to store: NSPersistentStore) {
    guard let object = object as? NSManagedObject else {
      stop("assign(_:to:) takes managed objects, not \(type(of: object)).")
    }
    let store = persistentStoreCoordinator?.own(store) ?? store
    do { try self.StrataCore::assign(object, to: store.store) } catch {
      stop("assign(_:to:): \(error)")
    }
  }
}
