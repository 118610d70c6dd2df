import Foundation
import Strata
import Testing

/// New objects that are deleted while the save that was to write them is under way, when that save is refused (rules 199, 212, 245).
struct DeletedInFlightTests {
  @Test(
    "rules 212, 245: the former owner of such an object has it no more, and lists that count members follow",
    arguments: [false, true], [false, true])
  func members(isTold: Bool, hasChild: Bool) async throws {
    let gate = StoreGate()
    let store = try TemporaryStore(behind: gate, TeamModel.make())
    let writer = store.context()
    writer.make(Employee.self, "bob").department = writer.make(Department.self, "sales")
    try writer.save()
    let context = store.context(.privateQueue)
    context.mergePolicy = .mergeByPropertyObjectTrump
    let child = hasChild ? ManagedObjectContext(.privateQueue, parent: context) : nil
    let request = FetchRequest<Department>(
      entityName: "Department", predicate: try FetchPredicate(format: "employees.@count < 2"),
      sortDescriptors: [FetchSort("name")])
    let (controller, snapshots, new) = try context.performAndWait {
      let controller = FetchedResultsController(fetchRequest: request, managedObjectContext: context)
      try controller.performFetch()
      let snapshots = controller.snapshots
      #expect(controller.fetchedObjects?.count == 1)
      try context.find(Employee.self, "bob").level = 7
      let new = context.make(Employee.self, "new")
      new.department = try context.find(Department.self, "sales")
      context.processPendingChanges()
      #expect(controller.fetchedObjects?.count == 0)
      return (controller, snapshots, Smuggled(new))
    }
    // The save will be refused once.
    try writer.find(Employee.self, "bob").level = 3
    try writer.save()
    gate.close()
    async let saving: Void = context.saveAsynchronously()
    await gate.isReached()
    context.performAndWait {
      context.delete(new.value)
      if isTold { context.processPendingChanges() }
    }
    gate.open()
    try await saving
    try context.performAndWait {
      let sales = try context.find(Department.self, "sales")
      #expect(sales.employees.names == ["bob"] && sales.employees.count == 1)
      let count = try context.count(for: request)
      #expect(count == 1 && controller.fetchedObjects?.count == 1)
      try context.save()
    }
    #expect(try store.fresh { try $0.find(Department.self, "sales").employees.names } == ["bob"])
    withExtendedLifetime((snapshots, child)) {}
  }

  @Test(
    "an object whose deletion is being saved may be edited: it stays deleted, for children, for this save and the next",
    arguments: [false, true], [false, true])
  func editedMeanwhile(isRefused: Bool, isRelated: Bool) async throws {
    let gate = StoreGate()
    let store = try TemporaryStore(behind: gate, TeamModel.make())
    let writer = store.context()
    writer.make(Employee.self, "bob").department = writer.make(Department.self, "sales")
    try writer.save()
    let context = store.context(.privateQueue)
    let child = ManagedObjectContext(.privateQueue, parent: context)
    let bob = try context.performAndWait {
      let bob = try context.find(Employee.self, "bob")
      context.delete(bob)
      return Smuggled(bob)
    }
    if isRefused {
      try writer.find(Employee.self, "bob").level = 3
      try writer.save()
    }
    gate.close()
    async let saving: Void = context.saveAsynchronously()
    await gate.isReached()
    context.performAndWait {
      bob.value.level = 5
      bob.value.name = "robert"
      if isRelated { context.make(Employee.self, "eve").manager = bob.value }
      context.processPendingChanges()
      #expect(bob.value.isDeleted)
    }
    func seen() throws -> Int {
      try child.performAndWait {
        child.refreshAllObjects()
        return try child.count(
          for: FetchRequest<Employee>(
            entityName: "Employee", predicate: try FetchPredicate(format: "name != 'eve'")))
      }
    }
    #expect(try seen() == 0)
    gate.open()
    do {
      try await saving
      #expect(!isRefused)
    } catch {
      #expect(isRefused)
    }
    #expect(try seen() == 0)
    try context.performAndWait {
      if isRefused { context.mergePolicy = .mergeByPropertyObjectTrump }
      if isRelated { try context.find(Employee.self, "eve").manager = nil }
      try context.save()
      #expect(!context.hasChanges)
    }
    #expect(try seen() == 0)
    #expect(
      try store.fresh { try $0.count(for: FetchRequest<Employee>(entityName: "Employee")) }
        == (isRelated ? 1 : 0))
  }
}
