import Foundation

// Foundation's expressions that are true or false: comparisons, connectives, questions to texts.

extension PredicateExpressions.Equal: LowerableExpression {
  func lowered(_ lowering: PredicateLowering) throws -> LoweredPart {
    .condition(try lowering.equality(lhs, rhs), guards: [])
  }
}

extension PredicateExpressions.NotEqual: LowerableExpression {
  func lowered(_ lowering: PredicateLowering) throws -> LoweredPart {
    let predicate = try lowering.equality(lhs, rhs)
    if case .compare(var comparison) = predicate, comparison.operation == .equal,
      comparison.quantifier == .direct
    {
      comparison.operation = .notEqual
      return .condition(.compare(comparison), guards: [])
    }
    return .condition(.not(predicate), guards: [])
  }
}

extension PredicateLowering {
  fileprivate func equality(_ lhs: some PredicateExpression, _ rhs: some PredicateExpression) throws
    -> FetchPredicate
  {
    let left = try part(lhs)
    let right = try part(rhs)
    switch (left, right) {
    case (.order(let first, let second, let options), .constant(let result as ComparisonResult)),
      (.constant(let result as ComparisonResult), .order(let first, let second, let options)):
      return .compare(FetchComparison(first, result.operation, second, options: options))
    case (.value(let composite), .constant(let whole as any CompositeValue)),
      (.constant(let whole as any CompositeValue), .value(let composite)):
      return Self.isEqual(composite, type(of: whole).elements, whole.elementValues)
    default: break
    }
    if case .condition(let predicate, let guards) = left {
      return try equality(predicate, guards, value(right, of: rhs), value(left, of: lhs))
    }
    if case .condition(let predicate, let guards) = right {
      return try equality(predicate, guards, value(left, of: lhs), value(right, of: rhs))
    }
    return .compare(FetchComparison(try value(left, of: lhs), .equal, try value(right, of: rhs)))
  }

  /// A composite attribute is a value where each of its elements is that of the value.
  private static func isEqual(
    _ composite: FetchExpression, _ elements: [AttributeDescription], _ values: [String: Any]
  ) -> FetchPredicate {
    .and(
      elements.map { element in
        let place = Self.path(composite, element.name)
        if let inner = element as? CompositeAttributeDescription {
          return isEqual(place, inner.elements, values[element.name] as? [String: Any] ?? [:])
        }
        let value = AttributeValue(values[element.name], type: element.attributeType) ?? .null
        return .compare(FetchComparison(place, .equal, .constant(value)))
      })
  }

  /// A condition compared with a value, mostly `true`, `false` or nil.
  private func equality(
    _ predicate: FetchPredicate, _ guards: [FetchExpression], _ value: FetchExpression,
    _ condition: FetchExpression
  ) throws -> FetchPredicate {
    switch value {
    case .constant(.boolean(true)): Self.all(guards, predicate)
    case .constant(.boolean(false)): Self.all(guards, .not(predicate))
    case .constant(.null): guards.isEmpty ? .nothing : .not(Self.allPresent(guards))
    default: .compare(FetchComparison(condition, .equal, value))
    }
  }
}

extension ComparisonResult {
  /// What is true of two texts that are so ordered.
  fileprivate var operation: ComparisonOperator {
    switch self {
    case .orderedAscending: .less
    case .orderedSame: .equal
    case .orderedDescending: .greater
    }
  }
}

extension PredicateExpressions.Comparison: LowerableExpression {
  func lowered(_ lowering: PredicateLowering) throws -> LoweredPart {
    let operation: ComparisonOperator =
      switch op {
      case .lessThan: .less
      case .lessThanOrEqual: .lessOrEqual
      case .greaterThan: .greater
      case .greaterThanOrEqual: .greaterOrEqual
      }
    return .condition(
      .compare(FetchComparison(try lowering.value(lhs), operation, try lowering.value(rhs))), guards: [])
  }
}

// MARK: Connectives

extension PredicateExpressions.Conjunction: LowerableExpression {
  func lowered(_ lowering: PredicateLowering) throws -> LoweredPart {
    .condition(try lowering.predicate(lhs) && lowering.predicate(rhs), guards: [])
  }
}

extension PredicateExpressions.Disjunction: LowerableExpression {
  func lowered(_ lowering: PredicateLowering) throws -> LoweredPart {
    .condition(try lowering.predicate(lhs) || lowering.predicate(rhs), guards: [])
  }
}

extension PredicateExpressions.Negation: LowerableExpression {
  func lowered(_ lowering: PredicateLowering) throws -> LoweredPart {
    .condition(.not(try lowering.predicate(wrapped)), guards: [])
  }
}

// MARK: Texts

extension PredicateExpressions.SequenceStartsWith: LowerableExpression {
  func lowered(_ lowering: PredicateLowering) throws -> LoweredPart {
    try lowering.text(self, base, .beginsWith, prefix)
  }
}

extension PredicateExpressions.CollectionContainsCollection: LowerableExpression {
  func lowered(_ lowering: PredicateLowering) throws -> LoweredPart {
    try lowering.text(self, base, .contains, other)
  }
}

extension PredicateExpressions.StringContainsRegex: LowerableExpression {
  func lowered(_ lowering: PredicateLowering) throws -> LoweredPart {
    guard case .constant(let any) = try lowering.part(regex),
      let regex = any as? PredicateExpressions.PredicateRegex
    else { throw lowering.unsupported(self, "the regular expression must be a constant") }
    let pattern = FetchExpression.constant(.string("(?s:.*)(?:\(regex.stringRepresentation))(?s:.*)"))
    return .condition(
      .compare(FetchComparison(try lowering.value(subject), .matches, pattern)), guards: [])
  }
}

extension PredicateLowering {
  fileprivate func text<Base: PredicateExpression>(
    _ whole: some PredicateExpression, _ base: Base, _ operation: ComparisonOperator,
    _ part: some PredicateExpression
  ) throws -> LoweredPart {
    guard Base.Output.self == String.self || Base.Output.self == Substring.self else {
      throw unsupported(whole, "the order of a collection's elements is not looked at, except in texts")
    }
    return .condition(Self.holds(try value(base), operation, try value(part)), guards: [])
  }

  /// Whether a text has a part, as Swift says: every text has the empty one, which comparisons of stores find nowhere.
  private static func holds(
    _ text: FetchExpression, _ operation: ComparisonOperator, _ part: FetchExpression
  ) -> FetchPredicate {
    let comparison = FetchPredicate.compare(FetchComparison(text, operation, part))
    let isThere = FetchPredicate.compare(FetchComparison(text, .notEqual, .constant(.null)))
    switch part {
    case .constant(.string("")): return isThere
    case .constant: return comparison
    default:
      let isEmpty = FetchPredicate.compare(FetchComparison(part, .equal, .constant(.string(""))))
      return .or([comparison, .and([isEmpty, isThere])])
    }
  }
}
