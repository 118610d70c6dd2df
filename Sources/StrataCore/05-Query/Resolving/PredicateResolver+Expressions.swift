import Foundation

// Expressions: names to slots, kinds checked.

extension PredicateResolver {
  /// An expression and what is known of its values.
  typealias Typed = (expression: ResolvedExpression, type: ResolvedType)

  /// Looks up the names of an expression.
  ///
  /// - Throws: ``FetchError``; ``TextMatchError`` for a pattern that is none.
  func expression(_ expression: FetchExpression, depth: Int = 0) throws -> Typed {
    try checkDepth(depth)
    switch expression {
    case .constant(let value): return (.constant(value), ResolvedType(of: value))
    case .list(let parts): return try list(parts, depth)
    case .objects(let identifiers):
      let isList = identifiers.count != 1
      return (
        .objects(identifiers, rootName: nil, isList: isList), ResolvedType(kind: .anyObject, isMany: isList)
      )
    case .entity(let name):
      if schema.entity(named: name) == nil {
        throw fault(.unsupported("the entity “\(name)”, which is not in the model"))
      }
      return (.constant(.string(name)), ResolvedType(kind: .entity))
    case .evaluatedObject:
      return (.object(up: scopes.count - 1), ResolvedType(kind: .object(entity: entity.number)))
    case .variable(let name): return try self.variable(name)
    case .keyPath(let base, let keys): return try keyPath(base, keys, depth)
    case .aggregate(let aggregate, let base): return try self.aggregate(aggregate, base, depth)
    case .subquery(let base, let variable, let predicate):
      return try subquery(base, variable, predicate, depth)
    case .function(let function, let arguments): return try self.function(function, arguments, depth)
    case .conditional(let predicate, let first, let second):
      return try conditional(predicate, first, second, depth)
    }
  }

  // Each kind in a function of its own: what recurses needs little stack so.

  private func list(_ parts: [FetchExpression], _ depth: Int) throws -> Typed {
    let parts = try parts.map { try self.expression($0, depth: depth + 1) }
    if let named = Self.named(parts.map(\.expression)) {
      return (.objects(named, rootName: nil, isList: true), ResolvedType(kind: .anyObject, isMany: true))
    }
    if let inner = parts.first(where: { $0.type.isMany }) {
      throw fault(.wrongArgument(function: "A list", found: inner.type.words(schema)))
    }
    if parts.contains(where: \.type.isObject) {
      // What is named beside others is compared as one of them.
      let (expressions, type) = try objects(parts, of: "A list")
      return (.list(expressions), ResolvedType(kind: type.kind, isMany: true))
    }
    let kind = parts.map(\.type.kind).first { $0 != .unknown } ?? .unknown
    return (.list(parts.map(\.expression)), ResolvedType(kind: kind, isMany: true))
  }

  /// The objects that are named one by one; nil when there is anything else, or nothing.
  private static func named(_ parts: [ResolvedExpression]) -> [ManagedObjectID]? {
    var identifiers: [ManagedObjectID] = []
    for part in parts {
      guard case .objects(let one, nil, isList: false) = part else { return nil }
      identifiers += one
    }
    return identifiers.isEmpty ? nil : identifiers
  }

  private func variable(_ name: String) throws -> Typed {
    guard let place = scopes.lastIndex(where: { $0.variable == name }) else {
      throw fault(.unboundVariable(name))
    }
    return (
      .object(up: scopes.count - 1 - place),
      ResolvedType(kind: .object(entity: scopes[place].entity.number))
    )
  }

  private func subquery(
    _ base: FetchExpression, _ variable: String, _ predicate: FetchPredicate, _ depth: Int
  ) throws -> Typed {
    let members = try self.expression(base, depth: depth + 1)
    guard members.type.isMany, case .object(let number) = members.type.kind else {
      throw fault(.notMany("SUBQUERY(\(base), …)"))
    }
    let condition = try inside(variable, schema.entities[number]).resolve(predicate, depth: depth + 1)
    // What a sub-query finds is remembered for each combination of the objects that it looks at.
    guard condition.scopes.count(where: { $0 > 0 }) <= Self.outerObjectLimit else {
      throw fault(
        .unsupported(
          "SUBQUERY(\(base), $\(variable), …) looks at more than \(Self.outerObjectLimit) objects outside of it"
        ))
    }
    return (.filtered(members.expression, entity: number, condition), members.type)
  }

