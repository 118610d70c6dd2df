import Foundation
import Strata
import Testing

/// Relationships through hierarchies of contexts (rules 149–153, 159, 165; contexts 4–6).
struct NestedRelationshipTests {
  let store: TemporaryStore
  let parent: ManagedObjectContext
  let child: ManagedObjectContext

  init() throws {
    store = try TemporaryStore(TeamModel.make())
    parent = store.context()
    child = ManagedObjectContext(.confinement, parent: parent)
    let sales = parent.make(Department.self, "Sales")
    for name in ["Ann", "Bob"] { parent.make(Employee.self, name).department = sales }
    try parent.save()
  }

  @Test("rule 159: a child sees its parent's unsaved links over the stored ones")
  func childReadsThrough() throws {
    let sales = try parent.find(Department.self, "Sales")
    parent.make(Employee.self, "Cid").department = sales
    try parent.find(Employee.self, "Ann").department = nil
    parent.processPendingChanges()
    let theirs = try child.find(Department.self, "Sales")
    #expect(theirs.employees.names == ["Bob", "Cid"])
    #expect(theirs.employees.count == 2)
    #expect(try child.find(Employee.self, "Cid").department === theirs)
    #expect(try child.find(Employee.self, "Ann").department == nil)
  }

  @Test("rules 149–152: a child's links go to the parent with its save, and to the store with the parent's")
  func childSaves() throws {
    let sales = try parent.find(Department.self, "Sales")
    #expect(sales.employees.count == 2)
    let theirs = try child.find(Department.self, "Sales")
    child.make(Employee.self, "Cid").department = theirs
    try child.find(Employee.self, "Ann").department = nil
    #expect(theirs.employees.names == ["Bob", "Cid"])
    #expect(sales.employees.names == ["Ann", "Bob"])
    try child.save()
    #expect(sales.employees.names == ["Bob", "Cid"])
    #expect(parent.updatedObjects.contains(sales), "rule 151")
    #expect(theirs.employees.names == ["Bob", "Cid"])
    #expect(try store.fresh { try $0.find(Department.self, "Sales").employees.names } == ["Ann", "Bob"])
    try parent.save()
    #expect(sales.employees.names == ["Bob", "Cid"])
    #expect(try store.fresh { try $0.find(Department.self, "Sales").employees.names } == ["Bob", "Cid"])
    #expect(try store.problems() == [])
  }

