import StrataCore

/// What somebody else has added to the tables of a store. A migration makes the tables anew, and all of it would be gone.
///
/// The tables are made once more, empty, under the names that they have, and undone again: what the server says of the store's tables and not of these is somebody else's.
struct TableAdditions {
  /// The tables as they are called, by which names nothing is called at the moment.
  let mapping: StoreMapping
  /// The same tables under the names that they have been given to be out of the way.
  let aside: StoreMapping
  let connection: PostgresConnection

  /// So many of them are named.
  private static let mostNamed = 20

  /// - Throws: `CoreDataError` 134110 that names them; ``SQLError``, ``StorageError``.
  func requireNone() throws {
    let found = try parts(of: aside)
    try connection.run(SQLStatement("SAVEPOINT strata_plain"))
    // By now they are named as they are called: a table may have the name of an index.
    try connection.run(aside.indexesAside(on: connection))
    try connection.runText(SchemaStatements(mapping).all.joined(separator: ";\n"))
    var own = Dictionary(try parts(of: mapping).map { ($0, 1) }, uniquingKeysWith: +)
    try connection.run([
      SQLStatement("ROLLBACK TO SAVEPOINT strata_plain"), SQLStatement("RELEASE SAVEPOINT strata_plain"),
    ])
    let others = found.filter { part in
      guard let count = own[part], count > 0 else { return true }
      own[part] = count - 1
      return false
    }
    if others.isEmpty { return }
    let names = mapping.tables.map(\.plainName) + mapping.ownJoins.map(\.join.plainName)
    var sentences: [String] = []
    for place in names.indices {
      let parts = Set(others.filter { $0.place == place }.map(\.words)).sorted()
      if !parts.isEmpty { sentences.append("“\(names[place])” has \(parts.joined(separator: ", "))") }
    }
    let more = sentences.count > Self.mostNamed ? "; and \(sentences.count - Self.mostNamed) tables more" : ""
    throw CoreDataError(
      .migration,
      "Somebody has given tables of the store what the store has not made: \(sentences.prefix(Self.mostNamed).joined(separator: "; "))\(more). A migration makes the tables anew, and all that would be gone: nothing was changed. Drop it before, and make it again; what such columns hold has to be kept in another table meanwhile."
    )
  }

  /// Something that a table has.
  private struct Part: Hashable {
    /// Which table, among those of hierarchies and behind them those of links.
    let place: Int
    /// What tells it from other parts, whatever the server calls it.
    let description: String
    /// What it is called in messages.
    let words: String

    static func == (a: Self, b: Self) -> Bool { a.place == b.place && a.description == b.description }
    func hash(into hasher: inout Hasher) {
      hasher.combine(place)
      hasher.combine(description)
    }
  }

  private func parts(of mapping: StoreMapping) throws -> [Part] {
    let result = try connection.run(SQLStatement(question(mapping)))
    return try (0..<result.rowCount).map { row in
      Part(
        place: Int(try result.integer(row, 0)), description: try result.text(row, 1),
        words: try result.text(row, 2))
    }
  }

