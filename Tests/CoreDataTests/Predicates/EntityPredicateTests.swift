import CoreData
import Testing

/// `entity` in predicates: true of that entity only, not of those that inherit from it.
@Suite("Entities in predicates")
struct EntityPredicateTests {
  /// Animal with its subentities Dog, of which Puppy is one, and Cat; each has a boss.
  private static func extend(_ model: NSManagedObjectModel) {
    func entity(_ name: String, _ subentities: [NSEntityDescription] = []) -> NSEntityDescription {
      let entity = NSEntityDescription()
      entity.name = name
      entity.subentities = subentities
      return entity
    }
    let puppy = entity("Puppy")
    let dog = entity("Dog", [puppy])
    let cat = entity("Cat")
    let animal = entity("Animal", [dog, cat])
    let name = NSAttributeDescription()
    name.name = "name"
    name.attributeType = .stringAttributeType
    let (boss, staff) = (NSRelationshipDescription(), NSRelationshipDescription())
    boss.name = "boss"
    boss.destinationEntity = animal
    boss.maxCount = 1
    boss.inverseRelationship = staff
    staff.name = "staff"
    staff.destinationEntity = animal
    staff.inverseRelationship = boss
    animal.properties = [name, boss, staff]
    model.entities += [animal, dog, puppy, cat]
  }

  /// ann, a plain animal; dot and pip, a dog and a puppy, whose boss is ann; tom, a cat, whose boss is dot.
  private static func fill(_ context: NSManagedObjectContext) {
    func make(_ entity: String, _ name: String, _ boss: NSManagedObject? = nil) -> NSManagedObject {
      let animal = NSEntityDescription.insertNewObject(forEntityName: entity, into: context)
      animal.setValue(name, forKey: "name")
      animal.setValue(boss, forKey: "boss")
      return animal
    }
    let ann = make("Animal", "ann")
    let dot = make("Dog", "dot", ann)
    _ = make("Puppy", "pip", ann)
    _ = make("Cat", "tom", dot)
  }

  private static func found(_ predicate: NSPredicate, _ context: NSManagedObjectContext) throws -> [String] {
    let request = NSFetchRequest<NSManagedObject>(entityName: "Animal")
    request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
    let all = try context.fetch(request)
    request.predicate = predicate
    let found = try context.fetch(request).compactMap { $0.value(forKey: "name") as? String }
    let inMemory = all.filter { predicate.evaluate(with: $0) }.compactMap {
      $0.value(forKey: "name") as? String
    }
    #expect(found == inMemory, "\(predicate)")
    #expect(try context.count(for: request) == found.count)
    return found
  }

  private static func check(_ context: NSManagedObjectContext) throws {
    let entities = try #require(context.persistentStoreCoordinator?.managedObjectModel.entitiesByName)
    let dog = try #require(entities["Dog"])
    let cat = try #require(entities["Cat"])
    let cases: [(NSPredicate, [String])] = [
      (NSPredicate(format: "entity == %@", dog), ["dot"]),
      (NSPredicate(format: "SELF.entity = %@", dog), ["dot"]),
      (NSPredicate(format: "%@ == entity", dog), ["dot"]),
      (NSPredicate(format: "%K == %@", argumentArray: ["entity", dog]), ["dot"]),
      (NSPredicate(format: "entity != %@", dog), ["ann", "pip", "tom"]),
      (NSPredicate(format: "NOT (entity == %@)", dog), ["ann", "pip", "tom"]),
      (NSPredicate(format: "entity IN %@", [dog, cat]), ["dot", "tom"]),
      (NSPredicate(format: "entity IN {%@, %@}", dog, cat), ["dot", "tom"]),
      (NSPredicate(format: "entity IN %@", [dog]), ["dot"]),
      (NSPredicate(format: "NOT (entity IN %@)", [dog, cat]), ["ann", "pip"]),
      (NSPredicate(format: "entity.name == %@", "Dog"), ["dot"]),
      (NSPredicate(format: "entity.name BEGINSWITH[c] 'c'"), ["tom"]),
      (NSPredicate(format: "entity.name IN {'Puppy', 'Cat'} AND name != 'x'"), ["pip", "tom"]),
      (NSPredicate(format: "boss.entity == %@", dog), ["tom"]),
      (NSPredicate(format: "boss.entity.name == 'Animal'"), ["dot", "pip"]),
      (NSPredicate(format: "boss.entity == nil"), ["ann"]),
      (NSPredicate(format: "boss.entity != %@", dog), ["ann", "dot", "pip"]),
      (NSPredicate(format: "ANY staff.entity == %@", cat), ["dot"]),
      (NSPredicate(format: "ANY staff.entity IN %@", [dog, cat]), ["ann", "dot"]),
      (NSPredicate(format: "ALL staff.entity == %@", cat), ["dot", "pip", "tom"]),
      (NSPredicate(format: "SUBQUERY(staff, $s, $s.entity == %@).@count == 1", dog), ["ann"]),
      (NSPredicate(format: "SUBQUERY(staff, $s, $s.entity != entity).@count > 0"), ["ann", "dot"]),
      (NSPredicate(format: "entity == boss.entity"), []),
      (NSPredicate(format: "entity == $e").withSubstitutionVariables(["e": dog]), ["dot"]),
      (
        NSComparisonPredicate(
          leftExpression: NSExpression(forKeyPath: "entity"),
          rightExpression: NSExpression(forConstantValue: dog), modifier: .direct, type: .equalTo), ["dot"]
      ),
      (
        NSComparisonPredicate(
          leftExpression: NSExpression(forKeyPath: "entity"),
          rightExpression: NSExpression(forConstantValue: NSArray(array: [dog, cat])), modifier: .direct,
          type: .in), ["dot", "tom"]
      ),
    ]
    for (predicate, expected) in cases {
      #expect(try found(predicate, context) == expected, "\(predicate)")
      let again = NSPredicate(format: predicate.description)
      #expect(try found(again, context) == expected, "read again: \(again)")
      #expect(again.isEqual(predicate))
    }
    #expect(!NSPredicate(format: "entity == %@", dog).isEqual(NSPredicate(format: "entity == %@", cat)))
  }

