import Foundation
import Strata

/// What predicates and sort descriptors mean, said once more in the plainest way, to compare the real thing with.
enum ReferenceOrder {
  /// The order of two values of one attribute: nil first, NaN last among numbers, text by its UTF-8 bytes.
  static func compare(_ a: AttributeValue, _ b: AttributeValue) -> Int {
    switch (a, b) {
    case (.null, .null): 0
    case (.null, _): -1
    case (_, .null): 1
    case (.integer(let x), .integer(let y)): x < y ? -1 : x > y ? 1 : 0
    case (.boolean(let x), .boolean(let y)): x == y ? 0 : x ? 1 : -1
    case (.double(let x), .double(let y)): order(x, y)
    case (.float(let x), .float(let y)): order(Double(x), Double(y))
    case (.date(let x), .date(let y)):
      order(x.timeIntervalSinceReferenceDate, y.timeIntervalSinceReferenceDate)
    case (.decimal(let x), .decimal(let y)): x < y ? -1 : x > y ? 1 : 0
    case (.string(let x), .string(let y)): order(Array(x.utf8), Array(y.utf8))
    case (.url(let x), .url(let y)): order(Array(x.absoluteString.utf8), Array(y.absoluteString.utf8))
    case (.data(let x), .data(let y)): order(Array(x), Array(y))
    case (.uuid(let x), .uuid(let y)): order(bytes(x), bytes(y))
    default: fatalError("values of two types were compared: \(a) and \(b)")
    }
  }

  /// Whether two values are the same to the last bit: 0.0 and -0.0 are not.
  static func isIdentical(_ a: AttributeValue, _ b: AttributeValue) -> Bool {
    switch (a, b) {
    case (.double(let x), .double(let y)): x.bitPattern == y.bitPattern
    case (.float(let x), .float(let y)): x.bitPattern == y.bitPattern
    case (.null, .null): true
    case (.null, _), (_, .null): false
    default: compare(a, b) == 0
    }
  }

  /// Whether the values, by attribute name, satisfy the predicate. Values must be of the attributes' types.
  static func evaluate(_ predicate: FetchPredicate, _ value: (String) -> AttributeValue) -> Bool {
    switch predicate {
    case .everything: true
    case .nothing: false
    // Random trees hold none.
    case .foundation(let predicate): preconditionFailure("\(predicate) is not interpreted")
    case .and(let parts): parts.allSatisfy { evaluate($0, value) }
    case .or(let parts): parts.contains { evaluate($0, value) }
    case .not(let part): !evaluate(part, value)
    case .compare(let comparison): holds(comparison, value)
    }
  }

  private static func holds(_ comparison: FetchComparison, _ value: (String) -> AttributeValue) -> Bool {
    guard case .keyPath(_, let keys) = comparison.left else {
      preconditionFailure("the random tests make no such predicate")
    }
    let left = value(keys.joined(separator: "."))
    switch (comparison.operation, comparison.right) {
    case (.in, .list(let list)): return list.contains { compare(left, $0.value) == 0 }
    case (.between, .list(let list)):
      return holds(left, .greaterOrEqual, list[0].value) && holds(left, .lessOrEqual, list[1].value)
    default: return holds(left, comparison.operation, comparison.right.value)
    }
  }

  private static func holds(_ left: AttributeValue, _ operation: ComparisonOperator, _ right: AttributeValue)
    -> Bool
  {
    if operation == .equal { return compare(left, right) == 0 }
    if operation == .notEqual { return compare(left, right) != 0 }
    if left.isNull || right.isNull { return false }
    switch operation {
    case .less: return compare(left, right) < 0
    case .lessOrEqual: return compare(left, right) <= 0
    case .greater: return compare(left, right) > 0
    case .greaterOrEqual: return compare(left, right) >= 0
    default: break
    }
    guard case .string(let text) = left, case .string(let part) = right else { return false }
    let (all, some) = (Data(text.utf8), Data(part.utf8))
    // The empty text is found nowhere.
    if some.isEmpty { return false }
    switch operation {
    case .beginsWith: return all.prefix(some.count) == some
    case .endsWith: return all.suffix(some.count) == some
    default: return all.range(of: some) != nil
    }
  }

  private static func order(_ x: Double, _ y: Double) -> Int {
    if x.isNaN || y.isNaN { return (x.isNaN ? 1 : 0) - (y.isNaN ? 1 : 0) }
    return x < y ? -1 : x > y ? 1 : 0
  }

  private static func order(_ x: [UInt8], _ y: [UInt8]) -> Int {
    let order = memcmp(x, y, min(x.count, y.count))
    return order != 0 ? Int(order) : x.count - y.count
  }

  private static func bytes(_ uuid: UUID) -> [UInt8] { withUnsafeBytes(of: uuid.uuid) { Array($0) } }
}

extension FetchExpression {
  /// The value of a constant.
  fileprivate var value: AttributeValue {
    guard case .constant(let value) = self else {
      preconditionFailure("the random tests make no such predicate")
    }
    return value
  }
}
