import Foundation
import StrataCore

/// The fetch indexes and uniqueness constraints of one store, as the server has them.
struct ServerIndex {
  let table: String
  let isUnique: Bool
  let isValid: Bool
  /// Columns by their names, and what else it is over in the server's words.
  let parts: [String]
  let rowCount: Int
  /// Whether it is over all rows.
  let isWhole: Bool

  static func question(_ namespace: String) -> SQLStatement {
    var statement = SQLStatement(
      "SELECT t.relname::text, i.indisunique, i.indisvalid AND i.indisready, GREATEST(c.reltuples, 0)::bigint, a.attname::text, pg_catalog.pg_get_indexdef(i.indexrelid, k.place::integer, false), i.indoption[k.place - 1] & 1, i.indexrelid::bigint, i.indpred IS NULL FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid JOIN pg_catalog.pg_class t ON t.oid = i.indrelid JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace CROSS JOIN LATERAL pg_catalog.generate_series(1, i.indnkeyatts) k(place) LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = t.oid AND a.attnum = i.indkey[k.place - 1] AND a.attnum > 0 WHERE n.nspname = "
    )
    statement += statement.bind(namespace) + "::text ORDER BY i.indexrelid, k.place"
    return statement
  }

  static func all(_ result: SQLResult) throws -> [ServerIndex] {
    var found: [ServerIndex] = []
    var last: Int64?
    for row in 0..<result.rowCount {
      func isTrue(_ column: Int) -> Bool { result[row, column]?.bytes.first == 1 }
      let words = try result[row, 4]?.text ?? result.text(row, 5)
      let part = try words + (result.integer(row, 6) == 1 ? " DESC" : "")
      let number = try result.integer(row, 7)
      let before = number == last ? found.popLast()?.parts ?? [] : []
      last = number
      found.append(
        ServerIndex(
          table: try result.text(row, 0), isUnique: isTrue(1), isValid: isTrue(2), parts: before + [part],
          rowCount: Int(clamping: try result.integer(row, 3)), isWhole: isTrue(8)))
    }
    return found
  }

  /// Whether this is an index of the model's.
  func isOf(_ index: IndexSchema, _ table: TableMapping) -> Bool {
    guard self.table == table.plainName, isUnique == index.isUnique, isValid else { return false }
    let columns = index.parts.map { (table.column(index.owner, $0.slot), $0.isAscending) }
    guard parts.count == columns.count + (isUnique ? 0 : 1), isUnique || parts.last == "pk" else {
      return false
    }
    return zip(parts, columns).allSatisfy { part, wanted in
      guard let column = wanted.0 else { return false }
      let direction = isUnique || wanted.1 ? "" : " DESC"
      let plain = Identifier.plain(column.name)
      if isUnique || column.type != .text { return part == plain + direction }
      // The server leaves quotes out that are not needed.
      return [plain, column.name].contains {
        part == "\"left\"(\($0), \(SchemaStatements.prefixLength))\(direction)"
      }
    }
  }
}

extension PostgresStore {
  /// The indexes of the store, by name. Their predicates are not those of the model: an index on the server is over all rows.
  package func indexes() throws -> [StoredIndex] {
    let table = IndexTable(mapping: mapping, identifier: identifier)
    let (entries, found) = try read { _, connection in
      let results = try connection.run(
        [
          table.question(),
          ServerIndex.question(
            self.mapping.tables.lazy.compactMap(\.adopted).first?.namespace ?? self.mapping.namespace),
        ], deadline: self.deadline())
      return (try table.entries(results[0]), try ServerIndex.all(results[1]))
    }
    let wanted = entries.filter(\.isWanted)
    let schema = mapping.schema
    var listed: [StoredIndex] = []
    for index in schema.indexes {
      let own = wanted.first {
        $0.name == index.name && (try? $0.added?.checked(schema).signature) == index.signature
      }
      let there = found.first { $0.isOf(index, mapping.table(ofEntity: index.owner)) }
      guard own != nil || there != nil else { continue }
      listed.append(
        Self.stored(
          index, schema, isDeclared: true, isAdded: own != nil, isComplete: own?.isValid ?? true,
          there?.rowCount ?? own?.rowCount ?? 0))
    }
    for entry in wanted where !schema.indexes.contains(where: { $0.name == entry.name }) {
      guard let index = try? entry.added?.checked(schema) else { continue }
      listed.append(
        Self.stored(
          index, schema, isDeclared: false, isAdded: true, isComplete: entry.isValid, entry.rowCount))
    }
    return listed.sorted { ($0.entityName, $0.name) < ($1.entityName, $1.name) }
  }

  private static func stored(
    _ index: IndexSchema, _ schema: Schema, isDeclared: Bool, isAdded: Bool, isComplete: Bool, _ count: Int
  ) -> StoredIndex {
    let owner = schema.entities[index.owner]
    return StoredIndex(
      name: String(index.name.dropFirst(owner.name.count + 1)), entityName: owner.name,
      attributes: index.parts.map {
        StoredIndex.Attribute(name: owner.attributes[$0.slot].name, isAscending: $0.isAscending)
      },
      predicateFormat: nil, isUnique: index.isUnique, isDeclared: isDeclared, isAdded: isAdded,
      isComplete: isComplete, entryCount: count)
  }
}
