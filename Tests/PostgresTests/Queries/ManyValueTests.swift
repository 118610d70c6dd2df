import Strata
import StrataCore
import Testing

@testable import StrataPostgres

/// Requests with more values than a statement takes.
@Suite struct ManyValueTests {
  @Test func conditionsWithTooManyValuesAreDecidedHere() throws {
    let stand = try ServerStand(Library.make())
    let context = stand.context()
    for number in 1...5 { try context.make("Book", ["title": "b\(number)", "pages": Int32(number)]) }
    try context.save()
    let ranges = (0..<33_000).map { number in
      FetchPredicate.between(
        key: "pages", low: .integer(Int64(number) * 2), high: .integer(Int64(number) * 2))
    }
    let request = FetchRequest<ManagedObject>(
      entityName: "Book", predicate: .or(ranges) && Attribute("title") != "b4")
    #expect(try context.fetch(request).compactMap { $0.value(forKey: "title") as? String } == ["b2"])
    #expect(try context.count(for: request) == 1)
  }

  @Test func anyOfOneValueIsThatValue() throws {
    let stand = try ServerStand(Library.make())
    let context = stand.context()
    for number in 1...4 { try context.make("Book", ["title": "b\(number)", "pages": Int32(number)]) }
    try context.save()
    for (format, titles) in [
      ("ANY pages IN {1, 3}", ["b1", "b3"]), ("NONE pages IN {1, 3}", ["b2", "b4"]),
      ("ANY pages NOT IN {1, 3}", ["b2", "b4"]), ("ANY pages + 1 == 3", ["b2"]),
    ] {
      let request = FetchRequest<ManagedObject>(
        entityName: "Book", predicate: try FetchPredicate(format: format),
        sortDescriptors: [FetchSort("title")])
      #expect(try context.fetch(request).compactMap { $0.value(forKey: "title") as? String } == titles)
    }
  }

  @Test func textsBesideNumbersAndDistinctValuesAreWhatTheyAreInAFile() throws {
    let stand = try ServerStand(Library.make())
    let context = stand.context()
    for number in 1...4 { try context.make("Book", ["title": "\(number)", "pages": Int32(number / 2)]) }
    try context.save()
    for (format, titles) in [
      ("pages == '1'", ["2", "3"]), ("pages > ' 0.5 '", ["2", "3", "4"]),
      ("pages != 'x'", ["1", "2", "3", "4"]),
      ("pages < 'x'", []), ("title == 3", ["3"]), ("title IN {1, 4}", ["1", "4"]),
      ("pages + 1 == '2'", ["2", "3"]),
      ("pages == count:(distinct:(pages)) - 1", ["4"]),
    ] {
      let request = FetchRequest<ManagedObject>(
        entityName: "Book", predicate: try FetchPredicate(format: format),
        sortDescriptors: [FetchSort("title")])
      #expect(
        try context.fetch(request).compactMap { $0.value(forKey: "title") as? String } == titles, "\(format)")
    }
    var rows = FetchRequest<FetchedDictionary>(entityName: "Book")
    rows.propertiesToFetch = [
      .expression("n", try FetchExpression(format: "count:(distinct:(pages))")),
      .expression("sum", try FetchExpression(format: "sum:(distinct:(pages))")),
    ]
    let row = try #require(try context.fetch(rows).first)
    #expect(row["n"] == 3 && row["sum"] == 3)
  }

  @Test func aStatementWithTooManyValuesIsNotSent() throws {
    let connection = try PostgresConnection(
      ServerAddress(TestServer.required().url("none")), password: nil,
      deadline: ContinuousClock.now + .seconds(30), isOfStore: false)
    var statement = SQLStatement("SELECT 1 WHERE 1 = 1")
    for number in 0...65_535 { statement += " OR 1 = " + statement.bind(Int32(number), as: .int4) }
    let error = #expect(throws: StorageError.self) { try connection.run(statement) }
    #expect(error?.kind == .tooLarge)
    #expect(try connection.run(SQLStatement("SELECT 1")).rowCount == 1)
  }
}
