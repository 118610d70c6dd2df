import Foundation
import StrataCore

extension NSNotification.Name {
  /// Objects of a context were changed.
  public static let NSManagedObjectContextObjectsDidChange = NSManagedObjectContext
    .didChangeObjectsNotification
  /// A context is about to save.
  public static let NSManagedObjectContextWillSave = NSManagedObjectContext.willSaveObjectsNotification
  /// A context has saved; the user info has objects.
  public static let NSManagedObjectContextDidSave = NSManagedObjectContext.didSaveObjectsNotification
  /// A context has saved; the user info has IDs.
  public static let NSManagedObjectContextDidSaveObjectIDs =
    NSManagedObjectContext.didSaveObjectIDsNotification
  /// A context has merged what another one saved; the user info has IDs.
  public static let NSManagedObjectContextDidMergeChangesObjectIDs =
    NSManagedObjectContext.didMergeChangesObjectIDsNotification
  /// Stores were added or removed.
  public static let NSPersistentStoreCoordinatorStoresDidChange =
    NSPersistentStoreCoordinator.storesDidChangeNotification
  /// A store is about to be removed. The notification's object is the `NSPersistentStore`.
  public static let NSPersistentStoreCoordinatorWillRemoveStore =
    NSPersistentStoreCoordinator.willRemoveStoreNotification
  /// Core Data posts it when an account in the cloud changes; never posted here.
  public static let NSPersistentStoreCoordinatorStoresWillChange = NSNotification.Name(
    "NSPersistentStoreCoordinatorStoresWillChangeNotification")
  /// A store was written to; posted when the store was opened with `NSPersistentStoreRemoteChangeNotificationPostOptionKey`.
  public static let NSPersistentStoreRemoteChange = NSPersistentStoreCoordinator.remoteChangeNotification
}

// Keys of the user info of a context's notifications.

/// Inserted objects.
public let NSInsertedObjectsKey = NSManagedObjectContext.NotificationKey.insertedObjects.rawValue
/// Updated objects.
public let NSUpdatedObjectsKey = NSManagedObjectContext.NotificationKey.updatedObjects.rawValue
/// Deleted objects.
public let NSDeletedObjectsKey = NSManagedObjectContext.NotificationKey.deletedObjects.rawValue
/// Refreshed objects.
public let NSRefreshedObjectsKey = NSManagedObjectContext.NotificationKey.refreshedObjects.rawValue
/// Invalidated objects.
public let NSInvalidatedObjectsKey = NSManagedObjectContext.NotificationKey.invalidatedObjects.rawValue
/// All objects were invalidated.
public let NSInvalidatedAllObjectsKey = NSManagedObjectContext.NotificationKey.invalidatedAllObjects.rawValue
/// IDs of inserted objects.
public let NSInsertedObjectIDsKey = NSManagedObjectContext.NotificationKey.insertedObjectIDs.rawValue
/// IDs of updated objects.
public let NSUpdatedObjectIDsKey = NSManagedObjectContext.NotificationKey.updatedObjectIDs.rawValue
/// IDs of deleted objects.
public let NSDeletedObjectIDsKey = NSManagedObjectContext.NotificationKey.deletedObjectIDs.rawValue
/// IDs of refreshed objects.
public let NSRefreshedObjectIDsKey = NSManagedObjectContext.NotificationKey.refreshedObjectIDs.rawValue
/// IDs of invalidated objects.
public let NSInvalidatedObjectIDsKey = NSManagedObjectContext.NotificationKey.invalidatedObjectIDs.rawValue

/// The query generation of a pinned context that has saved, an `NSQueryGenerationToken`; see also `NSPersistentHistoryTokenKey`.
public let NSManagedObjectContextQueryGenerationKey = NSManagedObjectContext.NotificationKey.queryGeneration
  .rawValue

// Keys of the user info of a coordinator's notifications.

/// Added stores, `[NSPersistentStore]`.
public let NSAddedPersistentStoresKey = "added"
/// Removed stores, `[NSPersistentStore]`.
public let NSRemovedPersistentStoresKey = "removed"
/// The token of a remote change, and of a save to stores with a history.
public let NSPersistentHistoryTokenKey =
  NSPersistentStoreCoordinator.RemoteChangeKey.historyToken.rawValue
/// The URL of the store of a remote change.
public let NSPersistentStoreURLKey = NSPersistentStoreCoordinator.RemoteChangeKey.storeURL.rawValue
/// Core Data's key of stores whose UUID has changed. Here a store keeps its UUID when it is moved, so nothing is under it.
public let NSUUIDChangedPersistentStoresKey = "UUIDChangedPersistentStores"
