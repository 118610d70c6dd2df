import Foundation

/// The one-to-one relationships of a batch's new rows, which need more than an insert.
///
/// Rows at the other end refer to a row only once it is there, and may refer to another of the same chunk before. So a row that refers
/// to a partner comes without these references first: then it is tied as any stored row is.
struct BatchPartnerships {
  private let writing: BatchWriting
  private let entity: EntitySchema
  /// The relationships, and where their references are.
  private let list: [(relationship: RelationshipSchema, entry: UInt32)]

  init(of entity: EntitySchema, _ writing: BatchWriting) {
    self.writing = writing
    self.entity = entity
    let schema = writing.parts.schema
    list = entity.relationships.compactMap { relationship in
      guard !relationship.isToMany, !relationship.isTransient,
        schema.inverse(of: relationship)?.isToMany == false
      else { return nil }
      return (relationship, entity.layout.entry(of: relationship.slot))
    }
  }

  var relationships: [RelationshipSchema] { list.map(\.relationship) }

  func hasPartner(_ row: RowChange) -> Bool {
    list.contains { RowBytes.reference(row.row.base, $0.entry) != 0 }
  }

  /// Whether any of the rows has a partner.
  func concern(_ rows: [RowChange]) -> Bool { !list.isEmpty && rows.contains(where: hasPartner) }

  /// The row without references to partners.
  func single(_ row: RowChange) throws -> RowChange {
    let draft = RowDraft.make(entity.layout)
    for (relationship, entry) in list where RowBytes.reference(row.row.base, entry) != 0 {
      draft[relationship.slot] = .null
    }
    return try writing.recoded(row, draft)
  }

  /// Ties a row, which has been written without them, to the partners it has.
  func tie(_ row: RowChange, _ transaction: borrowing WriteTransaction) throws {
    let address = RowAddress(hierarchy: entity.hierarchyNumber, key: row.primaryKey)
    for (relationship, entry) in list {
      let reference = RowBytes.reference(row.row.base, entry)
      if reference == 0 { continue }
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
