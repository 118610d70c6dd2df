import Foundation

// Foundation's expressions on lists of constants, ranges and the members of relationships.

/// How many alternatives a list of constants may become.
private let mostAlternatives = 1_000

extension PredicateExpressions.SequenceContains: LowerableExpression {
  func lowered(_ lowering: PredicateLowering) throws -> LoweredPart {
    let collection = try lowering.part(sequence)
    switch collection {
    case .members(let members, _):
      // Whatever the members are of: one of them is the element.
      return .condition(
        .compare(FetchComparison(members, .equal, try lowering.value(element), quantifier: .any)), guards: [])
    case .constant(let range as any ConstantRange): return try lowering.membership(range, element)
    case .constant, .value:
      guard LHS.Output.self != String.self else {
        return .condition(
          .compare(
            FetchComparison(
              try lowering.value(collection, of: sequence), .contains, try lowering.value(element))),
          guards: [])
      }
      return .condition(
        .compare(
          FetchComparison(
            try lowering.value(element), .in, try lowering.value(collection, of: sequence))), guards: [])
    default:
      throw lowering.unsupported(self, "only lists of constants and to-many relationships are searched")
    }
  }
}

extension PredicateExpressions.SequenceContainsWhere: LowerableExpression {
  func lowered(_ lowering: PredicateLowering) throws -> LoweredPart {
    switch try lowering.part(sequence) {
    case .members(let members, let entity):
      return .condition(try lowering.some(members, entity, variable, test), guards: [])
    case .constant(let any):
      return .condition(.or(try lowering.each(any, variable, test, self)), guards: [])
    default:
      throw lowering.unsupported(self, "only lists of constants and to-many relationships are searched")
    }
  }
}

extension PredicateExpressions.SequenceAllSatisfy: LowerableExpression {
  func lowered(_ lowering: PredicateLowering) throws -> LoweredPart {
    switch try lowering.part(sequence) {
    case .members(let members, let entity):
      return .condition(try lowering.none(members, entity, variable, test), guards: [])
    case .constant(let any):
      return .condition(.and(try lowering.each(any, variable, test, self)), guards: [])
    default:
      throw lowering.unsupported(self, "only lists of constants and to-many relationships are searched")
    }
  }
}

extension PredicateExpressions.Filter: LowerableExpression {
  func lowered(_ lowering: PredicateLowering) throws -> LoweredPart {
    guard case .members(let members, let entity) = try lowering.part(sequence) else {
      throw lowering.unsupported(self, "only the members of to-many relationships are filtered")
    }
    let name = lowering.newVariable()
    let predicate = try lowering.with(variable, .object(.variable(name), entity)) {
      try lowering.predicate(filter)
    }
    return .members(.subquery(members, variable: name, predicate), entity)
  }
}

extension PredicateExpressions.SequenceMinimum: LowerableExpression {
  func lowered(_ lowering: PredicateLowering) throws -> LoweredPart {
    .value(.aggregate(.minimum, try lowering.value(elements)))
  }
}

extension PredicateExpressions.SequenceMaximum: LowerableExpression {
  func lowered(_ lowering: PredicateLowering) throws -> LoweredPart {
    .value(.aggregate(.maximum, try lowering.value(elements)))
  }
}

extension PredicateLowering {
  /// One of the members satisfies `test`.
  fileprivate func some<T>(
    _ members: FetchExpression, _ entity: EntitySchema, _ variable: PredicateExpressions.Variable<T>,
    _ test: some PredicateExpression
  ) throws -> FetchPredicate {
    let name = newVariable()
    let predicate = try with(variable, .object(.variable(name), entity)) { try self.predicate(test) }
    if let quantified = Self.quantified(predicate, members, name) { return quantified }
    return Self.count(members, name, predicate, .greater)
  }

  /// None of the members fails `test`.
  fileprivate func none<T>(
    _ members: FetchExpression, _ entity: EntitySchema, _ variable: PredicateExpressions.Variable<T>,
    _ test: some PredicateExpression
  ) throws -> FetchPredicate {
    let name = newVariable()
    let predicate = try with(variable, .object(.variable(name), entity)) { try self.predicate(test) }
    return Self.count(members, name, .not(predicate), .equal)
  }

  private static func count(
    _ members: FetchExpression, _ name: String, _ predicate: FetchPredicate, _ operation: ComparisonOperator
  ) -> FetchPredicate {
    .compare(
      FetchComparison(
        .aggregate(.count, .subquery(members, variable: name, predicate)), operation, .constant(.integer(0))))
  }

