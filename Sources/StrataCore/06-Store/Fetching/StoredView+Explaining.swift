import Foundation

extension StoreReading {
  /// How a request is executed here; with `isExecuting` it is executed, and the explanation has its cost.
  ///
  /// The default is for engines that tell nothing of their plans.
  /// - Throws: nothing here; an engine's own method throws what its `fetch` throws.
  public func explain(_ request: ResolvedFetchRequest, mode: FetchMode, isExecuting: Bool) throws
    -> FetchExplanation.StorePart?
  {
    nil
  }
}

extension StoredView {
  func explain(
    _ request: ResolvedFetchRequest, mode: FetchMode, isExecuting: Bool,
    _ transaction: borrowing ReadTransaction
  ) throws -> FetchExplanation.StorePart {
    let plan = try plan(request, mode: mode)
    var part = plan.explained(storeIdentifier, estimatedRows: try estimate(plan, request, transaction))
    guard isExecuting else { return part }
    let counters = FetchCounters()
    var returned = 0
    let duration = try ContinuousClock().measure {
      returned = try FetchExecutor(request: request, plan: plan, mode: mode, view: self, counters: counters)
        .run(transaction).count
    }
    part.execution = FetchExplanation.Execution(
      rowsExamined: counters.examined, entriesExamined: counters.entries, rowsReturned: returned,
      hasScannedInstead: counters.hasScannedInstead, duration: duration)
    return part
  }

  private func estimate(
    _ plan: FetchPlan, _ request: ResolvedFetchRequest, _ transaction: borrowing ReadTransaction
  ) throws -> Int? {
    switch plan.access {
    case .nothing: return 0
    case .identifiers(let keys): return keys.count
    case .scan: return rowCount(request.hierarchyNumber)
    case .related, .union: return nil
    case .index(let number, let ranges, _):
      guard let keyspace = reader.catalogue.indexes.keyspaces[number] else { return nil }
      var count = 0
      try transaction.withCursor(keyspace) { cursor in
        for range in ranges where count < FetchExplanation.largestEstimate {
          _ = try IndexWalk.forwards(range, &cursor) { (_: UInt64) in
            count += 1
            return count < FetchExplanation.largestEstimate
          }
        }
      }
      return count
    }
  }
}

extension LMDBReading {
  /// See ``StoreReading``. Throws ``StorageError``, ``FetchError``, and `CancellationError` when the request's monitor stops it.
  public func explain(_ request: ResolvedFetchRequest, mode: FetchMode, isExecuting: Bool) throws
    -> FetchExplanation.StorePart?
  {
    try source.read { reader, transaction in
      try StoredView(reader, transaction).explain(request, mode: mode, isExecuting: isExecuting, transaction)
    }
  }
}
