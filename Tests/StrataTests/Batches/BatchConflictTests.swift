import Foundation
@_spi(Testing) import Strata
import Testing

/// What happens to unsaved changes of objects that a batch has deleted (rules 174, 199, 215, 221).
struct BatchConflictTests {
  let store: TemporaryStore
  let context: ManagedObjectContext

  init() throws {
    store = try TemporaryStore(TeamModel.make())
    context = store.context()
  }

  private func deleteAll<T: Named>(_ type: T.Type, _ name: String, in executing: ManagedObjectContext? = nil)
    throws
  {
    try (executing ?? context).execute(
      BatchDeleteRequest(
        fetchRequest: FetchRequest<T>(
          entityName: String(describing: type), predicate: Attribute("name") == name)))
  }

  @Test("rules 174, 215, 216: nothing in memory leads to what a batch has deleted")
  func nothingLeadsThere() throws {
    let sales = context.make(Department.self, "sales")
    let (ann, bob) = (context.make(Employee.self, "ann"), context.make(Employee.self, "bob"))
    for employee in [ann, bob] { employee.department = sales }
    bob.manager = ann
    let desk = context.make(Desk.self, "desk")
    ann.desk = desk
    ann.friends.insert(bob)
    let project = context.make(Project.self, "project")
    project.sponsor = sales
    project.members.insert(ann)
    project.watchers.append(ann)
    let label = context.make(Label.self, "label")
    project.labels.insert(label)
    try context.save()
    #expect(sales.employees.names == ["ann", "bob"])
    #expect(project.labels.names == ["label"])
    #expect(project.watchers.namesInOrder == ["ann"])
    #expect(bob.friends.names == ["ann"])
    try deleteAll(Employee.self, "ann")
    #expect(ann.isDeleted)
    #expect(sales.employees.names == ["bob"])
    #expect(sales.employees.count == 1)
    #expect(bob.manager == nil)
    #expect(desk.employee == nil)
    #expect(bob.friends.isEmpty)
    #expect(project.members.isEmpty)
    #expect(project.watchers.namesInOrder == [])
    try deleteAll(Department.self, "sales")
    #expect(bob.department == nil)
    #expect(project.sponsor == nil)
    try deleteAll(Label.self, "label")
    #expect(project.labels.isEmpty)
    #expect(context.updatedObjects.isEmpty)
    try context.save()
    #expect(try store.problems() == [])
  }

  @Test("rule 216: cascaded and denied ends, and those without a rule")
  func otherRules() throws {
    let project = context.make(Project.self, "project")
    let milestone = context.make(Milestone.self, "milestone")
    project.milestones.append(milestone)
    try context.save()
    try deleteAll(Project.self, "project")
    #expect(project.isDeleted && milestone.isDeleted)
    #expect(project.milestones.namesInOrder == [])
  }

  @Test("rule 221: unsaved references to what a batch has deleted lead nowhere, and the save fails")
  func unsavedReferences() throws {
    let sales = context.make(Department.self, "sales")
    let label = context.make(Label.self, "label")
    let project = context.make(Project.self, "project")
    let ann = context.make(Employee.self, "ann")
    try context.save()
    project.sponsor = sales
    project.labels.insert(label)
    try deleteAll(Department.self, "sales")
    try deleteAll(Label.self, "label")
    #expect(project.sponsor == nil)
    #expect(project.labels.isEmpty)
    #expect(project.labels.count == 0)
    let error = #expect(throws: CoreDataError.self) { try context.save() }
    #expect(error?.code == .managedObjectReferentialIntegrity)
    context.mergePolicy = .mergeByPropertyStoreTrump
    try context.save()
    #expect(project.sponsor == nil && ann.managedObjectContext != nil)
    #expect(try store.problems() == [])
  }

  private func editDeleted(_ policy: MergePolicy, in department: Department? = nil) throws -> Employee {
    let ann = context.make(Employee.self, "ann")
    ann.department = department
    try context.save()
    ann.level = 7
    context.mergePolicy = policy
    try deleteAll(Employee.self, "ann")
    return ann
  }

