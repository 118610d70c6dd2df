import StrataCore

/// Takes tables over that somebody else has made, for a new store: looks whether they are what the model says, and adds what the store needs.
///
/// In the transaction that makes the store. What others have in the tables stays: rows, columns that the model does not name, defaults, constraints, indexes, triggers.
struct TableAdoption {
  /// The store as it would be with tables of its own.
  let mapping: StoreMapping
  /// The namespace of the tables.
  let namespace: String
  let connection: PostgresConnection
  let timeout: Duration

  private var schema: Schema { mapping.schema }

  /// The store on these tables, which are locked from then on.
  /// - Throws: ``StorageError`` `.invalid` with all reasons against it; ``SQLError`` 55P03 when somebody holds a table longer than the timeout.
  func run() throws -> StoreMapping {
    guard namespace != mapping.namespace else {
      throw Self.refused([
        "The store's own tables and views need a namespace that is not “\(namespace)”, that of the tables."
      ])
    }
    var reasons = AdoptableModel.refusals(schema)
    // Nobody changes them while they are looked at. Those that there are not are told below.
    try TableLocks(connection: connection, timeout: timeout).take(try present())
    let facts = try mapping.tables.map { try TableFacts(namespace, $0.plainName, on: connection) }
    let unique = try ServerIndex.all(connection.run(ServerIndex.question(namespace)))
    let keys = Dictionary(
      zip(mapping.tables, facts).compactMap { table, facts in facts?.key.first.map { (table.plainName, $0) } }
    ) { first, _ in first }
    var adopted: [AdoptedTable] = []
    for (table, facts) in zip(mapping.tables, facts) {
      guard let facts, facts.isOrdinary else {
        reasons.append("There is no table “\(table.plainName)” in “\(namespace)”, or it is no ordinary one.")
        continue
      }
      let check = AdoptionCheck(
        mapping: mapping, table: table, namespace: namespace, facts: facts, keys: keys)
      reasons += check.reasons + check.missingConstraints(unique)
      if let missing = check.missingValues {
        reasons += try check.reasons(Self.counted(missing.statement, on: connection), missing.columns)
      }
      guard let key = facts.key.first, let sequence = facts.sequence else { continue }
      adopted.append(
        AdoptedTable(
          namespace: namespace, name: table.plainName, key: key, sequence: sequence.name,
          constraints: check.foreignKeys.filter { !$0.isDeferrable }.map(\.name), lengths: check.lengths))
    }
    guard reasons.isEmpty, adopted.count == mapping.tables.count else { throw Self.refused(reasons) }
    return try mapping.adopting(adopted)
  }

  /// The answer to a question that reads a whole table, for which the server may take as long as it likes.
  static func counted(_ question: SQLStatement, on connection: PostgresConnection) throws -> SQLResult {
    let patience = connection.patience
    connection.patience = nil
    defer { connection.patience = patience }
    return try connection.run(question)
  }

  private func present() throws -> [String] {
    var statement = SQLStatement(
      "SELECT c.relname::text FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'r' AND n.nspname = "
    )
    statement += statement.bind(namespace) + "::text"
    let result = try connection.run(statement)
    let found = try Set((0..<result.rowCount).map { try result.text($0, 0) })
    return mapping.tables.map(\.plainName).filter(found.contains).sorted()
      .map { StoreMapping.qualified($0, namespace) }
  }

  private static func refused(_ reasons: [String]) -> StorageError {
    StorageError(
      .invalid, operation: "open store", path: "",
      detail: "The tables cannot be taken over; nothing was changed. " + reasons.joined(separator: " "))
  }

  /// The version of a row that somebody else inserts, in SQL: it follows from the number of the transaction, which needs no rights. A row that is deleted and inserted again
  /// under its key, or gets the key of another one, has a version that no row of the key has had, and a higher one until the numbers begin anew, after 2²⁷ transactions.
  /// There is room between two numbers, since each save and each further change in a transaction raises a version by one.
  static let freshVersion =
    "((pg_catalog.txid_current() & 134217727::bigint) * 8::bigint + 4::bigint)::integer"

