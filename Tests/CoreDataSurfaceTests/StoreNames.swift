import CoreData

private func globalsStore() {
  _ = NSAtomicStore.self
  _ = NSAtomicStoreCacheNode.self
  _ = NSIncrementalStore.self
  _ = NSIncrementalStoreNode.self
  _ = NSPersistentContainer.self
  _ = NSPersistentStore.self
  _ = NSPersistentStoreCoordinator.self
  _ = NSPersistentStoreDescription.self
  let _: String = NSAddedPersistentStoresKey
  let _: String = NSBinaryStoreInsecureDecodingCompatibilityOption
  let _: String = NSBinaryStoreSecureDecodingClasses
  let _: String = NSBinaryStoreType
  let _: String = NSIgnorePersistentStoreVersioningOption
  let _: String = NSInMemoryStoreType
  let _: String = NSPersistentStoreConnectionPoolMaxSizeKey
  let _: String = NSPersistentStoreFileProtectionKey
  let _: String = NSPersistentStoreForceDestroyOption
  let _: String = NSPersistentStoreModelVersionChecksumKey
  let _: String = NSPersistentStoreOSCompatibility
  let _: String = NSPersistentStoreRemoteChangeNotificationPostOptionKey
  let _: String = NSPersistentStoreTimeoutOption
  let _: String = NSPersistentStoreURLKey
  let _: String = NSReadOnlyPersistentStoreOption
  let _: String = NSRemovedPersistentStoresKey
  let _: String = NSSQLiteAnalyzeOption
  let _: String = NSSQLiteManualVacuumOption
  let _: String = NSSQLitePragmasOption
  let _: String = NSSQLiteStoreType
  let _: String = NSStoreModelVersionHashesKey
  let _: String = NSStoreModelVersionIdentifiersKey
  let _: String = NSStoreTypeKey
  let _: String = NSStoreUUIDKey
  let _: String = NSUUIDChangedPersistentStoresKey
}

private func useNSAtomicStore() {
  _ = NSAtomicStore.addCacheNodes(_:)
  _ = NSAtomicStore.cacheNode(for:)
  _ = NSAtomicStore.cacheNodes
  _ = NSAtomicStore.init(persistentStoreCoordinator:configurationName:at:options:)
  _ = NSAtomicStore.load
  _ = NSAtomicStore.newCacheNode(for:)
  _ = NSAtomicStore.newReferenceObject(for:)
  _ = NSAtomicStore.objectID(for:withReferenceObject:)
  _ = NSAtomicStore.referenceObject(for:)
  _ = NSAtomicStore.save
  _ = NSAtomicStore.updateCacheNode(_:from:)
  _ = NSAtomicStore.willRemoveCacheNodes(_:)
}

private func useNSAtomicStoreCacheNode(_ it: NSAtomicStoreCacheNode) {
  _ = NSAtomicStoreCacheNode.init(objectID:)
  _ = NSAtomicStoreCacheNode.setValue(_:forKey:)
  _ = NSAtomicStoreCacheNode.value(forKey:)
  let _: NSManagedObjectID = it.objectID
  let _: NSMutableDictionary? = it.propertyCache
}

private func useNSIncrementalStore() {
  _ = NSIncrementalStore.execute(_:with:)
  _ = NSIncrementalStore.identifierForNewStore(at:)
  _ = NSIncrementalStore.loadMetadata
  _ = NSIncrementalStore.managedObjectContextDidRegisterObjects(with:)
  _ = NSIncrementalStore.managedObjectContextDidUnregisterObjects(with:)
  _ = NSIncrementalStore.newObjectID(for:referenceObject:)
  _ = NSIncrementalStore.newValue(forRelationship:forObjectWith:with:)
  _ = NSIncrementalStore.newValuesForObject(with:with:)
  _ = NSIncrementalStore.obtainPermanentIDs(for:)
  _ = NSIncrementalStore.referenceObject(for:)
}

private func useNSIncrementalStoreNode(_ it: NSIncrementalStoreNode) {
  _ = NSIncrementalStoreNode.init(objectID:withValues:version:)
  _ = NSIncrementalStoreNode.update(withValues:version:)
  _ = NSIncrementalStoreNode.value(for:)
  let _: NSManagedObjectID = it.objectID
  let _: UInt64 = it.version
}

private func useNSPersistentContainer(_ it: NSPersistentContainer) {
  _ = NSPersistentContainer.init(name:)
  _ = NSPersistentContainer.init(name:managedObjectModel:)
  _ = NSPersistentContainer.loadPersistentStores(completionHandler:)
  _ = NSPersistentContainer.newBackgroundContext
  _ = { () async throws -> Int in try await it.performBackgroundTask { _ in try throwing(1) } }
  it.performBackgroundTask { $0.reset() }
  let _: NSManagedObjectContext = it.viewContext
  let _: NSManagedObjectModel = it.managedObjectModel
  let _: NSPersistentStoreCoordinator = it.persistentStoreCoordinator
  let _: String = it.name
  let _: URL = NSPersistentContainer.defaultDirectoryURL()
  let _: URL = NSPersistentContainer.defaultDirectoryURL()
  let _: [NSPersistentStoreDescription] = it.persistentStoreDescriptions
}

