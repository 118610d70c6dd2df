import CoreData
import Testing

/// `ANY`, `SOME` and `NONE` where the left side is one value: with Core Data's SQLite stores it is that value.
@Suite("ANY of one value")
struct AnyOfOneValueTests {
  private let folder: URL
  private let context: NSManagedObjectContext

  /// Items 0…5 named n0…n5: 4 and 5 belong to 0, and 0…2 have the tag t.
  init() throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("any-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let (item, tag) = (NSEntityDescription(), NSEntityDescription())
    (item.name, tag.name) = ("Item", "Tag")
    func attribute(_ name: String, _ type: NSAttributeType) -> NSAttributeDescription {
      let attribute = NSAttributeDescription()
      (attribute.name, attribute.attributeType, attribute.isOptional) = (name, type, true)
      return attribute
    }
    func relation(_ name: String, _ target: NSEntityDescription, _ count: Int) -> NSRelationshipDescription {
      let relation = NSRelationshipDescription()
      (relation.name, relation.destinationEntity, relation.maxCount) = (name, target, count)
      relation.isOptional = true
      return relation
    }
    let (owner, parts) = (relation("owner", item, 1), relation("parts", item, 0))
    (owner.inverseRelationship, parts.inverseRelationship) = (parts, owner)
    let (tags, items) = (relation("tags", tag, 0), relation("items", item, 0))
    (tags.inverseRelationship, items.inverseRelationship) = (items, tags)
    item.properties = [
      attribute("id", .integer64AttributeType), attribute("name", .stringAttributeType), owner, parts, tags,
    ]
    tag.properties = [attribute("name", .stringAttributeType), items]
    let model = NSManagedObjectModel()
    model.entities = [item, tag]
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil,
      at: folder.appendingPathComponent("Items.sqlite"), options: nil)
    context = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    let label = NSManagedObject(entity: tag, insertInto: context)
    label.setValue("t", forKey: "name")
    var made: [NSManagedObject] = []
    for number in 0..<6 {
      let object = NSManagedObject(entity: item, insertInto: context)
      object.setValue(number, forKey: "id")
      object.setValue("n\(number)", forKey: "name")
      if number > 3 { object.setValue(made[0], forKey: "owner") }
      if number < 3 { object.setValue(Set([label]), forKey: "tags") }
      made.append(object)
    }
    try context.save()
  }

  private func request(_ predicate: NSPredicate) -> NSFetchRequest<NSManagedObject> {
    let request = NSFetchRequest<NSManagedObject>(entityName: "Item")
    request.predicate = predicate
    request.sortDescriptors = [NSSortDescriptor(key: "id", ascending: true)]
    return request
  }

  private func ids(_ objects: [NSManagedObject]) -> [Int] {
    objects.compactMap { $0.value(forKey: "id") as? Int }
  }

  private static let questions: [(format: String, ids: [Int])] = [
    ("ANY id IN {1, 2}", [1, 2]), ("ANY id == 1", [1]), ("SOME name == 'n1'", [1]),
    ("NONE id IN {1, 2}", [0, 3, 4, 5]), ("NOT (ANY id IN {1, 2, 3})", [0, 4, 5]),
    ("ANY id NOT IN {1, 2, 3}", [0, 4, 5]), ("ANY name BEGINSWITH 'n1'", [1]),
    ("ANY name CONTAINS[c] 'N3'", [3]), ("ANY id BETWEEN {2, 3}", [2, 3]), ("ANY id + 1 == 2", [1]),
    ("ANY owner.name == 'n0'", [4, 5]), ("ANY owner == nil", [0, 1, 2, 3]), ("ANY parts.@count > 1", [0]),
    ("SUBQUERY(parts, $p, ANY $p.id == 5).@count > 0", [0]),
    ("SUBQUERY(parts, $p, ANY $p.id IN {1, 2}).@count > 0", []),
    // Of many it is one of them, as ever.
    ("ANY tags.name == 't'", [0, 1, 2]), ("NONE tags.name == 't'", [3, 4, 5]),
    ("ALL tags.name NOT IN {'t'}", [3, 4, 5]), ("ANY parts.id > 4", [0]),
  ]

  @Test("Fetches, counts and objects in memory agree", arguments: Self.questions)
  func everywhere(format: String, expected: [Int]) throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let predicate = NSPredicate(format: format)
    #expect(ids(try context.fetch(request(predicate))) == expected)
    #expect(try context.count(for: request(predicate)) == expected.count)
    let all = try context.fetch(request(NSPredicate(value: true)))
    #expect(ids(all.filter { predicate.evaluate(with: $0) }) == expected)
  }

  @Test("A key and a list as arguments, and objects")
  func arguments() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let all = try context.fetch(request(NSPredicate(value: true)))
    let format = "ANY %K IN %@"
    #expect(ids(try context.fetch(request(NSPredicate(format: format, "id", [1, 5, 9])))) == [1, 5])
    #expect(ids(try context.fetch(request(NSPredicate(format: format, "owner", [all[0]])))) == [4, 5])
    #expect(ids(try context.fetch(request(NSPredicate(format: "ANY owner == %@", all[0])))) == [4, 5])
    #expect(ids(try context.fetch(request(NSPredicate(format: "ANY SELF IN %@", [all[2]])))) == [2])
  }

  @Test("Unsaved objects, fetched results and batches")
  func requests() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let wanted = request(NSPredicate(format: "ANY id IN %@", [1, 2, 7]))
    let results = NSFetchedResultsController(
      fetchRequest: wanted, managedObjectContext: context, sectionNameKeyPath: nil, cacheName: nil)
    try results.performFetch()
    #expect(ids(results.fetchedObjects ?? []) == [1, 2])
    let new = NSEntityDescription.insertNewObject(forEntityName: "Item", into: context)
    new.setValue(7, forKey: "id")
    #expect(ids(try context.fetch(wanted)) == [1, 2, 7])
    try results.performFetch()
    #expect(ids(results.fetchedObjects ?? []) == [1, 2, 7])
    try context.save()
    let doomed = NSFetchRequest<NSFetchRequestResult>(entityName: "Item")
    doomed.predicate = NSPredicate(format: "ANY id IN %@", [1, 7])
    let deletion = NSBatchDeleteRequest(fetchRequest: doomed)
    deletion.resultType = .resultTypeCount
    let result = try #require(try context.execute(deletion) as? NSBatchDeleteResult)
    #expect(result.result as? Int == 2)
    context.reset()
    #expect(ids(try context.fetch(request(NSPredicate(value: true)))) == [0, 2, 3, 4, 5])
  }

  @Test("ALL of one value stays an error")
  func all() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let error = #expect(throws: (any Error).self) {
      try context.fetch(request(NSPredicate(format: "ALL id == 1")))
    }
    #expect(error.map { ($0 as NSError).code } == 134_060)
  }
}
