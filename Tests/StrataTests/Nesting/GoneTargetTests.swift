import Foundation
import Strata
import Testing

/// Links to new objects that another level of a hierarchy of contexts has deleted, or rolled back, before they were ever saved.
struct GoneTargetTests {
  enum Ending: CaseIterable { case deletion, rollback }

  let store: TemporaryStore
  let parent: ManagedObjectContext
  let child: ManagedObjectContext

  init() throws {
    store = try TemporaryStore(TeamModel.make())
    parent = store.context()
    child = ManagedObjectContext(.confinement, parent: parent)
    parent.make(Employee.self, "Ann")
    try parent.save()
  }

  private func end(_ object: ManagedObject, _ ending: Ending) {
    switch ending {
    case .deletion: parent.delete(object)
    case .rollback: parent.rollback()
    }
    parent.processPendingChanges()
  }

  private func theirs<T: Named>(_ object: T) throws -> T {
    try #require(try child.existingObject(with: object.objectID) as? T)
  }

  private func requireNothingLeft() throws {
    let rest = try store.fresh { context in
      (
        try context.fetch(FetchRequest<Employee>(entityName: "Employee")).names,
        try context.fetch(FetchRequest<Department>(entityName: "Department")).names,
        try context.fetch(FetchRequest<Project>(entityName: "Project")).names
      )
    }
    #expect(rest.0 == ["Ann", "Cid"] && rest.1 == [] && rest.2 == [])
    #expect(try store.problems() == [])
  }

  @Test(
    "A child leads objects to a new one that the parent gives up: the links go", arguments: Ending.allCases)
  func givenUpByParent(_ ending: Ending) throws {
    let sales = parent.make(Department.self, "Sales")
    parent.processPendingChanges()
    let target = try theirs(sales)
    try child.find(Employee.self, "Ann").department = target
    child.make(Employee.self, "Cid").department = target
    end(sales, ending)
    try child.save()
    #expect(try parent.find(Employee.self, "Ann").department == nil)
    #expect(try parent.find(Employee.self, "Cid").department == nil)
    try parent.save()
    #expect(try store.fresh { try $0.find(Employee.self, "Ann").department == nil })
    try requireNothingLeft()
  }

  @Test("The same of a many-to-many relationship", arguments: Ending.allCases)
  func membersGivenUpByParent(_ ending: Ending) throws {
    let red = parent.make(Project.self, "Red")
    parent.processPendingChanges()
    let target = try theirs(red)
    try child.find(Employee.self, "Ann").projects.insert(target)
    child.make(Employee.self, "Cid").projects.insert(target)
    end(red, ending)
    try child.save()
    #expect(try parent.find(Employee.self, "Ann").projects.isEmpty)
    try parent.save()
    #expect(try store.fresh { try $0.find(Employee.self, "Ann").projects.isEmpty })
    try requireNothingLeft()
  }

  @Test("A child deletes a new object, whose members it knows, to which the parent has led another since")
  func deletedByChild() throws {
    let sales = parent.make(Department.self, "Sales")
    let cid = parent.make(Employee.self, "Cid")
    parent.processPendingChanges()
    let target = try theirs(sales)
    #expect(target.employees.isEmpty)
    cid.department = sales
    child.delete(target)
    try child.save()
    #expect(sales.managedObjectContext == nil)
    #expect(cid.department == nil)
    try parent.save()
    #expect(cid.department == nil && !parent.hasChanges)
    try requireNothingLeft()
  }

  @Test("A context between two others gives its new object up")
  func givenUpInTheMiddle() throws {
    let middle = child
    let lowest = ManagedObjectContext(.confinement, parent: middle)
    let sales = middle.make(Department.self, "Sales")
    middle.processPendingChanges()
    let target = try #require(try lowest.existingObject(with: sales.objectID) as? Department)
    lowest.make(Employee.self, "Cid").department = target
    middle.rollback()
    try lowest.save()
    try middle.save()
    try parent.save()
    try requireNothingLeft()
  }

  @Test("What an undo has brought back is there for the links of a child")
  func broughtBack() throws {
    parent.undoManager = UndoManager()
    let sales = parent.make(Department.self, "Sales")
    parent.processPendingChanges()
    let target = try theirs(sales)
    child.make(Employee.self, "Cid").department = target
    parent.delete(sales)
    parent.processPendingChanges()
    parent.undo()
    try child.save()
    try parent.save()
    #expect(try store.fresh { try $0.find(Employee.self, "Cid").department?.name } == "Sales")
    #expect(try store.problems() == [])
  }
}
