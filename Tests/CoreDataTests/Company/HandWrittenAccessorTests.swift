import CoreData
import Testing

@Suite("Hand-written accessors, hooks and observers")
struct HandWrittenAccessorTests {
  let stand: CompanyStand
  let context: NSManagedObjectContext

  init() throws {
    stand = try CompanyStand()
    context = try stand.stocked()
  }

  @Test("A custom setter of an attribute: will, primitive, did")
  func customSetter() throws {
    let anna = try context.employee("Anna")
    anna.willChangeValue(forKey: "name")
    anna.setPrimitiveValue("Anne", forKey: "name")
    anna.didChangeValue(forKey: "name")
    #expect(anna.changedValues()["name"] as? String == "Anne" && anna.isUpdated && context.hasChanges)
    try context.save()
    let other = stand.context()
    #expect(try other.texts("Employee", "name").contains("Anne"))
  }

  @Test("Rule 210: a custom setter of a to-one relationship keeps the inverse")
  func customToOne() throws {
    let (dora, sales) = (try context.employee("Dora"), try context.department("Sales"))
    _ = sales.staff
    dora.willChangeValue(forKey: "department")
    dora.setPrimitiveValue(sales, forKey: "department")
    dora.didChangeValue(forKey: "department")
    #expect(dora.department == sales && dora.isUpdated)
    #expect(sales.staff.contains(dora))
    try context.save()
    let other = stand.context()
    #expect(try other.department("Sales").staff.count == 3)
  }

