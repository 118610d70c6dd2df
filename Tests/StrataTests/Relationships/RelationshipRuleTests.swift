import Foundation
import Strata
import Testing

/// Counts, prefetching, stores and mistakes (rules 12, 70, 72, 73, 146, 219, 220, 228).
struct RelationshipRuleTests {
  @Test("rules 220, 227, 228: counts of a relationship are checked by the save, with Core Data's codes")
  func counts() throws {
    let model = TeamModel.make { entities in
      let members = entities["Project"]?.relationshipsByName["members"]
      members?.minCount = 2
      members?.maxCount = 3
      entities["Key"]?.relationshipsByName["department"]?.isOptional = false
    }
    let store = try TemporaryStore(model)
    let context = store.context()
    let people = ["a", "b", "c", "d"].map { context.make(Employee.self, $0) }
    let project = context.make(Project.self, "Red")
    try context.save()  // Empty, and optional.
    func code(_ count: Int) -> CoreDataError.Code? {
      project.setValue(Array(people.prefix(count)), forKey: "members")
      do {
        try context.save()
        return nil
      } catch let error as CoreDataError {
        #expect(error.userInfo[CoreDataError.Key.validationKey] as? String == "members")
        let value = error.userInfo[CoreDataError.Key.validationValue]
        #expect((value as? Set<ManagedObject>)?.count == count)
        return error.code
      } catch {
        return .coreData
      }
    }
    #expect(code(1) == .validationRelationshipLacksMinimumCount)
    #expect(code(4) == .validationRelationshipExceedsMaximumCount)
    #expect(code(3) == nil)
    context.make(Key.self, "lost")
    let error = #expect(throws: CoreDataError.self) { try context.save() }
    #expect(error?.code == .validationMissingMandatoryProperty)
    #expect(error?.userInfo[CoreDataError.Key.validationKey] as? String == "department")
  }

  @Test(
    "rule 228: a to-many that is not optional and has no minimum may be empty, of every kind; one with a minimum may not"
  )
  func mandatoryToManyMayBeEmpty() throws {
    let model = TeamModel.make { entities in
      for (entity, name) in [
        ("Department", "employees"), ("Project", "milestones"), ("Project", "labels"), ("Project", "members"),
        ("Employee", "guests"), ("Project", "watchers"),
      ] {
        entities[entity]?.relationshipsByName[name]?.isOptional = false
      }
      entities["Project"]?.relationshipsByName["watchers"]?.minCount = 1
    }
    let store = try TemporaryStore(model)
    let context = store.context()
    let department = context.make(Department.self, "Sales")
    try department.validateForInsert()
    try context.save()
    let ann = context.make(Employee.self, "Ann")
    ann.department = department
    try context.save()
    ann.department = nil
    try department.validateForUpdate()
    try context.save()
    let project = context.make(Project.self, "Red")
    let error = #expect(throws: CoreDataError.self) { try context.save() }
    #expect(error?.code == .validationRelationshipLacksMinimumCount)
    #expect(error?.userInfo[CoreDataError.Key.validationKey] as? String == "watchers")
    project.setValue([ann], forKey: "watchers")
    try context.save()
    let batch = BatchInsertRequest(entityName: "Department", objects: [["name": "Support"]])
    try context.execute(batch)
  }

