import Foundation
import StrataCore

/// Brings a store to another version of its model by what can be inferred, in one transaction of the server's.
///
/// ```
///   lock      migrations of the namespace, then the store's row: saves wait
///   decide    whether rows lack values, what is lost, counted by the server, and whether that is permitted
///   take      the tables, when nobody reads them
///   rename    them, out of the way
///   compare   them with what the store has made: what others have added would be gone
///   rename    their indexes as well
///   make      the tables of the new model, and fill them: a statement for each entity, relationship
///   index     them, and see that values which must be unique are
///   derive    what follows from the rows
///   check     foreign keys
///   drop      the old tables
///   recode    what the history says, in the names of now
///   note      model, names, versions
/// ```
///
/// Until the COMMIT nobody sees any of it, and whatever ends the session before undoes it.
struct PostgresMigration {
  let connection: PostgresConnection
  let namespace: String
  let schema: Schema
  /// The names of the entities that the store is to hold.
  let held: Set<String>
  let permission: MigrationPermission
  let timeout: Duration

  /// - Throws: `CoreDataError` 134190 when it cannot be inferred, 134130 and 134110 when something would be lost, 134110 when rows lack values that they must have, 134111 for values that must be unique and are not;
  ///   ``SQLError``, ``StorageError``. The store is what it was then.
  func run() throws {
    connection.patience = PostgresConnection.writingPatience(timeout)
    try connection.run(SQLStatement("BEGIN ISOLATION LEVEL READ COMMITTED"))
    try connection.run([TableLocks.limit(timeout), AdvisoryLock.tables(of: namespace).waiting])
    guard case .store = try Catalogue.find(namespace, on: connection) else {
      throw StorageError(
        .missing, operation: "migrate", path: "",
        detail: "There is no store in the namespace “\(namespace)” of the database.")
    }
    let store = StoreMapping.qualified("strata_store", namespace)
    try connection.run(SQLStatement("SELECT 1 FROM \(store) FOR UPDATE"))
    // What it is now that nobody else changes it.
    guard case .store(let catalogue) = try Catalogue.find(namespace, on: connection) else {
      throw SQLResult.damaged
    }
    // From here on it takes as long as it takes.
    connection.patience = nil
    let wanted = schema.model.entityVersionHashesByName.filter { held.contains($0.key) }
    let keepsHistory = try catalogue.versionHashes == wanted || migrate(catalogue, wanted)
    try connection.run(SQLStatement("COMMIT"))
    if keepsHistory { return }
    Diagnostics.write(
      "the history of the store in the namespace “\(namespace)” is damaged and was left behind by its migration: tokens from before are expired.",
      .error)
  }

  /// Whether the history goes on. It does not when it is damaged: it keeps nobody from the rows.
  private func migrate(_ catalogue: Catalogue, _ wanted: [String: Data]) throws -> Bool {
    let others = try catalogue.adopted.map { "“\($0.name)”" }
    guard others.isEmpty else {
      throw CoreDataError(
        .migration,
        "The store has taken over tables of somebody else's (\(others.joined(separator: ", "))), which no migration changes: nothing was changed. Destroy the store, which gives them back with all their rows, and take them over with the new model."
      )
    }
    let model: ManagedObjectModel
    do {
      model = try ManagedObjectModel.decoded(fromStores: catalogue.model)
    } catch {
      throw CoreDataError(
        .migrationMissingSourceModel, "The model in the store cannot be read.",
        userInfo: [NSUnderlyingErrorKey: error])
    }
    // The store's model as it is read is nobody's class.
    for entity in model.entities { entity.managedObjectClass = nil }
    let source = try model.schema()
    let (inferred, strangers) = try infer(from: source, holding: Set(catalogue.versionHashes.keys))
    let old = try MappingBuilder.mapping(
      source, namespace: namespace, codes: catalogue.codes, names: catalogue.names,
      generation: catalogue.generation, requiresGivenNames: false)
    try requireNone(of: strangers, old)
    try MissingValueCounting(plan: inferred.plan, mapping: old).requireNone(on: connection)
    let counting = LossCounting(plan: inferred.plan, losses: inferred.losses, mapping: old)
    _ = try inferred.requirePermission(
      permission, stored: catalogue.versionHashes, wanted: wanted, lineage: catalogue.lineage
    ) {
      try counting.counts(on: connection).contains { $0 > 0 }
    } counts: {
      try counting.counts(on: connection)
    }
    let codes = codes(inferred.plan, catalogue.codes)
    let new = try MappingBuilder.mapping(
      schema, namespace: namespace, codes: codes, names: nil, generation: catalogue.generation + 1)
    let transfer = RowTransfer(plan: inferred.plan, old: old.movedAside(), new: new)
    try TableLocks(connection: connection, timeout: timeout).take(old.tableNames)
    try connection.run(old.movingAside().map { SQLStatement($0) })
    try TableAdditions(mapping: old, aside: transfer.old, connection: connection).requireNone()
    try connection.run(transfer.old.indexesAside(on: connection))
    let statements = SchemaStatements(new)
    try connection.run(statements.tables.map { SQLStatement($0) })
    for statement in try transfer.statements() { try connection.run(statement) }
    try check(statements.indexes)
    try keepIndexes(catalogue, inferred, new)
    // What is derived is counted and looked up by them, and by how many rows there are.
    try connection.run(new.tableNames.map { SQLStatement("ANALYZE \($0)") })
    try DerivedTransfer(mapping: new, connection: connection).run()
    try check(statements.keys)
    let comments = try CommentTransfer(transfer: transfer, connection: connection).statements()
    try connection.run(try comments + transfer.privileges(on: connection) + transfer.drops)
    let keepsHistory = try !catalogue.recordsHistory || HistoryTransfer(inferred, new).run(on: connection)
    try note(catalogue, wanted, new, keepsHistory)
    return keepsHistory
  }

