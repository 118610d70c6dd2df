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

  /// Saves something else: what has gone is no news any more.
  private func saveParent(_ name: String) throws {
    parent.make(Label.self, name)
    try parent.save()
  }

  @Test(
    "A child leads objects to a new one that the parent gives up: the links go, also when the parent has saved since",
    arguments: Ending.allCases, [0, 1, 3])
  func givenUpByParent(_ ending: Ending, _ saves: Int) throws {
    let sales = parent.make(Department.self, "Sales")
    parent.processPendingChanges()
    let target = try theirs(sales)
    try child.find(Employee.self, "Ann").department = target
    child.make(Employee.self, "Cid").department = target
    end(sales, ending)
    for number in 0..<saves { try saveParent("\(number)") }
    try child.save()
    #expect(try parent.find(Employee.self, "Ann").department == nil)
    #expect(try parent.find(Employee.self, "Cid").department == nil)
    try parent.save()
    #expect(try store.fresh { try $0.find(Employee.self, "Ann").department == nil })
    try requireNothingLeft()
  }

  @Test("The same of a many-to-many relationship", arguments: Ending.allCases, [0, 1])
  func membersGivenUpByParent(_ ending: Ending, _ saves: Int) throws {
    let red = parent.make(Project.self, "Red")
    parent.processPendingChanges()
    let target = try theirs(red)
    try child.find(Employee.self, "Ann").projects.insert(target)
    child.make(Employee.self, "Cid").projects.insert(target)
    end(red, ending)
    for number in 0..<saves { try saveParent("\(number)") }
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

  @Test("The same when the context between has saved since")
  func givenUpInTheMiddleAndSaved() throws {
    let middle = child
    let lowest = ManagedObjectContext(.confinement, parent: middle)
    let sales = middle.make(Department.self, "Sales")
    middle.processPendingChanges()
    let target = try #require(try lowest.existingObject(with: sales.objectID) as? Department)
    lowest.make(Employee.self, "Cid").department = target
    middle.delete(sales)
    middle.make(Label.self, "Blue")
    try middle.save()
    try lowest.save()
    try middle.save()
    try parent.save()
    try requireNothingLeft()
  }

  @Test("Two children link to what has gone, one after the other, and the parent saves in between")
  func linkedByTwo() throws {
    let sales = parent.make(Department.self, "Sales")
    parent.processPendingChanges()
    let sibling = ManagedObjectContext(.confinement, parent: parent)
    let links = [
      (child, try theirs(sales), "Cid"),
      (sibling, try #require(try sibling.existingObject(with: sales.objectID) as? Department), "Dan"),
    ]
    end(sales, .deletion)
    try saveParent("Blue")
    for (context, target, name) in links {
      context.make(Employee.self, name).department = target
      try context.save()
      try parent.save()
      #expect(try store.fresh { try $0.find(Employee.self, name).department == nil })
    }
    #expect(try store.problems() == [])
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
