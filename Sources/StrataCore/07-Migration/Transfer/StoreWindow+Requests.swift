extension StoreWindow {
  /// A request with names and types looked up. Aggregates of all objects in its condition, as in `age == max(age)`, have the values that they have in this commit.
  /// - Throws: `FetchError` for what the model does not have, and for a sum that is too large; ``StorageError``.
  package func resolve<R>(_ request: FetchRequest<R>) throws -> ResolvedFetchRequest {
    do { return try ResolvedFetchRequest(request, schema: schema) } catch let error as FetchError {
      let predicate: FetchPredicate? = request.predicate
      guard case .notMany = error.reason, error.part == .predicate, let predicate,
        let entity = schema.entity(named: request.entityName)
      else { throw error }
      var settled = request
      settled.predicate = try predicate.rewritten { part, _ in
        guard let found = try AggregateOfAll(part, entity: entity, schema: schema) else { return nil }
        return try value(of: found.expression, entity, withSubentities: request.includesSubentities)
      }
      return try ResolvedFetchRequest(settled, schema: schema)
    }
  }

  /// What an aggregate of all objects of an entity comes to.
  private func value(of aggregate: FetchExpression, _ entity: EntitySchema, withSubentities: Bool) throws
    -> FetchExpression?
  {
    var request = FetchRequest<FetchedDictionary>(entityName: entity.name)
    request.includesSubentities = withSubentities
    request.propertiesToFetch = [.expression("value", aggregate)]
    let collector = DictionaryCollector(try ResolvedDictionaryRequest(request, schema: schema))
    collector.begin(store.identifier) { [self] bits in target(bits).map { identifier($0) } }
    try reading.collect(into: collector)
    guard let row = try collector.finish().first, case .value(let value) = row[0] else { return nil }
    return .constant(value)
  }
}
