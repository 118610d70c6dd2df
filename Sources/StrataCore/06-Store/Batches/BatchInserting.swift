import Foundation

/// A batch insert: appends the rows, chunk by chunk.
struct BatchInserting {
  private let writing: BatchWriting
  private let rows: BatchRows
  /// Of the rows' entity: one-to-one relationships, and where their references are.
  private let partnerships: [(relationship: RelationshipSchema, entry: UInt32)]

  init(_ rows: BatchRows, _ writing: BatchWriting) {
    self.rows = rows
    self.writing = writing
    let schema = writing.parts.schema
    let entity = schema.entities[rows.entity]
    partnerships = entity.relationships.compactMap { relationship in
      guard !relationship.isToMany, !relationship.isTransient,
        schema.inverse(of: relationship)?.isToMany == false
      else { return nil }
      return (relationship, entity.layout.entry(of: relationship.slot))
    }
  }

  func run(_ transaction: borrowing WriteTransaction) throws {
    writing.progress.begin(total: rows.count)
    try rows.forEachChunk { chunk in
      if partnerships.isEmpty || !chunk.contains(where: hasPartner) {
        try writing.insert(chunk, transaction)
      } else {
        try insertOneByOne(chunk, transaction)
      }
      try writing.flush(transaction)
    }
  }

  private func hasPartner(_ row: RowChange) -> Bool {
    partnerships.contains { RowBytes.reference(row.row.base, $0.entry) != 0 }
  }

  /// Rows at the other end of one-to-one relationships refer to a row only once it is there, and may refer to another of the
  /// same chunk before.
  private func insertOneByOne(_ chunk: [RowChange], _ transaction: borrowing WriteTransaction) throws {
    var waiting: [RowChange] = []
    for row in chunk {
      guard hasPartner(row) else {
        waiting.append(row)
        continue
      }
      try writing.insert(waiting, transaction)
      waiting = []
      try insertWithPartners(row, transaction)
    }
    try writing.insert(waiting, transaction)
  }

  /// The row comes without these references first: then it is tied as any stored row is.
  private func insertWithPartners(_ row: RowChange, _ transaction: borrowing WriteTransaction) throws {
    let entity = writing.parts.schema.entities[row.entity]
    let draft = RowDraft.make(entity.layout)
    var references: [(RelationshipSchema, UInt64)] = []
    for (relationship, entry) in partnerships {
      let reference = RowBytes.reference(row.row.base, entry)
      if reference == 0 { continue }
      references.append((relationship, reference))
      draft[relationship.slot] = .null
    }
    try writing.insert([try writing.recoded(row, draft)], transaction)
    try writing.flush(transaction)
    let address = RowAddress(hierarchy: entity.hierarchyNumber, key: row.primaryKey)
    for (relationship, reference) in references {
      try BatchPartners(writing, relationship).tie(
        row.primaryKey, entity: row.entity, to: reference, transaction)
      try writing.flush(transaction)
      guard let stored = try writing.row(address, transaction.read) else { continue }
      let own = RowDraft.make(entity.layout)
      own[relationship.slot] = .reference(reference)
      try writing.update(stored, row.primaryKey, own, own.changed, transaction)
      try writing.flush(transaction)
    }
  }
}
