import CoreData
import Testing

/// Constants that are texts beside attributes that are numbers, and the other way round: in fetches, and in memory of objects.
@Suite("Texts beside numbers")
struct TextBesideNumberTests {
  private let folder: URL

  init() throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("kinds-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  private func attribute(_ name: String, _ type: NSAttributeType) -> NSAttributeDescription {
    let attribute = NSAttributeDescription()
    (attribute.name, attribute.attributeType, attribute.isOptional) = (name, type, true)
    return attribute
  }

  /// Items 3, 5 and 10, and one without values; all belong to the box of the code `10`.
  private func context(_ type: String, isSaved: Bool = true) throws -> NSManagedObjectContext {
    let (item, box) = (NSEntityDescription(), NSEntityDescription())
    (item.name, box.name) = ("Item", "Box")
    let (owner, items) = (NSRelationshipDescription(), NSRelationshipDescription())
    (owner.name, owner.destinationEntity, owner.maxCount, owner.isOptional) = ("box", box, 1, true)
    (items.name, items.destinationEntity, items.maxCount, items.isOptional) = ("items", item, 0, true)
    (owner.inverseRelationship, items.inverseRelationship) = (items, owner)
    item.properties = [
      attribute("n", .integer64AttributeType), attribute("f", .floatAttributeType),
      attribute("m", .decimalAttributeType), attribute("b", .booleanAttributeType),
      attribute("s", .stringAttributeType), attribute("d", .dateAttributeType), owner,
    ]
    box.properties = [
      attribute("code", .stringAttributeType), attribute("size", .integer16AttributeType), items,
    ]
    let model = NSManagedObjectModel()
    model.entities = [item, box]
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(
      ofType: type, configurationName: nil, at: folder.appendingPathComponent("\(UUID()).sqlite"))
    let context = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    let owning = NSManagedObject(entity: box, insertInto: context)
    owning.setValuesForKeys(["code": "10", "size": 3])
    for number in [3, 5, 10] {
      let object = NSManagedObject(entity: item, insertInto: context)
      object.setValuesForKeys([
        "n": number, "f": Float(number) / 10, "m": NSDecimalNumber(value: number), "b": number > 3,
        "s": "\(number)", "d": Date(timeIntervalSinceReferenceDate: Double(number)), "box": owning,
      ])
    }
    NSManagedObject(entity: item, insertInto: context).setValue(owning, forKey: "box")
    if isSaved { try context.save() }
    return context
  }

  private func number(_ object: NSManagedObject) -> Int { object.value(forKey: "n") as? Int ?? 0 }

  private func request(_ predicate: NSPredicate?, _ entity: String = "Item") -> NSFetchRequest<
    NSManagedObject
  > {
    let request = NSFetchRequest<NSManagedObject>(entityName: entity)
    request.predicate = predicate
    return request
  }

  /// Each predicate, and the items of which it is true; 0 is the one without values.
  private static let questions: [(format: String, numbers: [Int])] = [
    ("n == '5'", [5]), ("n == ' 5 '", [5]), ("n == '5.0'", [5]), ("n == '0.5e1'", [5]), ("'5' == n", [5]),
    ("n != '5'", [0, 3, 10]), ("n > '3'", [5, 10]), ("n >= '9'", [10]), ("n < '5.5'", [3, 5]),
    ("'5' <= n", [5, 10]), ("n BETWEEN {'4', '10'}", [5, 10]), ("n IN {'5', 10, 'x'}", [5, 10]),
    ("n IN {'x'}", []), ("NOT n IN {'5'}", [0, 3, 10]),
    ("n == 'five'", []), ("n != 'five'", [0, 3, 5, 10]), ("n < 'five'", []), ("n > 'five'", []),
    ("n BETWEEN {'a', 'b'}", []), ("n == ''", []), ("n == '0x5'", []), ("n < '1e400'", [3, 5, 10]),
    ("f == '0.3'", [3]), ("f >= '0.5'", [5, 10]), ("m == '10.00'", [10]), ("m < '1e1'", [3, 5]),
    ("b == '1'", [5, 10]), ("b == '0'", [3]), ("b != '2'", [0, 3, 5, 10]), ("b < '1'", [3]),
    ("s == 5", [5]), ("5 == s", [5]), ("s != 5", [0, 3, 10]), ("s > 3", [5]), ("s < 5", [3, 10]),
    ("s == 5.0", []),
    ("s IN {5, 10}", [5, 10]), ("s BETWEEN {1, 4}", [3, 10]), ("s ==[c] 5", [5]), ("s == YES", []),
    ("n + 1 == '6'", [5]), ("s.length == '2'", [10]), ("lowercase(s) == 5", [5]),
    ("box.code == 10", [0, 3, 5, 10]), ("box.size == '3'", [0, 3, 5, 10]), ("box.size == '4'", []),
    ("ANY box.items.n == '5'", [0, 3, 5, 10]), ("ALL box.items.n > '2'", []),
    ("ALL box.items.n != '7'", [0, 3, 5, 10]), ("'5' IN box.items.n", [0, 3, 5, 10]),
    ("box.items.@count == '4'", [0, 3, 5, 10]), ("box.items.@max.n == '10'", [0, 3, 5, 10]),
    ("SUBQUERY(box.items, $i, $i.n == '5' AND $i.s == 5).@count == '1'", [0, 3, 5, 10]),
    ("TERNARY(n == '5', 1, 2) == '1'", [5]),
  ]

