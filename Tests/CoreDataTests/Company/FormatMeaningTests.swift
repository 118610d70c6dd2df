import CoreData
import Testing

@Suite("What formats and functions mean")
struct FormatMeaningTests {
  let stand: CompanyStand
  let context: NSManagedObjectContext

  init() throws {
    stand = try CompanyStand()
    context = try stand.stocked()
  }

  /// The first letters of the people that a fetch finds, which must be those that memory finds.
  private func found(_ predicate: NSPredicate) throws -> String {
    let names = try context.texts("Employee", "name", predicate).map { String($0.prefix(1)) }.joined()
    let all = try context.all("Employee")
    let memory = all.filter { predicate.evaluate(with: $0) }
      .compactMap { ($0 as? Employee)?.name?.prefix(1) }.sorted().joined()
    return names == memory ? names : "fetch \(names), memory \(memory)"
  }

  private func found(_ format: String, _ arguments: Any...) throws -> String {
    try found(NSPredicate(format: format, argumentArray: arguments))
  }

  @Test(
    "Formats without arguments",
    arguments: [
      ("TRUEPREDICATE", "ABCD"), ("FALSEPREDICATE", ""), ("NOT TRUEPREDICATE", ""),
      ("name = 'Anna' or name == \"Bert\"", "AB"), ("name <> 'Anna' && age < 60", "BC"),
      ("age => 40 AND age =< 50", "BC"), ("!(age >= 40)", "A"), ("NOT (age < 40 || age > 50)", "BC"),
      ("age BETWEEN {40, 50}", "BC"), ("NOT (age BETWEEN {40, 50})", "AD"),
      ("name IN {'Anna', 'Dora', 'Zoe'}", "AD"), ("NOT (name IN {'Anna'})", "BCD"),
      ("NOT name IN {'Anna'}", "BCD"),
      ("name BEGINSWITH 'A'", "A"), ("name BEGINSWITH[c] 'a'", "A"), ("name ENDSWITH 'a'", "AD"),
      ("name CONTAINS[cd] 'ÉR'", "B"), ("name LIKE '?nn*'", "A"), ("name LIKE[c] 'b*T'", "B"),
      ("name MATCHES '[AB].*'", "AB"), ("name MATCHES 'nn'", ""), ("name MATCHES[c] 'anna|cleo'", "AC"),
      ("name ==[c] 'ANNA'", "A"), ("name !=[c] 'ANNA'", "BCD"), ("name ==[cd] 'ÄNNA'", "A"),
      ("isActive == YES", "AB"), ("isActive == NO", "CD"), ("isActive = true", "AB"),
      ("isActive == FALSE", "CD"),
      ("isActive == 1", "AB"), ("isActive != 0", "AB"),
      ("department == nil", "D"), ("department = NULL", "D"), ("department != nil", "ABC"),
      ("department.name == nil", "D"), ("department.name == 'Sales'", "AB"),
      ("department.name BEGINSWITH 'R'", "C"),
      ("manager.department.name == 'Research'", "AB"),
      ("ANY chores.rank > 4", "AB"), ("ANY chores.title == 'mail'", "A"),
      ("ANY chores.rank BETWEEN {5, 6}", "A"),
      ("ANY chores.title IN {'tea', 'phone'}", "AB"), ("ANY chores.title BEGINSWITH[c] 'T'", "A"),
      ("SOME chores.rank > 6", "B"), ("NONE chores.rank > 4", "CD"), ("ALL chores.rank > 4", "BCD"),
      ("NOT (ANY chores.rank > 4)", "CD"), ("chores.@count == 0", "CD"), ("chores.@count > 1", "A"),
      ("chores.@max.rank == 5", "A"), ("chores.@min.rank < 2", "A"), ("chores.@sum.rank == 6", "A"),
      ("chores.@avg.rank == 3", "A"), ("reports.@count == 2", "C"), ("department.staff.@count == 2", "AB"),
      ("SUBQUERY(chores, $c, $c.rank > 0 AND $c.title CONTAINS 'a').@count == 2", "A"),
      ("SUBQUERY(chores, $c, $c.rank > 6).@count > 0", "B"),
      ("SUBQUERY(reports, $r, $r.age > 35).@count = 1", "C"),
      ("SUBQUERY(chores, $c, $c.title == 'mail').@count == 0", "BCD"),
      ("SUBQUERY(chores, $c, $c.owner.department.name == 'Sales').@count != 0", "AB"),
      ("ANY reports.chores.rank == 7", "C"), ("ANY department.staff.age == 40", "AB"),
      ("age + 10 == 40", "A"), ("age * 2 > 90", "CD"), ("age - 30 = 0", "A"), ("age == 6 * 5", "A"),
      ("age ** 2 == 900", "A"),
      ("age > manager.age - 15", "B"), ("modulus:by:(age, 20) == 10", "AC"), ("abs:(age) == 30", "A"),
      ("lowercase:(name) == 'anna'", "A"), ("uppercase:(name) == 'DORA'", "D"),
      ("length:(name) == 4", "ABCD"),
      ("name.length == 4", "ABCD"),
      ("salary == 3000.05", "A"), ("salary > 4000", "BCD"), ("born < now()", "ABCD"),
      ("notes == nil", "ABCD"),
      ("notes == ''", ""), ("name != nil AND name != ''", "ABCD"), ("#name == 'Anna'", "A"),
      ("SELF.name == 'Anna'", "A"),
      ("self.age == 50", "C"), ("entity.name == 'Manager'", "C"),
      ("name > 'Bert'", "CD"), ("name BETWEEN {'Anna', 'Bert'}", "AB"),
      ("{'Anna', 'Bert'} CONTAINS name", "AB"), ("'Anna Bert' CONTAINS name", "AB"),
    ] as [(String, String)])
  func formats(_ format: String, _ expected: String) throws {
    #expect(try found(format) == expected)
  }