  private func conditional(
    _ predicate: FetchPredicate, _ first: FetchExpression, _ second: FetchExpression, _ depth: Int
  ) throws -> Typed {
    let condition = try resolve(predicate, depth: depth + 1)
    let (first, second) = (
      try self.expression(first, depth: depth + 1), try self.expression(second, depth: depth + 1)
    )
    for many in [first, second] where many.type.isMany {
      throw fault(.wrongArgument(function: "TERNARY", found: many.type.words(schema)))
    }
    if first.type.isObject || second.type.isObject {
      let (expressions, type) = try objects([first, second], of: "TERNARY")
      return (.conditional(condition, expressions[0], expressions[1]), type)
    }
    return (
      .conditional(condition, first.expression, second.expression),
      first.type.kind == .unknown ? second.type : first.type
    )
  }

  /// The path when it begins at the object the predicate at hand is about; nil for everything else.
  func scopePath(_ expression: FetchExpression) throws -> ResolvedPath? {
    var (base, keys) = (expression, [String]())
    while case .keyPath(let inner, let more) = base {
      keys = more + keys
      base = inner
    }
    if keys.contains(where: { $0.hasPrefix("@") }) { return nil }
    switch base {
    case .evaluatedObject where scopes.count == 1: break
    case .variable(let name) where scopes[scopes.count - 1].variable == name: break
    default: return nil
    }
    if valueKey(keys, scopeEntity) != nil || entityKeys(keys, scopeEntity) != nil { return nil }
    return try ResolvedPath(keys, from: scopeEntity, schema: schema)
  }

  /// What the last key of a path makes of the value of an attribute before it, `name.length`, `number.stringValue`; nil for other paths.
  private func valueKey(
    _ keys: [String], _ entity: EntitySchema, base: FetchExpression = .evaluatedObject
  ) -> FetchExpression? {
    guard keys.count > 1, let key = keys.last, ValueKeys.contains(key),
      let type = (try? ResolvedPath(keys.dropLast(), from: entity, schema: schema))?.attribute?.type
    else { return nil }
    return ValueKeys.expression(key, of: .keyPath(base: base, keys: Array(keys.dropLast())), type)
  }

  /// What comes before `entity` or `entity.name` at the end of a key path, where no property has that name; nil for other paths.
  private func entityKeys(_ keys: [String], _ start: EntitySchema) -> (owner: [String], isName: Bool)? {
    let isName = keys.last == "name"
    let owner = Array(keys.dropLast(isName ? 2 : 1))
    guard keys.count > owner.count, keys[owner.count] == "entity",
      let path = try? ResolvedPath(owner, from: start, schema: schema), path.attribute == nil,
      path.entity.slot(named: "entity") == nil
    else { return nil }
    return (owner, isName)
  }

