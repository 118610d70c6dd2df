import Strata
import Testing

/// Relationships whose other ends, or members, cannot be read: nothing is taken for gone, nothing is done by half.
struct UnreadableMembersTests {
  let faults = ReadFaults()
  let store: TemporaryStore
  let context: ManagedObjectContext
  let log: FailureLog
  /// “Sales” with “Ann” and “Bo” and two keys.
  let department: ManagedObjectID
  let employees: [ManagedObjectID]

  init() throws {
    store = try TemporaryStore(TeamModel.make(), failing: faults)
    let writer = store.context()
    let sales = writer.make(Department.self, "Sales")
    let people = ["Ann", "Bo"].map { writer.make(Employee.self, $0) }
    for one in people { one.department = sales }
    for name in ["front", "back"] { writer.make(Key.self, name).department = sales }
    writer.make(Department.self, "Stock")
    try writer.save()
    (department, employees) = (sales.objectID, people.map(\.objectID))
    context = store.context()
    log = FailureLog(context)
  }

  private func sales() throws -> Department { try context.find(Department.self, "Sales") }

  @Test func unreadableMembersAreNotNone() throws {
    let sales = try sales()
    faults.fail(.members)
    #expect(sales.employees.names.isEmpty)
    #expect(sales.employees.count == 0)
    #expect(sales.hasFault(forRelationshipNamed: "employees"))
    #expect(log.failures.first?.propertyName == "employees")
    #expect(log.takeCount() == 2)
    faults.mend()
    #expect(sales.employees.names == ["Ann", "Bo"])
  }

  @Test func knownMembersAreShownWhileTheyCannotBeReadAgain() throws {
    let sales = try sales()
    let held = Array(sales.employees)
    #expect(held.names == ["Ann", "Bo"])
    faults.fail(.members)
    context.refresh(sales, mergeChanges: true)
    #expect(sales.employees.names == ["Ann", "Bo"])
    #expect(sales.employees.contains(held[0]))
    #expect(log.takeCount() > 0)
  }

  @Test func membersThatCannotBeReadAreFaultsNotDeleted() throws {
    let sales = try sales()
    faults.fail(.rows, of: employees)
    let members = Array(sales.employees)
    #expect(members.count == 2)
    #expect(members.allSatisfy { $0.name == nil && $0.isFault && !$0.isDeleted })
    #expect(!context.hasChanges)
  }

  @Test func prefetchThatCannotReadThrows() throws {
    var request = FetchRequest<Department>(entityName: "Department")
    request.relationshipKeyPathsForPrefetching = ["employees"]
    faults.fail(.rows, of: employees)
    #expect(throws: StorageError.self) { try context.fetch(request) }
    faults.fail(.members)
    #expect(throws: StorageError.self) { try context.fetch(request) }
    faults.mend()
    #expect(try context.fetch(request).count == 2)
  }

  // MARK: Deleting

  @Test("rule 212: a cascade that cannot read what it would delete fails the save")
  func cascadeThatCannotReadFailsTheSave() throws {
    let sales = try sales()
    faults.fail(.members)
    context.delete(sales)
    context.processPendingChanges()
    #expect(throws: StorageError.self) { try context.save() }
    faults.mend()
    #expect(try store.fresh { try $0.count(for: FetchRequest<Key>(entityName: "Key")) } == 2)
    try context.save()
    #expect(try store.fresh { try $0.count(for: FetchRequest<Key>(entityName: "Key")) } == 0)
    #expect(try store.fresh { try $0.find(Employee.self, "Ann").department } == nil)
    #expect(try (store.fresh { try $0.count(for: FetchRequest<Department>(entityName: "Department")) }) == 1)
  }

  @Test("rule 212: so does one that cannot read the rows it must change")
  func nullifyThatCannotReadFailsTheSave() throws {
    let sales = try sales()
    faults.fail(.rows, of: employees)
    context.delete(sales)
    #expect(throws: StorageError.self) { try context.save() }
    faults.mend()
    try context.save()
    #expect(try store.fresh { try $0.find(Employee.self, "Bo").department } == nil)
  }

  @Test("rule 213: a denial that cannot be looked into fails the save")
  func denialThatCannotReadFailsTheSave() throws {
    let writer = store.context()
    let sales = try writer.find(Department.self, "Sales")
    sales.auditors.insert(try writer.find(Employee.self, "Ann"))
    try writer.save()
    let mine = try self.sales()
    faults.fail(.members)
    context.delete(mine)
    #expect(throws: StorageError.self) { try context.save() }
    faults.mend()
    #expect(throws: CoreDataError.self) { try context.save() }
    #expect(try store.fresh { try $0.find(Department.self, "Sales").name } == "Sales")
  }

  // MARK: Editing

  @Test func replacedMembersThatCouldNotBeReadAreReplacedByTheSave() throws {
    let sales = try sales()
    let new = context.make(Employee.self, "Cy")
    faults.fail(.members)
    sales.setValue(Set<ManagedObject>([new]), forKey: "employees")
    #expect(throws: StorageError.self) { try context.save() }
    faults.mend()
    try context.save()
    #expect(try store.fresh { try $0.find(Department.self, "Sales").employees.names } == ["Cy"])
    #expect(try store.fresh { try $0.find(Employee.self, "Ann").department } == nil)
  }

  @Test func removalOfAnUnreadableMemberIsMadeByTheSave() throws {
    let sales = try sales()
    let ann = try #require(context.object(with: employees[0]) as? Employee)
    faults.fail(.rows, of: employees)
    sales.employees.remove(ann)
    #expect(throws: StorageError.self) { try context.save() }
    faults.mend()
    try context.save()
    #expect(try store.fresh { try $0.find(Department.self, "Sales").employees.names } == ["Bo"])
  }

  @Test func unreadableMemberThatMovesLeavesItsOwner() throws {
    let sales = try sales()
    let stock = try context.find(Department.self, "Stock")
    #expect(sales.employees.count == 2)
    let ann = try #require(context.object(with: employees[0]) as? Employee)
    faults.fail(.rows, of: employees)
    ann.department = stock
    #expect(throws: StorageError.self) { try context.save() }
    faults.mend()
    try context.save()
    #expect(sales.employees.names == ["Bo"])
    #expect(stock.employees.names == ["Ann"])
    #expect(try store.fresh { try $0.find(Department.self, "Stock").employees.names } == ["Ann"])
  }

  @Test("rule 208: the partner of a partner that cannot be read is free after the save")
  func unreadablePartnersAreLetGoBySave() throws {
    let writer = store.context()
    let ann = try writer.find(Employee.self, "Ann")
    ann.desk = writer.make(Desk.self, "window")
    try writer.save()
    let made = try #require(ann.desk)
    let desk = try #require(context.object(with: made.objectID) as? Desk)
    let bo = try context.find(Employee.self, "Bo")
    faults.fail(.rows, of: [desk.objectID, employees[0]])
    bo.desk = desk
    #expect(throws: StorageError.self) { try context.save() }
    faults.mend()
    try context.save()
    #expect(try store.fresh { try $0.find(Employee.self, "Ann").desk } == nil)
    #expect(try store.fresh { try $0.find(Employee.self, "Bo").desk?.name } == "window")
    #expect(try store.fresh { try $0.find(Desk.self, "window").employee?.name } == "Bo")
  }
}