  /// The statement that makes the function of the trigger, or replaces it.
  private static func triggerFunction(_ mapping: StoreMapping) -> String {
    // Others know nothing of versions, and nothing of what is kept account of beside large values.
    """
    CREATE OR REPLACE FUNCTION \(mapping.qualified(AdoptedTable.trigger))() RETURNS trigger LANGUAGE plpgsql AS $strata$
    BEGIN
      IF TG_NARGS > 0 OR pg_catalog.current_setting('strata.session', true) IS DISTINCT FROM 'on' THEN
        NEW.strata_version := GREATEST(OLD.strata_version + 1, \(freshVersion));
        NEW.strata_outside := NULL;
      END IF;
      RETURN NEW;
    END $strata$
    """
  }

  /// The statement that makes the trigger for what other triggers do while a store saves: they know nothing of versions either. What they do to columns that the model
  /// does not name is no change of an object. Nil for a table of whose columns it names none.
  private static func effectTrigger(_ mapping: StoreMapping, _ table: TableMapping, on relation: String)
    -> String?
  {
    if table.columns.isEmpty { return nil }
    let changes = table.columns.map { "OLD.\($0.name) IS DISTINCT FROM NEW.\($0.name)" }
    return
      "CREATE TRIGGER \(Identifier.quoted(AdoptedTable.effectTrigger)) BEFORE UPDATE ON \(relation) FOR EACH ROW WHEN (pg_catalog.pg_trigger_depth() > 0 AND OLD.strata_version = NEW.strata_version AND (\(changes.joined(separator: " OR ")))) EXECUTE FUNCTION \(mapping.qualified(AdoptedTable.trigger))('effect')"
  }

  /// The statements that make of the tables what the store needs.
  static func statements(_ mapping: StoreMapping) -> [String] {
    let function = mapping.qualified(AdoptedTable.trigger)
    return [triggerFunction(mapping)]
      + mapping.tables.flatMap { table -> [String] in
        guard let adopted = table.adopted else { return [] }
        let code = mapping.codes[mapping.schema.hierarchies[table.hierarchy].memberNumbers[0]]
        let columns =
          (["\(Identifier.quoted(adopted.key)) AS pk", "strata_entity AS entity"]
          + ["strata_version AS version", "strata_outside AS \(table.outside)"] + table.columns.map(\.name))
          .joined(separator: ", ")
        return [
          "ALTER TABLE \(adopted.relation) ADD COLUMN strata_entity smallint NOT NULL DEFAULT \(code), ADD COLUMN strata_version integer NOT NULL DEFAULT \(freshVersion), ADD COLUMN strata_outside bytea"
        ]
          + adopted.constraints.map {
            "ALTER TABLE \(adopted.relation) ALTER CONSTRAINT \(Identifier.quoted($0)) DEFERRABLE INITIALLY IMMEDIATE"
          } + [
            "CREATE VIEW \(table.name) AS SELECT \(columns) FROM \(adopted.relation)",
            "CREATE TRIGGER \(AdoptedTable.trigger) BEFORE UPDATE ON \(adopted.relation) FOR EACH ROW WHEN (OLD.strata_version = NEW.strata_version) EXECUTE FUNCTION \(function)()",
          ] + [effectTrigger(mapping, table, on: adopted.relation)].compactMap(\.self)
      }
  }

