import Foundation
@_spi(Testing) import Strata
import Testing

/// Batch deletes and delete rules in the store (rules 211–213, 271).
struct BatchDeleteTests {
  let store: TemporaryStore
  let maker: ManagedObjectContext
  let context: ManagedObjectContext

  init() throws {
    store = try TemporaryStore(TeamModel.make())
    maker = store.context()
    context = store.context()
  }

  @discardableResult
  private func delete<T: Named>(_ type: T.Type, _ name: String, step: Int = 1) throws -> BatchResult {
    var request = BatchDeleteRequest(
      fetchRequest: FetchRequest<T>(
        entityName: String(describing: type), predicate: Attribute("name") == name))
    request.step = step
    request.resultType = .objectIDs
    return try context.execute(request)
  }

  private func names<T: Named>(_ type: T.Type) throws -> [String] {
    try store.fresh { try $0.fetch(FetchRequest<T>(entityName: String(describing: type))).names }
  }

  @Test("rule 271: what a fetch request finds is deleted, window and order included")
  func byRequest() throws {
    for name in ["a", "b", "c", "d", "e"] { maker.make(Label.self, name) }
    try maker.save()
    var request = FetchRequest<Label>(entityName: "Label", predicate: Attribute("name") > "a")
    request.sortDescriptors = [FetchSort("name", ascending: false)]
    request.fetchLimit = 2
    #expect(try context.execute(BatchDeleteRequest(fetchRequest: request)).count == 2)
    #expect(try names(Label.self) == ["a", "b", "c"])
    #expect(BatchDeleteRequest(fetchRequest: request).requestType.rawValue == 7)
    #expect(try store.problems() == [])
  }