  /// What can be inferred, without the entities of the store whose counterparts the configuration does not hold; and these.
  private func infer(from source: Schema, holding names: Set<String>) throws -> (
    inferred: InferredMigration, strangers: [EntitySchema]
  ) {
    var strangers: [EntitySchema] = []
    while true {
      let inferred = try InferredMigration(
        from: source, holding: names.subtracting(strangers.map(\.name)), to: schema)
      let more = inferred.plan.entities.compactMap { $0 }.filter { !held.contains($0.destination.name) }
      if more.isEmpty { return (inferred, strangers) }
      strangers += more.map(\.source)
    }
  }

  /// What the configuration does not hold would be lost.
  private func requireNone(of strangers: [EntitySchema], _ old: StoreMapping) throws {
    for entity in strangers where !entity.isAbstract {
      let found = try connection.run(
        SQLStatement(
          "SELECT 1 FROM \(old.table(ofEntity: entity.number).name) t WHERE t.entity = \(old.codes[entity.number]) LIMIT 1"
        ))
      if found.rowCount == 0 { continue }
      throw CoreDataError(
        .migration, "The store holds objects of \(entity.name), and the configuration does not.")
    }
  }

  /// Codes are for ever: those of entities that stay, and new ones for others.
  private func codes(_ plan: MigrationPlan, _ known: [String: UInt16]) -> [String: UInt16] {
    var codes: [String: UInt16] = [:]
    for entity in plan.entities.compactMap({ $0 }) {
      codes[entity.destination.name] = known[entity.source.name]
    }
    // Entities without rows to be taken over, such as those that the store does not hold, have a code, too.
    var next = (known.values.max() ?? 0) + 1
    for entity in schema.entities where codes[entity.name] == nil {
      codes[entity.name] = next
      next += 1
    }
    return codes
  }

  /// Makes indexes and constraints.
  private func check(_ statements: [String]) throws {
    for statement in statements {
      do {
        try connection.run(SQLStatement(statement))
      } catch let error as SQLError where error.state == "23505" {
        throw CoreDataError(
          .migrationConstraintViolation,
          "Values that must be unique now are not: \(statement). Nothing was changed.")
      } catch let error as SQLError where error.state == "54000" {
        throw CoreDataError(
          .migration,
          "Values that must be unique are too long for an index of the server's: \(statement). Nothing was changed."
        )
      }
    }
  }

  /// Makes the indexes anew that were added to the store, as far as their entities and attributes stay, also those that were being built.
  private func keepIndexes(_ catalogue: Catalogue, _ inferred: InferredMigration, _ new: StoreMapping) throws
  {
    let table = IndexTable(mapping: new, identifier: catalogue.identifier)
    var statements: [SQLStatement] = []
    for added in catalogue.indexes.indexes.compactMap({ inferred.kept($0, in: schema) }) {
      // The old ones have their names until the old tables are gone.
      let relation = IndexTable.relation(added)
      guard let index = try? added.checked(schema),
        let creation = table.creation(index, relation: relation, isConcurrent: false)
      else { continue }
      statements += [SQLStatement(creation), try table.insertion(added, relation: relation)]
    }
    try connection.run(table.clearing() + statements)
  }

  /// Writes down what the store is now.
  private func note(
    _ catalogue: Catalogue, _ wanted: [String: Data], _ new: StoreMapping, _ keepsHistory: Bool
  ) throws {
    var store = SQLStatement(
      "UPDATE \(new.qualified("strata_store")) SET commit_number = commit_number + 1, ")
    store += "generation = " + store.bind(Int64(new.generation)) + "::integer, model = "
    store += store.bind(bytes: try schema.model.encodedForStores()) + ", names = "
    store += store.bind(try Catalogue.json(new.names)) + ", version_hashes = "
    store += store.bind(try Catalogue.json(wanted)) + ", version_identifiers = "
    store += store.bind(try Catalogue.json(schema.model.versionIdentifiers.sorted())) + ", lineage = "
    store += store.bind(
      try Catalogue.json(
        InferredMigration.lineage(catalogue.lineage, adding: catalogue.versionHashes)))
    if !keepsHistory {
      store +=
        ", history_purged = CASE WHEN history_purged IS NULL THEN NULL ELSE commit_number + 1 END, history_mark = "
      store +=
        "CASE WHEN history_purged IS NULL THEN NULL ELSE \(store.bind(Int64.random(in: 1 ... .max))) END"
    }
    var statements = [
      store,
      // A code that was given out is never given to another entity.
      SQLStatement(
        "UPDATE \(new.qualified("strata_entity")) SET name = pg_catalog.concat('~', code), table_name = ''"),
    ]
    for entity in schema.entities {
      var statement = SQLStatement(
        "INSERT INTO \(new.qualified("strata_entity")) (code, name, table_name) VALUES (")
      statement +=
        statement.bind(Int64(new.codes[entity.number])) + "::smallint, " + statement.bind(entity.name)
      statement += ", " + statement.bind(new.table(ofEntity: entity.number).plainName) + ")"
      statement += " ON CONFLICT (code) DO UPDATE SET name = excluded.name, table_name = excluded.table_name"
      statements.append(statement)
    }
    var told = SQLStatement("SELECT pg_catalog.pg_notify(")
    told += told.bind(FollowingConnection.channel(catalogue.identifier)) + ", 'migrated')"
    statements.append(told)
    try connection.run(statements)
  }
}
