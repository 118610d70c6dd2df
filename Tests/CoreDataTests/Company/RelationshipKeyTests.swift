import CoreData
import Testing

@Suite("Relationships of people at work")
struct RelationshipKeyTests {
  let stand: CompanyStand
  let context: NSManagedObjectContext

  init() throws {
    stand = try CompanyStand()
    context = try stand.stocked()
  }

  @Test("A mutable set keeps inverses, tells both sides as updated, and is live")
  func mutableSet() throws {
    let sales = try context.department("Sales")
    let (anna, dora) = (try context.employee("Anna"), try context.employee("Dora"))
    let staff = sales.mutableSetValue(forKey: "staff")
    #expect(staff.count == 2)
    staff.add(dora)
    #expect(dora.department == sales && staff.count == 3 && staff.contains(dora))
    anna.department = nil
    #expect(staff.count == 2 && !staff.contains(anna))
    #expect(context.updatedObjects.isSuperset(of: [sales, dora, anna]))
    staff.remove(dora)
    #expect(dora.department == nil)
    staff.removeAllObjects()
    #expect(try context.employee("Bert").department == nil && sales.staff.isEmpty)
    context.rollback()
    #expect(staff.count == 2 && sales.staff.count == 2)
  }

  @Test("A mutable set takes unions, intersections, differences and other sets")
  func setOperations() throws {
    let sales = try context.department("Sales")
    let (anna, bert, cleo, dora) = (
      try context.employee("Anna"), try context.employee("Bert"), try context.employee("Cleo"),
      try context.employee("Dora")
    )
    let staff = sales.mutableSetValue(forKey: "staff")
    staff.union([cleo, dora])
    #expect(sales.staff == [anna, bert, cleo, dora])
    #expect(try context.department("Research").staff.isEmpty)
    staff.minus([anna])
    #expect(sales.staff == [bert, cleo, dora] && anna.department == nil)
    staff.intersect([bert, anna])
    #expect(sales.staff == [bert] && cleo.department == nil)
    staff.setSet([anna, cleo])
    #expect(sales.staff == [anna, cleo] && bert.department == nil)
    staff.filter(using: NSPredicate(format: "name == 'Cleo'"))
    #expect(sales.staff == [cleo] && anna.department == nil)
    try context.save()
    let other = stand.context()
    #expect(try other.department("Sales").staff.map(\.name) == ["Cleo"])
  }

  @Test("Setting a whole set clears the inverse of what is left out")
  func wholeSet() throws {
    let sales = try context.department("Sales")
    let (anna, bert, dora) = (
      try context.employee("Anna"), try context.employee("Bert"), try context.employee("Dora")
    )
    sales.setValue(NSSet(array: [bert, dora]), forKey: "staff")
    #expect(anna.department == nil && dora.department == sales && bert.department == sales)
    sales.setValue(nil, forKey: "staff")
    #expect(bert.department == nil && sales.staff.isEmpty)
  }

  @Test("A one-to-one relationship moves from its former owner")
  func oneToOne() throws {
    let (anna, bert) = (try context.employee("Anna"), try context.employee("Bert"))
    let (one, two) = (CompanyStand.make("Desk", context), CompanyStand.make("Desk", context))
    anna.setValue(one, forKey: "desk")
    bert.setValue(two, forKey: "desk")
    bert.setValue(one, forKey: "desk")
    #expect(anna.value(forKey: "desk") == nil)
    #expect(one.value(forKey: "owner") as? Employee == bert && two.value(forKey: "owner") == nil)
  }

