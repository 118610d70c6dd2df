import Foundation
import Strata
import Testing

/// A relationship holds what it has handed out as long as its owner is held (rule 220), and no longer.
struct HeldMembersTests {
  let store: TemporaryStore
  let context: ManagedObjectContext

  init() throws {
    store = try TemporaryStore(TeamModel.make())
    let writer = store.context()
    let sales = writer.make(Department.self, "Sales")
    let tower = writer.make(Project.self, "Tower")
    for name in ["Ann", "Bo", "Cy"] {
      let employee = writer.make(Employee.self, name)
      employee.department = sales
      tower.members.insert(employee)
      tower.watchers.append(employee)
      tower.labels.insert(writer.make(Label.self, name))
    }
    let ann = try writer.find(Employee.self, "Ann")
    for name in ["Bo", "Cy"] { ann.friends.insert(try writer.find(Employee.self, name)) }
    try writer.save()
    context = store.context()
  }

  /// How many faults `body` fires.
  private func faults(_ body: () throws -> Void) rethrows -> Int {
    let before = context.statistics
    try body()
    return context.statistics.faultsFired - before.faultsFired + context.statistics.relationshipFaultsFired
      - before.relationshipFaultsFired
  }

  /// Makes the table of employees look for what can go.
  private func fillTables() throws {
    let others = store.context()
    for number in 0..<200 { others.make(Employee.self, "extra \(number)") }
    try others.save()
    _ = try context.fetch(FetchRequest<Employee>(entityName: "Employee"))
  }

  // MARK: Held

