import Foundation
import Strata
import Testing

/// Objects that have been in a context before and are inserted again: what they were related to.
@Suite("Insertion of objects that had a context")
struct ReturningObjectTests {
  let store: TemporaryStore
  let context: ManagedObjectContext

  init() throws {
    store = try TemporaryStore(TeamModel.make())
    context = store.context()
  }

  /// What was related to records that were never saved.
  private func expectAlone(_ ann: Employee) throws {
    #expect(ann.department == nil && ann.projects.isEmpty && ann.name == "Ann")
    try context.save()
    context.refreshAllObjects()
    #expect(ann.department == nil && ann.projects.isEmpty && ann.name == "Ann")
    #expect(try store.problems() == [])
  }

  /// A new employee with a department and a project, none of them saved.
  private func makeAnn(in context: ManagedObjectContext) -> Employee {
    let ann = context.make(Employee.self, "Ann")
    ann.department = context.make(Department.self, "Sales")
    ann.projects.insert(context.make(Project.self, "Red"))
    return ann
  }

  @Test("An object of a context that has gone forgets what was never saved")
  func contextHasGone() throws {
    let ann: Employee
    do {
      let gone = store.context()
      ann = makeAnn(in: gone)
      withExtendedLifetime(gone) {}
    }
    #expect(ann.managedObjectContext == nil)
    context.insert(ann)
    try expectAlone(ann)
  }

  @Test("An object whose insertion was rolled back forgets what went with it")
  func rolledBack() throws {
    let ann = makeAnn(in: context)
    context.rollback()
    context.insert(ann)
    ann.name = "Ann"
    try expectAlone(ann)
  }

  @Test("An object whose deletion was saved keeps what its to-one relationships lead to and is still there")
  func deleted() throws {
    let ann = makeAnn(in: context)
    let sales = try #require(ann.department)
    try context.save()
    context.delete(ann)
    try context.save()
    context.insert(ann)
    #expect(ann.department === sales && ann.projects.isEmpty)
    try context.save()
    context.refreshAllObjects()
    #expect(ann.department === sales && sales.employees.names == ["Ann"])
    context.delete(ann)
    try context.save()
    context.delete(sales)
    try context.save()
    context.insert(ann)
    try expectAlone(ann)
  }

  @Test("The other ends show an object that is inserted again, at once and when it is saved")
  func otherEnds() throws {
    let ann = makeAnn(in: context)
    let (sales, bob) = (try #require(ann.department), context.make(Employee.self, "Bob"))
    let desk = context.make(Desk.self, "Window")
    ann.manager = bob
    ann.desk = desk
    try context.save()
    context.delete(ann)
    try context.save()
    #expect(sales.employees.isEmpty && bob.reports.isEmpty && desk.employee == nil)
    context.insert(ann)
    for isSaved in [false, true] {
      if isSaved {
        try context.save()
        context.refreshAllObjects()
      }
      #expect(sales.employees.names == ["Ann"] && bob.reports.names == ["Ann"] && desk.employee === ann)
      #expect(ann.department === sales && ann.manager === bob && ann.desk === desk)
    }
    #expect(try store.problems() == [])
  }

  @Test("The end of a one-to-one relationship keeps the partner that it has by now")
  func otherPartner() throws {
    let (ann, bob) = (context.make(Employee.self, "Ann"), context.make(Employee.self, "Bob"))
    let desk = context.make(Desk.self, "Window")
    ann.desk = desk
    try context.save()
    context.delete(ann)
    try context.save()
    bob.desk = desk
    context.insert(ann)
    for isSaved in [false, true] {
      if isSaved {
        try context.save()
        context.refreshAllObjects()
      }
      #expect(ann.desk == nil && desk.employee === bob && bob.desk === desk)
    }
    #expect(try store.problems() == [])
  }

  @Test("An end that still leads to the record that was deleted leads to the object that is inserted again")
  func noAction() throws {
    let store = try TemporaryStore(
      TeamModel.make { $0["Employee"]?.relationshipsByName["desk"]?.deleteRule = .noAction })
    let context = store.context()
    let ann = context.make(Employee.self, "Ann")
    let desk = context.make(Desk.self, "Window")
    ann.desk = desk
    try context.save()
    context.delete(ann)
    try context.save()
    context.insert(ann)
    #expect(ann.desk === desk && desk.employee === ann)
    try context.save()
    #expect(try store.fresh { try $0.find(Desk.self, "Window").employee?.name } == "Ann")
  }

  @Test("A relationship without inverse keeps what it leads to")
  func withoutInverse() throws {
    let red = context.make(Project.self, "Red")
    let sales = context.make(Department.self, "Sales")
    red.sponsor = sales
    try context.save()
    context.delete(red)
    try context.save()
    context.insert(red)
    #expect(red.sponsor === sales)
    try context.save()
    #expect(try store.fresh { try $0.find(Project.self, "Red").sponsor?.name } == "Sales")
  }

  @Test("A deleted object has no members when it is inserted again, before and after the save")
  func members() throws {
    let ann = makeAnn(in: context)
    let sales = try #require(ann.department)
    try context.save()
    #expect(sales.employees.names == ["Ann"])
    context.delete(sales)
    try context.save()
    context.insert(sales)
    #expect(sales.employees.isEmpty && ann.department == nil)
    try context.save()
    context.refreshAllObjects()
    #expect(sales.employees.isEmpty && ann.department == nil)
    #expect(try store.problems() == [])
  }

  @Test("An object that goes to another store forgets the records of its own")
  func otherStore() throws {
    let ann = makeAnn(in: context)
    try context.save()
    context.delete(ann)
    try context.save()
    let other = try TemporaryStore(store.container.managedObjectModel)
    let there = other.context()
    there.insert(ann)
    #expect(ann.department == nil)
    try there.save()
    #expect(try other.problems() == [])
    #expect(try there.count(for: FetchRequest<Department>(entityName: "Department")) == 0)
  }
}
