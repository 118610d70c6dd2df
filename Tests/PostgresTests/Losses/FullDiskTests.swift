import Foundation
import Strata
import StrataCore
import Testing

@testable import StrataPostgres

/// A server whose disk is full: what is written fails with an error that says so, nothing is half there, and with room it succeeds.
@Suite(.serialized) struct FullDiskTests {
  private static let skip = Comment(rawValue: TestServer.SmallDisk.obstacle ?? "")

  /// A server whose tables lie on a small disk.
  private func server() throws -> TestServer {
    let server = try TestServer.own(disk: TestServer.SmallDisk(use: .tables, megabytes: 24))
    let connection = try connection(server)
    try connection.runText("CREATE TABLESPACE small LOCATION '\(server.folder.path)/small'")
    try connection.runText("ALTER DATABASE postgres SET default_tablespace = small")
    return server
  }

  private func connection(_ server: TestServer) throws -> PostgresConnection {
    try PostgresConnection(
      ServerAddress(server.url("none")), password: nil, deadline: ContinuousClock.now + .seconds(30))
  }

  private func open(
    _ url: URL, _ model: ManagedObjectModel = Library.make(), timeout: Duration = .seconds(30)
  )
    throws -> PersistentStoreCoordinator
  {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    var description = PersistentStoreDescription(type: .postgres, url: url)
    description.recordsHistory = true
    description.timeout = timeout
    try coordinator.addPersistentStore(description)
    return coordinator
  }

  private func close(_ coordinator: PersistentStoreCoordinator) throws {
    for store in coordinator.persistentStores { try coordinator.remove(store) }
  }

  private func context(_ coordinator: PersistentStoreCoordinator) -> ManagedObjectContext {
    ManagedObjectContext(.confinement, coordinator: coordinator)
  }

  /// Says that `body` fails because the disk is full, and what the server has said.
  private func isFull(_ body: () throws -> Void) {
    let error = #expect(throws: StorageError.self) { try body() }
    #expect(error?.kind == .diskFull)
    #expect(error?.detail.contains("disk is full") == true && error?.detail.contains("53100") == true)
  }

  private func count(_ coordinator: PersistentStoreCoordinator, _ entity: String = "Book") throws -> Int {
    try context(coordinator).count(for: FetchRequest<ManagedObject>(entityName: entity))
  }

  @Test(.enabled(if: TestServer.SmallDisk.obstacle == nil, skip)) func openingMakesAStoreOrNothing() throws {
    let server = try server()
    let url = try server.url("app")
    try server.fillDisk(true)
    isFull { _ = try open(url) }
    let missing = #expect(throws: StorageError.self) { try PostgresStores.metadata(at: url) }
    #expect(missing?.kind == .missing)
    try server.fillDisk(false)
    let store = try open(url)
    try context(store).make("Author", ["name": "Ada"])
    try close(store)
  }

