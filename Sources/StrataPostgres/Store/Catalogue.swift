import Foundation
import StrataCore

/// What the store's own tables say about it.
///
/// ```
///   strata_store      one row: identity, format, number and time of the newest commit, where the history begins, metadata, model, names. Every commit locks it first
///   strata_entity     the code of each entity, and its table: codes are for ever
///   strata_commit     the last commits, by number: who has made them, what they have changed, and a token that tells whether one took place; the store's history
///   strata_consumer   the named readers of the history, and how far each has read
///   strata_index      the indexes that were added while the store was open: see `IndexTable`
/// ```
struct Catalogue: Sendable {
  /// The format of the tables. Another one is refused.
  static let format: Int32 = 4
  static let reservedNames: Set = [
    "strata_store", "strata_entity", "strata_commit", "strata_consumer", "strata_index",
  ]

  let identifier: UUID
  let commitNumber: UInt64
  /// How many versions of its model it has had, and which, by checksum, the oldest first, without the present one.
  let generation: Int32
  let lineage: [String]
  let metadata: StoreMetadata
  let versionHashes: [String: Data]
  let versionIdentifiers: [String]
  let model: Data
  /// By path, see `MappingBuilder`.
  let names: [String: String]
  /// Whether the store records a history.
  let recordsHistory: Bool
  /// By entity name.
  let codes: [String: UInt16]
  /// The indexes that were added, and how often that has changed.
  let indexes: IndexTable.Listing

  /// The tables of somebody else's that the store has taken over.
  var adopted: [AdoptedTable] {
    get throws {
      try names.filter { $0.key.hasPrefix(StoreMapping.adoptedPath("")) }.sorted { $0.key < $1.key }
        .map { try AdoptedTable($0.value) }
    }
  }

  /// The metadata with the keys that every store has.
  var fullMetadata: StoreMetadata {
    metadata.withStandardKeys(
      identifier: identifier, type: PostgresStore.type, versionHashes: versionHashes,
      versionIdentifiers: versionIdentifiers)
  }

  // MARK: Making

  /// The statements that make the catalogue's tables.
  static func tableStatements(_ namespace: String) -> [String] {
    func name(_ plain: String) -> String { StoreMapping.qualified(plain, namespace) }
    return [
      """
      CREATE TABLE \(name("strata_store")) (
        one boolean PRIMARY KEY DEFAULT true CHECK (one),
        identifier uuid NOT NULL,
        format integer NOT NULL,
        generation integer NOT NULL DEFAULT 1,
        lineage text NOT NULL DEFAULT '[]',
        commit_number bigint NOT NULL,
        last_at double precision NOT NULL DEFAULT '-infinity',
        history_purged bigint,
        history_mark bigint,
        index_changes bigint NOT NULL DEFAULT 0,
        metadata text NOT NULL,
        version_hashes text NOT NULL,
        version_identifiers text NOT NULL,
        model bytea NOT NULL,
        names text NOT NULL,
        made_namespace boolean NOT NULL DEFAULT false
      )
      """,
      "CREATE TABLE \(name("strata_entity")) (code smallint PRIMARY KEY, name text NOT NULL UNIQUE, table_name text NOT NULL)",
      """
      CREATE TABLE \(name("strata_commit")) (
        number bigint PRIMARY KEY,
        token uuid UNIQUE,
        writer bigint NOT NULL,
        at double precision NOT NULL,
        mark bigint NOT NULL,
        author text COLLATE "C",
        context_name text COLLATE "C",
        bundle text COLLATE "C" NOT NULL,
        process text COLLATE "C" NOT NULL,
        changes jsonb
      )
      """,
      "CREATE TABLE \(name("strata_consumer")) (name text COLLATE \"C\" PRIMARY KEY, number bigint NOT NULL, at double precision NOT NULL)",
      IndexTable.tableStatement(namespace),
    ]
  }

