import Foundation

// Aggregates in a condition of what each object has one of: `age == max(age)`. They are of all objects of the request's entity, whatever else the condition
// says, as in the sub-select that Core Data makes of them.
//
// ```
//   a condition that asks for many values where there is one ─▶ the aggregates of all objects, each found ─▶ the condition with these values
// ```
//
// The values and what is found by them are of one commit of each store: both are read through the same `SteadyReading`.
//
// Other requests are resolved as they are, and cost nothing more.

extension ManagedObjectContext {
  /// What `resolve` makes of a request, perhaps with the values of its aggregates in their place.
  ///
  /// On the context's queue. Tells nothing: edits that are to count have been told before.
  /// - Parameters:
  ///   - ofStored: Whether what is not saved takes no part, as in batches and rows of values.
  ///   - steady: What the aggregates are read through. Made when there are any and it is nil; the request is to be read through it, too.
  /// - Throws: what `resolve` throws; `FetchError` for an aggregate that cannot be made of such values, and for a sum that is too large.
  func settling<R>(
    _ specification: FetchSpecification, ofStored: Bool, _ steady: inout SteadyReading?,
    _ resolve: (FetchSpecification) throws -> R
  ) throws -> R {
    do { return try resolve(specification) } catch let error as FetchError {
      let predicate: FetchPredicate? = specification.predicate
      guard case .notMany = error.reason, error.part == .predicate, let predicate else { throw error }
      let reading = steadyReading(&steady, ofStored: ofStored)
      var settled = specification
      settled.predicate = try predicate.rewritten { part, _ in
        try self.settled(part, specification, ofStored: ofStored, reading)
      }
      return try resolve(settled)
    }
  }

  /// The same for an expression about the request's stored objects.
  func settling<R>(
    _ expression: FetchExpression, of specification: FetchSpecification, _ steady: inout SteadyReading?,
    _ resolve: (FetchExpression) throws -> R
  ) throws -> R {
    do { return try resolve(expression) } catch let error as FetchError {
      guard case .notMany = error.reason else { throw error }
      let reading = steadyReading(&steady, ofStored: true)
      return try resolve(
        expression.rewritten { part, _ in
          try self.settled(part, specification, ofStored: true, reading)
        })
    }
  }

  /// What there is, or a new one: with the unsaved rows that there are now, unless they take no part.
  private func steadyReading(_ steady: inout SteadyReading?, ofStored: Bool) -> SteadyReading {
    if let steady { return steady }
    let new =
      ofStored
      ? SteadyReading(self, ownLayers: [], layersBelow: []) : SteadyReading(self, isHeld: true)
    steady = new
    return new
  }

  /// The value of an aggregate of all objects; nil for every other expression.
  private func settled(
    _ part: FetchExpression, _ specification: FetchSpecification, ofStored: Bool, _ steady: SteadyReading
  ) throws -> FetchExpression? {
    guard let entity = schema.entity(named: specification.entityName),
      let found = try AggregateOfAll(part, entity: entity, schema: schema)
    else { return nil }
    let one = found.values
    var all = FetchSpecification(entityName: specification.entityName)
    all.includesSubentities = specification.includesSubentities
    all.includesPendingChanges = specification.includesPendingChanges
    all.affectedStores = specification.affectedStores
    if !ofStored {
      // It does not end the reading, which goes on with the request itself.
      let fetch = try ContextFetch(
        try ResolvedFetchRequest(all, schema: schema), all, in: self, steady: steady)
      if !fetch.overlay.isEmpty || !one.isLocal && fetch.seesUnsaved {
        var accumulator = AggregateAccumulator(found.aggregate, zero: found.zero)
        // By store: references of two of them may be the same and lead to different objects.
        var seen: [Int: DistinctFilter] = [:]
        try throwingFailures {
          try fetch.forEachValue(one) { value, store in
            if found.isDistinct {
              var place = 0
              if case .reference = value { place = store }
              let filter = seen[place] ?? DistinctFilter()
              seen[place] = filter
              if !filter.isNew(value) { return }
            }
            accumulator.add(value)
          }
        }
        var result = accumulator.result
        if case .decimal(let sum) = result, sum.isNaN, found.aggregate == .sum { result = .null }
        if accumulator.isTooLarge || found.aggregate == .sum && result.isNull {
          throw FetchError(reason: .overflow("\(found.expression)"), entityName: entity.name, key: nil)
        }
        return .constant(result)
      }
    }
    // In the stores, where the ends of an index may tell it.
    all.propertiesToFetch = [.expression("value", found.expression)]
    guard let row = try fetchDictionaries(all, steady: steady).first, case .value(let value) = row[0] else {
      return nil
    }
    return .constant(value)
  }
}

extension ContextFetch {
  /// Whether anything is not saved that the request would show, be it of other entities.
  fileprivate var seesUnsaved: Bool {
    if !overlay.layersBelow.isEmpty { return true }
    guard specification.includesPendingChanges else { return false }
    return !overlay.ownLayers.isEmpty || context.changes.hasChanges || context.saving.flight != nil
  }

  /// Calls `body` with what an expression comes to for each object that the request finds, unsaved changes included, and the number of the store of that object.
  fileprivate func forEachValue(
    _ expression: ResolvedExpression, _ body: (AttributeValue, _ store: Int) -> Void
  ) throws {
    // What objects refer to is read beside them.
    if !expression.isLocal { holdStill() }
    var bound: [Int: BoundExpression] = [:]
    for match in try matches(mode: .rows) {
      guard let node = match.node, let evaluation = try evaluation(match.storeIndex) else { continue }
      let store = match.storeIndex
      let one =
        bound[store]
        ?? request.binder(storeIdentifier: evaluation.view.storeIdentifier).bind(expression)
      bound[store] = one
      body(try evaluation.value(of: one, node), store)
    }
  }
}

/// Tells values that are not nil and come for the first time from all others.
private final class DistinctFilter {
  private var seen = ValueTable()

  func isNew(_ value: AttributeValue) -> Bool { seen.isNew(value) }
}
