import Foundation
import Strata
import StrataCore
import Testing
import TortureKit

@testable import StrataPostgres

/// Indexes whose builders are killed, may not build, or have no room.
@Suite struct IndexLossTests {
  /// The session that builds is ended while the index is half there; then another program opens the store, or adds it again.
  @Test(arguments: [true, false]) func halfAnIndexIsMadeAnew(byOpening: Bool) async throws {
    let library = try IndexedStand()
    let obstacle = try library.obstacle()
    // As a program would leave it that is killed: its session ends, and nobody takes anything back.
    let table = IndexTable(mapping: library.store.mapping, identifier: library.store.identifier)
    let added = try #require(
      try JSONDecoder().decode(
        AddedIndex?.self,
        from: Data(
          #"{"entity":"Book","name":"byPages","elements":[{"property":"pages","isAscending":true}]}"#.utf8)))
    let index = try added.checked(library.store.mapping.schema)
    let connection = try library.session()
    try connection.run(table.additions(added, relation: "book_by_pages_0"))
    let session = try IndexSession(table, connection)
    let building = Task.detached(executorPreference: QueueExecutor("builds")) {
      try session.waitForTurn()
      return try session.build(added, index)
    }
    try await library.wait { try library.builders() == [Int64(session.backend)] }
    try library.stand.sql("SELECT pg_terminate_backend(\(session.backend))")
    await #expect(throws: (any Error).self) { try await building.value }
    try obstacle.runText("COMMIT")
    #expect(try library.relations() == ["book_by_pages_0": false])
    #expect(try library.added == ["byPages growing"])
    if byOpening {
      let next = try IndexedStand(of: library)
      try await next.wait { try next.added == ["byPages complete"] }
    } else {
      try await library.add("byPages", "pages")
    }
    #expect(try library.added == ["byPages complete"])
    #expect(try library.relations() == ["book_by_pages_0": true])
  }

  /// Half a removal is finished by whoever opens the store.
  @Test func halfARemovalIsFinished() async throws {
    let library = try IndexedStand()
    try await library.add("byPages", "pages")
    try library.stand.sql("UPDATE \(library.stand.table("strata_index")) SET is_wanted = false")
    #expect(try library.added == [])
    let next = try IndexedStand(of: library)
    try await next.wait { try next.relations().isEmpty }
    try await next.add("byPages", "title")
    #expect(try next.added == ["byPages complete"])
  }

  /// One that somebody has dropped beside the store is no complete one, and is built by whoever adds it again.
  @Test func oneThatWasDroppedBesideTheStoreIsMadeAgain() async throws {
    let library = try IndexedStand()
    try await library.add("byPages", "pages")
    let name = try #require(try library.relations().keys.first)
    try library.stand.sql("DROP INDEX \(library.stand.table(name))")
    #expect(try library.added == ["byPages growing"])
    try await library.add("byPages", "pages")
    #expect(try library.added == ["byPages complete"])
    try await library.remove("byPages")
    #expect(try library.relations().isEmpty)
  }

  @Test func whoMayOnlyReadIsRefused() async throws {
    let library = try IndexedStand()
    try await library.add("byPages", "pages")
    var options = PostgresStoreOptions()
    options.isReadOnly = true
    let reader = try ServerStand(Library.make(), url: library.stand.url, options: options)
    let error = await #expect(throws: CoreDataError.self) {
      try await reader.coordinator.addIndex(
        FetchIndexDescription(name: "a", attributes: ["pages"]), toEntityNamed: "Book", in: reader.store)
    }
    #expect(error?.code == .persistentStoreSave)
    await #expect(throws: CoreDataError.self) {
      try await reader.coordinator.removeIndex(named: "byPages", ofEntityNamed: "Book", in: reader.store)
    }
    #expect(try reader.coordinator.indexes(in: reader.store).contains { $0.name == "byPages" })
  }

