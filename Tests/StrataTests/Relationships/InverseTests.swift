import Foundation
import Strata
import Testing

/// Setting one side sets the other at once (rules 208–210), on every path.
struct InverseTests {
  let store: TemporaryStore
  let context: ManagedObjectContext

  init() throws {
    store = try TemporaryStore(TeamModel.make())
    context = store.context()
  }

  @Test(
    "rule 208: setting a to-one puts the object into the other side's set, and takes it out of the old one's")
  func toOneMaintainsToMany() throws {
    let (sales, support) = (context.make(Department.self, "Sales"), context.make(Department.self, "Support"))
    let ann = context.make(Employee.self, "Ann")
    ann.department = sales
    #expect(sales.employees.names == ["Ann"])
    ann.department = support
    #expect(sales.employees.names == [])
    #expect(support.employees.names == ["Ann"])
    ann.department = nil
    #expect(support.employees.isEmpty)
    #expect(try store.problems() == [])
  }

  @Test("rule 208: adding to a to-many sets the to-one of the member, and takes it from its old owner")
  func toManyMaintainsToOne() throws {
    let (sales, support) = (context.make(Department.self, "Sales"), context.make(Department.self, "Support"))
    let ann = context.make(Employee.self, "Ann")
    sales.employees.insert(ann)
    #expect(ann.department === sales)
    support.employees.insert(ann)
    #expect(ann.department === support)
    #expect(sales.employees.isEmpty)
    support.employees.remove(ann)
    #expect(ann.department == nil)
  }

