import CoreData
import Testing

@Suite("Aggregates of the members of groups")
struct MemberAggregateTests {
  let context: NSManagedObjectContext

  init() throws { context = try CompanyStand().stocked() }

  private func rows(_ properties: [Any], _ configure: (NSFetchRequest<NSDictionary>) -> Void = { _ in })
    throws -> [NSDictionary]
  {
    let request = NSFetchRequest<NSDictionary>(entityName: "Employee")
    request.resultType = .dictionaryResultType
    request.propertiesToFetch = properties
    configure(request)
    return try context.fetch(request)
  }

  private func column(
    _ name: String, _ expression: NSExpression, _ type: NSAttributeType = .undefinedAttributeType
  )
    -> NSExpressionDescription
  {
    let column = NSExpressionDescription()
    column.name = name
    column.expression = expression
    column.expressionResultType = type
    return column
  }

  private func column(_ name: String, _ format: String) -> NSExpressionDescription {
    column(name, NSExpression(format: format))
  }

  private func call(_ function: String, _ path: String) -> NSExpression {
    NSExpression(forFunction: function, arguments: [NSExpression(forKeyPath: path)])
  }

  @Test("Members are counted and added up for each group, by function and by operator")
  func groups() throws {
    let found = try rows([
      "department.name", column("n", call("count:", "chores"), .integer32AttributeType),
      column("m", "chores.@count"), column("sum", call("sum:", "chores.rank")),
      column("mean", "average:(chores.rank)"), column("first", "min:(chores.title)"),
      column("hard", "SUBQUERY(chores, $c, $c.rank > 4).@count"), column("people", "count:(name)"),
    ]) {
      $0.propertiesToGroupBy = ["department.name"]
      $0.sortDescriptors = [NSSortDescriptor(key: "department.name", ascending: true)]
    }
    // Of no department first: Dora. Then Cleo of Research, Anna and Bert of Sales.
    #expect(found.map { $0["department.name"] as? String } == [nil, "Research", "Sales"])
    #expect(found.map { $0["n"] as? Int } == [0, 0, 3])
    #expect(found.map { $0["m"] as? Int } == [0, 0, 3])
    #expect(found.map { $0["sum"] as? Int } == [0, 0, 13])
    #expect(found.map { $0["mean"] as? Double } == [nil, nil, 13.0 / 3])
    #expect(found.map { $0["first"] as? String } == [nil, nil, "mail"])
    #expect(found.map { $0["hard"] as? Int } == [0, 0, 2])
    #expect(found.map { $0["people"] as? Int } == [1, 1, 2])
  }

  @Test("Along several relationships, in computed columns, in conditions on groups and as sort keys")
  func uses() throws {
    let found = try rows([
      "isActive", column("n", "count:(chores) * 10"), column("most", "max:(chores.@count)"),
    ]) {
      $0.propertiesToGroupBy = ["isActive"]
      $0.sortDescriptors = [NSSortDescriptor(key: "n", ascending: false)]
    }
    #expect(found.map { $0["n"] as? Int } == [30, 0])
    #expect(found.map { $0["most"] as? Int } == [2, 0])
    let busy = try rows(["name", column("n", "count:(reports.chores)")]) {
      $0.propertiesToGroupBy = ["name"]
      $0.havingPredicate = NSPredicate(format: "count:(reports.chores) > 1")
    }
    #expect(busy.map { $0["name"] as? String } == ["Cleo"])
    #expect(busy.map { $0["n"] as? Int } == [3])
  }

  @Test("Beside an aggregate of all rows, members are those of all rows")
  func withoutGroups() throws {
    let found = try rows([column("n", call("count:", "chores")), column("oldest", "max:(age)")])
    #expect(found.count == 1)
    #expect(found.first?["n"] as? Int == 3)
    #expect(found.first?["oldest"] as? Int == 60)
    // By itself it is a value of each row.
    #expect(try rows([column("n", call("count:", "chores"))]).count == 4)
  }

  @Test("A sum of objects, and members that nothing makes one of, are errors")
  func refused() throws {
    for (name, expression) in [("x", call("sum:", "chores")), ("y", NSExpression(forKeyPath: "chores.rank"))]
    {
      #expect(throws: (any Error).self, "\(name)") {
        try rows(["isActive", column(name, expression)]) { $0.propertiesToGroupBy = ["isActive"] }
      }
    }
  }
}
