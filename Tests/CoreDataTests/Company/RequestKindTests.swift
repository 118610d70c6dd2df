import CoreData
import Testing

@Suite("Kinds of fetch requests by Apple's names")
struct RequestKindTests {
  let stand: CompanyStand
  let context: NSManagedObjectContext

  init() throws {
    stand = try CompanyStand()
    context = try stand.stocked()
  }

  private func rows(_ configure: (NSFetchRequest<NSDictionary>) -> Void) throws -> [[String: AnyHashable]] {
    let request = NSFetchRequest<NSDictionary>(entityName: "Employee")
    request.resultType = .dictionaryResultType
    configure(request)
    return try context.fetch(request).map { $0 as? [String: AnyHashable] ?? [:] }
  }

  private func names(_ configure: (NSFetchRequest<Employee>) -> Void) throws -> [String] {
    let request = NSFetchRequest<Employee>(entityName: "Employee")
    configure(request)
    return try context.fetch(request).map { $0.name ?? "nil" }
  }

  private func aggregate(_ name: String, _ function: String, _ key: String, _ type: NSAttributeType)
    -> NSExpressionDescription
  {
    let column = NSExpressionDescription()
    column.name = name
    column.expression = NSExpression(forFunction: function, arguments: [NSExpression(forKeyPath: key)])
    column.expressionResultType = type
    return column
  }

  @Test("Columns by name, by description and by key path of a to-one relationship")
  func columns() throws {
    let entity = try #require(NSEntityDescription.entity(forEntityName: "Employee", in: context))
    let found = try rows {
      $0.propertiesToFetch = [entity.propertiesByName["name"] as Any, "age", "department.name"]
      $0.sortDescriptors = [NSSortDescriptor(key: "age", ascending: true)]
    }
    #expect(found.map { $0["name"] } == ["Anna", "Bert", "Cleo", "Dora"])
    #expect(found.map { $0["department.name"] } == ["Sales", "Sales", "Research", nil])
    #expect(found[0].count == 3 && found[3]["department.name"] == nil)
  }

  @Test("Distinct rows, in order")
  func distinct() throws {
    let found = try rows {
      $0.propertiesToFetch = ["department.name"]
      $0.returnsDistinctResults = true
      $0.predicate = NSPredicate(format: "department != nil")
      $0.sortDescriptors = [NSSortDescriptor(key: "department.name", ascending: true)]
    }
    #expect(found.map { $0["department.name"] } == ["Research", "Sales"])
  }