  @Test("many-to-many and order travel up and down")
  func edgesTravel() throws {
    let red = parent.make(Project.self, "Red")
    for name in ["a", "b"] { red.milestones.append(parent.make(Milestone.self, name)) }
    red.members.insert(try parent.find(Employee.self, "Ann"))
    try parent.save()
    let theirs = try child.find(Project.self, "Red")
    theirs.members.insert(try child.find(Employee.self, "Bob"))
    theirs.members.remove(try child.find(Employee.self, "Ann"))
    theirs.milestones.append(child.make(Milestone.self, "c"))
    theirs.milestones.move(from: 2, to: 0)
    let grandchild = ManagedObjectContext(.confinement, parent: child)
    child.processPendingChanges()
    #expect(try grandchild.find(Project.self, "Red").milestones.namesInOrder == ["c", "a", "b"])
    #expect(try grandchild.find(Employee.self, "Bob").projects.names == ["Red"])
    try child.save()
    #expect(red.members.names == ["Bob"])
    #expect(red.milestones.namesInOrder == ["c", "a", "b"])
    red.milestones.append(parent.make(Milestone.self, "d"))
    try parent.save()
    #expect(
      try store.fresh { try $0.find(Project.self, "Red").milestones.namesInOrder } == ["c", "a", "b", "d"])
    #expect(try store.fresh { try $0.find(Project.self, "Red").members.names } == ["Bob"])
    #expect(try store.problems() == [])
  }

  @Test(
    "what a child inserts among members that its parent has appended keeps its place when the parent saves first",
    arguments: [[], ["a"]], 0...3)
  func insertedAmongAppended(stored: [String], place: Int) throws {
    let red = parent.make(Project.self, "Red")
    func append(_ names: [String]) {
      for name in names {
        red.milestones.append(parent.make(Milestone.self, name))
        red.watchers.append(parent.make(Employee.self, name))
      }
    }
    append(stored)
    try parent.save()
    append(["x", "y", "z"])
    parent.processPendingChanges()
    let theirs = try child.find(Project.self, "Red")
    var expected = stored + ["x", "y", "z"]
    let index = min(place, expected.count)
    expected.insert("new", at: index)
    theirs.milestones.insert(child.make(Milestone.self, "new"), at: index)
    theirs.watchers.insert(child.make(Employee.self, "new"), at: index)
    try parent.save()
    child.refreshAllObjects()
    #expect(theirs.milestones.namesInOrder == expected && theirs.watchers.namesInOrder == expected)
    try child.save()
    #expect(red.milestones.namesInOrder == expected && red.watchers.namesInOrder == expected)
    try parent.save()
    let saved = try store.fresh { context in
      let red = try context.find(Project.self, "Red")
      return [red.milestones.namesInOrder, red.watchers.namesInOrder]
    }
    #expect(saved == [expected, expected])
    #expect(try store.problems() == [])
  }

  @Test("rule 153: several child saves and the parent's own edits give one net effect")
  func netEffect() throws {
    let sales = try parent.find(Department.self, "Sales")
    let ann = try parent.find(Employee.self, "Ann")
    let support = parent.make(Department.self, "Support")
    ann.department = support
    parent.processPendingChanges()
    let theirs = try child.find(Employee.self, "Ann")
    theirs.department = nil
    try child.save()
    #expect(ann.department == nil)
    #expect(support.employees.isEmpty)
    theirs.department = try child.find(Department.self, "Sales")
    try child.save()
    #expect(ann.department === sales)
    #expect(sales.employees.names == ["Ann", "Bob"])
    #expect(support.employees.isEmpty)
    try parent.save()
    #expect(try store.fresh { try $0.find(Department.self, "Sales").employees.names } == ["Ann", "Bob"])
    #expect(try store.problems() == [])
  }

  @Test("rule 19: rolling the parent back drops what children have saved of relationships")
  func rollback() throws {
    let sales = try parent.find(Department.self, "Sales")
    child.make(Employee.self, "Cid").department = try child.find(Department.self, "Sales")
    try child.save()
    #expect(sales.employees.count == 3)
    parent.rollback()
    #expect(sales.employees.names == ["Ann", "Bob"])
    try parent.save()
    #expect(try store.problems() == [])
  }

  @Test("a cascade in a child reaches the store through the parent")
  func cascadeInChild() throws {
    let sales = try parent.find(Department.self, "Sales")
    for name in ["front", "back"] { parent.make(Key.self, name).department = sales }
    try parent.save()
    child.delete(try child.find(Department.self, "Sales"))
    try child.save()
    #expect(try parent.count(for: FetchRequest<Key>(entityName: "Key")) == 0)
    #expect(try parent.find(Employee.self, "Ann").department == nil)
    try parent.save()
    #expect(try store.problems() == [])
    #expect(try store.fresh { try $0.count(for: FetchRequest<Key>(entityName: "Key")) } == 0)
  }

  @Test("rules 172, 173: a sibling's links are merged, own unsaved ones stay on top")
  func merging() throws {
    let sibling = store.context()
    let sales = try parent.find(Department.self, "Sales")
    #expect(sales.employees.count == 2)
    #expect(sales.employees.names == ["Ann", "Bob"])
    try parent.find(Employee.self, "Bob").department = nil
    let merging = parent
    let token = NotificationCenter.default.addObserver(
      forName: ManagedObjectContext.didSaveObjectsNotification, object: sibling, queue: nil
    ) { merging.mergeChanges(fromContextDidSave: $0) }
    defer { NotificationCenter.default.removeObserver(token) }
    #expect(sales.employees.names == ["Ann"])
    sibling.make(Employee.self, "Cid").department = try sibling.find(Department.self, "Sales")
    try sibling.save()
    #expect(sales.employees.names == ["Ann", "Cid"])
    try parent.save()
    #expect(try store.fresh { try $0.find(Department.self, "Sales").employees.names } == ["Ann", "Cid"])
    #expect(try store.problems() == [])
  }

  @Test(
    "rule 221: what a child deletes is cleared from relationships without inverse when the root saves; the rest of the save stays"
  )
  func clearingBesideOtherChanges() throws {
    let (red, blue) = (parent.make(Project.self, "Red"), parent.make(Project.self, "Blue"))
    red.milestones.append(parent.make(Milestone.self, "a"))
    blue.milestones.append(parent.make(Milestone.self, "m"))
    red.sponsor = try parent.find(Department.self, "Sales")
    try parent.save()
    let root = store.context()
    let above = ManagedObjectContext(.confinement, parent: root)
    let theirs = try above.find(Project.self, "Red")
    theirs.milestones.insert(try above.find(Milestone.self, "m"), at: 0)
    above.delete(try above.find(Department.self, "Sales"))
    try above.save()
    try root.save()
    #expect(try store.problems() == [])
    #expect(try store.fresh { try $0.find(Project.self, "Red").milestones.namesInOrder } == ["m", "a"])
    #expect(try store.fresh { try $0.find(Project.self, "Red").sponsor } == nil)
    #expect(try root.find(Project.self, "Red").milestones.namesInOrder == ["m", "a"])
    #expect(try root.find(Project.self, "Red").sponsor == nil)
  }

  /// How the parent comes to have the deletion as an edit of its own.
  enum Claim: CaseIterable { case none, undo, edited, linked, related, relatedByOwner }

  @Test(
    "rule 213: what a child may delete, its parent saves: the child has taken out before what the rule deny would keep",
    arguments: Claim.allCases, [false, true])
  func allowedDeletion(claim: Claim, isOneSave: Bool) throws {
    let store = try TemporaryStore(
      TeamModel.make { $0["Employee"]?.relationshipsByName["department"]?.deleteRule = .deny })
    let parent = store.context()
    let (sales, audit) = (parent.make(Department.self, "Sales"), parent.make(Department.self, "Audit"))
    let (ann, bob) = (parent.make(Employee.self, "Ann"), parent.make(Employee.self, "Bob"))
    ann.department = sales
    bob.manager = ann
    ann.projects.insert(parent.make(Project.self, "Red"))
    audit.auditors.insert(bob)
    try parent.save()
    switch claim {
    case .none: break
    case .undo: parent.undoManager = UndoManager()
    case .edited: (ann.level, audit.name) = (2, "Audits")
    case .linked:
      ann.department = parent.make(Department.self, "Support")
      audit.auditors.insert(ann)
    case .related:
      ann.friends.insert(bob)
      bob.department = audit
    case .relatedByOwner: (bob.level, sales.name) = (2, "Sale")
    }
    parent.processPendingChanges()
    let child = ManagedObjectContext(.confinement, parent: parent)
    func theirs<T: Named>(_ object: T) throws -> T {
      try #require(try child.existingObject(with: object.objectID) as? T)
    }
    try theirs(ann).department = nil
    try theirs(audit).auditors.removeAll()
    if !isOneSave { try child.save() }
    child.delete(try theirs(ann))
    child.delete(try theirs(audit))
    try child.save()
    #expect(bob.manager == nil && sales.employees.isEmpty)
    parent.refreshAllObjects()
    try parent.save()
    #expect(try store.fresh { try $0.fetch(FetchRequest<Employee>(entityName: "Employee")).names } == ["Bob"])
    #expect(
      try store.fresh { try $0.fetch(FetchRequest<Department>(entityName: "Department")).names }
        == (claim == .relatedByOwner ? ["Sale"] : claim == .linked ? ["Sales", "Support"] : ["Sales"]))
    #expect(try store.problems() == [])
  }

  @Test("rule 213: what the parent has related meanwhile still denies the deletion that a child has saved")
  func deniedMeanwhile() throws {
    let store = try TemporaryStore(
      TeamModel.make { $0["Employee"]?.relationshipsByName["department"]?.deleteRule = .deny })
    let parent = store.context()
    let (sales, support) = (parent.make(Department.self, "Sales"), parent.make(Department.self, "Support"))
    let ann = parent.make(Employee.self, "Ann")
    ann.department = sales
    try parent.save()
    let child = ManagedObjectContext(.confinement, parent: parent)
    let theirs = try child.find(Employee.self, "Ann")
    theirs.department = nil
    ann.department = support
    parent.processPendingChanges()
    child.delete(theirs)
    try child.save()
    let error = #expect(throws: CoreDataError.self) { try parent.save() }
    #expect(error?.code == .validationRelationshipDeniedDelete)
  }
}
