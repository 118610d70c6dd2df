import CoreData
import Foundation

// What code for Core Data writes of managed objects, type-checked. Each row of the list of Apple's names that is used here has a
// `surface:` mark. Nothing is executed.

/// The hooks that classes override.
// surface: NSManagedObject.awakeFromInsert() | NSManagedObject.awakeFromFetch() | NSManagedObject.awake(fromSnapshotEvents:)
// surface: NSManagedObject.prepareForDeletion() | NSManagedObject.willSave() | NSManagedObject.didSave()
// surface: NSManagedObject.willTurnIntoFault() | NSManagedObject.didTurnIntoFault() | NSManagedObject.validateForInsert()
// surface: NSManagedObject.validateForUpdate() | NSManagedObject.validateForDelete() | NSManagedObject.value(forKey:)
// surface: NSManagedObject.setValue(_:forKey:) | NSManagedObject.value(forUndefinedKey:) | NSManagedObject.setValue(_:forUndefinedKey:)
// surface: NSManagedObject.init(entity:insertInto:)
class HookedObject: NSManagedObject {
  override init(entity: NSEntityDescription, insertInto context: NSManagedObjectContext?) {
    super.init(entity: entity, insertInto: context)
  }
  override func awakeFromInsert() {
    super.awakeFromInsert()
    setPrimitiveValue(Date(), forKey: "date")
  }
  override func awakeFromFetch() { super.awakeFromFetch() }
  override func awake(fromSnapshotEvents flags: NSSnapshotEventType) {
    super.awake(fromSnapshotEvents: flags)
  }
  override func prepareForDeletion() { super.prepareForDeletion() }
  override func willSave() {
    super.willSave()
    if hasPersistentChangedValues, !isDeleted { setPrimitiveValue(Date(), forKey: "date") }
  }
  override func didSave() { super.didSave() }
  override func willTurnIntoFault() { super.willTurnIntoFault() }
  override func didTurnIntoFault() { super.didTurnIntoFault() }
  override func validateForInsert() throws {
    try super.validateForInsert()
    throw NSError(domain: NSCocoaErrorDomain, code: NSManagedObjectValidationError, userInfo: nil)
  }
  override func validateForUpdate() throws { try super.validateForUpdate() }
  override func validateForDelete() throws { try super.validateForDelete() }
  override func value(forKey key: String) -> Any? { super.value(forKey: key) }
  override func setValue(_ value: Any?, forKey key: String) { super.setValue(value, forKey: key) }
  override func value(forUndefinedKey key: String) -> Any? { nil }
  override func setValue(_ value: Any?, forUndefinedKey key: String) {}
}

