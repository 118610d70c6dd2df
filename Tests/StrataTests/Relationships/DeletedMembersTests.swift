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
}
