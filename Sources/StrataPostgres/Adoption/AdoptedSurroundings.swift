import StrataCore

/// What a store is told, when it is opened, of the tables of somebody else's that it has taken over: what may have changed since.
struct AdoptedSurroundings {
  /// The hierarchies whose tables have triggers that may give rows other values than those that were sent.
  private var rewritten: Set<Int> = []
  /// By hierarchy: the columns, without quotes, whose own order is that of the bytes.
  private var byteOrdered: [Int: Set<String>] = [:]

  /// - Throws: ``SQLError``, ``StorageError``.
  init(_ mapping: StoreMapping, on connection: PostgresConnection) throws {
    // Triggers for inserts have the bit 4, those for updates 16.
    let triggers =
      "\(mapping.adoptedRelations) SELECT DISTINCT t.place FROM t JOIN pg_catalog.pg_trigger g ON g.tgrelid = t.relation AND NOT g.tgisinternal AND g.tgenabled IN ('O', 'A') AND (g.tgtype & 20) <> 0 JOIN pg_catalog.pg_proc p ON p.oid = g.tgfoid JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace"
    var others = SQLStatement(triggers)
    others += " WHERE n.nspname <> " + others.bind(mapping.namespace) + "::text OR p.proname <> "
    others += others.bind(AdoptedTable.trigger) + "::text"
    // The database's own order may be that of the bytes as well. Before version 15 there is no provider but the system.
    let orders = SQLStatement(
      "\(mapping.adoptedRelations) SELECT t.place, a.attname::text FROM t JOIN pg_catalog.pg_attribute a ON a.attrelid = t.relation AND a.attnum > 0 AND NOT a.attisdropped JOIN pg_catalog.pg_collation o ON o.oid = a.attcollation JOIN pg_catalog.pg_database d ON d.datname = pg_catalog.current_database() WHERE o.collprovider = 'c' AND o.collcollate IN ('C', 'POSIX') OR o.collprovider = 'd' AND d.datcollate IN ('C', 'POSIX') AND COALESCE(pg_catalog.to_jsonb(d) ->> 'datlocprovider', 'c') = 'c'"
    )
    let answers = try connection.run([others, orders])
    for row in 0..<answers[0].rowCount { rewritten.insert(Int(try answers[0].integer(row, 0))) }
    for row in 0..<answers[1].rowCount {
      byteOrdered[Int(try answers[1].integer(row, 0)), default: []].insert(try answers[1].text(row, 1))
    }
  }

  /// The same mapping with what is known by now.
  func applied(to mapping: StoreMapping) -> StoreMapping {
    let tables = mapping.tables.map { table in
      let columns = table.columns.map { column in
        var column = column
        column.isByteOrdered = byteOrdered[table.hierarchy]?.contains(Identifier.plain(column.name)) == true
        return column
      }
      return TableMapping(
        hierarchy: table.hierarchy, name: table.name, plainName: table.plainName, sequence: table.sequence,
        columns: columns, places: table.places, outside: table.outside, adopted: table.adopted,
        isRewritten: rewritten.contains(table.hierarchy))
    }
    return StoreMapping(
      schema: mapping.schema, namespace: mapping.namespace, tables: tables, joins: mapping.joins,
      codes: mapping.codes, entitiesByCode: mapping.entitiesByCode, names: mapping.names,
      generation: mapping.generation)
  }
}

extension StoreMapping {
  /// The beginning of a question about the tables of somebody else's: `t` has the hierarchy of each as `place`, and the table that its view looks at as `relation`. It may have
  /// been moved and renamed since it was taken over.
  var adoptedRelations: String {
    let views = tables.filter { $0.adopted != nil }
      .map { "(\($0.hierarchy)::bigint, '\($0.name.replacing(mark: "'", with: "''"))'::regclass::oid)" }
      .joined(separator: ", ")
    return
      "WITH v(place, view) AS (VALUES \(views)), t AS (SELECT DISTINCT v.place, d.refobjid AS relation FROM v JOIN pg_catalog.pg_rewrite r ON r.ev_class = v.view JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_rewrite'::regclass AND d.objid = r.oid AND d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid <> v.view)"
  }
}
