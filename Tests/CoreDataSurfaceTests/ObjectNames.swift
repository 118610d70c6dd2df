import CoreData

private func globalsObject() {
  _ = NSKeyValueSetMutationKind.self
  _ = NSManagedObject.self
  _ = NSManagedObjectID.self
  _ = NSSnapshotEventType.self
  let _: Double = NSCoreDataVersionNumber
  let _: String = NSDeletedObjectIDsKey
  let _: String = NSDeletedObjectsKey
  let _: String = NSInsertedObjectIDsKey
  let _: String = NSInsertedObjectsKey
  let _: String = NSInvalidatedAllObjectsKey
  let _: String = NSInvalidatedObjectIDsKey
  let _: String = NSInvalidatedObjectsKey
  let _: String = NSRefreshedObjectIDsKey
  let _: String = NSRefreshedObjectsKey
  let _: String = NSUpdatedObjectIDsKey
  let _: String = NSUpdatedObjectsKey
}

private func useNSArray() {
  _ = NSArray.filtered(using:)
  _ = NSArray.setValue(_:forKey:)
  _ = NSArray.sortedArray(using:)
  _ = NSArray.value(forKey:)
  _ = NSArray.value(forKeyPath:)
}

private func useNSDictionary() {
  _ = (any NSFetchRequestResult).self
  _ = NSDictionary.value(forKey:)
  _ = NSDictionary.value(forKeyPath:)
}

private func useNSKeyValueSetMutationKind() {
  _ = NSKeyValueSetMutationKind.intersect
  _ = NSKeyValueSetMutationKind.minus
  _ = NSKeyValueSetMutationKind.set
  _ = NSKeyValueSetMutationKind.union
}

private func useNSManagedObject(_ it: NSManagedObject) {
  _ = NSManagedObject.awake(fromSnapshotEvents:)
  _ = NSManagedObject.awakeFromFetch
  _ = NSManagedObject.awakeFromInsert
  _ = NSManagedObject.changedValues
  _ = NSManagedObject.changedValuesForCurrentEvent
  _ = NSManagedObject.committedValues(forKeys:)
  _ = NSManagedObject.dictionaryWithValues(forKeys:)
  _ = NSManagedObject.didAccessValue(forKey:)
  _ = NSManagedObject.didChangeValue(forKey:)
  _ = NSManagedObject.didChangeValue(forKey:withSetMutation:using:)
  _ = NSManagedObject.didSave
  _ = NSManagedObject.didTurnIntoFault
  _ = NSManagedObject.entity
  _ = NSManagedObject.fetchRequest
  _ = NSManagedObject.hasFault(forRelationshipNamed:)
  _ = NSManagedObject.init(context:)
  _ = NSManagedObject.init(entity:insertInto:)
  _ = NSManagedObject.mutableArrayValue(forKey:)
  _ = NSManagedObject.mutableOrderedSetValue(forKey:)
  _ = NSManagedObject.mutableOrderedSetValue(forKeyPath:)
  _ = NSManagedObject.mutableSetValue(forKey:)
  _ = NSManagedObject.mutableSetValue(forKeyPath:)
  _ = NSManagedObject.objectIDs(forRelationshipNamed:)
  _ = NSManagedObject.prepareForDeletion
  _ = NSManagedObject.primitiveValue(forKey:)
  _ = NSManagedObject.setNilValueForKey(_:)
  _ = NSManagedObject.setPrimitiveValue(_:forKey:)
  _ = NSManagedObject.setValue(_:forKey:)
  _ = NSManagedObject.setValue(_:forKeyPath:)
  _ = NSManagedObject.setValue(_:forUndefinedKey:)
  _ = NSManagedObject.setValuesForKeys(_:)
  _ = NSManagedObject.validateForDelete
  _ = NSManagedObject.validateForInsert
  _ = NSManagedObject.validateForUpdate
  _ = NSManagedObject.value(forKey:)
  _ = NSManagedObject.value(forKeyPath:)
  _ = NSManagedObject.value(forUndefinedKey:)
  _ = NSManagedObject.willAccessValue(forKey:)
  _ = NSManagedObject.willChangeValue(forKey:)
  _ = NSManagedObject.willChangeValue(forKey:withSetMutation:using:)
  _ = NSManagedObject.willSave
  _ = NSManagedObject.willTurnIntoFault
  _ = { (value: inout AnyObject?) in try it.validateValue(&value, forKey: "name") }
  let _: Bool = NSManagedObject.contextShouldIgnoreUnmodeledPropertyChanges
  let _: Bool = it.hasChanges
  let _: Bool = it.hasPersistentChangedValues
  let _: Bool = it.isDeleted
  let _: Bool = it.isFault
  let _: Bool = it.isInserted
  let _: Bool = it.isUpdated
  let _: Int = it.faultingState
  let _: NSEntityDescription = it.entity
  let _: NSManagedObjectContext? = it.managedObjectContext
  let _: NSManagedObjectID = it.objectID
  takesEdits(&it["name"], Any?.self)
}

private func useNSManagedObjectID(_ it: NSManagedObjectID) {
  _ = NSManagedObjectID.uriRepresentation
  let _: Bool = it.isTemporaryID
  let _: NSEntityDescription = it.entity
  let _: NSPersistentStore? = it.persistentStore
}

private func useNSMutableArray() {
  _ = NSMutableArray.filter(using:)
  _ = NSMutableArray.sort(using:)
}

private func useNSMutableOrderedSet() {
  _ = NSMutableOrderedSet.filter(using:)
  _ = NSMutableOrderedSet.sort(using:)
}

private func useNSMutableSet() {
  _ = NSMutableSet.filter(using:)
}

private func useNSNumber() {
  _ = (any NSFetchRequestResult).self
}

private func useNSOrderedSet() {
  _ = NSOrderedSet.filtered(using:)
  _ = NSOrderedSet.setValue(_:forKey:)
  _ = NSOrderedSet.sortedArray(using:)
  _ = NSOrderedSet.value(forKey:)
  _ = NSOrderedSet.value(forKeyPath:)
}

private func useNSSet() {
  _ = NSSet.filtered(using:)
  _ = NSSet.setValue(_:forKey:)
  _ = NSSet.sortedArray(using:)
  _ = NSSet.value(forKey:)
  _ = NSSet.value(forKeyPath:)
}

private func useNSSnapshotEventType() {
  _ = NSSnapshotEventType.init(rawValue:)
  let _: NSSnapshotEventType = NSSnapshotEventType.mergePolicy
  let _: NSSnapshotEventType = NSSnapshotEventType.refresh
  let _: NSSnapshotEventType = NSSnapshotEventType.rollback
  let _: NSSnapshotEventType = NSSnapshotEventType.undoDeletion
  let _: NSSnapshotEventType = NSSnapshotEventType.undoInsertion
  let _: NSSnapshotEventType = NSSnapshotEventType.undoUpdate
}
