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
}
