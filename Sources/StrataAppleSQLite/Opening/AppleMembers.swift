import Foundation
import StrataCore

/// The members of relationships, owner by owner. Used by one thread at a time.
final class AppleMembers {
  private let source: AppleSource
  private let rows: AppleRows
  private var layout: AppleLayout { source.layout }
  private var schema: Schema { source.schema }
  private var statements: [String: SQLiteStatement] = [:]

  init(_ source: AppleSource, _ rows: AppleRows) {
    self.source = source
    self.rows = rows
  }

  /// Lets go of the store, which is closed only then.
  func close() { statements = [:] }

  /// The members of an owner in their order; with `isHiddenInverse` the objects whose relationship leads to the one with this key.
  /// - Throws: `AppleStoreError`.
  func members(_ relationship: RelationshipSchema, isHiddenInverse: Bool, of key: Int64) throws
    -> [ObjectAddress]
  {
    let (home, away) = (schema.entities[relationship.owner], schema.entities[relationship.destination])
    let (owner, other) = isHiddenInverse ? (away, home) : (home, away)
    guard let found = try rows.object(key, in: owner.hierarchyNumber), owner.subtree.contains(found.entity),
      let sql = isHiddenInverse ? referrers(relationship) : members(relationship)
    else { return [] }
    let statement: SQLiteStatement
    if let known = statements[sql] {
      statement = known
    } else {
      statement = try source.database.prepare(sql)
      statements[sql] = statement
    }
    var keys: [Int64] = []
    do {
      defer { statement.reset() }
      try statement.bind(.integer(key), 1)
      while try statement.step() { if let key = statement.integer(0) { keys.append(key) } }
    }
    return try keys.compactMap { key in
      try rows.object(key, in: other.hierarchyNumber).flatMap { other.subtree.contains($0.entity) ? $0 : nil }
    }
  }

  private func members(_ relationship: RelationshipSchema) -> String? {
    if let owned = layout.owned.first(where: { $0.relationship.number == relationship.number }) {
      return select(owned.table, owned.column, order: owned.orderColumn)
    }
    if let join = layout.joins.first(where: { $0.relationship.number == relationship.number }) {
      return select(join, join.ownerColumn, join.memberColumn, order: join.orderColumn)
    }
    guard let inverse = relationship.inverse.map({ schema.relationships[$0] }) else { return nil }
    // The end of a join table that tells nothing of its own: the columns the other way round.
    if let join = layout.joins.first(where: { $0.relationship.number == inverse.number }) {
      return select(join, join.memberColumn, join.ownerColumn, order: nil)
    }
    guard let link = link(inverse), let table = layout.tables[relationship.destinationHierarchy] else {
      return nil
    }
    return select(table.name, link.column, order: nil)
  }

  private func referrers(_ relationship: RelationshipSchema) -> String? {
    if let owned = layout.owned.first(where: { $0.relationship.number == relationship.number }) {
      let column = SQLiteDatabase.quoted(owned.column)
      return "SELECT \(column) FROM \(SQLiteDatabase.quoted(owned.table)) WHERE Z_PK = ?1"
    }
    guard let link = link(relationship),
      let table = layout.tables[schema.entities[relationship.owner].hierarchyNumber]
    else { return nil }
    return select(table.name, link.column, order: nil)
  }

  private func link(_ relationship: RelationshipSchema) -> AppleLayout.Link? {
    layout.entities[relationship.owner]?.links.first { $0.relationship.number == relationship.number }
  }

  private func select(_ table: String, _ column: String, order: String?) -> String {
    let order = order.map { "\(SQLiteDatabase.quoted($0)), " } ?? ""
    return
      "SELECT Z_PK FROM \(SQLiteDatabase.quoted(table)) WHERE \(SQLiteDatabase.quoted(column)) = ?1 ORDER BY \(order)Z_PK"
  }

  private func select(_ join: AppleLayout.Join, _ owner: String, _ member: String, order: String?) -> String {
    let (table, owner, member) = (
      SQLiteDatabase.quoted(join.table), SQLiteDatabase.quoted(owner), SQLiteDatabase.quoted(member)
    )
    if let order {
      return
        "SELECT \(member), max(\(SQLiteDatabase.quoted(order))) FROM \(table) WHERE \(owner) = ?1 GROUP BY 1 ORDER BY 2, 1"
    }
    let own = "SELECT \(member) FROM \(table) WHERE \(owner) = ?1"
    // A pair may be there once or twice.
    return join.isSymmetric
      ? "\(own) UNION SELECT \(owner) FROM \(table) WHERE \(member) = ?1" : "\(own) GROUP BY 1"
  }
}