  @Test("Arguments of every kind")
  func arguments() throws {
    #expect(try found("%K == %@", "name", "Anna") == "A")
    #expect(try found(NSPredicate(format: "age == %d", 40)) == "B")
    #expect(try found(NSPredicate(format: "age > %ld AND age < %i", 30, 60)) == "BC")
    #expect(try found(NSPredicate(format: "age >= %lld AND age <= %lu", Int64(40), UInt(50))) == "BC")
    #expect(try found(NSPredicate(format: "salary > %f", 5000.0)) == "CD")
    #expect(try found("%K BETWEEN %@", "age", [35, 55]) == "BC")
    #expect(
      try found(
        "born BETWEEN {%@, %@}", Date(timeIntervalSinceReferenceDate: 40_000),
        Date(timeIntervalSinceReferenceDate: 50_000)) == "BC")
    #expect(try found("born > %@", NSDate(timeIntervalSinceReferenceDate: 50_000)) == "D")
    #expect(try found("salary == %@", NSDecimalNumber(string: "4000.05")) == "B")
    #expect(try found("isActive == %@", NSNumber(value: true)) == "AB")
    #expect(try found("name IN %@", ["Anna", "Cleo"]) == "AC")
    #expect(try found("name IN %@", Set(["Anna", "Cleo"])) == "AC")
    #expect(try found("name IN %@", NSSet(array: ["Anna", "Cleo"])) == "AC")
    #expect(try found("name IN %@", NSOrderedSet(array: ["Anna", "Cleo"])) == "AC")
    #expect(try found("name IN %@", NSArray()) == "")
    #expect(try found("NOT (name IN %@)", [String]()) == "ABCD")
    #expect(try found("age IN %@", [30, 60] as NSArray) == "AD")
    #expect(try found("name LIKE %@", "*e*") == "BC")
    #expect(try found("name == %@", NSNull()) == "")
    #expect(try found("department == %@", NSNull()) == "D")
    let id = UUID()
    try context.employee("Dora").setValue(id, forKey: "badge")
    try context.save()
    #expect(try found("badge == %@", id) == "D" && found("badge IN %@", [id, UUID()]) == "D")
    #expect(try found("badge == %@", id as NSUUID) == "D")
  }

  @Test("Objects and IDs as arguments, alone, in lists, sets and relationships")
  func objects() throws {
    let (anna, dora) = (try context.employee("Anna"), try context.employee("Dora"))
    let sales = try context.department("Sales")
    #expect(try found("SELF == %@", anna) == "A" && found("self == %@", anna.objectID) == "A")
    #expect(try found("SELF != %@", anna) == "BCD")
    #expect(try found("SELF IN %@", [anna, dora]) == "AD")
    #expect(try found("SELF IN %@", Set([anna, dora])) == "AD")
    #expect(try found("SELF IN %@", NSSet(array: [anna, dora])) == "AD")
    #expect(try found("SELF IN %@", [anna.objectID, dora.objectID]) == "AD")
    #expect(try found("NOT (SELF IN %@)", [anna, dora]) == "BC")
    #expect(try found("department == %@", sales) == "AB")
    #expect(try found("department == %@", sales.objectID) == "AB")
    #expect(try found("department IN %@", [sales]) == "AB")
    #expect(try found("department IN %@", NSOrderedSet(array: [sales])) == "AB")
    #expect(try found("manager == %@ AND department == %@", context.employee("Cleo"), sales) == "AB")
    let mail = try context.all("Chore", NSPredicate(format: "title == 'mail'"))[0]
    #expect(try found("%@ IN chores", mail) == "A" && found("chores CONTAINS %@", mail) == "A")
    #expect(try found("ANY chores == %@", mail) == "A" && found("ANY chores IN %@", [mail]) == "A")
    #expect(try found("ANY chores.owner == %@", anna) == "A")
    #expect(try found("SELF IN %@", sales.value(forKey: "staff") as Any) == "AB")
    #expect(try found("SUBQUERY(chores, $c, $c == %@).@count > 0", mail) == "A")
    let stranger = stand.context()
    #expect(try found("SELF IN %@", [try stranger.employee("Bert").objectID]) == "B")
  }

  @Test("Sets, arrays and mutable collections are filtered in place and out of place")
  func filtering() throws {
    let people = try context.all("Employee")
    let old = NSPredicate(format: "age > 45")
    #expect((people as NSArray).filtered(using: old).count == 2)
    #expect(NSSet(array: people).filtered(using: old).count == 2)
    let set = NSMutableSet(array: people)
    set.filter(using: old)
    #expect(set.count == 2)
    let ordered = NSMutableOrderedSet(array: people)
    ordered.filter(using: NSPredicate(format: "department.name == %@", "Sales"))
    #expect(ordered.count == 2)
    #expect((people as NSArray).value(forKeyPath: "@avg.age") as? Double == 45)
    #expect(
      ((people as NSArray).value(forKeyPath: "@distinctUnionOfObjects.department.name") as? [Any])?.count == 2
    )
    let names = (people as NSArray).sortedArray(using: [NSSortDescriptor(key: "age", ascending: false)])
    #expect(names.compactMap { ($0 as? Employee)?.name } == ["Dora", "Cleo", "Bert", "Anna"])
  }

  @Test("predicateFormat reads back; parts of compound predicates")
  func parts() throws {
    let predicate = NSPredicate(format: "age > 30 AND (name BEGINSWITH[cd] 'a' OR NOT isActive == YES)")
    let compound = try #require(predicate as? NSCompoundPredicate)
    #expect(compound.compoundPredicateType == .and && compound.subpredicates.count == 2)
    let first = try #require(compound.subpredicates[0] as? NSComparisonPredicate)
    #expect(first.leftExpression.keyPath == "age" && first.rightExpression.constantValue as? Int == 30)
    #expect(first.predicateOperatorType == .greaterThan && first.comparisonPredicateModifier == .direct)
    let or = try #require(compound.subpredicates[1] as? NSCompoundPredicate)
    #expect(or.compoundPredicateType == .or)
    #expect(
      (or.subpredicates[0] as? NSComparisonPredicate)?.options == [.caseInsensitive, .diacriticInsensitive])
    #expect((or.subpredicates[1] as? NSCompoundPredicate)?.compoundPredicateType == .not)
    #expect(NSPredicate(format: predicate.description).isEqual(predicate))
    let any = try #require(NSPredicate(format: "ANY chores.rank > 3") as? NSComparisonPredicate)
    #expect(any.comparisonPredicateModifier == .any && any.leftExpression.keyPath == "chores.rank")
    #expect(NSCompoundPredicate(andPredicateWithSubpredicates: []).evaluate(with: nil))
    #expect(!NSCompoundPredicate(orPredicateWithSubpredicates: []).evaluate(with: nil))
    #expect(try found(NSCompoundPredicate(andPredicateWithSubpredicates: [])) == "ABCD")
    #expect(try found(NSCompoundPredicate(orPredicateWithSubpredicates: [])) == "")
  }

  @Test(
    "NSExpression(forFunction:) by every name",
    arguments: [
      ("sum:", [1, 2, 6], 9), ("count:", [1, 2, 6], 3), ("min:", [4, 2, 6], 2), ("max:", [4, 2, 6], 6),
      ("average:", [4, 2, 6], 4),
    ] as [(String, [Double], Double)])
  func listFunctions(_ name: String, _ list: [Double], _ expected: Double) {
    let expression = NSExpression(forFunction: name, arguments: [NSExpression(forConstantValue: list)])
    #expect((expression.expressionValue(with: nil, context: nil) as? NSNumber)?.doubleValue == expected)
  }

  @Test(
    "NSExpression(forFunction:) of numbers",
    arguments: [
      ("add:to:", [5, 3], 8), ("from:subtract:", [5, 3], 2), ("multiply:by:", [5, 3], 15),
      ("divide:by:", [6, 3], 2),
      ("modulus:by:", [7, 3], 1), ("raise:toPower:", [2, 10], 1024), ("sqrt:", [49], 7), ("log:", [1000], 3),
      ("ln:", [1], 0), ("exp:", [0], 1), ("ceiling:", [1.2], 2), ("floor:", [1.8], 1), ("trunc:", [-1.8], -1),
      ("abs:", [-4], 4),
    ] as [(String, [Double], Double)])
  func numberFunctions(_ name: String, _ arguments: [Double], _ expected: Double) throws {
    let expression = NSExpression(
      forFunction: name, arguments: arguments.map { NSExpression(forConstantValue: $0) })
    let value = try #require(expression.expressionValue(with: nil, context: nil) as? NSNumber)
    #expect(abs(value.doubleValue - expected) < 1e-9)
  }

  @Test("Functions of bits, texts and the time")
  func otherFunctions() {
    func value(_ name: String, _ arguments: Any?...) -> Any? {
      NSExpression(forFunction: name, arguments: arguments.map { NSExpression(forConstantValue: $0) })
        .expressionValue(with: nil, context: nil)
    }
    #expect((value("bitwiseAnd:with:", 6, 3) as? NSNumber)?.intValue == 2)
    #expect((value("bitwiseOr:with:", 6, 3) as? NSNumber)?.intValue == 7)
    #expect((value("bitwiseXor:with:", 6, 3) as? NSNumber)?.intValue == 5)
    #expect((value("leftshift:by:", 3, 2) as? NSNumber)?.intValue == 12)
    #expect((value("rightshift:by:", 12, 2) as? NSNumber)?.intValue == 3)
    #expect((value("onesComplement:", 0) as? NSNumber)?.intValue == -1)
    #expect(value("uppercase:", "a") as? String == "A" && value("lowercase:", "A") as? String == "a")
    #expect(NSExpression(forFunction: "now", arguments: []).expressionValue(with: nil, context: nil) is Date)
  }
}