  @Test("A relationship that is its own inverse holds on both sides")
  func selfInverse() throws {
    let (anna, bert, cleo) = (
      try context.employee("Anna"), try context.employee("Bert"), try context.employee("Cleo")
    )
    anna.mutableSetValue(forKey: "friends").addObjects(from: [bert, cleo])
    #expect(bert.value(forKey: "friends") as? Set<Employee> == [anna])
    try context.save()
    let other = stand.context()
    #expect(
      try (other.employee("Cleo").value(forKeyPath: "friends.name") as? NSSet)?.isEqual(to: ["Anna"]) == true)
    context.delete(anna)
    try context.save()
    #expect((bert.value(forKey: "friends") as? Set<Employee>)?.isEmpty == true)
    #expect((cleo.value(forKey: "friends") as? Set<Employee>)?.isEmpty == true)
  }

  @Test("A mutable ordered set is sorted by descriptors and filtered, and shows what is edited elsewhere")
  func orderedSetOfFoundation() throws {
    let sales = try context.department("Sales")
    let made = ["a", "b", "c", "d"].map { name in
      let project = CompanyStand.make("Project", context)
      project.setValue(name, forKey: "name")
      return project
    }
    let projects = sales.mutableOrderedSetValue(forKey: "projects")
    func order() -> [String] {
      (sales.value(forKey: "projects") as? NSOrderedSet)?.compactMap {
        ($0 as? NSManagedObject)?.value(forKey: "name") as? String
      } ?? []
    }
    // What Foundation itself goes through.
    func shown() -> [String] {
      var names: [String] = []
      for project in projects {
        if let name = (project as? NSManagedObject)?.value(forKey: "name") as? String { names.append(name) }
      }
      return names
    }
    projects.addObjects(from: Array(made[..<3]))
    projects.sort(using: [NSSortDescriptor(key: "name", ascending: false)])
    #expect(order() == ["c", "b", "a"] && shown() == order())
    sales.setValue(NSOrderedSet(array: Array(made[..<3])), forKey: "projects")
    #expect(projects.firstObject as? NSManagedObject == made[0] && shown() == ["a", "b", "c"])
    projects.filter(using: NSPredicate(format: "name != 'a'"))
    #expect(order() == ["b", "c"] && made[0].value(forKey: "department") == nil)
    made[3].setValue(sales, forKey: "department")
    #expect(shown() == ["b", "c", "d"] && projects.lastObject as? NSManagedObject == made[3])
    projects.filter(using: NSPredicate(format: "name != 'd'"))
    #expect(order() == ["b", "c"] && !projects.contains(made[3]))
    made[3].setValue(sales, forKey: "department")
    try context.save()
    made[3].setValue(nil, forKey: "department")
    #expect(shown() == ["b", "c"])
    context.rollback()
    #expect(shown() == ["b", "c", "d"])
    context.delete(made[1])
    context.processPendingChanges()
    #expect(shown() == ["c", "d"] && order() == ["c", "d"])
  }

  @Test("A mutable ordered set inserts, moves and replaces; order and inverses are saved")
  func orderedSet() throws {
    let sales = try context.department("Sales")
    func project(_ name: String) -> NSManagedObject {
      let project = CompanyStand.make("Project", context)
      project.setValue(name, forKey: "name")
      return project
    }
    let (a, b, c, d) = (project("a"), project("b"), project("c"), project("d"))
    let projects = sales.mutableOrderedSetValue(forKey: "projects")
    projects.addObjects(from: [a, b])
    projects.insert(c, at: 0)
    #expect(a.value(forKey: "department") as? Department == sales)
    // What is there already stays where it is.
    projects.add(a)
    func order(_ department: Department) -> [String] {
      (department.value(forKey: "projects") as? NSOrderedSet)?.compactMap {
        ($0 as? NSManagedObject)?.value(forKey: "name") as? String
      } ?? []
    }
    #expect(order(sales) == ["c", "a", "b"])
    projects.moveObjects(at: IndexSet(integer: 2), to: 0)
    #expect(order(sales) == ["b", "c", "a"])
    projects.replaceObject(at: 1, with: d)
    #expect(order(sales) == ["b", "d", "a"] && c.value(forKey: "department") == nil)
    projects.exchangeObject(at: 0, withObjectAt: 2)
    #expect(order(sales) == ["a", "d", "b"])
    try context.save()
    let other = stand.context()
    #expect(try order(other.department("Sales")) == ["a", "d", "b"])
    // Set from the other side it comes last.
    c.setValue(sales, forKey: "department")
    #expect(order(sales) == ["a", "d", "b", "c"])
    context.delete(d)
    try context.save()
    other.reset()
    #expect(try order(other.department("Sales")) == ["a", "b", "c"])
  }

  @Test("Deny is lifted when the members are deleted, or moved away, in the same event")
  func liftedDenial() throws {
    let sales = try context.department("Sales")
    context.delete(sales)
    let error = #expect(throws: CocoaError.self) { try context.save() }
    #expect(error?.errorCode == NSValidationRelationshipDeniedDeleteError)
    #expect(error?.userInfo[NSValidationKeyErrorKey] as? String == "staff")
    #expect(error?.userInfo[NSValidationObjectErrorKey] as? NSManagedObject === sales)
    #expect(context.deletedObjects == [sales])
    context.delete(try context.employee("Anna"))
    try context.employee("Bert").department = try context.department("Research")
    try context.save()
    #expect(try context.texts("Department", "name") == ["Research"])
    #expect(try context.texts("Employee", "name") == ["Bert", "Cleo", "Dora"])
  }

  @Test("A cascade takes what was never saved along; did-save tells only of what was stored")
  func cascadeOnInserted() throws {
    let anna = try context.employee("Anna")
    let new = CompanyStand.chore("new", 1, anna, context)
    let infos = try notes(.NSManagedObjectContextDidSave, of: context) {
      context.delete(anna)
      try context.save()
    }
    #expect(infos.count == 1)
    #expect(told(infos.first, NSDeletedObjectsKey).count == 3)
    #expect(told(infos.first, NSInsertedObjectsKey).isEmpty)
    #expect(new.managedObjectContext == nil && !new.isInserted)
    #expect(try context.texts("Chore", "title") == ["phone"])
  }

  @Test("prepareForDeletion() is sent to what a cascade deletes, and may save members from it")
  func preparing() throws {
    let cleo = try context.employee("Cleo")
    let log = HookLog()
    context.userInfo["log"] = log
    context.userInfo["hands over"] = true
    context.delete(try context.employee("Anna"))
    try context.save()
    #expect(log.lines.filter { $0.hasPrefix("prepare") } == ["prepare Anna"])
    #expect((cleo.value(forKeyPath: "chores.title") as? NSSet)?.isEqual(to: ["mail", "tea"]) == true)
    #expect(try stand.context().texts("Chore", "title") == ["mail", "phone", "tea"])
  }

  @Test("Cascades in a circle end, and everything prepares once")
  func circle() throws {
    let stand = try CompanyStand { model in
      let entity = try #require(model.entitiesByName["Employee"])
      entity.relationshipsByName["reports"]?.deleteRule = .cascadeDeleteRule
      entity.relationshipsByName["manager"]?.deleteRule = .cascadeDeleteRule
    }
    let context = try stand.stocked()
    let log = HookLog()
    context.userInfo["log"] = log
    context.delete(try context.employee("Anna"))
    #expect(context.deletedObjects.count == 1)
    context.processPendingChanges()
    // Anna, Bert, Cleo and the three chores.
    #expect(context.deletedObjects.count == 6)
    #expect(
      log.lines.filter { $0.hasPrefix("prepare") }.sorted() == [
        "prepare Anna", "prepare Bert", "prepare Cleo",
      ])
    try context.save()
    #expect(try context.texts("Employee", "name") == ["Dora"] && context.all("Chore").isEmpty)
  }

  @Test("An error of validateForDelete() fails the save as it is; the deletion stays pending")
  func refusedDeletion() throws {
    context.userInfo["stays"] = true
    let dora = try context.employee("Dora")
    context.delete(dora)
    let error = #expect(throws: NSError.self) { try context.save() }
    #expect(error?.domain == "Company" && error?.code == 7)
    #expect(context.deletedObjects == [dora] && dora.isDeleted)
    #expect(try stand.context().texts("Employee", "name").contains("Dora"))
    context.userInfo["stays"] = false
    try context.save()
    #expect(!dora.isDeleted && dora.managedObjectContext == nil)
  }

  @Test("Nullify and deletion of both ends in one event")
  func bothEnds() throws {
    let cleo = try context.employee("Cleo")
    let (anna, bert) = (try context.employee("Anna"), try context.employee("Bert"))
    context.delete(cleo)
    context.delete(anna)
    context.processPendingChanges()
    #expect(bert.manager == nil && context.updatedObjects.contains(bert))
    #expect(!context.updatedObjects.contains(anna))
    try context.save()
    let other = stand.context()
    #expect(try other.employee("Bert").manager == nil)
  }

  @Test("A deletion that is rolled back gives back the object, its members and its flags")
  func rolledBack() throws {
    let anna = try context.employee("Anna")
    context.delete(anna)
    context.processPendingChanges()
    #expect(anna.isDeleted && context.hasChanges)
    context.rollback()
    #expect(!anna.isDeleted && !anna.hasChanges && !context.hasChanges)
    #expect(anna.name == "Anna" && anna.department?.name == "Sales" && anna.manager?.name == "Cleo")
    #expect((anna.value(forKey: "chores") as? NSSet)?.count == 2)
    #expect(try context.department("Sales").staff.contains(anna))
  }

  @Test("The key paths of collections: members, sums, distinct values")
  func collectionKeyPaths() throws {
    let sales = try context.department("Sales")
    #expect(sales.value(forKeyPath: "staff.@count") as? Int == 2)
    #expect(sales.value(forKeyPath: "staff.@avg.age") as? Double == 35)
    #expect(sales.value(forKeyPath: "staff.@sum.age") as? Int == 70)
    #expect(sales.value(forKeyPath: "staff.@max.age") as? Int == 40)
    #expect(sales.value(forKeyPath: "staff.@min.name") as? String == "Anna")
    let names = sales.value(forKeyPath: "staff.name") as? NSSet
    #expect(names?.isEqual(to: ["Anna", "Bert"]) == true)
    let bosses = sales.value(forKeyPath: "staff.@distinctUnionOfObjects.manager.name")
    #expect((bosses as? NSSet)?.count == 1 || (bosses as? NSArray)?.count == 1)
    let chores = sales.value(forKeyPath: "staff.@distinctUnionOfSets.chores") as? NSSet
    #expect(chores?.count == 3)
  }

  @Test("hasFault(forRelationshipNamed:) and objectIDs(forRelationshipNamed:)")
  func relationshipFaults() throws {
    let other = stand.context()
    let sales = try other.department("Sales")
    #expect(sales.hasFault(forRelationshipNamed: "staff"))
    #expect(sales.objectIDs(forRelationshipNamed: "staff").count == 2)
    #expect(other.registeredObjects.filter { $0 is Employee }.isEmpty)
    #expect(sales.hasFault(forRelationshipNamed: "staff"))
    #expect(sales.staff.count == 2)
    #expect(!sales.hasFault(forRelationshipNamed: "staff"))
    let new = Department(context: other)
    #expect(!new.hasFault(forRelationshipNamed: "staff"))
  }
}
