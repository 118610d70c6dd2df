import Foundation

/// Makes the rows of a dictionary result from the rows of stores, one after the other.
///
/// Holds what the result is made of: its rows, or one set of accumulators for each group; of a sorted result with a window no more
/// than about twice the window. The rows of the stores are looked at where they lie. Used by one thread.
///
/// Part of the joint to other engines, which hand it to the default of `StoreReading.collect(into:)`.
package final class DictionaryCollector {
  let request: ResolvedDictionaryRequest
  /// The store at hand.
  private(set) var storeIdentifier = UUID()
  /// What a reference of the store at hand stands for.
  private var identifier: (UInt64) -> ManagedObjectID? = { _ in nil }
  private var seen = ValueTable()
  /// What groups have had, for the aggregates that take each value once: the aggregate's place, the group's number, the value.
  private var taken = ValueTable()
  /// Counts what is looked at, for those who want to know.
  var counters: FetchCounters?

  /// A row of the result, and behind it what it is sorted by; or the keys and samples of a group.
  private var rows: ContiguousArray<[FetchedDictionary.Value]> = []
  /// Of all groups, one after the other.
  private var accumulators: ContiguousArray<AggregateAccumulator> = []
  private var skipped = 0
  /// Whether the samples of the one group of a request without keys are there.
  private var hasSamples = false
  /// The sources whose values a group begins with: its keys and samples.
  private let groupSources: [Int]
  /// What a source of the row at hand has come to.
  private var values: [FetchedDictionary.Value]
  /// The same for sources of several values, which are members of the row.
  private var members: [[AttributeValue]]
  /// Which sources these are.
  private let isMany: [Bool]

  init(_ request: ResolvedDictionaryRequest) {
    self.request = request
    values = Array(repeating: .null, count: request.sources.count)
    members = Array(repeating: [], count: request.sources.count)
    isMany = request.sources.map(\.type.isMany)
    groupSources = request.keys + request.samples
    if request.isGrouped, request.keys.isEmpty {
      addGroup(Array(repeating: .null, count: request.samples.count))
    }
  }

  /// The rows that follow are of a store whose references `identifier` understands.
  func begin(_ storeIdentifier: UUID, _ identifier: @escaping (UInt64) -> ManagedObjectID?) {
    self.storeIdentifier = storeIdentifier
    self.identifier = identifier
  }

  /// Takes in one row.
  ///
  /// - Returns: Whether more are wanted.
  func add<View: ObjectView>(
    _ node: View.Node, _ sources: BoundSources, _ evaluation: Evaluation<View>
  ) throws -> Bool {
    counters?.collected += 1
    for place in sources.sources.indices {
      if isMany[place], case .expression(let expression) = sources.sources[place] {
        members[place] = try evaluation.evaluate(expression, for: node).all
        continue
      }
      let value: AttributeValue =
        switch sources.sources[place] {
        case .slot(let slot): try evaluation.view.value(node, slot)
        case .expression(let expression): try evaluation.evaluate(expression, for: node).single
        }
      if case .reference(let bits) = value {
        values[place] = bits == 0 ? .null : identifier(bits).map { .object($0) } ?? .null
      } else {
        values[place] = .value(value)
      }
    }
    return request.isGrouped ? addToGroup() : try addRow()
  }

  // MARK: Rows

  private func addRow() throws -> Bool {
    var row: [FetchedDictionary.Value] = []
    row.reserveCapacity(request.outputs.count + request.sorts.count)
    for (place, output) in request.outputs.enumerated() {
      guard case .source(let number) = output else { continue }
      row.append(try typed(values[number], place))
    }
    if request.isDistinct {
      if !seen.number(of: row).isNew { return true }
      if request.sorts.isEmpty, skipped < request.offset {
        skipped += 1
        return true
      }
    }
    for sort in request.sorts {
      if case .source(let number) = sort.output { row.append(values[number]) }
    }
    rows.append(row)
    if request.sorts.isEmpty {
      return !request.isDistinct || request.limit == 0 || rows.count < request.limit
    }
    cutIfLong()
    return true
  }

  /// Rows that cannot get into the window any more are released.
  private func cutIfLong() {
    guard let end = request.windowEnd, end <= 1 << 20, rows.count >= end * 2 + 1024 else { return }
    sort(&rows)
    rows.removeSubrange(end...)
  }

  private func sort(_ rows: inout ContiguousArray<[FetchedDictionary.Value]>) {
    let first = request.outputs.count
    // A stable order: rows that no key tells apart stay as they came.
    let order = rows.indices.sorted { left, right in
      for (place, sort) in request.sorts.enumerated() {
        let order = FetchedDictionary.Value.compare(
          rows[left][first + place], rows[right][first + place], by: sort.comparator)
        if order != 0 { return (order < 0) == sort.isAscending }
      }
      return left < right
    }
    rows = ContiguousArray(order.map { rows[$0] })
  }

  // MARK: Groups

  private func addToGroup() -> Bool {
    var number = 0
    if !request.keys.isEmpty {
      let found = seen.number(of: request.keys.lazy.map { self.values[$0] })
      number = found.number
      if found.isNew { addGroup(groupSources.map { values[$0] }) }
    } else if !hasSamples {
      hasSamples = true
      rows[0] = groupSources.map { values[$0] }
    }
    let first = number * request.aggregates.count
    for (place, aggregate) in request.aggregates.enumerated() {
      guard let source = aggregate.source else {
        accumulators[first + place].add(count: 1)
        continue
      }
      if isMany[source] {
        for value in members[source] {
          if aggregate.isDistinct, !isNew(value, place, number) { continue }
          accumulators[first + place].add(value)
        }
        continue
      }
      if aggregate.isDistinct, !isNew(values[source], place, number) { continue }
      switch values[source] {
      case .value(let value): accumulators[first + place].add(value)
      case .object: accumulators[first + place].add(count: 1)
      }
    }
    return true
  }

  private func isNew(_ member: AttributeValue, _ place: Int, _ group: Int) -> Bool {
    guard case .reference(let bits) = member else { return isNew(.value(member), place, group) }
    return identifier(bits).map { isNew(.object($0), place, group) } ?? false
  }

  /// Whether the group has not had the value before. Nil is not counted either way.
  private func isNew(_ value: FetchedDictionary.Value, _ place: Int, _ group: Int) -> Bool {
    if case .value(.null) = value { return false }
    let key: [FetchedDictionary.Value] = [
      .value(.integer(Int64(place))), .value(.integer(Int64(group))), value,
    ]
    return taken.number(of: key).isNew
  }

  private func addGroup(_ values: [FetchedDictionary.Value]) {
    rows.append(values)
    for aggregate in request.aggregates {
      accumulators.append(AggregateAccumulator(aggregate.function, zero: aggregate.zero))
    }
  }

  /// A group's rows of the result, with what they are sorted by behind.
  private func groupRow(_ number: Int) throws -> [FetchedDictionary.Value]? {
    let first = number * request.aggregates.count
    var results: [AttributeValue] = []
    for (place, aggregate) in request.aggregates.enumerated() {
      let accumulator = accumulators[first + place]
      if accumulator.isTooLarge { throw fault(.overflow(aggregate.words), nil) }
      let value = accumulator.result
      if case .decimal(let sum) = value, sum.isNaN, aggregate.function == .sum {
        throw fault(.overflow(aggregate.words), nil)
      }
      results.append(value)
    }
    let group = GroupValues(keys: rows[number], aggregates: results, request: request)
    if let having = request.having, try !group.isTrue(having) { return nil }
    var row: [FetchedDictionary.Value] = []
    for (place, output) in request.outputs.enumerated() {
      var value = try group.value(of: output)
      if case .aggregate(let number) = output,
        let average = accumulators[first + number].average(as: request.types[place])
      {
        value = .value(average)
      }
      row.append(try typed(value, place))
    }
    for sort in request.sorts { row.append(try group.value(of: sort.output)) }
    return row
  }

  /// Takes in what the ends of indexes have told: per aggregate the number of rows, or a value.
  func add(ends: [(count: Int, value: AttributeValue)]) {
    for (place, end) in ends.enumerated() {
      if request.aggregates[place].source == nil {
        accumulators[place].add(count: end.count)
      } else {
        accumulators[place].add(end.value)
      }
    }
  }

  // MARK: The result

  /// The result.
  ///
  /// - Throws: ``FetchError`` for a sum that is too large, a value that does not fit its column.
  func finish() throws -> [FetchedDictionary] {
    var result = rows
    if request.isGrouped {
      result = []
      seen = ValueTable()
      taken = ValueTable()
      for number in rows.indices {
        guard let row = try groupRow(number) else { continue }
        if request.isDistinct, !seen.number(of: row.prefix(request.outputs.count)).isNew { continue }
        result.append(row)
      }
    }
    rows = []
    if !request.sorts.isEmpty { sort(&result) }
    // What has been skipped and cut while rows came is not skipped again.
    let offset = request.offset - skipped
    let window = result.dropFirst(offset).prefix(request.limit == 0 ? Int.max : request.limit)
    return window.map { row in
      FetchedDictionary(
        request.columns,
        request.sorts.isEmpty ? row : Array(row.prefix(request.outputs.count)))
    }
  }

  /// A value as its column holds it.
  private func typed(_ value: FetchedDictionary.Value, _ place: Int) throws -> FetchedDictionary.Value {
    let type = request.types[place]
    guard type != .undefined, case .value(let plain) = value, !plain.isNull else { return value }
    let cast = FunctionValue.cast(plain, to: type)
    if cast.isNull {
      throw fault(.wrongResult(expected: "\(type)", found: "\(plain)"), request.columns.names[place])
    }
    return .value(cast)
  }

  private func fault(_ reason: FetchError.Reason, _ key: String?) -> FetchError {
    FetchError(reason: reason, entityName: request.fetch.entity.name, key: key)
  }
}

