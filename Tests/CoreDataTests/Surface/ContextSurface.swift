import CoreData
import Foundation

// What code for Core Data writes of contexts, type-checked. Nothing is executed.

// tsv: NSManagedObjectContext | NSManagedObjectContext.ConcurrencyType | NSManagedObjectContext.ScheduledTaskType
// tsv: NSManagedObjectContext.NotificationKey | NSManagedObjectContext.init() | NSManagedObjectContext.init(_:)
// tsv: NSManagedObjectContext.init(concurrencyType:)
func makeContexts(_ coordinator: NSPersistentStoreCoordinator) -> [NSManagedObjectContext] {
  // tsv: NSManagedObjectContext.persistentStoreCoordinator | NSManagedObjectContext.parent | NSManagedObjectContext.name
  // tsv: NSManagedObjectContext.undoManager | NSManagedObjectContext.userInfo | NSManagedObjectContext.mergePolicy
  // tsv: NSManagedObjectContext.automaticallyMergesChangesFromParent | NSManagedObjectContext.concurrencyType
  // tsv: NSManagedObjectContext.propagatesDeletesAtEndOfEvent | NSManagedObjectContext.retainsRegisteredObjects
  // tsv: NSManagedObjectContext.shouldDeleteInaccessibleFaults | NSManagedObjectContext.stalenessInterval
  // tsv: NSManagedObjectContext.transactionAuthor
  let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
  context.persistentStoreCoordinator = coordinator
  context.name = "a"
  context.undoManager = nil
  context.undoManager = UndoManager()
  context.userInfo["a"] = 1
  context.userInfo.setObject("x", forKey: "k" as NSString)
  context.mergePolicy = NSMergeByPropertyObjectTrumpMergePolicy
  context.mergePolicy = NSMergePolicy(merge: .overwriteMergePolicyType)
  let policy: AnyObject = NSErrorMergePolicy
  context.mergePolicy = policy
  context.automaticallyMergesChangesFromParent = true
  context.propagatesDeletesAtEndOfEvent = false
  context.retainsRegisteredObjects = true
  context.shouldDeleteInaccessibleFaults = false
  context.stalenessInterval = -1
  context.transactionAuthor = "app"
  let child = NSManagedObjectContext(.mainQueue)
  child.parent = context
  if let parent = child.parent, let bottom = parent.persistentStoreCoordinator { _ = bottom }
  // tsv: NSManagedObjectContextConcurrencyType | NSManagedObjectContextConcurrencyType.init(rawValue:)
  // tsv: NSManagedObjectContextConcurrencyType.confinementConcurrencyType
  // tsv: NSManagedObjectContextConcurrencyType.mainQueueConcurrencyType
  // tsv: NSManagedObjectContextConcurrencyType.privateQueueConcurrencyType
  // tsv: NSManagedObjectContext.ConcurrencyType.mainQueue | NSManagedObjectContext.ConcurrencyType.privateQueue
  // tsv: NSManagedObjectContext.ConcurrencyType.init(rawValue:)
  switch context.concurrencyType {
  case .mainQueueConcurrencyType, .privateQueueConcurrencyType: break
  default: _ = context.concurrencyType == .confinementConcurrencyType
  }
  let number: UInt = context.concurrencyType.rawValue
  let type: NSManagedObjectContextConcurrencyType? = NSManagedObjectContextConcurrencyType(rawValue: number)
  let modern: NSManagedObjectContext.ConcurrencyType = .privateQueue
  let wrapped = NSManagedObjectContext.ConcurrencyType(rawValue: .mainQueueConcurrencyType)
  _ = (type, modern, wrapped)
  return [context, child, NSManagedObjectContext()]
}

