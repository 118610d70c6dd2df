import Foundation

extension ManagedObjectContext {
  /// The rows of values that `request` asks for, made in the stores: no object is made and no row copied as a whole.
  ///
  /// Without `propertiesToFetch` a row has every attribute and no relationship (rule 95). An aggregate in a column makes one row of
  /// all of them, or, with `propertiesToGroupBy`, one of each group (rule 97); memory is needed for the result, for groups one set of
  /// accumulators each. A column that is computed from properties that are not grouped by, as `.function(.lowercase, [.key("carrier")])` beside
  /// groups by `origin`, has the value of one row of the group. Unsaved changes never take part, those of contexts below neither: the rows are what is stored (rule 88).
  /// Rows that no sort key tells apart come in no particular order.
  ///
  ///     var request = FetchRequest<FetchedDictionary>(entityName: "Flight")
  ///     request.propertiesToFetch = ["origin", .expression("delay", .aggregate(.average, .key("delay")))]
  ///     request.propertiesToGroupBy = ["origin"]
  ///     request.sortDescriptors = [FetchSort("delay", ascending: false)]
  ///
  /// - Throws: `FetchError` for an unknown entity or key, a to-many column (rule 96), a column that is neither grouped by nor an
  ///   aggregate nor a literal (rule 98), a sum that is too large, a value that does not fit its column; `StorageError` when the
  ///   store cannot be read.
  public func fetch(_ request: FetchRequest<FetchedDictionary>) throws -> [FetchedDictionary] {
    try fetchDictionaries(try specification(of: request))
  }

  func fetchDictionaries(
    _ specification: FetchSpecification, _ monitor: FetchMonitor? = nil, steady: SteadyReading? = nil
  ) throws -> [FetchedDictionary] {
    checkAccess(specification.entityName)
    var steady = steady
    let (request, bindings) = try dictionaryRequest(specification, monitor, &steady)
    let collector = DictionaryCollector(request)
    for binding in bindings { try collect(from: binding, steady, into: collector) }
    return try collector.finish()
  }

  /// Hands what one store has to a collector.
  /// - Parameter steady: What the store is read through together with other reads of the same operation; nil when it is alone.
  func collect(
    from binding: StoreBinding, _ steady: SteadyReading?, into collector: DictionaryCollector
  ) throws {
    let source = try steady?.reading(binding) ?? reading(binding)
    statistics.fetches += 1
    collector.begin(binding.store.identifier) { bits in
      binding.entity(code: Reference.entityCode(bits)).map {
        ManagedObjectID(token: $0.token, primaryKey: Reference.primaryKey(bits))
      }
    }
    guard Watching.concerns(.fetches) else { return try source.collect(into: collector) }
    let start = ContinuousClock.now
    do {
      try source.collect(into: collector)
    } catch {
      tellValues(collector, of: binding, ContinuousClock.now - start, error: error)
      throw error
    }
    tellValues(collector, of: binding, ContinuousClock.now - start)
  }

  /// How many rows of values there would be.
  func countDictionaries(_ specification: FetchSpecification, _ monitor: FetchMonitor? = nil) throws -> Int {
    checkAccess(specification.entityName)
    var steady: SteadyReading?
    let (request, bindings) = try dictionaryRequest(specification, monitor, &steady)
    if request.isGrouped || request.isDistinct {
      return try fetchDictionaries(specification, monitor, steady: steady).count
    }
    let counted = try countOfRows(specification, &steady)
    var count = 0
    for binding in bindings {
      let source = try steady?.reading(binding) ?? reading(binding)
      count += try ask(source, of: binding, counted, mode: .count).count
    }
    count = max(0, count - specification.fetchOffset)
    return specification.fetchLimit == 0 ? count : min(count, specification.fetchLimit)
  }

  /// Rows as they are stored: nothing of them needs to be looked at to count them.
  func countOfRows(_ specification: FetchSpecification, _ steady: inout SteadyReading?) throws
    -> ResolvedFetchRequest
  {
    var plain = specification
    plain.sortDescriptors = []
    plain.fetchLimit = 0
    plain.fetchOffset = 0
    return try settling(plain, ofStored: true, &steady) { try ResolvedFetchRequest($0, schema: schema) }
  }

  /// - Parameter steady: What the rows are to be read through, where the condition has aggregates of all objects: see `settling`.
  func dictionaryRequest(
    _ specification: FetchSpecification, _ monitor: FetchMonitor?, _ steady: inout SteadyReading?
  ) throws -> (ResolvedDictionaryRequest, [StoreBinding]) {
    try requireStores()
    var settled = specification
    var request = try settling(specification, ofStored: true, &steady) {
      settled = $0
      return try ResolvedDictionaryRequest($0, schema: schema)
    }
    let bindings = bindings(for: request.fetch, specification)
    if bindings.count > 1 {
      request = try ResolvedDictionaryRequest(settled, schema: schema, sortsHere: true)
    }
    request.fetch.monitor = monitor
    return (request, bindings)
  }
}