private func useNSPersistentStore(_ it: NSPersistentStore) {
  _ = NSPersistentStore.StoreType.self
  _ = NSPersistentStore.didAdd(to:)
  _ = NSPersistentStore.init(persistentStoreCoordinator:configurationName:at:options:)
  _ = NSPersistentStore.loadMetadata
  _ = NSPersistentStore.metadataForPersistentStore(with:)
  _ = NSPersistentStore.migrationManagerClass
  _ = NSPersistentStore.setMetadata(_:forPersistentStoreAt:)
  _ = NSPersistentStore.willRemove(from:)
  let _: Bool = it.isReadOnly
  let _: NSPersistentStoreCoordinator? = it.persistentStoreCoordinator
  let _: String = it.configurationName
  let _: String = it.type
  let _: String! = it.identifier
  let _: URL? = it.url
  let _: [AnyHashable: Any]? = it.options
  let _: [String: Any]! = it.metadata
}

private func useNSPersistentStoreStoreType(_ it: inout NSPersistentStore.StoreType) {
  _ = NSPersistentStore.StoreType.init(rawValue:)
  let _: NSPersistentStore.StoreType = NSPersistentStore.StoreType.binary
  let _: NSPersistentStore.StoreType = NSPersistentStore.StoreType.inMemory
  let _: NSPersistentStore.StoreType = NSPersistentStore.StoreType.sqlite
  let _: String = it.rawValue
}

private func useNSPersistentStoreCoordinator(_ it: NSPersistentStoreCoordinator) {
  _ = NSPersistentStoreCoordinator.addPersistentStore(ofType:configurationName:at:options:)
  _ = NSPersistentStoreCoordinator.addPersistentStore(type:configuration:at:options:)
  _ = NSPersistentStoreCoordinator.addPersistentStore(with:completionHandler:)
  _ = NSPersistentStoreCoordinator.cachedModelForPersistentStore(at:options:)
  _ = NSPersistentStoreCoordinator.currentPersistentHistoryToken(fromStores:)
  _ = NSPersistentStoreCoordinator.destroyPersistentStore(at:ofType:options:)
  _ = NSPersistentStoreCoordinator.destroyPersistentStore(at:type:options:)
  _ = NSPersistentStoreCoordinator.execute(_:with:)
  _ = NSPersistentStoreCoordinator.finishDeferredLightweightMigration
  _ = NSPersistentStoreCoordinator.finishDeferredLightweightMigrationTask
  _ = NSPersistentStoreCoordinator.init(managedObjectModel:)
  _ = NSPersistentStoreCoordinator.lock
  _ = NSPersistentStoreCoordinator.managedObjectID(for:)
  _ = NSPersistentStoreCoordinator.managedObjectID(forURIRepresentation:)
  _ = NSPersistentStoreCoordinator.metadataForPersistentStore(ofType:at:)
  _ = NSPersistentStoreCoordinator.metadataForPersistentStore(ofType:at:options:)
  _ = NSPersistentStoreCoordinator.metadataForPersistentStore(type:at:options:)
  _ = NSPersistentStoreCoordinator.migratePersistentStore(_:to:options:type:)
  _ = NSPersistentStoreCoordinator.migratePersistentStore(_:to:options:withType:)
  _ = NSPersistentStoreCoordinator.persistentStore(for:)
  _ = NSPersistentStoreCoordinator.registerStoreClass(_:forStoreType:)
  _ = NSPersistentStoreCoordinator.registerStoreClass(_:type:)
  _ =
    NSPersistentStoreCoordinator.replacePersistentStore(
      at:destinationOptions:withPersistentStoreFrom:sourceOptions:ofType:)
  _ =
    NSPersistentStoreCoordinator.replacePersistentStore(
      at:destinationOptions:withPersistentStoreFrom:sourceOptions:type:)
  _ = NSPersistentStoreCoordinator.setMetadata(_:forPersistentStoreOfType:at:)
  _ = NSPersistentStoreCoordinator.setMetadata(_:forPersistentStoreOfType:at:options:)
  _ = NSPersistentStoreCoordinator.setMetadata(_:type:at:options:)
  _ = NSPersistentStoreCoordinator.setURL(_:for:)
  _ = NSPersistentStoreCoordinator.tryLock
  _ = NSPersistentStoreCoordinator.unlock
  _ = NSPersistentStoreCoordinator.url(for:)
  _ = { () async throws -> Int in try await it.perform { try throwing(1) } }
  _ = { () throws -> Int in try it.performAndWait { try throwing(1) } }
  _ = { (store: NSPersistentStore) -> [String: Any] in it.metadata(for: store) }
  _ = { (store: NSPersistentStore) in it.setMetadata(["a": 1], for: store) }
  _ = { (store: NSPersistentStore) in try it.remove(store) }
  it.perform {}
  it.performAndWait {}
  let _: NSManagedObjectModel = it.managedObjectModel
  let _: String? = it.name
  let _: [NSPersistentStore] = it.persistentStores
  let _: [String: NSValue] = NSPersistentStoreCoordinator.registeredStoreTypes
}

private func useNSPersistentStoreDescription(_ it: NSPersistentStoreDescription) {
  _ = NSPersistentStoreDescription.init(url:)
  _ = NSPersistentStoreDescription.setOption(_:forKey:)
  _ = NSPersistentStoreDescription.setValue(_:forPragmaNamed:)
  let _: Bool = it.isReadOnly
  let _: Bool = it.shouldAddStoreAsynchronously
  let _: Bool = it.shouldInferMappingModelAutomatically
  let _: Bool = it.shouldMigrateStoreAutomatically
  let _: String = it.type
  let _: String? = it.configuration
  let _: TimeInterval = it.timeout
  let _: URL? = it.url
  let _: [String: NSObject] = it.options
  let _: [String: NSObject] = it.sqlitePragmas
}