  @Test(
    "An entity is compared in memory and by a fetch: new objects, saved ones, and those that a child sees")
  func everywhere() throws {
    let stand = try BirdStand(Self.extend)
    let context = stand.context()
    Self.fill(context)
    try Self.check(context)
    let child = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    let parent = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    parent.persistentStoreCoordinator = stand.coordinator
    child.parent = parent
    try child.performAndWait {
      Self.fill(child)
      try Self.check(child)
      try child.save()
      try Self.check(child)
    }
    try parent.performAndWait {
      try Self.check(parent)
      try parent.save()
      try Self.check(parent)
    }
    context.rollback()
    try Self.check(context)
    try Self.check(stand.context())
  }

  @Test("A fetched results controller keeps to an entity")
  func fetchedResults() throws {
    let stand = try BirdStand(Self.extend)
    let context = stand.context()
    Self.fill(context)
    try context.save()
    let dog = try #require(NSEntityDescription.entity(forEntityName: "Dog", in: context))
    let request = NSFetchRequest<NSManagedObject>(entityName: "Animal")
    request.predicate = NSPredicate(format: "entity == %@ OR boss.entity == %@", dog, dog)
    request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
    let results = NSFetchedResultsController(
      fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: nil, cacheName: nil)
    final class Watch: NSObject, NSFetchedResultsControllerDelegate {
      func controllerDidChangeContent(
        _ controller: NSFetchedResultsController<any NSFetchRequestResult>
      ) {}
    }
    let watch = Watch()
    results.delegate = watch
    try results.performFetch()
    #expect(results.fetchedObjects?.compactMap { $0.value(forKey: "name") as? String } == ["dot", "tom"])
    let rex = NSEntityDescription.insertNewObject(forEntityName: "Dog", into: context)
    rex.setValue("rex", forKey: "name")
    let kit = NSEntityDescription.insertNewObject(forEntityName: "Puppy", into: context)
    kit.setValue("kit", forKey: "name")
    context.processPendingChanges()
    #expect(
      results.fetchedObjects?.compactMap { $0.value(forKey: "name") as? String } == ["dot", "rex", "tom"])
    kit.setValue(rex, forKey: "boss")
    context.processPendingChanges()
    #expect(
      results.fetchedObjects?.compactMap { $0.value(forKey: "name") as? String }
        == ["dot", "kit", "rex", "tom"])
  }

  @Test("What no entity can be compared with is refused by a fetch, by name")
  func refused() throws {
    let context = try BirdStand(Self.extend).context()
    for format in [
      "entity == 'Dog'", "entity > $e", "entity.superentity == $e", "entity.colour == 1", "name == $e",
    ] {
      let dog = try #require(NSEntityDescription.entity(forEntityName: "Dog", in: context))
      let request = NSFetchRequest<NSManagedObject>(entityName: "Animal")
      request.predicate = NSPredicate(format: format).withSubstitutionVariables(["e": dog])
      #expect(throws: (any Error).self, "\(format)") { try context.fetch(request) }
    }
  }

  @Test("Batches, columns and groups know entities")
  func requests() throws {
    let stand = try BirdStand(Self.extend)
    let context = stand.context()
    Self.fill(context)
    try context.save()
    let dog = try #require(NSEntityDescription.entity(forEntityName: "Dog", in: context))
    let update = NSBatchUpdateRequest(entityName: "Animal")
    update.predicate = NSPredicate(format: "entity == %@", dog)
    update.propertiesToUpdate = ["name": "rex"]
    update.resultType = .updatedObjectsCountResultType
    #expect((try context.execute(update) as? NSBatchUpdateResult)?.result as? Int == 1)
    let request = NSFetchRequest<NSDictionary>(entityName: "Animal")
    request.resultType = .dictionaryResultType
    request.propertiesToFetch = ["name"]
    request.predicate = NSPredicate(format: "entity == %@", dog)
    #expect(try context.fetch(request).compactMap { $0["name"] as? String } == ["rex"])
  }
}
