// Replacing parts of the shared tree. The replacement itself is not looked into again.

extension FetchExpression {
  /// The expression with each part for which `replacement` has an answer replaced by it, outermost parts first.
  ///
  /// `bound` are the variables of the sub-queries around a part.
  func rewritten(
    bound: Set<String> = [],
    _ replacement: (FetchExpression, _ bound: Set<String>) throws -> FetchExpression?
  ) rethrows -> FetchExpression {
    if let new = try replacement(self, bound) { return new }
    switch self {
    case .constant, .objects, .entity, .evaluatedObject, .variable: return self
    case .list(let parts): return .list(try parts.map { try $0.rewritten(bound: bound, replacement) })
    case .keyPath(let base, let keys):
      return .keyPath(base: try base.rewritten(bound: bound, replacement), keys: keys)
    case .aggregate(let aggregate, let values):
      return .aggregate(aggregate, try values.rewritten(bound: bound, replacement))
    case .subquery(let members, let variable, let predicate):
      return .subquery(
        try members.rewritten(bound: bound, replacement), variable: variable,
        try predicate.rewritten(bound: bound.union([variable]), replacement))
    case .function(let function, let arguments):
      return .function(function, try arguments.map { try $0.rewritten(bound: bound, replacement) })
    case .conditional(let predicate, let first, let second):
      return .conditional(
        try predicate.rewritten(bound: bound, replacement), try first.rewritten(bound: bound, replacement),
        try second.rewritten(bound: bound, replacement))
    }
  }
}

extension FetchPredicate {
  /// The predicate with each part of its expressions for which `replacement` has an answer replaced by it.
  func rewritten(
    bound: Set<String> = [],
    _ replacement: (FetchExpression, _ bound: Set<String>) throws -> FetchExpression?
  ) rethrows -> FetchPredicate {
    switch self {
    case .everything, .nothing, .foundation: return self
    case .not(let part): return .not(try part.rewritten(bound: bound, replacement))
    case .and(let parts): return .and(try parts.map { try $0.rewritten(bound: bound, replacement) })
    case .or(let parts): return .or(try parts.map { try $0.rewritten(bound: bound, replacement) })
    case .compare(var comparison):
      comparison.left = try comparison.left.rewritten(bound: bound, replacement)
      comparison.right = try comparison.right.rewritten(bound: bound, replacement)
      return .compare(comparison)
    }
  }
}

extension FetchExpression {
  /// The aggregate and what it is of, for every spelling: `max:(age)`, `age.@max`, `@max.age`; nil for what is none.
  var aggregated: (FetchAggregate, FetchExpression)? {
    switch self {
    case .aggregate(let aggregate, let values): return (aggregate, values)
    case .keyPath(let base, let keys):
      guard let place = keys.firstIndex(where: { $0.hasPrefix("@") }),
        let aggregate = FetchAggregate(collectionOperator: String(keys[place].dropFirst()))
      else { return nil }
      let path = Array(keys[..<place] + keys[(place + 1)...])
      return (aggregate, path.isEmpty ? base : .keyPath(base: base, keys: path))
    default: return nil
    }
  }
}

extension FetchExpression {
  /// What `distinct:` is of, where an aggregate is of that, and whether it is: twice is once.
  var withoutDistinct: (values: FetchExpression, isDistinct: Bool) {
    var (values, isDistinct) = (self, false)
    while case .function(.distinct, let arguments) = values, arguments.count == 1 {
      (values, isDistinct) = (arguments[0], true)
    }
    return (values, isDistinct)
  }
}

extension FetchAggregate {
  /// Whether it makes a difference how often a value is there.
  var mindsRepeats: Bool {
    switch self {
    case .count, .sum, .average: true
    case .minimum, .maximum: false
    }
  }
}
