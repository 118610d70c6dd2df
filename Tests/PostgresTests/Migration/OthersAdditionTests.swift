import Foundation
import Strata
import StrataCore
import Testing

@testable import StrataPostgres

/// What others have added to the tables of a store, which a migration would drop with them.
@Suite struct OthersAdditionTests {
  private func newer() -> ManagedObjectModel {
    let model = Library.make()
    model.entitiesByName["Subject"]?.properties.append(
      AttributeDescription("shade", .string, isOptional: true))
    return model
  }

  @Test(arguments: [
    ("ALTER TABLE $ ADD COLUMN shelf text", "ALTER TABLE $ DROP COLUMN shelf", "the column shelf text"),
    (
      "ALTER TABLE $ ALTER COLUMN name SET DEFAULT 'none'", "ALTER TABLE $ ALTER COLUMN name DROP DEFAULT",
      "the column name text DEFAULT"
    ),
    ("CREATE INDEX others_index ON $ (name)", "DROP INDEX @.others_index", "the index others_index"),
    (
      "ALTER TABLE $ ADD CONSTRAINT others_check CHECK (name <> 'x')",
      "ALTER TABLE $ DROP CONSTRAINT others_check", "the constraint others_check"
    ),
    (
      "CREATE STATISTICS @.others_statistics ON name, version FROM $", "DROP STATISTICS @.others_statistics",
      "extended statistics"
    ),
    (
      "ALTER TABLE $ REPLICA IDENTITY FULL", "ALTER TABLE $ REPLICA IDENTITY DEFAULT", "a replica identity"
    ),
    ("CREATE RULE others AS ON DELETE TO $ DO INSTEAD NOTHING", "DROP RULE others ON $", "rules"),
    ("CREATE TABLE @.heir () INHERITS ($)", "DROP TABLE @.heir", "inheritance"),
    ("ALTER TABLE $ SET (fillfactor = 70)", "ALTER TABLE $ RESET (fillfactor)", "storage parameters"),
    ("CREATE PUBLICATION p_@ FOR TABLE $", "DROP PUBLICATION p_@", "a place in a publication"),
  ]) func itIsNamedAndNothingIsChanged(addition: String, removal: String, words: String) throws {
    let stand = try ServerStand(Library.make())
    let context = stand.context()
    try context.make("Subject", ["name": "first"])
    try context.save()
    let (table, namespace) = (stand.table("subject"), stand.store.mapping.namespace)
    func run(_ text: String) throws {
      try stand.sql(text.replacing("$", with: table).replacing("@", with: namespace))
    }
    try run(addition)
    let error = #expect(throws: CoreDataError.self) {
      try PostgresStores.migrate(at: stand.url, to: newer())
    }
    #expect(error?.code == .migration)
    let detail = error?.errorDescription ?? ""
    #expect(detail.contains("“subject” has \(words)"))
    #expect(try context.texts("Subject", "name") == ["first"])
    try run(removal)
    try PostgresStores.migrate(at: stand.url, to: newer())
    let later = try stand.neighbour(newer())
    let reader = later.context()
    #expect(try reader.texts("Subject", "name") == ["first"])
    withExtendedLifetime(later) {}
  }

  /// The store's own indexes and constraints, and the tables of an earlier migration.
  @Test func whatTheStoreHasMadeIsNotNamed() throws {
    let stand = try ServerStand(Library.make())
    let permission = MigrationPermission(permittedLosses: ["Subject.shade"])
    try PostgresStores.migrate(at: stand.url, to: newer())
    try PostgresStores.migrate(at: stand.url, to: Library.make(), permission: permission)
    try PostgresStores.migrate(at: stand.url, to: newer())
    let later = try stand.neighbour(newer())
    let reader = later.context()
    #expect(try reader.all("Subject").isEmpty)
    withExtendedLifetime(later) {}
  }
}
