import StrataCore

/// A record of the object graph.
public typealias NSManagedObject = ManagedObject
/// What `validateValue(_:forKey:)` takes: a place for a value that may be replaced. Apple's type is one that retains what it holds; here there is
/// nothing to retain beyond the call.
public typealias AutoreleasingUnsafeMutablePointer<Pointee> = UnsafeMutablePointer<Pointee>
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
