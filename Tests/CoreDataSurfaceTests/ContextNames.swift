import CoreData

private func globalsContext() {
  _ = NSConstraintConflict.self
  _ = NSManagedObjectContext.self
  _ = NSManagedObjectContextConcurrencyType.self
  _ = NSMergeConflict.self
  _ = NSMergePolicy.self
  _ = NSMergePolicyType.self
  _ = NSQueryGenerationToken.self
  _ = NSSaveChangesRequest.self
  let _: AnyObject = NSMergeByPropertyObjectTrumpMergePolicy
  let _: AnyObject = NSMergeByPropertyStoreTrumpMergePolicy
  let _: AnyObject = NSOverwriteMergePolicy
  let _: AnyObject = NSRollbackMergePolicy
  let _: String = NSManagedObjectContextQueryGenerationKey
}

private func useNSConstraintConflict(_ it: NSConstraintConflict) {
  _ = NSConstraintConflict.init(constraint:database:databaseSnapshot:conflicting:conflictingSnapshots:)
  _ = it.conflictingSnapshots
  let _: NSManagedObject? = it.databaseObject
  let _: [NSManagedObject] = it.conflictingObjects
  let _: [String: Any] = it.constraintValues
  let _: [String: Any]? = it.databaseSnapshot
  let _: [String] = it.constraint
}

private func useNSManagedObjectContext(_ it: NSManagedObjectContext) {
  _ = NSManagedObjectContext()
  _ = NSManagedObjectContext.ConcurrencyType.self
  _ = NSManagedObjectContext.DidSaveMessage.self
  _ = NSManagedObjectContext.NotificationKey.self
  _ = NSManagedObjectContext.ScheduledTaskType.self
  _ = NSManagedObjectContext.assign(_:to:)
  _ = NSManagedObjectContext.delete(_:)
  _ = NSManagedObjectContext.detectConflicts(for:)
  _ = NSManagedObjectContext.execute(_:)
  _ = NSManagedObjectContext.existingObject(with:)
  _ = NSManagedObjectContext.init(_:)
  _ = NSManagedObjectContext.init(concurrencyType:)
  _ = NSManagedObjectContext.insert(_:)
  _ = NSManagedObjectContext.lock
  _ = NSManagedObjectContext.mergeChanges(fromContextDidSave:)
  _ = NSManagedObjectContext.mergeChanges(fromRemoteContextSave:into:)
  _ = NSManagedObjectContext.new
  _ = NSManagedObjectContext.object(with:)
  _ = NSManagedObjectContext.obtainPermanentIDs(for:)
  _ = NSManagedObjectContext.processPendingChanges
  _ = NSManagedObjectContext.redo
  _ = NSManagedObjectContext.refresh(_:mergeChanges:)
  _ = NSManagedObjectContext.refreshAllObjects
  _ = NSManagedObjectContext.registeredObject(for:)
  _ = NSManagedObjectContext.reset
  _ = NSManagedObjectContext.rollback
  _ = NSManagedObjectContext.save
  _ = NSManagedObjectContext.setQueryGenerationFrom(_:)
  _ = NSManagedObjectContext.shouldHandleInaccessibleFault(_:for:triggeredByProperty:)
  _ = NSManagedObjectContext.tryLock
  _ = NSManagedObjectContext.undo
  _ = NSManagedObjectContext.unlock
  _ = { () async throws -> Int in try await it.perform(schedule: .immediate) { try throwing(1) } }
  _ = { () throws -> Int in try it.performAndWait { try throwing(1) } }
  _ = { try it.count(for: $0 as NSFetchRequest<NSManagedObject>) }
  _ = { try it.count(for: $0 as NSFetchRequest<any NSFetchRequestResult>) }
  _ = { try it.fetch($0 as NSFetchRequest<NSManagedObject>) as [NSManagedObject] }
  _ = { try it.fetch($0 as NSFetchRequest<any NSFetchRequestResult>) as [Any] }
  it.perform {}
  it.performAndWait {}
  let _: Any = it.mergePolicy
  let _: Bool = it.automaticallyMergesChangesFromParent
  let _: Bool = it.hasChanges
  let _: Bool = it.propagatesDeletesAtEndOfEvent
  let _: Bool = it.retainsRegisteredObjects
  let _: Bool = it.shouldDeleteInaccessibleFaults
  let _: NSManagedObjectContext? = it.parent
  let _: NSManagedObjectContextConcurrencyType = it.concurrencyType
  let _: NSMutableDictionary = it.userInfo
  let _: NSPersistentStoreCoordinator? = it.persistentStoreCoordinator
  let _: NSQueryGenerationToken? = it.queryGenerationToken
  let _: Notification.Name = NSManagedObjectContext.didChangeObjectsNotification
  let _: Notification.Name = NSManagedObjectContext.didMergeChangesObjectIDsNotification
  let _: Notification.Name = NSManagedObjectContext.didSaveObjectIDsNotification
  let _: Notification.Name = NSManagedObjectContext.didSaveObjectsNotification
  let _: Notification.Name = NSManagedObjectContext.willSaveObjectsNotification
  let _: Set<NSManagedObject> = it.deletedObjects
  let _: Set<NSManagedObject> = it.insertedObjects
  let _: Set<NSManagedObject> = it.registeredObjects
  let _: Set<NSManagedObject> = it.updatedObjects
  let _: String? = it.name
  let _: String? = it.transactionAuthor
  let _: TimeInterval = it.stalenessInterval
  let _: UndoManager? = it.undoManager
}

