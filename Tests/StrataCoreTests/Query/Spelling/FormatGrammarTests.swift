import Foundation
import Testing

@testable import StrataCore

/// Format strings and the trees they stand for.
@Suite struct FormatGrammarTests {
  private func parse(_ format: String, _ arguments: Any?...) throws -> FetchPredicate {
    try FetchPredicate(format: format, argumentArray: arguments)
  }

  private func key(_ path: String) -> FetchExpression { .key(path) }

  private func compare(
    _ left: FetchExpression, _ operation: ComparisonOperator, _ right: FetchExpression,
    _ quantifier: FetchComparison.Quantifier = .direct, _ options: FetchComparison.StringOptions = []
  ) -> FetchPredicate {
    .compare(FetchComparison(left, operation, right, quantifier: quantifier, options: options))
  }

  @Test(
    "every spelling of the operators",
    arguments: [
      ("=", ComparisonOperator.equal), ("==", .equal), ("!=", .notEqual), ("<>", .notEqual), ("<", .less),
      ("<=", .lessOrEqual), ("=<", .lessOrEqual), (">", .greater), (">=", .greaterOrEqual),
      ("=>", .greaterOrEqual),
      ("BEGINSWITH", .beginsWith), ("endswith", .endsWith), ("Contains", .contains), ("LIKE", .like),
      ("matches", .matches), ("IN", .in), ("between", .between),
    ])
  func operators(spelling: (String, ComparisonOperator)) throws {
    #expect(try parse("a \(spelling.0) b") == compare(key("a"), spelling.1, key("b")))
    #expect(
      try parse("a \(spelling.0)[cd] b")
        == compare(key("a"), spelling.1, key("b"), .direct, [.caseInsensitive, .diacriticInsensitive]))
    #expect(try parse("a \(spelling.0) [ n ] b").description == "a \(spelling.1)[n] b")
  }

  @Test func andBindsTighterThanOrAndNotTighterThanAnd() throws {
    let (a, b, c) = (
      compare(key("a"), .equal, .constant(1)), compare(key("b"), .equal, .constant(2)),
      compare(key("c"), .equal, .constant(3))
    )
    #expect(try parse("a == 1 OR b == 2 AND c == 3") == .or([a, .and([b, c])]))
    #expect(try parse("a == 1 && b == 2 || c == 3") == .or([.and([a, b]), c]))
    #expect(try parse("(a == 1 OR b == 2) AND c == 3") == .and([.or([a, b]), c]))
    #expect(try parse("NOT a == 1 AND b == 2") == .and([.not(a), b]))
    #expect(try parse("! (a == 1 AND b == 2)") == .not(.and([a, b])))
    #expect(try parse("a == 1 AND b == 2 AND c == 3") == .and([a, b, c]))
    #expect(try parse("a == 1 AND (b == 2 AND c == 3)") == .and([a, .and([b, c])]))
  }

  @Test func arithmeticHasTheUsualPrecedence() throws {
    func value(_ text: String) throws -> FetchExpression { try FetchExpression(format: text) }
    let (a, b, c) = (key("a"), key("b"), key("c"))
    #expect(try value("a + b * c") == .function(.add, [a, .function(.multiply, [b, c])]))
    #expect(try value("a - b - c") == .function(.subtract, [.function(.subtract, [a, b]), c]))
    #expect(try value("a ** b ** c") == .function(.power, [a, .function(.power, [b, c])]))
    #expect(try value("-a ** b") == .function(.negate, [.function(.power, [a, b])]))
    #expect(try value("a ** -b") == .function(.power, [a, .function(.negate, [b])]))
    #expect(try value("-a * b") == .function(.multiply, [.function(.negate, [a]), b]))
    #expect(try value("(a + b) / c") == .function(.divide, [.function(.add, [a, b]), c]))
    #expect(try value("-3") == .constant(-3) && value("-(3)") == .function(.negate, [.constant(3)]))
    #expect(
      try parse("a + 1 > b * 2")
        == compare(.function(.add, [a, .constant(1)]), .greater, .function(.multiply, [b, .constant(2)])))
  }

  @Test func literals() throws {
    let samples: [(String, AttributeValue)] = [
      ("0x1F", 31), ("0b101", 5), ("0o17", 15), ("017", 17), ("1e3", 1000.0), (".5", 0.5), ("1.5e-3", 0.0015),
      ("-2.5", -2.5),
      ("9223372036854775807", .integer(.max)), ("-9223372036854775808", .integer(.min)), ("TRUE", true),
      ("yes", true),
      ("No", false), ("NIL", .null), ("null", .null), (#"'it\'s'"#, "it's"),
      (#""\u00e9\n\t\\\x41\U0001F600""#, "é\n\t\\A😀"),
      (#"'\ud83d\ude00'"#, "😀"), ("''", ""), ("'%@ %K'", "%@ %K"),
      ("CAST('1.50', 'NSDecimalNumber')", .decimal(Decimal(string: "1.5")!)),
      ("CAST(10.5, 'NSDate')", .date(Date(timeIntervalSinceReferenceDate: 10.5))),
      ("CAST('aGk=', 'NSData')", .data(Data("hi".utf8))), ("CAST('nan', 'double')", .double(.nan)),
      ("CAST('https://a.b', 'URL')", .url(URL(string: "https://a.b")!)),
      (
        "CAST('00000000-0000-0000-0000-00000000000A', 'UUID')",
        .uuid(UUID(uuidString: "00000000-0000-0000-0000-00000000000A")!)
      ),
    ]
    for (text, value) in samples {
      #expect(try FetchExpression(format: text) == .constant(value), "\(text)")
    }
    // Bytes stay as they are: nothing is normalised.
    #expect(Array(try FetchExpression(format: "'e\u{301}'").description.utf8) == Array("\"e\u{301}\"".utf8))
  }

  @Test("key paths, collection operators, quantifiers (rule 109)") func keyPaths() throws {
    let delays = FetchExpression.keyPath(base: .evaluatedObject, keys: ["flights", "delay"])
    for text in [
      "flights.@avg.delay > 3", "flights.delay.@avg > 3", "@avg.flights.delay > 3",
      "average:(flights.delay) > 3",
    ] {
      #expect(try parse(text) == compare(.aggregate(.average, delays), .greater, .constant(3)), "\(text)")
    }
    for text in [
      "flights.@count == 2", "flights[SIZE] == 2", "count:(flights) == 2", "flights . @count == 2",
    ] {
      #expect(try parse(text) == compare(.aggregate(.count, key("flights")), .equal, .constant(2)), "\(text)")
    }
    #expect(try parse("ANY flights.delay > 3") == compare(delays, .greater, .constant(3), .any))
    #expect(try parse("some flights.delay > 3") == compare(delays, .greater, .constant(3), .any))
    #expect(
      try parse("ALL flights.delay > 3 AND a == b")
        == .and([compare(delays, .greater, .constant(3), .all), compare(key("a"), .equal, key("b"))]))
    #expect(try parse("NONE flights.delay > 3") == .not(compare(delays, .greater, .constant(3), .any)))
    // Of a negated comparison, the negation of the other quantifier.
    let numbers = FetchExpression.list([.constant(1)])
    #expect(try parse("ANY flights.delay NOT IN {1}") == .not(compare(delays, .in, numbers, .all)))
    #expect(try parse("ALL flights.delay NOT IN {1}") == .not(compare(delays, .in, numbers, .any)))
    #expect(try parse("NONE flights.delay NOT IN {1}") == compare(delays, .in, numbers, .all))
    #expect(
      try parse("NOT SOME flights.delay NOT LIKE[c] 'x' OR a == b")
        == .or([
          .not(.not(compare(delays, .like, .constant("x"), .all, .caseInsensitive))),
          compare(key("a"), .equal, key("b")),
        ]))
    #expect(try parse("SELF.a == SELF") == compare(key("a"), .equal, .evaluatedObject))
    #expect(
      try parse("#size == #\"a.b\".in")
        == compare(key("size"), .equal, .keyPath(base: .evaluatedObject, keys: ["a.b", "in"])))
    #expect(try parse("größe == a.AND") == compare(key("größe"), .equal, key("a.AND")))
  }

  @Test func subqueriesCallsAndChoices() throws {
    let inner = compare(.keyPath(base: .variable("x"), keys: ["delay"]), .greater, .variable("limit"))
    #expect(
      try parse("SUBQUERY(flights, $x, $x.delay > $limit).@count > 0")
        == compare(
          .aggregate(.count, .subquery(key("flights"), variable: "x", inner)), .greater, .constant(0)))
    #expect(
      try FetchExpression(format: "TERNARY(a > 1, b, c)")
        == .conditional(compare(key("a"), .greater, .constant(1)), key("b"), key("c")))
    #expect(
      try FetchExpression(format: "modulus:by:(a, 2)") == .function(.modulus, [key("a"), .constant(2)]))
    #expect(try FetchExpression(format: "FUNCTION('abs:', a)") == .function(.absolute, [key("a")]))
    #expect(try FetchExpression(format: "now()") == .function(.now, []))
    #expect(
      try FetchExpression(format: "CAST(a, 'NSDate')") == .function(.cast, [key("a"), .constant("date")]))
    #expect(
      try parse("a NOT IN {1, 2}") == .not(compare(key("a"), .in, .list([.constant(1), .constant(2)]))))
    #expect(try parse("a IN {}") == compare(key("a"), .in, .list([])))
    #expect(try parse("TRUEPREDICATE OR falsepredicate") == .or([.everything, .nothing]))
  }

  /// Every function can be written, and is read as itself.
  @Test(arguments: FetchFunction.allCases) func everyFunctionHasAName(function: FetchFunction) throws {
    var arguments = (0..<function.argumentCounts.lowerBound).map { key("a\($0)") }
    if function == .cast { arguments[1] = .constant("date") }
    let expression = FetchExpression.function(function, arguments)
    #expect(try FetchExpression(format: expression.description) == expression)
    #expect(try FetchExpression(format: "(\(expression)) + 1").description.hasSuffix("+ 1"))
  }

  @Test func argumentsAreNodesAndNeverText() throws {
    let evil = "x' OR TRUEPREDICATE OR a == 'y"
    #expect(try parse("a == %@", evil) == compare(key("a"), .equal, .constant(.string(evil))))
    #expect(
      try parse("%K == 1", "a.b.@sum.c") == compare(.aggregate(.sum, key("a.b.c")), .equal, .constant(1)))
    #expect(
      try parse("%K == 1", "a OR b")
        == compare(.keyPath(base: .evaluatedObject, keys: ["a OR b"]), .equal, .constant(1)))
    #expect(try parse("a.%K.c == %2$@ AND d == %2$@", "b", 5) == parse("a.b.c == 5 AND d == 5"))
    #expect(
      try parse("a == %d AND b > %f AND c == %s AND d == %ld", 1, 2, "x", UInt8(4))
        == parse("a == 1 AND b > 2.0 AND c == 'x' AND d == 4"))
    #expect(try parse("a == %@", nil) == parse("a == nil") && parse("a == %@", NSNull()) == parse("a == nil"))
    #expect(
      try parse("a IN %@", [1, 2]) == parse("a IN {1, 2}")
        && parse("a IN %@", NSArray(array: ["x"])) == parse("a IN {'x'}"))
    #expect(
      try parse("a IN %@", Set(["x"])) == parse("a IN {'x'}")
        && parse("a IN %@", [UInt8(1)]) == parse("a IN {1}"))
    #expect(
      try parse("a == %@", NSNumber(value: 2.5)) == parse("a == 2.5")
        && parse("a == %@", "x" as NSString) == parse("a == 'x'"))
    #expect(try parse("a == %@", Letter.b) == parse("a == 'b'"))
    #expect(try parse("a == %@", FetchExpression.key("b")) == parse("a == b"))
    let date = Date(timeIntervalSinceReferenceDate: 0.5)
    #expect(try parse("a < %@", date) == compare(key("a"), .less, .constant(.date(date))))
    #expect(try FetchPredicate(format: "a == 1", argumentArray: nil) == FetchPredicate(format: "a == 1"))
  }

  private enum Letter: String { case a, b }

  @Test("objects are taken as their identifiers (rule 107)") func objects() throws {
    let token = StoreEntityToken.token(
      storeIdentifier: UUID(), entityName: "Book", entityNumber: 0, rootName: "Book")
    let ids = (1...3).map { ManagedObjectID(token: token, primaryKey: $0) }
    #expect(try parse("SELF == %@", ids[0]) == compare(.evaluatedObject, .equal, .objects([ids[0]])))
    let several = compare(.evaluatedObject, .in, .objects(ids))
    #expect(try parse("SELF IN %@", ids) == several)
    #expect(try parse(several.description) == several)
    // One in a list is another thing than one.
    let one = compare(.evaluatedObject, .in, .list([.objects([ids[0]])]))
    #expect(try parse("SELF IN %@", [ids[0]]) == one && parse("SELF IN {%@}", ids[0]) == one)
    #expect(try parse(one.description) == one)
    #expect(try parse("SELF IN %@", ids[0]) == compare(.evaluatedObject, .in, .objects([ids[0]])))
    #expect(throws: PredicateSyntaxError.self) {
      try parse("SELF == OBJECTS('x-coredata://\(UUID())/Book/p1')")
    }
  }

  @Test func variablesAreReplaced() throws {
    let template = try parse("a > $limit AND SUBQUERY(b, $x, $x.c == $limit AND $x == $y).@count > 0")
    #expect(template.variables == ["limit", "y"])
    let bound = try template.withSubstitutionVariables(["limit": 5, "x": 9])
    #expect(bound == (try parse("a > 5 AND SUBQUERY(b, $x, $x.c == 5 AND $x == $y).@count > 0")))
    #expect(bound.variables == ["y"])
    let error = #expect(throws: PredicateArgumentError.self) {
      try template.withSubstitutionVariables(["limit": ["a": 1]])
    }
    #expect(error?.variable == "limit")
  }
}
