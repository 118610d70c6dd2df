import Foundation
import Strata
import StrataCore
import Testing

@testable import StrataPostgres

/// Comments on indexes, constraints and sequences, in a migration.
@Suite struct MigratedCommentTests {
  /// The library with indexes of its own, and what an attribute and an entity are called by.
  private func model(title: String = "title", isNewer: Bool = false) -> ManagedObjectModel {
    let model = Library.make()
    guard let book = model.entitiesByName["Book"] else { return model }
    if title != "title", let attribute = book.attributesByName["title"] {
      attribute.name = title
      attribute.renamingIdentifier = "title"
    }
    book.indexes = [
      FetchIndexDescription(name: "byTitle", attributes: [title, "code"]),
      FetchIndexDescription(name: "byPages", attributes: ["pages"]),
    ]
    if isNewer {
      model.entitiesByName["Subject"]?.properties.append(
        AttributeDescription("shade", .string, isOptional: true))
    }
    return model
  }

  /// What has a comment in a store's namespace: what the server says of it, and the comment.
  private func comments(_ stand: ServerStand) throws -> [String] {
    let namespace = stand.store.mapping.namespace
    let found = try #require(
      try stand.sql(
        """
        SELECT i.indrelid::regclass::text || ' ' || regexp_replace(pg_get_indexdef(i.indexrelid), '.* USING ', '') || ': ' || d.description
          FROM pg_description d JOIN pg_index i ON i.indexrelid = d.objoid JOIN pg_class c ON c.oid = d.objoid
          WHERE d.classoid = 'pg_class'::regclass AND c.relnamespace = '\(namespace)'::regnamespace
        UNION ALL SELECT k.conrelid::regclass::text || ' ' || pg_get_constraintdef(k.oid) || ': ' || d.description
          FROM pg_description d JOIN pg_constraint k ON k.oid = d.objoid
          WHERE d.classoid = 'pg_constraint'::regclass AND k.connamespace = '\(namespace)'::regnamespace
        UNION ALL SELECT c.relname::text || ': ' || d.description FROM pg_description d JOIN pg_class c ON c.oid = d.objoid
          WHERE d.classoid = 'pg_class'::regclass AND c.relkind = 'S' AND c.relnamespace = '\(namespace)'::regnamespace
        ORDER BY 1
        """))
    return try (0..<found.rowCount).map { try found.text($0, 0) }
  }

  /// Gives each of the store's indexes, constraints and sequences a comment of its own.
  private func comment(_ stand: ServerStand) throws {
    let namespace = stand.store.mapping.namespace
    try stand.sql(
      """
      DO $do$ DECLARE r record; BEGIN
        FOR r IN SELECT i.indexrelid::regclass AS index FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
          WHERE c.relnamespace = '\(namespace)'::regnamespace AND c.relname !~ '^strata_' LOOP
          EXECUTE format('COMMENT ON INDEX %s IS %L', r.index, 'it''s ' || r.index);
        END LOOP;
        FOR r IN SELECT k.conname, k.conrelid::regclass AS relation FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
          WHERE c.relnamespace = '\(namespace)'::regnamespace AND c.relname !~ '^strata_' LOOP
          EXECUTE format('COMMENT ON CONSTRAINT %I ON %s IS %L', r.conname, r.relation, 'rule ' || r.conname);
        END LOOP;
        FOR r IN SELECT c.oid::regclass AS relation FROM pg_class c
          WHERE c.relnamespace = '\(namespace)'::regnamespace AND c.relkind = 'S' LOOP
          EXECUTE format('COMMENT ON SEQUENCE %s IS %L', r.relation, 'keys ' || r.relation);
        END LOOP;
      END $do$
      """)
  }

  @Test func allOfThemStayWhereNothingElseChanges() throws {
    let stand = try ServerStand(model())
    try comment(stand)
    let before = try comments(stand)
    #expect(before.count > 40 && Set(before).count == before.count)
    try PostgresStores.migrate(at: stand.url, to: model(isNewer: true))
    #expect(try comments(stand) == before)
  }

  /// What is over a renamed column is what it was, and what is over one that goes takes its comment away.
  @Test func theyFollowRenamedColumns() throws {
    let stand = try ServerStand(model())
    try comment(stand)
    let before = try comments(stand)
    try PostgresStores.migrate(at: stand.url, to: model(title: "heading"))
    func renamed(_ texts: [String]) -> Set<String> {
      Set(texts.map { $0.replacing("(title", with: "(heading") })
    }
    #expect(renamed(before) != Set(before))
    #expect(try Set(comments(stand)) == renamed(before))
    let last = model(title: "heading")
    last.entitiesByName["Book"]?.properties.removeAll { $0.name == "pages" }
    last.entitiesByName["Book"]?.indexes = [
      FetchIndexDescription(name: "byTitle", attributes: ["heading", "code"])
    ]
    try PostgresStores.migrate(
      at: stand.url, to: last, permission: MigrationPermission(permittedLosses: ["Book.pages"]))
    let left = before.filter { !$0.contains("(pages") }
    #expect(left.count == before.count - 1)
    #expect(try Set(comments(stand)) == renamed(left))
  }

  /// An index that was added later has another name afterwards.
  @Test(.timeLimit(.minutes(2))) func anAddedIndexKeepsItsComment() async throws {
    let stand = try ServerStand(model())
    try await stand.coordinator.addIndex(
      FetchIndexDescription(name: "byPrice", attributes: ["price"]), toEntityNamed: "Book",
      in: stand.coordinator.persistentStores[0])
    let namespace = stand.store.mapping.namespace
    let name = try #require(try stand.sql("SELECT relation FROM \(namespace).strata_index")).text(0, 0)
    try stand.sql("COMMENT ON INDEX \(namespace).\(name) IS 'for bargains'")
    let before = try comments(stand)
    #expect(before.count == 1)
    try PostgresStores.migrate(at: stand.url, to: model(isNewer: true))
    #expect(try comments(stand) == before)
  }
}