  @Test("Groups by a key path, with sums, averages and counts, and a having predicate")
  func groups() throws {
    let count = aggregate("number", "count:", "name", .integer32AttributeType)
    let sum = aggregate("years", "sum:", "age", .integer64AttributeType)
    let mean = aggregate("mean", "average:", "age", .doubleAttributeType)
    func grouped(_ having: NSPredicate?) throws -> [[String: AnyHashable]] {
      try rows {
        $0.propertiesToFetch = ["department.name", count, sum, mean]
        $0.propertiesToGroupBy = ["department.name"]
        $0.sortDescriptors = [NSSortDescriptor(key: "department.name", ascending: true)]
        $0.havingPredicate = having
      }
    }
    let found = try grouped(nil)
    #expect(found.map { $0["number"] as? Int } == [1, 1, 2])
    #expect(found.map { $0["years"] as? Int } == [60, 50, 70])
    #expect(found.map { $0["mean"] as? Double } == [60, 50, 35])
    #expect(found[0]["department.name"] == nil)
    #expect(
      try grouped(NSPredicate(format: "%@ > 1", NSExpression(forVariable: "number"))).map {
        $0["department.name"]
      } == ["Sales"])
  }

  @Test("The object's ID as a column")
  func idColumn() throws {
    let id = NSExpressionDescription()
    id.name = "objectID"
    id.expression = NSExpression.expressionForEvaluatedObject()
    id.expressionResultType = .objectIDAttributeType
    let request = NSFetchRequest<NSDictionary>(entityName: "Employee")
    request.resultType = .dictionaryResultType
    request.propertiesToFetch = [id, "name"]
    request.predicate = NSPredicate(format: "name == 'Anna'")
    let row = try #require(try context.fetch(request).first)
    #expect(try row["objectID"] as? NSManagedObjectID == context.employee("Anna").objectID)
  }

  @Test("Aggregates of everything, of nothing, and with a predicate")
  func aggregates() throws {
    func value(_ function: String, _ predicate: NSPredicate? = nil) throws -> AnyHashable? {
      let column = aggregate("value", function, "age", .integer64AttributeType)
      return try rows {
        $0.propertiesToFetch = [column]
        $0.predicate = predicate
      }.first?["value"]
    }
    #expect(try value("sum:") as? Int == 180 && value("max:") as? Int == 60 && value("min:") as? Int == 30)
    #expect(try value("count:") as? Int == 4 && value("average:") as? Int == 45)
    #expect(try value("max:", NSPredicate(format: "department.name == 'Sales'")) as? Int == 40)
    #expect(try value("count:", NSPredicate(value: false)) as? Int == 0)
    #expect(try value("max:", NSPredicate(value: false)) == nil)
  }

  @Test(
    "Sort keys beside aggregates of everything are ignored: one row, of the same values",
    arguments: ["age", "name", "department.name", "years"])
  func sortedAggregates(key: String) throws {
    let sum = aggregate("years", "sum:", "age", .integer64AttributeType)
    let mean = aggregate("mean", "average:", "age", .doubleAttributeType)
    for isAscending in [true, false] {
      func found(_ predicate: NSPredicate?) throws -> [[String: AnyHashable]] {
        try rows {
          $0.propertiesToFetch = [sum, mean]
          $0.predicate = predicate
          $0.sortDescriptors = [
            NSSortDescriptor(key: key, ascending: isAscending),
            NSSortDescriptor(key: "age", ascending: true),
          ]
        }
      }
      let all = try found(nil)
      #expect(all.count == 1 && all[0]["years"] as? Int == 180 && all[0]["mean"] as? Double == 45)
      #expect(try found(NSPredicate(format: "age > 45")).map { $0["years"] as? Int } == [110])
    }
  }

  @Test("Orders by several keys, by key paths, without case; nil comes first")
  func orders() throws {
    #expect(
      try names {
        $0.sortDescriptors = [
          NSSortDescriptor(key: "department.name", ascending: true),
          NSSortDescriptor(key: "age", ascending: false),
        ]
      } == ["Dora", "Cleo", "Bert", "Anna"])
    #expect(
      try names {
        $0.sortDescriptors = [
          NSSortDescriptor(key: "department.name", ascending: false),
          NSSortDescriptor(key: "name", ascending: true),
        ]
      } == ["Anna", "Bert", "Cleo", "Dora"])
    let new = Employee(context: context)
    new.name = "bob"
    func ordered() throws -> [String] {
      try names {
        $0.sortDescriptors = [
          NSSortDescriptor(key: "name", ascending: true, selector: Selector("caseInsensitiveCompare:"))
        ]
      }
    }
    #expect(try ordered() == ["Anna", "Bert", "bob", "Cleo", "Dora"])
    try context.save()
    #expect(try ordered() == ["Anna", "Bert", "bob", "Cleo", "Dora"])
  }

  @Test("includesSubentities, classes of subentities, and requests for them")
  func subentities() throws {
    #expect(try names { $0.includesSubentities = false }.sorted() == ["Anna", "Bert", "Dora"])
    #expect(try context.all("Manager").map { type(of: $0) == Manager.self } == [true])
    #expect(try context.employee("Cleo") is Manager)
    let count = NSFetchRequest<Employee>(entityName: "Employee")
    count.includesSubentities = false
    #expect(try context.count(for: count) == 3)
  }

  @Test("includesPendingChanges off: the store decides, with sort, limit and offset")
  func storedOnly() throws {
    try context.employee("Anna").age = 99
    context.delete(try context.employee("Bert"))
    Employee(context: context).name = "Ed"
    func found(_ pending: Bool, limit: Int = 0, offset: Int = 0) throws -> [String] {
      try names {
        $0.includesPendingChanges = pending
        $0.predicate = NSPredicate(format: "age < 60")
        $0.sortDescriptors = [NSSortDescriptor(key: "age", ascending: true)]
        $0.fetchLimit = limit
        $0.fetchOffset = offset
      }
    }
    #expect(try found(true) == ["Ed", "Cleo"])
    #expect(try found(false, limit: 1) == ["Anna"])
    #expect(try found(false, limit: 2, offset: 2) == ["Cleo"])
    #expect(try found(true, limit: 1, offset: 1) == ["Cleo"])
  }

  @Test("shouldRefreshRefetchedObjects brings what others saved, and keeps edits")
  func refetching() throws {
    let (anna, bert) = (try context.employee("Anna"), try context.employee("Bert"))
    #expect(anna.age == 30 && bert.age == 40)
    let other = stand.context()
    try other.employee("Anna").age = 31
    try other.employee("Bert").age = 41
    try other.save()
    bert.age = 42
    _ = try names { _ in }
    #expect(anna.age == 30)
    _ = try names { $0.shouldRefreshRefetchedObjects = true }
    #expect(anna.age == 31 && bert.age == 42)
  }

  @Test("IDs and counts; a limit counts; batches give all objects")
  func kinds() throws {
    let ids = NSFetchRequest<NSManagedObjectID>(entityName: "Employee")
    ids.resultType = .managedObjectIDResultType
    ids.predicate = NSPredicate(format: "name == 'Anna'")
    #expect(try context.fetch(ids) == [context.employee("Anna").objectID])
    let request = NSFetchRequest<Employee>(entityName: "Employee")
    request.fetchLimit = 3
    #expect(try context.count(for: request) == 3)
    request.fetchLimit = 0
    request.fetchBatchSize = 2
    request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
    let all = try context.fetch(request)
    context.delete(all[1])
    try context.save()
    #expect(all.count == 4 && all[3].name == "Dora" && all[1].managedObjectContext == nil)
    #expect(try context.fetch(request).count == 3)
  }

  @Test("A template's variables are bound; unknown names give nil")
  func templates() throws {
    let stand = try CompanyStand { model in
      let request = NSFetchRequest<NSFetchRequestResult>()
      request.entity = model.entitiesByName["Employee"]
      request.predicate = NSPredicate(format: "age > $AGE AND department == $WHERE")
      model.setFetchRequestTemplate(request, forName: "older")
    }
    let context = try stand.stocked()
    let model = stand.coordinator.managedObjectModel
    let sales = try context.department("Sales")
    let request = try #require(
      model.fetchRequestFromTemplate(withName: "older", substitutionVariables: ["AGE": 35, "WHERE": sales]))
    request.sortDescriptors = [NSSortDescriptor(key: "age", ascending: true)]
    #expect(try (context.fetch(request) as? [Employee])?.map(\.name) == ["Bert"])
    let nobody = model.fetchRequestFromTemplate(
      withName: "older", substitutionVariables: ["AGE": 35, "WHERE": NSNull()])
    #expect(try (context.fetch(#require(nobody)) as? [Employee])?.map(\.name) == ["Dora"])
    #expect(model.fetchRequestTemplate(forName: "younger") == nil)
    #expect(model.fetchRequestFromTemplate(withName: "younger", substitutionVariables: [:]) == nil)
  }
}
