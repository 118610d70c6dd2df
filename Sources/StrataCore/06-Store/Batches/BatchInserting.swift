import Foundation

/// A batch insert: appends the rows, chunk by chunk.
struct BatchInserting {
  private let writing: BatchWriting
  private let rows: BatchRows
  private let duplicates: DuplicateRule
  private let entity: EntitySchema
  private let partnerships: BatchPartnerships

  init(_ rows: BatchRows, _ duplicates: DuplicateRule, _ writing: BatchWriting) {
    self.writing = writing
    self.rows = rows
    self.duplicates = duplicates
    entity = writing.parts.schema.entities[rows.entity]
    partnerships = BatchPartnerships(of: entity, writing)
  }

  /// - Throws: `BatchDuplicates`, and what writing throws.
  func run(_ transaction: borrowing WriteTransaction) throws {
    writing.progress.begin(total: rows.count)
    if duplicates == .refuse {
      try rows.forEachChunk { try insert($0, transaction) }
    } else {
      var settling = BatchSettling(rows, duplicates, partnerships, writing)
      try rows.forEachChunk { try settling.add($0, transaction) }
      settling.finish()
    }
    writing.progress.complete(rows.count)
  }

  private func insert(_ chunk: BatchChunk, _ transaction: borrowing WriteTransaction) throws {
    do {
      if partnerships.concern(chunk.rows) {
        try insertOneByOne(chunk.rows, transaction)
      } else {
        try writing.insert(chunk.rows, transaction)
      }
      try writing.flush(transaction)
    } catch let violation as UniquenessViolation {
      throw try BatchNaming(writing, entity).duplicates(violation.violations, chunk, transaction.read)
    }
  }

  private func insertOneByOne(_ rows: [RowChange], _ transaction: borrowing WriteTransaction) throws {
    var waiting: [RowChange] = []
    for row in rows {
      guard partnerships.hasPartner(row) else {
        waiting.append(row)
        continue
      }
      try writing.insert(waiting, transaction)
      waiting = []
      try writing.insert([try partnerships.single(row)], transaction)
      try writing.flush(transaction)
      try partnerships.tie(row, transaction)
    }
    try writing.insert(waiting, transaction)
  }
}
