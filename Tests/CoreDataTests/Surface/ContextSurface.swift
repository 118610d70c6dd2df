import CoreData
import Foundation

// What code for Core Data writes of contexts, type-checked. Nothing is executed.

// surface: NSManagedObjectContext | NSManagedObjectContext.ConcurrencyType | NSManagedObjectContext.ScheduledTaskType
// surface: NSManagedObjectContext.NotificationKey | NSManagedObjectContext.init() | NSManagedObjectContext.init(_:)
// surface: NSManagedObjectContext.init(concurrencyType:)
func makeContexts(_ coordinator: NSPersistentStoreCoordinator) -> [NSManagedObjectContext] {
  // surface: NSManagedObjectContext.persistentStoreCoordinator | NSManagedObjectContext.parent | NSManagedObjectContext.name
  // surface: NSManagedObjectContext.undoManager | NSManagedObjectContext.userInfo | NSManagedObjectContext.mergePolicy
  // surface: NSManagedObjectContext.automaticallyMergesChangesFromParent | NSManagedObjectContext.concurrencyType
  // surface: NSManagedObjectContext.propagatesDeletesAtEndOfEvent | NSManagedObjectContext.retainsRegisteredObjects
  // surface: NSManagedObjectContext.shouldDeleteInaccessibleFaults | NSManagedObjectContext.stalenessInterval
  // surface: NSManagedObjectContext.transactionAuthor
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
  // surface: NSManagedObjectContextConcurrencyType | NSManagedObjectContextConcurrencyType.init(rawValue:)
  // surface: NSManagedObjectContextConcurrencyType.confinementConcurrencyType
  // surface: NSManagedObjectContextConcurrencyType.mainQueueConcurrencyType
  // surface: NSManagedObjectContextConcurrencyType.privateQueueConcurrencyType
  // surface: NSManagedObjectContext.ConcurrencyType.mainQueue | NSManagedObjectContext.ConcurrencyType.privateQueue
  // surface: NSManagedObjectContext.ConcurrencyType.init(rawValue:)
  switch context.concurrencyType {
  case .mainQueueConcurrencyType, .privateQueueConcurrencyType: break
  default: _ = context.concurrencyType == .confinementConcurrencyType
  }
  let number: UInt = context.concurrencyType.rawValue
  let type: NSManagedObjectContextConcurrencyType? = NSManagedObjectContextConcurrencyType(rawValue: number)
  let modern: NSManagedObjectContext.ConcurrencyType = .privateQueue
  let wrapped = NSManagedObjectContext.ConcurrencyType(rawValue: .mainQueueConcurrencyType)
  // surface: NSManagedObjectContext.ConcurrencyType.rawValue | NSManagedObjectContext.new()
  let older: NSManagedObjectContextConcurrencyType = modern.rawValue
  let another: NSManagedObjectContext = NSManagedObjectContext.new()
  _ = (type, modern == .mainQueue, wrapped, older, another, NSManagedObjectContext(modern))
  return [context, child, NSManagedObjectContext()]
}

func useContext(
  _ context: NSManagedObjectContext, _ object: NSManagedObject, _ store: NSPersistentStore
) throws {
  // surface: NSManagedObjectContext.hasChanges | NSManagedObjectContext.insertedObjects | NSManagedObjectContext.updatedObjects
  // surface: NSManagedObjectContext.deletedObjects | NSManagedObjectContext.registeredObjects
  let sets: [Set<NSManagedObject>] = [
    context.insertedObjects, context.updatedObjects, context.deletedObjects, context.registeredObjects,
  ]
  if context.hasChanges { try context.save() }
  // surface: NSManagedObjectContext.save() | NSManagedObjectContext.insert(_:) | NSManagedObjectContext.delete(_:)
  // surface: NSManagedObjectContext.assign(_:to:) | NSManagedObjectContext.detectConflicts(for:) | NSManagedObjectContext.object(with:)
  // surface: NSManagedObjectContext.existingObject(with:) | NSManagedObjectContext.registeredObject(for:)
  // surface: NSManagedObjectContext.obtainPermanentIDs(for:) | NSManagedObjectContext.processPendingChanges()
  // surface: NSManagedObjectContext.refresh(_:mergeChanges:) | NSManagedObjectContext.refreshAllObjects()
  // surface: NSManagedObjectContext.reset() | NSManagedObjectContext.rollback() | NSManagedObjectContext.undo()
  // surface: NSManagedObjectContext.redo()
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
  // surface: NSManagedObjectContext.fetch(_:) | NSManagedObjectContext.count(for:) | NSManagedObjectContext.execute(_:)
  let typed: [Entry] = try context.fetch(NSFetchRequest<Entry>(entityName: "Entry"))
  let untyped: [Any] = try context.fetch(NSFetchRequest<NSFetchRequestResult>(entityName: "Entry"))
  let counts: [Int] = [
    try context.count(for: NSFetchRequest<Entry>(entityName: "Entry")),
    try context.count(for: NSFetchRequest<NSFetchRequestResult>(entityName: "Entry")),
  ]
  let result: NSPersistentStoreResult = try context.execute(
    NSBatchDeleteRequest(fetchRequest: NSFetchRequest<NSFetchRequestResult>(entityName: "Entry")))
  // surface: NSManagedObjectContext.mergeChanges(fromContextDidSave:)
  // surface: NSManagedObjectContext.mergeChanges(fromRemoteContextSave:into:)
  context.mergeChanges(fromContextDidSave: Notification(name: .NSManagedObjectContextDidSave))
  NSManagedObjectContext.mergeChanges(
    fromRemoteContextSave: [NSDeletedObjectsKey: [object.objectID]], into: [context])
  // surface: NSManagedObjectContext.lock() | NSManagedObjectContext.unlock() | NSManagedObjectContext.tryLock()
  // surface: NSManagedObjectContext.shouldHandleInaccessibleFault(_:for:triggeredByProperty:)
  context.lock()
  if context.tryLock() { context.unlock() }
  let isHandled: Bool = context.shouldHandleInaccessibleFault(
    object, for: object.objectID, triggeredByProperty: nil)
  // surface: NSManagedObjectContext.queryGenerationToken | NSManagedObjectContext.setQueryGenerationFrom(_:)
  // surface: NSQueryGenerationToken | NSQueryGenerationToken.current
  try context.setQueryGenerationFrom(NSQueryGenerationToken.current)
  try context.setQueryGenerationFrom(context.queryGenerationToken)
  _ = (sets, found, typed, untyped, counts, result, isHandled)
}

