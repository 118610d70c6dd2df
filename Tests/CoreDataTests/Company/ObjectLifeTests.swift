import CoreData
import Testing

@Suite("The life of an object by Apple's names")
struct ObjectLifeTests {
  let stand: CompanyStand
  let context: NSManagedObjectContext

  init() throws {
    stand = try CompanyStand()
    context = try stand.stocked()
  }

  @Test("Firing a fault calls awakeFromFetch() once; its edit by a primitive setter is no change")
  func awaking() throws {
    let other = stand.context()
    let log = HookLog()
    other.userInfo["log"] = log
    other.userInfo["awakes"] = true
    let anna = try other.employee("Anna")
    #expect(anna.isFault && log.lines.isEmpty)
    #expect(anna.name == "Anna" && anna.value(forKey: "nick") as? String == "awake")
    #expect(log.lines == ["fetch"] && !other.hasChanges && !anna.hasChanges)
    other.refresh(anna, mergeChanges: false)
    #expect(log.lines == ["fetch", "will fault", "did fault"] && anna.isFault)
    anna.willAccessValue(forKey: nil)
    #expect(!anna.isFault && log.lines.last == "fetch")
    #expect(anna.primitiveValue(forKey: "name") as? String == "Anna")
    anna.didAccessValue(forKey: nil)
  }

  @Test("The hooks of one save: insert, will-save and did-save once each; a deleted one knows it")
  func hooks() throws {
    let log = HookLog()
    context.userInfo["log"] = log
    let new = Employee(context: context)
    new.name = "Ed"
    try context.save()
    #expect(log.lines == ["insert", "will save", "did save"])
    log.lines = []
    context.delete(new)
    try context.save()
    #expect(log.lines.prefix(2) == ["prepare Ed", "will save deleted"])
  }

  @Test("What willSave() sets is saved, and told of")
  func stamping() throws {
    context.userInfo["stamps"] = true
    let anna = try context.employee("Anna")
    anna.age = 31
    let infos = try notes(.NSManagedObjectContextDidSave, of: context) { try context.save() }
    #expect(told(infos.first, NSUpdatedObjectsKey) == ["Anna"] && infos.count == 1)
    #expect(try stand.context().employee("Anna").value(forKey: "notes") as? String == "saved")
    #expect(!context.hasChanges)
  }

  @Test("changedValues(), committedValues(forKeys:) and the flags of an edited object")
  func changes() throws {
    let anna = try context.employee("Anna")
    #expect(!anna.hasChanges && anna.changedValues().isEmpty)
    anna.age = 31
    anna.department = nil
    #expect(anna.isUpdated && !anna.isInserted && anna.hasPersistentChangedValues)
    #expect(Set(anna.changedValues().keys) == ["age", "department"])
    #expect(anna.changedValues()["department"] is NSNull)
    let old = anna.committedValues(forKeys: ["age", "department"])
    #expect(old["age"] as? Int == 30)
    #expect((old["department"] as? Department)?.name == "Sales")
    try context.save()
    #expect(anna.changedValues().isEmpty && anna.committedValues(forKeys: ["age"])["age"] as? Int == 31)
  }

  @Test("A transient edit makes changes, but none that persist")
  func transientEdit() throws {
    let anna = try context.employee("Anna")
    anna.setValue("A", forKey: "nick")
    #expect(anna.hasChanges && !anna.hasPersistentChangedValues && context.hasChanges)
    #expect(anna.changedValues().isEmpty)
  }

  @Test("A new object is inserted, not updated; deleted before its save it is nothing")
  func newObject() throws {
    let new = Employee(context: context)
    #expect(new.age == 18 && new.value(forKey: "isActive") as? Bool == true)
    new.name = "Ed"
    #expect(new.isInserted && !new.isUpdated && new.hasChanges)
    #expect(context.insertedObjects == [new] && context.updatedObjects.isEmpty)
    #expect(new.objectID.isTemporaryID)
    context.delete(new)
    context.processPendingChanges()
    #expect(context.insertedObjects.isEmpty && context.deletedObjects.isEmpty)
    #expect(!context.hasChanges)
  }

  @Test("dictionaryWithValues(forKeys:) has NSNull for nil, which setValuesForKeys(_:) takes back")
  func dictionaries() throws {
    let (anna, dora) = (try context.employee("Anna"), try context.employee("Dora"))
    let values = dora.dictionaryWithValues(forKeys: ["name", "department", "notes", "age"])
    #expect(values["department"] is NSNull && values["notes"] is NSNull)
    #expect(values["name"] as? String == "Dora" && values["age"] as? Int == 60)
    anna.setValuesForKeys(values)
    #expect(anna.department == nil && anna.age == 60 && anna.name == "Dora")
    anna.setValue("Sell", forKeyPath: "manager.department.name")
    #expect(try context.employee("Cleo").department?.name == "Sell")
  }

