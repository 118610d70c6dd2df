import Foundation
import StrataCore

/// What SQLite decides of a request: never too little, so that what is found needs only be looked at again.
struct AppleCondition {
  /// Behind `WHERE`; nil for all rows.
  let sql: String?
  let values: [SQLiteValue]

  /// The row with a key.
  static func key(_ key: Int64) -> AppleCondition {
    AppleCondition(sql: "Z_PK = ?1", values: [.integer(key)])
  }

  static let all = AppleCondition(sql: nil, values: [])

  private init(sql: String?, values: [SQLiteValue]) {
    self.sql = sql
    self.values = values
  }

  init(_ request: EngineRequest, _ layout: AppleLayout) {
    var builder = Builder(layout: layout, entity: request.request.entity.number)
    var parts: [String] = []
    let numbers = request.request.entityNumbers.compactMap { layout.entities[$0]?.appleNumber }
    parts.append("Z_ENT IN (\(numbers.map { String($0) }.joined(separator: ", ")))")
    for conjunct in request.conjuncts {
      if let part = builder.part(conjunct) { parts.append(part) }
    }
    sql = parts.joined(separator: " AND ")
    values = builder.values
  }

  /// How it is executed, for people.
  var words: String { sql.map { "SQLite where \($0)" } ?? "SQLite, all rows" }

  private struct Builder {
    let layout: AppleLayout
    let entity: Int
    var values: [SQLiteValue] = []
    /// SQLite permits some thousands of parameters.
    private static let mostValues = 500

    /// The words of a part that SQLite decides as Strata does; nil for any other.
    mutating func part(_ predicate: EnginePredicate) -> String? {
      switch predicate {
      case .none: return "0"
      case .keys(let keys): return list("Z_PK", keys.compactMap { Int64(exactly: $0) }.map { .integer($0) })
      case .references(let slot, let keys):
        guard let link = layout.entities[entity]?.links.first(where: { $0.relationship.slot == slot }) else {
          return nil
        }
        return list(
          SQLiteDatabase.quoted(link.column), keys.compactMap { Int64(exactly: $0) }.map { .integer($0) })
      case .test(let slot, let operation, let operands): return test(slot, operation, operands)
      default: return nil
      }
    }

    private mutating func test(
      _ slot: Int, _ operation: EnginePredicate.Operation, _ operands: [AttributeValue]
    ) -> String? {
      guard let attribute = layout.entities[entity]?.attributes.first(where: { $0.slot == slot }) else {
        return nil
      }
      var bounds: [SQLiteValue] = []
      for operand in operands {
        switch (operand, attribute.type) {
        case (.integer, .integer16), (.integer, .integer32), (.integer, .integer64), (.string, .string):
          bounds.append(AppleValue.stored(operand))
        case (.date(let date), .date) where abs(date.timeIntervalSinceReferenceDate) < 1e15:
          bounds.append(AppleValue.stored(operand))
        default: return nil
        }
      }
      let column = SQLiteDatabase.quoted(attribute.column)
      switch operation {
      case .equal: return compare(column, "=", bounds)
      case .less: return compare(column, "<", bounds)
      case .lessOrEqual: return compare(column, "<=", bounds)
      case .greater: return compare(column, ">", bounds)
      case .greaterOrEqual: return compare(column, ">=", bounds)
      case .oneOf: return list(column, bounds)
      // Whether a value that does not fit is nil, SQLite does not know.
      case .isNil, .beginsWith, .contains, .endsWith: return nil
      }
    }

    private mutating func compare(_ column: String, _ sign: String, _ bounds: [SQLiteValue]) -> String? {
      guard bounds.count == 1 else { return nil }
      values.append(bounds[0])
      return "\(column) \(sign) ?\(values.count)"
    }

    private mutating func list(_ column: String, _ bounds: [SQLiteValue]) -> String? {
      guard values.count + bounds.count <= Self.mostValues else { return nil }
      let places = bounds.map { bound -> String in
        values.append(bound)
        return "?\(values.count)"
      }
      return "\(column) IN (\(places.joined(separator: ", ")))"
    }
  }
}