  /// `members.key == constant`, which planners know best, instead of a sub-query; nil when it says something else.
  private static func quantified(_ predicate: FetchPredicate, _ members: FetchExpression, _ name: String)
    -> FetchPredicate?
  {
    guard case .compare(var comparison) = predicate, comparison.quantifier == .direct,
      case .keyPath(.variable(name), let keys) = comparison.left, keys.count == 1,
      case .keyPath(let base, let path) = members
    else { return nil }
    switch comparison.right {
    case .constant(let value) where !value.isNull: break
    case .list: break
    default: return nil
    }
    // The member's property must not be another to-many relationship, whose members would be asked one by one.
    comparison.left = .keyPath(base: base, keys: path + keys)
    comparison.quantifier = .any
    return .compare(comparison)
  }

  /// `test` for each of the constants in a list.
  fileprivate func each<T>(
    _ list: Any, _ variable: PredicateExpressions.Variable<T>, _ test: some PredicateExpression,
    _ whole: some PredicateExpression
  ) throws -> [FetchPredicate] {
    guard let elements = list as? any Sequence, !(list is String) else {
      throw unsupported(whole, "\(type(of: list)) is no list")
    }
    return try alternatives(elements, variable, test, whole)
  }

  private func alternatives<T>(
    _ elements: some Sequence, _ variable: PredicateExpressions.Variable<T>, _ test: some PredicateExpression,
    _ whole: some PredicateExpression
  ) throws -> [FetchPredicate] {
    let elements = Array(elements.prefix(mostAlternatives + 1))
    guard elements.count <= mostAlternatives else {
      throw unsupported(whole, "lists of more than \(mostAlternatives) constants are not tested one by one")
    }
    return try elements.map { element in try with(variable, .constant(element)) { try predicate(test) } }
  }
}

// MARK: Ranges

extension PredicateExpressions.RangeExpressionContains: LowerableExpression {
  func lowered(_ lowering: PredicateLowering) throws -> LoweredPart {
    if let range = range as? any BoundedRangeExpression {
      return .condition(try range.contains(lowering.value(element), lowering), guards: [])
    }
    if case .constant(let range as any ConstantRange) = try lowering.part(range) {
      return try lowering.membership(range, element)
    }
    throw lowering.unsupported(self, "the range is none of constants or of two values")
  }
}

extension PredicateLowering {
  fileprivate func membership(_ range: any ConstantRange, _ element: some PredicateExpression) throws
    -> LoweredPart
  {
    let value = try value(element)
    let (low, high, includesHigh) = range.bounds
    var parts: [FetchPredicate] = []
    if let low {
      parts.append(.compare(FetchComparison(value, .greaterOrEqual, try FetchExpression(argument: low))))
    }
    if let high {
      let operation: ComparisonOperator = includesHigh ? .lessOrEqual : .less
      parts.append(.compare(FetchComparison(value, operation, try FetchExpression(argument: high))))
    }
    return .condition(parts.count == 1 ? parts[0] : .and(parts), guards: [])
  }
}

/// A range whose ends are expressions.
private protocol BoundedRangeExpression {
  func contains(_ value: FetchExpression, _ lowering: PredicateLowering) throws -> FetchPredicate
}

extension PredicateExpressions.ClosedRange: BoundedRangeExpression {
  fileprivate func contains(_ value: FetchExpression, _ lowering: PredicateLowering) throws -> FetchPredicate
  {
    let ends = FetchExpression.list([try lowering.value(lower), try lowering.value(upper)])
    return .compare(FetchComparison(value, .between, ends))
  }
}

extension PredicateExpressions.Range: BoundedRangeExpression {
  fileprivate func contains(_ value: FetchExpression, _ lowering: PredicateLowering) throws -> FetchPredicate
  {
    .and([
      .compare(FetchComparison(value, .greaterOrEqual, try lowering.value(lower))),
      .compare(FetchComparison(value, .less, try lowering.value(upper))),
    ])
  }
}

/// A range of constants, with at least one end.
private protocol ConstantRange {
  var bounds: (low: Any?, high: Any?, includesHigh: Bool) { get }
}

extension ClosedRange: ConstantRange {
  fileprivate var bounds: (low: Any?, high: Any?, includesHigh: Bool) { (lowerBound, upperBound, true) }
}

extension Range: ConstantRange {
  fileprivate var bounds: (low: Any?, high: Any?, includesHigh: Bool) { (lowerBound, upperBound, false) }
}

extension PartialRangeFrom: ConstantRange {
  fileprivate var bounds: (low: Any?, high: Any?, includesHigh: Bool) { (lowerBound, nil, false) }
}

extension PartialRangeThrough: ConstantRange {
  fileprivate var bounds: (low: Any?, high: Any?, includesHigh: Bool) { (nil, upperBound, true) }
}

extension PartialRangeUpTo: ConstantRange {
  fileprivate var bounds: (low: Any?, high: Any?, includesHigh: Bool) { (nil, upperBound, false) }
}
