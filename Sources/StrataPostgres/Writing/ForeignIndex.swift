import StrataCore

/// A unique index that is not the model's: somebody has made it for the table, over expressions, over some rows, or over columns of which the model says nothing of the kind; or one by
/// which NULL is a value as others.
enum ForeignIndex {
  private static func table(_ error: SQLError, _ mapping: StoreMapping) -> TableMapping? {
    mapping.tables.first { table in
      let (namespace, name) =
        table.adopted.map { ($0.namespace, $0.name) } ?? (mapping.namespace, table.plainName)
      return namespace == error.namespace && name == error.table
    }
  }

  /// Whether NULL is a value as others to an index `i`, in SQL: a server before version 15 does not know that.
  static let takesNulls = "COALESCE((pg_catalog.to_jsonb(i) ->> 'indnullsnotdistinct')::boolean, false)"

  /// Asks what the index is that the server has named; nil when it has named none of a table of the model's.
  static func question(_ error: SQLError, _ mapping: StoreMapping) -> SQLStatement? {
    guard !error.constraint.isEmpty, table(error, mapping) != nil else { return nil }
    var statement = SQLStatement(
      "SELECT pg_catalog.pg_get_indexdef(i.indexrelid), i.indisprimary, i.indexprs IS NOT NULL, i.indpred IS NOT NULL, a.attname::text, \(takesNulls) FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid JOIN pg_catalog.pg_class t ON t.oid = i.indrelid JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = t.oid AND a.attnum = ANY((i.indkey::smallint[])[0:i.indnkeyatts - 1]) WHERE n.nspname = "
    )
    statement += statement.bind(error.namespace) + "::text AND t.relname = "
    statement += statement.bind(error.table) + "::text AND c.relname = "
    statement += statement.bind(error.constraint) + "::text"
    return statement
  }

  /// What is told of it; nil when the index is the model's, and nothing but others can be the reason.
  static func refusal(_ error: SQLError, of set: ChangeSet, _ mapping: StoreMapping, _ answer: SQLResult)
    throws -> StorageError?
  {
    guard answer.rowCount > 0, let table = table(error, mapping) else { return nil }
    func isTrue(_ column: Int) -> Bool { answer[0, column]?.bytes.first == 1 }
    if isTrue(1) { return nil }
    let columns = Set((0..<answer.rowCount).compactMap { answer[$0, 4]?.text })
    let models = mapping.schema.indexes.first { index in
      guard index.isUnique, mapping.schema.entities[index.owner].hierarchyNumber == table.hierarchy else {
        return false
      }
      let own = index.parts.compactMap { table.column(index.owner, $0.slot) }
      return Set(own.map { Identifier.plain($0.name) }) == columns
    }
    // The store limits indexes of its own to entities.
    if let models, !isTrue(2), !isTrue(3) || table.adopted == nil {
      return isTrue(5) && meetsNulls(set, models, mapping.schema) ? refusal(ofNulls: error) : nil
    }
    return StorageError(
      .refused, operation: "commit", path: "",
      detail:
        "The server refuses rows because of the unique index “\(error.constraint)” of the table “\(error.table)”, which is not a constraint of the model's: \(try answer.text(0, 0)). Another row has the same values there. Nothing was saved."
    )
  }

  /// Whether a change set leaves values of a constraint nil, or may pass through NULL since rows exchange them.
  private static func meetsNulls(_ set: ChangeSet, _ index: IndexSchema, _ schema: Schema) -> Bool {
    func concerns(_ change: RowChange) -> Bool {
      schema.entities[index.owner].subtree.contains(change.entity)
        && (change.baseVersion == 0 || index.parts.contains { change.changedSlots.contains($0.slot) })
    }
    let changes = (set.inserts + set.updates).filter(concerns)
    return set.updates.filter(concerns).count > 1
      || changes.contains {
        RowStatements.values($0.row, index.parts.map(\.slot), schema.entities[$0.entity]) == nil
      }
  }

  private static func refusal(ofNulls error: SQLError) -> StorageError {
    StorageError(
      .refused, operation: "commit", path: "",
      detail:
        "The server refuses rows because of the unique index “\(error.constraint)” of the table “\(error.table)”, by which NULL is a value as others (NULLS NOT DISTINCT): one row alone may have it, and another one has it already, or has it for a moment while rows exchange values in a circle. Save such rows in two steps with another value in between, have the constraint made DEFERRABLE, or have the index made without these words. Nothing was saved."
    )
  }
}