  @Test("refresh(_:mergeChanges: true) keeps edits of a to-many and shows what others added")
  func mergedMembers() throws {
    let sales = try context.department("Sales")
    let (anna, dora) = (try context.employee("Anna"), try context.employee("Dora"))
    let bert = try context.employee("Bert")
    _ = sales.staff.count
    let other = stand.context()
    try other.employee("Cleo").department = try other.department("Sales")
    try other.save()
    anna.department = nil
    dora.department = sales
    context.refresh(sales, mergeChanges: true)
    let cleo = try context.employee("Cleo")
    #expect(sales.staff == [bert, cleo, dora] && context.hasChanges)
    context.refreshAllObjects()
    #expect(sales.staff == [bert, cleo, dora] && anna.department == nil)
    try context.save()
    let third = stand.context()
    #expect(try third.department("Sales").staff.count == 3)
  }

  @Test("refresh(_:mergeChanges: false) drops edits, and reports the object as refreshed")
  func refreshed() throws {
    let anna = try context.employee("Anna")
    anna.age = 99
    let infos = notes(.NSManagedObjectContextObjectsDidChange, of: context) {
      context.refresh(anna, mergeChanges: false)
      context.processPendingChanges()
    }
    #expect(anna.isFault && !anna.hasChanges && !context.hasChanges)
    #expect(infos.contains { ($0[NSRefreshedObjectsKey] as? Set<NSManagedObject>)?.contains(anna) == true })
    #expect(anna.age == 30)
  }

  @Test("One did-change for one event, with both ends of a relationship")
  func didChange() throws {
    let (anna, sales) = (try context.employee("Anna"), try context.department("Sales"))
    let research = try context.department("Research")
    let infos = notes(.NSManagedObjectContextObjectsDidChange, of: context) {
      anna.department = research
      anna.age = 1
      context.processPendingChanges()
      context.processPendingChanges()
    }
    #expect(infos.count == 1)
    #expect(told(infos.first, NSUpdatedObjectsKey) == ["Anna", "Sales", "Research"])
    #expect(infos.first?[NSInsertedObjectsKey] == nil && sales.hasChanges)
  }

  @Test("After a deletion is saved the object has no context; its ID finds nothing")
  func gone() throws {
    let dora = try context.employee("Dora")
    let id = dora.objectID
    context.delete(dora)
    #expect(dora.isDeleted && dora.managedObjectContext === context)
    try context.save()
    #expect(!dora.isDeleted && dora.managedObjectContext == nil)
    let error = #expect(throws: CocoaError.self) { try context.existingObject(with: id) }
    #expect(error?.errorCode == NSManagedObjectReferentialIntegrityError)
    #expect(context.registeredObject(for: id) == nil)
  }

  @Test("Validation failures: codes, keys and details")
  func validation() throws {
    let anna = try context.employee("Anna")
    let short = CompanyStand.chore("x", 11, anna, context)
    let error = #expect(throws: CocoaError.self) { try context.save() }
    #expect(error?.errorCode == NSValidationMultipleErrorsError)
    let details = error?.userInfo[NSDetailedErrorsKey] as? [NSError] ?? []
    #expect(details.map(\.code) == [NSManagedObjectValidationError, NSManagedObjectValidationError])
    #expect(details.allSatisfy { $0.domain == NSCocoaErrorDomain })
    #expect(details.allSatisfy { $0.userInfo[NSValidationObjectErrorKey] as? NSManagedObject === short })
    #expect(details.allSatisfy { $0.userInfo[NSValidationPredicateErrorKey] is NSPredicate })
    #expect(Set(details.compactMap { $0.userInfo[NSValidationKeyErrorKey] as? String }) == ["title", "rank"])
    #expect(details.contains { $0.userInfo[NSValidationValueErrorKey] as? String == "x" })
    #expect(details.contains { $0.localizedDescription.contains("too large") })
    short.setValue(nil, forKey: "title")
    short.setValue(3, forKey: "rank")
    #expect { try short.validateForInsert() } throws: {
      ($0 as NSError).code == NSValidationMissingMandatoryPropertyError
    }
    short.setValue("fine", forKey: "title")
    short.setValue(nil, forKey: "rank")
    try context.save()
  }
}