@MainActor
func usePerform(_ context: NSManagedObjectContext, _ object: NSManagedObject) {
  // surface: NSManagedObjectContext.perform(_:) | NSManagedObjectContext.perform(schedule:_:)
  // surface: NSManagedObjectContext.performAndWait(_:) | NSManagedObjectContext.ScheduledTaskType.enqueued
  // surface: NSManagedObjectContext.ScheduledTaskType.immediate
  var count = 0
  let id = object.objectID
  context.perform {
    context.object(with: id).setValue("a", forKey: "title")
    try? context.save()
  }
  context.performAndWait { count += 1 }
  let title: String? = context.performAndWait { object.value(forKey: "title") as? String }
  _ = (title, count)
}

@MainActor
func awaitPerform(_ context: NSManagedObjectContext, _ object: NSManagedObject) async throws {
  let id = object.objectID
  let entry: NSManagedObject = await context.perform { context.object(with: id) }
  try await context.perform(schedule: .enqueued) { try context.save() }
  await context.perform(schedule: .immediate) { context.reset() }
  _ = entry
}

func useNotifications(_ context: NSManagedObjectContext) {
  // surface: NSManagedObjectContext.didChangeObjectsNotification | NSManagedObjectContext.didSaveObjectsNotification
  // surface: NSManagedObjectContext.didSaveObjectIDsNotification | NSManagedObjectContext.willSaveObjectsNotification
  // surface: NSManagedObjectContext.didMergeChangesObjectIDsNotification
  // surface: NSNotification.Name.NSManagedObjectContextDidMergeChangesObjectIDs | NSNotification.Name.NSManagedObjectContextDidSave
  // surface: NSNotification.Name.NSManagedObjectContextDidSaveObjectIDs | NSNotification.Name.NSManagedObjectContextObjectsDidChange
  // surface: NSNotification.Name.NSManagedObjectContextWillSave | NSNotification.Name.NSPersistentStoreCoordinatorStoresDidChange
  // surface: NSNotification.Name.NSPersistentStoreCoordinatorStoresWillChange
  // surface: NSNotification.Name.NSPersistentStoreCoordinatorWillRemoveStore | NSNotification.Name.NSPersistentStoreRemoteChange
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
  // surface: NSInsertedObjectsKey | NSUpdatedObjectsKey | NSDeletedObjectsKey | NSRefreshedObjectsKey | NSInvalidatedObjectsKey
  // surface: NSInvalidatedAllObjectsKey | NSInsertedObjectIDsKey | NSUpdatedObjectIDsKey | NSDeletedObjectIDsKey
  // surface: NSRefreshedObjectIDsKey | NSInvalidatedObjectIDsKey | NSAddedPersistentStoresKey | NSRemovedPersistentStoresKey
  // surface: NSUUIDChangedPersistentStoresKey | NSPersistentStoreURLKey | NSPersistentHistoryTokenKey | NSPersistentHistoryToken
  // surface: NSManagedObjectContextQueryGenerationKey
  let keys: [String] = [
    NSManagedObjectContextQueryGenerationKey, NSInsertedObjectsKey, NSUpdatedObjectsKey, NSDeletedObjectsKey,
    NSRefreshedObjectsKey,
    NSInvalidatedObjectsKey,
    NSInvalidatedAllObjectsKey, NSInsertedObjectIDsKey, NSUpdatedObjectIDsKey, NSDeletedObjectIDsKey,
    NSRefreshedObjectIDsKey, NSInvalidatedObjectIDsKey, NSAddedPersistentStoresKey,
    NSRemovedPersistentStoresKey,
    NSUUIDChangedPersistentStoresKey, NSPersistentStoreURLKey, NSPersistentHistoryTokenKey,
  ]
  let token: NSPersistentHistoryToken? = nil
  // surface: NSManagedObjectContext.NotificationKey.init(rawValue:) | NSManagedObjectContext.NotificationKey.rawValue
  // surface: NSManagedObjectContext.NotificationKey.deletedObjectIDs | NSManagedObjectContext.NotificationKey.deletedObjects
  // surface: NSManagedObjectContext.NotificationKey.insertedObjectIDs | NSManagedObjectContext.NotificationKey.insertedObjects
  // surface: NSManagedObjectContext.NotificationKey.invalidatedAllObjects | NSManagedObjectContext.NotificationKey.invalidatedObjectIDs
  // surface: NSManagedObjectContext.NotificationKey.invalidatedObjects | NSManagedObjectContext.NotificationKey.refreshedObjectIDs
  // surface: NSManagedObjectContext.NotificationKey.refreshedObjects | NSManagedObjectContext.NotificationKey.updatedObjectIDs
  // surface: NSManagedObjectContext.NotificationKey.updatedObjects | NSManagedObjectContext.NotificationKey.queryGeneration
  let typed: [NSManagedObjectContext.NotificationKey] = [
    .deletedObjectIDs, .deletedObjects, .insertedObjectIDs, .insertedObjects, .invalidatedAllObjects,
    .invalidatedObjectIDs, .invalidatedObjects, .refreshedObjectIDs, .refreshedObjects, .updatedObjectIDs,
    .updatedObjects, .queryGeneration,
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

// surface: NSMergePolicy | NSMergePolicy.init(merge:) | NSMergePolicy.resolve(mergeConflicts:) | NSMergePolicyType
// surface: NSMergePolicy.resolve(optimisticLockingConflicts:) | NSMergePolicy.resolve(constraintConflicts:) | NSMergePolicy.mergeType
final class OwnPolicy: NSMergePolicy, @unchecked Sendable {
  init() { super.init(merge: .mergeByPropertyObjectTrumpMergePolicyType) }
  override func resolve(mergeConflicts list: [Any]) throws { try super.resolve(mergeConflicts: list) }
  override func resolve(optimisticLockingConflicts list: [NSMergeConflict]) throws {
    // surface: NSMergeConflict | NSMergeConflict.cachedSnapshot | NSMergeConflict.newVersionNumber | NSMergeConflict.objectSnapshot
    // surface: NSMergeConflict.oldVersionNumber | NSMergeConflict.persistedSnapshot | NSMergeConflict.sourceObject
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
    // surface: NSConstraintConflict | NSConstraintConflict.conflictingObjects | NSConstraintConflict.conflictingSnapshots
    // surface: NSConstraintConflict.constraint | NSConstraintConflict.constraintValues | NSConstraintConflict.databaseObject
    // surface: NSConstraintConflict.databaseSnapshot
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
  // surface: NSConstraintConflict.init(constraint:database:databaseSnapshot:conflicting:conflictingSnapshots:)
  let snapshot: [AnyHashable: Any] = ["name": "a"]
  return NSConstraintConflict(
    constraint: ["name"], database: nil, databaseSnapshot: snapshot, conflicting: [object],
    conflictingSnapshots: [NSNull()])
}

func usePolicies(_ context: NSManagedObjectContext) {
  // surface: NSMergePolicy.error | NSMergePolicy.mergeByPropertyObjectTrump | NSMergePolicy.mergeByPropertyStoreTrump
  // surface: NSMergePolicy.overwrite | NSMergePolicy.rollback | NSMergePolicyType.init(rawValue:)
  // surface: NSMergePolicyType.errorMergePolicyType | NSMergePolicyType.mergeByPropertyObjectTrumpMergePolicyType
  // surface: NSMergePolicyType.mergeByPropertyStoreTrumpMergePolicyType | NSMergePolicyType.overwriteMergePolicyType
  // surface: NSMergePolicyType.rollbackMergePolicyType | NSErrorMergePolicy | NSMergeByPropertyObjectTrumpMergePolicy
  // surface: NSMergeByPropertyStoreTrumpMergePolicy | NSOverwriteMergePolicy | NSRollbackMergePolicy
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
