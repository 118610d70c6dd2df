import Foundation
import Strata
import Testing

/// `#Predicate` on classes of managed objects: the store finds what Foundation's own evaluation of the predicate finds.
@Suite struct FoundationPredicateTests {
  private let store: TemporaryStore
  private let context: ManagedObjectContext

  init() throws {
    store = try TemporaryStore(TeamModel.make())
    context = store.context()
    let sales = context.make(Department.self, "sales")
    let works = context.make(Department.self, "works")
    context.make(Department.self, "empty")
    let project = context.make(Project.self, "bridge")
    var boss: Employee?
    for (number, name) in ["ann", "Bob", "bob", "cid", "Éva", "dan"].enumerated() {
      let employee = context.make(Employee.self, name)
      employee.level = Int64(number) - 1
      employee.manager = boss
      employee.department = number % 2 == 0 ? sales : works
      if number % 3 == 0 { project.members.insert(employee) }
      boss = number == 3 ? nil : employee
    }
    context.make(Manager.self, "max").level = 40
    let nameless = context.make(Employee.self, "x")
    nameless.name = nil
    nameless.level = 7
    try context.save()
  }

  /// The store finds the objects that the predicate is true for, and no others; with unsaved changes too.
  private func check<T: Named>(
    _ predicate: Predicate<T>, finds count: Int? = nil, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let all = try context.fetch(FetchRequest<T>(entityName: String(describing: T.self)))
    let expected = try all.filter { try predicate.evaluate($0) }.map { "\($0.objectID)" }.sorted()
    let tree = try FetchPredicate(predicate, model: store.coordinator.managedObjectModel)
    let found = try context.fetch(predicate).map { "\($0.objectID)" }.sorted()
    #expect(found == expected, "\(tree)", sourceLocation: sourceLocation)
    #expect(try context.count(predicate) == expected.count, "\(tree)", sourceLocation: sourceLocation)
    if let count { #expect(expected.count == count, "\(tree)", sourceLocation: sourceLocation) }
    #expect(try FetchPredicate(format: tree.description) == tree, sourceLocation: sourceLocation)
  }

  private func tree<T: ManagedObject>(_ predicate: Predicate<T>) throws -> String {
    try FetchPredicate(predicate, model: store.coordinator.managedObjectModel).description
  }

  @Test func attributesAndConstants() throws {
    let limit: Int64 = 2
    try check(#Predicate<Employee> { $0.level > limit })
    try check(#Predicate<Employee> { $0.level <= 2 && $0.name != "bob" })
    try check(#Predicate<Employee> { !($0.level == 2) || $0.name == nil })
    try check(#Predicate<Employee> { $0.name == "bob" }, finds: 1)
    try check(#Predicate<Employee> { $0.level + 1 > limit * 2 })
    try check(#Predicate<Employee> { -$0.level == 1 }, finds: 1)
    try check(#Predicate<Employee> { $0.level % 2 == 1 })
    try check(#Predicate<Employee> { $0.level / 2 == 1 })
    #expect(try tree(#Predicate<Employee> { $0.level > limit }) == "level > 2")
  }

  @Test func textsAndOptionals() throws {
    try check(#Predicate<Employee> { ($0.name ?? "").contains("b") }, finds: 2)
    try check(#Predicate<Employee> { ($0.name ?? "none").starts(with: "n") }, finds: 1)
    try check(#Predicate<Employee> { $0.name?.starts(with: "b") == true }, finds: 1)
    try check(#Predicate<Employee> { $0.name?.starts(with: "b") == false }, finds: 6)
    try check(#Predicate<Employee> { $0.name?.starts(with: "b") != true }, finds: 7)
    try check(#Predicate<Employee> { $0.name?.starts(with: "b") ?? true }, finds: 2)
    try check(#Predicate<Employee> { $0.name?.starts(with: "b") == nil }, finds: 1)
    try check(
      #Predicate<Employee> { if let name = $0.name { return name == "ann" } else { return false } }, finds: 1)
    try check(#Predicate<Employee> { ($0.name ?? "").count == 3 }, finds: 7)
    try check(#Predicate<Employee> { ($0.name ?? "").isEmpty }, finds: 1)
    try check(#Predicate<Employee> { $0.name?.count == 3 }, finds: 7)
    try check(#Predicate<Employee> { ($0.level > 2 ? 1 : 2) == 1 })
  }

  @Test func listsAndRanges() throws {
    let names = ["ann", "cid", "nobody"]
    let range: ClosedRange<Int64> = 1...3
    try check(#Predicate<Employee> { names.contains($0.name ?? "") }, finds: 2)
    try check(#Predicate<Employee> { range.contains($0.level) }, finds: 3)
    try check(#Predicate<Employee> { (1...3).contains($0.level) }, finds: 3)
    try check(#Predicate<Employee> { (1..<3).contains($0.level) }, finds: 2)
    try check(#Predicate<Employee> { employee in names.contains { $0 == (employee.name ?? "") } }, finds: 2)
    try check(#Predicate<Employee> { employee in names.allSatisfy { $0 != (employee.name ?? "") } }, finds: 6)
    #expect(try tree(#Predicate<Employee> { (1...3).contains($0.level) }) == "level BETWEEN {1, 3}")
  }

  @Test func relationships() throws {
    try check(#Predicate<Employee> { $0.department?.name == "sales" }, finds: 3)
    try check(#Predicate<Employee> { $0.department?.name != "sales" }, finds: 5)
    try check(#Predicate<Employee> { $0.manager?.manager?.name == "ann" }, finds: 1)
    try check(#Predicate<Employee> { $0.manager == nil }, finds: 4)
    try check(#Predicate<Employee> { ($0.manager?.level ?? 99) > 50 }, finds: 4)
    try check(#Predicate<Department> { $0.employees.contains { $0.level > 3 } }, finds: 1)
    try check(#Predicate<Department> { $0.employees.contains { $0.name == nil } }, finds: 0)
    try check(#Predicate<Department> { $0.employees.contains { $0.level > 0 && $0.name == "bob" } }, finds: 1)
    try check(#Predicate<Department> { $0.employees.allSatisfy { $0.level < 4 } }, finds: 2)
    try check(#Predicate<Department> { $0.employees.count == 3 }, finds: 2)
    try check(#Predicate<Department> { $0.employees.isEmpty }, finds: 1)
    try check(#Predicate<Department> { $0.employees.filter { $0.level > 1 }.count == 1 }, finds: 1)
    try check(#Predicate<Department> { $0.employees.contains { $0.manager?.name == "ann" } }, finds: 1)
    #expect(
      try tree(#Predicate<Department> { $0.employees.contains { $0.level > 3 } }) == "ANY employees.level > 3"
    )
  }

  @Test func objectsByTheirIdentifiers() throws {
    let sales = try context.find(Department.self, "sales").objectID
    try check(#Predicate<Employee> { $0.department?.objectID == sales }, finds: 3)
    try check(#Predicate<Department> { $0.objectID == sales }, finds: 1)
    let ann = try context.find(Employee.self, "ann").objectID
    try check(#Predicate<Department> { $0.employees.contains { $0.objectID == ann } }, finds: 1)
  }

  @Test func classesAreThoseOfEntities() throws {
    context.make(Manager.self, "new")
    #expect(try context.count(#Predicate<Employee> { $0 is Manager }) == 2)
    #expect(try context.count(#Predicate<Employee> { !($0 is Manager) }) == 7)
    #expect(
      try context.fetch(#Predicate<Employee> { $0 is Manager && $0.level == 40 }).map(\.name) == ["max"])
  }

  @Test func unsavedChangesTakePart() throws {
    try context.find(Employee.self, "ann").level = 90
    try context.find(Employee.self, "cid").department = nil
    context.make(Employee.self, "new").level = 91
    try check(#Predicate<Employee> { $0.level > 80 }, finds: 2)
    try check(#Predicate<Employee> { $0.department?.name == "works" }, finds: 2)
    try check(#Predicate<Department> { $0.employees.contains { $0.level > 80 } }, finds: 1)
  }

  @Test func everyAttributeTypeHasKeyPaths() throws {
    let store = try TemporaryStore()
    let context = store.context()
    let (date, id, url) = (Date(timeIntervalSinceReferenceDate: 5), UUID(), URL(fileURLWithPath: "/x"))
    for number in 0..<2 {
      let sample = Sample(context: context)
      guard number == 1 else { continue }
      sample.int16 = 1
      sample.int32 = 2
      sample.int64 = 3
      sample.decimal = 4
      sample.double = 5.5
      sample.float = 6.5
      sample.string = "s"
      sample.boolean = true
      sample.date = date
      sample.data = Data([7])
      sample.uuid = id
      sample.uri = url
    }
    try context.save()
    let (decimal, data, float) = (Decimal(4), Data([7]), Float(6.5))
    let predicates: [Predicate<Sample>] = [
      #Predicate { $0.int16 == 1 }, #Predicate { $0.int32 == 2 }, #Predicate { $0.int64 == 3 },
      #Predicate { $0.decimal == decimal }, #Predicate { $0.double > 5.25 }, #Predicate { $0.float == float },
      #Predicate { $0.string == "s" }, #Predicate { $0.boolean }, #Predicate { $0.date == date },
      #Predicate { $0.data == data }, #Predicate { $0.uuid == id }, #Predicate { $0.uri == url },
      #Predicate { $0.optionalInt16 != nil },
    ]
    for predicate in predicates { #expect(try context.count(predicate) == 1, "\(predicate)") }
  }

  @Test func whatNoStoreCanLookUpIsNamed() throws {
    func error<T: ManagedObject>(_ predicate: Predicate<T>) -> String {
      do { return try tree(predicate) } catch { return "\(error)" }
    }
    #expect(error(#Predicate<Employee> { $0.twofold == 2 }).contains("computes something of level"))
    #expect(error(#Predicate<Employee> { $0.label == "x" }).contains("reads name, level"))
    #expect(error(#Predicate<Employee> { $0.nothing == 2 }).contains("reads no stored property"))
    let casting = error(#Predicate<Employee> { ($0 as? Manager)?.level == 2 })
    #expect(casting.contains("ConditionalCast"))
    #expect(error(#Predicate<Label> { $0.name == "x" }) == "name == \"x\"")
    #expect(error(#Predicate<Named> { $0.name == "x" }).contains("the class of no entity"))
  }
}

extension Employee {
  fileprivate var twofold: Int64 { level * 2 }
  fileprivate var label: String { "\(name ?? "") \(level)" }
  fileprivate var nothing: Int64 { 2 }
}