  @Test("rule 199: an edit of what the batch deletes stays; the error policy fails the save")
  func editUnderError() throws {
    let ann = try editDeleted(.error)
    #expect(!ann.isDeleted && ann.level == 7)
    #expect(context.updatedObjects == [ann])
    let error = #expect(throws: CoreDataError.self) { try context.save() }
    #expect(error?.code == .managedObjectMerge)
    let conflicts = error?.userInfo[CoreDataError.Key.saveConflicts] as? [MergeConflict]
    #expect(conflicts?.first?.sourceObject === ann && conflicts?.first?.newVersionNumber == 0)
    context.rollback()
    try context.save()
    #expect(try store.fresh { try $0.fetch(FetchRequest<Employee>(entityName: "Employee")).count } == 0)
  }

  @Test(
    "rule 199: object trump and overwrite write it again",
    arguments: [MergePolicyType.overwrite, .mergeByPropertyObjectTrump])
  func editWins(_ type: MergePolicyType) throws {
    let ann = try editDeleted(MergePolicy(merge: type))
    try context.save()
    #expect(!ann.isDeleted && !context.hasChanges)
    #expect(try store.fresh { try $0.find(Employee.self, "ann").level } == 7)
    #expect(try store.problems() == [])
  }

  @Test("rules 199, 215: a record that is written again belongs to the same owner", arguments: [true, false])
  func editedMember(isAsynchronous: Bool) async throws {
    let context = store.context(.privateQueue)
    context.automaticallyMergesChangesFromParent = true
    context.mergePolicy = .mergeByPropertyObjectTrump
    let request = FetchRequest<Department>(
      entityName: "Department", predicate: try FetchPredicate(format: "employees.@count < 2"),
      sortDescriptors: [FetchSort("name")])
    let (controller, snapshots) = try context.performAndWait {
      let sales = context.make(Department.self, "sales")
      for name in ["ann", "bob"] { context.make(Employee.self, name).department = sales }
      try context.save()
      let controller = FetchedResultsController(fetchRequest: request, managedObjectContext: context)
      try controller.performFetch()
      #expect(controller.fetchedObjects?.count == 0)
      return (controller, controller.snapshots)
    }
    defer { withExtendedLifetime(snapshots) {} }
    let (ann, sales) = try context.performAndWait {
      let (ann, sales) = (try context.find(Employee.self, "ann"), try context.find(Department.self, "sales"))
      #expect(sales.employees.count == 2)
      ann.level = 7
      return (ann, sales)
    }
    try deleteAll(Employee.self, "ann", in: store.context())
    try context.performAndWait {
      #expect(ann.department === sales)
      #expect(controller.fetchedObjects?.count == (try context.count(for: request)))
      if !isAsynchronous { try context.save() }
    }
    if isAsynchronous { try await context.saveAsynchronously() }
    try context.performAndWait {
      #expect(sales.employees.names == ["ann", "bob"])
      #expect(!context.hasChanges)
      let count = try context.count(for: request)
      #expect(count == 0)
      #expect(controller.fetchedObjects?.count == 0)
    }
    #expect(try store.fresh { try $0.find(Department.self, "sales").employees.names } == ["ann", "bob"])
    #expect(try store.problems() == [])
  }

  @Test(
    "rule 199: store trump and rollback let it go",
    arguments: [MergePolicyType.rollback, .mergeByPropertyStoreTrump])
  func editYields(_ type: MergePolicyType) throws {
    let sales = context.make(Department.self, "sales")
    let ann = try editDeleted(MergePolicy(merge: type), in: sales)
    #expect(sales.employees.names == ["ann"] && ann.department === sales)
    try context.save()
    #expect(!context.hasChanges)
    #expect(sales.employees.isEmpty)
    #expect(try store.fresh { try $0.fetch(FetchRequest<Employee>(entityName: "Employee")).count } == 0)
    #expect(try store.problems() == [])
  }

  @Test("rules 64, 199: so do a rollback and a refresh", arguments: [true, false])
  func editDropped(isRefreshed: Bool) throws {
    let sales = context.make(Department.self, "sales")
    let ann = try editDeleted(.mergeByPropertyObjectTrump, in: sales)
    if isRefreshed { context.refresh(ann, mergeChanges: false) } else { context.rollback() }
    #expect(sales.employees.isEmpty)
    try context.save()
    #expect(sales.employees.isEmpty && sales.employees.count == 0)
    #expect(try store.problems() == [])
  }

