import Foundation

/// Decides a request on rows that are all there: for engines without queries of their own, and for what an engine cannot ask.
package struct FetchInMemory {
  private let request: ResolvedFetchRequest
  private let view: ReadingView
  private let evaluation: Evaluation<ReadingView>
  private let program: CompiledPredicate?
  private let sorts: [BoundExpression]

  /// - Parameter reading: What relationships are followed in.
  package init(_ request: ResolvedFetchRequest, in reading: any StoreReading, storeIdentifier: UUID) {
    self.request = request
    view = ReadingView(reading, schema: request.schema, storeIdentifier: storeIdentifier)
    evaluation = Evaluation(view, entityName: request.entity.name)
    let binder = request.binder(storeIdentifier: storeIdentifier)
    program = request.predicate == .all ? nil : binder.compile(request.predicate, request.entity.number)
    sorts = request.sorts.map { binder.bind($0.expression) }
  }

  /// What the request finds among `candidates`, which have their values and are of any entity of the hierarchy. Candidates that no sort key tells
  /// apart come in the order of their keys.
  ///
  /// - Throws: what reading throws; ``FetchError`` for what cannot be worked out; `CancellationError` when the request's monitor stops it.
  package func fetch(_ candidates: [FetchedRow], mode: FetchMode, description: String) throws -> FetchedRows {
    var found: [(values: [AttributeValue], row: FetchedRow)] = []
    var looked = 0
    for row in candidates {
      looked += 1
      if looked % FetchMonitor.stride == 0 { try request.monitor?.tick() }
      guard request.entityNumbers.contains(row.entity), let snapshot = row.snapshot else { continue }
      let node = ReadingView.Node(row: snapshot, entity: row.entity, primaryKey: row.primaryKey)
      if let program, try !evaluation.matches(program, node) { continue }
      let values = try sorts.map { try evaluation.evaluate($0, for: node).single }
      if let start = request.start, !request.isBehindStart(start, { values[$0] }, row.primaryKey) { continue }
      found.append((values, row))
    }
    if mode != .count {
      found.sort { request.compare($0.values, $0.row.primaryKey, $1.values, $1.row.primaryKey) < 0 }
    }
    let first = min(request.offset, found.count)
    let end = max(first, min(request.windowEnd ?? found.count, found.count))
    let window = found[first..<end]
    if mode == .count { return FetchedRows(rows: [], count: window.count, description: description) }
    let rows = window.map { found in
      mode == .rows
        ? found.row : FetchedRow(primaryKey: found.row.primaryKey, entity: found.row.entity, snapshot: nil)
    }
    return FetchedRows(rows: ContiguousArray(rows), count: rows.count, description: description)
  }
}