func useContext(
  _ context: NSManagedObjectContext, _ object: NSManagedObject, _ store: NSPersistentStore
) throws {
  // tsv: NSManagedObjectContext.hasChanges | NSManagedObjectContext.insertedObjects | NSManagedObjectContext.updatedObjects
  // tsv: NSManagedObjectContext.deletedObjects | NSManagedObjectContext.registeredObjects
  let sets: [Set<NSManagedObject>] = [
    context.insertedObjects, context.updatedObjects, context.deletedObjects, context.registeredObjects,
  ]
  if context.hasChanges { try context.save() }
  // tsv: NSManagedObjectContext.save() | NSManagedObjectContext.insert(_:) | NSManagedObjectContext.delete(_:)
  // tsv: NSManagedObjectContext.assign(_:to:) | NSManagedObjectContext.detectConflicts(for:) | NSManagedObjectContext.object(with:)
  // tsv: NSManagedObjectContext.existingObject(with:) | NSManagedObjectContext.registeredObject(for:)
  // tsv: NSManagedObjectContext.obtainPermanentIDs(for:) | NSManagedObjectContext.processPendingChanges()
  // tsv: NSManagedObjectContext.refresh(_:mergeChanges:) | NSManagedObjectContext.refreshAllObjects()
  // tsv: NSManagedObjectContext.reset() | NSManagedObjectContext.rollback() | NSManagedObjectContext.undo()
  // tsv: NSManagedObjectContext.redo()
  context.insert(object)
  context.assign(object, to: store)
  context.detectConflicts(for: object)
  context.refresh(object, mergeChanges: true)
  context.refreshAllObjects()
  let found: [NSManagedObject?] = [
    context.object(with: object.objectID), try context.existingObject(with: object.objectID),
    context.registeredObject(for: object.objectID),
  ]
  try context.obtainPermanentIDs(for: [object])
  context.delete(object)
  context.processPendingChanges()
  context.undo()
  context.redo()
  context.rollback()
  context.reset()
  // tsv: NSManagedObjectContext.fetch(_:) | NSManagedObjectContext.count(for:) | NSManagedObjectContext.execute(_:)
  let typed: [Entry] = try context.fetch(NSFetchRequest<Entry>(entityName: "Entry"))
  let untyped: [Any] = try context.fetch(NSFetchRequest<NSFetchRequestResult>(entityName: "Entry"))
  let counts: [Int] = [
    try context.count(for: NSFetchRequest<Entry>(entityName: "Entry")),
    try context.count(for: NSFetchRequest<NSFetchRequestResult>(entityName: "Entry")),
  ]
  let result: NSPersistentStoreResult = try context.execute(
    NSBatchDeleteRequest(fetchRequest: NSFetchRequest<NSFetchRequestResult>(entityName: "Entry")))
  // tsv: NSManagedObjectContext.mergeChanges(fromContextDidSave:)
  // tsv: NSManagedObjectContext.mergeChanges(fromRemoteContextSave:into:)
  context.mergeChanges(fromContextDidSave: Notification(name: .NSManagedObjectContextDidSave))
  NSManagedObjectContext.mergeChanges(
    fromRemoteContextSave: [NSDeletedObjectsKey: [object.objectID]], into: [context])
  // tsv: NSManagedObjectContext.lock() | NSManagedObjectContext.unlock() | NSManagedObjectContext.tryLock()
  // tsv: NSManagedObjectContext.shouldHandleInaccessibleFault(_:for:triggeredByProperty:)
  context.lock()
  if context.tryLock() { context.unlock() }
  let isHandled: Bool = context.shouldHandleInaccessibleFault(
    object, for: object.objectID, triggeredByProperty: nil)
  // tsv: NSManagedObjectContext.queryGenerationToken | NSManagedObjectContext.setQueryGenerationFrom(_:)
  // tsv: NSQueryGenerationToken | NSQueryGenerationToken.current
  try context.setQueryGenerationFrom(NSQueryGenerationToken.current)
  try context.setQueryGenerationFrom(context.queryGenerationToken)
  _ = (sets, found, typed, untyped, counts, result, isHandled)
}

@MainActor
func usePerform(_ context: NSManagedObjectContext, _ object: NSManagedObject) {
  // tsv: NSManagedObjectContext.perform(_:) | NSManagedObjectContext.perform(schedule:_:)
  // tsv: NSManagedObjectContext.performAndWait(_:) | NSManagedObjectContext.ScheduledTaskType.enqueued
  // tsv: NSManagedObjectContext.ScheduledTaskType.immediate
  var count = 0
  context.perform {
    object.setValue("a", forKey: "title")
    count += 1
    try? context.save()
  }
  context.performAndWait { count += 1 }
  let title: String? = context.performAndWait { object.value(forKey: "title") as? String }
  _ = (title, count)
}

@MainActor
func awaitPerform(_ context: NSManagedObjectContext, _ object: NSManagedObject) async throws {
  let entry: NSManagedObject = await context.perform { object }
  try await context.perform(schedule: .enqueued) { try context.save() }
  await context.perform(schedule: .immediate) { context.reset() }
  _ = entry
}

