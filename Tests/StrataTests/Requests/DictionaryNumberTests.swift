import Foundation
import Strata
import Testing

/// Numbers of different kinds in rows of values (rules 97–100).
struct DictionaryNumberTests {
  let store: TemporaryStore
  let context: ManagedObjectContext

  init() throws {
    store = try TemporaryStore(SalesModel.make())
    context = store.context()
  }

  private func rows(_ request: FetchRequest<FetchedDictionary>) throws -> [String] {
    try context.fetch(request).map { row in row.keys.map { "\(row[$0] ?? .null)" }.joined(separator: " ") }
  }

  @Test("rule 97: the sum of Booleans is how many are true, their average the share of them")
  func booleans() throws {
    for (region, isPaid) in [
      ("North", true), ("North", true), ("North", false), ("South", false), ("West", nil),
    ]
      as [(String, Bool?)]
    {
      context.addSale(region, nil).setValue(isPaid, forKey: "isPaid")
    }
    try context.save()
    let average = FetchColumn.expression("mean", .aggregate(.average, .key("isPaid")))
    let all = try context.fetch(.sales([.sum("isPaid"), average]))
    #expect(all[0]["sum"] == 2 && all[0].integer("sum") == 2 && all[0]["mean"] == 0.5)
    var request = FetchRequest.sales(
      ["region", .sum("isPaid"), average], by: ["region"], sorted: [FetchSort("region")])
    #expect(try rows(request) == ["\"North\" 2 \(2.0 / 3)", "\"South\" 0 0.0", "\"West\" 0 nil"])
    request.havingPredicate = FetchPredicate.compare(
      FetchComparison(.aggregate(.sum, .key("isPaid")), .greater, .constant(1)))
    #expect(try rows(request) == ["\"North\" 2 \(2.0 / 3)"])
    request.havingPredicate = try FetchPredicate(format: "average:(isPaid) == 0")
    #expect(try rows(request) == ["\"South\" 0 0.0"])
    #expect(
      try rows(
        .sales([.expression("more", .function(.add, [.aggregate(.sum, .key("isPaid")), .constant(1)]))]))
        == ["3"])
  }

  @Test("rule 97: a sum of integers is exact if it fits, whatever its partial sums are")
  func partialSums() throws {
    for (region, amount) in [("a", Int64.max), ("a", 1), ("a", -1), ("b", .min), ("b", -1), ("b", .max)] {
      context.addSale(region, amount)
    }
    try context.save()
    #expect(try rows(.sales([.sum("amount")])) == ["\(Int64.max - 2)"])
    let request = FetchRequest.sales(
      ["region", .sum("amount")], by: ["region"], sorted: [FetchSort("region")])
    #expect(try rows(request) == ["\"a\" \(Int64.max)", "\"b\" -2"])
    context.addSale("a", 1)
    try context.save()
    let error = #expect(throws: FetchError.self) { try context.fetch(request) }
    #expect(error?.description.contains("too large") == true)
    // Beside fractions the sum has them, and no such bound.
    let sale = context.addSale("a", nil)
    sale.setValue(Decimal(1) / 2, forKey: "tax")
    try context.save()
    let mixed = FetchColumn.expression(
      "sum", .aggregate(.sum, .function(.coalesce, [.key("amount"), .key("tax")])))
    #expect(try rows(.sales(["region", mixed], by: ["region"])).contains("\"a\" 9223372036854775808.5"))
  }

  @Test("rules 97, 100: numbers that are the same are one group and one distinct row, whatever their kinds")
  func equalNumbersOfDifferentKinds() throws {
    let large: Int64 = 4_607_182_418_800_017_408
    for (amount, price, tax) in [
      (1, nil, nil), (nil, 1, nil), (nil, nil, 1), (large, nil, nil), (0, nil, nil), (nil, -0.0, nil),
      (nil, 0.5, nil), (nil, nil, Decimal(5) / 10), (nil, nil, Decimal(1) / 10), (nil, 0.1, nil),
      (nil, 1e20, nil), (nil, nil, Decimal(string: "1e20")), (nil, .nan, nil), (nil, nil, .nan),
      (nil, nil, nil),
    ] as [(Int64?, Double?, Decimal?)] {
      context.addSale("x", amount, price: price).setValue(tax, forKey: "tax")
    }
    try context.save()
    let number = FetchColumn.expression(
      "n", .function(.coalesce, [.key("amount"), .key("price"), .key("tax")]))
    // As doubles are, 0.1 is a little more than the decimal.
    let counts: [(AttributeValue, Int)] = [
      (.null, 1), (0, 2), (.decimal(Decimal(1) / 10), 1), (0.1, 1), (0.5, 2), (1, 3),
      (.integer(large), 1), (1e20, 2), (.double(.nan), 2),
    ]
    let groups = try context.fetch(
      .sales([number, .count(as: "count")], by: [number], sorted: [FetchSort("n")]))
    #expect(groups.map { $0["n"] } == counts.map(\.0))
    #expect(groups.map { $0.integer("count") } == counts.map(\.1))
    var distinct = FetchRequest.sales([number], sorted: [FetchSort("n")])
    distinct.returnsDistinctResults = true
    #expect(try context.fetch(distinct).map { $0["n"] } == counts.map(\.0))
  }

  @Test("values of different kinds are different groups, though their bytes may be the same")
  func differentKinds() throws {
    context.addSale(nil, nil, price: 86_400)
    context.addSale(nil, nil).setValue(Date(timeIntervalSinceReferenceDate: 86_400), forKey: "day")
    context.addSale(nil, 1)
    context.addSale(nil, nil).setValue(true, forKey: "isPaid")
    try context.save()
    let value = FetchColumn.expression(
      "v", .function(.coalesce, [.key("price"), .key("day"), .key("amount"), .key("isPaid")]))
    #expect(try context.fetch(.sales([value, .count(as: "count")], by: [value])).count == 4)
  }

  @Test("now() is the same for all groups of a request")
  func moment() throws {
    for number in 0..<300 { context.addSale("r\(number)", Int64(number)) }
    try context.save()
    let now = FetchExpression.function(.now, [])
    var request = FetchRequest.sales(
      ["region", .expression("moment", now)], by: ["region"], sorted: [FetchSort("region")])
    #expect(Set(try context.fetch(request).map { $0["moment"] ?? .null }).count == 1)
    // The same in the predicate, in what is computed for rows and for groups, and in the condition.
    request.predicate = .compare(FetchComparison(.key("amount"), .less, .constant(5)))
    let perRow = FetchExpression.aggregate(.maximum, .function(.coalesce, [.key("day"), now]))
    request.propertiesToFetch = [
      "region", .expression("between", .function(.subtract, [now, perRow])),
    ]
    request.havingPredicate = .compare(FetchComparison(perRow, .equal, now))
    #expect(try context.fetch(request).map { $0["between"] } == Array(repeating: 0.0, count: 5))
  }
}