  @Test("rules 208, 67: what was linked is linked after a save, in another context, and after reopening")
  func linksSurviveSaveAndReopening() throws {
    let sales = context.make(Department.self, "Sales")
    for name in ["Ann", "Bob", "Cid"] { context.make(Employee.self, name).department = sales }
    context.make(Manager.self, "Eve").department = sales
    try context.save()
    #expect(sales.employees.names == ["Ann", "Bob", "Cid", "Eve"])
    #expect(sales.employees.count == 4)
    let other = store.context()
    let found = try other.find(Department.self, "Sales")
    #expect(found.employees.count == 4)
    #expect(other.statistics.relationshipFaultsFired == 0, "counting loads nothing")
    #expect(found.employees.names == ["Ann", "Bob", "Cid", "Eve"])
    #expect(other.statistics.relationshipFaultsFired == 1, "rule 67: one range scan")
    #expect(found.employees.contains { $0 is Manager })
    #expect(try other.find(Employee.self, "Bob").department === found)
    #expect(try store.problems() == [])
    let reopened = try store.reopened(TeamModel.make())
    #expect(
      try reopened.fresh { try $0.find(Department.self, "Sales").employees.names } == [
        "Ann", "Bob", "Cid", "Eve",
      ])
  }

  @Test("rule 208: many-to-many, from both sides, saved and taken apart again")
  func manyToMany() throws {
    let (ann, bob) = (context.make(Employee.self, "Ann"), context.make(Employee.self, "Bob"))
    let (red, blue) = (context.make(Project.self, "Red"), context.make(Project.self, "Blue"))
    ann.projects.insert(red)
    ann.projects.insert(blue)
    red.members.insert(bob)
    #expect(red.members.names == ["Ann", "Bob"])
    #expect(bob.projects.names == ["Red"])
    try context.save()
    #expect(try store.problems() == [])
    let other = store.context()
    let found = try other.find(Project.self, "Red")
    #expect(found.members.count == 2)
    #expect(found.members.names == ["Ann", "Bob"])
    found.members.remove(try other.find(Employee.self, "Ann"))
    #expect(try other.find(Employee.self, "Ann").projects.names == ["Blue"])
    try other.save()
    #expect(try store.fresh { try $0.find(Employee.self, "Ann").projects.names } == ["Blue"])
    #expect(try store.problems() == [])
  }

  @Test("rule 208: one-to-one releases both former partners")
  func oneToOne() throws {
    let (ann, bob) = (context.make(Employee.self, "Ann"), context.make(Employee.self, "Bob"))
    let (one, two) = (context.make(Desk.self, "One"), context.make(Desk.self, "Two"))
    ann.desk = one
    bob.desk = two
    try context.save()
    ann.desk = two
    #expect(two.employee === ann)
    #expect(one.employee == nil)
    #expect(bob.desk == nil)
    try context.save()
    let other = store.context()
    #expect(try other.find(Desk.self, "Two").employee?.name == "Ann")
    #expect(try other.find(Desk.self, "One").employee == nil)
    #expect(try other.find(Employee.self, "Bob").desk == nil)
    #expect(try store.problems() == [])
  }

  @Test("rule 208: relationships to self: a tree, and a relationship that is its own inverse")
  func selfRelationships() throws {
    let (boss, ann, bob) = (
      context.make(Manager.self, "Boss"), context.make(Employee.self, "Ann"),
      context.make(Employee.self, "Bob")
    )
    ann.manager = boss
    bob.manager = ann
    ann.friends.insert(bob)
    ann.friends.insert(ann)
    #expect(bob.friends.names == ["Ann"])
    try context.save()
    let other = store.context()
    #expect(try other.find(Employee.self, "Bob").manager?.manager is Manager)
    #expect(try other.find(Manager.self, "Boss").reports.names == ["Ann"])
    #expect(try other.find(Employee.self, "Ann").friends.names == ["Ann", "Bob"])
    #expect(try store.problems() == [])
    ann.friends.removeAll()
    #expect(bob.friends.isEmpty)
    try context.save()
    #expect(try store.fresh { try $0.find(Employee.self, "Bob").friends.isEmpty })
    #expect(try store.problems() == [])
  }

  @Test(
    "rule 209: both sides and the object moved from count as updated, but only rows that change are written (rule 200)"
  )
  func bothSidesAreUpdated() throws {
    let (sales, support) = (context.make(Department.self, "Sales"), context.make(Department.self, "Support"))
    let ann = context.make(Employee.self, "Ann")
    ann.department = sales
    try context.save()
    ann.department = support
    #expect(context.updatedObjects == [ann, sales, support])
    #expect(sales.hasPersistentChangedValues)
    #expect((sales.changedValues()["employees"] as? Set<ManagedObject>) == [])
    try context.save()
    // The departments' rows are as they were: a context that read them before meets no conflict.
    let other = store.context()
    let theirs = try other.find(Department.self, "Support")
    theirs.name = "Care"
    context.make(Employee.self, "Bob").department = support
    try context.save()
    try other.save()
    #expect(try store.fresh { try $0.find(Department.self, "Care").employees.names } == ["Ann", "Bob"])
  }

  @Test("rule 200, better: contexts that attach children to one busy parent do not conflict")
  func attachingToABusyParentIsNoConflict() throws {
    context.make(Department.self, "Sales")
    try context.save()
    let contexts = (0..<8).map { _ in store.context() }
    for (number, context) in contexts.enumerated() {
      context.make(Employee.self, "E\(number)").department = try context.find(Department.self, "Sales")
    }
    for context in contexts { try context.save() }
    #expect(try store.fresh { try $0.find(Department.self, "Sales").employees.count } == 8)
    #expect(try store.problems() == [])
  }

  @Test("rule 210: a setter replaces what a primitive setter has put into a to-many, and links what stays")
  func setterAfterPrimitiveSetter() throws {
    let sales = context.make(Department.self, "Sales")
    let (ann, bob) = (context.make(Employee.self, "Ann"), context.make(Employee.self, "Bob"))
    for isSaved in [false, true] {
      sales.setPrimitiveValue(Set<ManagedObject>([ann]), forKey: "employees")
      sales.setValue(Set<ManagedObject>([bob]), forKey: "employees")
      #expect(sales.employees.names == ["Bob"] && ann.department == nil && bob.department === sales)
      sales.setPrimitiveValue(Set<ManagedObject>([ann, bob]), forKey: "employees")
      #expect(sales.employees.names == ["Ann", "Bob"] && ann.department == nil)
      sales.employees.remove(ann)
      #expect(sales.employees.names == ["Bob"], "saved: \(isSaved)")
      sales.setPrimitiveValue(Set<ManagedObject>([ann, bob]), forKey: "employees")
      sales.setValue(Set<ManagedObject>([ann, bob]), forKey: "employees")
      #expect(sales.employees.names == ["Ann", "Bob"] && ann.department === sales)
      try context.save()
      #expect(try store.fresh { try $0.find(Department.self, "Sales").employees.names } == ["Ann", "Bob"])
      sales.employees.removeAll()
      try context.save()
    }
    #expect(try store.problems() == [])
  }

  @Test("rule 210: the same of an ordered relationship")
  func setterAfterPrimitiveSetterInOrder() throws {
    let red = context.make(Project.self, "Red")
    let (one, two) = (context.make(Milestone.self, "One"), context.make(Milestone.self, "Two"))
    red.setPrimitiveValue([one], forKey: "milestones")
    red.setValue([two], forKey: "milestones")
    #expect(red.milestones.namesInOrder == ["Two"] && one.project == nil && two.project === red)
    red.setPrimitiveValue([one, two], forKey: "milestones")
    red.setValue([two, one], forKey: "milestones")
    #expect(red.milestones.namesInOrder == ["Two", "One"] && one.project === red)
    try context.save()
    let saved = try store.fresh { try $0.find(Project.self, "Red").milestones.namesInOrder }
    #expect(saved == ["Two", "One"])
    #expect(try store.problems() == [])
  }

  @Test(
    "rule 210: the same of many-to-many relationships, with and without order",
    arguments: zip(["members", "watchers"], ["projects", "watched"]))
  func setterAfterPrimitiveSetterManyToMany(key: String, inverse: String) throws {
    let red = context.make(Project.self, "Red")
    let (ann, bob) = (context.make(Employee.self, "Ann"), context.make(Employee.self, "Bob"))
    func ends(_ object: ManagedObject, _ name: String) -> Set<ManagedObjectID> {
      Set(object.objectIDs(forRelationshipNamed: name))
    }
    for isSaved in [false, true] {
      red.setPrimitiveValue([ann] as [ManagedObject], forKey: key)
      #expect(ends(red, key) == [ann.objectID] && ends(ann, inverse).isEmpty)
      red.setValue([ann] as [ManagedObject], forKey: key)
      #expect(ends(red, key) == [ann.objectID] && ends(ann, inverse) == [red.objectID])
      #expect(ends(bob, inverse).isEmpty, "saved: \(isSaved)")
      #expect(red.isUpdated == isSaved)
      red.setPrimitiveValue([bob] as [ManagedObject], forKey: key)
      red.setValue([bob, ann] as [ManagedObject], forKey: key)
      #expect(ends(bob, inverse) == [red.objectID] && ends(ann, inverse) == [red.objectID])
      red.setPrimitiveValue([bob] as [ManagedObject], forKey: key)
      #expect(ends(ann, inverse) == [red.objectID])
      red.setValue([bob] as [ManagedObject], forKey: key)
      #expect(ends(red, key) == [bob.objectID] && ends(ann, inverse).isEmpty)
      try context.save()
      let found = try store.fresh { try ends($0.find(Project.self, "Red"), key) }
      #expect(found == [bob.objectID], "saved: \(isSaved)")
    }
    #expect(try store.problems() == [])
  }

  @Test("rule 210: a setter without inverse saves what a primitive setter has put there")
  func setterAfterPrimitiveSetterWithoutInverse() throws {
    let (red, label) = (context.make(Project.self, "Red"), context.make(Label.self, "new"))
    try context.save()
    red.setPrimitiveValue([label] as [ManagedObject], forKey: "labels")
    #expect(!context.hasChanges)
    red.setValue([label] as [ManagedObject], forKey: "labels")
    #expect(red.isUpdated)
    try context.save()
    let count = try store.fresh {
      try $0.find(Project.self, "Red").objectIDs(forRelationshipNamed: "labels").count
    }
    #expect(count == 1)
  }

  @Test("rule 210: primitive setters leave the other side alone")
  func primitiveSettersDoNotMaintain() throws {
    let sales = context.make(Department.self, "Sales")
    let ann = context.make(Employee.self, "Ann")
    ann.setPrimitiveValue(sales, forKey: "department")
    #expect(ann.department === sales)
    #expect(sales.employees.isEmpty)
  }

  @Test("rules 79, 222: by key, a to-one is an object, a to-many a set, an ordered one an array")
  func keyValueCoding() throws {
    let sales = context.make(Department.self, "Sales")
    let (ann, bob) = (context.make(Employee.self, "Ann"), context.make(Employee.self, "Bob"))
    sales.setValue(Set<ManagedObject>([ann, bob]), forKey: "employees")
    #expect(sales.value(forKey: "employees") as? Set<ManagedObject> == [ann, bob])
    #expect(ann.value(forKey: "department") as? Department === sales)
    ann.setValue(nil, forKey: "department")
    #expect(sales.employees.names == ["Bob"])
    sales.setValue(NSSet(array: [ann]), forKey: "employees")
    #expect(sales.employees.names == ["Ann"])
    #expect(bob.department == nil)
  }

  enum End: CaseIterable { case ann, bob, one, two }

  @Test(
    "rule 59: refreshing one of those whom a one-to-one move concerns takes back all of it",
    arguments: End.allCases)
  func refreshedPartners(end: End) throws {
    let (ann, bob) = (context.make(Employee.self, "Ann"), context.make(Employee.self, "Bob"))
    let (one, two) = (context.make(Desk.self, "One"), context.make(Desk.self, "Two"))
    ann.desk = one
    bob.desk = two
    try context.save()
    ann.desk = two
    #expect(two.employee === ann && one.employee == nil && bob.desk == nil)
    let refreshed: Named =
      switch end {
      case .ann: ann
      case .bob: bob
      case .one: one
      case .two: two
      }
    context.refresh(refreshed, mergeChanges: false)
    func check() {
      #expect(ann.desk === one && one.employee === ann)
      #expect(bob.desk === two && two.employee === bob)
    }
    check()
    try context.save()
    check()
    #expect(try store.fresh { try $0.find(Employee.self, "Ann").desk?.name } == "One")
    #expect(try store.fresh { try $0.find(Employee.self, "Bob").desk?.name } == "Two")
    #expect(try store.problems() == [])
  }

  @Test(
    "rule 59: a member that has moved stays where it is when an owner is refreshed",
    arguments: [[true, false], [false, true], [true, true]])
  func refreshedOwners(isRefreshed: [Bool]) throws {
    let (sales, support) = (context.make(Department.self, "Sales"), context.make(Department.self, "Support"))
    let (ann, bob) = (context.make(Employee.self, "Ann"), context.make(Employee.self, "Bob"))
    ann.department = sales
    bob.department = sales
    try context.save()
    ann.department = support
    for (owner, isRefreshed) in zip([sales, support], isRefreshed) where isRefreshed {
      context.refresh(owner, mergeChanges: false)
    }
    func check() {
      #expect(ann.department === support && sales.employees.names == ["Bob"])
      #expect(support.employees.names == ["Ann"])
    }
    check()
    try context.save()
    check()
    context.refreshAllObjects()
    check()
    #expect(try store.problems() == [])
  }

  @Test("rule 59: a refreshed object does not show what is deleted, though its row still names it")
  func refreshedBesideDeleted() throws {
    let (ann, one) = (context.make(Employee.self, "Ann"), context.make(Desk.self, "One"))
    let sales = context.make(Department.self, "Sales")
    ann.desk = one
    ann.department = sales
    try context.save()
    context.delete(one)
    context.delete(sales)
    context.processPendingChanges()
    context.refresh(ann, mergeChanges: false)
    #expect(ann.desk == nil && ann.department == nil)
    context.refresh(one, mergeChanges: false)
    #expect(ann.desk === one && one.employee === ann)
    try context.save()
    #expect(ann.desk === one && ann.department == nil)
    #expect(try store.fresh { try $0.find(Employee.self, "Ann").desk?.name } == "One")
    #expect(try store.problems() == [])
  }

  @Test("rules 68, 69: faults of relationships are asked for without firing, IDs without making objects")
  func faultsAndIDs() throws {
    let sales = context.make(Department.self, "Sales")
    let ann = context.make(Employee.self, "Ann")
    ann.department = sales
    try context.save()
    let other = store.context()
    let found = try other.find(Department.self, "Sales")
    #expect(found.hasFault(forRelationshipNamed: "employees"))
    let made = other.statistics.objectsMade
    #expect(found.objectIDs(forRelationshipNamed: "employees") == [ann.objectID])
    #expect(other.statistics.objectsMade == made)
    #expect(found.hasFault(forRelationshipNamed: "employees"))
    #expect(found.employees.names == ["Ann"])
    #expect(!found.hasFault(forRelationshipNamed: "employees"))
    #expect(found.objectIDs(forRelationshipNamed: "employees") == [ann.objectID])
    #expect(!found.hasFault(forRelationshipNamed: "employees"))
    let theirAnn = try other.find(Employee.self, "Ann")
    #expect(theirAnn.objectIDs(forRelationshipNamed: "department") == [sales.objectID])
    #expect(theirAnn.objectIDs(forRelationshipNamed: "manager") == [])
  }

  @Test("rule 223: transient relationships are kept in memory, with their inverses, and not saved")
  func transientRelationships() throws {
    let (ann, bob) = (context.make(Employee.self, "Ann"), context.make(Employee.self, "Bob"))
    bob.host = ann
    #expect(ann.guests.names == ["Bob"])
    try context.save()
    #expect(ann.guests.names == ["Bob"])
    #expect(try store.fresh { try $0.find(Employee.self, "Ann").guests.isEmpty })
    #expect(try store.fresh { try $0.find(Employee.self, "Bob").host } == nil)
    ann.guests.remove(bob)
    #expect(bob.host == nil)
  }

  @Test("relationships without inverse lead one way; deleting what they lead to leaves nothing dangling")
  func withoutInverse() throws {
    let red = context.make(Project.self, "Red")
    let (hot, cold) = (context.make(Label.self, "hot"), context.make(Label.self, "cold"))
    red.labels.insert(hot)
    red.labels.insert(cold)
    red.sponsor = context.make(Department.self, "Sales")
    try context.save()
    let other = store.context()
    #expect(try other.find(Project.self, "Red").labels.names == ["cold", "hot"])
    other.delete(try other.find(Label.self, "hot"))
    other.delete(try other.find(Department.self, "Sales"))
    try other.save()
    #expect(try store.problems() == [])
    let third = store.context()
    #expect(try third.find(Project.self, "Red").labels.names == ["cold"])
    #expect(try third.find(Project.self, "Red").sponsor == nil)
  }
}