  @Test("rule 220: asked again, one-to-many, many-to-many, ordered and one-sided relationships fire no fault")
  func askedAgainNothingIsRead() throws {
    let sales = try context.find(Department.self, "Sales")
    let tower = try context.find(Project.self, "Tower")
    let ann = try context.find(Employee.self, "Ann")
    let walks: [() -> [String]] = [
      { sales.employees.names }, { tower.members.names }, { tower.watchers.names }, { tower.labels.names },
      { ann.friends.names },
    ]
    for walk in walks {
      let found = walk()
      #expect(found.count >= 2)
      var again: [String] = []
      #expect(faults { again = walk() } == 0)
      #expect(again == found)
    }
    try fillTables()
    for walk in walks { #expect(faults { _ = walk() } == 0) }
  }

  @Test("rule 220: in a child, asked again while the owner is held, neither it nor its parent reads anything")
  func inAChild() throws {
    let child = ManagedObjectContext(.confinement)
    child.parent = context
    let (sales, tower) = (try child.find(Department.self, "Sales"), try child.find(Project.self, "Tower"))
    func fired() -> Int {
      [child, context].reduce(0) {
        $0 + $1.statistics.faultsFired + $1.statistics.relationshipFaultsFired
      }
    }
    let walks: [() -> [String]] = [
      { sales.employees.names }, { tower.members.names }, { tower.watchers.names }, { tower.labels.names },
    ]
    for walk in walks {
      let found = walk()
      #expect(found == ["Ann", "Bo", "Cy"])
      let before = fired()
      #expect(walk() == found && walk() == found)
      #expect(fired() == before)
    }
    try fillTables()
    let before = fired()
    for walk in walks { #expect(walk() == ["Ann", "Bo", "Cy"]) }
    #expect(fired() == before)
    withExtendedLifetime((sales, tower)) {}
  }

  @Test func membersLiveAsLongAsTheirOwner() throws {
    var sales: Department? = try context.find(Department.self, "Sales")
    weak let member = sales?.employees.first { _ in true }
    weak var other: Label?
    var tower: Project? = try context.find(Project.self, "Tower")
    other = tower?.labels.first { _ in true }
    #expect(member != nil && other != nil)
    try fillTables()
    #expect(member != nil && other != nil)
    #expect(try #require(member).name != nil)
    let ids = [try #require(member).objectID, try #require(other).objectID]
    withExtendedLifetime((sales, tower)) {}
    (sales, tower) = (nil, nil)
    for id in ids { #expect(context.registeredObject(for: id) == nil) }
    #expect(member == nil && other == nil)
  }

  @Test("rule 220: what the rules of a deletion go through is not held; what the program walks is")
  func deletionsHoldNobody() throws {
    let tower = try context.find(Project.self, "Tower")
    let ids = tower.members.objectIDs
    #expect(ids.count == 3)
    context.delete(tower)
    context.processPendingChanges()
    context.rollback()
    try fillTables()
    #expect(ids.filter { context.registeredObject(for: $0) != nil } == [])
    #expect(tower.members.names == ["Ann", "Bo", "Cy"])
    try fillTables()
    #expect(ids.filter { context.registeredObject(for: $0) == nil } == [])
    withExtendedLifetime(tower) {}
  }

  @Test func whatAKeptMemberHoldsIsHeldAsWell() throws {
    let sales = try context.find(Department.self, "Sales")
    for employee in sales.employees { _ = (employee.friends.names, employee.projects.names) }
    try fillTables()
    let count = faults {
      for employee in sales.employees { _ = (employee.friends.names, employee.projects.names) }
    }
    #expect(count == 0)
  }

  @Test func saveOfTheOwnerLetsNobodyGo() throws {
    let tower = try context.find(Project.self, "Tower")
    _ = (tower.watchers.names, tower.members.names)
    let first = try #require(tower.watchers.first { _ in true })
    tower.watchers.remove(first)
    tower.members.remove(first)
    try context.save()
    // An ordered relationship asks for the places that the store has given; its members are there.
    #expect(faults { _ = tower.members.names } == 0)
    #expect(faults { _ = tower.watchers.names } <= 1)
    #expect(tower.watchers.names.count == 2)
  }

  // MARK: Releasing

  @Test func refreshLetsMembersGo() throws {
    let sales = try context.find(Department.self, "Sales")
    let id = try #require(sales.employees.first { $0.name != nil }).objectID
    #expect(context.registeredObject(for: id) != nil)
    context.refresh(sales, mergeChanges: false)
    #expect(context.registeredObject(for: id) == nil)
  }

  @Test func circlesThatNobodyHoldsAreLetGo() throws {
    weak var lost: Employee?
    do {
      let ann = try context.find(Employee.self, "Ann")
      for friend in ann.friends { #expect(friend.friends.names == ["Ann"]) }
      for project in ann.projects { _ = project.members.names + project.watchers.names }
      lost = ann
    }
    let id = try #require(lost?.objectID)
    #expect(context.registeredObject(for: id) == nil)
    #expect(lost == nil)
    try fillTables()
    #expect(context.registeredObjects.isEmpty)
  }

  @Test func membersOfAnOwnerThatWentShowTheNewestRow() throws {
    var sales: Department? = try context.find(Department.self, "Sales")
    #expect(sales?.employees.map(\.level) == [0, 0, 0])
    let other = store.context()
    try other.find(Employee.self, "Ann").level = 7
    try other.save()
    #expect(try context.find(Employee.self, "Ann").level == 0)
    withExtendedLifetime(sales) {}
    sales = nil
    #expect(try context.find(Employee.self, "Ann").level == 7)
  }

  @Test("contexts 9: a loop over many owners and their members keeps none of them")
  func loopsKeepNothing() throws {
    let writer = store.context()
    for number in 0..<300 {
      let department = writer.make(Department.self, "department \(number)")
      for place in 0..<10 { writer.make(Employee.self, "\(number)/\(place)").department = department }
    }
    try writer.save()
    final class Count { var most = 0 }
    let count = Count()
    var request = FetchRequest<Department>(entityName: "Department", sortDescriptors: [FetchSort("name")])
    for offset in 0..<300 {
      request.fetchOffset = offset
      request.fetchLimit = 1
      for department in try context.fetch(request) {
        for employee in department.employees { #expect(employee.department === department) }
      }
      count.most = max(count.most, context.registeredObjects.count)
    }
    #expect(count.most <= 1)
  }

  @Test func contextThatEndsLeavesNoCircle() throws {
    weak var lost: Employee?
    do {
      let context = store.context()
      let ann = try context.find(Employee.self, "Ann")
      for friend in ann.friends { _ = friend.friends.names }
      lost = ann
    }
    #expect(lost == nil)
  }
}

/// The same for the object at the other end of a to-one relationship.
extension HeldMembersTests {
  @Test("rule 220: the object at the other end of a to-one relationship is held while the owner is")
  func toOneIsHeld() throws {
    var ann: Employee? = try context.find(Employee.self, "Ann")
    weak let sales = ann?.department
    #expect(sales?.name == "Sales")
    try fillTables()
    #expect(sales?.isFault == false)
    let count = faults { _ = ann?.department?.name }
    #expect(count == 0)
    #expect(ann?.department === sales)
    #expect(context.registeredObjects.count == 2)
    withExtendedLifetime(ann) {}
    ann = nil
    #expect(context.registeredObjects.isEmpty)
    try fillTables()
    #expect(try context.find(Employee.self, "Ann").department?.name == "Sales")
  }

  @Test func eachOfSeveralOwnersHolds() throws {
    var owners = try ["Ann", "Bo", "Cy"].map { try context.find(Employee.self, $0) }
    weak let sales = owners[0].department
    for owner in owners { #expect(owner.department === sales) }
    while !owners.isEmpty {
      try fillTables()
      #expect(sales != nil)
      #expect(context.registeredObjects.count == owners.count + 1)
      owners.removeFirst()
    }
    #expect(context.registeredObjects.isEmpty)
  }

  @Test func chainsAreHeldFromTheirBeginning() throws {
    let writer = store.context()
    let people = try ["Ann", "Bo", "Cy"].map { try writer.find(Employee.self, $0) }
    (people[0].manager, people[1].manager) = (people[1], people[2])
    people[0].desk = writer.make(Desk.self, "by the window")
    try writer.save()
    var desk: Desk? = try context.find(Desk.self, "by the window")
    #expect(desk?.employee?.manager?.manager?.name == "Cy")
    try fillTables()
    let count = faults { _ = desk?.employee?.manager?.manager?.name }
    #expect(count == 0)
    #expect(context.registeredObjects.count == 4)
    // Both ends of a one-to-one relationship hold each other, which holds neither.
    #expect(desk?.employee?.desk === desk)
    withExtendedLifetime(desk) {}
    desk = nil
    #expect(context.registeredObjects.isEmpty)
  }

  @Test func whatAnOwnerDoesNotLeadToAnyMoreIsLetGo() throws {
    let ann = try context.find(Employee.self, "Ann")
    #expect(ann.department?.name == "Sales")
    #expect(context.registeredObjects.count == 2)
    context.refresh(ann, mergeChanges: false)
    #expect(context.registeredObjects == [ann])
    #expect(ann.department?.name == "Sales")
    ann.department = nil
    context.rollback()
    #expect(ann.department?.name == "Sales")
    #expect(context.registeredObjects.count == 2)
    ann.department = context.make(Department.self, "Purchase")
    try context.save()
    #expect(context.registeredObjects.count == 2)
    let count = faults { _ = ann.department?.name }
    #expect(count == 0)
    ann.department = nil
    try context.save()
    #expect(context.registeredObjects == [ann])
    withExtendedLifetime(ann) {}
  }

  @Test func toOneShowsTheNewestRowOnceItsOwnerWentOrIsRefreshed() throws {
    var ann: Employee? = try context.find(Employee.self, "Ann")
    let bo = try context.find(Employee.self, "Bo")
    #expect(ann?.department?.name == "Sales")
    let other = store.context()
    try other.find(Department.self, "Sales").name = "Trade"
    try other.save()
    #expect(ann?.department?.name == "Sales")
    withExtendedLifetime(ann) {}
    ann = nil
    #expect(bo.department?.name == "Trade")
    try other.find(Department.self, "Trade").name = "Commerce"
    try other.save()
    #expect(bo.department?.name == "Trade")
    context.refreshAllObjects()
    #expect(bo.department?.name == "Commerce")
  }

  @Test("contexts 9: a walk from many owners to few objects ends with the owners")
  func manyOwners() throws {
    let writer = store.context()
    let (ann, bo) = (try writer.find(Employee.self, "Ann"), try writer.find(Employee.self, "Bo"))
    for number in 0..<2_000 {
      writer.make(Employee.self, "extra \(number)").manager = number % 2 == 0 ? ann : bo
    }
    try writer.save()
    for _ in 0..<2 {
      var people = try context.fetch(FetchRequest<Employee>(entityName: "Employee"))
      for _ in 0..<3 {
        let named = people.count { $0.manager?.name != nil }
        #expect(named == 2_000)
      }
      let last = try #require(people.first { $0.manager?.name == "Bo" })
      people = []
      let count = faults { _ = last.manager?.name }
      #expect(count == 0)
      #expect(context.registeredObjects.count == 2)
      withExtendedLifetime(last) {}
    }
    #expect(context.registeredObjects.isEmpty)
  }

  @Test("One of many owners is enough, whichever it is, and one that is kept itself")
  func oneOfManyOwners() throws {
    let writer = store.context()
    let (crew, ann) = (writer.make(Department.self, "Crew"), try writer.find(Employee.self, "Ann"))
    for number in 0..<100 {
      let employee = writer.make(Employee.self, "extra \(number)")
      (employee.department, employee.manager) = (crew, ann)
    }
    try writer.save()
    let request = FetchRequest<Employee>(
      entityName: "Employee", predicate: try FetchPredicate(format: "manager != nil"))
    for place in [0, 20, 50, 99] {
      var people = try context.fetch(request)
      let named = people.count { $0.manager?.name == "Ann" }
      #expect(named == 100)
      let one = people[place]
      people = []
      for _ in 0..<2 {
        #expect(context.registeredObjects.count == 2)
        #expect(context.registeredObject(for: ann.objectID) != nil)
        try fillTables()
      }
      withExtendedLifetime(one) {}
    }
    #expect(context.registeredObjects.isEmpty)
    var mine: Department? = try context.find(Department.self, "Crew")
    let named = mine?.employees.count { $0.manager?.name == "Ann" }
    #expect(named == 100)
    for _ in 0..<2 {
      try fillTables()
      #expect(context.registeredObjects.count == 102)
      #expect(context.registeredObject(for: ann.objectID) != nil)
    }
    withExtendedLifetime(mine) {}
    mine = nil
    #expect(context.registeredObjects.isEmpty)
  }
}
