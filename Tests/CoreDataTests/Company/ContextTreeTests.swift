import CoreData
import Testing

@Suite("Contexts beside, above and below others")
struct ContextTreeTests {
  let stand: CompanyStand
  let context: NSManagedObjectContext

  init() throws {
    stand = try CompanyStand()
    context = try stand.stocked()
  }

  @Test("automaticallyMergesChangesFromParent beside edits, from the coordinator and from a parent")
  func automatic() throws {
    let main = stand.context(.privateQueueConcurrencyType)
    main.automaticallyMergesChangesFromParent = true
    let (anna, bert) = try main.performAndWait { (try main.employee("Anna"), try main.employee("Bert")) }
    main.performAndWait {
      anna.age = 35
      _ = bert.age
    }
    let writer = stand.context(.privateQueueConcurrencyType)
    try writer.performAndWait {
      let (there, other) = (try writer.employee("Anna"), try writer.employee("Bert"))
      (there.age, there.name, other.age) = (31, "Anne", 41)
      Employee(context: writer).name = "Ed"
      try writer.save()
    }
    try main.performAndWait {
      #expect(anna.age == 35 && anna.name == "Anne" && bert.age == 41)
      #expect(try main.texts("Employee", "name") == ["Anne", "Bert", "Cleo", "Dora", "Ed"])
      try main.save()
    }
    let child = stand.context(.privateQueueConcurrencyType, below: main)
    child.automaticallyMergesChangesFromParent = true
    let below = try child.performAndWait { try child.employee("Bert") }
    child.performAndWait { #expect(below.age == 41) }
    try main.performAndWait {
      bert.age = 42
      try main.save()
    }
    child.performAndWait { #expect(below.age == 42) }
  }

  @Test("Deleted in one context, edited in another: each policy")
  func deletedAndEdited() throws {
    for (policy, survives) in [
      (NSMergePolicy.overwrite, true), (.mergeByPropertyObjectTrump, true),
      (.mergeByPropertyStoreTrump, false),
      (.rollback, false),
    ] {
      let stand = try CompanyStand()
      let context = try stand.stocked()
      context.mergePolicy = policy
      let dora = try context.employee("Dora")
      _ = dora.age
      let other = stand.context()
      other.delete(try other.employee("Dora"))
      try other.save()
      dora.age = 61
      try context.save()
      #expect(try stand.context().texts("Employee", "name").contains("Dora") == survives)
    }
  }

  @Test("Edited in one context, deleted in another: an error by default")
  func editedAndDeleted() throws {
    let dora = try context.employee("Dora")
    _ = dora.age
    let other = stand.context()
    try other.employee("Dora").age = 61
    try other.save()
    context.delete(dora)
    let error = #expect(throws: CocoaError.self) { try context.save() }
    #expect(error?.errorCode == NSManagedObjectMergeError)
    context.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
    try context.save()
    #expect(try stand.context().texts("Employee", "name") == ["Anna", "Bert", "Cleo"])
  }

  @Test("A constraint that a child's objects break is found by the root's save, by the root's policy")
  func constraintBelow() throws {
    func desk(_ code: String, _ floor: Int, _ context: NSManagedObjectContext) {
      let desk = CompanyStand.make("Desk", context)
      desk.setValue(code, forKey: "code")
      desk.setValue(floor, forKey: "floor")
    }
    desk("a", 1, context)
    try context.save()
    let child = stand.context(below: context)
    desk("a", 1, child)
    desk("b", 1, child)
    try child.save()
    let error = #expect(throws: CocoaError.self) { try context.save() }
    #expect(error?.errorCode == NSManagedObjectConstraintMergeError)
    context.mergePolicy = NSMergePolicy.mergeByPropertyStoreTrump
    try context.save()
    #expect(try stand.context().texts("Desk", "code") == ["a", "b"])
  }

  @Test("A grandchild's save reaches its parent only; IDs stay the same all the way")
  func grandchild() throws {
    let child = stand.context(below: context)
    let grandchild = stand.context(below: child)
    let new = Employee(context: grandchild)
    new.name = "Ed"
    CompanyStand.chore("tea", 1, new, grandchild)
    try grandchild.save()
    #expect(
      try child.texts("Employee", "name").contains("Ed") && !context.texts("Employee", "name").contains("Ed"))
    try child.save()
    #expect(context.insertedObjects.count == 2 && !child.hasChanges)
    try context.save()
    let id = try context.employee("Ed").objectID
    #expect((try? stand.context().existingObject(with: id)) != nil)
    #expect(try grandchild.existingObject(with: id).objectID == id)
  }

  @Test("A parent's undo takes back a child's save")
  func undoneChild() throws {
    context.undoManager = UndoManager()
    let child = stand.context(below: context)
    try child.employee("Anna").age = 31
    Employee(context: child).name = "Ed"
    try child.save()
    context.processPendingChanges()
    #expect(context.undoManager?.canUndo == true)
    context.undo()
    #expect(try context.employee("Anna").age == 30)
    #expect(try context.texts("Employee", "name") == ["Anna", "Bert", "Cleo", "Dora"])
  }

  @Test("IDs merged from elsewhere: inserted, updated, deleted, as IDs and as URIs")
  func remote() throws {
    let (anna, dora) = (try context.employee("Anna"), try context.employee("Dora"))
    #expect(anna.age == 30 && dora.age == 60)
    let other = stand.context()
    try other.employee("Anna").age = 31
    other.delete(try other.employee("Dora"))
    let new = Employee(context: other)
    new.name = "Ed"
    try other.save()
    let infos = notes(.NSManagedObjectContextObjectsDidChange, of: context) {
      NSManagedObjectContext.mergeChanges(
        fromRemoteContextSave: [
          NSInsertedObjectsKey: [new.objectID], NSUpdatedObjectsKey: [anna.objectID.uriRepresentation()],
          NSDeletedObjectsKey: [dora.objectID],
        ], into: [context])
      context.processPendingChanges()
    }
    #expect(anna.age == 31)
    #expect(dora.isDeleted || dora.managedObjectContext == nil)
    #expect(infos.contains { told($0, NSInsertedObjectsKey) == ["Ed"] })
  }

  @Test("detectConflicts(for:) fails a save that rests on what has changed")
  func detected() throws {
    let (anna, bert) = (try context.employee("Anna"), try context.employee("Bert"))
    _ = (anna.age, bert.age)
    context.detectConflicts(for: bert)
    let other = stand.context()
    try other.employee("Bert").age = 41
    try other.save()
    anna.age = 31
    let error = #expect(throws: CocoaError.self) { try context.save() }
    #expect(error?.errorCode == NSManagedObjectMergeError)
  }

  @Test("Undo of ordered members, and of a nullified and cascaded deletion")
  func undoMembers() throws {
    context.undoManager = UndoManager()
    let sales = try context.department("Sales")
    let projects = sales.mutableOrderedSetValue(forKey: "projects")
    func names() -> [String] {
      (sales.value(forKeyPath: "projects.name") as? NSOrderedSet)?.array as? [String]
        ?? (sales.value(forKeyPath: "projects.name") as? [String] ?? [])
    }
    for name in ["a", "b", "c"] {
      let project = CompanyStand.make("Project", context)
      project.setValue(name, forKey: "name")
      projects.add(project)
    }
    context.processPendingChanges()
    projects.moveObjects(at: IndexSet(integer: 2), to: 0)
    context.processPendingChanges()
    #expect(names() == ["c", "a", "b"])
    context.undo()
    #expect(names() == ["a", "b", "c"])
    context.redo()
    #expect(names() == ["c", "a", "b"])
    let anna = try context.employee("Anna")
    let mail = try context.all("Chore", NSPredicate(format: "title == 'mail'"))[0]
    context.delete(anna)
    context.processPendingChanges()
    #expect(mail.isDeleted && sales.staff.count == 1)
    context.undo()
    #expect(!mail.isDeleted && mail.value(forKey: "owner") as? Employee == anna && sales.staff.count == 2)
    try context.save()
    #expect(try stand.context().texts("Chore", "title") == ["mail", "phone", "tea"])
  }

  @Test("A save that fails leaves all as it was, and may be tried again")
  func failedSave() throws {
    let anna = try context.employee("Anna")
    anna.age = 31
    let bad = CompanyStand.make("Chore", context)
    context.delete(try context.employee("Dora"))
    #expect(throws: CocoaError.self) { try context.save() }
    #expect(
      context.insertedObjects == [bad] && context.updatedObjects.contains(anna)
        && context.deletedObjects.count == 1)
    #expect(anna.changedValues()["age"] as? Int == 31)
    bad.setValue("good", forKey: "title")
    try context.save()
    #expect(try !context.hasChanges && stand.context().texts("Chore", "title").count == 4)
  }
}
