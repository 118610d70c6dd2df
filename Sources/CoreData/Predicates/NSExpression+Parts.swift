import StrataCore

extension NSExpression {
  /// What the expression is.
  public var expressionType: ExpressionType {
    switch kind {
    case .constant: .constantValue
    case .evaluatedObject: .evaluatedObject
    case .variable: .variable
    case .keyPath, .swiftKeyPath: .keyPath
    case .function: .function
    case .set(let type, _, _): type
    case .subquery: .subquery
    case .aggregate: .aggregate
    case .anyKey: .anyKey
    case .block: .block
    case .conditional: .conditional
    case .fetch: .fetchRequest
    }
  }

  /// The value of a constant, a number as an `NSNumber`, however it was given; traps for other types.
  public var constantValue: Any? {
    if case .constant(let value) = kind { return FoundationNumbers.handedOut(optional: value) }
    missing("constantValue")
  }

  /// The key path; traps for other types, and for a Swift key path whose class no model in use knows.
  public var keyPath: String {
    switch kind {
    case .keyPath(_, let path): return path
    case .swiftKeyPath(let path):
      do { return try FetchLowering().name(of: path) } catch { stop("the key path has no text: \(error)") }
    default: missing("keyPath")
    }
  }

  /// The name of a function; traps for other types.
  public var function: String {
    if case .function(_, let name, _) = kind { return name }
    missing("function")
  }

  /// The name of a variable, without its sign; of a sub-query that of its elements. Traps for other types.
  public var variable: String {
    switch kind {
    case .variable(let name), .subquery(_, let name, _): return name
    default: missing("variable")
    }
  }

  /// What a function or key path is of: the evaluated object, or what was given. Traps for other types.
  public var operand: NSExpression {
    switch kind {
    case .function(let target, _, _), .keyPath(let target, _):
      return target ?? NSExpression.expressionForEvaluatedObject()
    case .swiftKeyPath: return NSExpression.expressionForEvaluatedObject()
    default: missing("operand")
    }
  }

  /// The arguments of a function or block; nil for other types.
  public var arguments: [NSExpression]? {
    switch kind {
    case .function(_, _, let arguments), .block(_, let arguments): arguments
    default: nil
    }
  }

  /// The expressions of an aggregate, or the members of a sub-query as an expression. Traps for other types.
  public var collection: Any {
    switch kind {
    case .aggregate(let parts): return parts
    case .subquery(let members, _, _): return members
    default: missing("collection")
    }
  }

  /// The predicate of a sub-query or a conditional; traps for other types.
  public var predicate: NSPredicate {
    switch kind {
    case .subquery(_, _, let predicate), .conditional(let predicate, _, _): return predicate
    default: missing("predicate")
    }
  }

  /// The left side of a set expression; traps for other types.
  public var left: NSExpression {
    if case .set(_, let left, _) = kind { return left }
    missing("left")
  }

  /// The right side of a set expression; traps for other types.
  public var right: NSExpression {
    if case .set(_, _, let right) = kind { return right }
    missing("right")
  }

  /// The value of a conditional where its predicate is true; traps for other types.
  public var `true`: NSExpression {
    if case .conditional(_, let first, _) = kind { return first }
    missing("true")
  }

  /// The value of a conditional where its predicate is false; traps for other types.
  public var `false`: NSExpression {
    if case .conditional(_, _, let second) = kind { return second }
    missing("false")
  }

  /// The block of a block expression; traps for other types.
  public var expressionBlock: Block {
    if case .block(let block, _) = kind { return block }
    missing("expressionBlock")
  }

  private func missing(_ part: String) -> Never {
    stop("an expression of type .\(expressionType) has no \(part).")
  }
}
