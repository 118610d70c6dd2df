import Foundation
import Strata
import Testing

/// Relationships are undone with everything else of their event (rules 235, 238).
struct UndoRelationshipTests {
  let store: TemporaryStore
  let context: ManagedObjectContext
  let project: Project

  init() throws {
    store = try TemporaryStore(TeamModel.make())
    context = store.context()
    project = context.make(Project.self, "Red")
    for name in ["a", "b", "c"] { project.milestones.insert(context.make(Milestone.self, name), at: 0) }
    try context.save()
    context.undoManager = UndoManager()
  }

  @Test("rule 235: a link is undone at both ends, and done again")
  func links() throws {
    let ann = context.make(Employee.self, "Ann")
    let sales = context.make(Department.self, "Sales")
    try context.save()
    ann.department = sales
    ann.projects.insert(project)
    context.processPendingChanges()
    context.undo()
    #expect(ann.department == nil)
    #expect(sales.employees.isEmpty && ann.projects.isEmpty && project.members.isEmpty)
    #expect(!context.hasChanges)
    context.redo()
    #expect(ann.department === sales)
    #expect(sales.employees.names == ["Ann"])
    #expect(project.members.names == ["Ann"])
    try context.save()
    #expect(try store.fresh { try $0.find(Department.self, "Sales").employees.names } == ["Ann"])
    context.undo()
    try context.save()
    #expect(try store.fresh { try $0.find(Department.self, "Sales").employees.names } == [])
    #expect(try store.problems() == [])
  }