  @Test("rule 70: prefetching takes one request per relationship, not one per object")
  func prefetching() throws {
    let store = try TemporaryStore(TeamModel.make())
    let context = store.context()
    for number in 0..<20 {
      let department = context.make(Department.self, "D\(number)")
      for place in 0..<5 { context.make(Employee.self, "E\(number)-\(place)").department = department }
    }
    try context.save()
    let other = store.context()
    var request = FetchRequest<Employee>(entityName: "Employee")
    request.relationshipKeyPathsForPrefetching = ["department.employees"]
    let employees = try other.fetch(request)
    let before = other.statistics
    for employee in employees { #expect(employee.department?.employees.contains(employee) == true) }
    for employee in employees { #expect(employee.department?.name != nil) }
    #expect(other.statistics.faultsFired == before.faultsFired)
    #expect(other.statistics.relationshipFaultsFired == 0)
    #expect(other.statistics.fetches <= 4)
    request.relationshipKeyPathsForPrefetching = ["department.nonsense"]
    #expect(throws: FetchError.self) { try other.fetch(request) }
  }

  @Test("rules 72, 73: changed and committed values speak of relationships too")
  func changedAndCommittedValues() throws {
    let store = try TemporaryStore(TeamModel.make())
    let context = store.context()
    let (sales, support) = (context.make(Department.self, "Sales"), context.make(Department.self, "Support"))
    let ann = context.make(Employee.self, "Ann")
    ann.department = sales
    try context.save()
    ann.department = support
    #expect(ann.changedValues()["department"] as? Department === support)
    #expect(ann.committedValues(forKeys: ["department"])["department"] as? Department === sales)
    #expect(sales.committedValues(forKeys: ["employees"])["employees"] as? Set<ManagedObject> == [ann])
    #expect(support.changedValues()["employees"] as? Set<ManagedObject> == [ann])
    context.refresh(ann, mergeChanges: false)
    #expect(ann.department === sales, "rule 59: the edit is gone")
    #expect(support.employees.isEmpty)
    #expect(sales.employees.names == ["Ann"])
  }

  @Test(
    "rule 196: a policy leaves a one-to-one relationship whole that another context has set meanwhile",
    arguments: [MergePolicy.overwrite, .mergeByPropertyObjectTrump, .mergeByPropertyStoreTrump, .rollback])
  func oneToOneUnderPolicies(policy: MergePolicy) throws {
    let store = try TemporaryStore(TeamModel.make())
    let (first, second) = (store.context(), store.context())
    second.mergePolicy = policy
    let ann = first.make(Employee.self, "Ann")
    let desk = first.make(Desk.self, "One")
    try first.save()
    try second.find(Employee.self, "Ann").level = 5
    ann.desk = desk
    try first.save()
    try second.save()
    #expect(try store.problems() == [])
    try store.fresh { (fresh: ManagedObjectContext) throws in
      #expect(try fresh.find(Employee.self, "Ann").desk?.name == "One")
      #expect(try fresh.find(Desk.self, "One").employee?.name == "Ann")
    }
  }

  @Test(
    "rule 197: an object that rollback gives back to the owner that another context has given it is a member there",
    arguments: [false, true])
  func rolledBackToAnotherOwner(isDeleted: Bool) throws {
    let store = try TemporaryStore(TeamModel.make())
    let (mine, theirs) = (store.context(), store.context())
    let (sales, support) = (mine.make(Department.self, "Sales"), mine.make(Department.self, "Support"))
    let ann = mine.make(Employee.self, "Ann")
    ann.department = sales
    try mine.save()
    #expect(sales.employees.names == ["Ann"] && support.employees.names == [])
    if isDeleted { mine.delete(ann) } else { ann.level = 3 }
    let theirSupport = try theirs.find(Department.self, "Support")
    try theirs.find(Employee.self, "Ann").department = theirSupport
    try theirs.save()
    mine.mergePolicy = .rollback
    try mine.save()
    #expect(ann.department === support)
    #expect(sales.employees.names == [] && support.employees.names == ["Ann"])
    #expect(try store.problems() == [])
  }

  private func addSecond(to store: TemporaryStore) throws -> any PersistentStore {
    let url = store.folderURL.appendingPathComponent("Second.strata")
    return try store.coordinator.addPersistentStore(PersistentStoreDescription(url: url))
  }

  @Test("rules 26, 146: an object that is assigned to another store is related to nothing else there")
  func assignedElsewhere() throws {
    let store = try TemporaryStore(TeamModel.make())
    let second = try addSecond(to: store)
    let context = store.context()
    let (sales, other) = (context.make(Department.self, "Sales"), context.make(Department.self, "Other"))
    try context.assign(other, to: second)
    try context.save()
    let ann = context.make(Employee.self, "Ann")
    ann.department = sales
    try context.assign(ann, to: second)
    #expect(ann.department === sales && sales.employees.isEmpty && other.employees.isEmpty)
    let error = #expect(throws: CoreDataError.self) { try context.save() }
    #expect(error?.code == .managedObjectExternalRelationship)
    ann.department = other
    try context.save()
    #expect(other.employees.names == ["Ann"] && sales.employees.isEmpty)
  }

  @Test("rule 26: objects that are assigned to the same store one after the other stay related")
  func assignedTogether() throws {
    let store = try TemporaryStore(TeamModel.make())
    let second = try addSecond(to: store)
    let context = store.context()
    let (ann, bob) = (context.make(Employee.self, "Ann"), context.make(Employee.self, "Bob"))
    let (sales, boat) = (context.make(Department.self, "Sales"), context.make(Project.self, "Boat"))
    let (desk, label) = (context.make(Desk.self, "Desk"), context.make(Label.self, "Label"))
    let stones = ["b", "a"].map { context.make(Milestone.self, $0) }
    for employee in [ann, bob] {
      employee.department = sales
      boat.watchers.append(employee)
      boat.members.insert(employee)
    }
    ann.manager = bob
    ann.friends.insert(bob)
    ann.desk = desk
    boat.sponsor = sales
    boat.labels.insert(label)
    boat.setValue(stones, forKey: "milestones")
    context.processPendingChanges()
    let all: [ManagedObject] = [sales, ann, boat, bob, desk, label, stones[0], stones[1]]
    for object in all { try context.assign(object, to: second) }
    try context.save()
    #expect(all.allSatisfy { $0.objectID.storeIdentifier == second.identifier })
    try store.fresh { (reader: ManagedObjectContext) throws in
      let (ann, boat) = (try reader.find(Employee.self, "Ann"), try reader.find(Project.self, "Boat"))
      #expect(ann.department?.employees.names == ["Ann", "Bob"] && boat.sponsor === ann.department)
      #expect(ann.manager?.name == "Bob" && ann.friends.names == ["Bob"] && ann.desk?.employee === ann)
      #expect(boat.watchers.names == ["Ann", "Bob"] && boat.members.names == ["Ann", "Bob"])
      #expect(boat.labels.names == ["Label"] && boat.milestones.namesInOrder == ["b", "a"])
    }
  }

  @Test("rule 146: of several objects of another store each is refused until it is taken out at either end")
  func severalAcrossStores() throws {
    let store = try TemporaryStore(TeamModel.make())
    let second = try addSecond(to: store)
    let context = store.context()
    let (ann, bob) = (context.make(Employee.self, "Ann"), context.make(Employee.self, "Bob"))
    let boat = context.make(Project.self, "Boat")
    for employee in [ann, bob] {
      try context.assign(employee, to: second)
      boat.members.insert(employee)
    }
    boat.members.remove(bob)
    let error = #expect(throws: CoreDataError.self) { try context.save() }
    #expect(error?.code == .managedObjectExternalRelationship)
    ann.projects.remove(boat)
    try context.save()
  }

  @Test(
    "rules 76, 146: what a primitive setter takes of another store is refused by the save, too",
    arguments: [false, true])
  func primitiveAcrossStores(isAnnounced: Bool) throws {
    let store = try TemporaryStore(TeamModel.make())
    let second = try addSecond(to: store)
    let context = store.context()
    let (ann, boat) = (context.make(Employee.self, "Ann"), context.make(Project.self, "Boat"))
    // Of the keys that the objects of the other store have there.
    let (other, tag) = (context.make(Department.self, "Other"), context.make(Label.self, "Tag"))
    let (sales, bob) = (context.make(Department.self, "Sales"), context.make(Employee.self, "Bob"))
    let label = context.make(Label.self, "Label")
    for object in [sales, bob, label] { try context.assign(object, to: second) }
    try context.save()
    let samples: [(owner: Named, key: String, end: Named)] = [
      (ann, "department", sales), (boat, "sponsor", sales), (boat, "members", bob), (boat, "labels", label),
    ]
    for (owner, key, end) in samples {
      let isToMany = owner.entity.relationshipsByName[key]?.isToMany == true
      if isAnnounced { owner.willChangeValue(forKey: key) }
      owner.setPrimitiveValue(isToMany ? Set<ManagedObject>([end]) as Any : end, forKey: key)
      if isAnnounced { owner.didChangeValue(forKey: key) } else { owner.name = key }
      if !isToMany { #expect(owner.value(forKey: key) as? Named === end, "\(key)") }
      let error = #expect(throws: CoreDataError.self, "\(key)") { try context.save() }
      #expect(error?.code == .managedObjectExternalRelationship, "\(key)")
      owner.setValue(nil, forKey: key)
      try context.save()
    }
    #expect(other.employees.isEmpty && ann.department == nil && boat.sponsor == nil)
    #expect(boat.labels.isEmpty && boat.members.isEmpty && ann.projects.isEmpty && tag.name == "Tag")
    #expect(try store.problems() == [])
  }

  @Test("rule 146: a relationship to an object of another store is refused by the save with 133010")
  func acrossStores() async throws {
    let store = try TemporaryStore(TeamModel.make())
    _ = try addSecond(to: store)
    let context = store.context(.privateQueue)
    let (ann, boat, sales) = try await context.perform {
      let sales = context.make(Department.self, "Sales")
      let ann = context.make(Employee.self, "Ann")
      let boat = context.make(Project.self, "Boat")
      try context.assign(ann, to: store.coordinator.persistentStores[1])
      ann.department = sales
      boat.watchers.append(ann)
      boat.members.insert(ann)
      let error = #expect(throws: CoreDataError.self) { try context.save() }
      #expect(error?.code == .managedObjectExternalRelationship)
      return (ann.objectID, boat.objectID, sales.objectID)
    }
    let error = await #expect(throws: CoreDataError.self) { try await context.saveAsynchronously() }
    #expect(error?.code == .managedObjectExternalRelationship)
    try await context.perform {
      let ann = try #require(context.object(with: ann) as? Employee)
      let boat = try #require(context.object(with: boat) as? Project)
      #expect(context.insertedObjects.count == 3, "nothing is lost by the failed saves")
      #expect(ann.department === context.object(with: sales))
      ann.department = nil
      boat.watchers.remove(ann)
      boat.members.remove(ann)
    }
    try await context.saveAsynchronously()
    #expect(try store.context().count(for: FetchRequest<Employee>(entityName: "Employee")) == 1)
    try store.close()
  }

  @Test("rule 12: an object of another context as a relationship traps, with both contexts and the remedy")
  func foreignObject() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let store = try TemporaryStore(TeamModel.make())
      let (left, right) = (store.context(), store.context())
      left.name = "left"
      right.name = "right"
      left.make(Employee.self, "Ann").department = right.make(Department.self, "Sales")
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(text.contains("Employee.department"))
    #expect(text.contains("“left”") && text.contains("“right”"))
    #expect(text.contains("objectID"))
  }

  @Test("a model with relationships that do not fit is refused with all its sentences")
  func wrongModels() {
    let model = TeamModel.make { entities in
      entities["Employee"]?.relationshipsByName["department"]?.inverseRelationship = nil
      entities["Desk"]?.relationshipsByName["employee"]?.destinationEntity = nil
      entities["Project"]?.relationshipsByName["milestones"]?.minCount = 5
      entities["Project"]?.relationshipsByName["milestones"]?.maxCount = 3
    }
    let error = #expect(throws: ModelError.self) { try model.schema() }
    let text = error?.sentences.joined(separator: "\n") ?? ""
    #expect(
      text.contains(
        "Relationship Department.employees has the inverse Employee.department, which has another inverse."))
    #expect(text.contains("Relationship Desk.employee has no destination entity."))
    #expect(text.contains("Relationship Project.milestones wants at least 5 and at most 3 objects."))
  }

  @Test("adding to, removing from and counting a large relationship loads nothing of it")
  func largeRelationship() throws {
    let store = try TemporaryStore(TeamModel.make())
    let context = store.context()
    let sales = context.make(Department.self, "Sales")
    let project = context.make(Project.self, "Red")
    for number in 0..<5_000 {
      let employee = context.make(Employee.self, "\(number)")
      sales.employees.insert(employee)
      project.members.insert(employee)
      project.watchers.append(employee)
    }
    try context.save()
    let other = store.context()
    let (theirs, work) = (try other.find(Department.self, "Sales"), try other.find(Project.self, "Red"))
    let new = other.make(Employee.self, "new")
    theirs.employees.insert(new)
    work.members.insert(new)
    work.watchers.append(new)
    theirs.employees.remove(try other.find(Employee.self, "7"))
    work.members.remove(try other.find(Employee.self, "8"))
    #expect(theirs.employees.count == 5_000)
    #expect(work.members.count == 5_000)
    #expect(work.watchers.count == 5_001)
    #expect(work.members.contains(new))
    #expect(!work.members.contains(try other.find(Employee.self, "8")))
    try other.save()
    #expect(theirs.employees.count == 5_000)
    #expect(other.statistics.relationshipFaultsFired == 0)
    #expect(other.statistics.objectsMade < 20)
    #expect(try store.problems() == [])
    #expect(try store.fresh { try $0.find(Project.self, "Red").watchers.last?.name } == "new")
  }

  @Test("a cascade keeps no rows of what it deletes, and reads them together")
  func cascadeOfMany() throws {
    let store = try TemporaryStore(TeamModel.make())
    let context = store.context()
    let sales = context.make(Department.self, "Sales")
    for number in 0..<3_000 { context.make(Key.self, "\(number)").department = sales }
    try context.save()
    let other = store.context()
    other.delete(try other.find(Department.self, "Sales"))
    other.processPendingChanges()
    #expect(other.deletedObjects.count == 3_001)
    #expect(other.statistics.faultsFired == 0)
    #expect(other.statistics.fetches < 10)
    try other.save()
    #expect(try store.context().count(for: FetchRequest<Key>(entityName: "Key")) == 0)
    #expect(try store.problems() == [])
  }
}
