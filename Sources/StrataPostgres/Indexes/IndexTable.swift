import Foundation
import StrataCore

/// The table of the indexes that were added to a store while it was open.
///
/// ```
///   name text          Entity.index
///   definition text    entity, attributes, order, predicate: JSON
///   relation text      what the index is called on the server
///   is_wanted boolean  false while it is being removed
/// ```
///
/// Whether an index is complete is what the server says of it: one that is being built, or whose building has ended before, is not valid.
struct IndexTable {
  let mapping: StoreMapping
  let identifier: UUID

  /// An index as the table and the server have it.
  struct Entry {
    let name: String
    /// Nil when another version of Strata has written the definition.
    let added: AddedIndex?
    let relation: String
    let isWanted: Bool
    /// Whether there is such an index on the server, and whether it is complete.
    let isThere: Bool
    let isValid: Bool
    let rowCount: Int
  }

  /// What programs know of added indexes without asking again.
  struct Listing: Sendable {
    let indexes: [AddedIndex]
    let changes: Int64
    /// Whether there is any, also one that is being removed.
    let hasAny: Bool

    init(_ result: SQLResult) throws {
      guard result.rowCount > 0 else { throw SQLResult.damaged }
      changes = try result.integer(0, 0)
      hasAny = result[0, 1] != nil
      indexes = (0..<result.rowCount).filter { result[$0, 2]?.bytes.first == 1 }.compactMap { row in
        result[row, 1].flatMap { try? JSONDecoder().decode(AddedIndex.self, from: Data($0.text.utf8)) }
      }
    }
  }

  static func tableStatement(_ namespace: String) -> String {
    "CREATE TABLE \(StoreMapping.qualified("strata_index", namespace)) (name text COLLATE \"C\" PRIMARY KEY, definition text NOT NULL, relation text COLLATE \"C\" NOT NULL UNIQUE, is_wanted boolean NOT NULL DEFAULT true)"
  }

  /// The question for ``Listing``.
  static func listing(_ namespace: String) -> SQLStatement {
    SQLStatement(
      "SELECT s.index_changes, x.definition, x.is_wanted FROM \(StoreMapping.qualified("strata_store", namespace)) s LEFT JOIN \(StoreMapping.qualified("strata_index", namespace)) x ON true ORDER BY x.name"
    )
  }

  private var table: String { mapping.qualified("strata_index") }
  private var store: String { mapping.qualified("strata_store") }

  // MARK: Reading

  /// The question for the entries of all indexes, or of one.
  func question(_ name: String? = nil) -> SQLStatement {
    var statement = SQLStatement(
      "SELECT x.name, x.definition, x.relation, x.is_wanted, i.indexrelid IS NOT NULL, COALESCE(i.indisvalid AND i.indisready, false), GREATEST(COALESCE(c.reltuples, 0), 0)::bigint FROM \(table) x LEFT JOIN (pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace JOIN pg_catalog.pg_index i ON i.indexrelid = c.oid) ON c.relname = x.relation AND n.nspname = "
    )
    statement += statement.bind(mapping.namespace) + "::text"
    if let name { statement += " WHERE x.name = " + statement.bind(name) }
    statement += " ORDER BY x.name"
    return statement
  }

  func entries(_ result: SQLResult) throws -> [Entry] {
    try (0..<result.rowCount).map { row in
      func isTrue(_ column: Int) -> Bool { result[row, column]?.bytes.first == 1 }
      return Entry(
        name: try result.text(row, 0),
        added: try? JSONDecoder().decode(AddedIndex.self, from: Data(try result.text(row, 1).utf8)),
        relation: try result.text(row, 2), isWanted: isTrue(3), isThere: isTrue(4), isValid: isTrue(5),
        rowCount: Int(clamping: try result.integer(row, 6)))
    }
  }

  // MARK: Writing

  /// Returns a row where the namespace holds the store, in this version.
  func guarding() -> SQLStatement {
    var statement = SQLStatement("SELECT 1 FROM \(store) s WHERE s.identifier = ")
    statement += statement.bind(.uuid(identifier), as: .uuid) ?? "NULL"
    statement += " AND s.generation = \(mapping.generation)"
    return statement
  }

