import Foundation

/// Looks up the keys of a predicate in a schema and brings its values into the attributes' types.
///
/// What one row decides becomes tests of slots; a comparison at the end of a key path becomes a test of the object there; what is
/// left becomes a comparison of two expressions.
struct PredicateResolver {
  let schema: Schema
  /// What names mean: the object of the request first, then the members that sub-queries look at.
  private(set) var scopes: [Scope]
  /// Whether an aggregate may be of one value per object, for the rows of a group.
  var allowsGroups = false
  /// Whether `ALL` may be of one value, too: it stands for an `ANY` whose comparison is negated.
  private var takesAllOfOne = false
  /// The moment that `now()` is.
  let now: Date
  /// How deep predicates may be nested: whatever walks them recurses, on stacks of half a megabyte too, as secondary threads of
  /// some systems have them.
  static let depthLimit = 100

  /// How many objects outside of it a sub-query may look at.
  static let outerObjectLimit = 4

  struct Scope {
    let variable: String?
    let entity: EntitySchema
  }

  init(entity: EntitySchema, schema: Schema, now: Date = Date()) {
    self.schema = schema
    self.now = now
    scopes = [Scope(variable: nil, entity: entity)]
  }

  /// The entity of the request.
  var entity: EntitySchema { scopes[0].entity }
  /// The entity of the objects the predicate at hand is about.
  var scopeEntity: EntitySchema { scopes[scopes.count - 1].entity }

  /// The same, inside a sub-query.
  func inside(_ variable: String, _ entity: EntitySchema) -> PredicateResolver {
    var copy = self
    copy.scopes.append(Scope(variable: variable, entity: entity))
    copy.takesAllOfOne = false
    return copy
  }

  /// - Throws: ``FetchError``; ``TextMatchError`` for a pattern that is none.
  func resolve(_ predicate: FetchPredicate, depth: Int = 0) throws -> ResolvedPredicate {
    try checkDepth(depth)
    switch predicate {
    case .everything: return .all
    case .nothing: return .none
    // Inside a sub-query it is about the objects of the request, as names without a variable are.
    case .foundation(let predicate): return try resolve(predicate.translate(entity, schema), depth: depth + 1)
    case .and(let parts): return .conjunction(try parts.map { try resolve($0, depth: depth + 1) })
    case .or(let parts): return .disjunction(try parts.map { try resolve($0, depth: depth + 1) })
    case .not(.compare(let comparison)) where comparison.quantifier == .all:
      // “ANY x NOT IN {…}” is kept as NOT (ALL x IN {…}).
      var copy = self
      copy.takesAllOfOne = true
      return try copy.resolve(comparison, depth: depth + 1).negated
    case .not(let part): return try resolve(part, depth: depth + 1).negated
    case .compare(let comparison): return try resolve(comparison, depth: depth + 1)
    }
  }

  /// Of one value, `ANY` is that value, as with Core Data's SQLite stores.
  func quantifierOfOne(_ quantifier: FetchComparison.Quantifier) -> FetchComparison.Quantifier {
    quantifier == .any || takesAllOfOne ? .direct : quantifier
  }

  func checkDepth(_ depth: Int) throws {
    if depth >= Self.depthLimit { throw fault(.tooDeep) }
  }

  private func resolve(_ comparison: FetchComparison, depth: Int) throws -> ResolvedPredicate {
    // A side that has been looked up is not looked up again: in trees of sub-queries that would double the work at every level.
    var known: (left: Typed?, right: Typed?) = (nil, nil)
    if let path = try scopePath(comparison.left),
      let operand = try operand(comparison.right, depth, &known.right)
    {
      // “name IN %@” with a text means a part of it: no test of a slot does that.
      if case .value(.string) = operand, comparison.operation == .in {
        return try compared(comparison, depth: depth, known)
      }
      try checkDepth(depth + path.steps.count)
      return try resolve(path, comparison, operand)
    }
    if comparison.quantifier == .direct, let path = try scopePath(comparison.right),
      let mirrored = mirrored(comparison, path), let operand = try operand(mirrored.right, depth, &known.left)
    {
      try checkDepth(depth + path.steps.count)
      return try resolve(path, mirrored, operand)
    }
    return try compared(comparison, depth: depth, known)
  }

  /// The comparison with its sides exchanged; nil when that cannot be.
  private func mirrored(_ comparison: FetchComparison, _ path: ResolvedPath) -> FetchComparison? {
    var result = comparison
    (result.left, result.right) = (comparison.right, comparison.left)
    switch comparison.operation {
    case .equal, .notEqual: return result
    case .less: result.operation = .greater
    case .lessOrEqual: result.operation = .greaterOrEqual
    case .greater: result.operation = .less
    case .greaterOrEqual: result.operation = .lessOrEqual
    case .in where path.isMany:
      result.operation = .equal
      result.quantifier = .any
    case .in where path.attribute?.type == .string: result.operation = .contains
    default: return nil
    }
    return result
  }
}

/// What the right side of a comparison is when it is the same for all objects.
enum ConstantOperand {
  case value(AttributeValue)
  case values([AttributeValue])
  case objects([ManagedObjectID], isList: Bool)

  /// Whether nil is it, or among them.
  var hasNull: Bool {
    switch self {
    case .value(let value): value.isNull
    case .values(let values): values.contains(where: \.isNull)
    case .objects: false
    }
  }
}

// MARK: A key path compared with a constant

