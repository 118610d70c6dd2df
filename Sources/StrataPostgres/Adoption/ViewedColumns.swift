import StrataCore

/// The columns of tables of somebody else's that a store's views look at: by their numbers, so that the views go on when the columns are renamed. What is asked of the server about a
/// column names it.
struct ViewedColumns {
  private let mapping: StoreMapping
  /// By hierarchy, the names of now, without quotes.
  private var names: [Int: Set<String>] = [:]

  /// - Throws: ``SQLError``, ``StorageError``.
  init(_ mapping: StoreMapping, on connection: PostgresConnection) throws {
    self.mapping = mapping
    let answer = try connection.run(
      SQLStatement(
        "\(mapping.adoptedViews) SELECT DISTINCT v.place, a.attname::text FROM v JOIN pg_catalog.pg_rewrite r ON r.ev_class = v.view JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_rewrite'::regclass AND d.objid = r.oid AND d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid <> v.view JOIN pg_catalog.pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid AND a.attnum > 0"
      ))
    for row in 0..<answer.rowCount {
      names[Int(try answer.integer(row, 0)), default: []].insert(try answer.text(row, 1))
    }
  }

  /// - Throws: ``StorageError`` `.invalid` when somebody has renamed columns that the model names, or that the store has added. It names them all.
  func requireKnownNames() throws {
    let sentences = mapping.tables.flatMap(sentences)
    if sentences.isEmpty { return }
    throw StorageError(
      .invalid, operation: "open store", path: "",
      detail:
        "Somebody has renamed columns of tables that the store has taken over. \(sentences.joined(separator: " ")) Give them their names back (ALTER TABLE … RENAME COLUMN …), or destroy the store, which leaves the tables and their rows as they are, and take the tables over again with a model that names the columns of now. Nothing was changed."
    )
  }

  private func sentences(_ table: TableMapping) -> [String] {
    guard let adopted = table.adopted, let found = names[table.hierarchy] else { return [] }
    let own = table.columns.map { (name: Identifier.plain($0.name), path: Optional($0.path)) }
    let wanted = own + AdoptedTable.columns.map { (name: $0, path: nil) }
    let missing = wanted.filter { !found.contains($0.name) }
    // The key may be called whatever it likes.
    let unknown = found.subtracting(wanted.map(\.name) + [adopted.key]).sorted()
    let isKeyKnown = found.contains(adopted.key)
    return missing.map { column in
      let now = missing.count == 1 && isKeyKnown && unknown.count == 1 ? ": it is “\(unknown[0])” now" : ""
      let what = column.path.map { ", in which \($0) is," } ?? ", which the store has added,"
      return "The column “\(column.name)” of “\(adopted.name)”\(what) is not called so any more\(now)."
    }
  }
}
