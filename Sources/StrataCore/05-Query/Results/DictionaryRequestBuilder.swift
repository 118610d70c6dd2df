import Foundation

/// Looks up the columns of a request for rows of values.
struct DictionaryRequestBuilder {
  private typealias Output = ResolvedDictionaryRequest.Output

  private let groupBy: [FetchColumn]
  private let wanted: [FetchColumn]
  private let havingPredicate: FetchPredicate?
  private let sortDescriptors: [FetchSort]
  private let entity: EntitySchema
  private let schema: Schema
  private let resolver: PredicateResolver

  private(set) var names: [String] = []
  private(set) var transformers: [(any AttributeTransformer)?] = []
  private(set) var types: [AttributeType] = []
  private(set) var outputs: [ResolvedDictionaryRequest.Output] = []
  private(set) var sources: [ResolvedDictionaryRequest.Source] = []
  private(set) var keys: [Int] = []
  /// The sources of which a group has the value of one of its rows.
  private(set) var samples: [Int] = []
  private(set) var aggregates: [ResolvedDictionaryRequest.Aggregate] = []
  private(set) var isGrouped = false
  private(set) var having: FetchPredicate?
  let isDistinct: Bool

  private var sourceNumbers: [FetchExpression: Int] = [:]
  private var aggregateNumbers: [FetchExpression: Int] = [:]
  /// What the rows are grouped by, as expressions; the index is the key's number.
  private var keyExpressions: [FetchExpression] = []

  init<R>(_ request: FetchRequest<R>, entity: EntitySchema, schema: Schema, now: Date) {
    groupBy = request.propertiesToGroupBy
    wanted =
      request.propertiesToFetch.isEmpty
      ? Self.allAttributes(of: entity) : Self.withoutRepeats(request.propertiesToFetch)
    havingPredicate = request.havingPredicate
    sortDescriptors = request.sortDescriptors.map { $0.byAttribute(entity, schema) }
    isDistinct = request.returnsDistinctResults && !request.propertiesToFetch.isEmpty
    self.entity = entity
    self.schema = schema
    resolver = PredicateResolver(entity: entity, schema: schema, now: now)
  }

  /// The same column twice is one: a row has one value for each name.
  private static func withoutRepeats(_ columns: [FetchColumn]) -> [FetchColumn] {
    var seen: Set<FetchColumn> = []
    return columns.filter { seen.insert($0).inserted }
  }

  /// Every attribute and no relationship (rule 95); of composite attributes the elements.
  private static func allAttributes(of entity: EntitySchema) -> [FetchColumn] {
    entity.attributes.compactMap { attribute in
      attribute.relationship != nil || attribute.isTransient || attribute.slot == entity.baselineSlot
        ? nil : .property(attribute.name)
    }
  }

  mutating func resolve() throws {
    let expressions = try wanted.map { try expression(of: $0) }
    isGrouped =
      try !groupBy.isEmpty || havingPredicate != nil || expressions.contains { try hasAggregate($0) }
    for column in groupBy {
      let expression = try expression(of: column)
      if try hasAggregate(expression) {
        throw fault(.ungroupedColumn("an aggregate to group by"), column.name)
      }
      keys.append(try source(expression, column.name))
      keyExpressions.append(expression)
    }
    for (column, expression) in zip(wanted, expressions) {
      guard !names.contains(column.name) else { throw fault(.twoColumns, column.name) }
      var type = AttributeType.undefined
      if case .expression(let description) = column { type = description.expressionResultType }
      outputs.append(
        isGrouped
          ? try groupedOutput(expression, column.name) : .source(try source(expression, column.name)))
      names.append(column.name)
      types.append(type)
      transformers.append(transformer(of: column))
    }
    having = try havingPredicate.map { predicate in
      try predicate.rewritten { part, bound in try self.resolvedInHaving(part, bound) }
    }
  }

  // MARK: Columns

  private func fault(_ reason: FetchError.Reason, _ key: String?) -> FetchError {
    FetchError(reason: reason, entityName: entity.name, key: key)
  }

  /// The column as an expression. A to-many relationship is none (rule 96).
  private func expression(of column: FetchColumn) throws -> FetchExpression {
    switch column {
    case .expression(let description): return description.expression
    case .property(let name):
      let keys = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
      // An operator is no name of a property: what stands before it says whether it belongs into an expression.
      let place = keys.firstIndex { $0.hasPrefix("@") } ?? keys.endIndex
      if place > 0, try ResolvedPath(Array(keys[..<place]), from: entity, schema: schema).isMany {
        throw fault(.toManyColumn, name)
      }
      if place < keys.endIndex { _ = try ResolvedPath(keys, from: entity, schema: schema) }
      return .key(name)
    }
  }

  private func transformer(of column: FetchColumn) -> (any AttributeTransformer)? {
    guard case .property(let name) = column, let slot = entity.slot(named: name),
      entity.attributes[slot].type == .transformable,
      let attribute = entity.entityDescription.slotDescriptions[slot].property as? AttributeDescription
    else { return nil }
    return attribute.transformer
  }