  @Test("rule 235: a cascade is undone with its order, before and after its save", arguments: [false, true])
  func cascade(isSaved: Bool) throws {
    let stones = Array(project.milestones)
    context.delete(project)
    context.processPendingChanges()
    if isSaved { try context.save() }
    context.undo()
    #expect(project.milestones.namesInOrder == ["c", "b", "a"])
    #expect(zip(project.milestones, stones).allSatisfy { $0 === $1 })
    try context.save()
    #expect(
      try store.fresh { try $0.find(Project.self, "Red").milestones.namesInOrder } == ["c", "b", "a"])
    #expect(try store.problems() == [])
  }

  /// Relationships of every kind: the owner's entity, the relationship, the entity of its members.
  static let kinds = [
    ["Department", "employees", "Employee"], ["Department", "keys", "Key"],
    ["Project", "members", "Employee"],
    ["Project", "watchers", "Employee"], ["Project", "milestones", "Milestone"],
    ["Project", "labels", "Label"], ["Employee", "friends", "Employee"],
  ]

  @Test(
    "rule 235: what one event has made of an object's members before it deleted the object is undone with the deletion, before and after its save",
    arguments: kinds, [false, true])
  func changedAndDeleted(_ kind: [String], isSaved: Bool) throws {
    let types: [String: Named.Type] = [
      "Department": Department.self, "Employee": Employee.self, "Key": Key.self, "Project": Project.self,
      "Milestone": Milestone.self, "Label": Label.self,
    ]
    func make(_ entity: String, _ name: String) throws -> Named {
      try #require(types[entity]).init(name, in: context)
    }
    let owner = try make(kind[0], "owner")
    let names = ["kept", "lost", "new"]
    let members = try names.map { try make(kind[2], $0) }
    owner.setValue([members[0], members[1]], forKey: kind[1])
    try context.save()
    context.undoManager?.removeAllActions()
    func shown() -> [String] {
      owner.objectIDs(forRelationshipNamed: kind[1]).map { id in
        members.firstIndex { $0.objectID == id }.map { names[$0] } ?? "?"
      }.sorted()
    }
    owner.setValue([members[2], members[0]], forKey: kind[1])
    #expect(shown() == ["kept", "new"])
    context.delete(owner)
    context.processPendingChanges()
    if isSaved { try context.save() }
    context.undo()
    #expect(shown() == ["kept", "lost"])
    // One that was given an owner and lost it in the event counts as edited, with nothing to write.
    let changes = context.updatedObjects.flatMap { $0.changedValues().keys }
    #expect(isSaved || context.insertedObjects.isEmpty && context.deletedObjects.isEmpty && changes.isEmpty)
    context.redo()
    #expect(isSaved ? !owner.isInserted : owner.isDeleted)
    context.undo()
    #expect(shown() == ["kept", "lost"])
    try context.save()
    let id = owner.objectID
    let found = try store.fresh { context in
      try context.existingObject(with: id).objectIDs(forRelationshipNamed: kind[1])
    }
    #expect(Set(found) == [members[0].objectID, members[1].objectID])
    #expect(try store.problems() == [])
  }

  private func addSecond() throws -> any PersistentStore {
    let url = store.folderURL.appendingPathComponent("Second.strata")
    return try store.coordinator.addPersistentStore(PersistentStoreDescription(url: url))
  }

  @Test("rule 26: an assignment to another store is undone and done again, with the relationships it ends")
  func assignment() throws {
    let second = try addSecond()
    let (ann, sales) = (context.make(Employee.self, "Ann"), context.make(Department.self, "Sales"))
    ann.department = sales
    context.processPendingChanges()
    let first = ann.objectID
    try context.assign(ann, to: second)
    context.processPendingChanges()
    #expect(ann.objectID.storeIdentifier == second.identifier && sales.employees.isEmpty)
    context.undo()
    #expect(ann.objectID == first && ann.department === sales && sales.employees.names == ["Ann"])
    context.redo()
    #expect(ann.objectID.storeIdentifier == second.identifier && sales.employees.isEmpty)
    #expect(throws: CoreDataError.self) { try context.save() }
    context.undo()
    try context.save()
    #expect(try store.fresh { try $0.find(Department.self, "Sales").employees.names } == ["Ann"])
    #expect(try store.problems() == [])
  }

  @Test("rule 146: a relationship to an object of another store is undone like any other")
  func acrossStores() throws {
    let second = try addSecond()
    let (ann, sales) = (context.make(Employee.self, "Ann"), context.make(Department.self, "Sales"))
    try context.assign(sales, to: second)
    try context.save()
    ann.department = sales
    context.processPendingChanges()
    #expect(throws: CoreDataError.self) { try context.save() }
    context.undo()
    #expect(ann.department == nil && !context.hasChanges)
    ann.level = 2
    try context.save()
  }

  enum Move: CaseIterable { case toEnd, toFront, reversed, removed, deleted }

  @Test(
    "rule 240: the order of members that were not saved before the event is undone and done again after a save",
    arguments: Move.allCases, [false, true])
  func orderAfterSave(move: Move, hasSavedMembers: Bool) throws {
    let plan = context.make(Project.self, "Plan")
    if hasSavedMembers { plan.milestones.append(context.make(Milestone.self, "s")) }
    try context.save()
    for name in ["a", "b", "c"] { plan.milestones.append(context.make(Milestone.self, name)) }
    context.processPendingChanges()
    let old = plan.milestones.namesInOrder
    let first = old.count - 3
    switch move {
    case .toEnd: plan.milestones.move(from: first, to: first + 2)
    case .toFront: plan.milestones.move(from: first + 2, to: 0)
    case .reversed: plan.milestones.reverse()
    case .removed: plan.milestones.remove(at: first)
    case .deleted: context.delete(plan.milestones[first])
    }
    context.processPendingChanges()
    let new = plan.milestones.namesInOrder
    #expect(new != old)
    try context.save()
    func saved() throws -> [String] {
      try store.fresh { try $0.find(Project.self, "Plan").milestones.namesInOrder }
    }
    context.undo()
    #expect(plan.milestones.namesInOrder == old)
    context.redo()
    #expect(plan.milestones.namesInOrder == new)
    context.undo()
    try context.save()
    #expect(plan.milestones.namesInOrder == old)
    #expect(try saved() == old)
    context.redo()
    #expect(plan.milestones.namesInOrder == new)
    try context.save()
    #expect(plan.milestones.namesInOrder == new)
    #expect(try saved() == new)
    #expect(try store.problems() == [])
  }

  @Test(
    "rules 59, 235: what a refresh drops in the event is not brought back by its undo, at either end",
    arguments: [false, true])
  func refreshedInEvent(isOther: Bool) throws {
    let (ann, x) = (context.make(Employee.self, "Ann"), context.make(Project.self, "x"))
    let (y, desk) = (context.make(Project.self, "y"), context.make(Desk.self, "Desk"))
    let red = try #require(project.milestones.first)
    try context.save()
    ann.projects.insert(x)
    x.watchers.append(ann)
    ann.desk = desk
    context.processPendingChanges()
    ann.projects.insert(y)
    y.watchers.append(ann)
    desk.name = "Corner"
    x.milestones.append(red)
    context.refresh(isOther ? x : ann, mergeChanges: false)
    context.processPendingChanges()
    context.undo()
    #expect(ann.projects.names.isEmpty && x.members.names.isEmpty && y.members.names.isEmpty)
    #expect(ann.watched.names.isEmpty && x.watchers.names.isEmpty && y.watchers.names.isEmpty)
    // The desk was given in the event before. Only Ann's refresh has dropped that, at both ends.
    #expect(ann.desk === (isOther ? desk : nil) && desk.employee === (isOther ? ann : nil))
    #expect(desk.name == "Desk")
    #expect(red.project === project && x.milestones.isEmpty && project.milestones.contains(red))
    try context.save()
    #expect(try store.problems() == [])
  }
}
