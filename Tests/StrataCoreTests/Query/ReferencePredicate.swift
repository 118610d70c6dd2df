import Foundation

@testable import StrataCore

/// What a predicate means, written down once more, as plainly as can be: on values, by recursion.
enum ReferencePredicate {
  static func matches(
    _ predicate: FetchPredicate, identifier: ManagedObjectID, value: (String) -> AttributeValue
  ) -> Bool {
    switch predicate {
    case .everything: true
    case .nothing: false
    // Random trees hold none.
    case .foundation(let predicate): preconditionFailure("\(predicate) is not interpreted")
    case .and(let parts): parts.allSatisfy { matches($0, identifier: identifier, value: value) }
    case .or(let parts): parts.contains { matches($0, identifier: identifier, value: value) }
    case .not(let part): !matches(part, identifier: identifier, value: value)
    case .compare(let comparison): matches(comparison, identifier, value)
    }
  }

  private static func matches(
    _ comparison: FetchComparison, _ identifier: ManagedObjectID, _ value: (String) -> AttributeValue
  ) -> Bool {
    switch (comparison.left, comparison.operation, comparison.right) {
    case (.evaluatedObject, .in, .objects(let identifiers)): return identifiers.contains(identifier)
    case (.keyPath(_, let keys), .in, .list(let list)):
      return list.contains { $0.constant.isSame(value(keys.joined(separator: "."))) }
    case (.keyPath(_, let keys), .between, .list(let list)):
      let left = value(keys.joined(separator: "."))
      return compare(left, .greaterOrEqual, list[0].constant) && compare(left, .lessOrEqual, list[1].constant)
    case (.keyPath(_, let keys), let operation, let right):
      return compare(value(keys.joined(separator: ".")), operation, right.constant)
    default: preconditionFailure("the random tests make no such predicate")
    }
  }

  private static func compare(
    _ value: AttributeValue, _ operation: ComparisonOperator, _ operand: AttributeValue
  ) -> Bool {
    let hasNil = value.isNull || operand.isNull
    switch operation {
    case .equal: return value.isSame(operand)
    case .notEqual: return !value.isSame(operand)
    case .less: return !hasNil && AttributeValue.compare(value, operand) < 0
    case .lessOrEqual: return !hasNil && AttributeValue.compare(value, operand) <= 0
    case .greater: return !hasNil && AttributeValue.compare(value, operand) > 0
    case .greaterOrEqual: return !hasNil && AttributeValue.compare(value, operand) >= 0
    case .beginsWith, .contains, .endsWith:
      guard case .string(let subject) = value, case .string(let part) = operand else { return false }
      let (bytes, pattern) = (Array(subject.utf8), Array(part.utf8))
      // The empty text is found nowhere.
      if pattern.isEmpty { return false }
      if operation == .beginsWith { return bytes.starts(with: pattern) }
      if operation == .endsWith { return bytes.suffix(pattern.count).elementsEqual(pattern) }
      return bytes.indices.contains { bytes[$0...].starts(with: pattern) }
    case .like, .matches, .in, .between: preconditionFailure("the random tests make no such predicate")
    }
  }
}

extension FetchExpression {
  /// The value of a constant.
  fileprivate var constant: AttributeValue {
    guard case .constant(let value) = self else {
      preconditionFailure("the random tests make no such predicate")
    }
    return value
  }
}

extension RandomValues {
  /// A predicate about the attributes of `entity`, up to `depth` levels deep.
  mutating func predicate(_ entity: EntitySchema, identifiers: [ManagedObjectID], depth: Int = 3)
    -> FetchPredicate
  {
    if depth > 0 && chance(45) {
      let parts = (0..<below(4)).map { _ in predicate(entity, identifiers: identifiers, depth: depth - 1) }
      switch below(5) {
      case 0, 1, 2: return .and(parts)
      case 3: return .or(parts)
      default: return .not(predicate(entity, identifiers: identifiers, depth: depth - 1))
      }
    }
    switch below(30) {
    case 0: return .everything
    case 1: return .nothing
    case 2 where !identifiers.isEmpty: return .selfIn((0..<below(6)).map { _ in pick(identifiers) })
    default: return test(pick(entity.attributes.filter { !$0.isTransient }))
    }
  }

  private mutating func test(_ attribute: AttributeSchema) -> FetchPredicate {
    let key = attribute.name
    switch below(8) {
    case 0: return .in(key: key, (0..<below(12)).map { _ in value(attribute.type) })
    case 1: return .between(key: key, low: operand(attribute.type), high: operand(attribute.type))
    case 2 where attribute.type == .string, 3 where attribute.type == .string:
      return .comparison(key: key, pick([.beginsWith, .contains, .endsWith]), value(.string))
    default:
      return .comparison(
        key: key, pick([.equal, .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual]),
        operand(attribute.type))
    }
  }

  /// A value to compare with; sometimes a number of another kind, between or beyond the attribute's.
  private mutating func operand(_ type: AttributeType) -> AttributeValue {
    guard chance(15) else { return value(type) }
    switch type {
    case .integer16, .integer32, .integer64:
      return pick([
        .double(2.5), .double(-2.5), .double(3), .integer(.max), .integer(.min), .integer(32768),
        .double(1e300),
        .double(.nan), .double(-.infinity), .decimal(Decimal(string: "2.25") ?? 0),
      ])
    case .double: return pick([.integer(1), .float(0.5), .decimal(1)])
    default: return value(type)
    }
  }
}
