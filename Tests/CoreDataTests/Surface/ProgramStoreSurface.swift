import CoreData

// What code for Core Data writes of stores of its own, type-checked. Nothing is executed.

// surface: NSIncrementalStore | NSIncrementalStore.execute(_:with:) | NSIncrementalStore.identifierForNewStore(at:)
// surface: NSIncrementalStore.loadMetadata() | NSIncrementalStore.managedObjectContextDidRegisterObjects(with:)
// surface: NSIncrementalStore.managedObjectContextDidUnregisterObjects(with:)
// surface: NSIncrementalStore.newObjectID(for:referenceObject:) | NSIncrementalStore.referenceObject(for:)
// surface: NSIncrementalStore.newValue(forRelationship:forObjectWith:with:)
// surface: NSIncrementalStore.newValuesForObject(with:with:) | NSIncrementalStore.obtainPermanentIDs(for:)
// surface: NSIncrementalStoreNode | NSIncrementalStoreNode.init(objectID:withValues:version:)
// surface: NSIncrementalStoreNode.objectID | NSIncrementalStoreNode.version | NSIncrementalStoreNode.value(for:)
// surface: NSIncrementalStoreNode.update(withValues:version:)
// surface: NSPersistentStore.init(persistentStoreCoordinator:configurationName:at:options:)
// surface: NSPersistentStore.didAdd(to:) | NSPersistentStore.willRemove(from:) | NSPersistentStore.loadMetadata()
// surface: NSPersistentStore.migrationManagerClass()
final class MirrorStore: NSIncrementalStore, @unchecked Sendable {
  // @unchecked Sendable: as its superclass says; nothing of its own changes.
  override init(
    persistentStoreCoordinator root: NSPersistentStoreCoordinator?, configurationName name: String?,
    at url: URL, options: [AnyHashable: Any]? = nil
  ) {
    super.init(persistentStoreCoordinator: root, configurationName: name, at: url, options: options)
  }

  override class func identifierForNewStore(at storeURL: URL) -> Any { UUID().uuidString }
  override func loadMetadata() throws {
    metadata = [
      NSStoreUUIDKey: Self.identifierForNewStore(at: url ?? URL(fileURLWithPath: "/")),
      NSStoreTypeKey: "Mirror",
    ]
    identifier = nil
    isReadOnly = false
  }
  override func didAdd(to coordinator: NSPersistentStoreCoordinator) {}
  override func willRemove(from coordinator: NSPersistentStoreCoordinator?) {}
  override func execute(_ request: NSPersistentStoreRequest, with context: NSManagedObjectContext?) throws
    -> Any
  {
    []
  }
  override func newValuesForObject(with objectID: NSManagedObjectID, with context: NSManagedObjectContext)
    throws -> NSIncrementalStoreNode
  {
    let node = NSIncrementalStoreNode(objectID: objectID, withValues: [:], version: 1)
    node.update(withValues: ["name": "\(referenceObject(for: node.objectID))"], version: node.version + 1)
    _ = objectID.entity.properties.map { node.value(for: $0) }
    return node
  }
  override func newValue(
    forRelationship relationship: NSRelationshipDescription, forObjectWith objectID: NSManagedObjectID,
    with context: NSManagedObjectContext?
  ) throws -> Any { NSNull() }
  override func obtainPermanentIDs(for array: [NSManagedObject]) throws -> [NSManagedObjectID] {
    array.map { newObjectID(for: $0.entity, referenceObject: UUID()) }
  }
  override func managedObjectContextDidRegisterObjects(with objectIDs: [NSManagedObjectID]) {}
  override func managedObjectContextDidUnregisterObjects(with objectIDs: [NSManagedObjectID]) {}
}

// surface: NSAtomicStore | NSAtomicStore.init(persistentStoreCoordinator:configurationName:at:options:)
// surface: NSAtomicStore.addCacheNodes(_:) | NSAtomicStore.cacheNode(for:) | NSAtomicStore.cacheNodes()
// surface: NSAtomicStore.load() | NSAtomicStore.newCacheNode(for:) | NSAtomicStore.newReferenceObject(for:)
// surface: NSAtomicStore.objectID(for:withReferenceObject:) | NSAtomicStore.referenceObject(for:) | NSAtomicStore.save()
// surface: NSAtomicStore.updateCacheNode(_:from:) | NSAtomicStore.willRemoveCacheNodes(_:)
// surface: NSAtomicStoreCacheNode | NSAtomicStoreCacheNode.init(objectID:) | NSAtomicStoreCacheNode.objectID
// surface: NSAtomicStoreCacheNode.propertyCache | NSAtomicStoreCacheNode.setValue(_:forKey:)
// surface: NSAtomicStoreCacheNode.value(forKey:)
final class ListStore: NSAtomicStore, @unchecked Sendable {
  // @unchecked Sendable: as its superclass says; nothing of its own changes.
  override init(
    persistentStoreCoordinator coordinator: NSPersistentStoreCoordinator?, configurationName: String?,
    at url: URL, options: [AnyHashable: Any]? = nil
  ) {
    super.init(
      persistentStoreCoordinator: coordinator, configurationName: configurationName, at: url, options: options
    )
  }

  override func load() throws {
    guard let entity = persistentStoreCoordinator?.managedObjectModel.entities.first else { return }
    let node = NSAtomicStoreCacheNode(objectID: objectID(for: entity, withReferenceObject: "one"))
    node.propertyCache = NSMutableDictionary()
    node.setValue(1, forKey: "number")
    addCacheNodes([node])
  }
  override func save() throws {
    for node in cacheNodes() { _ = (node.value(forKey: "number"), referenceObject(for: node.objectID)) }
  }
  override func newCacheNode(for managedObject: NSManagedObject) -> NSAtomicStoreCacheNode {
    cacheNode(for: managedObject.objectID) ?? super.newCacheNode(for: managedObject)
  }
  override func updateCacheNode(_ node: NSAtomicStoreCacheNode, from managedObject: NSManagedObject) {}
  override func willRemoveCacheNodes(_ cacheNodes: Set<NSAtomicStoreCacheNode>) {}
  override func newReferenceObject(for managedObject: NSManagedObject) -> Any { UUID() }
}

func useProgramStores() {
  // surface: NSPersistentStoreCoordinator.registerStoreClass(_:forStoreType:)
  // surface: NSPersistentStoreCoordinator.registerStoreClass(_:type:)
  // surface: NSPersistentStoreCoordinator.registeredStoreTypes
  NSPersistentStoreCoordinator.registerStoreClass(MirrorStore.self, forStoreType: "Mirror")
  NSPersistentStoreCoordinator.registerStoreClass(
    ListStore.self, type: NSPersistentStore.StoreType(rawValue: "List"))
  let types: [String: NSValue] = NSPersistentStoreCoordinator.registeredStoreTypes
  let migration: AnyClass = NSPersistentStore.migrationManagerClass()
  _ = (types, migration)
}
