import Foundation

// Comparisons of two expressions of which neither is just a key path beside a constant.

extension PredicateResolver {
  /// - Parameter known: The sides that have been looked up before.
  func compared(_ comparison: FetchComparison, depth: Int, _ known: (left: Typed?, right: Typed?)) throws
    -> ResolvedPredicate
  {
    var left = try known.left ?? expression(comparison.left, depth: depth)
    var right = try known.right ?? expression(comparison.right, depth: depth)
    if comparison.quantifier != .direct || comparison.operation == .contains { left = Self.manyIfNamed(left) }
    let words = "\(comparison)"
    var comparison = comparison
    if !left.type.isMany { comparison.quantifier = quantifierOfOne(comparison.quantifier) }
    // One object contains another when it is the same.
    if comparison.operation == .contains, left.type.isObject, right.type.isObject, !right.type.isMany,
      !left.type.isMany || comparison.quantifier != .direct
    {
      comparison.operation = .equal
    }
    (left, right) = (
      try adapted(left, beside: right, comparison), try adapted(right, beside: left, comparison)
    )
    try checkNumbers(comparison, left.type, right.type)
    try checkKinds(comparison, left.type, right.type)
    left.expression = try stored(rooted(left, beside: right.type), beside: right)
    right.expression = try stored(rooted(right, beside: left.type), beside: left)
    if let simpler = existence(left.expression, comparison, right.expression) { return simpler }
    if case .constant(.string(let pattern)) = right.expression, comparison.operation.isForStrings,
      !left.type.isMany || comparison.quantifier != .direct
    {
      // Says what is wrong with a pattern before any row is looked at.
      _ = try TextMatcher(comparison.operation, pattern, options: comparison.options)
    }
    let resolved = ResolvedComparison(
      left: left.expression, operation: comparison.operation, right: right.expression,
      quantifier: comparison.quantifier, options: comparison.options.subtracting(.normalized), words: words)
    guard left.expression.isConstant, right.expression.isConstant else { return .comparison(resolved) }
    let binder = ExpressionBinder(schema: schema, storeIdentifier: nil, rootName: "")
    let isTrue = try Evaluation(NoObjects(schema: schema), now: now, entityName: entity.name).isTrue(
      BoundComparison(resolved, binder))
    return isTrue ? .all : .none
  }

  /// Constant texts beside numbers that objects have, or that are computed from these, as the numbers that they spell; constant numbers beside texts as texts. A text that spells
  /// no number stays: it is none of them, and has no order among them.
  private func adapted(_ side: Typed, beside other: Typed, _ comparison: FetchComparison) throws -> Typed {
    let isMember = comparison.operation == .contains && comparison.quantifier == .direct
    guard comparison.operation.adaptsConstants || isMember && (side.type.isMany || other.type.isMany),
      comparison.operation != .in || other.type.isMany || side.type.isMany,
      side.expression.isConstant, !other.expression.isConstant,
      case .value(let type) = other.type.kind, type == .string || type.isSummable,
      case .value(let own) = side.type.kind, own == .string || own.isSummable
    else { return side }
    var result = side
    if (own == .string) != (type == .string) { result.type.kind = other.type.kind }
    switch try folded(side.expression) {
    case .one(let value):
      let adapted = ComparedValues.adapted(value, beside: type)
      if adapted != value { result.expression = .constant(adapted) }
    case .many(let values):
      let adapted = values.map { ComparedValues.adapted($0, beside: type) }
      if adapted != values { result.expression = .list(adapted.map { .constant($0) }) }
    }
    return result
  }

  private func rooted(_ side: Typed, beside other: ResolvedType) -> ResolvedExpression {
    guard case .object(let number) = other.kind else { return side.expression }
    return side.expression.rooted(schema.hierarchies[schema.entities[number].hierarchyNumber].rootName)
  }

  /// A constant number beside an attribute, one value of many of them, or a decimal, as that has it; as it is, when that can have no such number.
  private func stored(_ side: ResolvedExpression, beside other: Typed) throws -> ResolvedExpression {
    guard Self.isStored(other.expression), case .value(let type) = other.type.kind, type.isSummable,
      side.isConstant
    else { return side }
    func stored(_ value: AttributeValue) -> ResolvedExpression {
      guard !value.isNull, case .exact(let stored)? = OperandPosition(value, type: type) else {
        return .constant(value)
      }
      return .constant(stored)
    }
    return switch try folded(side) {
    case .one(let value): stored(value)
    case .many(let values): .list(values.map(stored))
    }
  }

