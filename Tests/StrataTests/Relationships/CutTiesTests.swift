import Foundation
import Strata
import Testing

/// A child cuts what forbids a deletion, deletes the object, and saves: the parent does not find it forbidden either (rules 153, 213).
struct CutTiesTests {
  @Test(
    "rules 153, 213: what a child has untied and deleted is not refused by its parent's save",
    arguments: TiedWorld.Tie.allCases, TiedWorld.Reason.allCases)
  func untiedAndDeleted(tie: TiedWorld.Tie, reason: TiedWorld.Reason) throws {
    for saves in [1, 2] {
      let world = try TiedWorld(tie)
      try world.fill(reason)
      let parent = world.store.context()
      let held = try world.doomed(parent)
      try world.prepare(parent, reason)
      let child = ManagedObjectContext(.confinement, parent: parent)
      try world.cut(child)
      if saves == 2 { try child.save() }
      child.delete(try world.doomed(child))
      try child.save()
      try world.finish(parent, reason)
      withExtendedLifetime(held) {}
    }
  }

  @Test(
    "rules 153, 213: so it is when the deletion comes through a context between them",
    arguments: TiedWorld.Tie.allCases, TiedWorld.Reason.allCases)
  func twoLevels(tie: TiedWorld.Tie, reason: TiedWorld.Reason) throws {
    for isClaimed in [false, true] {
      let world = try TiedWorld(tie)
      try world.fill(reason)
      let parent = world.store.context()
      try world.prepare(parent, reason)
      let middle = ManagedObjectContext(.confinement, parent: parent)
      if isClaimed { try world.doomed(middle).setValue("it", forKey: "name") }
      middle.processPendingChanges()
      let child = ManagedObjectContext(.confinement, parent: middle)
      try world.cut(child)
      child.delete(try world.doomed(child))
      try child.save()
      try middle.save()
      try world.finish(parent, reason)
    }
  }

  @Test(
    "rules 153, 213: so it is after a child's save off its queue", arguments: TiedWorld.Tie.allCases,
    TiedWorld.Reason.allCases)
  func asynchronously(tie: TiedWorld.Tie, reason: TiedWorld.Reason) async throws {
    let world = try TiedWorld(tie)
    try world.fill(reason)
    let parent = ManagedObjectContext(.privateQueue, coordinator: world.store.coordinator)
    try await parent.perform { try world.prepare(parent, reason) }
    let child = ManagedObjectContext(.privateQueue, parent: parent)
    try await child.perform {
      try world.cut(child)
      child.delete(try world.doomed(child))
    }
    try await child.saveAsynchronously()
    try await parent.perform { try world.finish(parent, reason) }
  }

  @Test("rule 213: what the parent ties meanwhile forbids the deletion", arguments: TiedWorld.Tie.allCases)
  func tiedMeanwhile(tie: TiedWorld.Tie) throws {
    let world = try TiedWorld(tie)
    try world.fill(.link)
    let parent = world.store.context()
    let child = ManagedObjectContext(.confinement, parent: parent)
    let theirs = try world.doomed(child)
    try world.link(parent)
    child.delete(theirs)
    #expect(throws: CoreDataError.self) {
      try child.save()
      try parent.save()
    }
  }
}

/// A store with an object that a relationship forbids to delete.
struct TiedWorld {
  /// A relationship with the rule deny.
  enum Tie: CaseIterable {
    case partner, owner, members, crowd

    /// Desk.employee, Employee.department, Department.employees, Department.auditors.
    var entity: String { self == .partner ? "Desk" : self == .owner ? "Employee" : "Department" }
    var name: String {
      switch self {
      case .partner: "employee"
      case .owner: "department"
      case .members: "employees"
      case .crowd: "auditors"
      }
    }
  }

  /// How the parent comes to look at the deletion as at one of its own.
  enum Reason: CaseIterable { case link, edit, refresh, undoManager }

  let store: TemporaryStore
  let tie: Tie

  init(_ tie: Tie) throws {
    self.tie = tie
    store = try TemporaryStore(
      TeamModel.make { entities in
        for property in entities[tie.entity]?.properties ?? [] where property.name == tie.name {
          (property as? RelationshipDescription)?.deleteRule = .deny
        }
      })
  }

  func link(_ context: ManagedObjectContext) throws {
    let ann = try context.find(Employee.self, "Ann")
    switch tie {
    case .partner: ann.desk = try context.find(Desk.self, "it")
    case .owner: try context.find(Employee.self, "it").department = try context.find(Department.self, "Sales")
    case .members: ann.department = try context.find(Department.self, "it")
    case .crowd: try context.find(Department.self, "it").auditors.insert(ann)
    }
  }

  func cut(_ context: ManagedObjectContext) throws {
    let ann = try context.find(Employee.self, "Ann")
    switch tie {
    case .partner: ann.desk = nil
    case .owner: try context.find(Employee.self, "it").department = nil
    case .members: ann.department = nil
    case .crowd: ann.audits.remove(try context.find(Department.self, "it"))
    }
  }

  func doomed(_ context: ManagedObjectContext) throws -> Named {
    switch tie {
    case .partner: try context.find(Desk.self, "it")
    case .owner: try context.find(Employee.self, "it")
    case .members, .crowd: try context.find(Department.self, "it")
    }
  }

  /// What is there before, with the tie where the parent does not make it itself.
  func fill(_ reason: Reason) throws {
    let context = store.context()
    context.make(Employee.self, "Ann")
    context.make(Department.self, "Sales")
    switch tie {
    case .partner: context.make(Desk.self, "it")
    case .owner: context.make(Employee.self, "it")
    case .members, .crowd: context.make(Department.self, "it")
    }
    if reason != .link { try link(context) }
    try context.save()
  }

  func prepare(_ parent: ManagedObjectContext, _ reason: Reason) throws {
    switch reason {
    case .link: try link(parent)
    case .edit: try doomed(parent).setValue("it", forKey: "name")
    case .refresh: break
    case .undoManager: parent.undoManager = UndoManager()
    }
    parent.processPendingChanges()
  }

  func finish(_ parent: ManagedObjectContext, _ reason: Reason) throws {
    if reason == .refresh {
      // A newer row comes under what the child has done.
      let other = store.context()
      try doomed(other).name = "other"
      try other.save()
      parent.refreshAllObjects()
    }
    try parent.save()
    #expect(!parent.hasChanges)
    let left = try store.fresh { context in
      try context.fetch(FetchRequest<Named>(entityName: tie.entity)).names
    }
    #expect(left == (tie == .owner ? ["Ann"] : tie == .partner ? [] : ["Sales"]))
    #expect(try store.problems() == [])
  }
}
