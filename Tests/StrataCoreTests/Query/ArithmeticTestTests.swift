import Foundation
import Testing

@testable import StrataCore

/// Comparisons such as `number % 10 == 0`, which the bytes of a row decide.
@Suite struct ArithmeticTestTests {
  @Test("what the bytes of a row say is what functions and comparisons say of its value")
  func agreement() throws {
    let seed = testSeed()
    let fixture = try StoreFixture(inMemory: true)
    var random = RandomValues(seed: seed)
    let entity = fixture.entity("Special")
    var rows: [(change: RowChange, values: [AttributeValue])] = []
    for _ in 0..<60 {
      var values: [String: AttributeValue] = [:]
      for attribute in entity.attributes where !attribute.isTransient {
        values[attribute.name] = random.value(attribute.type)
      }
      rows.append((try fixture.insert("Special", values), entity.attributes.map { values[$0.name] ?? .null }))
    }
    let functions: [FetchFunction] = [
      .add, .subtract, .multiply, .divide, .modulus, .bitwiseAnd, .bitwiseOr, .bitwiseXor,
    ]
    let operations: [ComparisonOperator] = [
      .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual,
    ]
    var compiled = 0
    for _ in 0..<rounds(600, long: 6_000) {
      let name = random.pick(["i16", "i32", "i64", "f", "d", "dec", "flag", "date"])
      let function = random.pick(functions)
      let right = AttributeValue.integer(random.pick([0, 1, -1, 2, 3, 7, 10, .max, .min]))
      let operation = random.pick(operations)
      let limit = AttributeValue.integer(random.pick([0, 1, -1, 2, 5, .max, .min]))
      let predicate = FetchPredicate.compare(
        FetchComparison(.function(function, [.key(name), .constant(right)]), operation, .constant(limit)))
      // Not every function takes every type.
      guard let request = try? fixture.resolve("Special", predicate) else { continue }
      let program = request.binder(storeIdentifier: fixture.store.identifier).compile(
        request.predicate, request.entity.number)
      if !program.arithmetics.isEmpty { compiled += 1 }
      #expect(program.arithmetics.isEmpty || program.isLocal)
      let slot = try #require(entity.slot(named: name))
      for row in rows where program.isLocal {
        let made = FunctionValue.value(function, [row.values[slot], right])
        let expected = try ComparedValues.isTrue(made, operation, limit, [])
        let onBytes = program.evaluate(
          row: row.change.row.base, table: entity.layout.table, primaryKey: row.change.primaryKey
        ) { row.values[$0] }
        let onValues = try program.evaluate(primaryKey: row.change.primaryKey) { row.values[$0] }
        if onBytes != expected || onValues != expected {
          Issue.record(
            "seed \(seed): \(predicate) of \(row.values[slot]): \(expected), bytes \(onBytes), values \(onValues)"
          )
          return
        }
      }
    }
    #expect(compiled > 100)
  }

  @Test("a scan with such a test finds the rows, and says so by entries alone where an index has the values")
  func scan() throws {
    let fixture = try StoreFixture(inMemory: true)
    try fixture.commit(
      inserts: try (0..<200).map {
        try fixture.insert(
          "Item", $0 == 100 ? [:] : ["i64": .integer(Int64($0)), "i32": .integer(Int64($0))])
      })
    func predicate(_ name: String, _ operation: ComparisonOperator) -> FetchPredicate {
      .compare(
        FetchComparison(.function(.modulus, [.key(name), .constant(10)]), operation, .constant(0)))
    }
    for name in ["i64", "i32"] {
      #expect(try fixture.fetch("Item", predicate(name, .equal), mode: .count).count == 19)
      #expect(try fixture.fetch("Item", predicate(name, .equal)).rows.count == 19)
      // Nil is not equal to 0.
      #expect(try fixture.fetch("Item", predicate(name, .notEqual), mode: .count).count == 181)
    }
  }
}
