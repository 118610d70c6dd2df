import Foundation
import Strata
import Testing
import TortureKit

/// Constants beside attributes of another numeric type (rule 108): the same with and without indexes, over unsaved changes and in
/// batches.
@Suite(.serialized) struct NumberTests {
  /// Agents by name, asked in every way there is.
  private struct Stand {
    private let stored: ManagedObjectContext
    /// Over a store that has other values, or none.
    private let unsaved: ManagedObjectContext
    private let stores: [TemporaryStore]

    init(isIndexed: Bool, _ agents: [String: [String: Any]]) throws {
      stores = try (0..<2).map { _ in
        try TemporaryStore(QueryModel.make(isIndexed: isIndexed)) { $0.durability = .none }
      }
      stored = stores[0].context()
      unsaved = stores[1].context()
      let names = agents.keys.sorted()
      for name in names {
        try Self.fill(Self.agent(name, stored), agents[name] ?? [:])
      }
      try stored.save()
      let changed = try names.prefix(names.count / 2).map { ($0, try Self.agent($0, unsaved)) }
      try unsaved.save()
      for (name, object) in changed { try Self.fill(object, agents[name] ?? [:]) }
      for name in names.dropFirst(names.count / 2) {
        try Self.fill(Self.agent(name, unsaved), agents[name] ?? [:])
      }
    }

    private static func agent(_ name: String, _ context: ManagedObjectContext) throws -> ManagedObject {
      let object = try EntityDescription.insertNewObject(forEntityName: "Agent", into: context)
      object.setValue(name, forKey: "name")
      return object
    }

    private static func fill(_ object: ManagedObject, _ values: [String: Any]) throws {
      for (key, value) in values { object.setValue(value, forKey: key) }
    }

    /// The names of those that match.
    func names(_ predicate: FetchPredicate) throws -> String {
      let request = FetchRequest<ManagedObject>(entityName: "Agent", predicate: predicate)
      let (first, second) = (try names(request, stored), try names(request, unsaved))
      var update = BatchUpdateRequest(
        entityName: "Agent", predicate: predicate, propertiesToUpdate: ["blob": Data([1])])
      update.resultType = .count
      let updated = try stored.execute(update).count
      guard first == second, updated == first.count else {
        throw Disagreement(stored: first, unsaved: second, updated: updated)
      }
      return first.joined()
    }

    private func names(_ request: FetchRequest<ManagedObject>, _ context: ManagedObjectContext) throws
      -> [String]
    {
      let found = try context.fetch(request).compactMap { $0.value(forKey: "name") as? String }.sorted()
      guard try context.count(for: request) == found.count else {
        throw Disagreement(stored: found, unsaved: found, updated: -1)
      }
      return found
    }

    struct Disagreement: Error {
      let stored: [String]
      let unsaved: [String]
      let updated: Int
    }
  }

