import StrataCore

/// What a store is told, when it is opened, of the tables of somebody else's that it has taken over: what may have changed since.
struct AdoptedSurroundings {
  /// By hierarchy: the triggers of its table.
  private var triggers: [Int: OthersTriggers] = [:]
  /// By hierarchy: the columns, without quotes, whose own order is that of the bytes.
  private var byteOrdered: [Int: Set<String>] = [:]

  /// - Throws: ``SQLError``, ``StorageError``.
  init(_ mapping: StoreMapping, on connection: PostgresConnection) throws {
    // Triggers for inserts have the bit 4, those for deletes 8, those for updates 16.
    let triggers =
      "\(mapping.adoptedRelations) SELECT t.place, pg_catalog.bool_or((g.tgtype & 20) <> 0), pg_catalog.bool_or((g.tgtype & 8) <> 0) FROM t JOIN pg_catalog.pg_trigger g ON g.tgrelid = t.relation AND (NOT g.tgisinternal OR EXISTS (SELECT 1 FROM pg_catalog.pg_constraint k WHERE k.oid = g.tgconstraint AND k.confrelid = g.tgrelid AND (k.confupdtype IN ('c', 'n', 'd') OR k.confdeltype IN ('c', 'n', 'd')))) AND g.tgenabled IN ('O', 'A') AND (g.tgtype & 28) <> 0 JOIN pg_catalog.pg_proc p ON p.oid = g.tgfoid JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace"
    var others = SQLStatement(triggers)
    others += " WHERE n.nspname <> " + others.bind(mapping.namespace) + "::text OR p.proname <> "
    others += others.bind(AdoptedTable.trigger) + "::text GROUP BY t.place"
    // The database's own order may be that of the bytes as well. Before version 15 there is no provider but the system.
    let orders = SQLStatement(
      "\(mapping.adoptedRelations) SELECT t.place, a.attname::text FROM t JOIN pg_catalog.pg_attribute a ON a.attrelid = t.relation AND a.attnum > 0 AND NOT a.attisdropped JOIN pg_catalog.pg_collation o ON o.oid = a.attcollation JOIN pg_catalog.pg_database d ON d.datname = pg_catalog.current_database() WHERE o.collprovider = 'c' AND o.collcollate IN ('C', 'POSIX') OR o.collprovider = 'd' AND d.datcollate IN ('C', 'POSIX') AND COALESCE(pg_catalog.to_jsonb(d) ->> 'datlocprovider', 'c') = 'c'"
    )
    let answers = try connection.run([others, orders])
    for row in 0..<answers[0].rowCount {
      func isTrue(_ column: Int) -> Bool { answers[0][row, column]?.bytes.first == 1 }
      self.triggers[Int(try answers[0].integer(row, 0))] = OthersTriggers(
        followWrites: isTrue(1), followDeletes: isTrue(2))
    }
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
        triggers: triggers[table.hierarchy] ?? OthersTriggers())
    }
    return StoreMapping(
      schema: mapping.schema, namespace: mapping.namespace, tables: tables, joins: mapping.joins,
      codes: mapping.codes, entitiesByCode: mapping.entitiesByCode, names: mapping.names,
      generation: mapping.generation)
  }
}

extension StoreMapping {
  /// The beginning of a question about the tables of somebody else's: `v` has the hierarchy of each as `place`, and the store's view of it as `view`.
  var adoptedViews: String {
    let views = tables.filter { $0.adopted != nil }
      .map { "(\($0.hierarchy)::bigint, '\($0.name.replacing(mark: "'", with: "''"))'::regclass::oid)" }
      .joined(separator: ", ")
    return "WITH v(place, view) AS (VALUES \(views))"
  }

  /// The same with `t`, which has the table that each view looks at as `relation`. It may have been moved and renamed since it was taken over.
  var adoptedRelations: String {
    "\(adoptedViews), t AS (SELECT DISTINCT v.place, d.refobjid AS relation FROM v JOIN pg_catalog.pg_rewrite r ON r.ev_class = v.view JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_rewrite'::regclass AND d.objid = r.oid AND d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid <> v.view)"
  }
}