  private func keyPath(_ base: FetchExpression, _ keys: [String], _ depth: Int) throws -> Typed {
    if let place = keys.firstIndex(where: { $0.hasPrefix("@") }) {
      return try operatorPath(base, keys, place, depth)
    }
    let start = try expression(base, depth: depth + 1)
    let entity: EntitySchema
    switch (start.type.kind, start.expression) {
    case (.object(let number), _): entity = schema.entities[number]
    case (.anyObject, .objects(let identifiers, _, _)):
      guard let first = identifiers.first, let found = schema.entity(named: first.entityName) else {
        throw fault(.unsupported("\(FetchExpression.keyPath(base: base, keys: keys))"))
      }
      entity = common(found, start.expression)
    default:
      throw fault(.notARelationship, key: "\(base)")
    }
    if let value = valueKey(keys, entity, base: base) { return try expression(value, depth: depth) }
    if let (owner, isName) = entityKeys(keys, entity) {
      let rootName = schema.hierarchies[entity.hierarchyNumber].rootName
      let object: Typed =
        owner.isEmpty ? (start.expression.rooted(rootName), start.type) : try keyPath(base, owner, depth)
      let type = ResolvedType(kind: isName ? .value(.string) : .entity, isMany: object.type.isMany)
      return (.entityName(object.expression), type)
    }
    let path = try ResolvedPath(keys, from: entity, schema: schema)
    try checkDepth(depth + path.steps.count)
    var type = ResolvedType(kind: .object(entity: path.entity.number))
    if let attribute = path.attribute {
      if attribute.type == .transformable { throw path.error(.transformableKey) }
      if attribute.type == .composite { throw path.error(.compositeKey) }
      type = .value(attribute.type)
    }
    type.isMany = start.type.isMany || path.isMany
    if path.steps.isEmpty, path.attribute == nil { return (start.expression, type) }
    return (
      Self.path(
        start.expression.rooted(schema.hierarchies[entity.hierarchyNumber].rootName),
        path.steps.map(\.number), path.attribute?.slot), type
    )
  }

  /// Two paths, one behind the other, are one.
  private static func path(_ base: ResolvedExpression, _ steps: [Int], _ slot: Int?) -> ResolvedExpression {
    if case .path(let start, let first, nil) = base { return .path(start, steps: first + steps, slot: slot) }
    return .path(base, steps: steps, slot: slot)
  }

  /// One object that is named, as the list of it that it is where there must be a list.
  static func manyIfNamed(_ side: Typed) -> Typed {
    guard case .objects(let identifiers, let rootName, isList: false) = side.expression else { return side }
    return (
      .objects(identifiers, rootName: rootName, isList: true),
      ResolvedType(kind: side.type.kind, isMany: true)
    )
  }

  /// `flights.@avg.delay` and `flights.delay.@avg`.
  private func operatorPath(_ base: FetchExpression, _ keys: [String], _ place: Int, _ depth: Int) throws
    -> Typed
  {
    let names: [String: FetchAggregate] = [
      "@count": .count, "@sum": .sum, "@avg": .average, "@min": .minimum, "@max": .maximum,
    ]
    guard let aggregate = names[keys[place]] else { throw fault(.unknownKey, key: keys[place]) }
    let path = Array(keys[..<place] + keys[(place + 1)...])
    return try self.aggregate(aggregate, path.isEmpty ? base : .keyPath(base: base, keys: path), depth)
  }

  private func aggregate(_ aggregate: FetchAggregate, _ base: FetchExpression, _ depth: Int) throws -> Typed {
    let (plain, isDistinct) = base.withoutDistinct
    let values = Self.manyIfNamed(try expression(plain, depth: depth + 1))
    let words = "\(FetchExpression.aggregate(aggregate, base))"
    if !values.type.isMany, !allowsGroups { throw fault(.notMany(words)) }
    let operand =
      isDistinct && aggregate.mindsRepeats
      ? ResolvedExpression.function(.distinct, [values.expression]) : values.expression
    if aggregate == .count { return (.aggregate(.count, operand, zero: .integer(0)), .value(.integer64)) }
    let isNumeric = aggregate == .sum || aggregate == .average
    if values.type.isObject || values.type.kind == .entity
      || isNumeric && values.type.kind != .unknown && !values.type.isSummable
    {
      var one = values.type
      one.isMany = false
      throw fault(.wrongArgument(function: "@\(aggregate.rawValue)", found: one.words(schema)))
    }
    var type = ResolvedType(kind: values.type.kind)
    if aggregate == .average, type.kind != .value(.decimal) { type = .value(.double) }
    var zero = AttributeValue.integer(0)
    if aggregate == .sum, case .value(let kind) = type.kind {
      switch kind {
      case .decimal: zero = .decimal(0)
      case .double, .float:
        zero = .double(0)
        type = .value(.double)
      default: type = .value(.integer64)
      }
    }
    return (.aggregate(aggregate, operand, zero: zero), type)
  }
}

// MARK: Functions

