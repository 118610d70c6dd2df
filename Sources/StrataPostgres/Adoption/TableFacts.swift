import StrataCore

/// What the server says of tables that somebody else has made.
struct TableFacts {
  struct Column {
    let name: String
    let type: String
    let isRequired: Bool
    let hasDefault: Bool
    /// Computed by the server from others.
    let isGenerated: Bool
    /// `a` for one that nobody else may give values.
    let identity: String
    /// Whether texts are the same only when their bytes are.
    let isDeterministic: Bool
  }

  struct ForeignKey {
    let name: String
    let columns: Int
    let column: String
    let namespace: String
    let table: String
    let target: String
    /// `a` when the server does nothing on deletion.
    let deletion: String
    let isDeferrable: Bool
    let isValid: Bool
  }

  /// Whether it is an ordinary table.
  let isOrdinary: Bool
  /// What it is or has besides that keeps it from being taken over, as the end of a sentence.
  let obstacles: [String]
  let columns: [Column]
  let foreignKeys: [ForeignKey]
  /// The columns of the primary key.
  let key: [String]
  /// The sequence of the key's column, its step, and the value that it gives next.
  let sequence: (name: String, step: Int64, next: Int64)?
  /// The smallest and the largest key.
  let keys: ClosedRange<Int64>?

  /// In the order of the columns that are asked for.
  private static let obstacles = [
    "is a partition of another table, which takes no columns of its own.",
    "has tables that inherit from it: their rows would be objects, too, and may have the same keys.",
    "has rules (CREATE RULE), which make other statements of those that the store sends. Use triggers.",
    "has row level security, which does not hold for a role that reads it through the store's view: everybody would see and change all rows.",
  ]

  private static let relation =
    "pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"

  /// The facts of a table; nil when there is none of that name.
  /// - Throws: ``SQLError``, ``StorageError``.
  init?(_ namespace: String, _ name: String, on connection: PostgresConnection) throws {
    func question(_ words: String, _ rest: String) -> SQLStatement {
      var statement = SQLStatement(words + " WHERE n.nspname = ")
      statement += statement.bind(namespace) + "::text AND c.relname = " + statement.bind(name) + "::text"
      statement += rest
      return statement
    }
    let results = try connection.run([
      question(
        "SELECT c.relkind::text, c.relispartition::text, EXISTS (SELECT 1 FROM pg_catalog.pg_inherits h WHERE h.inhparent = c.oid)::text, EXISTS (SELECT 1 FROM pg_catalog.pg_rewrite w WHERE w.ev_class = c.oid AND w.rulename <> '_RETURN')::text, c.relrowsecurity::text FROM \(Self.relation)",
        ""),
      question(
        "SELECT a.attname::text, pg_catalog.format_type(a.atttypid, a.atttypmod), a.attnotnull::text, a.atthasdef::text, a.attgenerated::text, a.attidentity::text, COALESCE(o.collisdeterministic, true)::text FROM \(Self.relation) JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid LEFT JOIN pg_catalog.pg_collation o ON o.oid = a.attcollation",
        " AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"),
      question(
        "SELECT k.conname::text, pg_catalog.array_length(k.conkey, 1), a.attname::text, m.nspname::text, t.relname::text, b.attname::text, k.confdeltype::text, k.condeferrable::text, k.convalidated::text FROM \(Self.relation) JOIN pg_catalog.pg_constraint k ON k.conrelid = c.oid AND k.contype = 'f' JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.conkey[1] JOIN pg_catalog.pg_class t ON t.oid = k.confrelid JOIN pg_catalog.pg_namespace m ON m.oid = t.relnamespace JOIN pg_catalog.pg_attribute b ON b.attrelid = t.oid AND b.attnum = k.confkey[1]",
        " ORDER BY k.conname"),
      question(
        "SELECT a.attname::text FROM \(Self.relation) JOIN pg_catalog.pg_constraint k ON k.conrelid = c.oid AND k.contype = 'p' JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY(k.conkey)",
        " ORDER BY a.attnum"),
    ])
    guard results[0].rowCount == 1 else { return nil }
    isOrdinary = try results[0].text(0, 0) == "r"
    func isTrue(_ result: SQLResult, _ row: Int, _ column: Int) throws -> Bool {
      try result.text(row, column) == "true"
    }
    obstacles = try Self.obstacles.enumerated().filter { try isTrue(results[0], 0, $0.offset + 1) }
      .map(\.element)
    columns = try (0..<results[1].rowCount).map { row in
      Column(
        name: try results[1].text(row, 0), type: try results[1].text(row, 1),
        isRequired: try isTrue(results[1], row, 2), hasDefault: try isTrue(results[1], row, 3),
        isGenerated: try !results[1].text(row, 4).isEmpty, identity: try results[1].text(row, 5),
        isDeterministic: try isTrue(results[1], row, 6))
    }
    foreignKeys = try (0..<results[2].rowCount).map { row in
      ForeignKey(
        name: try results[2].text(row, 0), columns: Int(try results[2].integer(row, 1)),
        column: try results[2].text(row, 2), namespace: try results[2].text(row, 3),
        table: try results[2].text(row, 4), target: try results[2].text(row, 5),
        deletion: try results[2].text(row, 6), isDeferrable: try isTrue(results[2], row, 7),
        isValid: try isTrue(results[2], row, 8))
    }
    key = try (0..<results[3].rowCount).map { try results[3].text($0, 0) }
    let keyType = key.count == 1 ? columns.first { [key] in $0.name == key[0] }?.type : nil
    guard isOrdinary, key.count == 1, ["bigint", "integer"].contains(keyType) else {
      (sequence, keys) = (nil, nil)
      return
    }
    let relation = StoreMapping.qualified(name, namespace)
    let quoted = Identifier.quoted(key[0])
    var found = SQLStatement(
      "SELECT q.name, s.seqincrement FROM (SELECT pg_catalog.pg_get_serial_sequence(")
    found += found.bind(relation) + ", " + found.bind(key[0])
    found += ") AS name) q JOIN pg_catalog.pg_sequence s ON s.seqrelid = q.name::regclass"
    let ends = SQLStatement(
      "SELECT pg_catalog.min(\(quoted))::bigint, pg_catalog.max(\(quoted))::bigint FROM \(relation)")
    let answers = try connection.run([found, ends])
    if answers[0].rowCount == 1 {
      let (sequence, step) = try (answers[0].text(0, 0), answers[0].integer(0, 1))
      // As the server writes the name, in quotes where it needs them.
      let value = try connection.run(
        SQLStatement("SELECT s.last_value, s.is_called::text FROM \(sequence) s"))
      let last = try value.integer(0, 0)
      self.sequence = (
        sequence, step, try isTrue(value, 0, 1) ? last.addingReportingOverflow(step).partialValue : last
      )
    } else {
      sequence = nil
    }
    keys = try answers[1][0, 0] == nil ? nil : answers[1].integer(0, 0)...answers[1].integer(0, 1)
  }

  func column(_ name: String) -> Column? { columns.first { $0.name == name } }
}
