import Foundation
import Strata
import StrataCore
import Testing

@testable import StrataPostgres

/// What is not taken over, and that nothing of somebody else's tables is lost.
@Suite struct AdoptionRefusalTests {
  private func refusal(_ stand: AdoptedStand, _ model: ManagedObjectModel = AdoptedStand.model()) throws
    -> String
  {
    let before = try stand.shape()
    let error = #expect(throws: StorageError.self) { try stand.open(model) }
    #expect(error?.kind == .invalid)
    #expect(try stand.shape() == before)
    let missing = #expect(throws: StorageError.self) { try PostgresStores.metadata(at: stand.url) }
    #expect(missing?.kind == .missing)
    return error?.detail ?? ""
  }

  @Test func allReasonsAreToldAtOnce() throws {
    let stand = try AdoptedStand()
    try stand.sql(
      """
      ALTER TABLE \(stand.shop).writer DROP CONSTRAINT writer_email_key, ALTER COLUMN born TYPE bigint,
        ADD COLUMN weight integer NOT NULL DEFAULT 0;
      ALTER TABLE \(stand.shop).writer ALTER COLUMN weight DROP DEFAULT;
      ALTER TABLE \(stand.shop)."Book" ALTER COLUMN nr SET GENERATED ALWAYS, DROP COLUMN cover,
        ALTER COLUMN price TYPE numeric(10, 2), DROP CONSTRAINT "Book_writer_id_fkey";
      ALTER TABLE \(stand.shop)."Book" ADD FOREIGN KEY (writer_id) REFERENCES \(stand.shop).writer ON DELETE CASCADE;
      """)
    let detail = try refusal(stand)
    for part in [
      "no unique index for the constraint Writer.unique(email)", "“born” of “writer” is of type bigint",
      "“weight” of “writer” is NOT NULL without a default", "“nr” of “Book” is GENERATED ALWAYS",
      "has no column “cover”", "“price” of “Book” is of type numeric(10,2)", "ON DELETE NO ACTION",
    ] { #expect(detail.contains(part), "\(part)") }
  }

  @Test func keysThatNoObjectCanHaveAreRefused() throws {
    let stand = try AdoptedStand()
    try stand.sql("INSERT INTO \(stand.shop).writer (id, full_name) VALUES (-1, 'nobody')")
    #expect(try refusal(stand).contains("“id” of “writer” has keys that are not above 0"))
    try stand.sql(
      "DELETE FROM \(stand.shop).writer WHERE id < 0; ALTER TABLE \(stand.shop).writer ALTER COLUMN id DROP DEFAULT; ALTER SEQUENCE \(stand.shop).writer_id_seq OWNED BY NONE"
    )
    #expect(try refusal(stand).contains("“id” of “writer” has no sequence of its own"))
  }

  @Test func tablesThatThereAreNotAndModelsThatDoNotFit() throws {
    let stand = try AdoptedStand()
    let model = AdoptedStand.model()
    let extra = EntityDescription(
      "Shelf",
      properties: [
        AttributeDescription("since", .date, isOptional: true), AttributeDescription("name", .string),
      ])
    extra.subentities = [EntityDescription("Rack")]
    let tags = RelationshipDescription("tags", to: extra, maxCount: 0)
    model.entitiesByName["Book"]?.properties.append(tags)
    let detail = try refusal(
      stand, ManagedObjectModel(entities: model.entities + [extra] + extra.subentities))
    for part in [
      "Shelf is abstract, or has a superentity or subentities", "Shelf.since is a date",
      "Book.tags is kept as links", "There is no table “shelf”",
    ] { #expect(detail.contains(part), "\(part)") }
  }

  /// Without the word for it, and where there is a store already.
  @Test func nothingIsTakenOverUnasked() throws {
    let stand = try AdoptedStand()
    let before = try stand.shape()
    let own = try stand.open(adopts: false)
    let context = stand.context(own)
    try context.make("Writer", ["name": "own"])
    try context.save()
    #expect(try stand.shape() == before)
    let error = #expect(throws: StorageError.self) { try stand.open() }
    #expect(error?.kind == .invalid && error?.detail.contains("tables of its own") == true)
    #expect(try stand.context(own).all("Writer").count == 1)
  }

  @Test func aTableIsTakenOverOnce() throws {
    let stand = try AdoptedStand()
    _ = try stand.open()
    let other = try TestServer.required().url(TestServer.freshNamespace())
    let coordinator = PersistentStoreCoordinator(managedObjectModel: AdoptedStand.model())
    var description = PersistentStoreDescription(type: .postgres, url: other)
    description.engineOptions["adoptsTables"] = stand.shop
    let error = #expect(throws: StorageError.self) { try coordinator.addPersistentStore(description) }
    #expect(error?.detail.contains("“strata_version” of “writer” is that of a store") == true)
  }

  @Test func destroyingGivesTheTablesBackAsTheyWere() throws {
    let stand = try AdoptedStand()
    let before = try stand.shape()
    let store = try stand.open()
    let context = stand.context(store)
    try context.make("Writer", ["name": "new"])
    try context.save()
    #expect(try stand.shape() != before)
    let rows = try stand.texts("SELECT id, full_name, created, note FROM \(stand.shop).writer ORDER BY id")
    for part in store.persistentStores { try store.remove(part) }
    try PostgresStores.destroy(at: stand.url)
    #expect(try stand.shape() == before)
    #expect(
      try stand.texts("SELECT id, full_name, created, note FROM \(stand.shop).writer ORDER BY id") == rows)
    // And again.
    let again = try stand.open()
    #expect(try stand.context(again).all("Writer").count == 4)
  }

  @Test func migrationsAreRefusedByName() throws {
    let stand = try AdoptedStand()
    _ = try stand.open()
    let shape = try stand.shape()
    let model = AdoptedStand.model()
    model.entitiesByName["Writer"]?.properties.removeAll { $0.name == "born" }
    let error = #expect(throws: CoreDataError.self) { try stand.open(model, adopts: false) }
    #expect(error?.code == .migration)
    #expect(error?.errorDescription?.contains("“writer”") == true)
    #expect(try stand.shape() == shape)
    // The owner of the tables cannot take away what the store needs without saying so.
    #expect(throws: SQLError.self) { try stand.sql("ALTER TABLE \(stand.shop).writer DROP COLUMN born") }
    try stand.sql("ALTER TABLE \(stand.shop).writer ADD COLUMN more text DEFAULT 'x'")
    let context = stand.context(try stand.open(adopts: false))
    try context.make("Writer", ["name": "new"])
    try context.save()
    #expect(try stand.texts("SELECT DISTINCT more FROM \(stand.shop).writer") == ["x"])
  }

  @Test func indexesAreTheOwners() async throws {
    let stand = try AdoptedStand()
    let store = try stand.open()
    let error = await #expect(throws: CoreDataError.self) {
      try await store.addIndex(
        FetchIndexDescription(name: "byBorn", attributes: ["born"]), toEntityNamed: "Writer",
        in: store.persistentStores[0])
    }
    #expect("\(error as Any)".contains("somebody else's"))
  }

  @Test func aViewOfSomebodysKeepsTheStoreFromBeingDestroyed() throws {
    let stand = try AdoptedStand()
    let store = try stand.open()
    let shape = try stand.shape()
    let namespace = Identifier.quoted(try ServerAddress(stand.url).namespace)
    for source in ["\(namespace).writer", "\(stand.shop).writer"] {
      let column = source.hasPrefix(stand.shop) ? "strata_version" : "version"
      try stand.sql("CREATE VIEW \(stand.shop).report AS SELECT \(column) FROM \(source)")
      let error = #expect(throws: StorageError.self) { try PostgresStores.destroy(at: stand.url) }
      #expect(error?.kind == .refused && error?.detail.contains("report") == true)
      #expect(try stand.context(store).all("Writer").count == 3)
      try stand.sql("DROP VIEW \(stand.shop).report")
      #expect(try stand.shape() == shape)
    }
  }
}