extension PredicateResolver {
  private func function(_ function: FetchFunction, _ arguments: [FetchExpression], _ depth: Int) throws
    -> Typed
  {
    if function == .cast { return try cast(arguments, depth) }
    if function == .distinct {
      throw fault(
        .unsupported(
          "“distinct:” makes several values of several; it is an argument of count:, sum:, average:, min: and max: only"
        ))
    }
    var typed: [Typed] = []
    for argument in arguments { typed.append(try expression(argument, depth: depth + 1)) }
    return try called(function, typed)
  }

  /// The call, its arguments looked up: apart from what recurses, whose frames on the stack stay small so.
  private func called(_ function: FetchFunction, _ typed: [Typed]) throws -> Typed {
    if function == .now {
      guard typed.isEmpty else { throw fault(.unsupported("now() takes no arguments")) }
      return (.constant(.date(now)), .value(.date))
    }
    guard function.argumentCounts.contains(typed.count) else {
      throw fault(.unsupported("\(function.rawValue) takes another number of arguments than \(typed.count)"))
    }
    if function == .coalesce, typed.contains(where: \.type.isObject), !typed.contains(where: \.type.isMany) {
      let (expressions, type) = try objects(typed, of: "coalesce")
      return (.function(.coalesce, expressions), type)
    }
    for argument in typed
    where argument.type.isMany || argument.type.isObject || argument.type.kind == .entity
      || !function.takes(argument.type)
    {
      throw fault(.wrongArgument(function: function.rawValue, found: argument.type.words(schema)))
    }
    return (.function(function, typed.map(\.expression)), function.type(of: typed.map(\.type)))
  }

  /// Expressions of which one is taken, when all of them are objects of one hierarchy, or nil.
  private func objects(_ sides: [Typed], of function: String) throws -> ([ResolvedExpression], ResolvedType) {
    var found: EntitySchema?
    for side in sides {
      switch side.type.kind {
      case .unknown, .anyObject: continue
      case .value, .entity: throw fault(.wrongArgument(function: function, found: side.type.words(schema)))
      case .object(let number):
        let entity = schema.entities[number]
        guard let first = found else {
          found = entity
          continue
        }
        if first.hierarchyNumber != entity.hierarchyNumber {
          throw fault(
            .mismatch(expression: function, left: "object of \(first.name)", right: side.type.words(schema)))
        }
        found = common(first, entity)
      }
    }
    // Objects that are named have no type of their own: those of the hierarchy count as what they are.
    found = found.map { sides.map(\.expression).reduce($0, common) }
    guard let found else { return (sides.map(\.expression), ResolvedType(kind: .anyObject)) }
    let rootName = schema.hierarchies[found.hierarchyNumber].rootName
    return (sides.map { $0.expression.rooted(rootName) }, ResolvedType(kind: .object(entity: found.number)))
  }

  /// What both inherit from, at least.
  private func common(_ one: EntitySchema, _ other: EntitySchema) -> EntitySchema {
    if one.subtree.contains(other.number) { return one }
    if other.subtree.contains(one.number) { return other }
    return schema.entity(named: schema.hierarchies[one.hierarchyNumber].rootName) ?? one
  }

  /// The same for all objects of the hierarchy that an expression names.
  private func common(_ entity: EntitySchema, _ expression: ResolvedExpression) -> EntitySchema {
    guard case .objects(let identifiers, _, _) = expression else { return entity }
    return identifiers.reduce(entity) { entity, identifier in
      guard let other = schema.entity(named: identifier.entityName),
        other.hierarchyNumber == entity.hierarchyNumber
      else { return entity }
      return common(entity, other)
    }
  }

