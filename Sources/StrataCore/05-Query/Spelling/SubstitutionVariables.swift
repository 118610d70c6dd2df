extension FetchPredicate {
  /// The predicate with values in place of its variables (`$name`, here without the sign). Variables that have no value
  /// stay; those that a sub-query binds are its own. A variable that is still there when the predicate is used is an error.
  ///
  ///     let late = try FetchPredicate(format: "delay > $limit")
  ///     try late.withSubstitutionVariables(["limit": 60])
  ///
  /// - Throws: ``PredicateArgumentError`` for a value that cannot stand in a predicate.
  public func withSubstitutionVariables(_ values: [String: Any?]) throws -> FetchPredicate {
    replacingVariables(try FetchExpression.values(values))
  }

  /// The predicate with expressions in place of its variables.
  public func replacingVariables(_ expressions: [String: FetchExpression]) -> FetchPredicate {
    expressions.isEmpty ? self : replaced(expressions)
  }

  /// The variables that have no value, without their sign.
  public var variables: Set<String> {
    var names: Set<String> = []
    collectVariables([], into: &names)
    return names
  }

  fileprivate func replaced(_ values: [String: FetchExpression]) -> FetchPredicate {
    switch self {
    case .everything, .nothing, .foundation: self
    case .not(let part): .not(part.replaced(values))
    case .and(let parts): .and(parts.map { $0.replaced(values) })
    case .or(let parts): .or(parts.map { $0.replaced(values) })
    case .compare(let comparison):
      .compare(
        FetchComparison(
          comparison.left.replaced(values), comparison.operation, comparison.right.replaced(values),
          quantifier: comparison.quantifier, options: comparison.options))
    }
  }

  fileprivate func collectVariables(_ bound: Set<String>, into names: inout Set<String>) {
    switch self {
    case .everything, .nothing, .foundation: break
    case .not(let part): part.collectVariables(bound, into: &names)
    case .and(let parts), .or(let parts): for part in parts { part.collectVariables(bound, into: &names) }
    case .compare(let comparison):
      comparison.left.collectVariables(bound, into: &names)
      comparison.right.collectVariables(bound, into: &names)
    }
  }
}

extension FetchExpression {
  /// The expression with values in place of its variables; see ``FetchPredicate/withSubstitutionVariables(_:)``.
  ///
  /// - Throws: ``PredicateArgumentError`` for a value that cannot stand in an expression.
  public func withSubstitutionVariables(_ values: [String: Any?]) throws -> FetchExpression {
    replacingVariables(try Self.values(values))
  }

  /// The expression with expressions in place of its variables.
  public func replacingVariables(_ expressions: [String: FetchExpression]) -> FetchExpression {
    expressions.isEmpty ? self : replaced(expressions)
  }

  fileprivate static func values(_ values: [String: Any?]) throws -> [String: FetchExpression] {
    var result: [String: FetchExpression] = [:]
    for (name, value) in values {
      do { result[name] = try FetchExpression(argument: value) } catch let error as PredicateArgumentError {
        throw PredicateArgumentError(error.reason, variable: name)
      }
    }
    return result
  }

  fileprivate func replaced(_ values: [String: FetchExpression]) -> FetchExpression {
    switch self {
    case .variable(let name): values[name] ?? self
    case .constant, .objects, .entity, .evaluatedObject: self
    case .list(let elements): .list(elements.map { $0.replaced(values) })
    case .keyPath(let base, let keys): .keyPath(base: base.replaced(values), keys: keys)
    case .aggregate(let aggregate, let inner): .aggregate(aggregate, inner.replaced(values))
    case .function(let function, let arguments): .function(function, arguments.map { $0.replaced(values) })
    case .conditional(let predicate, let first, let second):
      .conditional(predicate.replaced(values), first.replaced(values), second.replaced(values))
    case .subquery(let members, let variable, let predicate):
      .subquery(
        members.replaced(values), variable: variable,
        predicate.replaced(values.filter { $0.key != variable }))
    }
  }

  fileprivate func collectVariables(_ bound: Set<String>, into names: inout Set<String>) {
    switch self {
    case .variable(let name): if !bound.contains(name) { names.insert(name) }
    case .constant, .objects, .entity, .evaluatedObject: break
    case .keyPath(let base, _): base.collectVariables(bound, into: &names)
    case .aggregate(_, let inner): inner.collectVariables(bound, into: &names)
    case .list(let parts), .function(_, let parts):
      for part in parts { part.collectVariables(bound, into: &names) }
    case .conditional(let predicate, let first, let second):
      predicate.collectVariables(bound, into: &names)
      first.collectVariables(bound, into: &names)
      second.collectVariables(bound, into: &names)
    case .subquery(let members, let variable, let predicate):
      members.collectVariables(bound, into: &names)
      predicate.collectVariables(bound.union([variable]), into: &names)
    }
  }
}