  private static func decimal(_ text: String) throws -> Decimal { try #require(Decimal(string: text)) }

  private static func list(_ values: AttributeValue...) -> FetchExpression {
    .list(values.map { .constant($0) })
  }

  @Test(
    "a decimal beside a double or a float is beside its shortest text, as it is stored",
    arguments: [true, false])
  func decimalsBesideDoubles(isIndexed: Bool) throws {
    let stand = try Stand(
      isIndexed: isIndexed,
      [
        "a": ["price": Float(0.1)], "b": ["price": 3.133], "c": ["price": 0], "d": ["price": -2],
        "e": [:],
      ])
    #expect(try stand.names(Attribute("price") == Float(0.1)) == "a")
    #expect(try stand.names(Attribute("price") == 0.1) == "a")
    #expect(try stand.names(Attribute("price") == 3.133) == "b")
    #expect(try stand.names(Attribute("price") != 3.133) == "acde")
    #expect(try stand.names(Attribute("price") >= 3.133) == "b")
    #expect(try stand.names(Attribute("price") > 3.133) == "")
    #expect(try stand.names(Attribute("price") < Float(0.1)) == "cd")
    #expect(try stand.names(.compare(.constant(3.133), .equal, .key("price"))) == "b")
    #expect(
      try stand.names(.compare(.key("price"), .between, Self.list(.float(0.1), .double(3.133)))) == "ab")
    #expect(
      try stand.names(.compare(.key("price"), .in, Self.list(.float(0.1), .double(3.133), 7, .null)))
        == "abe")
    #expect(try stand.names(FetchPredicate(format: "price == 3.133 OR price == %@", 0.1)) == "ab")
  }

  @Test("a double beyond all decimals, or between two of them, has its place", arguments: [true, false])
  func doublesThatAreNoDecimals(isIndexed: Bool) throws {
    let stand = try Stand(
      isIndexed: isIndexed,
      [
        "a": ["price": -5], "b": ["price": 0], "c": ["price": try Self.decimal("1e-128")],
        "d": ["price": Decimal.greatestFiniteMagnitude], "e": ["price": Decimal.nan], "f": [:],
      ])
    let greatest = Double.greatestFiniteMagnitude
    for bound in [-1e300, -greatest, -.infinity, -4e165] {
      #expect(try stand.names(Attribute("price") > bound) == "abcde")
      #expect(try stand.names(Attribute("price") >= bound) == "abcde")
      #expect(try stand.names(Attribute("price") < bound) == "")
      #expect(try stand.names(Attribute("price") == bound) == "")
    }
    // What is not a number comes after all numbers.
    for bound in [1e300, greatest, .infinity, 4e165] {
      #expect(try stand.names(Attribute("price") < bound) == "abcd")
      #expect(try stand.names(Attribute("price") <= bound) == "abcd")
      #expect(try stand.names(Attribute("price") > bound) == "e")
      #expect(try stand.names(Attribute("price") != bound) == "abcdef")
    }
    #expect(try stand.names(Attribute("price") < Float.infinity) == "abcd")
    #expect(try stand.names(Attribute("price") == Double.nan) == "e")
    #expect(try stand.names(Attribute("price") < Double.nan) == "abcd")
    #expect(try stand.names(Attribute("price") == 1e-200) == "")
    #expect(try stand.names(Attribute("price") > 1e-200) == "cde")
    #expect(try stand.names(Attribute("price") < 1e-200) == "ab")
    #expect(try stand.names(Attribute("price") < -1e-200) == "a")
    #expect(try stand.names(Attribute("price") >= -1e-200) == "bcde")
    #expect(try stand.names(Attribute("price") <= 1.5e-128) == "abc")
    #expect(try stand.names(Attribute("price") > 1.5e-128) == "de")
    #expect(try stand.names(Attribute("price") == 1e-128) == "c")
    #expect(
      try stand.names(.compare(.key("price"), .between, Self.list(.double(-1e300), .double(1e-200)))) == "ab")
    #expect(try stand.names(.compare(.key("price"), .in, Self.list(.double(1e300), .double(0)))) == "b")
  }

  @Test("an integer beside a decimal keeps all digits", arguments: [true, false])
  func integersBesideDecimals(isIndexed: Bool) throws {
    let stand = try Stand(
      isIndexed: isIndexed,
      [
        "a": ["long": Int64(9_007_199_254_740_992)], "b": ["long": Int64(9_007_199_254_740_993)],
        "c": ["long": Int64.max], "d": ["long": Int64.min], "e": ["long": Int64(-1)], "f": [:],
      ])
    func names(_ operation: ComparisonOperator, _ text: String) throws -> String {
      try stand.names(.comparison(key: "long", operation, .decimal(Self.decimal(text))))
    }
    #expect(try names(.equal, "9007199254740993") == "b")
    #expect(try names(.notEqual, "9007199254740993") == "acdef")
    #expect(try names(.greater, "9007199254740992.5") == "bc")
    #expect(try names(.equal, "9007199254740992.5") == "")
    #expect(try names(.equal, "9223372036854775807") == "c")
    #expect(try names(.less, "9223372036854775807") == "abde")
    #expect(try names(.lessOrEqual, "9223372036854775807.5") == "abcde")
    #expect(try names(.greater, "9223372036854775806.5") == "c")
    #expect(try names(.equal, "-9223372036854775808") == "d")
    #expect(try names(.lessOrEqual, "-9223372036854775808.5") == "")
    #expect(try names(.greaterOrEqual, "-0.5") == "abc")
    #expect(try names(.less, "-0.5") == "de")
    #expect(try names(.less, "1e100") == "abcde")
    #expect(try names(.greater, "-1e100") == "abcde")
    #expect(try stand.names(.comparison(key: "long", .greater, .decimal(.nan))) == "")
    #expect(
      try stand.names(
        .compare(
          .key("long"), .in,
          Self.list(.decimal(try Self.decimal("9007199254740993")), .decimal(try Self.decimal("-1.0")))))
        == "be")
  }

  @Test(
    "a double or a float beside a decimal is beside what the decimal would be stored as",
    arguments: [true, false])
  func doublesBesideDecimals(isIndexed: Bool) throws {
    let texts = ["0.07", "0.111", "3.133", "1234567.891", "0.3"]
    var agents: [String: [String: Any]] = [:]
    for (place, text) in texts.enumerated() {
      agents["\(place)"] = ["measure": try #require(Double(text)), "ratio": try #require(Float(text))]
    }
    let stand = try Stand(isIndexed: isIndexed, agents)
    for (place, text) in texts.enumerated() {
      let constant = AttributeValue.decimal(try Self.decimal(text))
      for key in ["measure", "ratio"] {
        #expect(try stand.names(.comparison(key: key, .equal, constant)) == "\(place)", "\(key) \(text)")
        #expect(try stand.names(.compare(.key(key), .between, Self.list(constant, constant))) == "\(place)")
        #expect(try stand.names(.compare(.key(key), .in, Self.list(constant, .boolean(true)))) == "\(place)")
      }
    }
  }

  @Test("Booleans are 0 and 1 beside numbers, on either side", arguments: [true, false])
  func booleansBesideNumbers(isIndexed: Bool) throws {
    let stand = try Stand(
      isIndexed: isIndexed,
      [
        "a": ["flag": true, "measure": 1.0, "ratio": Float(1), "price": 1, "short": 1],
        "b": ["flag": false, "measure": 0.0, "ratio": Float(0), "price": 0, "short": 0],
        "c": ["measure": 0.5, "ratio": Float(0.5), "price": 0.5, "short": 2], "d": [:],
      ])
    let ones: [AttributeValue] = [1, .double(1), .float(1), .decimal(1), true]
    for one in ones {
      #expect(try stand.names(.comparison(key: "flag", .equal, one)) == "a")
      #expect(try stand.names(.comparison(key: "flag", .notEqual, one)) == "bcd")
      #expect(try stand.names(.comparison(key: "flag", .less, one)) == "b")
    }
    for half in [AttributeValue.double(0.5), .float(0.5), .decimal(try Self.decimal("0.5"))] {
      #expect(try stand.names(.comparison(key: "flag", .greater, half)) == "a")
      #expect(try stand.names(.comparison(key: "flag", .lessOrEqual, half)) == "b")
      #expect(try stand.names(.comparison(key: "flag", .equal, half)) == "")
    }
    #expect(try stand.names(.comparison(key: "flag", .equal, 2)) == "")
    #expect(try stand.names(.comparison(key: "flag", .less, 2)) == "ab")
    #expect(try stand.names(.comparison(key: "flag", .less, .double(.nan))) == "ab")
    #expect(try stand.names(.comparison(key: "flag", .greater, -1)) == "ab")
    #expect(try stand.names(.comparison(key: "flag", .less, .decimal(-1))) == "")
    #expect(try stand.names(.compare(.key("flag"), .in, Self.list(.double(1), 7, .null))) == "acd")
    #expect(try stand.names(.compare(.key("flag"), .between, Self.list(.double(0.5), 3))) == "a")
    for key in ["measure", "ratio", "price", "short"] {
      #expect(try stand.names(.comparison(key: key, .equal, true)) == "a", "\(key)")
      #expect(try stand.names(.comparison(key: key, .less, true)) == (key == "short" ? "b" : "bc"), "\(key)")
      #expect(try stand.names(FetchPredicate(format: "%K == NO", key)) == "b", "\(key)")
    }
    #expect(try stand.names(.comparison(key: "flag", .equal, "1")) == "a")
  }

  @Test("a constant is brought into the attribute's type in sub-queries, too, of whichever object it is")
  func constantsInSubqueries() throws {
    let stand = try QueryStand()
    let cid = try stand.object("Agent", "name", "cid")
    let ann = try stand.object("Agent", "name", "ann")
    for agent in [cid, ann] {
      agent.setValue(3.133, forKey: "price")
      agent.setValue(Float(0.1), forKey: "ratio")
    }
    for condition in [
      FetchPredicate.compare(.keyPath(base: .variable("s"), keys: ["price"]), .equal, .constant(3.133)),
      .compare(.keyPath(base: .variable("s"), keys: ["ratio"]), .equal, .constant(0.1)),
      .compare(.key("price"), .equal, .constant(3.133)), .compare(.constant(3.133), .equal, .key("price")),
      .compare(.key("ratio"), .in, Self.list(.double(0.1), 7)),
      .compare(.key("price"), .between, Self.list(.double(3.133), .double(3.133))),
    ] {
      let members = FetchExpression.subquery(.key("staff"), variable: "s", condition)
      #expect(
        try stand.agents(.compare(.aggregate(.count, members), .greater, .constant(0))) == ["ann"],
        "\(condition)")
    }
  }

  @Test("rule 109: sums and averages of the Booleans of members count those that are true")
  func sumsOfMembers() throws {
    let stand = try QueryStand()
    for (name, flag) in [("bob", true), ("cid", true), ("dan", false)] {
      try stand.object("Agent", "name", name).setValue(flag, forKey: "flag")
    }
    let sum = FetchExpression.aggregate(.sum, .key("staff.flag"))
    #expect(try stand.agents(.compare(sum, .equal, .constant(2))) == ["ann"])
    #expect(try stand.agents(.compare(sum, .equal, .constant(0))) == ["bob", "cid", "dan"])
    #expect(try stand.agents(FetchPredicate(format: "staff.@sum.flag == 2")) == ["ann"])
    #expect(try stand.agents(FetchPredicate(format: "staff.@avg.flag == 1")) == ["ann"])
    #expect(try stand.agents(FetchPredicate(format: "staff.@avg.flag == 0")) == ["bob"])
  }

  @Test("a sum of integers is exact if it fits, whatever its partial sums are")
  func partialSums() throws {
    let stand = try QueryStand()
    for (name, number) in [("bob", Int64.max), ("cid", 1)] {
      try stand.object("Agent", "name", name).setValue(number, forKey: "long")
    }
    let dan = try stand.object("Agent", "name", "dan")
    dan.setValue(try stand.object("Agent", "name", "ann"), forKey: "boss")
    let sum = FetchExpression.aggregate(.sum, .key("staff.long"))
    for number in [-1, Int64.min + 1, -2] {
      dan.setValue(number, forKey: "long")
      #expect(
        try stand.agents(.compare(sum, .equal, .constant(.integer(Int64.max &+ 1 &+ number)))) == ["ann"])
    }
    dan.setValue(0, forKey: "long")
    #expect(throws: FetchError.self) { try stand.agents(.compare(sum, .greater, .constant(0))) }
  }
}
