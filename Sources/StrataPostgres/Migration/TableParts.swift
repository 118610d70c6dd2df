import StrataCore

/// The indexes and constraints of a table, with the comments that people have given them.
struct TableParts {
  /// An index or a constraint.
  struct Part: Equatable {
    /// ``TableParts/index``, or what the server calls the constraint's type: `p`, `f`, `c`.
    let kind: String
    let name: String
    let comment: String?
    /// What else tells it from others over the same columns: whether it is unique, and in which order.
    let traits: String
    /// Which rows it is about, in the server's words; empty for all.
    let condition: String
    /// What it is over, each beginning with `c` for a column or `l` for the first characters of one, without quotes.
    fileprivate(set) var columns: [String]
    /// Of a foreign key: the number of the table that it leads to.
    fileprivate(set) var target: Int64

    /// Whether another one is the same, but for its name, comment and condition.
    func isLike(_ other: Part) -> Bool {
      (kind, traits, columns, target) == (other.kind, other.traits, other.columns, other.target)
    }

    /// The same over other columns; nil where one of them, or the table that it leads to, is gone.
    /// - Parameters:
    ///   - columns: In quotes, by the column there was.
    ///   - tables: By number.
    func becoming(columns names: [String: String], tables: [Int64: Int64]) -> Part? {
      var part = self
      for (place, column) in columns.enumerated() {
        guard let mark = column.first, let name = names[Identifier.quoted(String(column.dropFirst()))] else {
          return nil
        }
        part.columns[place] = String(mark) + Identifier.plain(name)
      }
      if target != 0 {
        guard let table = tables[target] else { return nil }
        part.target = table
      }
      return part
    }
  }

  static let index = "i"

  let parts: [Part]

  /// - Parameter table: With namespace and quotes.
  /// - Throws: ``SQLError``, ``StorageError``.
  init(_ table: String, on connection: PostgresConnection) throws {
    let relation = "\(CommentTransfer.literal(table))::regclass"
    // A store's index is over columns and over the first characters of columns.
    let answer = try connection.run(
      SQLStatement(
        """
        SELECT '\(Self.index)'::text, c.relname::text, d.description, pg_catalog.concat_ws(' ', i.indisunique, i.indisprimary, i.indoption),
          COALESCE(pg_catalog.pg_get_expr(i.indpred, i.indrelid), ''),
          (SELECT pg_catalog.string_agg(COALESCE('c' || a.attname, (SELECT 'l' || b.attname FROM pg_catalog.pg_attribute b
              WHERE b.attrelid = i.indrelid AND b.attnum > 0 AND pg_catalog.pg_get_indexdef(i.indexrelid, k.place::integer, false)
                = pg_catalog.format('"left"(%I, \(SchemaStatements.prefixLength))', b.attname)), '?'), E'\\x01' ORDER BY k.place)
            FROM pg_catalog.generate_series(1, i.indnkeyatts) k(place)
            LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[k.place - 1] AND a.attnum > 0), 0::bigint
          FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
          LEFT JOIN pg_catalog.pg_description d ON d.classoid = 'pg_catalog.pg_class'::regclass AND d.objoid = c.oid AND d.objsubid = 0
          WHERE i.indrelid = \(relation)
        UNION ALL
        SELECT k.contype::text, k.conname::text, d.description, '', '',
          (SELECT pg_catalog.string_agg('c' || a.attname, E'\\x01' ORDER BY u.place) FROM pg_catalog.unnest(k.conkey) WITH ORDINALITY u(number, place)
            JOIN pg_catalog.pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.number), k.confrelid::bigint
          FROM pg_catalog.pg_constraint k
          LEFT JOIN pg_catalog.pg_description d ON d.classoid = 'pg_catalog.pg_constraint'::regclass AND d.objoid = k.oid AND d.objsubid = 0
          WHERE k.conrelid = \(relation)
        """))
    parts = try (0..<answer.rowCount).map { row in
      Part(
        kind: try answer.text(row, 0), name: try answer.text(row, 1), comment: answer[row, 2]?.text,
        traits: try answer.text(row, 3), condition: try answer.text(row, 4),
        columns: (answer[row, 5]?.text ?? "").split(separator: "\u{1}").map(String.init),
        target: try answer.integer(row, 6))
    }
  }
}
