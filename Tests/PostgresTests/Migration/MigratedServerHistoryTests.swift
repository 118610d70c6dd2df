import Foundation
import Strata
import StrataCore
import Testing

@testable import StrataPostgres

/// What a migration makes of a history on a server. What it makes of one in every engine is among the cases of `StoreConformance`.
@Suite struct MigratedServerHistoryTests {
  private func open(_ url: URL, _ model: ManagedObjectModel) throws -> PersistentStoreCoordinator {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    var description =
      url.isFileURL
      ? PersistentStoreDescription(url: url) : PersistentStoreDescription(type: .postgres, url: url)
    description.recordsHistory = true
    try coordinator.addPersistentStore(description)
    return coordinator
  }

  private func close(_ coordinator: PersistentStoreCoordinator) throws {
    for store in coordinator.persistentStores { try coordinator.remove(store) }
  }

  private func transactions(
    _ coordinator: PersistentStoreCoordinator, after token: PersistentHistoryToken? = nil
  ) throws -> [PersistentHistoryTransaction] {
    try coordinator.history(.fetchHistory(after: token)).transactions
  }

  @Test func itSaysWhatLMDBSays() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("mh-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let url = try TestServer.required().url(TestServer.freshNamespace())
    defer { try? PostgresStores.destroy(at: url) }
    var all: [[[String]]] = []
    for url in [url, folder.appendingPathComponent("Library.strata")] {
      let old = try open(url, HistoryTests.model())
      try HistoryTests.story(ManagedObjectContext(.confinement, coordinator: old))
      let before = HistoryTests.told(try transactions(old))
      try close(old)
      let new = try open(url, MigrationTests.newer())
      all.append(HistoryTests.told(try transactions(new)))
      #expect(before.count == all.last?.count && before != all.last)
      try close(new)
    }
    #expect(all[0] == all[1])
    let lines = all[0].flatMap(\.self)
    #expect(lines.contains { $0.hasPrefix("Topic insert") } && lines.contains { $0.contains("heading") })
    #expect(!lines.contains { $0.contains("Subject") || $0.contains("title") })
  }

