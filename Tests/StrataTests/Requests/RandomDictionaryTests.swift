import Foundation
import Strata
import Testing

/// Random requests for rows of values against plain Swift over the same data (rules 95–100).
struct RandomDictionaryTests {
  /// A sale as the reference sees it.
  private struct Row {
    var values: [String: AttributeValue]

    subscript(key: String) -> AttributeValue { values[key] ?? .null }
  }

  private static let keys = ["region", "amount", "price", "tax", "day", "isPaid", "product.name"]

  private static func value(_ key: String, _ dice: inout Dice) -> AttributeValue {
    if dice.roll(4) == 0 { return .null }
    switch key {
    case "region": return .string(dice.roll(10) == 0 ? String(repeating: "long\0", count: 200) : dice.word())
    case "amount": return .integer(Int64(dice.roll(9)) - 4)
    case "price": return .double([0, -0.0, .nan, 1.5, -2, .infinity][dice.roll(6)])
    case "tax": return .decimal(Decimal(dice.roll(100)) / 100)
    case "day": return .date(Date(timeIntervalSinceReferenceDate: Double(dice.roll(4)) * 86_400))
    default: return .boolean(dice.roll(2) == 0)
    }
  }

  private let store: TemporaryStore
  private let rows: [Row]
  private let seed: UInt64

  init() throws {
    seed = .random(in: 0...UInt64.max)
    var dice = Dice(seed: seed)
    store = try TemporaryStore(SalesModel.make(indexed: dice.roll(2) == 0))
    let context = store.context()
    let names: [AttributeValue] = ["Lamp", "Desk", .null]
    let products = names.map { name in
      let product = Product(context: context)
      product.setValue(name.anyValue, forKey: "name")
      return product
    }
    var rows: [Row] = []
    for _ in 0..<300 {
      let sale = dice.roll(4) == 0 ? OnlineSale(context: context) : Sale(context: context)
      var row = Row(values: [:])
      for key in Self.keys.dropLast() {
        row.values[key] = Self.value(key, &dice)
        sale.setValue(row[key].anyValue, forKey: key)
      }
      let place = dice.roll(4)
      if place < 3 {
        sale.product = products[place]
        row.values["product.name"] = names[place]
      }
      rows.append(row)
    }
    try context.save()
    self.rows = rows
  }

  private struct Shape {
    var request = FetchRequest<FetchedDictionary>(entityName: "Sale")
    /// How a result row follows from the rows of a group.
    var columns: [([Row]) -> AttributeValue] = []
    var groupKeys: [String] = []
    var having: (([Row]) -> Bool)?
    var filter: (Row) -> Bool = { _ in true }
    var isGrouped = false
  }

  private func shape(_ dice: inout Dice) -> Shape {
    var shape = Shape()
    shape.isGrouped = dice.roll(3) > 0
    if dice.roll(2) == 0 {
      let bound = Int64(dice.roll(5)) - 2
      shape.request.predicate = Attribute("amount") > bound
      shape.filter = { AttributeValue.compare($0["amount"], .integer(bound)) > 0 }
    }
    if shape.isGrouped {
      for key in Self.keys.shuffled(using: &dice).prefix(dice.roll(3)) {
        shape.groupKeys.append(key)
        shape.request.propertiesToGroupBy.append(.property(key))
        if dice.roll(4) > 0 { add(key, to: &shape) }
      }
      for number in 0..<(1 + dice.roll(3)) { addAggregate(number, to: &shape, &dice) }
      if dice.roll(3) == 0 {
        let least = dice.roll(8)
        let count = FetchExpression.aggregate(.count, .evaluatedObject)
        shape.request.havingPredicate = .compare(
          FetchComparison(count, .greater, .constant(.integer(Int64(least)))))
        shape.having = { $0.count > least }
      }
    } else {
      for key in Self.keys.shuffled(using: &dice).prefix(1 + dice.roll(3)) { add(key, to: &shape) }
      shape.request.returnsDistinctResults = dice.roll(2) == 0
    }
    return shape
  }

  private func add(_ key: String, to shape: inout Shape) {
    shape.request.propertiesToFetch.append(.property(key))
    shape.columns.append { $0[0][key] }
  }

