import Foundation
import Strata
import StrataCore
import Testing

@testable import StrataPostgres

/// Names that the server gives indexes itself, and comments, in a migration.
@Suite struct MigratedNameTests {
  /// ```
  ///   Author   name, unique        Book   title, indexed ──author──▶ Author
  /// ```
  private func model(_ others: [String] = [], keyword: Bool = false) -> ManagedObjectModel {
    let author = EntityDescription(
      "Author", properties: [AttributeDescription("name", .string, isOptional: true)],
      uniquenessConstraints: [["name"]])
    let book = EntityDescription(
      "Book", properties: [AttributeDescription("title", .string, isOptional: true)])
    book.indexes = [FetchIndexDescription(name: "byTitle", attributes: ["title"])]
    let there = RelationshipDescription("author", to: author, maxCount: 1)
    let back = RelationshipDescription("books", to: book, maxCount: 0)
    there.inverseRelationship = back
    back.inverseRelationship = there
    let readers = RelationshipDescription("readers", to: author, maxCount: 0)
    let read = RelationshipDescription("read", to: book, maxCount: 0)
    readers.inverseRelationship = read
    read.inverseRelationship = readers
    book.properties += [there, readers]
    author.properties += [back, read]
    if keyword {
      let renamed = AttributeDescription("heading", .string, isOptional: true)
      renamed.renamingIdentifier = "title"
      book.properties[0] = renamed
      book.indexes = []
    }
    let more = others.map { name in
      let entity = EntityDescription(
        name, properties: [AttributeDescription("value", .string, isOptional: true)])
      entity.userInfo = ["postgres.table": name]
      return entity
    }
    return ManagedObjectModel(entities: [author, book] + more)
  }

  /// The tables that are new have the names that the server has given to the indexes of those that were there.
  @Test func tablesMayHaveTheNamesOfIndexes() throws {
    let stand = try ServerStand(model())
    let context = stand.context()
    let author = try context.make("Author", ["name": "Ada"])
    try context.make("Book", ["title": "Notes", "author": author])
    try context.save()
    let namespace = stand.store.mapping.namespace
    let found = try #require(
      try stand.sql(
        "SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_index i ON i.indexrelid = c.oid JOIN pg_class t ON t.oid = i.indrelid WHERE n.nspname = '\(namespace)' AND t.relname !~ '^strata' ORDER BY 1"
      ))
    let names = try (0..<found.rowCount).map { try found.text($0, 0) }
    #expect(names.contains("author_name_idx") && names.contains("book_pkey"))
    let more = model(names)
    for store in stand.coordinator.persistentStores { try stand.coordinator.remove(store) }
    try PostgresStores.migrate(at: stand.url, to: more)
    // Once more with all of them there, and back to those alone that there were.
    try PostgresStores.migrate(at: stand.url, to: model(names + ["book_pkey1", "author_name_idx1"]))
    try PostgresStores.migrate(
      at: stand.url, to: model(),
      permission: MigrationPermission(permittedLosses: Set(names + ["book_pkey1", "author_name_idx1"])))
    let later = try stand.neighbour(model())
    let reader = later.context()
    let books = try reader.all("Book")
    #expect(
      (books.first?.value(forKey: "author") as? ManagedObject)?.value(forKey: "name") as? String == "Ada")
    withExtendedLifetime(later) {}
  }

  @Test func commentsStayWithWhatTheyAreAbout() throws {
    let stand = try ServerStand(model())
    let join = try #require(stand.store.mapping.ownJoins.first?.join.name)
    try stand.sql(
      """
      COMMENT ON TABLE \(stand.table("book")) IS 'what there is to read; it''s all "here" $1';
      COMMENT ON COLUMN \(stand.table("book")).title IS 'as on the cover';
      COMMENT ON COLUMN \(stand.table("book")).pk IS 'the key';
      COMMENT ON COLUMN \(stand.table("book")).author IS 'who wrote it';
      COMMENT ON COLUMN \(stand.table("book")).outside IS 'large ones';
      COMMENT ON TABLE \(join) IS 'who has read what';
      COMMENT ON COLUMN \(join).src IS 'one end';
      """)
    try PostgresStores.migrate(at: stand.url, to: model(keyword: true))
    let found = try #require(
      try stand.sql(
        "SELECT COALESCE(a.attname::text, ''), d.description FROM pg_description d JOIN pg_class c ON c.oid = d.objoid JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = d.objsubid AND d.objsubid > 0 WHERE d.classoid = 'pg_class'::regclass AND n.nspname = '\(stand.store.mapping.namespace)' ORDER BY 2"
      ))
    let texts = try (0..<found.rowCount).map { "\(try found.text($0, 0)): \(try found.text($0, 1))" }
    #expect(
      Set(texts) == [
        ": what there is to read; it's all \"here\" $1", "heading: as on the cover", "pk: the key",
        "author: who wrote it", "outside_2: large ones", ": who has read what", "src: one end",
      ])
  }
}