private func useNSManagedObjectContextConcurrencyType(_ it: inout NSManagedObjectContext.ConcurrencyType) {
  _ = NSManagedObjectContext.ConcurrencyType.init(rawValue:)
  let _: NSManagedObjectContext.ConcurrencyType = NSManagedObjectContext.ConcurrencyType.mainQueue
  let _: NSManagedObjectContext.ConcurrencyType = NSManagedObjectContext.ConcurrencyType.privateQueue
  let _: NSManagedObjectContextConcurrencyType = it.rawValue
}

private func useNSManagedObjectContextNotificationKey(_ it: NSManagedObjectContext.NotificationKey) {
  _ = NSManagedObjectContext.NotificationKey.deletedObjectIDs
  _ = NSManagedObjectContext.NotificationKey.deletedObjects
  _ = NSManagedObjectContext.NotificationKey.init(rawValue:)
  _ = NSManagedObjectContext.NotificationKey.insertedObjectIDs
  _ = NSManagedObjectContext.NotificationKey.insertedObjects
  _ = NSManagedObjectContext.NotificationKey.invalidatedAllObjects
  _ = NSManagedObjectContext.NotificationKey.invalidatedObjectIDs
  _ = NSManagedObjectContext.NotificationKey.invalidatedObjects
  _ = NSManagedObjectContext.NotificationKey.queryGeneration
  _ = NSManagedObjectContext.NotificationKey.refreshedObjectIDs
  _ = NSManagedObjectContext.NotificationKey.refreshedObjects
  _ = NSManagedObjectContext.NotificationKey.updatedObjectIDs
  _ = NSManagedObjectContext.NotificationKey.updatedObjects
  let _: String = it.rawValue
}

private func useNSManagedObjectContextScheduledTaskType() {
  _ = NSManagedObjectContext.ScheduledTaskType.enqueued
  _ = NSManagedObjectContext.ScheduledTaskType.immediate
}

private func useNSManagedObjectContextConcurrencyType() {
  _ = NSManagedObjectContextConcurrencyType.confinementConcurrencyType
  _ = NSManagedObjectContextConcurrencyType.init(rawValue:)
  _ = NSManagedObjectContextConcurrencyType.mainQueueConcurrencyType
  _ = NSManagedObjectContextConcurrencyType.privateQueueConcurrencyType
}

private func useNSMergeConflict(_ it: NSMergeConflict) {
  _ = NSMergeConflict.init(source:newVersion:oldVersion:cachedSnapshot:persistedSnapshot:)
  let _: Int = it.newVersionNumber
  let _: Int = it.oldVersionNumber
  let _: NSManagedObject = it.sourceObject
  let _: [String: Any]? = it.cachedSnapshot
  let _: [String: Any]? = it.objectSnapshot
  let _: [String: Any]? = it.persistedSnapshot
}

private func useNSMergePolicy(_ it: NSMergePolicy) {
  let _: (NSMergePolicyType) -> NSMergePolicy = NSMergePolicy.init(merge:)
  _ = NSMergePolicy.resolve(constraintConflicts:)
  _ = NSMergePolicy.resolve(mergeConflicts:)
  _ = NSMergePolicy.resolve(optimisticLockingConflicts:)
  let _: NSMergePolicy = NSMergePolicy.error
  let _: NSMergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
  let _: NSMergePolicy = NSMergePolicy.mergeByPropertyStoreTrump
  let _: NSMergePolicy = NSMergePolicy.overwrite
  let _: NSMergePolicy = NSMergePolicy.rollback
  let _: NSMergePolicyType = it.mergeType
}

private func useNSMergePolicyType() {
  _ = NSMergePolicyType.errorMergePolicyType
  _ = NSMergePolicyType.init(rawValue:)
  _ = NSMergePolicyType.mergeByPropertyObjectTrumpMergePolicyType
  _ = NSMergePolicyType.mergeByPropertyStoreTrumpMergePolicyType
  _ = NSMergePolicyType.overwriteMergePolicyType
  _ = NSMergePolicyType.rollbackMergePolicyType
}

private func useNSQueryGenerationToken() {
  let _: NSQueryGenerationToken = NSQueryGenerationToken.current
}

private func useNSSaveChangesRequest(_ it: NSSaveChangesRequest) {
  _ = NSSaveChangesRequest.init(inserted:updated:deleted:locked:)
  let _: Set<NSManagedObject>? = it.deletedObjects
  let _: Set<NSManagedObject>? = it.insertedObjects
  let _: Set<NSManagedObject>? = it.lockedObjects
  let _: Set<NSManagedObject>? = it.updatedObjects
}