  /// A role that may read and write rows, and owns no table.
  @Test func aRoleThatOwnsNoTableIsRefused() async throws {
    let library = try IndexedStand()
    let namespace = library.store.mapping.namespace
    let role = "r_" + namespace
    try library.stand.sql(
      "CREATE ROLE \(role) LOGIN; GRANT USAGE ON SCHEMA \(namespace) TO \(role); GRANT ALL ON ALL TABLES IN SCHEMA \(namespace) TO \(role); GRANT ALL ON ALL SEQUENCES IN SCHEMA \(namespace) TO \(role)"
    )
    defer { _ = try? library.stand.sql("DROP OWNED BY \(role); DROP ROLE \(role)") }
    var components = try #require(URLComponents(url: library.stand.url, resolvingAgainstBaseURL: false))
    components.queryItems = components.queryItems?.map {
      $0.name == "user" ? URLQueryItem(name: "user", value: role) : $0
    }
    let address: URL = try #require(components.url)
    let other = try ServerStand(Library.make(), url: address)
    let error = await #expect(throws: StorageError.self) {
      try await other.coordinator.addIndex(
        FetchIndexDescription(name: "byPages", attributes: ["pages"]), toEntityNamed: "Book",
        in: other.store)
    }
    #expect(error?.kind == .refused && error?.detail.contains("42501") == true)
    #expect(try library.added == [] && library.relations().isEmpty)
    // Nothing of the refused one is in the way of those who may.
    try await library.add("byPages", "pages")
    #expect(try other.coordinator.indexes(in: other.store).contains { $0.name == "byPages" && $0.isComplete })
  }

  @Test func aStoreThatIsClosedEndsTheBuilding() async throws {
    let library = try IndexedStand()
    let other = try IndexedStand(of: library)
    let obstacle = try library.obstacle()
    let building = Task { try await other.add("byPages", "pages") }
    try await library.wait { try !library.builders().isEmpty }
    for store in other.stand.coordinator.persistentStores { try other.stand.coordinator.remove(store) }
    let error = await #expect(throws: StorageError.self) { try await building.value }
    #expect(error?.kind == .closed)
    try await library.wait { try library.builders().isEmpty }
    try obstacle.runText("COMMIT")
    #expect(try library.added == [])
  }

  /// Rows are read and written by a store that another program migrates while it builds: it is told so, and leaves nothing behind.
  @Test func aMigrationMeanwhileIsTold() async throws {
    let library = try IndexedStand()
    let model = Library.make()
    let pages = try #require(model.entitiesByName["Book"]?.propertiesByName["pages"])
    pages.renamingIdentifier = "pages"
    pages.name = "leaves"
    try PostgresStores.migrate(at: library.stand.url, to: model)
    let error = await #expect(throws: CoreDataError.self) { try await library.add("byPages", "pages") }
    #expect(error?.code == .persistentStoreIncompatibleVersionHash)
    #expect(try library.relations().isEmpty)
  }
}

/// A server without room for an index.
@Suite(.serialized) struct IndexWithoutRoomTests {
  @Test(
    .enabled(
      if: TestServer.SmallDisk.obstacle == nil, Comment(rawValue: TestServer.SmallDisk.obstacle ?? "")))
  func nothingIsLeftOfIt() async throws {
    let server = try TestServer.own(disk: TestServer.SmallDisk(use: .tables, megabytes: 24))
    let connection = try PostgresConnection(
      ServerAddress(server.url("none")), password: nil, deadline: ContinuousClock.now + .seconds(30))
    try connection.runText("CREATE TABLESPACE small LOCATION '\(server.folder.path)/small'")
    try connection.runText("ALTER DATABASE postgres SET default_tablespace = small")
    let coordinator = PersistentStoreCoordinator(managedObjectModel: Library.make())
    try coordinator.addPersistentStore(PersistentStoreDescription(type: .postgres, url: server.url("app")))
    let context = ManagedObjectContext(.confinement, coordinator: coordinator)
    for number in 0..<3_000 { try context.make("Book", ["code": "\(number)", "pages": number]) }
    try context.save()
    let store = coordinator.persistentStores[0]
    try server.fillDisk(true)
    func add() async throws {
      try await coordinator.addIndex(
        FetchIndexDescription(name: "byPages", attributes: ["pages"]), toEntityNamed: "Book", in: store)
    }
    let error = await #expect(throws: StorageError.self) { try await add() }
    #expect(error?.kind == .diskFull && error?.detail.contains("53100") == true)
    try server.fillDisk(false)
    try await add()
    let added = try coordinator.indexes(in: store).filter(\.isAdded)
    #expect(added.map(\.isComplete) == [true])
    try coordinator.remove(store)
  }
}