  private func addAggregate(_ number: Int, to shape: inout Shape, _ dice: inout Dice) {
    let function = FetchAggregate.allCases[dice.roll(5)]
    let isNumeric = function == .sum || function == .average
    // Sums of infinities and of fractions in different orders are not the same: integers and decimals only.
    let key = isNumeric ? ["amount", "tax"][dice.roll(2)] : Self.keys[dice.roll(7)]
    let isDistinct = dice.roll(3) == 0
    let source = isDistinct ? FetchExpression.function(.distinct, [.key(key)]) : .key(key)
    shape.request.propertiesToFetch.append(.expression("a\(number)", .aggregate(function, source)))
    shape.columns.append { rows in
      var values = rows.map { $0[key] }.filter { !$0.isNull }
      if isDistinct, function != .minimum, function != .maximum {
        let all = values
        values = []
        for value in all where !values.contains(where: { $0.isSame(value) }) { values.append(value) }
      }
      let decimals = values.compactMap { value -> Decimal? in
        switch value {
        case .integer(let number): Decimal(number)
        case .decimal(let number): number
        default: nil
        }
      }
      let sum = decimals.reduce(0, +)
      switch function {
      case .count: return .integer(Int64(values.count))
      case .sum: return key == "tax" ? .decimal(sum) : .integer(Int64("\(sum)") ?? 0)
      case .average:
        if values.isEmpty { return .null }
        return key == "tax"
          ? .decimal(sum / Decimal(values.count))
          : .double((Double("\(sum)") ?? 0) / Double(values.count))
      case .minimum: return values.min { AttributeValue.compare($0, $1) < 0 } ?? .null
      case .maximum: return values.max { AttributeValue.compare($0, $1) < 0 } ?? .null
      }
    }
  }

  /// What the request must return, in no order.
  private func expected(_ shape: Shape) -> [[AttributeValue]] {
    let rows = rows.filter(shape.filter)
    var groups: [[Row]] = []
    if shape.isGrouped {
      var numbers: [[AttributeValue]: Int] = [:]
      if shape.groupKeys.isEmpty { groups = [rows] }
      for row in rows where !shape.groupKeys.isEmpty {
        let key = shape.groupKeys.map { row[$0] }
        if let number = numbers[key] {
          groups[number].append(row)
        } else {
          numbers[key] = groups.count
          groups.append([row])
        }
      }
    } else {
      groups = rows.map { [$0] }
    }
    var result = groups.filter { shape.having?($0) ?? true }.map { group in
      shape.columns.map { $0(group) }
    }
    if shape.request.returnsDistinctResults {
      var seen: Set<[AttributeValue]> = []
      result = result.filter { seen.insert($0).inserted }
    }
    return result
  }

  private static func isBefore(_ left: [AttributeValue], _ right: [AttributeValue]) -> Bool {
    for (a, b) in zip(left, right) {
      let order = AttributeValue.compare(a, b)
      if order != 0 { return order < 0 }
    }
    return false
  }

  private static func text(_ rows: [[AttributeValue]]) -> String { "\(rows.prefix(20))" }

  @Test("random columns, groups, conditions, orders and windows give what plain Swift gives")
  func randomRequests() throws {
    var dice = Dice(seed: seed)
    let context = store.context()
    for round in 0..<200 {
      var shape = shape(&dice)
      let note = "round \(round), seed \(seed), \(shape.request)"
      let expected = expected(shape)
      let found = try context.fetch(shape.request).map { row in row.keys.map { row[$0] ?? .null } }
      // Averages are made in another order than here.
      func rounded(_ rows: [[AttributeValue]]) -> [[AttributeValue]] {
        rows.map { row in
          row.map { value in
            guard case .double(let number) = value, number.isFinite else { return value }
            return .double((number * 1e9).rounded() / 1e9)
          }
        }.sorted(by: Self.isBefore)
      }
      #expect(rounded(found) == rounded(expected), "\(note)")
      if rounded(found) != rounded(expected) { return }
      #expect(try context.count(for: shape.request) == expected.count, "\(note)")
      // In order: by all columns, so that one order is right only.
      let names = shape.request.propertiesToFetch.map(\.name)
      guard !names.contains(where: { $0.hasPrefix("a") && $0 != "amount" }) else { continue }
      let ascending = dice.roll(2) == 0
      shape.request.sortDescriptors = names.map { FetchSort($0, ascending: ascending) }
      shape.request.fetchOffset = dice.roll(5)
      shape.request.fetchLimit = dice.roll(6)
      let sorted = expected.sorted(by: Self.isBefore)
      let ordered = ascending ? sorted : sorted.reversed()
      let window = ordered.dropFirst(shape.request.fetchOffset).prefix(
        shape.request.fetchLimit == 0 ? .max : shape.request.fetchLimit)
      let cut = try context.fetch(shape.request).map { row in row.keys.map { row[$0] ?? .null } }
      #expect(cut == Array(window), "\(note)")
      #expect(try context.count(for: shape.request) == window.count, "\(note)")
    }
  }
}
