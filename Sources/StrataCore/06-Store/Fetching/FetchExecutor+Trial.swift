import Foundation

// The first matches in the order of an index that knows nothing of the predicate.

extension FetchExecutor {
  /// Walks the index and tests the row of each entry, until the window is full or the walk has an end; nil when so many entries were
  /// passed over that looking at all rows in their own order is cheaper.
  ///
  /// An entry costs a look-up of its row, about as much as eight rows of a scan: what is lost on the way to the other
  /// plan is no more than that plan costs.
  func collectOnTrial(_ transaction: borrowing ReadTransaction) throws -> FetchedRows? {
    guard let keyspace = parts.rows[request.hierarchyNumber] else {
      return FetchedRows(rows: [], count: 0, plan: plan)
    }
    var left = max(try transaction.entryCount(keyspace) / Self.rowsForOneEntry, Self.fewestEntries)
    var rows: ContiguousArray<FetchedRow> = []
    var slab = RowSlabWriter()
    var skip = request.offset
    var isCheap = true
    try forEachKey(transaction) { key in
      if left == 0 {
        isCheap = false
        return false
      }
      left -= 1
      guard let bytes = try transaction.get(keyspace, key) else {
        throw parts.damaged("An index names the row p\(key), which does not exist.")
      }
      guard let row = try match(bytes, key, transaction) else { return true }
      if request.start != nil, try !isBehindStart(row, key) { return true }
      if skip > 0 { skip -= 1; return true }
      let snapshot = mode == .rows ? row.keeper ?? slab.append(copying: row.bytes) : nil
      rows.append(FetchedRow(primaryKey: key, entity: row.entity, snapshot: snapshot))
      return rows.count < request.limit
    }
    return isCheap ? FetchedRows(rows: rows, count: rows.count, plan: plan) : nil
  }

  private static var rowsForOneEntry: Int { 8 }
  /// In a small table the difference is not worth a thought.
  private static var fewestEntries: Int { 32 }
}