  private func question(_ mapping: StoreMapping) -> String {
    let tables = mapping.tableNames.enumerated()
      .map { "(\($0.offset), '\($0.element.replacing(mark: "'", with: "''"))'::regclass::oid)" }
      .joined(separator: ", ")
    return """
      WITH t(place, relation) AS (VALUES \(tables))
      SELECT t.place::integer, o.words, o.words FROM t JOIN pg_catalog.pg_class c ON c.oid = t.relation
        CROSS JOIN LATERAL (VALUES
          ('row level security', c.relrowsecurity OR EXISTS (SELECT 1 FROM pg_catalog.pg_policy p WHERE p.polrelid = c.oid)),
          ('triggers', EXISTS (SELECT 1 FROM pg_catalog.pg_trigger g WHERE g.tgrelid = c.oid AND NOT g.tgisinternal)),
          ('rights to single columns', EXISTS (SELECT 1 FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND a.attacl IS NOT NULL)),
          ('rules', EXISTS (SELECT 1 FROM pg_catalog.pg_rewrite w WHERE w.ev_class = c.oid)),
          ('inheritance', EXISTS (SELECT 1 FROM pg_catalog.pg_inherits h WHERE h.inhparent = c.oid OR h.inhrelid = c.oid)),
          ('a place in a publication', EXISTS (SELECT 1 FROM pg_catalog.pg_publication_rel r WHERE r.prrelid = c.oid)),
          ('extended statistics', EXISTS (SELECT 1 FROM pg_catalog.pg_statistic_ext s WHERE s.stxrelid = c.oid)),
          ('a replica identity', c.relreplident <> 'd'), ('storage parameters', c.reloptions IS NOT NULL),
          ('a tablespace', c.reltablespace <> 0), ('the property UNLOGGED', c.relpersistence <> 'p')
        ) o(words, holds) WHERE o.holds
      UNION ALL
      SELECT t.place::integer, d.words, 'the column ' || d.words
        FROM t JOIN pg_catalog.pg_attribute a ON a.attrelid = t.relation AND a.attnum > 0 AND NOT a.attisdropped
        LEFT JOIN pg_catalog.pg_attrdef e ON e.adrelid = a.attrelid AND e.adnum = a.attnum
        CROSS JOIN LATERAL (SELECT pg_catalog.concat(a.attname, ' ', pg_catalog.format_type(a.atttypid, a.atttypmod),
          CASE WHEN a.attnotnull THEN ' NOT NULL' END, ' DEFAULT ' || pg_catalog.pg_get_expr(e.adbin, e.adrelid),
          CASE WHEN a.attidentity <> '' THEN ' IDENTITY' END, CASE WHEN a.attgenerated <> '' THEN ' GENERATED' END)) d(words)
      UNION ALL
      SELECT t.place::integer, pg_catalog.concat_ws(' ', 'index', m.amname, i.indisunique, i.indnkeyatts, i.indclass, i.indcollation, i.indoption,
          (SELECT pg_catalog.string_agg(pg_catalog.pg_get_indexdef(i.indexrelid, n, false), ', ' ORDER BY n) FROM pg_catalog.generate_series(1, i.indnatts::integer) n),
          pg_catalog.pg_get_expr(i.indpred, i.indrelid)), 'the index ' || c.relname
        FROM t JOIN pg_catalog.pg_index i ON i.indrelid = t.relation JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
        JOIN pg_catalog.pg_am m ON m.oid = c.relam
        WHERE NOT EXISTS (SELECT 1 FROM pg_catalog.pg_constraint k WHERE k.conindid = c.oid AND k.contype IN ('p', 'u', 'x'))
        AND NOT EXISTS (SELECT 1 FROM \(mapping.qualified("strata_index")) x WHERE x.relation = c.relname::text)
      UNION ALL
      SELECT t.place::integer, CASE k.contype WHEN 'f' THEN pg_catalog.concat_ws(' ', 'foreign key',
          (SELECT pg_catalog.string_agg(a.attname, ', ' ORDER BY u.place) FROM pg_catalog.unnest(k.conkey) WITH ORDINALITY u(number, place)
            JOIN pg_catalog.pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.number),
          COALESCE((SELECT v.place::text FROM t v WHERE v.relation = k.confrelid), k.confrelid::regclass::text),
          k.condeferrable, k.condeferred, k.confdeltype, k.confupdtype, k.confmatchtype)
          ELSE pg_catalog.pg_get_constraintdef(k.oid) END, 'the constraint ' || k.conname
        FROM t JOIN pg_catalog.pg_constraint k ON k.conrelid = t.relation WHERE k.contype NOT IN ('n', 't')
      ORDER BY 1, 3
      """
  }
}
