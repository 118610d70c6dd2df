import Foundation
import Strata
import Testing

/// What another context has written comes to a parent beneath what a child has made of it, or lies there before the child's change does (rules 153, 155, 200).
struct NewerBaseTests {
  private let store: TemporaryStore
  private let parent: ManagedObjectContext
  private let sales: Department
  private let ann: Employee

  init() throws {
    store = try TemporaryStore(TeamModel.make())
    parent = store.context()
    sales = parent.make(Department.self, "sales")
    ann = parent.make(Employee.self, "Ann")
    try parent.save()
    try #require(sales.name == "sales" && ann.name == "Ann")
  }

  /// Another context writes the row; nobody is told.
  private func renameElsewhere() throws {
    let other = store.context()
    try other.find(Department.self, "sales").name = "trade"
    try other.save()
  }

  private func savedNames() throws -> [String?] {
    try store.fresh { context in
      try context.fetch(FetchRequest<Department>(entityName: "Department")).map(\.name)
    }
  }

  @Test("undoing what a child has saved does not bring back what another context has overwritten")
  func undone() throws {
    parent.undoManager = UndoManager()
    ann.department = sales
    parent.processPendingChanges()
    try renameElsewhere()
    let child = ManagedObjectContext(.confinement, parent: parent)
    try child.find(Department.self, "trade").name = "export"
    try child.save()
    #expect(sales.name == "export")
    parent.undo()
    #expect(sales.name == "trade" && ann.department === sales)
    try parent.save()
    #expect(try savedNames() == ["trade"])
  }

  @Test(
    "rules 153, 155: what a child makes of a record that it has read anew lies over members that another child gave it before",
    arguments: [false, true])
  func overMembers(deletes: Bool) throws {
    let first = ManagedObjectContext(.confinement, parent: parent)
    let second = ManagedObjectContext(.confinement, parent: parent)
    let old = try first.find(Department.self, "sales")
    let member = try first.find(Employee.self, "Ann")
    try renameElsewhere()
    let trade = try second.find(Department.self, "trade")
    member.department = old
    try first.save()
    if deletes { second.delete(trade) } else { trade.name = "export" }
    try second.save()
    try parent.save()
    #expect(try savedNames() == (deletes ? [] : ["export"]))
    #expect(ann.department === (deletes ? nil : sales))
  }

  @Test(
    "rule 200: members that a child gives to an older record leave the parent with what it has read since")
  func membersOverOlder() throws {
    let parent = store.context()
    let child = ManagedObjectContext(.confinement, parent: parent)
    let old = try child.find(Department.self, "sales")
    let member = try child.find(Employee.self, "Ann")
    try renameElsewhere()
    let trade = try parent.find(Department.self, "trade")
    member.department = old
    try child.save()
    #expect(trade.name == "trade" && trade.employees.names == ["Ann"])
    try parent.save()
    #expect(trade.name == "trade")
    trade.name = "export"
    try parent.save()
    #expect(try savedNames() == ["export"])
  }

  @Test("members that a child gives to a record lie above what a context further down has not saved")
  func unsavedFurtherDown() throws {
    let middle = ManagedObjectContext(.confinement, parent: parent)
    let department = try middle.find(Department.self, "sales")
    #expect(department.name == "sales")
    try middle.find(Employee.self, "Ann").level = 7
    middle.processPendingChanges()
    sales.name = "trade"
    parent.processPendingChanges()
    let child = ManagedObjectContext(.confinement, parent: middle)
    let trade = try child.find(Department.self, "trade")
    trade.employees.insert(try child.find(Employee.self, "Ann"))
    try child.save()
    child.refreshAllObjects()
    #expect(trade.name == "trade" && department.name == "trade")
    middle.detectsConflictsWithParent = true
    try middle.save()
    try parent.save()
    #expect(try savedNames() == ["trade"])
    #expect(ann.level == 7 && ann.department === sales)
  }