  /// By statements, and from 500 new objects on by COPY.
  @Test(.enabled(if: TestServer.SmallDisk.obstacle == nil, skip), arguments: [200, 1_000])
  func aSaveThatFailsCanBeMadeAgain(newObjects: Int) throws {
    let server = try server()
    let store = try open(try server.url("app"))
    let writer = context(store)
    let author = try writer.make("Author", ["name": "Ada"])
    try writer.save()
    try server.fillDisk(true)
    author.setValue("Bob", forKey: "name")
    for number in 0..<newObjects {
      try writer.make(
        "Book", ["title": String(repeating: "\(number) ", count: 100), "code": "\(number)", "author": author])
    }
    for _ in 0..<2 {
      isFull { try writer.save() }
      #expect(writer.hasChanges && writer.insertedObjects.count == newObjects)
    }
    // What is read goes on, and nothing is there of the save or of the history.
    let reader = context(store)
    #expect(try reader.texts("Author", "name") == ["Ada"])
    #expect(try count(store) == 0)
    #expect(try store.history(.fetchHistory(after: .beginning)).transactions.count == 1)
    try server.fillDisk(false)
    try writer.save()
    #expect(!writer.hasChanges)
    #expect(try count(store) == newObjects)
    #expect(try context(store).texts("Author", "name") == ["Bob"])
    #expect(
      try store.history(.fetchHistory(after: .beginning)).transactions.map(\.transactionNumber) == [1, 2])
    try close(store)
  }

  @Test(.enabled(if: TestServer.SmallDisk.obstacle == nil, skip)) func batchesAreWholeOrNotAtAll() throws {
    let server = try server()
    let store = try open(try server.url("app"))
    let rows: [[String: any Sendable]] = (0..<2_000).map {
      ["title": String(repeating: "x", count: 200), "code": "\($0)"]
    }
    let writer = context(store)
    func insert(_ rows: [[String: any Sendable]]) throws {
      _ = try writer.execute(BatchInsertRequest(entityName: "Book", objects: rows))
    }
    func update(_ title: String) throws {
      _ = try writer.execute(BatchUpdateRequest(entityName: "Book", propertiesToUpdate: ["title": title]))
    }
    try server.fillDisk(true)
    isFull { try insert(rows) }
    #expect(try count(store) == 0)
    try server.fillDisk(false)
    try insert(rows)
    #expect(try count(store) == 2_000)
    try server.fillDisk(true)
    let long = String(repeating: "y", count: 400)
    isFull { try update(long) }
    #expect(try Set(context(store).texts("Book", "title")).count == 1)
    #expect(try context(store).texts("Book", "title").first?.hasPrefix("x") == true)
    try server.fillDisk(false)
    try update(long)
    #expect(try Set(context(store).texts("Book", "title")) == [long])
    #expect(try store.history(.fetchHistory(after: .beginning)).transactions.count == 2)
    try close(store)
  }

  @Test(.enabled(if: TestServer.SmallDisk.obstacle == nil, skip))
  func aMigrationLeavesTheStoreAsItWasAndCanBeMadeAgain() throws {
    let server = try server()
    let url = try server.url("app")
    let old = try open(url)
    let writer = context(old)
    for number in 0..<1_000 {
      try writer.make("Book", ["title": String(repeating: "\(number) ", count: 50), "code": "\(number)"])
    }
    try writer.save()
    let token = try old.currentHistoryToken()
    try close(old)
    try server.fillDisk(true)
    isFull { _ = try open(url, MigrationTests.newer()) }
    let same = try open(url)
    #expect(try count(same) == 1_000)
    #expect(try same.history(.fetchHistory(after: token)).transactions.isEmpty)
    try close(same)
    try server.fillDisk(false)
    let new = try open(url, MigrationTests.newer())
    #expect(try count(new) == 1_000)
    #expect(try new.history(.fetchHistory(after: token)).transactions.isEmpty)
    #expect(
      try new.history(.fetchHistory(after: .beginning)).transactions.first?.changes?.count == 1_000)
    try close(new)
  }

  /// Where the server's log has no room, the server stops: that is a server that cannot be reached.
  @Test(.enabled(if: TestServer.SmallDisk.obstacle == nil, skip))
  func aServerThatStopsBecauseItsLogHasNoRoomLosesAndDoublesNothing() throws {
    let server = try TestServer.own(disk: TestServer.SmallDisk(use: .log, megabytes: 16))
    let url = try server.url("app")
    let store = try open(url, timeout: .seconds(2))
    let writer = context(store)
    let author = try writer.make("Author", ["name": "0"])
    let book = try writer.make("Book", ["code": "c", "author": author])
    try writer.save()
    try server.fillDisk(true)
    var saved = 0
    var failure: StorageError?
    while failure == nil, saved < 5_000 {
      author.setValue("\(saved + 1)", forKey: "name")
      // What cannot be made smaller.
      let text = (0..<500).map { _ in String(UInt64.random(in: 0 ... .max), radix: 36) }.joined()
      book.setValue(text, forKey: "text")
      do {
        try writer.save()
        saved += 1
      } catch let error as StorageError { failure = error }
    }
    let kind = try #require(failure).kind
    #expect([.unreachable, .outcomeUnknown, .diskFull].contains(kind))
    #expect(saved > 10)
    #expect(writer.hasChanges)
    try server.fillDisk(false)
    try server.crash()
    let reader = try open(url)
    let present = try context(reader).texts("Author", "name").compactMap { Int($0) }
    // Only what was on its way when nobody could be asked may be there.
    #expect(present == [saved] || kind == .outcomeUnknown && present == [saved + 1])
    if present == [saved] {
      try writer.save()
      #expect(!writer.hasChanges)
    }
    #expect(try context(reader).texts("Author", "name") == ["\(saved + 1)"])
    let transactions = try reader.history(.fetchHistory(after: .beginning)).transactions
    #expect(transactions.count == saved + 2)
    try close(reader)
    try close(store)
  }
}