  /// Mends tables that an earlier version has taken over: rows that others inserted again had the version 1 again, and what triggers changed while a store saved kept its
  /// version. Where the role may not do that, or somebody holds the tables, they stay as they are, and the next opening tries it again.
  static func renew(_ mapping: StoreMapping, on connection: PostgresConnection, _ timeout: Duration) throws {
    // The trigger by its function: what it is called in this table may be somebody else's.
    var question = SQLStatement(
      "\(mapping.adoptedRelations) SELECT t.place, t.relation::regclass::text, EXISTS (SELECT 1 FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum WHERE a.attrelid = t.relation AND a.attname = 'strata_version' AND pg_catalog.pg_get_expr(d.adbin, d.adrelid) = '1'), EXISTS (SELECT 1 FROM pg_catalog.pg_trigger g JOIN pg_catalog.pg_proc p ON p.oid = g.tgfoid JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace WHERE g.tgrelid = t.relation AND g.tgnargs > 0 AND n.nspname = "
    )
    question += question.bind(mapping.namespace) + "::text AND p.proname = "
    question += question.bind(AdoptedTable.trigger) + "::text) FROM t"
    let found = try connection.run(question)
    var relations: [String] = []
    var statements: [SQLStatement] = []
    for row in 0..<found.rowCount {
      func isTrue(_ column: Int) -> Bool { found[row, column]?.bytes.first == 1 }
      let (place, relation) = (Int(try found.integer(row, 0)), try found.text(row, 1))
      let count = statements.count
      if isTrue(2) {
        statements.append(
          SQLStatement("ALTER TABLE \(relation) ALTER COLUMN strata_version SET DEFAULT \(freshVersion)"))
      }
      if !isTrue(3), let trigger = effectTrigger(mapping, mapping.tables[place], on: relation) {
        statements.append(SQLStatement(trigger))
      }
      if statements.count > count { relations.append(relation) }
    }
    if relations.isEmpty { return }
    do {
      // Who may not replace the function takes no table away from others.
      try connection.run([
        SQLStatement("BEGIN ISOLATION LEVEL READ COMMITTED"), SQLStatement(triggerFunction(mapping)),
      ])
      try TableLocks(connection: connection, timeout: min(timeout, .seconds(1))).take(relations.sorted())
      try connection.run(statements + [SQLStatement("COMMIT")])
    } catch let error as SQLError {
      guard connection.reset() else { throw error }
      Diagnostics.write(
        "tables that the store in the namespace “\(mapping.namespace)” has taken over could not be mended, so that a row that another program deletes and inserts again under its key is no conflict, or one that a trigger changes while a store saves: open the store once as the owner of the tables. (\(error.storageError("open store", "The server")))",
        .error)
    }
  }

  /// Gives the tables of a store back as they were found: without the columns that were added and without the store's trigger. The store's namespace is gone then, where
  /// the store has made it.
  /// In the transaction of whoever holds the store's row.
  /// - Throws: ``SQLError``, ``StorageError``.
  static func giveBack(_ catalogue: Catalogue, of namespace: String, on connection: PostgresConnection) throws
  {
    // By what they are, not by what they were called: they may have been renamed.
    var question = SQLStatement(
      "SELECT t.tgrelid::regclass::text, k.conname::text, t.tgname::text FROM pg_catalog.pg_trigger t JOIN pg_catalog.pg_proc p ON p.oid = t.tgfoid JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace LEFT JOIN pg_catalog.pg_constraint k ON k.conrelid = t.tgrelid AND k.contype = 'f' AND k.condeferrable AND k.conname = ANY("
    )
    let constraints = try catalogue.adopted.flatMap(\.constraints).map { AttributeValue.string($0) }
    question += (question.bind(values: constraints, as: .text) ?? "NULL") + ") WHERE n.nspname = "
    question += question.bind(namespace) + "::text AND p.proname = "
    question += question.bind(AdoptedTable.trigger) + "::text"
    let found = try connection.run(question)
    // Views look at the columns, triggers call the function, which is in the namespace.
    let last = try catalogue.namespaceRemoval(of: namespace, on: connection)
    let removal = try catalogue.removal(of: namespace, on: connection)
    var (statements, changes): ([String], [String]) = ([], [])
    func add(_ statement: String, to list: inout [String]) {
      if !list.contains(statement) { list.append(statement) }
    }
    for row in 0..<found.rowCount {
      let relation = try found.text(row, 0)
      let trigger = try Identifier.quoted(found.text(row, 2))
      // All of them before the columns go that they look at.
      add("DROP TRIGGER \(trigger) ON \(relation)", to: &statements)
      let drops = AdoptedTable.columns.map { "DROP COLUMN \($0)" }.joined(separator: ", ")
      add("ALTER TABLE \(relation) \(drops)", to: &changes)
      if let constraint = found[row, 1]?.text {
        add(
          "ALTER TABLE \(relation) ALTER CONSTRAINT \(Identifier.quoted(constraint)) NOT DEFERRABLE",
          to: &changes)
      }
    }
    statements += changes
    let function = StoreMapping.qualified(AdoptedTable.trigger, namespace)
    statements.append("DROP FUNCTION IF EXISTS \(function)()")
    try connection.run(removal + statements.map { SQLStatement($0) } + last)
  }
}