  /// The statements that put an index into the table, unless there is one of that name, and tell which one is there now. The first one returns no row where the
  /// namespace does not hold the store, or not of this version, any more.
  func additions(_ added: AddedIndex, relation: String) throws -> [SQLStatement] {
    var guarding = guarding()
    guarding += " FOR SHARE"
    var insertion = SQLStatement("INSERT INTO \(table) (name, definition, relation) SELECT ")
    insertion += insertion.bind(added.qualifiedName) + ", " + insertion.bind(try Catalogue.json(added))
    insertion += ", " + insertion.bind(relation) + " FROM \(store) s WHERE s.identifier = "
    insertion += insertion.bind(.uuid(identifier), as: .uuid) ?? "NULL"
    insertion += " AND s.generation = \(mapping.generation) ON CONFLICT (name) DO NOTHING"
    return [
      SQLStatement("BEGIN ISOLATION LEVEL READ COMMITTED"), guarding, insertion,
      question(added.qualifiedName), SQLStatement("COMMIT"),
    ]
  }

  /// Puts an index into the table.
  func insertion(_ added: AddedIndex, relation: String) throws -> SQLStatement {
    var statement = SQLStatement("INSERT INTO \(table) (name, definition, relation) VALUES (")
    statement += statement.bind(added.qualifiedName) + ", " + statement.bind(try Catalogue.json(added))
    statement += ", " + statement.bind(relation) + ")"
    return statement
  }

  /// Forgets all indexes.
  func clearing() -> [SQLStatement] {
    [
      SQLStatement("DELETE FROM \(table)"),
      SQLStatement("UPDATE \(store) SET index_changes = index_changes + 1"),
    ]
  }

  /// Says that an index is to go, where the namespace holds the store in this version, and the role may drop what there is.
  /// - Parameter relation: Its name on the server, where no other index that has got the name since is meant.
  func unwanting(_ name: String, relation: String? = nil) -> SQLStatement {
    var statement = SQLStatement("UPDATE \(table) x SET is_wanted = false WHERE x.is_wanted AND x.name = ")
    statement += statement.bind(name)
    if let relation { statement += " AND x.relation = " + statement.bind(relation) }
    statement += " AND EXISTS (SELECT 1 FROM \(store) s WHERE s.identifier = "
    statement += statement.bind(.uuid(identifier), as: .uuid) ?? "NULL"
    statement += " AND s.generation = \(mapping.generation))"
    statement +=
      " AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relname = x.relation AND NOT pg_catalog.pg_has_role(c.relowner, 'USAGE') AND n.nspname = "
    statement += statement.bind(mapping.namespace) + "::text)"
    return statement
  }

  /// Forgets an index that has gone.
  func removal(_ name: String, relation: String) -> SQLStatement {
    var statement = SQLStatement("DELETE FROM \(table) WHERE NOT is_wanted AND name = ")
    statement += statement.bind(name) + " AND relation = " + statement.bind(relation)
    return statement
  }

  /// Tells everybody who has the store open that its indexes have changed.
  func telling() -> [SQLStatement] {
    var count = SQLStatement("UPDATE \(store) SET index_changes = index_changes + 1 WHERE identifier = ")
    count += count.bind(.uuid(identifier), as: .uuid) ?? "NULL"
    var told = SQLStatement("SELECT pg_catalog.pg_notify(")
    told += told.bind(FollowingConnection.channel(identifier)) + ", 'indexes')"
    return [SQLStatement("BEGIN ISOLATION LEVEL READ COMMITTED"), count, told, SQLStatement("COMMIT")]
  }

  // MARK: The index itself

  /// A name on the server that no other index has had: its words are for people who look there.
  static func relation(_ added: AddedIndex) -> String {
    let words = Identifier.snake(added.entity) + "_" + Identifier.snake(added.name)
    var name = ""
    for character in words where name.utf8.count + character.utf8.count <= 50 { name.append(character) }
    let digits = String(UInt32.random(in: 0 ... .max), radix: 16)
    return name + "_" + String(repeating: "0", count: 8 - digits.count) + digits
  }

  func creation(_ index: IndexSchema, relation: String, isConcurrent: Bool) -> String? {
    let table = mapping.table(ofEntity: index.owner)
    return SchemaStatements.fetchIndex(index, table).map {
      "CREATE INDEX \(isConcurrent ? "CONCURRENTLY " : "")\(Identifier.quoted(relation)) ON \(table.name) \($0)"
    }
  }

  func drop(_ relation: String) -> String {
    "DROP INDEX CONCURRENTLY IF EXISTS \(mapping.qualified(relation))"
  }
}