  @Test(
    "a record that comes anew with a child's change is a member of the owner that another context gave it")
  func membersOfOwners() throws {
    let key = parent.make(Key.self, "front")
    let trade = parent.make(Department.self, "trade")
    key.department = sales
    try parent.save()
    #expect(sales.keys.names == ["front"] && trade.keys.names == [])
    let other = store.context()
    try other.find(Key.self, "front").department = try other.find(Department.self, "trade")
    try other.save()
    let child = ManagedObjectContext(.confinement, parent: parent)
    try child.find(Key.self, "front").name = "back"
    try child.save()
    #expect(key.department === trade)
    #expect(sales.keys.names == [] && trade.keys.names == ["back"])
    // Cascades to keys.
    parent.delete(sales)
    try parent.save()
    #expect(try store.fresh { try $0.find(Key.self, "back").department?.name } == "trade")
  }

  @Test(
    "rule 155: a deletion of what another context has changed meets it, whatever a child has read and changed since"
  )
  func deletedBefore() throws {
    let context = store.context(.privateQueue)
    let child = ManagedObjectContext(.privateQueue, parent: context)
    // Unsafe: used on the context's queue alone. Held, so that it shows the row that it has read.
    nonisolated(unsafe) var known: Department?
    try context.performAndWait { known = try context.find(Department.self, "sales") }
    try renameElsewhere()
    try context.performAndWait {
      context.delete(try #require(known))
      // The deletion is not published before the block ends.
      try Elsewhere.run {
        try child.performAndWait {
          try child.find(Department.self, "trade").name = "export"
          try child.save()
        }
      }
    }
    #expect(throws: CoreDataError.self) { try context.performAndWait { try context.save() } }
    #expect(try savedNames() == ["trade"])
  }

  @Test(
    "rule 189: what was to be checked is, when a child has given the record members since",
    arguments: [false, true])
  func checkedBesideMembers(isAsynchronous: Bool) async throws {
    let context = store.context(.privateQueue)
    // Unsafe: used on the context's queue alone. Held, so that it shows the row that it has read.
    nonisolated(unsafe) var known: Department?
    try context.performAndWait {
      let department = try context.find(Department.self, "sales")
      context.detectConflicts(for: department)
      let child = ManagedObjectContext(.confinement, parent: context)
      try child.find(Department.self, "sales").employees.insert(try child.find(Employee.self, "Ann"))
      try child.save()
      #expect(department.employees.names == ["Ann"])
      known = department
    }
    try renameElsewhere()
    let error = await #expect(throws: CoreDataError.self) {
      if isAsynchronous {
        try await context.saveAsynchronously()
      } else {
        try await context.perform { try context.save() }
      }
    }
    #expect(error?.code == .managedObjectMerge)
    try await context.perform {
      let department = try #require(known)
      context.refresh(department, mergeChanges: true)
      try context.save()
      #expect(department.name == "trade" && department.employees.names == ["Ann"])
    }
    known = nil
    #expect(try savedNames() == ["trade"])
  }

  @Test(
    "values that were set beneath the accessors are nothing that a child's could conflict with, and stay",
    arguments: [false, true])
  func silentValues(undoes: Bool) throws {
    let store = try TemporaryStore()
    try store.save("Bells", rating: 3)
    let parent = store.context()
    let bells = try parent.entry("Bells")
    if undoes { parent.undoManager = UndoManager() }
    bells.setPrimitiveValue("mine", forKey: "notes")
    #expect(!parent.hasChanges)
    let other = store.context()
    try other.entry("Bells").rating = 5
    try other.save()
    let child = ManagedObjectContext(.confinement, parent: parent)
    try child.entry("Bells").rating = 4
    try child.save()
    #expect(bells.rating == 4 && bells.notes == "mine")
    try parent.save()
    #expect(try store.savedEntries() == ["Bells 4"])
  }
}
