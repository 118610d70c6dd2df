import Foundation
import Strata
import Testing

/// Deleted objects are no members (rule 216), whichever context deleted them, in every kind of relationship.
struct DeletedMembersTests {
  enum Kind: String, CaseIterable { case employees, members, watchers, labels }
  enum Where: CaseIterable { case here, merged, mergedByID, child, batch }

  private func names(_ kind: Kind, _ context: ManagedObjectContext) throws -> [String] {
    switch kind {
    case .employees: try context.find(Department.self, "Sales").employees.names
    case .members: try context.find(Project.self, "Tower").members.names
    case .watchers: try context.find(Project.self, "Tower").watchers.names
    case .labels: try context.find(Project.self, "Tower").labels.names
    }
  }

  private func delete(_ kind: Kind, in context: ManagedObjectContext) throws -> ManagedObjectID {
    let doomed: ManagedObject =
      kind == .labels ? try context.find(Label.self, "Ann") : try context.find(Employee.self, "Ann")
    context.delete(doomed)
    return doomed.objectID
  }

  @Test(arguments: Kind.allCases, Where.allCases)
  func deletedMemberIsNone(kind: Kind, place: Where) throws {
    let store = try TemporaryStore(TeamModel.make())
    let writer = store.context()
    let sales = writer.make(Department.self, "Sales")
    let tower = writer.make(Project.self, "Tower")
    for name in ["Ann", "Bo"] {
      let employee = writer.make(Employee.self, name)
      employee.department = sales
      tower.members.insert(employee)
      tower.watchers.append(employee)
      tower.labels.insert(writer.make(Label.self, name))
    }
    try writer.save()
    let context = store.context()
    let owners: [Named] = [
      try context.find(Department.self, "Sales"), try context.find(Project.self, "Tower"),
    ]
    let held: ManagedObject =
      kind == .labels ? try context.find(Label.self, "Ann") : try context.find(Employee.self, "Ann")
    #expect(try names(kind, context) == ["Ann", "Bo"])
    switch place {
    case .here:
      _ = try delete(kind, in: context)
      context.processPendingChanges()
    case .merged:
      let log = Log<Notification>()
      let token = NotificationCenter.default.addObserver(
        forName: ManagedObjectContext.didSaveObjectsNotification, object: writer, queue: nil
      ) { log.add($0) }
      _ = try delete(kind, in: writer)
      try writer.save()
      NotificationCenter.default.removeObserver(token)
      context.mergeChanges(fromContextDidSave: try #require(log.first))
    case .mergedByID:
      let id = try delete(kind, in: writer)
      try writer.save()
      ManagedObjectContext.mergeChanges(
        fromRemoteContextSave: [ManagedObjectContext.NotificationKey.deletedObjectIDs.rawValue: [id]],
        into: [context])
    case .child:
      let child = ManagedObjectContext(.confinement, parent: context)
      _ = try delete(kind, in: child)
      child.processPendingChanges()
      #expect(try names(kind, child) == ["Bo"])
      try child.save()
      #expect(try names(kind, child) == ["Bo"])
    case .batch:
      _ = try context.execute(
        BatchDeleteRequest(
          fetchRequest: FetchRequest<ManagedObject>(
            entityName: kind == .labels ? "Label" : "Employee", predicate: Attribute("name") == "Ann")))
    }
    let slot = owners[kind == .employees ? 0 : 1].slot(kind.rawValue)
    let owner = owners[kind == .employees ? 0 : 1]
    #expect(try names(kind, context) == ["Bo"])
    #expect(owner.relatedObjects(slot: slot).count == 1)
    #expect(owner.objectIDs(forRelationshipNamed: kind.rawValue).count == 1)
    if kind != .watchers {
      #expect(!owner.related(Named.self, slot: slot).contains(try #require(held as? Named)))
    }
    try context.save()
    #expect(try names(kind, context) == ["Bo"])
    #expect(owner.relatedObjects(slot: slot).allSatisfy { !$0.isDeleted })
    #expect(try store.fresh { try names(kind, $0) } == ["Bo"])
    #expect(try store.problems().isEmpty)
    withExtendedLifetime(held) {}
  }

  @Test("rule 216: a deletion that is taken back brings the member back", arguments: Kind.allCases)
  func rolledBackDeletionBringsTheMemberBack(kind: Kind) throws {
    let store = try TemporaryStore(TeamModel.make())
    let context = store.context()
    let sales = context.make(Department.self, "Sales")
    let tower = context.make(Project.self, "Tower")
    let ann = context.make(Employee.self, "Ann")
    ann.department = sales
    tower.members.insert(ann)
    tower.watchers.append(ann)
    tower.labels.insert(context.make(Label.self, "Ann"))
    try context.save()
    _ = try delete(kind, in: context)
    context.processPendingChanges()
    #expect(try names(kind, context).isEmpty)
    context.rollback()
    #expect(try names(kind, context) == ["Ann"])
  }

  enum Return: CaseIterable { case rollback, storeTrump, refresh }

  @Test(
    "rules 59, 194, 197: an object that is not deleted after all is a member where it was",
    arguments: Return.allCases)
  func deletionTakenBack(way: Return) throws {
    let store = try TemporaryStore(TeamModel.make())
    let (mine, theirs) = (store.context(), store.context())
    let (sales, boat) = (mine.make(Department.self, "Sales"), mine.make(Project.self, "Boat"))
    let (ann, desk) = (mine.make(Employee.self, "Ann"), mine.make(Desk.self, "Desk"))
    ann.department = sales
    ann.projects.insert(boat)
    boat.watchers.append(ann)
    ann.desk = desk
    try mine.save()
    #expect(sales.employees.names + boat.members.names + boat.watchers.names == ["Ann", "Ann", "Ann"])
    mine.delete(ann)
    if way == .refresh {
      mine.processPendingChanges()
      #expect(sales.employees.isEmpty && boat.members.isEmpty && desk.employee == nil)
      mine.refresh(ann, mergeChanges: false)
    } else {
      try theirs.find(Employee.self, "Ann").level = 2
      try theirs.save()
      mine.mergePolicy = way == .rollback ? .rollback : .mergeByPropertyStoreTrump
    }
    try mine.save()
    #expect(ann.department === sales && ann.desk === desk && desk.employee === ann)
    #expect(sales.employees.names + boat.members.names + boat.watchers.names == ["Ann", "Ann", "Ann"])
    try store.fresh { (reader: ManagedObjectContext) throws in
      let found = try reader.find(Employee.self, "Ann")
      #expect(found.projects.names == ["Boat"] && found.watched.names == ["Boat"])
      #expect(found.desk?.employee === found && found.department?.employees.names == ["Ann"])
    }
    #expect(try store.problems() == [])
  }

  @Test(
    "rules 194, 197: an owner that a policy keeps has a member again that went elsewhere and came back",
    arguments: [Return.rollback, .storeTrump], [false, true])
  func memberThatLeftMeanwhile(way: Return, isDeleted: Bool) throws {
    let store = try TemporaryStore(TeamModel.make())
    let (mine, theirs) = (store.context(), store.context())
    let (sales, care) = (mine.make(Department.self, "Sales"), mine.make(Department.self, "Care"))
    let bo = mine.make(Employee.self, "Bo")
    bo.department = sales
    try mine.save()
    #expect(sales.employees.names == ["Bo"])
    if isDeleted {
      mine.delete(sales)
      mine.processPendingChanges()
    } else {
      sales.name = "Old"
    }
    bo.department = care
    try theirs.find(Department.self, "Sales").name = "Sold"
    try theirs.save()
    mine.mergePolicy = way == .rollback ? .rollback : .mergeByPropertyStoreTrump
    try mine.save()
    #expect(!sales.isDeleted && sales.employees.isEmpty && care.employees.names == ["Bo"])
    #expect(!mine.hasChanges)

    let log = Log<Notification>()
    let token = NotificationCenter.default.addObserver(
      forName: ManagedObjectContext.didSaveObjectsNotification, object: theirs, queue: nil
    ) { log.add($0) }
    try theirs.find(Employee.self, "Bo").department = try theirs.find(Department.self, "Sold")
    try theirs.save()
    NotificationCenter.default.removeObserver(token)
    mine.mergeChanges(fromContextDidSave: try #require(log.first))
    #expect(bo.department === sales && sales.employees.names == ["Bo"] && care.employees.isEmpty)
    #expect(try store.problems() == [])
  }

  @Test(
    "rules 59, 216: deletions that are taken back one after the other, in any order, leave nobody out",
    arguments: [false, true])
  func deletionsTakenBackInTurn(isReversed: Bool) throws {
    let store = try TemporaryStore(TeamModel.make())
    let context = store.context()
    let (sales, care) = (context.make(Department.self, "Sales"), context.make(Department.self, "Care"))
    let tower = context.make(Project.self, "Tower")
    let staff = ["Ann", "Bo", "Cy", "Di"].map { context.make(Employee.self, $0) }
    for (place, one) in staff.enumerated() {
      one.department = place < 2 ? sales : care
      one.projects.insert(tower)
    }
    try context.save()
    let doomed: [ManagedObject] = staff + [sales, care, tower]
    for object in doomed { context.delete(object) }
    context.processPendingChanges()
    for object in isReversed ? doomed.reversed() : doomed { context.refresh(object, mergeChanges: false) }
    #expect(sales.employees.names == ["Ann", "Bo"] && care.employees.names == ["Cy", "Di"])
    #expect(tower.members.names == ["Ann", "Bo", "Cy", "Di"])
    #expect(staff.allSatisfy { $0.projects.names == ["Tower"] && $0.department != nil })
    try context.save()
    try store.fresh { (reader: ManagedObjectContext) throws in
      #expect(try reader.find(Department.self, "Sales").employees.names == ["Ann", "Bo"])
      #expect(try reader.find(Project.self, "Tower").members.names == ["Ann", "Bo", "Cy", "Di"])
    }
    #expect(try store.problems() == [])
  }

  @Test(
    "rules 59, 212: an owner that is not deleted after all has its members again, but for those that have gone elsewhere",
    arguments: [false, true])
  func ownersDeletionTakenBack(isFault: Bool) throws {
    let store = try TemporaryStore(TeamModel.make())
    let writer = store.context()
    let boss = writer.make(Department.self, "Sales")
    _ = writer.make(Department.self, "Care")
    let staff = ["Ann", "Bo", "Cy", "Di", "Ed"].map { writer.make(Employee.self, $0) }
    for one in staff { one.department = boss }
    try writer.save()
    let context = isFault ? store.context() : writer
    let sales = try context.find(Department.self, "Sales")
    let care = try context.find(Department.self, "Care")
    let (ann, bo, cy, di, ed) = (
      try context.find(Employee.self, "Ann"), try context.find(Employee.self, "Bo"),
      try context.find(Employee.self, "Cy"), try context.find(Employee.self, "Di"),
      try context.find(Employee.self, "Ed")
    )
    if isFault { context.refresh(sales, mergeChanges: false) }
    ed.department = nil
    let fay = context.make(Employee.self, "Fay")
    fay.department = sales
    context.processPendingChanges()
    context.delete(sales)
    context.processPendingChanges()
    #expect([ann, bo, cy, di, ed, fay].allSatisfy { $0.department == nil })
    bo.department = care
    context.delete(cy)
    context.processPendingChanges()
    context.refresh(sales, mergeChanges: false)
    func check(_ place: Comment) {
      #expect(sales.employees.names == ["Ann", "Di", "Fay"], place)
      #expect([ann, di, fay].allSatisfy { $0.department === sales }, place)
      #expect(care.employees.names == ["Bo"] && bo.department === care && ed.department == nil, place)
    }
    check("refreshed")
    try context.save()
    check("saved")
    context.refreshAllObjects()
    check("read again")
    try store.fresh { (reader: ManagedObjectContext) throws in
      #expect(try reader.find(Department.self, "Sales").employees.names == ["Ann", "Di", "Fay"])
    }
    #expect(try store.problems() == [])
  }
}
