import StrataCore

/// What a context would write: the changed objects, by what has become of them.
///
/// A value to hand around: a context saves with `save()`, and `execute(_:)` refuses the request with 134070, as Core Data does outside of stores of
/// one's own.
open class NSSaveChangesRequest: NSPersistentStoreRequest {
  /// Objects that are new.
  public let insertedObjects: Set<NSManagedObject>?
  /// Objects with other values.
  public let updatedObjects: Set<NSManagedObject>?
  /// Objects that are gone.
  public let deletedObjects: Set<NSManagedObject>?
  /// Objects that must not have changed in the store, see `detectConflicts(for:)`.
  public let lockedObjects: Set<NSManagedObject>?

  /// A request with these objects.
  public init(
    inserted insertedObjects: Set<NSManagedObject>?, updated updatedObjects: Set<NSManagedObject>?,
    deleted deletedObjects: Set<NSManagedObject>?, locked lockedObjects: Set<NSManagedObject>?
  ) {
    self.insertedObjects = insertedObjects
    self.updatedObjects = updatedObjects
    self.deletedObjects = deletedObjects
    self.lockedObjects = lockedObjects
    super.init()
  }

  open override var requestType: NSPersistentStoreRequestType { .save }

  open override func copy(with zone: NSZone? = nil) -> Any {
    let copy = NSSaveChangesRequest(
      inserted: insertedObjects, updated: updatedObjects, deleted: deletedObjects, locked: lockedObjects)
    copy.affectedStores = affectedStores
    return copy
  }
}
