import StrataCore

/// A record of the object graph.
public typealias NSManagedObject = ManagedObject
/// The handle of a record.
public typealias NSManagedObjectID = ManagedObjectID
/// A scratchpad of changes, confined to its queue.
public typealias NSManagedObjectContext = ManagedObjectContext
/// What opens stores and serves contexts.
public typealias NSPersistentStoreCoordinator = PersistentStoreCoordinator
/// Why `awake(fromSnapshotEvents:)` is called.
public typealias NSSnapshotEventType = SnapshotEventType
/// One commit of each store, kept readable.
public typealias NSQueryGenerationToken = QueryGenerationToken