func useObject(_ context: NSManagedObjectContext, _ entity: NSEntityDescription) throws {
  // surface: NSManagedObject | NSManagedObject.init(context:) | NSManagedObject.entity() | NSManagedObject.fetchRequest()
  let object = HookedObject(context: context)
  let other = NSManagedObject(entity: entity, insertInto: nil)
  let request: NSFetchRequest<NSFetchRequestResult> = HookedObject.fetchRequest()
  let own: NSEntityDescription = HookedObject.entity()
  // surface: NSManagedObject.entity | NSManagedObject.objectID | NSManagedObject.managedObjectContext | NSManagedObject.faultingState
  // surface: NSManagedObject.hasChanges | NSManagedObject.hasPersistentChangedValues | NSManagedObject.isDeleted | NSManagedObject.isFault
  // surface: NSManagedObject.isInserted | NSManagedObject.isUpdated | NSManagedObject.contextShouldIgnoreUnmodeledPropertyChanges
  let description: NSEntityDescription = object.entity
  let id: NSManagedObjectID = object.objectID
  let home: NSManagedObjectContext? = object.managedObjectContext
  let state: Int = object.faultingState
  let flags: [Bool] = [
    object.hasChanges, object.hasPersistentChangedValues, object.isDeleted, object.isFault, object.isInserted,
    object.isUpdated, HookedObject.contextShouldIgnoreUnmodeledPropertyChanges,
  ]
  // surface: NSManagedObject.changedValues() | NSManagedObject.changedValuesForCurrentEvent() | NSManagedObject.committedValues(forKeys:)
  let changed: [String: Any] = object.changedValues()
  let now: [String: Any] = object.changedValuesForCurrentEvent()
  let saved: [String: Any] = object.committedValues(forKeys: nil)
  // surface: NSManagedObject.willAccessValue(forKey:) | NSManagedObject.didAccessValue(forKey:) | NSManagedObject.willChangeValue(forKey:)
  // surface: NSManagedObject.didChangeValue(forKey:) | NSManagedObject.primitiveValue(forKey:) | NSManagedObject.setPrimitiveValue(_:forKey:)
  // surface: NSManagedObject.willChangeValue(forKey:withSetMutation:using:) | NSKeyValueSetMutationKind
  object.willChangeValue(forKey: "trips", withSetMutation: .union, using: [object])
  object.didChangeValue(forKey: "trips", withSetMutation: .union, using: [object])
  object.willChange(.insertion, valuesAt: [0], forKey: "trips")
  object.didChange(.insertion, valuesAt: [0], forKey: "trips")
  object.willAccessValue(forKey: "date")
  let date = object.primitiveValue(forKey: "date") as? Date
  object.didAccessValue(forKey: nil)
  object.willChangeValue(forKey: "date")
  object.setPrimitiveValue(date, forKey: "date")
  object.didChangeValue(forKey: "date")
  // surface: NSManagedObject.dictionaryWithValues(forKeys:) | NSManagedObject.setValuesForKeys(_:) | NSManagedObject.value(forKeyPath:)
  // surface: NSManagedObject.setValue(_:forKeyPath:) | NSManagedObject.subscript(_:) | NSManagedObject.hasFault(forRelationshipNamed:)
  // surface: NSManagedObject.objectIDs(forRelationshipNamed:)
  object.setValuesForKeys(object.dictionaryWithValues(forKeys: ["date"]))
  object.setValue(object.value(forKeyPath: "trip.name"), forKeyPath: "trip.name")
  object["date"] = object["date"]
  let isFault: Bool = object.hasFault(forRelationshipNamed: "trip")
  let members: [NSManagedObjectID] = object.objectIDs(forRelationshipNamed: "trip")
  // surface: NSManagedObject.mutableSetValue(forKey:) | NSManagedObject.mutableSetValue(forKeyPath:)
  // surface: NSManagedObject.mutableOrderedSetValue(forKey:) | NSManagedObject.mutableOrderedSetValue(forKeyPath:)
  let set: NSMutableSet = object.mutableSetValue(forKey: "a")
  let same: NSMutableSet = object.mutableSetValue(forKeyPath: "a.b")
  let ordered: NSMutableOrderedSet = object.mutableOrderedSetValue(forKey: "a")
  // surface: NSManagedObject.mutableArrayValue(forKey:)
  let elements: NSMutableArray = object.mutableArrayValue(forKey: "a")
  let sameOrdered: NSMutableOrderedSet = object.mutableOrderedSetValue(forKeyPath: "a.b")
  // surface: NSManagedObjectID | NSManagedObjectID.entity | NSManagedObjectID.isTemporaryID | NSManagedObjectID.persistentStore
  // surface: NSManagedObjectID.uriRepresentation()
  let entityOfID: NSEntityDescription = id.entity
  let isTemporary: Bool = id.isTemporaryID
  let store: NSPersistentStore? = id.persistentStore
  let uri: URL = id.uriRepresentation()
  // surface: NSSnapshotEventType | NSSnapshotEventType.init(rawValue:) | NSSnapshotEventType.mergePolicy | NSSnapshotEventType.refresh
  // surface: NSSnapshotEventType.rollback | NSSnapshotEventType.undoDeletion | NSSnapshotEventType.undoInsertion
  // surface: NSSnapshotEventType.undoUpdate
  let events: NSSnapshotEventType = [
    .mergePolicy, .refresh, .rollback, .undoDeletion, .undoInsertion, .undoUpdate,
  ]
  _ = NSSnapshotEventType(rawValue: events.rawValue)
  // surface: NSArray.value(forKey:) | NSArray.value(forKeyPath:) | NSArray.setValue(_:forKey:)
  // surface: NSSet.value(forKey:) | NSSet.value(forKeyPath:) | NSSet.setValue(_:forKey:)
  // surface: NSOrderedSet.value(forKey:) | NSOrderedSet.value(forKeyPath:) | NSOrderedSet.setValue(_:forKey:)
  // surface: NSDictionary.value(forKey:) | NSDictionary.value(forKeyPath:)
  let array = NSArray(array: [object])
  array.setValue(array.value(forKeyPath: "@count"), forKey: "n")
  set.setValue(set.value(forKeyPath: "@count"), forKey: "n")
  ordered.setValue(ordered.value(forKeyPath: "@count"), forKey: "n")
  let dictionary = NSDictionary(dictionary: ["a": 1])
  _ = [
    array.value(forKey: "n"), set.value(forKey: "n"), ordered.value(forKey: "n"),
    dictionary.value(forKey: "a") as Any, dictionary.value(forKeyPath: "a.b") as Any,
  ]
  _ = (other, request, own, description, home, state, flags, changed, now, saved, isFault, members)
  _ = (same, elements, sameOrdered, entityOfID, isTemporary, store, uri)
}
