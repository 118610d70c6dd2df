import StrataCore

/// Makes predicates and expressions of the tree that the reader of format strings gives.
///
/// Collections, which are constants as arguments and lists in braces only, arguments that no store understands, and managed objects and entities, which a
/// store knows by their identifiers and names only, pass the reader as variables of names that cannot be written in source, and come out of it as they
/// went in.
struct OpaqueArguments {
  private var values: [String: Any] = [:]

  /// The arguments as the reader takes them.
  mutating func readable(_ arguments: [Any?]) -> [Any?] {
    arguments.map { argument in
      guard let value = plain(argument) else { return nil }
      if let expression = value as? NSExpression, let tree = try? FetchLowering().expression(expression) {
        return tree
      }
      let isScalar =
        !(value is ManagedObject) && !(value is EntityDescription) && KeyedAccess.elements(value) == nil
      if isScalar, (try? FetchExpression(argument: value)) != nil { return value }
      let name = "\u{1}\(values.count)"
      values[name] = value
      return FetchExpression.variable(name)
    }
  }

  // MARK: Predicates

  func predicate(_ tree: FetchPredicate) -> NSPredicate {
    switch tree {
    case .everything: ReadConstantPredicate(value: true)
    case .nothing: ReadConstantPredicate(value: false)
    case .foundation(let predicate):
      preconditionFailure(
        "\(predicate) in a fetch request template has no NSPredicate; make it with FetchPredicate(_:model:).")
    case .and(let parts): ReadCompoundPredicate(type: .and, subpredicates: parts.map(predicate))
    case .or(let parts): ReadCompoundPredicate(type: .or, subpredicates: parts.map(predicate))
    case .not(let part): ReadCompoundPredicate(type: .not, subpredicates: [predicate(part)])
    case .compare(let comparison):
      NSComparisonPredicate(
        leftExpression: expression(comparison.left), rightExpression: expression(comparison.right),
        modifier: NSComparisonPredicate.Modifier(comparison.quantifier),
        type: NSComparisonPredicate.Operator(comparison.operation),
        options: NSComparisonPredicate.Options(rawValue: UInt(comparison.options.rawValue)))
    }
  }

  // MARK: Expressions

  func expression(_ tree: FetchExpression) -> NSExpression {
    if case .variable(let name) = tree, let expression = values[name] as? NSExpression { return expression }
    return NSExpression(kind(of: tree))
  }

  func kind(of tree: FetchExpression) -> NSExpression.Kind {
    switch tree {
    case .constant(let value): return .constant(value.spelledValue)
    case .list(let parts): return .aggregate(parts.map(expression))
    case .objects(let identifiers): return .constant(identifiers.count == 1 ? identifiers[0] : identifiers)
    case .entity(let name):
      return .constant(LivingCoordinators.entity(named: name) ?? EntityDescription(name))
    case .evaluatedObject: return .evaluatedObject
    case .variable(let name): return values[name].map { .constant($0) } ?? .variable(name)
    case .keyPath(let base, let keys): return keyPath(base, keys)
    case .aggregate(.count, .keyPath(let base, let keys)): return keyPath(base, keys + ["@count"])
    case .aggregate(.count, let members):
      if case .subquery = members { return .keyPath(expression(members), "@count") }
      return .function(nil, FetchAggregate.count.selector, [expression(members)])
    case .aggregate(let aggregate, let part): return .function(nil, aggregate.selector, [expression(part)])
    case .subquery(let members, let variable, let predicate):
      return .subquery(expression(members), variable, self.predicate(predicate))
    case .function(let function, let arguments):
      return .function(nil, function.selector, arguments.map(expression))
    case .conditional(let predicate, let first, let second):
      return .conditional(self.predicate(predicate), expression(first), expression(second))
    }
  }

  private func keyPath(_ base: FetchExpression, _ keys: [String]) -> NSExpression.Kind {
    let path = keys.joined(separator: ".")
    if base == .evaluatedObject { return .keyPath(nil, path) }
    guard let (call, rest) = MemoryCall.read(base, keys) else { return .keyPath(expression(base), path) }
    let called = kind(of: call)
    return rest.isEmpty ? called : .keyPath(NSExpression(called), rest.joined(separator: "."))
  }

  private func kind(of call: MemoryCall) -> NSExpression.Kind {
    let arguments = call.arguments.map(expression)
    switch call.kind {
    case .function: return .function(nil, call.name, arguments)
    case .method: return .function(arguments[0], call.name, Array(arguments.dropFirst()))
    case .fetch:
      // The reader takes a Boolean only.
      return .fetch(arguments[0], arguments[1], call.arguments[2] == .constant(.boolean(true)))
    }
  }
}

extension AttributeValue {
  /// The value as source code of an application has it: whole numbers are `Int`.
  var spelledValue: Any? {
    if case .integer(let number) = self { return Int(number) }
    return anyValue
  }
}

extension NSComparisonPredicate.Modifier {
  init(_ quantifier: FetchComparison.Quantifier) {
    switch quantifier {
    case .direct: self = .direct
    case .any: self = .any
    case .all: self = .all
    }
  }

  var quantifier: FetchComparison.Quantifier {
    switch self {
    case .direct: .direct
    case .any: .any
    case .all: .all
    }
  }
}

extension NSComparisonPredicate.Options {
  var stringOptions: FetchComparison.StringOptions {
    FetchComparison.StringOptions(rawValue: UInt8(truncatingIfNeeded: rawValue & 7))
  }
}

extension NSComparisonPredicate.Operator {
  init(_ operation: ComparisonOperator) {
    switch operation {
    case .equal: self = .equalTo
    case .notEqual: self = .notEqualTo
    case .less: self = .lessThan
    case .lessOrEqual: self = .lessThanOrEqualTo
    case .greater: self = .greaterThan
    case .greaterOrEqual: self = .greaterThanOrEqualTo
    case .beginsWith: self = .beginsWith
    case .contains: self = .contains
    case .endsWith: self = .endsWith
    case .like: self = .like
    case .matches: self = .matches
    case .in: self = .in
    case .between: self = .between
    }
  }

  /// Nil for a selector.
  var comparison: ComparisonOperator? {
    switch self {
    case .equalTo: .equal
    case .notEqualTo: .notEqual
    case .lessThan: .less
    case .lessThanOrEqualTo: .lessOrEqual
    case .greaterThan: .greater
    case .greaterThanOrEqualTo: .greaterOrEqual
    case .beginsWith: .beginsWith
    case .contains: .contains
    case .endsWith: .endsWith
    case .like: .like
    case .matches: .matches
    case .in: .in
    case .between: .between
    case .customSelector: nil
    }
  }
}