func useNotifications(_ context: NSManagedObjectContext) {
  // tsv: NSManagedObjectContext.didChangeObjectsNotification | NSManagedObjectContext.didSaveObjectsNotification
  // tsv: NSManagedObjectContext.didSaveObjectIDsNotification | NSManagedObjectContext.willSaveObjectsNotification
  // tsv: NSManagedObjectContext.didMergeChangesObjectIDsNotification
  // tsv: NSNotification.Name.NSManagedObjectContextDidMergeChangesObjectIDs | NSNotification.Name.NSManagedObjectContextDidSave
  // tsv: NSNotification.Name.NSManagedObjectContextDidSaveObjectIDs | NSNotification.Name.NSManagedObjectContextObjectsDidChange
  // tsv: NSNotification.Name.NSManagedObjectContextWillSave | NSNotification.Name.NSPersistentStoreCoordinatorStoresDidChange
  // tsv: NSNotification.Name.NSPersistentStoreCoordinatorStoresWillChange
  // tsv: NSNotification.Name.NSPersistentStoreCoordinatorWillRemoveStore | NSNotification.Name.NSPersistentStoreRemoteChange
  let names: [Notification.Name] = [
    NSManagedObjectContext.didChangeObjectsNotification, NSManagedObjectContext.didSaveObjectsNotification,
    NSManagedObjectContext.didSaveObjectIDsNotification, NSManagedObjectContext.willSaveObjectsNotification,
    NSManagedObjectContext.didMergeChangesObjectIDsNotification,
    .NSManagedObjectContextDidMergeChangesObjectIDs,
    .NSManagedObjectContextDidSave, .NSManagedObjectContextDidSaveObjectIDs,
    .NSManagedObjectContextObjectsDidChange, .NSManagedObjectContextWillSave,
    .NSPersistentStoreCoordinatorStoresDidChange, .NSPersistentStoreCoordinatorStoresWillChange,
    .NSPersistentStoreCoordinatorWillRemoveStore, .NSPersistentStoreRemoteChange,
  ]
  // tsv: NSInsertedObjectsKey | NSUpdatedObjectsKey | NSDeletedObjectsKey | NSRefreshedObjectsKey | NSInvalidatedObjectsKey
  // tsv: NSInvalidatedAllObjectsKey | NSInsertedObjectIDsKey | NSUpdatedObjectIDsKey | NSDeletedObjectIDsKey
  // tsv: NSRefreshedObjectIDsKey | NSInvalidatedObjectIDsKey | NSAddedPersistentStoresKey | NSRemovedPersistentStoresKey
  // tsv: NSUUIDChangedPersistentStoresKey | NSPersistentStoreURLKey | NSPersistentHistoryTokenKey | NSPersistentHistoryToken
  let keys: [String] = [
    NSInsertedObjectsKey, NSUpdatedObjectsKey, NSDeletedObjectsKey, NSRefreshedObjectsKey,
    NSInvalidatedObjectsKey,
    NSInvalidatedAllObjectsKey, NSInsertedObjectIDsKey, NSUpdatedObjectIDsKey, NSDeletedObjectIDsKey,
    NSRefreshedObjectIDsKey, NSInvalidatedObjectIDsKey, NSAddedPersistentStoresKey,
    NSRemovedPersistentStoresKey,
    NSUUIDChangedPersistentStoresKey, NSPersistentStoreURLKey, NSPersistentHistoryTokenKey,
  ]
  let token: NSPersistentHistoryToken? = nil
  // tsv: NSManagedObjectContext.NotificationKey.init(rawValue:) | NSManagedObjectContext.NotificationKey.rawValue
  // tsv: NSManagedObjectContext.NotificationKey.deletedObjectIDs | NSManagedObjectContext.NotificationKey.deletedObjects
  // tsv: NSManagedObjectContext.NotificationKey.insertedObjectIDs | NSManagedObjectContext.NotificationKey.insertedObjects
  // tsv: NSManagedObjectContext.NotificationKey.invalidatedAllObjects | NSManagedObjectContext.NotificationKey.invalidatedObjectIDs
  // tsv: NSManagedObjectContext.NotificationKey.invalidatedObjects | NSManagedObjectContext.NotificationKey.refreshedObjectIDs
  // tsv: NSManagedObjectContext.NotificationKey.refreshedObjects | NSManagedObjectContext.NotificationKey.updatedObjectIDs
  // tsv: NSManagedObjectContext.NotificationKey.updatedObjects
  let typed: [NSManagedObjectContext.NotificationKey] = [
    .deletedObjectIDs, .deletedObjects, .insertedObjectIDs, .insertedObjects, .invalidatedAllObjects,
    .invalidatedObjectIDs, .invalidatedObjects, .refreshedObjectIDs, .refreshedObjects, .updatedObjectIDs,
    .updatedObjects,
  ]
  _ = NSManagedObjectContext.NotificationKey(rawValue: typed[0].rawValue)
  let observer = NotificationCenter.default.addObserver(
    forName: .NSManagedObjectContextDidSave, object: nil, queue: .main
  ) { note in
    guard let saved = note.object as? NSManagedObjectContext, saved !== context else { return }
    context.perform { context.mergeChanges(fromContextDidSave: note) }
  }
  _ = (names, keys, token, observer)
}

