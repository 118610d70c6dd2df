import CoreData
import Testing

/// `distinct:` inside of aggregates, as COUNT(DISTINCT …) is asked for, and columns that are named twice.
@Suite("Distinct values in aggregates")
struct DistinctAggregateTests {
  private let context: NSManagedObjectContext

  /// Workers a, b, c and d: a and b of the team x, c of y, d of none; their ranks are 1, 1, 2 and nil.
  init() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "distinct-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    func attribute(_ name: String, _ type: NSAttributeType) -> NSAttributeDescription {
      let attribute = NSAttributeDescription()
      (attribute.name, attribute.attributeType, attribute.isOptional) = (name, type, true)
      return attribute
    }
    let (worker, team) = (NSEntityDescription(), NSEntityDescription())
    (worker.name, team.name) = ("Worker", "Team")
    let (owner, members) = (NSRelationshipDescription(), NSRelationshipDescription())
    (owner.name, owner.destinationEntity, owner.maxCount, owner.isOptional) = ("team", team, 1, true)
    (members.name, members.destinationEntity, members.maxCount, members.isOptional) = (
      "members", worker, 0, true
    )
    (owner.inverseRelationship, members.inverseRelationship) = (members, owner)
    worker.properties = [
      attribute("name", .stringAttributeType), attribute("rank", .integer16AttributeType),
      attribute("city", .stringAttributeType), owner,
    ]
    team.properties = [attribute("name", .stringAttributeType), members]
    let model = NSManagedObjectModel()
    model.entities = [worker, team]
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: folder.appendingPathComponent("Teams.sqlite"))
    context = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    var teams: [String: NSManagedObject] = [:]
    for name in ["x", "y"] {
      teams[name] = NSManagedObject(entity: team, insertInto: context)
      teams[name]?.setValue(name, forKey: "name")
    }
    let rows: [(name: String, team: String?, rank: Int?, city: String?)] = [
      ("a", "x", 1, "Rome"), ("b", "x", 1, "Oslo"), ("c", "y", 2, "Rome"), ("d", nil, nil, nil),
    ]
    for row in rows {
      let object = NSManagedObject(entity: worker, insertInto: context)
      object.setValue(row.name, forKey: "name")
      object.setValue(row.rank, forKey: "rank")
      object.setValue(row.city, forKey: "city")
      object.setValue(row.team.flatMap { teams[$0] }, forKey: "team")
    }
    try context.save()
  }

  private func column(_ expression: NSExpression, _ name: String = "v") -> NSExpressionDescription {
    let column = NSExpressionDescription()
    (column.name, column.expression, column.expressionResultType) = (name, expression, .doubleAttributeType)
    return column
  }

  private func rows(_ columns: [Any], by groups: [Any]? = nil, of entity: String = "Worker") throws
    -> [[String: AnyHashable]]
  {
    let request = NSFetchRequest<NSDictionary>(entityName: entity)
    request.resultType = .dictionaryResultType
    request.propertiesToFetch = columns
    request.propertiesToGroupBy = groups
    request.sortDescriptors = (groups?.first as? String).map { [NSSortDescriptor(key: $0, ascending: true)] }
    return try context.fetch(request).map { $0 as? [String: AnyHashable] ?? [:] }
  }

  private func value(_ format: String) throws -> Double? {
    try rows([column(NSExpression(format: format))]).first?["v"] as? Double
  }

  @Test(
    "Each value counts once and nil does not count: of attributes, objects, and along to-one relationships")
  func allRows() throws {
    #expect(try value("count:(distinct:(rank))") == 2)
    #expect(try value("count:(distinct(city))") == 2)
    #expect(try value("count:(distinct:(team))") == 2)
    #expect(try value("count:(distinct:(SELF))") == 4)
    #expect(try value("count:(distinct:(team.name))") == 2)
    #expect(try value("count:(distinct:(lowercase:(city)))") == 2)
    #expect(try value("sum:(distinct:(rank))") == 3)
    #expect(try value("average:(distinct:(rank))") == 1.5)
    #expect(try value("min:(distinct:(rank))") == 1 && value("max:(distinct:(rank))") == 2)
    #expect(try value("count:(distinct:(distinct:(rank)))") == 2)
    #expect(try value("count:(rank)") == 3 && value("sum:(rank)") == 4)
    let made = NSExpression(
      forFunction: "count:",
      arguments: [NSExpression(forFunction: "distinct:", arguments: [NSExpression(forKeyPath: "rank")])])
    #expect(try rows([column(made)]).first?["v"] as? Double == 2)
    let named = NSExpression(format: "count:(distinct:(%K))", argumentArray: ["city"])
    #expect(try rows([column(named)]).first?["v"] as? Double == 2)
  }

  @Test("Groups count by themselves, of members of their objects, too")
  func groups() throws {
    let ranks = column(NSExpression(format: "count:(distinct:(rank))"))
    let cities = column(NSExpression(format: "count:(distinct:(city))"), "w")
    let all = column(NSExpression(format: "count:(rank)"), "all")
    let found = try rows(["team.name", ranks, cities, all], by: ["team.name"])
    #expect(found.map { $0["v"] as? Double } == [0, 1, 1])
    #expect(found.map { $0["w"] as? Double } == [0, 2, 1])
    #expect(found.map { $0["all"] as? Double } == [0, 2, 1])
    let teams = try rows(
      ["name", column(NSExpression(format: "sum:(distinct:(members.rank))"))], by: ["name"], of: "Team")
    #expect(teams.map { $0["v"] as? Double } == [1, 2])
  }

  @Test("In conditions: of members, and of all objects, unsaved ones included")
  func conditions() throws {
    func names(_ format: String, _ entity: String) throws -> [String] {
      let request = NSFetchRequest<NSManagedObject>(entityName: entity)
      request.predicate = NSPredicate(format: format)
      let found = try context.fetch(request)
      let all = try context.fetch(NSFetchRequest<NSManagedObject>(entityName: entity))
      let texts = found.compactMap { $0.value(forKey: "name") as? String }.sorted()
      if entity == "Team" {
        let inMemory = all.filter { NSPredicate(format: format).evaluate(with: $0) }
        #expect(inMemory.compactMap { $0.value(forKey: "name") as? String }.sorted() == texts, "\(format)")
      }
      return texts
    }
    #expect(try names("count:(distinct:(members.rank)) == 1", "Team") == ["x", "y"])
    #expect(try names("count:(distinct:(members.city)) == 2", "Team") == ["x"])
    #expect(try names("sum:(distinct:(members.rank)) == 1", "Team") == ["x"])
    #expect(try names("rank == count:(distinct:(rank))", "Worker") == ["c"])
    let new = NSEntityDescription.insertNewObject(forEntityName: "Worker", into: context)
    new.setValuesForKeys(["name": "e", "rank": 3])
    #expect(try names("rank == count:(distinct:(rank))", "Worker") == ["e"])
    new.setValue(2, forKey: "rank")
    #expect(try names("rank == count:(distinct:(rank))", "Worker") == ["c", "e"])
  }

  @Test("In memory it is a set; the text is read back")
  func inMemory() throws {
    let expression = NSExpression(format: "count:(distinct:(ranks))")
    let row: [String: Any] = ["ranks": [1, 1, 2, NSNull()] as [Any]]
    #expect(expression.expressionValue(with: row, context: nil) as? Int == 2)
    let set = NSExpression(format: "distinct:(ranks)").expressionValue(with: row, context: nil)
    #expect(set as? NSSet == NSSet(array: [1, 2]))
    #expect(expression.description == "count:(distinct:(ranks))")
    #expect(NSExpression(format: expression.description) == expression)
  }

  @Test("Outside of an aggregate it is refused by its name")
  func alone() throws {
    let request = NSFetchRequest<NSManagedObject>(entityName: "Worker")
    request.predicate = NSPredicate(format: "distinct:(rank) == 1")
    var errors: [(any Error)?] = []
    errors.append(#expect(throws: (any Error).self) { try context.fetch(request) })
    let column = column(NSExpression(format: "distinct:(rank)"))
    errors.append(#expect(throws: (any Error).self) { try rows([column]) })
    errors.append(#expect(throws: (any Error).self) { try rows(["team.name", column], by: ["team.name"]) })
    for error in errors {
      #expect(error.map { ($0 as NSError).code } == 134_060)
      #expect(error?.localizedDescription.contains("distinct:") == true)
    }
  }

  @Test("A column that is named twice is one; two expressions of one name are refused")
  func repeatedColumns() throws {
    let name = try #require(
      context.persistentStoreCoordinator?.managedObjectModel.entitiesByName["Worker"]?.attributesByName[
        "name"])
    for columns in [["name", "name"], ["name", name], [name, "name", "rank"]] as [[Any]] {
      let found = try rows(columns)
      #expect(found.compactMap { $0["name"] as? String }.sorted() == ["a", "b", "c", "d"])
    }
    let twice = [column(NSExpression(format: "rank + 1")), column(NSExpression(format: "rank + 1"))]
    #expect(try rows(twice).compactMap { $0["v"] as? Double }.sorted() == [2, 2, 3])
    for columns in [
      ["name", column(NSExpression(format: "uppercase:(city)"), "name")],
      [column(NSExpression(format: "rank + 1")), column(NSExpression(format: "rank + 2"))],
    ] as [[Any]] {
      let error = #expect(throws: (any Error).self) { try rows(columns) }
      #expect(error.map { ($0 as NSError).code } == 134_060)
    }
  }
}
