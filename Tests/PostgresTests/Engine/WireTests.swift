import Foundation
import StrataCore
import Testing
import TortureKit

@testable import StrataPostgres

/// Values and errors on their way to the server and back.
@Suite struct WireTests {
  private func connection() throws -> PostgresConnection {
    let url = try TestServer.required().url("public_tests")
    return try PostgresConnection(
      ServerAddress(url), password: nil, deadline: ContinuousClock.now + .seconds(30))
  }

  private func bound(_ value: AttributeValue, _ type: SQLType, _ statement: inout SQLStatement) throws
    -> String
  {
    let words = statement.bind(value, as: type)
    return try #require(words)
  }

  private static let values: [(AttributeValue, SQLType, SlotKind)] = {
    var values: [(AttributeValue, SQLType, SlotKind)] = []
    for number: Int64 in [0, 1, -1, .max, .min] { values.append((.integer(number), .int8, .int64)) }
    for number: Int64 in [0, -1, Int64(Int32.max), Int64(Int32.min)] {
      values.append((.integer(number), .int4, .int32))
    }
    for number: Int64 in [0, Int64(Int16.max), Int64(Int16.min)] {
      values.append((.integer(number), .int2, .int16))
    }
    for number in [
      0, -0.0, 1.5, .infinity, -.infinity, .nan, .greatestFiniteMagnitude, .leastNonzeroMagnitude,
    ] {
      values.append((.double(number), .float8, .double))
      values.append((.date(Date(timeIntervalSinceReferenceDate: number)), .float8, .date))
    }
    for number: Float in [0, -0.0, 0.1, .infinity, .nan, .leastNonzeroMagnitude] {
      values.append((.float(number), .float4, .float))
    }
    for text in ["", "a", "日本", "e\u{301}", "\u{10FFFF}", String(repeating: "x", count: 5_000)] {
      values.append((.string(text), .text, .string))
      values.append((.data(Data(text.utf8 + [0, 255])), .bytea, .data))
    }
    values.append((.boolean(true), .bool, .boolean))
    values.append((.boolean(false), .bool, .boolean))
    values.append((.uuid(UUID()), .uuid, .uuid))
    for url in ["https://example.com/a?b=c#d", "file:///tmp"] {
      if let url = URL(string: url) { values.append((.url(url), .text, .url)) }
    }
    return values
  }()

  @Test func valuesComeBackAsTheyWere() throws {
    let connection = try connection()
    for (value, type, kind) in Self.values {
      var statement = SQLStatement("SELECT ")
      statement += try bound(value, type, &statement)
      let found = try connection.run(statement)
      #expect(found[0, 0]?.attribute(kind) == value)
      var array = SQLArray(type)
      let isAppended = array.append(value)
      #expect(isAppended)
      array.appendNull()
      var elements = SQLStatement("SELECT x FROM unnest(")
      elements += elements.bind(array) + ") AS n(x)"
      let list = try connection.run(elements)
      #expect(list.rowCount == 2)
      #expect(list[0, 0]?.attribute(kind) == value)
      #expect(list[1, 0] == nil)
    }
  }

  @Test func decimalsComeBackAsTheyWereAndAsTheServerReadsThem() throws {
    let connection = try connection()
    var random = SeededGenerator(seed: 11)
    var numbers: [Decimal] = [0, 1, -1, .nan, 10_000, 9_999, -10_000, 100_000_000]
    for text in [
      "0.0001", "0.00001", "12345678901234567890123456789012345678", "-0.1", "1e-100", "1e100", "9e127",
      "-9e-128",
      "99999999999999999999999999999999999999", "1.10",
    ] { numbers.append(try #require(Decimal(string: text))) }
    for _ in 0..<300 {
      let digits = (0..<(1 + random.below(38))).map { _ in "\(random.below(10))" }.joined()
      let sign = random.chance(50) ? "-" : ""
      numbers.append(try #require(Decimal(string: "\(sign)\(digits)e\(random.below(180) - 100)")))
    }
    for number in numbers {
      var statement = SQLStatement("SELECT ")
      let words = try bound(.decimal(number), .numeric, &statement)
      statement += "\(words), \(words)::text"
      let found = try connection.run(statement)
      guard case .decimal(let back)? = found[0, 0]?.attribute(.decimal) else {
        Issue.record("\(number) comes back as nothing")
        continue
      }
      #expect(AttributeValue.decimal(back) == .decimal(number))
      if number.isNaN { continue }
      let text = try #require(found[0, 1]?.text)
      #expect(Decimal(string: text) == number, "\(text)")
    }
  }

  @Test func statementsSentTogetherAreOneRoundTripAndStopAtTheFirstThatFails() throws {
    let connection = try connection()
    _ = connection.takeRoundTrips()
    let results = try connection.run([
      SQLStatement("SELECT 1"), SQLStatement("SELECT 2"), SQLStatement("SELECT 1"),
    ])
    #expect(connection.takeRoundTrips() == 1)
    #expect(try results.map { try $0.integer(0, 0) } == [1, 2, 1])
    let error = #expect(throws: SQLError.self) {
      try connection.run([
        SQLStatement("CREATE TEMPORARY TABLE first (a int)"), SQLStatement("SELECT 1/0"),
        SQLStatement("CREATE TEMPORARY TABLE second (a int)"),
      ])
    }
    #expect(error?.state == "22012")
    #expect(connection.isUsable)
    #expect(
      try connection.run(
        SQLStatement("SELECT count(*) FROM pg_catalog.pg_class WHERE relname IN ('first', 'second')")
      ).integer(0, 0) == 0)
  }

  @Test func aLargeRequestAndALargeAnswerDoNotWaitForEachOther() throws {
    let connection = try connection()
    var statements: [SQLStatement] = []
    for _ in 0..<20 {
      var statement = SQLStatement("SELECT pg_catalog.repeat('x', 2000000), pg_catalog.octet_length(")
      statement += statement.bind(bytes: [UInt8](repeating: 7, count: 2_000_000)) + ")"
      statements.append(statement)
    }
    let results = try connection.run(statements, deadline: ContinuousClock.now + .seconds(120))
    #expect(results.count == 20)
    #expect(
      try results.allSatisfy { try $0.integer(0, 1) == 2_000_000 && $0[0, 0]?.bytes.count == 2_000_000 })
  }