/// The sources of a request, ready to be evaluated in one store.
struct BoundSources {
  enum Source {
    case slot(Int)
    case expression(BoundExpression)
  }
  let sources: [Source]

  init(_ request: ResolvedDictionaryRequest, storeIdentifier: UUID) {
    let schema = request.fetch.schema
    let binder = ExpressionBinder(
      schema: schema, storeIdentifier: storeIdentifier,
      rootName: schema.hierarchies[request.fetch.hierarchyNumber].rootName)
    sources = request.sources.map { source in
      source.slot.map { .slot($0) } ?? .expression(binder.bind(source.expression))
    }
  }
}

/// What is known of one group: evaluates what is computed from it.
private struct GroupValues {
  /// The samples behind them.
  let keys: [FetchedDictionary.Value]
  let aggregates: [AttributeValue]
  let request: ResolvedDictionaryRequest

  private var resolver: PredicateResolver {
    PredicateResolver(entity: request.fetch.entity, schema: request.fetch.schema, now: request.now)
  }

  func value(of output: ResolvedDictionaryRequest.Output) throws -> FetchedDictionary.Value {
    switch output {
    case .key(let number): return keys[number]
    case .aggregate(let number): return .value(aggregates[number])
    case .source: return .null
    case .computed(let expression):
      let resolved = try resolver.expression(expression.rewritten(bind)).expression
      if case .objects(let identifiers, _, _) = resolved, identifiers.count == 1 {
        return .object(identifiers[0])
      }
      return .value(try resolver.folded(resolved).single)
    }
  }

  func isTrue(_ predicate: FetchPredicate) throws -> Bool {
    let schema = request.fetch.schema
    let resolved = try resolver.resolve(predicate.rewritten(bind))
    let binder = ExpressionBinder(
      schema: schema, storeIdentifier: keys.lazy.compactMap(\.storeIdentifier).first, rootName: "")
    let evaluation = Evaluation(
      NoObjects(schema: schema), now: request.now, entityName: request.fetch.entity.name)
    return try binder.compile(resolved, nil).evaluate(evaluation, nil)
  }

  /// The values in the place of their variables.
  private func bind(_ part: FetchExpression, _ bound: Set<String>) -> FetchExpression? {
    guard case .variable(let name) = part, name.hasPrefix("#"), let number = Int(name.dropFirst(2)) else {
      return nil
    }
    if name.hasPrefix("#a") { return .constant(aggregates[number]) }
    switch keys[number] {
    case .value(let value): return .constant(value)
    case .object(let identifier): return .objects([identifier])
    }
  }
}

extension FetchedDictionary.Value {
  /// The store of an object.
  fileprivate var storeIdentifier: UUID? {
    if case .object(let identifier) = self { return identifier.storeIdentifier }
    return nil
  }
}
