import Foundation

/// The rows that a batch is about, one after another: found as a fetch finds them, but not collected.
///
/// Without a window they come in whatever order the plan has, and nothing is kept of them. A window needs an order, and the
/// keys inside it are collected first.
struct BatchSearch {
  private var request: ResolvedFetchRequest
  private let writing: BatchWriting

  init(_ request: ResolvedFetchRequest, _ writing: BatchWriting) {
    self.request = request
    // Rows that do not match are looked at here only.
    self.request.monitor = writing.progress.monitor
    self.writing = writing
  }

  private func executor(_ mode: FetchMode, _ transaction: borrowing ReadTransaction) throws -> FetchExecutor {
    let view = StoredView(writing.reader, transaction)
    return FetchExecutor(
      request: request, plan: try view.plan(request, mode: mode), mode: mode, view: view)
  }

  private var hasWindow: Bool { request.limit > 0 || request.offset > 0 }

  /// Calls `body` with the key and the entity of every row that matches.
  func forEach(_ transaction: borrowing ReadTransaction, _ body: (UInt64, Int) throws -> Void) throws {
    if hasWindow {
      for row in try executor(.identifiers, transaction).run(transaction).rows {
        try body(row.primaryKey, row.entity)
      }
      return
    }
    try executor(.rows, transaction).forEachMatch(transaction) { key, row in
      try writing.look()
      try body(key, row.entity)
      return true
    }
  }

  /// Calls `body` with every row that matches, as the transaction has it.
  func forEachRow(_ transaction: borrowing ReadTransaction, _ body: (UInt64, StoredRow) throws -> Void) throws
  {
    if hasWindow {
      for found in try executor(.identifiers, transaction).run(transaction).rows {
        let address = RowAddress(hierarchy: request.hierarchyNumber, key: found.primaryKey)
        if let row = try writing.row(address, transaction) { try body(found.primaryKey, row) }
      }
      return
    }
    try executor(.rows, transaction).forEachMatch(transaction) { key, row in
      try writing.look()
      try body(key, row)
      return true
    }
  }
}
