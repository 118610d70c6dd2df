import CoreData
import Testing

@Suite("Contexts by Apple's names")
struct ContextLawTests {
  let stand: CompanyStand
  let context: NSManagedObjectContext

  init() throws {
    stand = try CompanyStand()
    context = try stand.stocked()
  }

  @Test("The defaults of a context")
  func defaults() {
    let fresh = stand.context(.mainQueueConcurrencyType)
    #expect((fresh.mergePolicy as? NSMergePolicy) === NSErrorMergePolicy)
    #expect(fresh.undoManager == nil && !fresh.automaticallyMergesChangesFromParent)
    #expect(fresh.propagatesDeletesAtEndOfEvent && !fresh.retainsRegisteredObjects)
    #expect(fresh.shouldDeleteInaccessibleFaults && fresh.stalenessInterval == -1)
    #expect(fresh.name == nil && fresh.transactionAuthor == nil && fresh.parent == nil)
    #expect(fresh.concurrencyType == .mainQueueConcurrencyType)
  }

  @Test("A child: what it saves is the parent's change, what it drops is not; deletions too")
  func child() throws {
    let child = stand.context(below: context)
    let new = Employee(context: child)
    new.name = "Ed"
    new.department = try child.department("Sales")
    child.delete(try child.employee("Dora"))
    try child.employee("Anna").age = 31
    #expect(!context.hasChanges)
    try child.save()
    #expect(!child.hasChanges && context.hasChanges)
    #expect(Set(context.insertedObjects.compactMap { ($0 as? Employee)?.name }) == ["Ed"])
    #expect(try context.deletedObjects.count == 1 && context.employee("Anna").age == 31)
    #expect(try context.department("Sales").staff.count == 3)
    #expect(try stand.context().texts("Employee", "name") == ["Anna", "Bert", "Cleo", "Dora"])
    try context.save()
    #expect(try stand.context().texts("Employee", "name") == ["Anna", "Bert", "Cleo", "Ed"])
    try child.employee("Anna").age = 32
    child.rollback()
    #expect(try child.employee("Anna").age == 31 && !context.hasChanges)
  }

  @Test("A child's hooks run in the child; awakeFromInsert() is not called again in the parent")
  func childHooks() throws {
    let child = stand.context(below: context)
    let (above, below) = (HookLog(), HookLog())
    (context.userInfo["log"], child.userInfo["log"]) = (above, below)
    Employee(context: child).name = "Ed"
    try child.save()
    #expect(below.lines == ["insert", "will save", "did save"])
    #expect(!above.lines.contains("insert"))
  }

  @Test("A child's save validates and leaves the parent as it was")
  func childValidation() throws {
    let child = stand.context(below: context)
    let chore = CompanyStand.make("Chore", child)
    let error = #expect(throws: CocoaError.self) { try child.save() }
    #expect(error?.errorCode == NSValidationMissingMandatoryPropertyError)
    #expect(error?.userInfo[NSValidationKeyErrorKey] as? String == "title")
    #expect(!context.hasChanges && child.hasChanges && chore.isInserted)
  }

  @Test("A child sees the parent's unsaved objects by ID, by fetch and by relationship")
  func unsavedAbove() throws {
    let new = Employee(context: context)
    new.name = "Ed"
    new.department = try context.department("Sales")
    context.delete(try context.employee("Bert"))
    context.processPendingChanges()
    let child = stand.context(below: context)
    #expect((child.object(with: new.objectID) as? Employee)?.name == "Ed")
    #expect(try child.texts("Employee", "name") == ["Anna", "Cleo", "Dora", "Ed"])
    #expect(try child.department("Sales").staff.compactMap(\.name).sorted() == ["Anna", "Ed"])
    #expect(try child.existingObject(with: new.objectID).objectID == new.objectID)
  }

