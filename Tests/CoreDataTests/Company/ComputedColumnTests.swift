import CoreData
import Testing

@Suite("Computed columns, groups and unsaved members")
struct ComputedColumnTests {
  let stand: CompanyStand
  let context: NSManagedObjectContext

  init() throws {
    stand = try CompanyStand()
    context = try stand.stocked()
  }

  private func rows(_ properties: [Any], _ configure: (NSFetchRequest<NSDictionary>) -> Void = { _ in })
    throws
    -> [[String: AnyHashable]]
  {
    let request = NSFetchRequest<NSDictionary>(entityName: "Employee")
    request.resultType = .dictionaryResultType
    request.propertiesToFetch = properties
    request.sortDescriptors = [NSSortDescriptor(key: "age", ascending: true)]
    configure(request)
    return try context.fetch(request).map { $0 as? [String: AnyHashable] ?? [:] }
  }

  private func column(_ name: String, _ format: String, _ type: NSAttributeType) -> NSExpressionDescription {
    let column = NSExpressionDescription()
    column.name = name
    column.expression = NSExpression(format: format)
    column.expressionResultType = type
    return column
  }

  @Test("Computed columns: sums, texts, members counted")
  func computed() throws {
    let found = try rows([
      "name", column("next", "age + 1", .integer32AttributeType),
      column("tasks", "chores.@count", .integer32AttributeType),
      column("loud", "uppercase:(name)", .stringAttributeType),
      column("most", "chores.@max.rank", .integer32AttributeType),
    ])
    #expect(found.map { $0["next"] as? Int } == [31, 41, 51, 61])
    #expect(found.map { $0["tasks"] as? Int } == [2, 1, 0, 0])
    #expect(found.map { $0["loud"] as? String } == ["ANNA", "BERT", "CLEO", "DORA"])
    #expect(found.map { $0["most"] as? Int } == [5, 7, nil, nil])
  }

  @Test("Aggregates of dates, decimals and doubles; a sum of nothing")
  func aggregateTypes() throws {
    let last = column("last", "max:(born)", .dateAttributeType)
    let pay = column("pay", "sum:(salary)", .decimalAttributeType)
    let score = column("score", "sum:(score)", .doubleAttributeType)
    let found = try rows([last, pay, score])
    #expect(found.count == 1)
    #expect(found[0]["last"] as? Date == Date(timeIntervalSinceReferenceDate: 60_000))
    #expect(found[0]["pay"] as? NSDecimalNumber == NSDecimalNumber(string: "18000.20"))
  }