  @Test(
    "The same is true in a fetch, of unsaved objects, and in memory",
    arguments: [NSSQLiteStoreType, NSInMemoryStoreType])
  func everywhere(type: String) throws {
    for isSaved in [true, false] {
      let context = try context(type, isSaved: isSaved)
      let all = try context.fetch(request(nil))
      for (format, numbers) in Self.questions {
        let predicate = NSPredicate(format: format)
        #expect(try context.fetch(request(predicate)).map(number).sorted() == numbers, "fetched: \(format)")
        #expect(try context.count(for: request(predicate)) == numbers.count, "counted: \(format)")
        #expect(
          all.filter { predicate.evaluate(with: $0) }.map(number).sorted() == numbers, "in memory: \(format)")
        #expect(
          try context.fetch(request(NSCompoundPredicate(notPredicateWithSubpredicate: predicate))).count
            == 4 - numbers.count, "negated: \(format)")
      }
    }
  }

  @Test("Find or create with a text beside an integer makes no duplicates")
  func findOrCreate() throws {
    let context = try context(NSSQLiteStoreType)
    for _ in 0..<3 {
      for identifier in [Int64(5), 77] {
        let known = try context.fetch(request(NSPredicate(format: "n == %@", "\(identifier)"))).first
        let object = known ?? NSEntityDescription.insertNewObject(forEntityName: "Item", into: context)
        object.setValue(identifier, forKey: "n")
        try context.save()
      }
    }
    #expect(try context.fetch(request(nil)).map(number).sorted() == [0, 3, 5, 10, 77])
  }

  /// Has a list follow its context.
  private final class Listener: NSFetchedResultsControllerDelegate {}

  @Test("Batches and fetched results take them, too")
  func batchesAndResults() throws {
    let context = try context(NSSQLiteStoreType)
    let sorted = request(NSPredicate(format: "n > %@", "4"))
    sorted.sortDescriptors = [NSSortDescriptor(key: "n", ascending: true)]
    let results = NSFetchedResultsController(
      fetchRequest: sorted, managedObjectContext: context, sectionNameKeyPath: nil, cacheName: nil)
    let listener = Listener()
    results.delegate = listener
    try results.performFetch()
    #expect(results.fetchedObjects?.map(number) == [5, 10])
    NSEntityDescription.insertNewObject(forEntityName: "Item", into: context).setValue(7, forKey: "n")
    context.processPendingChanges()
    #expect(results.fetchedObjects?.map(number) == [5, 7, 10])
    withExtendedLifetime(listener) {}
    context.rollback()
    let update = NSBatchUpdateRequest(entityName: "Item")
    update.predicate = NSPredicate(format: "s == %d", 5)
    update.propertiesToUpdate = ["n": 6]
    update.resultType = .updatedObjectsCountResultType
    #expect((try context.execute(update) as? NSBatchUpdateResult)?.result as? Int == 1)
    let fetch = NSFetchRequest<NSFetchRequestResult>(entityName: "Item")
    fetch.predicate = NSPredicate(format: "n == %@", "6")
    let deletion = NSBatchDeleteRequest(fetchRequest: fetch)
    deletion.resultType = .resultTypeCount
    #expect((try context.execute(deletion) as? NSBatchDeleteResult)?.result as? Int == 1)
  }

  @Test(
    "Attributes of different kinds, dates, parts of texts and options stay refused with 134060; in memory they are false"
  )
  func refused() throws {
    let context = try context(NSSQLiteStoreType)
    let all = try context.fetch(request(nil))
    for format in [
      "n == s", "n < s", "ANY box.items.n == s", "d > 0", "d == 5", "d < '5'", "n CONTAINS '5'",
      "s CONTAINS 5",
      "s BEGINSWITH 5", "n IN '5'", "5 == '5'",
    ] {
      let predicate = NSPredicate(format: format)
      let error = #expect(throws: (any Error).self, "\(format)") { try context.fetch(request(predicate)) }
      #expect(error.map { ($0 as NSError).code } == 134_060, "\(format)")
      let inMemory = all.filter { $0.value(forKey: "n") != nil && predicate.evaluate(with: $0) }
      #expect(inMemory.isEmpty, "in memory: \(format)")
    }
    let text = NSPredicate(format: "n ==[c] '5'")
    #expect(throws: (any Error).self) { try context.fetch(request(text)) }
  }

  @Test("Dictionaries have no entity: a text there is no number, and what has no order is false")
  func dictionaries() {
    let row: [String: Any] = ["n": 5, "s": "5", "d": Date(timeIntervalSinceReferenceDate: -5)]
    for format in [
      "n == '5'", "n < '3'", "n > '3'", "n <= '5'", "s == 5", "s > 3", "s < 9", "d > 0", "d < 0",
      "n BETWEEN {'1', '9'}",
    ] {
      #expect(!NSPredicate(format: format).evaluate(with: row), "\(format)")
    }
    #expect(NSPredicate(format: "n != '5' AND s != 5 AND n == 5.0 AND s == '5'").evaluate(with: row))
  }
}