  @Test("Rule 210: hand-written accessors of a to-many relationship keep the inverse")
  func customToMany() throws {
    let (anna, bert, dora, sales) = (
      try context.employee("Anna"), try context.employee("Bert"), try context.employee("Dora"),
      try context.department("Sales")
    )
    sales.willChangeValue(forKey: "staff", withSetMutation: .union, using: [dora])
    var primitive = try #require(sales.primitiveValue(forKey: "staff") as? Set<Employee>)
    primitive.insert(dora)
    sales.setPrimitiveValue(primitive, forKey: "staff")
    sales.didChangeValue(forKey: "staff", withSetMutation: .union, using: [dora])
    #expect(dora.department == sales && sales.staff.count == 3 && dora.isUpdated)
    sales.willChangeValue(forKey: "staff", withSetMutation: .minus, using: [anna])
    sales.didChangeValue(forKey: "staff", withSetMutation: .minus, using: [anna])
    #expect(anna.department == nil && sales.staff == [bert, dora])
    // The whole set, by its setter.
    sales.willChangeValue(forKey: "staff")
    sales.setPrimitiveValue(Set([anna, bert]), forKey: "staff")
    sales.didChangeValue(forKey: "staff")
    #expect(anna.department == sales && dora.department == nil && sales.changedValues()["staff"] != nil)
    try context.save()
    let other = stand.context()
    #expect(try other.department("Sales").staff.compactMap(\.name).sorted() == ["Anna", "Bert"])
    #expect(try other.employee("Dora").department == nil)
    context.undoManager = UndoManager()
    sales.willChangeValue(forKey: "staff", withSetMutation: .set, using: [dora])
    sales.didChangeValue(forKey: "staff", withSetMutation: .set, using: [dora])
    anna.willChangeValue(forKey: "manager")
    anna.setPrimitiveValue(dora, forKey: "manager")
    anna.didChangeValue(forKey: "manager")
    context.processPendingChanges()
    #expect(
      sales.staff == [dora] && anna.department == nil
        && dora.value(forKey: "reports") as? Set<Employee> == [anna])
    context.undo()
    #expect(sales.staff == [anna, bert] && dora.department == nil && anna.manager?.name == "Cleo")
    #expect((dora.value(forKey: "reports") as? Set<Employee>)?.isEmpty == true)
  }

  @Test("An object of no context takes values, then a context")
  func loose() throws {
    let entity = try #require(NSEntityDescription.entity(forEntityName: "Employee", in: context))
    let loose = Employee(entity: entity, insertInto: nil)
    loose.name = "Ed"
    #expect(loose.managedObjectContext == nil && loose.age == 18 && !loose.isInserted)
    #expect(try context.texts("Employee", "name").count == 4 && !context.hasChanges)
    context.insert(loose)
    loose.department = try context.department("Sales")
    #expect(loose.isInserted && loose.managedObjectContext === context)
    try context.save()
    #expect(try context.department("Sales").staff.contains(loose))
  }

  @Test("Equality: of objects within a context, of IDs between contexts")
  func equality() throws {
    let other = stand.context()
    let (here, there) = (try context.employee("Anna"), try other.employee("Anna"))
    #expect(here !== there && here != there && here.objectID == there.objectID)
    #expect(context.object(with: there.objectID) === here)
    #expect(Set([here.objectID, there.objectID]).count == 1 && Set([here, there]).count == 2)
    #expect(context.registeredObject(for: here.objectID) === here)
  }

  @Test("What observers of will-save change is saved, too")
  func willSaveObserver() throws {
    let anna = try context.employee("Anna")
    let observer = NotificationCenter.default.addObserver(
      forName: .NSManagedObjectContextWillSave, object: context, queue: nil
    ) { note in
      let context = note.object as? NSManagedObjectContext
      for case let changed as Employee in context?.updatedObjects ?? [] where changed.name == "Anna" {
        changed.setValue("stamped", forKey: "notes")
      }
      (try? context?.employee("Bert"))?.age = 41
    }
    anna.age = 31
    try context.save()
    NotificationCenter.default.removeObserver(observer)
    let other = stand.context()
    #expect(try other.employee("Anna").value(forKey: "notes") as? String == "stamped")
    #expect(try other.employee("Bert").age == 41 && !context.hasChanges)
  }

  @Test("Did-save by IDs, and inserted, updated and deleted objects of one save")
  func savedIDs() throws {
    let (anna, dora) = (try context.employee("Anna"), try context.employee("Dora"))
    let new = Employee(context: context)
    new.name = "Ed"
    anna.age = 31
    context.delete(dora)
    var objects: [[AnyHashable: Any]] = []
    let ids = try notes(.NSManagedObjectContextDidSaveObjectIDs, of: context) {
      objects = try notes(.NSManagedObjectContextDidSave, of: context) { try context.save() }
    }
    #expect(ids.count == 1 && objects.count == 1)
    #expect(ids.first?[NSInsertedObjectIDsKey] as? Set<NSManagedObjectID> == [new.objectID])
    #expect(ids.first?[NSUpdatedObjectIDsKey] as? Set<NSManagedObjectID> == [anna.objectID])
    #expect(ids.first?[NSDeletedObjectIDsKey] as? Set<NSManagedObjectID> == [dora.objectID])
    #expect(objects.first?[NSInsertedObjectsKey] as? Set<NSManagedObject> == [new])
    #expect(objects.first?[NSDeletedObjectsKey] as? Set<NSManagedObject> == [dora])
    #expect(!new.objectID.isTemporaryID)
  }

  @Test(
    "Rule 68: a new object's relationships are no faults, whoever has set them; a parent's new object is one in its child"
  )
  func newRelationships() throws {
    let new = Department(context: context)
    #expect(!new.hasFault(forRelationshipNamed: "staff") && !new.description.contains("(fault)"))
    try context.employee("Dora").department = new
    #expect(!new.hasFault(forRelationshipNamed: "staff") && !new.hasFault(forRelationshipNamed: "projects"))
    #expect(new.staff.count == 1 && new.description.contains("1 objects"))
    let child = stand.context(below: context)
    let there = try #require(child.object(with: new.objectID) as? Department)
    #expect(there.staff.count == 1)
    let below = Department(context: child)
    below.name = "Below"
    try child.employee("Anna").department = below
    try child.save()
    let above = try context.department("Below")
    #expect(above.staff.compactMap(\.name) == ["Anna"])
    #expect(!above.hasFault(forRelationshipNamed: "staff"))
    try context.save()
    #expect(try context.department("Below").staff.count == 1)
  }

  @Test("changedValuesForCurrentEvent() has what this event has changed")
  func currentEvent() throws {
    let anna = try context.employee("Anna")
    anna.age = 31
    context.processPendingChanges()
    anna.name = "Anne"
    #expect(Set(anna.changedValuesForCurrentEvent().keys) == ["name"])
    #expect(Set(anna.changedValues().keys) == ["age", "name"])
  }

  @Test("reset() forgets all, registered objects with it")
  func reset() throws {
    let anna = try context.employee("Anna")
    anna.age = 31
    Employee(context: context).name = "Ed"
    #expect(context.registeredObjects.count >= 2)
    context.reset()
    #expect(context.registeredObjects.isEmpty && !context.hasChanges && context.insertedObjects.isEmpty)
    #expect(try context.employee("Anna").age == 30 && context.employee("Anna") !== anna)
  }

  @Test("A save without changes writes nothing; hasChanges after each step")
  func hasChanges() throws {
    #expect(!context.hasChanges)
    try context.save()
    let anna = try context.employee("Anna")
    anna.age = 31
    #expect(context.hasChanges && anna.hasChanges)
    anna.age = 30
    #expect(!anna.hasPersistentChangedValues)
    context.refresh(anna, mergeChanges: true)
    context.rollback()
    #expect(!context.hasChanges)
  }

  @Test("Rule 214: with propagatesDeletesAtEndOfEvent off the save cascades, and tells of all")
  func cascadesAtSave() throws {
    context.propagatesDeletesAtEndOfEvent = false
    let anna = try context.employee("Anna")
    context.delete(anna)
    context.processPendingChanges()
    #expect(context.deletedObjects == [anna])
    let infos = try notes(.NSManagedObjectContextDidSave, of: context) { try context.save() }
    #expect((infos.first?[NSDeletedObjectsKey] as? Set<NSManagedObject>)?.count == 3)
    #expect(try context.texts("Chore", "title") == ["phone"])
  }
}
