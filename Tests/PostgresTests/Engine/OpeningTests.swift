import Foundation
import Strata
import StrataCore
import Testing

@testable import StrataPostgres

/// Making, opening and refusing stores.
@Suite struct OpeningTests {
  @Test func aStoreIsMadeOnceAndOpenedAgain() throws {
    let stand = try ServerStand(Library.make())
    let context = stand.context()
    try context.make("Author", ["name": "Ada"])
    try context.save()
    let again = try stand.neighbour(Library.make())
    #expect(again.store.identifier == stand.store.identifier)
    #expect(again.store.mapping.names == stand.store.mapping.names)
    #expect(again.store.mapping.codes == stand.store.mapping.codes)
    #expect(try again.context().texts("Author", "name") == ["Ada"])
    #expect(again.store.metadata.versionHashes == Library.make().entityVersionHashesByName)
    #expect(again.store.metadata[StoreMetadata.typeKey] == .string("PostgreSQL"))
  }

  @Test func manyAtOnceMakeOneStore() throws {
    let url = try TestServer.required().url(TestServer.freshNamespace())
    let schema = try Library.make().schema()
    let identifiers = Mutex<[UUID]>([])
    DispatchQueue.concurrentPerform(iterations: 6) { _ in
      do {
        let store = try PostgresStore(url: url, schema: schema)
        identifiers.withLock { $0.append(store.identifier) }
        store.close()
      } catch { Issue.record(error) }
    }
    #expect(Set(identifiers.withLock { $0 }).count == 1)
    #expect(identifiers.withLock { $0.count } == 6)
  }

  @Test func whoWaitsForAnotherThatMakesTheStoreWaitsNoLongerThanTheTimeout() throws {
    let namespace = TestServer.freshNamespace()
    let url = try TestServer.required().url(namespace)
    let schema = try Library.make().schema()
    let maker = try PostgresConnection(
      ServerAddress(url), password: nil, deadline: ContinuousClock.now + .seconds(30))
    try maker.hold()
    try maker.run(AdvisoryLock.tables(of: namespace).waiting)
    let error = kindOfError { timeout in
      var options = PostgresStoreOptions()
      options.timeout = timeout
      try PostgresStore(url: url, schema: schema, options: options).close()
    }
    #expect(error == .serverBusy)
    try maker.runText("ROLLBACK")
    let store = try PostgresStore(url: url, schema: schema)
    store.close()
  }

