import Foundation
import Strata
import Testing

/// Delete rules and their propagation (rules 211–216, 221).
struct DeleteRuleTests {
  let store: TemporaryStore
  let context: ManagedObjectContext
  let sales: Department

  init() throws {
    store = try TemporaryStore(TeamModel.make())
    context = store.context()
    sales = context.make(Department.self, "Sales")
    for name in ["Ann", "Bob"] { context.make(Employee.self, name).department = sales }
    for name in ["front", "back"] { context.make(Key.self, name).department = sales }
    try context.save()
  }

  @Test("rule 211: Core Data's numbers; nullify is the default")
  func numbers() {
    #expect([DeleteRule.noAction, .nullify, .cascade, .deny].map(\.rawValue) == [0, 1, 2, 3])
    #expect(RelationshipDescription().deleteRule == .nullify)
  }

  @Test("rules 212, 214, 215: at the end of the event nullify clears the inverse and cascade deletes")
  func nullifyAndCascade() throws {
    let ann = try context.find(Employee.self, "Ann")
    let front = try context.find(Key.self, "front")
    context.delete(sales)
    #expect(ann.department === sales, "nothing happens before the end of the event")
    context.processPendingChanges()
    #expect(ann.department == nil)
    #expect(front.isDeleted)
    #expect(context.deletedObjects.count == 3)
    let bob = try context.find(Employee.self, "Bob")
    let back = context.deletedObjects.subtracting([sales, front])
    let recorder = NotificationRecorder(context)
    try context.save()
    let saved = try #require(recorder.all(.didSave).only)
    #expect(
      saved.deleted == Set(([sales, front] + back).map(\.objectID))
        && saved.updated == [ann.objectID, bob.objectID])
    let other = store.context()
    #expect(try other.count(for: FetchRequest<Key>(entityName: "Key")) == 0)
    #expect(try other.find(Employee.self, "Ann").department == nil)
    #expect(try store.problems() == [])
  }

  @Test("rule 216: deleted objects leave the to-many values they were in")
  func deletedObjectsLeaveTheirSets() throws {
    #expect(sales.employees.count == 2)
    context.delete(try context.find(Employee.self, "Ann"))
    context.processPendingChanges()
    #expect(sales.employees.names == ["Bob"])
    #expect(context.updatedObjects == [sales])
    try context.save()
    #expect(sales.employees.names == ["Bob"])
    #expect(try store.fresh { try $0.find(Department.self, "Sales").employees.names } == ["Bob"])
    #expect(try store.problems() == [])
  }

  @Test("rule 23: with propagatesDeletesAtEndOfEvent off, the save propagates")
  func propagationAtSave() throws {
    context.propagatesDeletesAtEndOfEvent = false
    let ann = try context.find(Employee.self, "Ann")
    context.delete(sales)
    context.processPendingChanges()
    #expect(ann.department === sales)
    try context.save()
    #expect(ann.department == nil)
    #expect(try store.context().count(for: FetchRequest<Key>(entityName: "Key")) == 0)
    #expect(try store.problems() == [])
  }

  @Test("rules 212, 213: deny fails the save with 1600 while a destination exists; deleting it lifts that")
  func deny() throws {
    let ann = try context.find(Employee.self, "Ann")
    sales.auditors.insert(ann)
    try context.save()
    context.delete(sales)
    let error = #expect(throws: CoreDataError.self) { try context.save() }
    #expect(error?.code == .validationRelationshipDeniedDelete)
    #expect(error?.userInfo[CoreDataError.Key.validationObject] as? Department === sales)
    #expect(error?.userInfo[CoreDataError.Key.validationKey] as? String == "auditors")
    #expect(
      try store.fresh { try $0.find(Department.self, "Sales").employees.count } == 2, "nothing was written")
    context.delete(ann)
    try context.save()
    #expect(try store.context().count(for: FetchRequest<Department>(entityName: "Department")) == 0)
    #expect(try store.problems() == [])
  }

  @Test("rule 212: a cascade around a cycle ends")
  func cycles() throws {
    let model = TeamModel.make { entities in
      entities["Employee"]?.relationshipsByName["reports"]?.deleteRule = .cascade
      entities["Employee"]?.relationshipsByName["manager"]?.deleteRule = .cascade
    }
    let store = try TemporaryStore(model)
    let context = store.context()
    let people = (0..<5).map { context.make(Employee.self, "\($0)") }
    for place in people.indices { people[place].manager = people[(place + 1) % 5] }
    try context.save()
    context.delete(people[2])
    try context.save()
    #expect(try store.context().count(for: FetchRequest<Employee>(entityName: "Employee")) == 0)
    #expect(try store.problems() == [])
  }

  @Test("rules 24, 212: a cascade around a cycle of new and saved objects ends", arguments: [5, 3, 0])
  func cyclesOfNewObjects(saved: Int) throws {
    let model = TeamModel.make { entities in
      entities["Employee"]?.relationshipsByName["reports"]?.deleteRule = .cascade
      entities["Employee"]?.relationshipsByName["manager"]?.deleteRule = .cascade
    }
    let store = try TemporaryStore(model)
    let context = store.context()
    var people = (0..<saved).map { context.make(Employee.self, "\($0)") }
    try context.save()
    people += (saved..<5).map { context.make(Employee.self, "\($0)") }
    for place in people.indices { people[place].manager = people[(place + 1) % 5] }
    let outsider = context.make(Employee.self, "outsider")
    context.delete(people[4])
    #expect(context.insertedObjects.contains(outsider))
    context.processPendingChanges()
    #expect(context.insertedObjects == [outsider])
    #expect(context.deletedObjects == Set(people.prefix(saved)))
    #expect(people.dropFirst(saved).allSatisfy { $0.managedObjectContext == nil })
    try context.save()
    let left = try store.context().fetch(FetchRequest<Employee>(entityName: "Employee"))
    #expect(left.map(\.name) == ["outsider"])
    #expect(try store.problems() == [])
  }

  @Test("rule 212: a cascade along a chain of 50,000 new objects needs no deep stack")
  func longChainOfNewObjects() throws {
    let model = TeamModel.make { $0["Employee"]?.relationshipsByName["reports"]?.deleteRule = .cascade }
    let store = try TemporaryStore(model)
    let context = store.context()
    let people = (0..<50_000).map { context.make(Employee.self, "\($0)") }
    for place in people.indices.dropFirst() { people[place].manager = people[place - 1] }
    context.delete(people[0])
    #expect(context.insertedObjects.isEmpty)
    try context.save()
    #expect(try store.context().count(for: FetchRequest<Employee>(entityName: "Employee")) == 0)
  }

  @Test(
    "rule 212: no action leaves the other end alone; a reference to a deleted object is an inaccessible fault (rule 48)"
  )
  func noAction() throws {
    let model = TeamModel.make { $0["Department"]?.relationshipsByName["employees"]?.deleteRule = .noAction }
    let store = try TemporaryStore(model)
    let context = store.context()
    let sales = context.make(Department.self, "Sales")
    context.make(Employee.self, "Ann").department = sales
    try context.save()
    context.delete(sales)
    try context.save()
    let other = store.context()
    let ann = try other.find(Employee.self, "Ann")
    let ghost = ann.department
    #expect(ghost != nil)
    #expect(ghost?.name == nil)
    #expect(ghost?.isDeleted == true)
    #expect(try store.problems() == [])
  }

  @Test(
    "rules 212, 235: a deletion under no action that is undone leaves the other ends as they were, unchanged",
    arguments: [false, true])
  func noActionUndone(isSaved: Bool) throws {
    let model = TeamModel.make {
      $0["Department"]?.relationshipsByName["employees"]?.deleteRule = .noAction
      $0["Employee"]?.relationshipsByName["department"]?.deleteRule = .noAction
    }
    let store = try TemporaryStore(model)
    let context = store.context()
    context.undoManager = UndoManager()
    let sales = context.make(Department.self, "Sales")
    let ann = context.make(Employee.self, "Ann")
    ann.department = sales
    try context.save()
    for object in [sales, ann] as [ManagedObject] {
      context.delete(object)
      context.processPendingChanges()
      #expect(context.updatedObjects.isEmpty)
      if isSaved { try context.save() }
      context.undo()
      #expect(!object.isDeleted && context.updatedObjects.isEmpty)
      #expect(ann.department === sales && sales.employees.names == ["Ann"])
      try context.save()
      context.redo()
      context.undo()
      #expect(!context.hasChanges)
      #expect(ann.department === sales && sales.employees.names == ["Ann"])
    }
    let reader = store.context()
    #expect(try reader.find(Employee.self, "Ann").department?.employees.names == ["Ann"])
    #expect(try store.problems() == [])
  }

  @Test("rule 24: deleting a new object frees those it was related to")
  func deletingANewObject() throws {
    let new = context.make(Employee.self, "New")
    new.department = sales
    #expect(sales.employees.count == 3)
    context.delete(new)
    #expect(sales.employees.names == ["Ann", "Bob"])
    try context.save()
    #expect(try store.problems() == [])
  }

  @Test("rule 19: rollback takes deletions and what followed from them back")
  func rollback() throws {
    let ann = try context.find(Employee.self, "Ann")
    context.delete(sales)
    context.processPendingChanges()
    context.rollback()
    #expect(ann.department === sales)
    #expect(sales.employees.names == ["Ann", "Bob"])
    #expect(sales.keys.names == ["back", "front"])
    #expect(!context.hasChanges)
  }

  @Test("rule 221: linked by one context, deleted by another: the delete rule applies to the newcomer")
  func linkedMeanwhile() throws {
    let other = store.context()
    other.make(Employee.self, "Late").department = try other.find(Department.self, "Sales")
    other.make(Key.self, "spare").department = try other.find(Department.self, "Sales")
    context.delete(sales)
    context.processPendingChanges()
    try other.save()
    try context.save()
    #expect(try store.problems() == [])
    #expect(try store.fresh { try $0.find(Employee.self, "Late").department } == nil)
    #expect(try store.context().count(for: FetchRequest<Key>(entityName: "Key")) == 0)
  }

  @Test(
    "rule 221: deleted by one context, linked by another: an error under the error policy, nil under the others"
  )
  func deletedMeanwhile() throws {
    let other = store.context()
    let late = other.make(Employee.self, "Late")
    late.department = try other.find(Department.self, "Sales")
    context.delete(sales)
    try context.save()
    let error = #expect(throws: CoreDataError.self) { try other.save() }
    #expect(error?.code == .managedObjectReferentialIntegrity)
    other.mergePolicy = .mergeByPropertyObjectTrump
    try other.save()
    #expect(late.department == nil)
    #expect(try store.problems() == [])
    #expect(try store.fresh { try $0.find(Employee.self, "Late").department } == nil)
  }

  @Test(
    "rule 221: members of many-to-many and ordered relationships that others have deleted are released, also where only a child has linked them",
    arguments: [false, true], [false, true])
  func lostMembers(inChild: Bool, whileInUse: Bool) async throws {
    let project = context.make(Project.self, "Boat")
    let label = context.make(Label.self, "urgent")
    let shed = context.make(Project.self, "Shed")
    shed.labels.insert(label)
    try context.save()
    let other = store.context(.privateQueue)
    other.mergePolicy = .mergeByPropertyObjectTrump
    let linking = inChild ? ManagedObjectContext(.privateQueue, parent: other) : other
    try linking.performAndWait {
      let late = linking.make(Employee.self, "Late")
      let boat = try linking.find(Project.self, "Boat")
      let urgent = try linking.find(Label.self, "urgent")
      late.projects.insert(boat)
      boat.watchers.append(late)
      boat.milestones.append(linking.make(Milestone.self, "keel"))
      boat.labels.insert(urgent)
      try linking.find(Project.self, "Shed").labels.insert(linking.make(Label.self, "cheap"))
      if inChild { try linking.save() }
    }
    context.delete(project)
    context.delete(label)
    try context.save()
    if whileInUse {
      try await other.saveAsynchronously()
    } else {
      try other.performAndWait { try other.save() }
    }
    #expect(try store.problems() == [])
    try store.fresh { (fresh: ManagedObjectContext) throws in
      #expect(try fresh.find(Employee.self, "Late").projects.isEmpty)
      #expect(try fresh.find(Milestone.self, "keel").project == nil)
      #expect(try fresh.find(Project.self, "Shed").labels.names == ["cheap"])
      #expect(try fresh.count(for: FetchRequest<Project>(entityName: "Project")) == 1)
    }
  }
}
