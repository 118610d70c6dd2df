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
    if try insertSorted(transaction) { return writing.progress.complete(rows.count) }
    if duplicates == .refuse {
      try rows.forEachChunk { try insert($0, transaction) }
    } else {
      var settling = BatchSettling(rows, duplicates, partnerships, writing)
      try rows.forEachChunk { try settling.add($0, transaction) }
      settling.finish()
    }
    writing.progress.complete(rows.count)
  }

  /// Inserts the rows, and then their index entries, each index in one ascending pass, whatever the rule for duplicates: when no two rows have values in
  /// common that must be unique, nor a row with a record. False, and nothing is written, when that is not so, or not known.
  private func insertSorted(_ transaction: borrowing WriteTransaction) throws -> Bool {
    let catalogue = writing.catalogue
    guard let entries = rows.entries, entries.generation == catalogue.generation,
      partnerships.relationships.isEmpty, writing.parts.held[rows.entity]
    else { return false }
    if !entries.areMade() { return false }
    if entries.hasConstraints {
      for list in try entries.lists() where list.index.isUnique {
        guard let keyspace = catalogue.indexes.keyspaces[list.index.number] else { continue }
        if try list.mayRepeatValues(keyspace, transaction.read, writing.look) { return false }
      }
    }
    let last = try writing.parts.lastKey(entity.hierarchyNumber, transaction.read)
    let hasReferences = !catalogue.relationships.referenceSlots[rows.entity].isEmpty
    try rows.forEachBlock { block in
      if hasReferences {
        try writing.insert(
          block.chunk(entity: rows.entity, slots: rows.slots).rows, leavesIndexes: true, transaction)
        try writing.flush(transaction)
      } else {
        try writing.put(block, of: entity, slots: rows.slots, after: last, transaction)
      }
    }
    for list in try entries.lists() {
      guard let keyspace = catalogue.indexes.keyspaces[list.index.number] else { continue }
      try list.write(keyspace, transaction, writing)
    }
    return true
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
