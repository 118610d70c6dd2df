import Foundation
import StrataCore

/// Says in a history what entities and their properties are called after a migration: what is renamed gets its new name, and what is gone is left out.
///
/// It is one statement, so the history stays on the server. Transactions that name nothing of it are not touched; their numbers, times and marks stay in any case.
/// What has not the form of a ``NotedChange`` stays as it is.
struct HistoryTransfer {
  /// What is to be said of rows of an entity.
  private struct Names: Encodable {
    let entity: String
    /// By name, the name of now of what is renamed; nil for what is gone.
    let properties: [String: String?]
    /// The same for values of deleted rows. One whose attribute is not stored any more is gone, too.
    let values: [String: String?]

    init(_ names: HistoryNames) {
      let (source, destination) = (names.source, names.destination)
      entity = destination.name
      var properties: [String: String?] = [:]
      var values: [String: String?] = [:]
      for attribute in source.attributes where attribute.slot != source.baselineSlot {
        let new = names.properties[attribute.name]
        if new != attribute.name {
          properties.updateValue(new, forKey: attribute.name)
          values.updateValue(new, forKey: attribute.name)
        }
        if let slot = new.flatMap({ destination.slot(named: $0) }),
          destination.layout.kind(of: slot) != source.layout.kind(of: attribute.slot)
        {
          values.updateValue(nil, forKey: attribute.name)
        }
      }
      self.properties = properties
      self.values = values
    }

    func isSame(as name: String) -> Bool { entity == name && properties.isEmpty && values.isEmpty }
  }

  private let mapping: StoreMapping
  /// By name of the entity before; nil for one that is gone. Others stay as they are.
  private let names: [String: Names?]

  /// - Parameter mapping: The store as it is after the migration.
  init(_ migration: InferredMigration, _ mapping: StoreMapping) {
    self.mapping = mapping
    var names: [String: Names?] = [:]
    let staying = Dictionary(migration.names.map { ($0.source.name, Names($0)) }) { first, _ in first }
    for entity in migration.plan.source.entities where migration.plan.holds(entity) {
      let new = staying[entity.name]
      if new?.isSame(as: entity.name) != true { names.updateValue(new, forKey: entity.name) }
    }
    self.names = names
  }

  /// Writes the names of now into the history, if there is one.
  ///
  /// - Returns: False when the history is damaged, and was left as it was.
  /// - Throws: ``SQLError``, ``StorageError`` for what is wrong with the server or the connection.
  func run(on connection: PostgresConnection) throws -> Bool {
    if names.isEmpty { return true }
    do {
      try connection.run([
        SQLStatement("SAVEPOINT strata_history"),
        // The server expects many changes of each commit, and would compile the statement to machine code first, for a second.
        SQLStatement("SELECT pg_catalog.set_config('jit', 'off', true)"), try statement(),
        SQLStatement("RELEASE SAVEPOINT strata_history"),
      ])
      return true
    } catch let error as SQLError where Self.isDamage(error) {
      try connection.run(SQLStatement("ROLLBACK TO SAVEPOINT strata_history"))
      return false
    }
  }

  /// Whether it is what is stored that is wrong: a page or a value that cannot be read, or a value that has no room under its new names. Other limits are the
  /// server's, and its internal errors say nothing of what is stored.
  private static func isDamage(_ error: SQLError) -> Bool {
    error.state.hasPrefix("22") || ["54000", "XX001", "XX002"].contains(error.state)
  }

  private func statement() throws -> SQLStatement {
    let (store, commits) = (mapping.qualified("strata_store"), mapping.qualified("strata_commit"))
    var statement = SQLStatement("WITH named AS MATERIALIZED (SELECT ")
    statement += statement.bind(try Catalogue.json(names)) + "::jsonb AS entities) "
    let changes =
      "pg_catalog.jsonb_array_elements(CASE pg_catalog.jsonb_typeof(c.changes) WHEN 'array' THEN c.changes ELSE '[]' END)"
    statement += """
      UPDATE \(commits) c SET changes = (
        SELECT COALESCE(pg_catalog.jsonb_agg(\(Self.change) ORDER BY e.place), '[]')
        FROM \(changes) WITH ORDINALITY e(change, place)
        CROSS JOIN LATERAL (SELECT named.entities -> (e.change ->> 'entity')) m(names)
        WHERE m.names IS DISTINCT FROM 'null')
      FROM named
      WHERE c.number > (SELECT s.history_purged FROM \(store) s)
        AND EXISTS (SELECT 1 FROM \(changes) e(change) WHERE named.entities ? (e.change ->> 'entity'))
      """
    return statement
  }

  /// One change, `e.change`, by the names of now, `m.names`.
  ///
  /// Rows of which nothing but a relationship has changed that is gone are rows that were updated, in nothing that there is.
  private static let change = """
    CASE WHEN m.names IS NULL THEN e.change ELSE e.change
      || pg_catalog.jsonb_build_object('entity', m.names -> 'entity')
      || CASE WHEN pg_catalog.jsonb_typeof(e.change -> 'properties') = 'array' THEN \(properties) ELSE '{}' END
      || CASE WHEN pg_catalog.jsonb_typeof(e.change -> 'values') = 'object' THEN \(values) ELSE '{}' END
    END
    """

  private static let properties = """
    (SELECT pg_catalog.jsonb_build_object('properties', n.list)
      || CASE WHEN n.list = '[]' AND e.change -> 'properties' <> '[]' AND e.change ->> 'kind' = '\(NotedChange.Kind.related.rawValue)'
        THEN '{"kind": "\(NotedChange.Kind.updated.rawValue)"}'::jsonb ELSE '{}' END
    FROM (
      SELECT COALESCE(pg_catalog.jsonb_agg(COALESCE(a.name, p.property) ORDER BY p.place), '[]')
      FROM pg_catalog.jsonb_array_elements(e.change -> 'properties') WITH ORDINALITY p(property, place)
      CROSS JOIN LATERAL (SELECT m.names -> 'properties' -> (p.property #>> '{}')) a(name)
      WHERE a.name IS DISTINCT FROM 'null'
    ) n(list))
    """

  private static let values = """
    (SELECT pg_catalog.jsonb_build_object('values', COALESCE(pg_catalog.jsonb_object_agg(r.key, CASE
      WHEN pg_catalog.jsonb_typeof(r.value) <> 'object' THEN r.value
      ELSE (
        SELECT COALESCE(pg_catalog.jsonb_object_agg(COALESCE(a.name #>> '{}', v.key), v.value), '{}')
        FROM pg_catalog.jsonb_each(r.value) v(key, value)
        CROSS JOIN LATERAL (SELECT m.names -> 'values' -> v.key) a(name)
        WHERE a.name IS DISTINCT FROM 'null'
      ) END), '{}'))
    FROM pg_catalog.jsonb_each(e.change -> 'values') r(key, value))
    """
}