  /// The number of what is computed for every row.
  /// - Parameter allowsMany: Whether there may be several values for each row, as an aggregate takes them.
  private mutating func source(
    _ expression: FetchExpression, _ name: String, allowsMany: Bool = false
  ) throws -> Int {
    if let known = sourceNumbers[expression] {
      if sources[known].type.isMany, !allowsMany { throw fault(.toManyColumn, name) }
      return known
    }
    let found: ResolvedDictionaryRequest.Source
    if let slot = plainSlot(expression) {
      let attribute = entity.attributes[slot]
      let type =
        entity.relationship(slot: slot).map { ResolvedType(kind: .object(entity: $0.destination)) }
        ?? .value(attribute.type)
      found = ResolvedDictionaryRequest.Source(
        expression: .path(.object(up: 0), steps: [], slot: slot), type: type, slot: slot)
    } else {
      let (resolved, type) = try resolver.expression(expression)
      if type.isMany, !allowsMany { throw fault(.toManyColumn, name) }
      found = ResolvedDictionaryRequest.Source(expression: resolved, type: type, slot: nil)
    }
    sources.append(found)
    sourceNumbers[expression] = sources.count - 1
    return sources.count - 1
  }

  /// The slot of an attribute or a to-one relationship of the rows themselves. Of transformable attributes too: their bytes are
  /// fetched, if not compared.
  private func plainSlot(_ expression: FetchExpression) -> Int? {
    guard case .keyPath(.evaluatedObject, let keys) = expression,
      let slot = entity.slot(named: keys.joined(separator: ".")), !entity.attributes[slot].isTransient,
      entity.attributes[slot].type != .composite
    else { return nil }
    return slot
  }

  // MARK: Groups

  /// The aggregate of the rows that an expression is; nil when it is none. One of the members of a to-many relationship is a value
  /// of each row.
  private func aggregate(_ expression: FetchExpression) throws -> (FetchAggregate, FetchExpression)? {
    guard let (function, values) = expression.aggregated, try !isMany(values.withoutDistinct.values) else {
      return nil
    }
    return (function, values)
  }

  /// The aggregate of the rows of a group, or of the members that all of these rows have together, that an expression is; nil when it is none.
  private func groupAggregate(_ expression: FetchExpression) throws -> (FetchAggregate, FetchExpression)? {
    guard let (function, values) = expression.aggregated else { return nil }
    let plain = values.withoutDistinct.values
    if try isMany(plain), !Self.areMembers(plain) { return nil }
    return (function, values)
  }

  /// Whether many values are those of members that each row has: not a list, nor anything of objects that are named.
  private static func areMembers(_ values: FetchExpression) -> Bool {
    switch values {
    case .keyPath(let base, _): base == .evaluatedObject || areMembers(base)
    case .subquery(let members, _, _): areMembers(members)
    default: false
    }
  }

  private func isMany(_ expression: FetchExpression) throws -> Bool {
    if plainSlot(expression) != nil || expression == .evaluatedObject { return false }
    // An alias is the name of one value.
    if case .keyPath(.evaluatedObject, let keys) = expression, keys.count == 1, alias(keys[0]) != nil {
      return false
    }
    return try resolver.expression(expression).type.isMany
  }

  private func hasAggregate(_ expression: FetchExpression) throws -> Bool {
    var hasAggregate = false
    _ = try expression.rewritten { part, bound in
      if bound.isEmpty, try aggregate(part) != nil {
        hasAggregate = true
        return part
      }
      // What is of members is a value of each row.
      if case .subquery = part { return part }
      return nil
    }
    return hasAggregate
  }

  private mutating func number(
    ofAggregate function: FetchAggregate, _ values: FetchExpression, _ whole: FetchExpression
  ) throws -> Int {
    let key = FetchExpression.aggregate(function, values)
    if let known = aggregateNumbers[key] { return known }
    let words = "\(whole)"
    let (plain, isDistinct) = values.withoutDistinct
    var number: Int?
    var zero = AttributeValue.integer(0)
    // Each row is an object of its own.
    if plain != .evaluatedObject || function != .count {
      let source = try source(plain, words, allowsMany: true)
      let type = sources[source].type
      let isNumeric = function == .sum || function == .average
      if case .value(let kind) = type.kind {
        if isNumeric, !kind.isSummable {
          throw fault(.wrongAggregate(words, found: "\(kind)"), nil)
        }
        if function != .count, kind == .transformable {
          throw fault(.wrongAggregate(words, found: "\(kind)"), nil)
        }
        if function == .sum {
          zero = kind == .decimal ? .decimal(0) : kind == .double || kind == .float ? .double(0) : .integer(0)
        }
      } else if type.isObject || type.kind == .entity, function != .count {
        throw fault(.wrongAggregate(words, found: ResolvedType(kind: type.kind).words(schema)), nil)
      }
      number = source
    }
    aggregates.append(
      ResolvedDictionaryRequest.Aggregate(
        function: function, source: number, isDistinct: isDistinct && number != nil && function.mindsRepeats,
        zero: zero, words: words))
    aggregateNumbers[key] = aggregates.count - 1
    return aggregates.count - 1
  }

