import Foundation

/// The rows of the commit that a migration starts from, and the members of their relationships. Used by one thread.
struct SourceRows {
  let plan: MigrationPlan
  let snapshot: LMDBSnapshot

  /// Calls `body` with the rows of a hierarchy from `key` on, in ascending order, until it says that it has enough; the key to go on
  /// from, nil after the last.
  func walk(
    _ hierarchy: Int, from key: UInt64,
    _ body: (StoredRow, UInt64, RowReader, borrowing ReadTransaction) throws -> Bool
  ) throws -> UInt64? {
    try snapshot.read { reader, transaction in
      guard let rows = reader.parts.rows[hierarchy] else { return nil }
      return try transaction.withCursor(rows) { cursor in
        var entry = try PrimaryKeyBytes.with(key) { try cursor.seek(atLeast: $0) }
        while let found = entry {
          guard let key = PrimaryKeyBytes.whole(found.key) else {
            throw reader.parts.damaged("A row has a key of another length.")
          }
          let row = try reader.row(found.value, primaryKey: key, of: hierarchy)
          if try !body(row, key, reader, transaction) { return key + 1 }
          entry = try cursor.next()
        }
        return nil
      }
    }
  }

  /// The members that lie on a path from a row, in order, with the numbers of their entities; without those that go.
  func members(
    _ path: MigrationPlan.Path, of row: StoredRow, _ key: UInt64, _ reader: RowReader,
    _ transaction: borrowing ReadTransaction
  ) throws -> [(reference: UInt64, entity: Int)] {
    let members: [UInt64]
    switch path {
    case .reference(let slot, let mayDangle):
      guard case .reference(let bits)? = RowBytes.value(row.base, slot, reader.layout(of: row)) else {
        return []
      }
      if mayDangle, try !exists(bits, reader, transaction) { return [] }
      members = [bits]
    case .edges(let edges): members = try reader.members(edges, of: key, transaction)
    }
    return try members.compactMap { bits in
      guard let entity = reader.catalogue.entity(code: Reference.entityCode(bits)) else {
        throw reader.parts.damaged("The row p\(key) refers to an unknown entity.")
      }
      return plan.entities[entity] == nil ? nil : (bits, entity)
    }
  }

  /// Whether the row is there: with the rule `noAction` it may be gone (rule 212).
  private func exists(_ bits: UInt64, _ reader: RowReader, _ transaction: borrowing ReadTransaction) throws
    -> Bool
  {
    guard let entity = reader.catalogue.entity(code: Reference.entityCode(bits)),
      let rows = reader.parts.rows[plan.source.entities[entity].hierarchyNumber]
    else { return false }
    return try transaction.get(rows, Reference.primaryKey(bits)) != nil
  }
}

extension MigrationPlan {
  /// Where the members of a relationship of the source are.
  static func path(to relationship: RelationshipSchema, in source: Schema) -> Path {
    if relationship.isToMany { return .edges(EdgeSet(relationship: relationship.number)) }
    let inverse = relationship.inverse.map { source.relationships[$0] }
    return .reference(slot: relationship.slot, mayDangle: inverse?.deleteRule == .noAction)
  }
}