  /// Makes a new store for a model in the namespace, which is made where there is none, and must hold no tables. One transaction.
  /// - Throws: ``StorageError``.
  static func create(
    _ mapping: StoreMapping, heldEntities: Set<String>, on connection: PostgresConnection
  ) throws {
    let namespace = mapping.namespace
    let model = mapping.schema.model
    // One that somebody has made for the store takes no right to make any, and is not the store's to drop.
    var question = SQLStatement("SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = ")
    question += question.bind(namespace) + "::text"
    let makesNamespace = try connection.run(question).rowCount == 0
    let hashes = model.entityVersionHashesByName.filter { heldEntities.contains($0.key) }
    var row = SQLStatement(
      "INSERT INTO \(StoreMapping.qualified("strata_store", namespace)) (identifier, format, commit_number, metadata, version_hashes, version_identifiers, model, names, made_namespace) VALUES ("
    )
    row += row.bind(.uuid(UUID()), as: .uuid) ?? ""
    row += ", " + row.bind(Int64(format)) + "::integer, 0, "
    row += row.bind("{}") + ", " + row.bind(try json(hashes)) + ", "
    row += row.bind(try json(model.versionIdentifiers.sorted())) + ", "
    row += row.bind(bytes: try model.encodedForStores()) + ", " + row.bind(try json(mapping.names))
    row += ", \(makesNamespace))"
    var statements = [row]
    for entity in mapping.schema.entities {
      var statement = SQLStatement(
        "INSERT INTO \(StoreMapping.qualified("strata_entity", namespace)) (code, name, table_name) VALUES (")
      statement +=
        statement.bind(Int64(mapping.codes[entity.number])) + "::smallint, " + statement.bind(entity.name)
      statement += ", " + statement.bind(mapping.table(ofEntity: entity.number).plainName) + ")"
      statements.append(statement)
    }
    let tables =
      (makesNamespace ? ["CREATE SCHEMA \(Identifier.quoted(namespace))"] : []) + tableStatements(namespace)
      + (mapping.isAdopted ? TableAdoption.statements(mapping) : SchemaStatements(mapping).all)
    try connection.runText(tables.joined(separator: ";\n"))
    try connection.run(statements)
  }

  static func json(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    return String(decoding: try encoder.encode(value), as: UTF8.self)
  }

  // MARK: Reading

  /// What a namespace holds.
  enum Finding {
    /// No tables: a store can be made.
    case nothing
    /// Tables that are no store.
    case strangers
    case store(Catalogue)
  }

  /// Looks into a namespace.
  /// - Throws: ``StorageError`` `.unsupportedFormat` for a store of a newer version, `.damaged`, and what the connection throws.
  static func find(_ namespace: String, on connection: PostgresConnection) throws -> Finding {
    let names = try relations(of: namespace, on: connection)
    if names.isEmpty { return .nothing }
    if !names.contains("strata_store") { return .strangers }
    return .store(try read(namespace, on: connection))
  }

  /// What the catalogue of a store says.
  /// - Throws: ``StorageError`` as ``find(_:on:)``.
  static func read(_ namespace: String, on connection: PostgresConnection) throws -> Catalogue {
    let store = StoreMapping.qualified("strata_store", namespace)
    let entities = StoreMapping.qualified("strata_entity", namespace)
    let format = try connection.run(SQLStatement("SELECT format FROM \(store)"))
    guard format.rowCount == 1 else { throw damaged("The store's own table has no row, or several.") }
    let number = try format.integer(0, 0)
    guard number == Int64(Self.format) else {
      throw StorageError(
        .unsupportedFormat, operation: "open store", path: "",
        detail: "The store's tables are of format \(number), this version reads \(Self.format).")
    }
    let results = try connection.run([
      SQLStatement(
        "SELECT identifier, commit_number, metadata, version_hashes, version_identifiers, model, names, history_purged, generation, lineage FROM \(store)"
      ),
      SQLStatement("SELECT code, name FROM \(entities)"),
      IndexTable.listing(namespace),
    ])
    let row = results[0]
    guard row.rowCount == 1, case .uuid(let identifier)? = row[0, 0]?.attribute(.uuid),
      let commitNumber = UInt64(exactly: try row.integer(0, 1)),
      let generation = Int32(exactly: try row.integer(0, 8))
    else { throw damaged("The store's own table is not as it was made.") }
    var codes: [String: UInt16] = [:]
    for place in 0..<results[1].rowCount {
      guard let code = UInt16(exactly: try results[1].integer(place, 0)), code > 0 else {
        throw damaged("An entity has a code that is none.")
      }
      codes[try results[1].text(place, 1)] = code
    }
    func decode<T: Decodable>(_ column: Int, _: T.Type) throws -> T {
      let text = try row.text(0, column)
      guard let value = try? JSONDecoder().decode(T.self, from: Data(text.utf8)) else {
        throw damaged("The store's own table is not as it was made.")
      }
      return value
    }
    return Catalogue(
      identifier: identifier, commitNumber: commitNumber, generation: generation,
      lineage: try decode(9, [String].self),
      metadata: StoreMetadata(values: try decode(2, [String: MetadataValue].self)),
      versionHashes: try decode(3, [String: Data].self), versionIdentifiers: try decode(4, [String].self),
      model: try row.data(0, 5), names: try decode(6, [String: String].self),
      recordsHistory: row[0, 7] != nil, codes: codes, indexes: try IndexTable.Listing(results[2]))
  }

