import Foundation
import Testing

@testable import StrataCore

/// Combinations of values are the same when their values are, in the order of values.
@Suite struct ValueTableTests {
  @Test func combinationsAreTheSameWhenTheirValuesAre() {
    var random = ValueGenerator.printed()
    var table = ValueTable()
    var numbers: [[AttributeValue]: Int] = [:]
    let types = ValueGenerator.storedTypes.filter { $0 != .objectID && $0 != .transformable }
    var pool: [AttributeValue] = [0, 1, 0.5, .decimal(1), .decimal(.nan), .double(.nan), true, ""]
    for _ in 0..<400 {
      let value = random.value(types.randomElement(using: &random) ?? .double, longest: 50)
      pool.append(value)
      for type in types { if let same = value.converted(to: type) { pool.append(same) } }
    }
    for _ in 0..<rounds(8_000, long: 100_000) {
      let row = (0..<Int.random(in: 1...2, using: &random)).map { _ in
        pool.randomElement(using: &random) ?? .null
      }
      let found = table.number(of: row.map { .value($0) })
      let known = numbers[row]
      #expect(found.isNew == (known == nil), "\(row)")
      if let known { #expect(found.number == known, "\(row)") } else { numbers[row] = found.number }
    }
    #expect(Set(numbers.values).count == numbers.count)
  }

  @Test func integersAndDoublesOfTheSameBytesDiffer() {
    var table = ValueTable()
    let first = table.number(of: [.value(.integer(4_607_182_418_800_017_408))])
    #expect(table.number(of: [.value(1.0)]).number != first.number)
    #expect(table.number(of: [.value(1)]).number == 1)
  }
}
