import Foundation
import Strata
import Testing

/// Objects in no context: related to each other, then inserted.
@Suite("Objects in no context")
struct LooseObjectTests {
  let store: TemporaryStore
  let context: ManagedObjectContext

  init() throws {
    store = try TemporaryStore(TeamModel.make())
    context = store.context()
  }

  private func make<T: Named>(_ type: T.Type, _ name: String) throws -> T {
    let entity = try #require(store.container.managedObjectModel.entitiesByName["\(type)"])
    let object = T(materializing: entity)
    object.name = name
    return object
  }

  @Test("Inverses are kept at once, for every kind of relationship")
  func inversesAreKeptAtOnce() throws {
    let (sales, support) = (try make(Department.self, "Sales"), try make(Department.self, "Support"))
    let (ann, bob) = (try make(Employee.self, "Ann"), try make(Employee.self, "Bob"))
    let (desk, project) = (try make(Desk.self, "d"), try make(Project.self, "Red"))
    let stones = try ["a", "b", "c"].map { try make(Milestone.self, $0) }
    sales.employees.insert(ann)
    bob.department = sales
    #expect(ann.department === sales && Set(sales.employees) == [ann, bob])
    ann.department = support
    #expect(Array(sales.employees) == [bob] && Array(support.employees) == [ann])
    ann.desk = desk
    bob.desk = desk
    #expect(ann.desk == nil && desk.employee === bob)
    bob.manager = ann
    #expect(Array(ann.reports) == [bob])
    ann.friends.insert(bob)
    #expect(Array(bob.friends) == [ann])
    project.setValue(stones, forKey: "milestones")
    project.setValue([stones[2], stones[0]], forKey: "milestones")
    #expect(project.milestones.map(\.name) == ["c", "a"])
    #expect(stones[1].project == nil && stones[2].project === project)
    ann.projects.insert(project)
    #expect(Array(project.members) == [ann])
    project.setValue([bob, ann], forKey: "watchers")
    #expect(Array(ann.watched) == [project])
    ann.guests.insert(bob)
    #expect(bob.host === ann)
    for object in [sales, support, ann, bob, desk, project] as [ManagedObject] {
      #expect(object.managedObjectContext == nil && !object.isInserted && !object.hasChanges)
      #expect(!object.isUpdated && !object.isDeleted && object.objectID.isTemporaryID)
    }
    sales.employees.remove(bob)
    #expect(bob.department == nil)
  }

  @Test(
    "Inserting one inserts those it is related to, with values, relationships and order; awakeFromInsert comes once, last"
  )
  func insertingInsertsTheRelated() throws {
    let (sales, ann) = (try make(Department.self, "Sales"), try make(Employee.self, "Ann"))
    let project = try make(Project.self, "Red")
    let stones = try ["a", "b", "c"].map { try make(Milestone.self, $0) }
    let stranger = try make(Employee.self, "Stranger")
    sales.employees.insert(ann)
    ann.projects.insert(project)
    project.setValue([stones[2], stones[0], stones[1]], forKey: "milestones")
    project["sponsor"] = sales
    let id = ann.objectID
    let recorder = NotificationRecorder(context)
    context.insert(ann)
    #expect(context.insertedObjects == Set([sales, ann, project] + stones))
    #expect(ann.isInserted && ann.managedObjectContext === context && ann.objectID != id)
    #expect(stranger.managedObjectContext == nil && stranger.department == nil)
    #expect(ann.department === sales && project.milestones.map(\.name) == ["c", "a", "b"])
    context.processPendingChanges()
    #expect(recorder.all(.didChange).map(\.inserted.count) == [6])
    try context.save()
    let reader = store.context()
    let found = try #require(try reader.fetch(FetchRequest<Project>(entityName: "Project")).only)
    #expect(found.milestones.map(\.name) == ["c", "a", "b"])
    #expect(found.members.map(\.name) == ["Ann"] && found["sponsor"] as? Department != nil)
    #expect(Array(found.members).only?.department?.name == "Sales")
    #expect(try reader.count(for: FetchRequest<Employee>(entityName: "Employee")) == 1)
    #expect(try (store.store as? LMDBStore)?.check().problems == [])
  }

  @Test("Related to an object of a context, an object in none comes into that context, whichever side is set")
  func relatedToAnInsertedObject() throws {
    let sales = context.make(Department.self, "Sales")
    let (ann, bob) = (try make(Employee.self, "Ann"), try make(Employee.self, "Bob"))
    let (desk, other) = (try make(Desk.self, "d"), try make(Desk.self, "e"))
    ann.desk = desk
    sales.employees.insert(ann)
    #expect(ann.managedObjectContext === context && desk.managedObjectContext === context)
    bob.desk = other
    bob.department = sales
    #expect(bob.managedObjectContext === context && other.isInserted && other.employee === bob)
    #expect(Set(sales.employees) == [ann, bob])
    try context.save()
    #expect(try store.context().count(for: FetchRequest<Desk>(entityName: "Desk")) == 2)
    // Removing an object that is not a member adds none.
    let carl = try make(Employee.self, "Carl")
    sales.employees.remove(carl)
    #expect(carl.managedObjectContext == nil && !context.hasChanges)
    #expect(try (store.store as? LMDBStore)?.check().problems == [])
  }

  @Test("Undo takes all of them out again, redo brings them back")
  func undo() throws {
    context.undoManager = UndoManager()
    let (sales, ann) = (try make(Department.self, "Sales"), try make(Employee.self, "Ann"))
    ann.department = sales
    context.insert(sales)
    context.processPendingChanges()
    context.undo()
    #expect(!context.hasChanges && context.insertedObjects.isEmpty)
    context.redo()
    #expect(context.insertedObjects == [sales, ann] && ann.department === sales)
    try context.save()
    #expect(try (store.store as? LMDBStore)?.check().problems == [])
  }

  @Test("Objects in no context go from thread to thread, and are validated on request")
  func onAnyThread() async throws {
    let (sales, ann) = (try make(Department.self, "Sales"), try make(Employee.self, "Ann"))
    ann.department = sales
    // One thread after another.
    nonisolated(unsafe) let department = sales
    nonisolated(unsafe) let employee = ann
    await Task.detached {
      employee.department = nil
      employee.department = department
    }.value
    try sales.validateForInsert()
    #expect(Array(sales.employees) == [ann])
  }

  @Test(
    "A thousand objects strung together one by one stay one island, at a cost that grows with their number")
  func manyAreJoined() throws {
    let sales = try make(Department.self, "Sales")
    for number in 0..<1_000 { try make(Employee.self, "\(number)").department = sales }
    #expect(sales.employees.count == 1_000)
    context.insert(sales)
    try context.save()
    #expect(try store.context().count(for: FetchRequest<Employee>(entityName: "Employee")) == 1_000)
  }

  @Test("An object whose context was reset is none of these: relating it stops the process with the remedy")
  func afterReset() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let store = try TemporaryStore(TeamModel.make())
      let context = store.context()
      let (sales, ann) = (context.make(Department.self, "Sales"), context.make(Employee.self, "Ann"))
      context.reset()
      ann.department = sales
    }
    expectTrap(result, says: "is in no context any more")
  }
}