  private func cast(_ arguments: [FetchExpression], _ depth: Int) throws -> Typed {
    guard arguments.count == 2, case .constant(.string(let name)) = arguments[1] else {
      throw fault(.unsupported("CAST takes a value and the name of a type"))
    }
    let names: [String: AttributeType] = [
      "NSNumber": .double, "NSDate": .date, "NSString": .string, "NSDecimalNumber": .decimal, "NSUUID": .uuid,
      "NSURL": .uri, "NSData": .binaryData,
    ]
    let type = names[name] ?? AttributeType.allCases.first { "\($0)" == name }
    guard let type, SlotKind(type) != nil, type != .objectID else {
      throw fault(.unsupported("CAST to “\(name)”, which is no type of an attribute"))
    }
    let value = try expression(arguments[0], depth: depth + 1)
    if value.type.isMany || value.type.isObject || value.type.kind == .entity {
      throw fault(.wrongArgument(function: "CAST", found: value.type.words(schema)))
    }
    return (.cast(value.expression, type), .value(type))
  }
}

extension FetchFunction {
  /// How many arguments it takes.
  var argumentCounts: ClosedRange<Int> {
    switch self {
    case .add, .subtract, .multiply, .divide, .modulus, .power, .bitwiseAnd, .bitwiseOr, .bitwiseXor,
      .leftShift,
      .rightShift, .cast:
      2...2
    case .negate, .absolute, .squareRoot, .exponential, .naturalLogarithm, .logarithm, .ceiling, .floor,
      .truncate,
      .onesComplement, .lowercase, .uppercase, .canonical, .length:
      1...1
    case .distinct: 1...1
    case .concatenate, .coalesce: 1...1_000
    case .now: 0...0
    }
  }

  /// Whether an argument may be of that type.
  fileprivate func takes(_ type: ResolvedType) -> Bool {
    guard case .value(let kind) = type.kind else { return type.kind == .unknown }
    switch self {
    case .add, .subtract: return kind.isNumeric || kind == .boolean || kind == .date
    // Booleans are 0 and 1.
    case .multiply, .divide, .modulus, .power, .negate, .absolute, .squareRoot, .exponential,
      .naturalLogarithm, .logarithm, .ceiling, .floor, .truncate:
      return kind.isNumeric || kind == .boolean
    case .bitwiseAnd, .bitwiseOr, .bitwiseXor, .onesComplement, .leftShift, .rightShift: return kind.isInteger
    case .lowercase, .uppercase, .canonical, .length, .concatenate: return kind == .string
    case .coalesce, .cast: return true
    case .now, .distinct: return false
    }
  }

  fileprivate func type(of arguments: [ResolvedType]) -> ResolvedType {
    let kinds = arguments.compactMap { type -> AttributeType? in
      if case .value(let kind) = type.kind { kind } else { nil }
    }
    switch self {
    case .squareRoot, .exponential, .naturalLogarithm, .logarithm, .power: return .value(.double)
    case .lowercase, .uppercase, .canonical, .concatenate: return .value(.string)
    case .length, .bitwiseAnd, .bitwiseOr, .bitwiseXor, .onesComplement, .leftShift, .rightShift:
      return .value(.integer64)
    case .now: return .value(.date)
    case .coalesce, .cast, .distinct: return kinds.first.map { .value($0) } ?? .unknown
    case .add, .subtract, .multiply, .divide, .modulus, .negate, .absolute, .ceiling, .floor, .truncate:
      if kinds.contains(.date) { return .value(kinds.count(where: { $0 == .date }) == 2 ? .double : .date) }
      if kinds.contains(.double) || kinds.contains(.float) || kinds.contains(.boolean) {
        return .value(.double)
      }
      if kinds.contains(.decimal) { return .value(.decimal) }
      return kinds.isEmpty ? .unknown : .value(.integer64)
    }
  }
}

extension ResolvedExpression {
  /// Objects that are compared with those of a hierarchy are of that hierarchy, or not the same.
  func rooted(_ rootName: String) -> ResolvedExpression {
    if case .objects(let identifiers, nil, let isList) = self {
      return .objects(identifiers, rootName: rootName, isList: isList)
    }
    switch self {
    case .entityName(let base): return .entityName(base.rooted(rootName))
    case .list(let parts): return .list(parts.map { $0.rooted(rootName) })
    case .function(.coalesce, let parts): return .function(.coalesce, parts.map { $0.rooted(rootName) })
    case .conditional(let predicate, let first, let second):
      return .conditional(predicate, first.rooted(rootName), second.rooted(rootName))
    default: return self
    }
  }
}