  @Test("Merging a did-save notification keeps edits; what was deleted elsewhere goes")
  func merging() throws {
    let (anna, dora) = (try context.employee("Anna"), try context.employee("Dora"))
    #expect(anna.age == 30 && dora.age == 60)
    anna.age = 35
    let other = stand.context()
    let there = try other.employee("Anna")
    (there.age, there.name) = (31, "Anne")
    other.delete(try other.employee("Dora"))
    let observer = NotificationCenter.default.addObserver(
      forName: .NSManagedObjectContextDidSave, object: other, queue: nil
    ) { [context] in context.mergeChanges(fromContextDidSave: $0) }
    try other.save()
    NotificationCenter.default.removeObserver(observer)
    #expect(anna.age == 35 && anna.name == "Anne")
    #expect(dora.isDeleted || dora.managedObjectContext == nil)
    try context.save()
    #expect(try stand.context().employee("Anne").age == 35)
  }

  @Test("The merge policies, one by one", arguments: 0..<5)
  func policies(_ number: Int) throws {
    let policies = [
      NSErrorMergePolicy, NSMergeByPropertyStoreTrumpMergePolicy, NSMergeByPropertyObjectTrumpMergePolicy,
      NSOverwriteMergePolicy, NSRollbackMergePolicy,
    ]
    let anna = try context.employee("Anna")
    _ = anna.age
    let other = stand.context()
    let there = try other.employee("Anna")
    (there.age, there.name) = (31, "Anne")
    try other.save()
    anna.age = 35
    anna.setValue("here", forKey: "notes")
    context.mergePolicy = policies[number]
    if number == 0 {
      let error = #expect(throws: CocoaError.self) { try context.save() }
      #expect(error?.errorCode == NSManagedObjectMergeError)
      let conflict = try #require(
        (error?.userInfo[NSPersistentStoreSaveConflictsErrorKey] as? [NSMergeConflict])?.first)
      #expect(conflict.sourceObject === anna && conflict.oldVersionNumber < conflict.newVersionNumber)
      #expect(conflict.objectSnapshot?["age"] as? Int == 30 || conflict.cachedSnapshot?["age"] as? Int == 30)
      #expect(
        conflict.cachedSnapshot?["age"] as? Int == 31 || conflict.persistedSnapshot?["age"] as? Int == 31)
      #expect(context.hasChanges)
      return
    }
    try context.save()
    let stored = try stand.context().all("Employee", NSPredicate(format: "name BEGINSWITH 'Ann'"))[0]
    let values = [stored.value(forKey: "name"), stored.value(forKey: "age"), stored.value(forKey: "notes")]
      .map { "\($0 ?? "nil")" }
    let expected = [
      [], ["Anne", "31", "here"], ["Anne", "35", "here"], ["Anna", "35", "here"], ["Anne", "31", "nil"],
    ][number]
    #expect(values == expected)
    #expect("\(anna.name ?? "nil") \(anna.age)" == expected.prefix(2).joined(separator: " "))
    #expect(!context.hasChanges)
  }

  @Test("A constraint with a nil part holds nothing; a whole one is settled by the policy, per context")
  func constraints() throws {
    func desk(_ code: String, _ floor: Int?, _ context: NSManagedObjectContext) -> NSManagedObject {
      let desk = CompanyStand.make("Desk", context)
      desk.setValue(code, forKey: "code")
      desk.setValue(floor, forKey: "floor")
      return desk
    }
    _ = (desk("a", nil, context), desk("a", nil, context), desk("a", 1, context), desk("a", 2, context))
    try context.save()
    let other = stand.context()
    let twin = desk("a", 1, other)
    twin.setValue(try other.employee("Anna"), forKey: "owner")
    let error = #expect(throws: CocoaError.self) { try other.save() }
    #expect(error?.errorCode == NSManagedObjectConstraintMergeError)
    let conflict = (error?.userInfo["conflictList"] as? [NSConstraintConflict])?.first
    #expect(conflict?.constraint == ["code", "floor"])
    #expect(conflict?.constraintValues["code"] as? String == "a")
    other.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
    try other.save()
    #expect(try stand.context().all("Desk").count == 4)
    #expect(try stand.context().all("Desk", NSPredicate(format: "owner.name == 'Anna'")).count == 1)
  }

  @Test("Undo and redo by groups: edits, deletions with their members, insertions")
  func undo() throws {
    let manager = UndoManager()
    manager.groupsByEvent = false
    context.undoManager = manager
    let anna = try context.employee("Anna")
    func group(_ name: String, _ body: () throws -> Void) rethrows {
      manager.beginUndoGrouping()
      try body()
      context.processPendingChanges()
      manager.setActionName(name)
      manager.endUndoGrouping()
    }
    group("Edit") { anna.age = 31 }
    group("Delete") { context.delete(anna) }
    try group("Insert") {
      let new = Employee(context: context)
      new.name = "Ed"
      new.department = try context.department("Sales")
    }
    #expect(manager.undoActionName == "Insert" && manager.canUndo && !manager.canRedo)
    #expect(try context.texts("Employee", "name") == ["Bert", "Cleo", "Dora", "Ed"])
    context.undo()
    #expect(try context.texts("Employee", "name") == ["Bert", "Cleo", "Dora"])
    context.undo()
    #expect(!anna.isDeleted && anna.age == 31 && anna.department?.name == "Sales")
    #expect((anna.value(forKey: "chores") as? NSSet)?.count == 2)
    context.undo()
    #expect(anna.age == 30 && !manager.canUndo)
    context.redo()
    context.redo()
    #expect(anna.isDeleted || anna.managedObjectContext == nil)
    context.redo()
    #expect(try context.department("Sales").staff.compactMap(\.name).sorted() == ["Bert", "Ed"])
    try context.save()
    #expect(try stand.context().texts("Employee", "name") == ["Bert", "Cleo", "Dora", "Ed"])
  }

  @Test("Changes are kept out of the undo stack by processing and disabling registration")
  func notUndone() throws {
    let manager = UndoManager()
    context.undoManager = manager
    let anna = try context.employee("Anna")
    context.processPendingChanges()
    manager.disableUndoRegistration()
    anna.age = 31
    context.processPendingChanges()
    manager.enableUndoRegistration()
    #expect(!manager.canUndo && anna.age == 31 && anna.hasChanges)
    anna.age = 32
    context.processPendingChanges()
    context.undo()
    #expect(anna.age == 31)
    context.rollback()
    #expect(anna.age == 30 && !manager.canUndo && !manager.canRedo)
  }

  @Test("performAndWait, perform and performBackgroundTask hand on values and errors")
  func errors() async throws {
    let background = stand.context(.privateQueueConcurrencyType)
    struct Odd: Error {}
    #expect(throws: Odd.self) { try background.performAndWait { throw Odd() } }
    #expect(try background.performAndWait { try background.all("Chore").count } == 3)
    await #expect(throws: Odd.self) { try await background.perform { throw Odd() } }
    let count = try await background.perform {
      try background.count(for: NSFetchRequest<Employee>(entityName: "Employee"))
    }
    #expect(count == 4)
    let container = NSPersistentContainer(name: "Company", managedObjectModel: CompanyStand.model())
    container.persistentStoreDescriptions[0].url = URL(fileURLWithPath: "/dev/null")
    container.loadPersistentStores { _, error in #expect(error == nil) }
    await #expect(throws: CocoaError.self) {
      try await container.performBackgroundTask { context in
        _ = CompanyStand.make("Chore", context)
        try context.save()
      }
    }
    let code = try await container.performBackgroundTask { context in
      Employee(context: context).name = "Ed"
      try context.save()
      return try context.texts("Employee", "name")
    }
    #expect(code == ["Ed"])
    let seen = try await MainActor.run { try container.viewContext.texts("Employee", "name") }
    #expect(seen == ["Ed"])
  }
}