  private static func isStored(_ expression: ResolvedExpression) -> Bool {
    switch expression {
    case .path(_, _, .some): true
    case .aggregate(let aggregate, .path(_, _, .some), _): aggregate != .count
    case .aggregate(let aggregate, .function(.distinct, let values), _):
      aggregate != .count && values.allSatisfy { if case .path(_, _, .some) = $0 { true } else { false } }
    // `ratio.floatValue`, `fee.doubleValue`: 0.1 is the nearest float or double, also as a decimal.
    case .cast(.path(_, _, .some), .float), .cast(.path(_, _, .some), .double): true
    // What rows have come to: 0.1 is the same in texts of predicates.
    case .constant(.decimal): true
    default: false
    }
  }

  /// One value where there must be one, many where there must be many.
  private func checkNumbers(_ comparison: FetchComparison, _ left: ResolvedType, _ right: ResolvedType) throws
  {
    if comparison.quantifier != .direct {
      guard left.isMany else { throw fault(.notMany("\(comparison)")) }
    } else if left.isMany, comparison.operation != .contains {
      throw fault(.toManyKey, key: "\(comparison.left)")
    }
    switch comparison.operation {
    case .between:
      guard case .list(let parts) = comparison.right, parts.count == 2 else {
        throw fault(.unsupported("\(comparison); BETWEEN needs two values in braces"))
      }
    case .in:
      let isText = right.kind == .value(.string) || right.kind == .unknown
      let isOneObject = right.isObject && !right.isMany
      guard right.isMany || isText || isOneObject else { throw fault(.notMany("\(comparison)")) }
    default:
      if right.isMany { throw fault(.toManyKey, key: "\(comparison.right)") }
    }
  }

  private func checkKinds(_ comparison: FetchComparison, _ left: ResolvedType, _ right: ResolvedType) throws {
    func mismatch() -> FetchError {
      fault(
        .mismatch(expression: "\(comparison)", left: left.words(schema), right: right.words(schema)))
    }
    let isText = { (type: ResolvedType) in type.kind == .value(.string) || type.kind == .unknown }
    switch comparison.operation {
    case .beginsWith, .endsWith, .like, .matches:
      guard isText(left), isText(right) else { throw mismatch() }
    case .contains where !left.isMany || comparison.quantifier != .direct:
      guard isText(left), isText(right) else { throw mismatch() }
    case .less, .lessOrEqual, .greater, .greaterOrEqual, .between:
      if left.kind == .entity || right.kind == .entity { throw mismatch() }
      if left.isObject || right.isObject || !left.isComparable(with: right) { throw mismatch() }
    case .equal, .notEqual, .in, .contains:
      guard left.isComparable(with: right), mayBeTheSame(left, right) else { throw mismatch() }
    }
    if !comparison.options.subtracting(.normalized).isEmpty, !isText(left) || !isText(right) {
      throw mismatch()
    }
  }

  /// Objects of different hierarchies are never the same, though their primary keys may be.
  private func mayBeTheSame(_ left: ResolvedType, _ right: ResolvedType) -> Bool {
    guard case .object(let one) = left.kind, case .object(let other) = right.kind else { return true }
    return schema.entities[one].hierarchyNumber == schema.entities[other].hierarchyNumber
  }

  /// A number of members compared with none at all: whether there is one.
  private func existence(
    _ left: ResolvedExpression, _ comparison: FetchComparison, _ right: ResolvedExpression
  ) -> ResolvedPredicate? {
    guard case .aggregate(.count, let members, _) = left, case .constant(.integer(let number)) = right,
      comparison.quantifier == .direct
    else { return nil }
    let isThere: Bool
    switch (comparison.operation, number) {
    case (.greater, 0), (.greaterOrEqual, 1), (.notEqual, 0): isThere = true
    case (.equal, 0), (.less, 1), (.lessOrEqual, 0): isThere = false
    default: return nil
    }
    let predicate: ResolvedPredicate
    switch members {
    case .path(.object(up: 0), let steps, nil) where steps.count == 1:
      predicate = .exists(schema.relationships[steps[0]], .all)
    case .filtered(.path(.object(up: 0), let steps, nil), _, let part) where steps.count == 1:
      predicate = .exists(schema.relationships[steps[0]], part)
    default: return nil
    }
    return isThere ? predicate : predicate.negated
  }
}