  @Test func aStoreOfAnotherModelIsRefusedAndStaysAsItIs() throws {
    let stand = try ServerStand(Library.make())
    let context = stand.context()
    try context.make("Author", ["name": "Ada"])
    try context.save()
    let other = Library.make()
    other.entitiesByName["Author"]?.properties.append(
      AttributeDescription("age", .integer16, isOptional: true))
    let error = #expect(throws: CoreDataError.self) {
      try PostgresStore(url: stand.url, schema: try other.schema())
    }
    #expect(error?.code == .persistentStoreIncompatibleVersionHash)
    #expect(error?.errorDescription?.contains("Author") == true)
    let again = try stand.neighbour(Library.make())
    #expect(try again.context().texts("Author", "name") == ["Ada"])
  }

  @Test func tablesOfOthersAreLeftAlone() throws {
    let stand = try ServerStand(Library.make())
    let namespace = TestServer.freshNamespace()
    try stand.sql("CREATE SCHEMA \(namespace); CREATE TABLE \(namespace).invoice (number int)")
    defer { _ = try? stand.sql("DROP SCHEMA \(namespace) CASCADE") }
    let url = try TestServer.required().url(namespace)
    let error = #expect(throws: StorageError.self) {
      try PostgresStore(url: url, schema: try Library.make().schema())
    }
    #expect(error?.kind == .notADatabase)
  }

  @Test func tablesOfAnotherFormatAreRefused() throws {
    let stand = try ServerStand(Library.make())
    for format in [Catalogue.format - 1, Catalogue.format + 1] {
      try stand.sql("UPDATE \(stand.table("strata_store")) SET format = \(format)")
      let error = #expect(throws: StorageError.self) { try stand.neighbour(Library.make()) }
      #expect(error?.kind == .unsupportedFormat)
      #expect(error?.detail.contains("format \(format)") == true)
    }
  }

  @Test func nothingIsMadeForReading() throws {
    var options = PostgresStoreOptions()
    options.isReadOnly = true
    let url = try TestServer.required().url(TestServer.freshNamespace())
    let error = #expect(throws: StorageError.self) {
      try PostgresStore(url: url, schema: try Library.make().schema(), options: options)
    }
    #expect(error?.kind == .missing)
    let stand = try ServerStand(Library.make())
    let reader = try ServerStand(Library.make(), url: stand.url, options: options)
    let context = reader.context()
    try context.make("Author", ["name": "Ada"])
    #expect(throws: (any Error).self) { try context.save() }
    #expect(try stand.context().all("Author").isEmpty)
  }

  @Test func metadataIsSavedWithTheNextSave() throws {
    let stand = try ServerStand(Library.make())
    try stand.coordinator.setMetadata(["colour": "red", "count": 3], for: stand.store)
    let context = stand.context()
    try context.make("Author", ["name": "Ada"])
    try context.save()
    #expect(stand.store.metadata["colour"] == .string("red"))
    let again = try stand.neighbour(Library.make())
    #expect(again.store.metadata["colour"] == .string("red"))
    #expect(again.store.metadata["count"] == .integer(3))
  }

  @Test func keysAreNeverGivenTwice() throws {
    let stand = try ServerStand(Library.make())
    let other = try stand.neighbour(Library.make())
    let keys = Mutex<[UInt64]>([])
    DispatchQueue.concurrentPerform(iterations: 4) { number in
      do {
        let store = number % 2 == 0 ? stand.store : other.store
        for _ in 0..<1_000 {
          let key = try store.makePrimaryKey(hierarchy: 0)
          keys.withLock { $0.append(key) }
        }
      } catch { Issue.record(error) }
    }
    #expect(Set(keys.withLock { $0 }).count == 4_000)
    #expect(keys.withLock { $0.allSatisfy { $0 > 0 && $0 < StoreReference.keyLimit } })
  }

  @Test func aTextWithNULIsRefusedWithItsNameAndNothingIsLost() throws {
    let stand = try ServerStand(Library.make())
    let context = stand.context()
    let author = try context.make("Author", ["name": "a\0b"])
    let error = #expect(throws: StorageError.self) { try context.save() }
    #expect(error?.detail.contains("Author.name") == true)
    author.setValue("ab", forKey: "name")
    try context.save()
    #expect(try stand.context().texts("Author", "name") == ["ab"])
    #expect(try stand.context().all("Author", .comparison(key: "name", .equal, "a\0b")).isEmpty)
    #expect(try stand.context().all("Author", .comparison(key: "name", .less, "b\0")).count == 1)
  }

  @Test func aValueThatIsTooLongForAUniqueIndexIsRefused() throws {
    let stand = try ServerStand(Library.make())
    let context = stand.context()
    let author = try context.make("Author", ["name": String(repeating: "x", count: 5_000)])
    let error = #expect(throws: StorageError.self) { try context.save() }
    #expect(error?.kind == .tooLarge)
    #expect(error?.detail.contains("Author.name") == true)
    author.setValue("short", forKey: "name")
    try context.save()
  }

  @Test func aStoreThatWasReplacedTakesNothing() throws {
    let stand = try ServerStand(Library.make())
    let context = stand.context()
    try context.make("Author", ["name": "Ada"])
    try context.save()
    try stand.sql("UPDATE \(stand.table("strata_store")) SET identifier = gen_random_uuid()")
    try context.make("Author", ["name": "Bob"])
    let error = #expect(throws: StorageError.self) { try context.save() }
    #expect(error?.kind == .replaced)
    let count = try #require(try stand.sql("SELECT count(*) FROM \(stand.table("author"))"))
    #expect(try count.text(0, 0) == "1")
  }

  @Test func aProgramOpensLooksAtAndDestroysAStore() throws {
    let url = try TestServer.required().url(TestServer.freshNamespace())
    let coordinator = PersistentStoreCoordinator(managedObjectModel: Library.make())
    let store = try coordinator.addPostgresStore(at: url)
    #expect(store.storeType == PostgresStores.type)
    let context = ManagedObjectContext(.confinement, coordinator: coordinator)
    try context.make("Author", ["name": "Ada"])
    try context.save()
    try coordinator.remove(store)
    #expect(throws: (any Error).self) { try context.all("Author") }
    try PostgresStores.setMetadata(StoreMetadata(values: ["colour": .string("red")]), at: url)
    let metadata = try PostgresStores.metadata(at: url)
    #expect(metadata["colour"] == .string("red"))
    #expect(metadata[StoreMetadata.identifierKey] == .string(store.identifier.uuidString))
    #expect(
      try PostgresStores.model(at: url).entityVersionHashesByName == Library.make().entityVersionHashesByName)
    // A view of somebody's keeps the namespace.
    let connection = try PostgresConnection(
      ServerAddress(url), password: nil, deadline: ContinuousClock.now + .seconds(30))
    let namespace = Identifier.quoted(try ServerAddress(url).namespace)
    try connection.runText("CREATE VIEW \(namespace).names AS SELECT name FROM \(namespace).author")
    let error = #expect(throws: StorageError.self) { try PostgresStores.destroy(at: url) }
    #expect(error?.kind == .notADatabase)
    #expect(error?.detail.contains("names") == true)
    try connection.runText("DROP VIEW \(namespace).names")
    try PostgresStores.destroy(at: url)
    #expect(throws: StorageError.self) { try PostgresStores.metadata(at: url) }
    try PostgresStores.destroy(at: url)
  }

  /// Statements count characters on the server, which are bytes there: a store would find other rows.
  @Test(arguments: ["SQL_ASCII", "LATIN1"]) func aDatabaseOfAnotherEncodingIsRefused(encoding: String) throws
  {
    let server = try TestServer.required()
    let name = TestServer.freshNamespace()
    let maker = try PostgresConnection(
      ServerAddress(server.url("none")), password: nil, deadline: ContinuousClock.now + .seconds(30))
    try maker.runText("CREATE DATABASE \(name) ENCODING '\(encoding)' TEMPLATE template0")
    defer { _ = try? maker.runText("DROP DATABASE \(name)") }
    let url = try server.url("app", ["dbname": name])
    let error = #expect(throws: StorageError.self) {
      try PostgresStore(url: url, schema: try Library.make().schema())
    }
    #expect(error?.kind == .unsupportedFormat)
    for part in [name, encoding, "TEMPLATE template0"] {
      #expect(error?.detail.contains(part) == true, "\(part)")
    }
    let other = #expect(throws: StorageError.self) { try PostgresStores.metadata(at: url) }
    #expect(other?.kind == .unsupportedFormat)
  }

  /// A limit of the server's is 24 days at most, and seconds go further than milliseconds.
  @Test(arguments: [Duration.seconds(30 * 86_400), .seconds(100_000_000_000_000_000)])
  func aStoreMayWaitForAsLongAsItLikes(timeout: Duration) throws {
    var options = PostgresStoreOptions()
    options.timeout = timeout
    let stand = try ServerStand(Library.make(), options: options)
    let context = stand.context()
    try context.make("Author", ["name": "Ada"])
    try context.save()
    #expect(try context.all("Author").count == 1)
    for store in stand.coordinator.persistentStores { try stand.coordinator.remove(store) }
    try PostgresStores.destroy(at: stand.url, options: options)
  }
}
