import Foundation
import Strata
import Testing

/// Format strings and templates, with the public API.
@Suite struct FormatStringTests {
  @Test("rules 107–109: objects as arguments, string operators with options, sub-queries") func stories()
    throws
  {
    let store = try TemporaryStore(TeamModel.make())
    let context = store.context()
    let sales = context.make(Department.self, "Büro")
    for (level, name) in ["Ann", "BOB", "Çid"].enumerated() {
      let employee = context.make(Employee.self, name)
      employee.level = Int64(level)
      employee.department = level < 2 ? sales : nil
    }
    try context.save()
    func names(_ format: String, _ arguments: Any?...) throws -> [String] {
      let predicate = try FetchPredicate(format: format, argumentArray: arguments)
      return try context.fetch(FetchRequest<Employee>(entityName: "Employee", predicate: predicate)).names
    }
    #expect(try names("department == %@", sales) == ["Ann", "BOB"])
    #expect(try names("SELF IN %@", Array(sales.employees)) == ["Ann", "BOB"])
    #expect(try names("SELF IN %@", Set(sales.employees).union([])) == ["Ann", "BOB"])
    #expect(try names("name ==[cd] %@ OR name LIKE[c] 'a?N'", "cid") == ["Ann", "Çid"])
    #expect(try names("department.name BEGINSWITH[d] 'Bu' AND %K < %d", "level", 1) == ["Ann"])
    #expect(try names("name MATCHES '[A-Z]+'") == ["BOB"])
    #expect(try names("level BETWEEN {1, 2} AND NOT name CONTAINS 'B'") == ["Çid"])
    #expect(try names("department = nil") == ["Çid"])
    let departments = try context.fetch(
      FetchRequest<Department>(
        entityName: "Department",
        predicate: FetchPredicate(
          format: "SUBQUERY(employees, $e, $e.level < 5 AND $e.name != 'Ann').@count == 1")))
    #expect(departments.names == ["Büro"])
  }

  @Test("rule 110: templates of a model") func templates() throws {
    let model = TeamModel.make()
    var request = FetchRequest<Employee>(entityName: "Employee", sortDescriptors: [FetchSort("level")])
    request.predicate = try FetchPredicate(format: "level >= $lowest")
    request.includesSubentities = false
    model.setFetchRequestTemplate(request, forName: "From")
    model.setFetchRequestTemplate(request, forName: "Other")
    model.removeFetchRequestTemplate(forName: "Other")
    let store = try TemporaryStore(model)
    let context = store.context()
    for level in 0..<3 { context.make(Employee.self, "e\(level)").level = Int64(level) }
    context.make(Manager.self, "m").level = 9

    let stored: FetchRequest<Employee>? = model.fetchRequestTemplate(forName: "From")
    #expect(stored?.predicate == request.predicate)
    let bound: FetchRequest<Employee>? = try model.fetchRequestFromTemplate(
      withName: "From", substitutionVariables: ["lowest": 1])
    #expect(try context.fetch(try #require(bound)).namesInOrder == ["e1", "e2"])
    #expect(throws: FetchError.self) { try context.fetch(try #require(stored)) }
    #expect(model.fetchRequestTemplatesByName.keys.sorted() == ["From"])
    let none: FetchRequest<Employee>? = model.fetchRequestTemplate(forName: "Unknown")
    #expect(none == nil)
    let copy: ManagedObjectModel = try model.copy()
    #expect(copy.fetchRequestTemplatesByName.keys.sorted() == ["From"])
  }

  @Test("rule 110: variables of columns and of groups are bound, too") func templatesOfRows() throws {
    let model = TeamModel.make()
    var request = FetchRequest<FetchedDictionary>(
      entityName: "Employee", sortDescriptors: [FetchSort("rank")])
    let column = FetchColumn.expression(
      "rank", try FetchExpression(format: "TERNARY(level < $limit, 'low', $other)"), .string)
    request.propertiesToFetch = [column, .count(as: "n")]
    request.propertiesToGroupBy = [column]
    request.havingPredicate = try FetchPredicate(format: "n >= $least")
    model.setFetchRequestTemplate(request, forName: "Ranks")
    let store = try TemporaryStore(model)
    let context = store.context()
    for level in 0..<5 { context.make(Employee.self, "e\(level)").level = Int64(level) }
    try context.save()
    func ranks(_ limit: Int, _ least: Int) throws -> [String] {
      let bound: FetchRequest<FetchedDictionary>? = try model.fetchRequestFromTemplate(
        withName: "Ranks", substitutionVariables: ["limit": limit, "other": "high", "least": least])
      return try context.fetch(try #require(bound)).map {
        "\($0.string("rank") ?? "nil") \($0.integer("n") ?? 0)"
      }
    }
    #expect(try ranks(2, 1) == ["high 3", "low 2"])
    #expect(try ranks(4, 2) == ["low 4"])
    let unbound: FetchRequest<FetchedDictionary>? = try model.fetchRequestFromTemplate(
      withName: "Ranks", substitutionVariables: ["least": 1])
    #expect(throws: FetchError.self) { try context.fetch(try #require(unbound)) }
  }

  /// A request keeps everything when its kind of result changes: fields added later are not forgotten.
  @Test func returningKeepsAllOfARequest() throws {
    var request = FetchRequest<ManagedObject>(
      entityName: "E", predicate: Attribute("a") == 1, sortDescriptors: [FetchSort("b")], fetchLimit: 3,
      fetchOffset: 4)
    request.includesSubentities = false
    request.includesPropertyValues = false
    request.returnsObjectsAsFaults = false
    request.includesPendingChanges = false
    request.shouldRefreshRefetchedObjects = true
    request.relationshipKeyPathsForPrefetching = ["r"]
    request.fetchBatchSize = 7
    request.affectedStores = [UUID()]
    request.propertiesToFetch = ["a"]
    request.propertiesToGroupBy = ["b"]
    request.havingPredicate = Attribute("a") == 2
    request.returnsDistinctResults = true
    let other = request.returning(ManagedObjectID.self)
    let fresh = FetchRequest<ManagedObject>(entityName: "")
    for ((old, new), plain) in zip(
      zip(Mirror(reflecting: request).children, Mirror(reflecting: other).children),
      Mirror(reflecting: fresh).children)
    {
      if old.label == "subject" {
        // A request for something else than objects remembers whose entity it is about.
        #expect("\(new.value)".contains("ManagedObject"))
        continue
      }
      #expect("\(old)" == "\(new)")
      #expect("\(old)" != "\(plain)", "the test sets \(old.label ?? "") to something else than its default")
    }
  }
}
