import Foundation

/// The derived values of one row, from the rows and edges of a transaction.
struct DerivedValues {
  let reader: RowReader
  let row: StoredRow
  let primaryKey: UInt64
  /// The moment of the save that writes the row; nil when it is not being saved.
  let now: Date?

  private var schema: Schema { reader.parts.schema }

  /// The value of a derived attribute; nil when it stays what it is.
  /// - Throws: `CoreDataError` 1610 for a sum that does not fit.
  func value(of derived: DerivedSchema, _ transaction: borrowing ReadTransaction) throws -> AttributeValue? {
    switch derived.source {
    case .now: return now.map { .date($0) }
    case .count(let relationship):
      let count = try reader.memberCount(
        EdgeSet(relationship: relationship), of: primaryKey, transaction)
      return try derived.fitted(
        .integer(Int64(count)), of: schema.entities[row.entity], primaryKey: primaryKey)
    case .sum(let relationship, let slot):
      return try sum(slot, of: relationship, derived, transaction)
    case .own(let slot):
      let value = try reader.value(
        row, slot, primaryKey: primaryKey, externals: [], transaction)
      return derived.formed(value)
    case .across(let relationship, let slot):
      return derived.formed(try value(slot, across: relationship, transaction))
    }
  }

  private func value(_ slot: Int, across number: Int, _ transaction: borrowing ReadTransaction) throws
    -> AttributeValue
  {
    let relationship = schema.relationships[number]
    let layout = schema.entities[row.entity].layout
    guard case .reference(let bits)? = RowBytes.value(row.base, relationship.slot, layout) else {
      return .null
    }
    return try value(slot, ofRow: Reference.primaryKey(bits), relationship, transaction)
  }

  /// A value of a row at the end of a relationship; nil-valued when the row is gone.
  private func value(
    _ slot: Int, ofRow key: UInt64, _ relationship: RelationshipSchema,
    _ transaction: borrowing ReadTransaction
  ) throws -> AttributeValue {
    guard let row = try reader.row(key, of: relationship.destinationHierarchy, transaction) else {
      return .null
    }
    return try reader.value(row, slot, primaryKey: key, externals: [], transaction)
  }

  private func sum(
    _ slot: Int, of number: Int, _ derived: DerivedSchema, _ transaction: borrowing ReadTransaction
  ) throws -> AttributeValue {
    let relationship = schema.relationships[number]
    let members = try reader.members(EdgeSet(relationship: number), of: primaryKey, transaction)
    var sum = DerivedSum(schema.entities[relationship.destination].attributes[slot].type)
    for member in members {
      sum.add(try value(slot, ofRow: Reference.primaryKey(member), relationship, transaction))
    }
    return try derived.sum(sum, of: schema.entities[row.entity], primaryKey: primaryKey)
  }
}