// tsv: NSMergePolicy | NSMergePolicy.init(merge:) | NSMergePolicy.resolve(mergeConflicts:) | NSMergePolicyType
// tsv: NSMergePolicy.resolve(optimisticLockingConflicts:) | NSMergePolicy.resolve(constraintConflicts:) | NSMergePolicy.mergeType
final class OwnPolicy: NSMergePolicy, @unchecked Sendable {
  init() { super.init(merge: .mergeByPropertyObjectTrumpMergePolicyType) }
  override func resolve(mergeConflicts list: [Any]) throws { try super.resolve(mergeConflicts: list) }
  override func resolve(optimisticLockingConflicts list: [NSMergeConflict]) throws {
    // tsv: NSMergeConflict | NSMergeConflict.cachedSnapshot | NSMergeConflict.newVersionNumber | NSMergeConflict.objectSnapshot
    // tsv: NSMergeConflict.oldVersionNumber | NSMergeConflict.persistedSnapshot | NSMergeConflict.sourceObject
    for conflict in list {
      let object: NSManagedObject = conflict.sourceObject
      let snapshots: [[String: Any]?] = [
        conflict.cachedSnapshot, conflict.objectSnapshot, conflict.persistedSnapshot,
      ]
      _ = (object, snapshots, conflict.oldVersionNumber + conflict.newVersionNumber)
    }
    try super.resolve(optimisticLockingConflicts: list)
  }
  override func resolve(constraintConflicts list: [NSConstraintConflict]) throws {
    // tsv: NSConstraintConflict | NSConstraintConflict.conflictingObjects | NSConstraintConflict.conflictingSnapshots
    // tsv: NSConstraintConflict.constraint | NSConstraintConflict.constraintValues | NSConstraintConflict.databaseObject
    // tsv: NSConstraintConflict.databaseSnapshot
    for conflict in list {
      let objects: [NSManagedObject] = conflict.conflictingObjects
      let (names, values): ([String], [String: Any]) = (conflict.constraint, conflict.constraintValues)
      _ = (objects, names, values, conflict.databaseObject, conflict.databaseSnapshot)
      _ = conflict.conflictingSnapshots.count
    }
    try super.resolve(constraintConflicts: list)
  }
}

func makeConflict(_ object: NSManagedObject) -> NSConstraintConflict {
  // tsv: NSConstraintConflict.init(constraint:database:databaseSnapshot:conflicting:conflictingSnapshots:)
  let snapshot: [AnyHashable: Any] = ["name": "a"]
  return NSConstraintConflict(
    constraint: ["name"], database: nil, databaseSnapshot: snapshot, conflicting: [object],
    conflictingSnapshots: [NSNull()])
}

func usePolicies(_ context: NSManagedObjectContext) {
  // tsv: NSMergePolicy.error | NSMergePolicy.mergeByPropertyObjectTrump | NSMergePolicy.mergeByPropertyStoreTrump
  // tsv: NSMergePolicy.overwrite | NSMergePolicy.rollback | NSMergePolicyType.init(rawValue:)
  // tsv: NSMergePolicyType.errorMergePolicyType | NSMergePolicyType.mergeByPropertyObjectTrumpMergePolicyType
  // tsv: NSMergePolicyType.mergeByPropertyStoreTrumpMergePolicyType | NSMergePolicyType.overwriteMergePolicyType
  // tsv: NSMergePolicyType.rollbackMergePolicyType | NSErrorMergePolicy | NSMergeByPropertyObjectTrumpMergePolicy
  // tsv: NSMergeByPropertyStoreTrumpMergePolicy | NSOverwriteMergePolicy | NSRollbackMergePolicy
  let policies: [NSMergePolicy] = [
    .error, .mergeByPropertyObjectTrump, .mergeByPropertyStoreTrump, .overwrite, .rollback, OwnPolicy(),
  ]
  let constants: [AnyObject] = [
    NSErrorMergePolicy, NSMergeByPropertyObjectTrumpMergePolicy, NSMergeByPropertyStoreTrumpMergePolicy,
    NSOverwriteMergePolicy, NSRollbackMergePolicy,
  ]
  let types: [NSMergePolicyType] = [
    .errorMergePolicyType, .mergeByPropertyObjectTrumpMergePolicyType,
    .mergeByPropertyStoreTrumpMergePolicyType,
    .overwriteMergePolicyType, .rollbackMergePolicyType,
  ]
  for policy in policies { context.mergePolicy = policy }
  for policy in constants { context.mergePolicy = policy }
  for type in types { context.mergePolicy = NSMergePolicy(merge: type) }
  if (context.mergePolicy as? NSMergePolicy)?.mergeType == NSMergePolicyType(rawValue: 1) {}
}
