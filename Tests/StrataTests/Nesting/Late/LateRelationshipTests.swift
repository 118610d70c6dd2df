import Foundation
import Strata
import Testing

/// Relationships as a child that is made late sees them (contexts 4 and 5; rules 208–212).
struct LateRelationshipTests {
  let store: TemporaryStore
  let parent: ManagedObjectContext

  init() throws {
    store = try TemporaryStore(TeamModel.make())
    parent = store.context()
    let bob = parent.make(Employee.self, "bob")
    bob.department = parent.make(Department.self, "sales")
    bob.desk = parent.make(Desk.self, "old")
    _ = (parent.make(Desk.self, "new"), parent.make(Employee.self, "eve"))
    let project = parent.make(Project.self, "boat")
    project.watchers.append(bob)
    try parent.save()
  }

  /// Both ends of everything, as a new child sees them.
  private func seen() throws -> [String: [String]] {
    try LateChild.privateElsewhere.read(above: parent) { child in
      let (bob, eve) = (try child.find(Employee.self, "bob"), try child.find(Employee.self, "eve"))
      var result: [String: [String]] = [
        "bob's desk": [bob.desk?.name ?? "-"], "eve's desk": [eve.desk?.name ?? "-"],
        "bob's department": [bob.department?.name ?? "-"],
        "employees": try child.find(Department.self, "sales").employees.names.sorted(),
        "bob's projects": bob.projects.names.sorted(),
        "members": try child.find(Project.self, "boat").members.names.sorted(),
        "watchers": try child.find(Project.self, "boat").watchers.map { $0.name ?? "" },
      ]
      for name in ["old", "new"] {
        result["\(name) desk's employee"] = [try child.find(Desk.self, name).employee?.name ?? "-"]
      }
      return result
    }
  }

  private let start = [
    "bob's desk": ["old"], "eve's desk": ["-"], "bob's department": ["sales"], "employees": ["bob"],
    "bob's projects": [], "members": [], "watchers": ["bob"], "old desk's employee": ["bob"],
    "new desk's employee": ["-"],
  ]

  @Test("both ends are seen as they were when the event ended, whatever the next has begun")
  func bothEnds() throws {
    let (bob, eve) = (try parent.find(Employee.self, "bob"), try parent.find(Employee.self, "eve"))
    let boat = try parent.find(Project.self, "boat")
    bob.desk = try parent.find(Desk.self, "new")
    eve.department = bob.department
    bob.projects.insert(boat)
    boat.watchers.insert(eve, at: 0)
    parent.processPendingChanges()
    let finished = start.merging([
      "bob's desk": ["new"], "old desk's employee": ["-"], "new desk's employee": ["bob"],
      "employees": ["bob", "eve"], "bob's projects": ["boat"], "members": ["bob"],
      "watchers": ["eve", "bob"],
    ]) { $1 }
    eve.desk = bob.desk
    bob.department = nil
    bob.projects.remove(boat)
    eve.projects.insert(boat)
    boat.watchers.remove(bob)
    #expect(try seen() == finished)
    parent.processPendingChanges()
    #expect(
      try seen()
        == finished.merging([
          "bob's desk": ["-"], "eve's desk": ["new"], "new desk's employee": ["eve"],
          "bob's department": ["-"],
          "employees": ["eve"], "bob's projects": [], "members": ["eve"], "watchers": ["eve"],
        ]) { $1 })
  }

  @Test("a one-to-one reference that a refresh withdraws is seen at both ends until the event ends")
  func withdrawn() throws {
    let bob = try parent.find(Employee.self, "bob")
    bob.desk = try parent.find(Desk.self, "new")
    parent.processPendingChanges()
    let finished = start.merging([
      "bob's desk": ["new"], "old desk's employee": ["-"], "new desk's employee": ["bob"],
    ]) { $1 }
    let held = try [parent.find(Desk.self, "new"), parent.find(Desk.self, "old")]
    #expect(held.map { $0.employee?.name } == ["bob", nil])
    #expect(try seen() == finished)
    bob.desk = nil
    parent.processPendingChanges()
    for desk in held { parent.refresh(desk, mergeChanges: false) }
    parent.refresh(bob, mergeChanges: false)
    parent.processPendingChanges()
    #expect(try seen() == start)
  }

  @Test("a reference that only the partner's refresh takes back is not taken out of what is finished")
  func withdrawnInTheNextEvent() throws {
    let bob = try parent.find(Employee.self, "bob")
    let new = try parent.find(Desk.self, "new")
    new.name = "newer"
    bob.desk = new
    parent.processPendingChanges()
    let child = LateChild.privateElsewhere
    // Not finished: the desk keeps its name and loses its reference.
    bob.level = 4
    withExtendedLifetime(new) { parent.refresh(bob, mergeChanges: false) }
    let found = try child.read(above: parent) { child in
      try child.find(Desk.self, "newer").employee?.name
    }
    #expect(found == "bob")
    parent.processPendingChanges()
    let left = try child.read(above: parent) { child in try child.find(Desk.self, "newer").employee?.name }
    #expect(left == nil)
  }

  @Test("a deletion is seen with what its rules have done")
  func deletion() throws {
    let sales = try parent.find(Department.self, "sales")
    parent.make(Key.self, "front").department = sales
    parent.processPendingChanges()
    parent.delete(sales)
    parent.processPendingChanges()
    try LateChild.privateElsewhere.read(above: parent) { child in
      let departments = try child.count(for: FetchRequest<Department>(entityName: "Department"))
      let keys = try child.count(for: FetchRequest<Key>(entityName: "Key"))
      let bob = try child.find(Employee.self, "bob")
      #expect(departments == 0 && keys == 0 && bob.department == nil)
    }
    parent.rollback()
    #expect(try seen() == start)
  }
}
