import Foundation

/// What a part of a `#Predicate` has become.
enum LoweredPart {
  /// A value: of an attribute, of a function, a constant.
  case value(FetchExpression)
  /// An object: the one looked at, or the other end of a to-one relationship.
  case object(FetchExpression, EntitySchema)
  /// The members of a to-many relationship, or some of them.
  case members(FetchExpression, EntitySchema)
  /// True or false; nil when one of `guards` is.
  case condition(FetchPredicate, guards: [FetchExpression])
  /// A value of the program.
  case constant(Any)
  /// How two texts are ordered: a `ComparisonResult`.
  case order(FetchExpression, FetchExpression, options: FetchComparison.StringOptions)
}

/// A part of a `#Predicate` that a store can look up. Foundation's expressions conform.
protocol LowerableExpression {
  func lowered(_ lowering: PredicateLowering) throws -> LoweredPart
}

/// Translates Foundation's predicate expressions into the tree of predicates.
///
/// Used on one thread, for one predicate.
final class PredicateLowering {
  let schema: Schema
  /// What each variable of a closure stands for.
  private var variables: [PredicateExpressions.VariableID: LoweredPart] = [:]
  private var members = 0
  /// The path of names that a key path of a structure means which a composite attribute holds.
  var elementName: (AnyKeyPath) -> String? = { CompositeSamples.elementName($0) }

  init(_ schema: Schema) { self.schema = schema }

  // MARK: Parts

  func part(_ expression: some PredicateExpression) throws -> LoweredPart {
    guard let expression = expression as? any LowerableExpression else {
      throw unsupported(expression, "it has no counterpart in a store")
    }
    return try expression.lowered(self)
  }

  /// A part as a value.
  func value(_ expression: some PredicateExpression) throws -> FetchExpression {
    try value(part(expression), of: expression)
  }

  func value(_ part: LoweredPart, of expression: some PredicateExpression) throws -> FetchExpression {
    switch part {
    case .value(let value), .object(let value, _), .members(let value, _): return value
    case .condition(let predicate, let guards):
      let value = FetchExpression.conditional(
        predicate, .constant(.boolean(true)), .constant(.boolean(false)))
      return guards.isEmpty ? value : .conditional(Self.allPresent(guards), value, .constant(.null))
    case .order:
      throw unsupported(expression, "what it says can only be compared with a constant ComparisonResult")
    case .constant(let any):
      do { return try FetchExpression(argument: any) } catch {
        throw unsupported(expression, "\(error)".trimmingSuffix("."))
      }
    }
  }

  /// The value of an expression that asks nothing of the object, as Foundation works it out; nil for another expression, and where that throws.
  func constant<Expression: PredicateExpression>(_ expression: Expression) -> Expression.Output? {
    // What a variable of a closure stands for is known only here.
    if case .constant(let any)? = try? part(expression), let value = any as? Expression.Output {
      return value
    }
    return try? expression.evaluate(PredicateBindings())
  }

  /// A part as a condition.
  func predicate(_ expression: some PredicateExpression) throws -> FetchPredicate {
    let part = try part(expression)
    if case .condition(let predicate, let guards) = part { return Self.all(guards, predicate) }
    return Self.isTrue(try value(part, of: expression))
  }

  func unsupported(_ expression: some PredicateExpression, _ reason: String) -> PredicateTranslationError {
    PredicateTranslationError(expression: Self.name(type(of: expression)), reason: reason)
  }

  /// `PredicateExpressions.Filter` instead of all its type arguments.
  static func name(_ type: Any.Type) -> String {
    let name = "\(type)"
    return name.prefix { $0 != "<" }.description
  }

  // MARK: Variables

  /// Looks at `body` with the variable standing for `part`.
  func with<T, R>(
    _ variable: PredicateExpressions.Variable<T>, _ part: LoweredPart, _ body: () throws -> R
  ) rethrows -> R {
    let outer = variables.updateValue(part, forKey: variable.key)
    defer { variables[variable.key] = outer }
    return try body()
  }

  func variable(_ key: PredicateExpressions.VariableID) -> LoweredPart? { variables[key] }

  /// A new name for the members of a sub-query.
  func newVariable() -> String {
    members += 1
    return "member\(members)"
  }

  // MARK: Trees

  static func isTrue(_ value: FetchExpression) -> FetchPredicate {
    switch value {
    case .constant(.boolean(true)): .everything
    case .constant(.boolean(false)): .nothing
    case .conditional(let predicate, .constant(.boolean(true)), .constant(.boolean(false))): predicate
    default: .compare(FetchComparison(value, .equal, .constant(.boolean(true))))
    }
  }

  static func allPresent(_ guards: [FetchExpression]) -> FetchPredicate {
    let parts = guards.map { FetchPredicate.compare(FetchComparison($0, .notEqual, .constant(.null))) }
    return parts.count == 1 ? parts[0] : .and(parts)
  }

  static func all(_ guards: [FetchExpression], _ predicate: FetchPredicate) -> FetchPredicate {
    guards.isEmpty ? predicate : .and([allPresent(guards), predicate])
  }

  static func path(_ base: FetchExpression, _ name: String) -> FetchExpression {
    let keys = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    if case .keyPath(let root, let first) = base { return .keyPath(base: root, keys: first + keys) }
    return .keyPath(base: base, keys: keys)
  }

  // MARK: Key paths

  /// What a key path leads to from an object of `entity`.
  func property<Root, Value>(
    _ keyPath: KeyPath<Root, Value>, of entity: EntitySchema, from base: FetchExpression
  )
    throws -> LoweredPart
  {
    let reads = try KeyPathNames.reads(of: keyPath, from: entity, schema)
    guard let last = reads.last else { return .object(base, entity) }
    var path = base
    for read in reads { path = Self.path(path, schema.entities[read.entity].attributes[read.slot].name) }
    guard let relationship = schema.entities[last.entity].relationship(slot: last.slot) else {
      return .value(path)
    }
    let destination = schema.entities[relationship.destination]
    return relationship.isToMany ? .members(path, destination) : .object(path, destination)
  }
}

extension String {
  fileprivate func trimmingSuffix(_ suffix: String) -> String {
    hasSuffix(suffix) ? String(dropLast(suffix.count)) : self
  }
}
