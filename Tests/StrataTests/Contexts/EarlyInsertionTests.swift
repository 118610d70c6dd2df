import Foundation
import Strata
import Testing

/// Objects inserted before a store is attached.
@Suite("Insertion before a store is attached")
struct EarlyInsertionTests {
  let coordinator = PersistentStoreCoordinator(managedObjectModel: TeamModel.make())

  private func names(_ context: ManagedObjectContext) throws -> [String] {
    try context.fetch(FetchRequest<Employee>(entityName: "Employee")).compactMap(\.name).sorted()
  }

  @Test("Objects are made, edited, related, deleted and reported; saving throws 134070 and keeps the changes")
  func everythingButSaving() throws {
    let context = ManagedObjectContext(.confinement, coordinator: coordinator)
    let recorder = NotificationRecorder(context)
    let (sales, ann) = (context.make(Department.self, "Sales"), context.make(Employee.self, "Ann"))
    ann.department = sales
    context.delete(context.make(Employee.self, "gone"))
    #expect(Array(sales.employees) == [ann] && ann.isInserted && ann.objectID.isTemporaryID)
    #expect(context.registeredObject(for: ann.objectID) === ann)
    #expect(context.object(with: ann.objectID) === ann)
    context.processPendingChanges()
    #expect(recorder.all(.didChange).first?.inserted.count == 2)
    let error = #expect(throws: CoreDataError.self) { try context.save() }
    #expect(error?.code == .persistentStoreOperation)
    #expect(context.insertedObjects == [sales, ann])
    context.rollback()
    #expect(!context.hasChanges)
    try context.save()
  }

  @Test("Once a store is there the objects move into it, and are saved with what they are related to")
  func movesIntoTheStore() throws {
    let context = ManagedObjectContext(.confinement, coordinator: coordinator)
    let (sales, ann) = (context.make(Department.self, "Sales"), context.make(Employee.self, "Ann"))
    let (bob, project) = (context.make(Employee.self, "Bob"), context.make(Project.self, "Red"))
    ann.department = sales
    bob.manager = ann
    ann.friends.insert(bob)
    ann.guests.insert(bob)
    project.setValue([bob, ann], forKey: "watchers")
    let stones = ["b", "a"].map { context.make(Milestone.self, $0) }
    project.setValue(stones, forKey: "milestones")
    let (early, held) = (ann.objectID, Set([sales, ann, bob, project] as [ManagedObject]))
    try coordinator.addPersistentStore(.inMemory)
    // Beside the early ones, one that is made when the store is there.
    let carl = context.make(Employee.self, "Carl")
    carl.department = sales
    #expect(try names(context) == ["Ann", "Bob", "Carl"])
    #expect(ann.objectID != early && held.contains(ann) && ann.objectID.isTemporaryID)
    #expect(context.registeredObject(for: ann.objectID) === ann)
    #expect(ann.department === sales && bob.host === ann && project.milestones.map(\.name) == ["b", "a"])
    try context.save()
    #expect(!ann.objectID.isTemporaryID && !ann.isInserted)
    let reader = ManagedObjectContext(.confinement, coordinator: coordinator)
    #expect(try names(reader) == ["Ann", "Bob", "Carl"])
    let red = try #require(try reader.fetch(FetchRequest<Project>(entityName: "Project")).only)
    #expect(red.milestones.map(\.name) == ["b", "a"] && red.watchers.map(\.name) == ["Bob", "Ann"])
    let found = try #require(try reader.existingObject(with: ann.objectID) as? Employee)
    #expect(found.department?.employees.count == 2 && found.friends.map(\.name) == ["Bob"])
    #expect(found.reports.map(\.name) == ["Bob"])
  }

  @Test("Saving straight after the store has come saves them; asynchronously too")
  func savedAtOnce() async throws {
    let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    await context.perform {
      context.make(Employee.self, "Ann").department = context.make(Department.self, "Sales")
    }
    await #expect(throws: CoreDataError.self) { try await context.saveAsynchronously() }
    try coordinator.addPersistentStore(.inMemory)
    try await context.saveAsynchronously()
    let other = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    #expect(try await other.perform { try self.names(other) } == ["Ann"])
  }

  @Test(
    "In a hierarchy: a child saves to its parent; when the store has come and the child is gone the parent saves"
  )
  func inAHierarchy() throws {
    let root = ManagedObjectContext(.confinement, coordinator: coordinator)
    let sales = root.make(Department.self, "Sales")
    var child: ManagedObjectContext? = ManagedObjectContext(.confinement, parent: root)
    do {
      let scratch = try #require(child)
      let department = try #require(scratch.object(with: sales.objectID) as? Department)
      #expect(department.name == "Sales")
      scratch.make(Employee.self, "Ann").department = department
      try scratch.save()
      #expect(sales.employees.map(\.name) == ["Ann"])
    }
    try coordinator.addPersistentStore(.inMemory)
    let error = #expect(throws: CoreDataError.self) { try root.save() }
    #expect(
      error?.code == .persistentStoreOperation && String(describing: error).contains("child contexts"))
    child = nil
    try root.save()
    let reader = ManagedObjectContext(.confinement, coordinator: coordinator)
    #expect(try names(reader) == ["Ann"])
    let found = try reader.fetch(FetchRequest<Department>(entityName: "Department"))
    #expect(found.only?.employees.map(\.name) == ["Ann"])
    _ = child
  }

  @Test("Entities that no attached store holds wait for theirs; relationships with those that have one hold")
  func oneStoreAfterTheOther() throws {
    let model = TeamModel.make()
    let people = ["Employee", "Manager", "Department", "Key", "Desk"].compactMap { model.entitiesByName[$0] }
    let things = ["Project", "Milestone", "Label"].compactMap { model.entitiesByName[$0] }
    model.setEntities(people, forConfigurationName: "People")
    model.setEntities(people + things, forConfigurationName: "All")
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    let context = ManagedObjectContext(.confinement, coordinator: coordinator)
    var first = PersistentStoreDescription.inMemory
    first.configuration = "People"
    let store = try coordinator.addPersistentStore(first)
    let red = context.make(Project.self, "Red")
    #expect(throws: CoreDataError.self) { try context.save() }
    context.make(Employee.self, "Ann")
    try coordinator.remove(store)
    var second = PersistentStoreDescription.inMemory
    second.configuration = "All"
    context.reset()
    try coordinator.addPersistentStore(second)
    let (blue, bob) = (context.make(Project.self, "Blue"), context.make(Employee.self, "Bob"))
    blue.members.insert(bob)
    try context.save()
    #expect(red.managedObjectContext == nil && blue.members.count == 1)
  }

  @Test("Objects in no context can be inserted before there is a store, and saved when it is there")
  func looseThenEarly() throws {
    let context = ManagedObjectContext(.confinement, coordinator: coordinator)
    let entities = coordinator.managedObjectModel.entitiesByName
    let sales = Department(entity: try #require(entities["Department"]), insertInto: nil)
    let ann = Employee(entity: try #require(entities["Employee"]), insertInto: nil)
    ann.name = "Ann"
    ann.department = sales
    context.insert(ann)
    #expect(ann.department === sales && sales.isInserted)
    try coordinator.addPersistentStore(.inMemory)
    try context.save()
    #expect(try names(ManagedObjectContext(.confinement, coordinator: coordinator)) == ["Ann"])
  }
}