  @Test func moreStatementsThanAreKeptPreparedGoOn() throws {
    let connection = try connection()
    for number in 0..<600 {
      #expect(try connection.run(SQLStatement("SELECT \(number)")).integer(0, 0) == Int64(number))
    }
    try connection.run(SQLStatement("BEGIN"))
    for number in 0..<300 {
      #expect(try connection.run(SQLStatement("SELECT -\(number)")).integer(0, 0) == -Int64(number))
    }
    try connection.run(SQLStatement("COMMIT"))
  }

  @Test func statementsThatAreRepeatedAreKeptPrepared() throws {
    let connection = try connection()
    func statement(_ number: Int) -> SQLStatement { SQLStatement("SELECT \(number)") }
    for number in 0..<10 { try connection.run(statement(number)) }
    // As a save of many rows of one kind.
    try connection.run([SQLStatement](repeating: statement(3), count: 300))
    #expect(connection.preparedStatements == 10)
  }

  @Test func whatTheServerHasPreparedBeforeAFailureIsNotForgotten() throws {
    let connection = try connection()
    #expect(throws: SQLError.self) {
      try connection.run(["SELECT 1", "SELECT 2", "SELECT 1 / 0", "SELECT 3"].map { SQLStatement($0) })
    }
    let count = try #require(try connection.runText("SELECT count(*) FROM pg_catalog.pg_prepared_statements"))
    #expect(try count.text(0, 0) == "\(connection.preparedStatements)")
    #expect(connection.preparedStatements >= 2)
    for number in 1...3 { try connection.run(SQLStatement("SELECT \(number)")) }
  }

  @Test func aPlanOfUnimaginablyManyRowsIsToldAllTheSame() throws {
    let connection = try connection()
    let text =
      "[{\"Plan\": {\"Node Type\": \"Seq Scan\", \"Relation Name\": \"t\", \"Plan Rows\": 1e30, \"Actual Rows\": 1e18, \"Actual Loops\": 100}}]"
    let plan = try ServerPlan(connection.run(SQLStatement("SELECT '\(text)'::text")))
    #expect(plan.estimatedRows == .max)
    #expect(plan.examinedRows == .max)
    let error = #expect(throws: StorageError.self) {
      _ = try ServerPlan(connection.run(SQLStatement("SELECT '[{}]'::text")))
    }
    #expect(error?.kind == .damaged)
  }

  @Test func aDeadlineEndsTheWait() throws {
    let connection = try connection()
    let error = #expect(throws: StorageError.self) {
      try connection.run(
        SQLStatement("SELECT pg_catalog.pg_sleep(60)"), deadline: ContinuousClock.now + .milliseconds(50))
    }
    #expect(error?.kind == .serverBusy)
    #expect(!connection.isUsable)
  }

  @Test func aServerThatIsNotThereIsUnreachable() throws {
    let url = try #require(URL(string: "postgres:///nothing?host=/nowhere/at/all"))
    let error = #expect(throws: StorageError.self) {
      try PostgresConnection(
        ServerAddress(url), password: "hidden", deadline: ContinuousClock.now + .seconds(5))
    }
    #expect(error?.kind == .unreachable)
    #expect(error?.description.contains("hidden") == false)
    // What is wrong, and not only what else it could be.
    #expect(error?.description.contains("No such file or directory") == true)
  }

  @Test func aDatabaseAndARoleThatAreNotThere() throws {
    let server = try TestServer.required()
    func error(_ query: String) throws -> StorageError? {
      let url = try #require(URL(string: "postgres:///\(query)&host=\(server.folder.path)"))
      return #expect(throws: StorageError.self) {
        try PostgresConnection(
          ServerAddress(url), password: "hidden", deadline: ContinuousClock.now + .seconds(5))
      }
    }
    let database = try error("nosuch?user=tests")
    #expect(database?.kind == .missing)
    let role = try error("postgres?user=nosuch")
    #expect(role?.kind == .refused)
    #expect(role?.description.contains("hidden") == false)
  }
}