  /// A column of a grouped request: a key, an aggregate, computed from those, or computed from the values of one row of the group (rule 98).
  private mutating func groupedOutput(
    _ expression: FetchExpression, _ name: String
  ) throws -> ResolvedDictionaryRequest.Output {
    if let key = keyExpressions.firstIndex(of: expression) { return .key(key) }
    if let (function, values) = try groupAggregate(expression) {
      return .aggregate(try number(ofAggregate: function, values, expression))
    }
    if try isComputedFromRows(expression) {
      let source = try source(expression, name)
      let place = samples.firstIndex(of: source) ?? samples.count
      if place == samples.count { samples.append(source) }
      return .key(keys.count + place)
    }
    return .computed(
      try expression.rewritten { part, bound in
        if let known = try self.variable(part, bound) { return known }
        if case .keyPath = part { throw self.fault(.ungroupedColumn("\(expression)"), name) }
        if part == .evaluatedObject { throw self.fault(.ungroupedColumn("\(expression)"), name) }
        return nil
      })
  }

  /// Whether a column is computed from values of the rows that are not grouped by, and from no aggregate. A key path alone is none: what it
  /// names has to be grouped by.
  private func isComputedFromRows(_ expression: FetchExpression) throws -> Bool {
    switch expression {
    case .keyPath, .evaluatedObject: return false
    default: break
    }
    var readsRows = false
    var readsGroups = false
    _ = try expression.rewritten { part, bound in
      if keyExpressions.contains(part) { return part }
      if bound.isEmpty, try groupAggregate(part) != nil {
        readsGroups = true
        return part
      }
      switch part {
      case .keyPath, .evaluatedObject:
        readsRows = true
        return part
      default: return nil
      }
    }
    return readsRows && !readsGroups
  }

  /// The variable that stands for a part of a computed column: of what is grouped by, or of an aggregate.
  private mutating func variable(_ part: FetchExpression, _ bound: Set<String>) throws -> FetchExpression? {
    if let key = keyExpressions.firstIndex(of: part) {
      return .variable(ResolvedDictionaryRequest.variable(.key(key)))
    }
    if bound.isEmpty, let (function, values) = try groupAggregate(part) {
      let number = try number(ofAggregate: function, values, part)
      return .variable(ResolvedDictionaryRequest.variable(.aggregate(number)))
    }
    return nil
  }

  /// The column called `name`.
  private func alias(_ name: String) -> ResolvedDictionaryRequest.Output? {
    names.firstIndex(of: name).map { outputs[$0] }
  }

  private static func expression(of output: ResolvedDictionaryRequest.Output) -> FetchExpression {
    if case .computed(let expression) = output { return expression }
    return .variable(ResolvedDictionaryRequest.variable(output))
  }

  /// A part of the having predicate: a column by its name, by its expression, or as a variable (rule 99).
  private mutating func resolvedInHaving(_ part: FetchExpression, _ bound: Set<String>) throws
    -> FetchExpression?
  {
    switch part {
    case .variable(let name) where !bound.contains(name):
      guard let output = alias(name) else { throw fault(.unboundVariable(name), nil) }
      return Self.expression(of: output)
    case .keyPath(.evaluatedObject, let keys):
      if let known = try variable(part, bound) { return known }
      if let output = alias(keys.joined(separator: ".")) { return Self.expression(of: output) }
      throw fault(.ungroupedColumn("in havingPredicate"), keys.joined(separator: "."))
    case .evaluatedObject: throw fault(.ungroupedColumn("SELF in havingPredicate"), nil)
    default: return try variable(part, bound)
    }
  }

  // MARK: Order

  /// Whether a sort key is the name of a computed column, so that rows are sorted when they have been computed.
  var sortsByAlias: Bool {
    sortDescriptors.contains { sort in
      guard let place = names.firstIndex(of: sort.key) else { return false }
      if case .expression = wanted[place] { return true }
      return false
    }
  }

  /// The sort keys as what they compare: columns, what is grouped by, and, without groups, any value of the rows.
  mutating func resolveSorts() throws -> [ResolvedDictionaryRequest.Sort] {
    if isGrouped, groupBy.isEmpty {
      // One row has no order: the keys must be names of something, and say nothing else.
      for sort in sortDescriptors where alias(sort.key) == nil { _ = try expression(of: .property(sort.key)) }
      return []
    }
    return try sortDescriptors.map { sort in
      let output: ResolvedDictionaryRequest.Output
      if let alias = alias(sort.key) {
        output = alias
      } else if isGrouped {
        let expression = FetchExpression.key(sort.key)
        guard
          let key = keyExpressions.firstIndex(of: expression)
            ?? groupBy.firstIndex(where: { $0.name == sort.key })
        else { throw fault(.ungroupedColumn("a sort key"), sort.key) }
        output = .key(key)
      } else {
        output = .source(try source(expression(of: .property(sort.key)), sort.key))
      }
      return ResolvedDictionaryRequest.Sort(
        output: output, isAscending: sort.ascending, comparator: sort.comparator)
    }
  }
}