extension PredicateResolver {
  /// The side as a constant; nil when it looks at objects. `known` becomes what it has been found to be, if it had to be looked up.
  private func operand(_ expression: FetchExpression, _ depth: Int, _ known: inout Typed?) throws
    -> ConstantOperand?
  {
    switch expression {
    case .constant(let value): return .value(value)
    case .objects(let identifiers): return .objects(identifiers, isList: identifiers.count != 1)
    case .list(let parts):
      if parts.isEmpty { return .values([]) }
      var identifiers: [ManagedObjectID] = []
      for case .objects(let some) in parts { identifiers += some }
      if parts.allSatisfy({ if case .objects = $0 { true } else { false } }) {
        return .objects(identifiers, isList: true)
      }
    case .evaluatedObject, .keyPath, .subquery, .entity: return nil
    case .variable, .aggregate, .function, .conditional: break
    }
    let typed = try self.expression(expression, depth: depth)
    known = typed
    // An entity is no value of an attribute.
    guard typed.expression.isConstant, typed.type.kind != .entity else { return nil }
    return switch try folded(typed.expression) {
    case .one(let value): .value(value)
    case .many(let values): .values(values)
    }
  }

  /// The value of a constant expression.
  func folded(_ expression: ResolvedExpression) throws -> EvaluatedValue {
    let binder = ExpressionBinder(schema: schema, storeIdentifier: nil, rootName: "")
    return try Evaluation(NoObjects(schema: schema), now: now, entityName: entity.name).value(
      binder.bind(expression))
  }

  private func resolve(
    _ path: ResolvedPath, _ comparison: FetchComparison, _ operand: ConstantOperand
  ) throws -> ResolvedPredicate {
    var (quantifier, operation) = (comparison.quantifier, comparison.operation)
    if path.isMany, quantifier == .direct {
      // “flights CONTAINS %@”: one of them is it.
      guard operation == .contains, path.attribute == nil else { throw path.error(.toManyKey) }
      (quantifier, operation) = (.any, .equal)
    }
    if !path.isMany {
      quantifier = quantifierOfOne(quantifier)
      if quantifier != .direct { throw fault(.notMany("\(comparison)")) }
    }
    // “$flight CONTAINS %@” of one object, as sub-queries have it: that it is this one.
    if operation == .contains, path.attribute == nil, case .objects(_, isList: false) = operand {
      operation = .equal
    }
    guard let attribute = path.attribute else {
      return try resolveObjects(path, quantifier, operation, comparison, operand)
    }
    let leaf = try LeafResolver(entity: path.entity, attribute: attribute, options: comparison.options)
      .resolve(operation, operand)
    return wrap(leaf, path.steps, quantifier, isTrueForNil: Self.isTrueForNil(operation, operand))
  }

  /// What a comparison says of nil.
  private static func isTrueForNil(_ operation: ComparisonOperator, _ operand: ConstantOperand) -> Bool {
    switch operation {
    case .equal, .in: operand.hasNull
    case .notEqual: !operand.hasNull
    default: false
    }
  }

  /// A test of the object at the end of a path as one of the object it begins at.
  private func wrap(
    _ leaf: ResolvedPredicate, _ steps: [RelationshipSchema], _ quantifier: FetchComparison.Quantifier,
    isTrueForNil: Bool
  ) -> ResolvedPredicate {
    var (predicate, isTrueForNil) = (leaf, isTrueForNil)
    for step in steps.reversed() {
      if step.isToMany, quantifier == .all { isTrueForNil = true }
      if step.isToMany, quantifier != .all { isTrueForNil = false }
      predicate =
        isTrueForNil ? .exists(step, predicate.negated).negated : .exists(step, predicate)
    }
    return predicate
  }

  private func resolveObjects(
    _ path: ResolvedPath, _ quantifier: FetchComparison.Quantifier, _ operation: ComparisonOperator,
    _ comparison: FetchComparison, _ operand: ConstantOperand
  ) throws -> ResolvedPredicate {
    let identifiers: [ManagedObjectID]
    switch (operation, operand) {
    case (.equal, .value(.null)), (.notEqual, .value(.null)): identifiers = []
    case (.equal, .objects(let some, isList: false)), (.notEqual, .objects(let some, isList: false)):
      identifiers = some
    case (.in, .objects(let some, _)): identifiers = some
    case (.in, .values(let values)) where values.isEmpty: identifiers = []
    default:
      throw path.steps.isEmpty ? fault(.unsupported("\(comparison)")) : path.error(.relationshipKey)
    }
    let isNil = operand.hasNull
    var leaf: ResolvedPredicate
    var steps = path.steps
    if let last = steps.last, !last.isToMany {
      steps.removeLast()
      leaf =
        isNil
        ? .test(SlotTest(slot: last.slot, name: last.name, type: .objectID, operation: .isNil, operands: []))
        : identifiers.isEmpty
          ? .none
          : .reference(
            ReferenceTest(
              slot: last.slot, name: last.name,
              rootName: schema.hierarchies[last.destinationHierarchy].rootName,
              identifiers: identifiers))
    } else {
      leaf = identifiers.isEmpty ? .none : .selfIn(identifiers)
    }
    if operation == .notEqual { leaf = leaf.negated }
    return wrap(leaf, steps, quantifier, isTrueForNil: Self.isTrueForNil(operation, operand))
  }

  /// An error about the request's entity.
  func fault(_ reason: FetchError.Reason, key: String? = nil) -> FetchError {
    FetchError(reason: reason, entityName: entity.name, key: key)
  }
}

extension ResolvedPredicate {
  /// True when the object at the other end of `relationship`, or one of its members, satisfies `part`.
  static func exists(_ relationship: RelationshipSchema, _ part: ResolvedPredicate) -> ResolvedPredicate {
    if part == .none { return .none }
    if part == .all, !relationship.isToMany {
      return ResolvedPredicate.test(
        SlotTest(
          slot: relationship.slot, name: relationship.name, type: .objectID, operation: .isNil, operands: [])
      ).negated
    }
    return .related(relationship: relationship.number, name: relationship.name, part)
  }
}