  @Test("Groups by a to-one relationship, and by two keys; rows sorted by an alias")
  func groups() throws {
    let found = try rows(["isActive", column("n", "count:(name)", .integer32AttributeType)]) {
      $0.propertiesToGroupBy = ["isActive"]
      $0.sortDescriptors = [NSSortDescriptor(key: "isActive", ascending: true)]
    }
    #expect(
      found.map { $0["isActive"] as? Bool } == [false, true] && found.map { $0["n"] as? Int } == [2, 2])
    let two = try rows(["department.name", "isActive", column("n", "count:(name)", .integer32AttributeType)])
    {
      $0.propertiesToGroupBy = ["department.name", "isActive"]
      $0.sortDescriptors = [NSSortDescriptor(key: "department.name", ascending: false)]
      $0.predicate = NSPredicate(format: "department != nil")
    }
    #expect(two.map { $0["n"] as? Int } == [2, 1])
  }

  @Test("A function of an attribute that is not grouped by has the value of one of the group's objects")
  func functionsBesideGroups() throws {
    let found = try rows([
      "department.name", column("low", "lowercase:(name)", .stringAttributeType),
      column("older", "age + 1", .integer32AttributeType),
    ]) {
      $0.propertiesToGroupBy = ["department.name"]
      $0.sortDescriptors = [NSSortDescriptor(key: "department.name", ascending: true)]
    }
    // Of no department Dora, of Research Cleo, of Sales Anna and Bert.
    #expect(found.count == 3)
    #expect(found.prefix(2).map { $0["low"] as? String } == ["dora", "cleo"])
    let sales = try #require(found.last)
    // Both are of the same object.
    #expect(sales["low"] as? String == (sales["older"] as? Int == 31 ? "anna" : "bert"))
    for plain in ["age", column("years", "age", .integer32AttributeType)] as [Any] {
      let error = #expect(throws: (any Error).self) {
        try rows(["department.name", plain]) {
          $0.propertiesToGroupBy = ["department.name"]
          $0.sortDescriptors = []
        }
      }
      #expect(error.map { ($0 as NSError).code } == 134060)
    }
  }

  @Test("Substitution variables reach into compounds, sub-queries and lists")
  func substitution() throws {
    let open = NSPredicate(
      format: "age > $LEAST AND (name IN $NAMES OR SUBQUERY(chores, $c, $c.rank > $RANK).@count > 0)")
    let bound = open.withSubstitutionVariables(["LEAST": 35, "NAMES": ["Dora"], "RANK": 6])
    #expect(try context.texts("Employee", "name", bound) == ["Bert", "Dora"])
    #expect(try context.all("Employee").filter { bound.evaluate(with: $0) }.count == 2)
  }

  @Test("Predicates meet unsaved members, moved and deleted ones")
  func unsaved() throws {
    let (anna, bert) = (try context.employee("Anna"), try context.employee("Bert"))
    for chore in try context.all("Chore", NSPredicate(format: "owner == %@", anna)) {
      chore.setValue(bert, forKey: "owner")
    }
    #expect(try context.texts("Employee", "name", NSPredicate(format: "chores.@count == 3")) == ["Bert"])
    #expect(
      try context.texts("Employee", "name", NSPredicate(format: "ANY chores.title == 'mail'")) == ["Bert"])
    context.delete(bert)
    context.processPendingChanges()
    #expect(try context.all("Employee", NSPredicate(format: "ANY chores.title == 'mail'")).isEmpty)
    #expect(try context.texts("Employee", "name", NSPredicate(format: "manager.name == 'Cleo'")) == ["Anna"])
    try context.department("Research").name = "Lab"
    #expect(
      try context.texts("Employee", "name", NSPredicate(format: "department.name == 'Lab'")) == ["Cleo"])
  }

  @Test("Realized objects are no faults, prefetched relationships are loaded")
  func realized() throws {
    let other = stand.context()
    let request = NSFetchRequest<Employee>(entityName: "Employee")
    request.returnsObjectsAsFaults = false
    request.relationshipKeyPathsForPrefetching = ["department", "chores"]
    request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
    let all = try other.fetch(request)
    #expect(all.allSatisfy { !$0.isFault })
    #expect(!all[0].hasFault(forRelationshipNamed: "chores"))
  }

  @Test("execute() in a context's block; an unknown entity is an error")
  func execution() throws {
    let count = try context.performAndWait {
      let request = NSFetchRequest<Employee>(entityName: "Employee")
      request.predicate = NSPredicate(format: "age > 35")
      return try request.execute().count
    }
    #expect(count == 3)
    #expect(throws: (any Error).self) {
      try context.fetch(NSFetchRequest<Employee>(entityName: "Nobody"))
    }
  }

  @Test("Wrong keys in predicates, sort descriptors and columns are errors, not results")
  func wrongKeys() throws {
    let request = NSFetchRequest<Employee>(entityName: "Employee")
    request.predicate = NSPredicate(format: "nothing == 1")
    #expect(throws: (any Error).self) { try context.fetch(request) }
    request.predicate = nil
    request.sortDescriptors = [NSSortDescriptor(key: "nothing", ascending: true)]
    #expect(throws: (any Error).self) { try context.fetch(request) }
    #expect(throws: (any Error).self) { try rows(["nothing"]) }
  }
}