  @Test("rule 271: IDs of one entity go, mixed ones are an error, missing ones do not count")
  func byIDs() throws {
    let labels = ["a", "b", "c"].map { maker.make(Label.self, $0).objectID }
    let desk = maker.make(Desk.self, "desk").objectID
    try maker.save()
    let error = #expect(throws: CoreDataError.self) {
      try context.execute(BatchDeleteRequest(objectIDs: [labels[0], desk]))
    }
    #expect(error?.description.contains("of one entity") == true)
    #expect(try context.execute(BatchDeleteRequest(objectIDs: [labels[0], labels[2], labels[0]])).count == 2)
    #expect(try context.execute(BatchDeleteRequest(objectIDs: labels)).count == 1)
    #expect(try context.execute(BatchDeleteRequest(objectIDs: [])).count == 0)
    #expect(try names(Label.self) == [])
    #expect(try names(Desk.self) == ["desk"])
  }

  @Test("rule 271: IDs of an entity and of its subentities go together")
  func byIDsOfAHierarchy() throws {
    let ids = [
      maker.make(Employee.self, "ann").objectID, maker.make(Manager.self, "bob").objectID,
      maker.make(Employee.self, "cid").objectID,
    ]
    maker.make(Manager.self, "dan")
    try maker.save()
    #expect(try context.execute(BatchDeleteRequest(objectIDs: ids)).count == 3)
    #expect(try names(Employee.self) == ["dan"])
    #expect(try store.problems() == [])
  }

  @Test(
    "rule 212: nullify clears references, also of partners and of relationships without an inverse",
    arguments: [1, 100])
  func nullify(step: Int) throws {
    let sales = maker.make(Department.self, "sales")
    let (ann, bob) = (maker.make(Employee.self, "ann"), maker.make(Employee.self, "bob"))
    for employee in [ann, bob] { employee.department = sales }
    bob.manager = ann
    ann.desk = maker.make(Desk.self, "desk")
    ann.friends.insert(bob)
    let project = maker.make(Project.self, "project")
    project.sponsor = sales
    project.members.insert(ann)
    project.watchers.append(ann)
    project.watchers.append(bob)
    try maker.save()
    try delete(Department.self, "sales", step: step)
    try delete(Employee.self, "ann", step: step)
    try store.fresh { (context) throws in
      let bob = try context.find(Employee.self, "bob")
      #expect(bob.department == nil)
      #expect(bob.manager == nil)
      #expect(bob.friends.isEmpty)
      #expect(try context.find(Desk.self, "desk").employee == nil)
      let project = try context.find(Project.self, "project")
      #expect(project.sponsor == nil)
      #expect(project.members.isEmpty)
      #expect(project.watchers.namesInOrder == ["bob"])
    }
    #expect(try store.problems() == [])
  }

  @Test("rule 212: cascade takes others along, over several steps and levels", arguments: [1, 3, 1_000])
  func cascade(step: Int) throws {
    for number in 0..<20 {
      let project = maker.make(Project.self, number < 15 ? "old" : "new")
      for milestone in 0..<4 {
        project.milestones.append(maker.make(Milestone.self, "\(number)-\(milestone)"))
      }
      project.labels.insert(maker.make(Label.self, "label"))
    }
    try maker.save()
    let result = try delete(Project.self, "old", step: step)
    // Fifteen projects, sixty milestones.
    #expect(result.count == 75)
    #expect(Set(result.objectIDs ?? []).count == 75)
    #expect(try names(Project.self).count == 5)
    #expect(try names(Milestone.self).count == 20)
    #expect(try names(Label.self).count == 20)
    #expect(try store.problems() == [])
  }

  @Test("rule 213: deny refuses the whole batch, before anything is written, unless its members go as well")
  func deny() throws {
    let sales = maker.make(Department.self, "sales")
    sales.auditors.insert(maker.make(Employee.self, "ann"))
    sales.keys.insert(maker.make(Key.self, "key"))
    maker.make(Department.self, "lab")
    try maker.save()
    let request = BatchDeleteRequest(fetchRequest: FetchRequest<Department>(entityName: "Department"))
    let error = #expect(throws: CoreDataError.self) { try context.execute(request) }
    #expect(error?.code == .validationRelationshipDeniedDelete)
    #expect(error?.description.contains("auditors") == true)
    #expect(try names(Department.self) == ["lab", "sales"])
    #expect(try names(Key.self) == ["key"])
    try delete(Employee.self, "ann")
    #expect(try context.execute(request).count == 3)
    #expect(try names(Key.self) == [])
    #expect(try store.problems() == [])
  }

  @Test("a mandatory reference is not cleared: the batch is refused")
  func mandatoryReferences() throws {
    let model = TeamModel.make { entities in
      for property in entities["Employee"]?.properties ?? [] where property.name == "department" {
        (property as? RelationshipDescription)?.isOptional = false
      }
    }
    let store = try TemporaryStore(model)
    let maker = store.context()
    maker.make(Employee.self, "ann").department = maker.make(Department.self, "sales")
    try maker.save()
    let error = #expect(throws: CoreDataError.self) {
      try maker.execute(BatchDeleteRequest(fetchRequest: FetchRequest<Department>(entityName: "Department")))
    }
    #expect(error?.code == .validationMissingMandatoryProperty)
    #expect(try store.problems() == [])
    try store.fresh { (context) throws in
      #expect(try context.find(Department.self, "sales").employees.names == ["ann"])
    }
  }

  @Test("rule 189: a context that edits a deleted object finds a conflict")
  func conflicts() throws {
    maker.make(Label.self, "a")
    try maker.save()
    let stale = store.context()
    try stale.find(Label.self, "a").name = "b"
    try delete(Label.self, "a")
    let error = #expect(throws: CoreDataError.self) { try stale.save() }
    #expect(error?.code == .managedObjectMerge)
  }

  @Test("a to-one relationship is set on insert, ordered inverses append, one-to-one partners follow")
  func insertingRelationships() throws {
    let project = maker.make(Project.self, "project")
    project.milestones.append(maker.make(Milestone.self, "first"))
    let desk = maker.make(Desk.self, "desk")
    maker.make(Employee.self, "old").desk = desk
    try maker.save()
    var request = BatchInsertRequest(
      entityName: "Milestone",
      objects: ["b", "a", "c"].map { ["name": $0, "project": project.objectID] })
    request.step = 2
    try context.execute(request)
    try context.execute(
      BatchInsertRequest(
        entityName: "Employee",
        objects: [
          ["name": "new", "desk": desk.objectID], ["name": "other"],
          ["name": "newer", "desk": desk.objectID],
        ]))
    try store.fresh { (context) throws in
      #expect(
        try context.find(Project.self, "project").milestones.namesInOrder == ["first", "b", "a", "c"])
      #expect(try context.find(Desk.self, "desk").employee?.name == "newer")
      #expect(try context.find(Employee.self, "old").desk == nil)
      #expect(try context.find(Employee.self, "new").desk == nil)
    }
    let handler = BatchInsertRequest(entityName: "Milestone") { (object: ManagedObject) in
      guard let milestone = object as? Milestone, milestone.managedObjectContext?.insertedObjects.count == 1
      else {
        return true
      }
      milestone.name = "by object"
      milestone.project = milestone.managedObjectContext?.object(with: project.objectID) as? Project
      return false
    }
    #expect(try context.execute(handler).count == 1)
    try store.fresh { (context) throws in
      #expect(try context.find(Project.self, "project").milestones.namesInOrder.last == "by object")
    }
    let error = #expect(throws: CoreDataError.self) {
      try context.execute(
        BatchInsertRequest(entityName: "Project") { (object: ManagedObject) in
          (object as? Project)?.labels.insert(
            Label("label", in: object.managedObjectContext ?? self.context))
          return false
        })
    }
    #expect(error?.description.contains("to-many") == true)
    #expect(try store.problems() == [])
  }
}