  @Test func whatIsDamagedStaysAndKeepsNobodyFromTheRows() throws {
    let url = try TestServer.required().url(TestServer.freshNamespace())
    defer { try? PostgresStores.destroy(at: url) }
    let stand = try ServerStand(HistoryTests.model(), url: url)
    let old = try open(url, HistoryTests.model())
    try HistoryTests.story(ManagedObjectContext(.confinement, coordinator: old))
    try close(old)
    // Not what the store writes: each in a transaction of its own, beside changes that are as they should be.
    let forms = [
      #"{}"#, #"7"#, #"["Subject", null, 5]"#, #"[{"entity": "Subject"}]"#, #"[{"entity": null}]"#,
      #"[{"entity": "Subject", "kind": "deleted", "keys": [1, 1], "values": {"1": 7}}]"#,
      #"[{"entity": "Book", "kind": "updated", "keys": [1, 1], "properties": {"title": 1}}]"#,
      #"[{"entity": "Book", "kind": "updated", "keys": [1, 1], "properties": [7, null, "title"]}]"#,
    ]
    for (place, form) in forms.enumerated() {
      try stand.sql(
        "UPDATE \(stand.table("strata_commit")) SET changes = '\(form)' WHERE number = \(place + 2)")
    }
    let new = try open(url, MigrationTests.newer())
    #expect(
      try ManagedObjectContext(.confinement, coordinator: new).all("Shelf").map {
        $0.value(forKey: "place") as? String
      }
        == ["r"])
    let found = try #require(
      try stand.sql(
        "SELECT changes::text FROM \(stand.table("strata_commit")) WHERE number > 1 ORDER BY number"))
    #expect(
      try (0..<forms.count).map { try found.text($0, 0) } == [
        #"{}"#, #"7"#, #"["Subject", null, 5]"#, #"[{"entity": "Topic"}]"#, #"[{"entity": null}]"#,
        #"[{"keys": [1, 1], "kind": "deleted", "entity": "Topic", "values": {"1": 7}}]"#,
        #"[{"keys": [1, 1], "kind": "updated", "entity": "Book", "properties": {"title": 1}}]"#,
        #"[{"keys": [1, 1], "kind": "updated", "entity": "Book", "properties": [7, null, "heading"]}]"#,
      ])
    let error = #expect(throws: StorageError.self) { try transactions(new) }
    #expect(error?.kind == .damaged)
    try close(new)
  }

  /// Keeps messages.
  private final class Messages: StrataObserver {
    private let texts = Mutex<[String]>([])
    var all: [String] { texts.withLock { $0 } }

    func observe(_ event: StrataEvent) {
      if case .message(let message) = event { texts.withLock { $0.append(message.text) } }
    }
  }

  @Test func aHistoryThatCannotBeReadIsLeftBehindAndBeginsAnew() throws {
    let url = try TestServer.required().url(TestServer.freshNamespace())
    defer { try? PostgresStores.destroy(at: url) }
    let stand = try ServerStand(HistoryTests.model(), url: url)
    let old = try open(url, HistoryTests.model())
    try HistoryTests.story(ManagedObjectContext(.confinement, coordinator: old))
    let token = try old.currentHistoryToken()
    try old.setHistoryConsumer(named: "widget", to: token)
    try close(old)
    // As the server does where a page of the table is damaged.
    let namespace = Identifier.quoted(stand.store.mapping.namespace)
    func fail(_ state: String) throws {
      try stand.sql(
        "CREATE OR REPLACE FUNCTION \(namespace).fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '\(state)'; END $$"
      )
    }
    try fail("P0001")
    try stand.sql(
      "CREATE TRIGGER fails BEFORE UPDATE ON \(stand.table("strata_commit")) FOR EACH ROW EXECUTE FUNCTION \(namespace).fail()"
    )
    // What is no damage is an error, and nothing is changed: neither are errors of the server's own, and its limits.
    let kinds: [(String, StorageError.Kind)] = [("P0001", .refused), ("XX000", .other), ("54001", .tooLarge)]
    for (state, kind) in kinds {
      try fail(state)
      let error = #expect(throws: StorageError.self) { try open(url, MigrationTests.newer()) }
      #expect(error?.kind == kind)
    }
    let same = try open(url, HistoryTests.model())
    #expect(try transactions(same, after: token).isEmpty)
    #expect(try transactions(same).count == 10)
    try close(same)

    try fail("XX001")
    let messages = Messages()
    let installation = StrataObservers.install(messages, for: .messages)
    defer { installation.remove() }
    let new = try open(url, MigrationTests.newer())
    #expect(
      messages.all.filter { $0.contains(stand.store.mapping.namespace) && $0.contains("history") }.count == 1)
    let context = ManagedObjectContext(.confinement, coordinator: new)
    #expect(try context.all("Author").map { $0.value(forKey: "name") as? String } == ["Bob"])
    let expired = #expect(throws: CoreDataError.self) { try transactions(new, after: token) }
    #expect(expired?.code == .persistentHistoryTokenExpired)
    #expect(try new.historyConsumers(of: try #require(new.persistentStores.first)).map(\.name) == ["widget"])
    #expect(try transactions(new).isEmpty)
    try context.make("Topic", ["name": "new"])
    try context.save()
    #expect(HistoryTests.told(try transactions(new)) == [["Topic insert [] []"]])
    try close(new)
  }

  /// What an object is based on is of the same version afterwards, and transactions that say nothing of what was renamed are not written anew.
  @Test func versionsStayAndSoDoTransactionsThatNameNothingOfIt() throws {
    let stand = try ServerStand(HistoryTests.model())
    let old = try open(stand.url, HistoryTests.model())
    try HistoryTests.story(ManagedObjectContext(.confinement, coordinator: old))
    let context = ManagedObjectContext(.confinement, coordinator: old)
    try context.make("Card", ["number": Int64(2)])
    try context.save()
    try close(old)
    func versions() throws -> [String] {
      let found = try #require(
        try stand.sql("SELECT concat(pk, ' ', version) FROM \(stand.table("book")) ORDER BY pk"))
      return try (0..<found.rowCount).map { try found.text($0, 0) }
    }
    func last() throws -> String {
      try #require(
        try stand.sql(
          "SELECT xmin::text FROM \(stand.table("strata_commit")) ORDER BY number DESC LIMIT 1")
      ).text(0, 0)
    }
    let before = (try versions(), try last())
    try PostgresStores.migrate(at: stand.url, to: MigrationTests.newer())
    #expect(try versions() == before.0 && !before.0.isEmpty)
    #expect(try last() == before.1)
  }

  /// What is noted for those who follow the store belongs to no history.
  @Test func aStoreWithoutAHistoryHasNoneAfterwards() throws {
    let stand = try ServerStand(HistoryTests.model())
    try HistoryTests.story(stand.context())
    try PostgresStores.migrate(at: stand.url, to: MigrationTests.newer())
    let new = try ServerStand(MigrationTests.newer(), url: stand.url)
    #expect(try new.coordinator.currentHistoryToken() == nil)
    let recording = try open(stand.url, MigrationTests.newer())
    #expect(try transactions(recording).isEmpty)
    try close(recording)
  }
}