  /// The tables and views of a namespace that the store has not made.
  func strangers(in namespace: String, on connection: PostgresConnection) throws -> [String] {
    var own = Self.reservedNames
    for (path, name) in names where path.hasPrefix("table ") || path.hasPrefix("join ") { own.insert(name) }
    return try Self.relations(of: namespace, on: connection).filter { !own.contains($0) }.sorted()
  }

  /// The store's tables, without those of its catalogue: with namespace and quotes.
  func tables(in namespace: String, on connection: PostgresConnection) throws -> [String] {
    let own = Set(names.filter { $0.key.hasPrefix("table ") || $0.key.hasPrefix("join ") }.values)
    return try Self.relations(of: namespace, on: connection).filter(own.contains).sorted()
      .map { StoreMapping.qualified($0, namespace) }
  }

  /// How the server says that something depends on what is to be dropped.
  static let dependedOnState = "2BP01"

  /// The statements that drop all that the store has made in the namespace, and nothing else: what depends on that makes them fail.
  func removal(of namespace: String, on connection: PostgresConnection) throws -> [SQLStatement] {
    let own = Self.reservedNames.union(
      names.filter { name in ["table ", "join ", "sequence "].contains { name.key.hasPrefix($0) } }.values)
    func found(_ kinds: String) throws -> String {
      try Self.relations(of: namespace, kinds, on: connection).filter(own.contains).sorted()
        .map { StoreMapping.qualified($0, namespace) }.joined(separator: ", ")
    }
    // All at once: they refer to each other. What belongs to columns goes with these.
    let drops = try [
      ("VIEW", found("'v'")), ("TABLE", found("'r', 'p'")), ("SEQUENCE", found("'S'")),
    ]
    return drops.filter { !$1.isEmpty }.map { SQLStatement("DROP \($0) IF EXISTS \($1)") }
  }

  /// The statement that drops the namespace, behind ``removal(of:on:)``; none where somebody else has made it. Of a store that an earlier version has made it is not known
  /// who has made the namespace: then it goes when it is the role's own.
  func namespaceRemoval(of namespace: String, on connection: PostgresConnection) throws -> [SQLStatement] {
    if namespace == "public" { return [] }
    // Earlier versions have no such column.
    var question = SQLStatement(
      "SELECT COALESCE((pg_catalog.to_jsonb(s) ->> 'made_namespace')::boolean, pg_catalog.pg_get_userbyid(n.nspowner) = current_user) FROM \(StoreMapping.qualified("strata_store", namespace)) s, pg_catalog.pg_namespace n WHERE n.nspname = "
    )
    question += question.bind(namespace) + "::text"
    let found = try connection.run(question)
    let isOwn = found.rowCount == 1 && found[0, 0]?.bytes.first == 1
    return isOwn ? [SQLStatement("DROP SCHEMA \(Identifier.quoted(namespace))")] : []
  }

  private static func relations(
    of namespace: String, _ kinds: String = "'r', 'p', 'v', 'f', 'm'", on connection: PostgresConnection
  ) throws -> Set<String> {
    var question = SQLStatement(
      "SELECT c.relname::text FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = "
    )
    question += question.bind(namespace) + "::text AND c.relkind IN (\(kinds))"
    let found = try connection.run(question)
    return try Set((0..<found.rowCount).map { try found.text($0, 0) })
  }

  private static func damaged(_ detail: String) -> StorageError {
    StorageError(.damaged, operation: "open store", path: "", detail: detail)
  }

  /// The metadata as the catalogue keeps it.
  static func text(_ metadata: StoreMetadata) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    do {
      return String(decoding: try encoder.encode(metadata.withoutStandardKeys.values), as: UTF8.self)
    } catch {
      throw StorageError(
        .invalid, operation: "commit", path: "", detail: "The metadata holds a value that has no stored form."
      )
    }
  }
}
