import CoreData
import Testing

@Suite("Single elements in predicates: list[0], list[FIRST], list[LAST], list[SIZE]")
struct ListElementTests {
  private let model: NSManagedObjectModel
  private let context: NSManagedObjectContext
  private let route: NSManagedObject

  /// A route with the ordered stops one, two, three.
  init() throws {
    let (route, stop) = (NSEntityDescription(), NSEntityDescription())
    (route.name, stop.name) = ("Route", "Stop")
    let (stops, owner) = (NSRelationshipDescription(), NSRelationshipDescription())
    (stops.name, stops.destinationEntity, stops.maxCount) = ("stops", stop, 0)
    stops.isOrdered = true
    (owner.name, owner.destinationEntity, owner.maxCount) = ("route", route, 1)
    (stops.inverseRelationship, owner.inverseRelationship) = (owner, stops)
    let label = NSAttributeDescription()
    label.name = "label"
    label.attributeType = .stringAttributeType
    route.properties = [stops]
    stop.properties = [label, owner]
    model = NSManagedObjectModel()
    model.entities = [route, stop]
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(
      ofType: NSInMemoryStoreType, configurationName: nil, at: nil, options: nil)
    context = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    self.route = NSManagedObject(entity: route, insertInto: context)
    let members = ["one", "two", "three"].map { text in
      let member = NSManagedObject(entity: stop, insertInto: context)
      member.setValue(text, forKey: "label")
      return member
    }
    self.route.setValue(NSOrderedSet(array: members), forKey: "stops")
    try context.save()
  }

  @Test(
    "In memory elements are found by place, also at the end and behind keys",
    arguments: [
      "stops[0].label == 'one'", "stops[FIRST].label == 'one'", "stops[LAST].label == 'three'",
      "stops[1 + 1].label == 'three'", "stops [ 1 ].label == 'two'", "stops[first].label BEGINSWITH[c] 'O'",
      "stops[SIZE] == 3", "stops[SIZE] - 1 == 2", "stops[7] == nil", "stops[-1] == nil",
      "stops[stops[SIZE] - 1] == stops[LAST]", "stops[0].route.stops[2].label == 'three'",
      "{4, 5, 6}[1] == 5", "length(stops[1].label) == 3",
    ])
  func inMemory(format: String) {
    #expect(NSPredicate(format: format).evaluate(with: route), "\(format)")
    #expect(!NSPredicate(format: "NOT (\(format))").evaluate(with: route), "\(format)")
  }

  @Test("Lists and dictionaries have elements, too; arguments and variables name places")
  func otherCollections() {
    let object: NSDictionary = ["list": [1, 2, 3], "names": ["a b": 5], "nothing": NSArray()]
    for format in [
      "list[0] == 1", "list[LAST] == 3", "list[SIZE] == 3", "names['a b'] == 5", "names['x'] == nil",
      "nothing[FIRST] == nil AND nothing[LAST] == nil", "missing[0] == nil",
    ] {
      #expect(NSPredicate(format: format).evaluate(with: object), "\(format)")
    }
    #expect(NSPredicate(format: "list[%d] == %d", argumentArray: [1, 2]).evaluate(with: object))
    let template = NSPredicate(format: "list[$place] == 3")
    #expect(template.withSubstitutionVariables(["place": 2]).evaluate(with: object))
    #expect(
      NSExpression(format: "list[LAST]").expressionValue(with: object, context: nil) as? Int == 3)
  }

  @Test(
    "A fetch from a store on disk says that no store looks up single elements; it counts them",
    arguments: ["stops[0].label == 'one'", "stops[FIRST] != nil", "ANY stops.label == stops[LAST].label"])
  func fetched(format: String) throws {
    let request = NSFetchRequest<NSManagedObject>(entityName: "Route")
    request.predicate = NSPredicate(format: format)
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("stops-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let file = folder.appendingPathComponent("Stops.store")
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let store = try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: file, options: nil)
    defer {
      try? coordinator.remove(store)
      try? FileManager.default.removeItem(at: folder)
    }
    let disk = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    disk.persistentStoreCoordinator = coordinator
    do {
      _ = try disk.fetch(request)
      Issue.record("the fetch was executed")
    } catch {
      #expect((error as NSError).code == 134_060)
      #expect("\(error)".contains("[FIRST]"), "\(error)")
    }
    request.predicate = NSPredicate(format: "stops[SIZE] == 3")
    #expect(try context.count(for: request) == 1)
  }

  @Test("A fetch from a store in memory looks them up with the objects")
  func fetchedInMemory() throws {
    let request = NSFetchRequest<NSManagedObject>(entityName: "Route")
    for (format, count) in [
      ("stops[0].label == 'one'", 1), ("stops[LAST].label == 'one'", 0), ("stops[FIRST] != nil", 1),
    ] {
      request.predicate = NSPredicate(format: format)
      #expect(try context.count(for: request) == count, "\(format)")
    }
  }
}