  @Test("rule 199: a to-many edit is an edit too")
  func members() throws {
    let project = context.make(Project.self, "project")
    let label = context.make(Label.self, "label")
    try context.save()
    project.labels.insert(label)
    try deleteAll(Project.self, "project")
    #expect(!project.isDeleted)
    let error = #expect(throws: CoreDataError.self) { try context.save() }
    #expect(error?.code == .managedObjectMerge)
    context.mergePolicy = .mergeByPropertyObjectTrump
    try context.save()
    #expect(try store.fresh { try $0.find(Project.self, "project").labels.names } == ["label"])
    #expect(try store.problems() == [])
  }

  /// The error policy throws the conflict; with object trump the edit is saved.
  private func saveInsisting() throws {
    #expect(context.hasChanges)
    let error = #expect(throws: CoreDataError.self) { try context.save() }
    #expect(error?.code == .managedObjectMerge)
    context.mergePolicy = .mergeByPropertyObjectTrump
    try context.save()
  }

  @Test("rule 199: a child's edit is not lost in silence", arguments: [false, true], [false, true])
  func childsEdit(saved: Bool, isHeld: Bool) throws {
    let made = store.context()
    let id = made.make(Employee.self, "ann").objectID
    try made.save()
    let child = ManagedObjectContext(.confinement, parent: context)
    let held = isHeld ? try context.find(Employee.self, "ann") : nil
    #expect(held?.level ?? 0 == 0)
    let ann = try child.find(Employee.self, "ann")
    ann.level = 7
    if saved { try child.save() }
    try deleteAll(Employee.self, "ann")
    if !saved { try child.save() }
    try saveInsisting()
    #expect(try store.fresh { try $0.find(Employee.self, "ann").level } == 7)
    withExtendedLifetime((held, id)) {}
  }

  @Test(
    "rule 199: nor is what a child has linked", arguments: [false, true],
    ["held", "not held", "undoable"])
  func childsMembers(saved: Bool, parent: String) throws {
    let isHeld = parent == "held"
    if parent == "undoable" { context.undoManager = UndoManager() }
    let made = store.context()
    _ = (made.make(Project.self, "project"), made.make(Label.self, "label"))
    try made.save()
    let child = ManagedObjectContext(.confinement, parent: context)
    let held = isHeld ? try context.find(Project.self, "project") : nil
    #expect(held?.labels.count ?? 0 == 0)
    let project = try child.find(Project.self, "project")
    project.labels.insert(try child.find(Label.self, "label"))
    if saved { try child.save() }
    try deleteAll(Project.self, "project")
    if !saved { try child.save() }
    try saveInsisting()
    #expect(try store.fresh { try $0.find(Project.self, "project").labels.names } == ["label"])
    #expect(try store.problems() == [])
    withExtendedLifetime(held) {}
  }

  @Test("rule 199: so too when the child itself executes the batch, or a sibling that saves did")
  func childExecutes() throws {
    let made = store.context()
    made.make(Employee.self, "ann")
    try made.save()
    let child = ManagedObjectContext(.confinement, parent: context)
    let ann = try child.find(Employee.self, "ann")
    ann.level = 7
    try deleteAll(Employee.self, "ann", in: child)
    #expect(!ann.isDeleted)
    try child.save()
    let error = #expect(throws: CoreDataError.self) { try context.save() }
    #expect(error?.code == .managedObjectMerge)
  }

  @Test("rule 199: so too when the child saves without waiting")
  func childSavesAsynchronously() async throws {
    let made = store.context()
    made.make(Employee.self, "ann")
    try made.save()
    let parent = store.context(.privateQueue)
    let child = ManagedObjectContext(.privateQueue, parent: parent)
    try await child.perform { try child.find(Employee.self, "ann").level = 7 }
    try await parent.perform { try deleteAll(Employee.self, "ann", in: parent) }
    try await child.saveAsynchronously()
    let error = await #expect(throws: CoreDataError.self) { try await parent.perform { try parent.save() } }
    #expect(error?.code == .managedObjectMerge)
    try await parent.perform {
      parent.mergePolicy = .mergeByPropertyObjectTrump
      try parent.save()
    }
    #expect(try store.fresh { try $0.find(Employee.self, "ann").level } == 7)
  }
}
