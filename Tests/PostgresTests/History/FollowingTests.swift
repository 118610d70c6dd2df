import Foundation
import Strata
import StrataCore
import Testing

@testable import StrataPostgres

/// What others commit, in contexts and lists of this process. Another stack stands for another process: it shares nothing but the server.
@Suite struct FollowingTests {
  private static func options(_ listens: Bool) -> PostgresStoreOptions {
    var options = PostgresStoreOptions()
    options.listens = listens
    // Where the server tells, nothing comes from looking.
    options.pollInterval = listens ? .seconds(3_600) : .milliseconds(20)
    return options
  }

  /// Another program's save. On one thread from its beginning to its end.
  private func save(_ stand: ServerStand, _ body: (ManagedObjectContext) throws -> Void) throws {
    let context = stand.context()
    try body(context)
    try context.save()
  }

  private func eventually(_ isTrue: () throws -> Bool) async throws -> Bool {
    for _ in 0..<3_000 {
      if try isTrue() { return true }
      try await Task.sleep(for: .milliseconds(10))
    }
    return false
  }

  @Test(arguments: [true, false])
  func contextsMergeWhatOthersCommit(listens: Bool) async throws {
    let stand = try ServerStand(Library.make(), options: Self.options(listens))
    let other = try ServerStand(Library.make(), url: stand.url, options: Self.options(listens))
    try save(other) { writer in
      let ada = try writer.make("Author", ["name": "Ada"])
      try writer.make("Book", ["title": "1", "author": ada])
    }
    let reader = stand.context(.privateQueue)
    reader.automaticallyMergesChangesFromParent = true
    struct Seen: Sendable {
      let author: ManagedObjectID
      let book: ManagedObjectID
    }
    let seen = try await reader.perform {
      let author = try #require(try reader.all("Author").first)
      let book = try #require(try reader.all("Book").first)
      // Values and members are read.
      _ = (author.value(forKey: "name"), book.value(forKey: "title"))
      #expect((author.value(forKey: "books") as? Set<ManagedObject>)?.count == 1)
      return Seen(author: author.objectID, book: book.objectID)
    }
    if listens { #expect(try await eventually { stand.store.following.isListening }) }
    func now(_ body: @escaping @Sendable () throws -> Bool) async throws -> Bool {
      for _ in 0..<3_000 {
        if try await reader.perform(body) { return true }
        try await Task.sleep(for: .milliseconds(10))
      }
      return false
    }
    try save(other) { try #require(try $0.all("Author").first).setValue("Eve", forKey: "name") }
    #expect(try await now { reader.object(with: seen.author).value(forKey: "name") as? String == "Eve" })
    // Members of an object whose row does not change.
    try save(other) { writer in
      try writer.make("Book", ["title": "2", "author": try #require(try writer.all("Author").first)])
    }
    #expect(
      try await now {
        (reader.object(with: seen.author).value(forKey: "books") as? Set<ManagedObject>)?.count == 2
      })
    try save(other) { writer in
      let subject = try writer.make("Subject", ["name": "s"])
      subject.add([try #require(try writer.all("Book", by: "title").last)], to: "books")
    }
    try save(other) { writer in writer.delete(try #require(try writer.all("Book", by: "title").first)) }
    #expect(
      try await now {
        reader.registeredObject(for: seen.book).map { $0.isDeleted || $0.managedObjectContext == nil } ?? true
      })
    #expect(
      try await now {
        (reader.object(with: seen.author).value(forKey: "books") as? Set<ManagedObject>)?.count == 1
      })
  }

  /// A list is followed while somebody listens.
  private final class ListListener: FetchedResultsChangeDelegate {
    typealias Result = ManagedObject
  }

  @Test func listsShowWhatOthersCommit() async throws {
    let stand = try ServerStand(Library.make(), options: Self.options(true))
    let other = try ServerStand(Library.make(), url: stand.url, options: Self.options(true))
    let reader = stand.context(.privateQueue)
    reader.automaticallyMergesChangesFromParent = true
    let request = FetchRequest<ManagedObject>(
      entityName: "Author", sortDescriptors: [FetchSort("name")])
    // Used on the context's queue alone.
    nonisolated(unsafe) let results = FetchedResultsController(
      fetchRequest: request, managedObjectContext: reader)
    // Used on the context's queue alone.
    nonisolated(unsafe) let listener = ListListener()
    try await reader.perform {
      results.delegate = listener
      try results.performFetch()
    }
    for name in ["C", "A", "B"] { try save(other) { try $0.make("Author", ["name": name]) } }
    func shown() async -> [String] {
      await reader.perform {
        results.fetchedObjects?.compactMap { $0.value(forKey: "name") as? String } ?? []
      }
    }
    var names: [String] = []
    for _ in 0..<3_000 {
      names = await shown()
      if names.count == 3 { break }
      try await Task.sleep(for: .milliseconds(10))
    }
    #expect(names == ["A", "B", "C"])
    withExtendedLifetime(listener) {}
  }

  @Test func remoteChangesAreTold() async throws {
    let server = try TestServer.required()
    let url = try server.url(TestServer.freshNamespace())
    let coordinator = PersistentStoreCoordinator(managedObjectModel: Library.make())
    var description = PersistentStoreDescription(type: .postgres, url: url)
    description.recordsHistory = true
    description.postsRemoteChangeNotifications = true
    description.engineOptions["pollInterval"] = "3600"
    try coordinator.addPersistentStore(description)
    defer {
      for store in coordinator.persistentStores { try? coordinator.remove(store) }
      try? PostgresStores.destroy(at: url)
    }
    let tokens = Mutex<[PersistentHistoryToken]>([])
    let observer = NotificationCenter.default.addObserver(
      forName: PersistentStoreCoordinator.remoteChangeNotification, object: coordinator, queue: nil
    ) { notification in
      let key = PersistentStoreCoordinator.RemoteChangeKey.historyToken.rawValue
      guard let token = notification.userInfo?[key] as? PersistentHistoryToken else { return }
      tokens.withLock { $0.append(token) }
    }
    defer { NotificationCenter.default.removeObserver(observer) }
    let other = try ServerStand(Library.make(), url: url)
    let before = try #require(try coordinator.currentHistoryToken())
    try save(other) { try $0.make("Author", ["name": "Ada"]) }
    #expect(try await eventually { tokens.withLock { !$0.isEmpty } })
    func saveHere() throws {
      let own = ManagedObjectContext(.confinement, coordinator: coordinator)
      try own.make("Author", ["name": "Bob"])
      try own.save()
    }
    try saveHere()
    let newest = try #require(try coordinator.currentHistoryToken())
    #expect(try await eventually { tokens.withLock { $0.last } == newest })
    #expect(try coordinator.history(.fetchHistory(after: before)).transactions.count == 2)
    #expect(try coordinator.history(.fetchHistory(after: newest)).transactions.isEmpty)
  }

  @Test func aListenerWhoseSessionIsKilledMissesNothing() async throws {
    var options = Self.options(true)
    options.pollInterval = .milliseconds(20)
    let stand = try ServerStand(Library.make(), options: options)
    let other = try stand.neighbour(Library.make())
    let reader = stand.context(.privateQueue)
    reader.automaticallyMergesChangesFromParent = true
    try save(other) { try $0.make("Author", ["name": "0"]) }
    let author = try await reader.perform {
      let author = try #require(try reader.all("Author").first)
      _ = author.value(forKey: "name")
      return author.objectID
    }
    #expect(try await eventually { stand.store.following.isListening })
    for round in 1...5 {
      try stand.sql(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'strata' AND pid <> pg_backend_pid() AND (query LIKE 'LISTEN%\(stand.store.identifier.uuidString.lowercased())%' OR query LIKE '%\(stand.store.mapping.namespace)%')"
      )
      try save(other) { try #require(try $0.all("Author").first).setValue("\(round)", forKey: "name") }
      var isSeen = false
      for _ in 0..<3_000 where !isSeen {
        isSeen = await reader.perform {
          reader.object(with: author).value(forKey: "name") as? String == "\(round)"
        }
        if !isSeen { try await Task.sleep(for: .milliseconds(10)) }
      }
      #expect(isSeen, "round \(round)")
    }
    #expect(try await eventually { stand.store.following.isListening })
  }

  @Test func commitsAreToldInTheirOrderOnce() throws {
    let stand = try ServerStand(Library.make(), options: Self.options(true))
    let other = try stand.neighbour(Library.make())
    let (first, second) = (stand.context(), other.context())
    for number in 0..<3 {
      try first.make("Subject", ["name": "own \(number)"])
      try first.save()
      try second.make("Subject", ["name": "other \(number)"])
      try second.save()
    }
    let reading = try stand.store.journal(after: 0)
    #expect(reading.newest == 6)
    #expect(reading.commits.map(\.number) == Array(1...6))
    #expect(reading.commits.map(\.isOwn) == [true, false, true, false, true, false])
    let entity = try #require(stand.store.mapping.schema.entity(named: "Subject")).number
    #expect(reading.commits.map { $0.changes.inserted.lists[entity].count } == [0, 1, 0, 1, 0, 1])
    #expect(try stand.store.journal(after: 6).commits.isEmpty)
    #expect(try stand.store.commitNumber() == 6)
  }

  /// The server's process of the connection that listens.
  private func listener(_ stand: ServerStand) throws -> pid_t {
    let found = try #require(
      try stand.sql(
        "SELECT pid FROM pg_stat_activity WHERE query LIKE 'LISTEN%\(stand.store.identifier.uuidString.lowercased())%' AND pid <> pg_backend_pid()"
      ))
    return try #require(pid_t(try found.text(0, 0)))
  }

  /// The connection is there, but nothing is to be heard from the other end.
  @Test func aSaveDoesNotWaitForTheConnectionThatListens() async throws {
    var options = Self.options(true)
    // Whoever waited for that connection would wait as long.
    options.timeout = .seconds(600)
    let stand = try ServerStand(Library.make(), options: options)
    let other = try stand.neighbour(Library.make())
    let reader = stand.context(.privateQueue)
    reader.automaticallyMergesChangesFromParent = true
    try save(other) { try $0.make("Author", ["name": "0"]) }
    #expect(try await eventually { stand.store.following.isListening })
    let author = try await reader.perform {
      let author = try #require(try reader.all("Author").first)
      _ = author.value(forKey: "name")
      return author.objectID
    }
    let process = try listener(stand)
    #expect(kill(process, SIGSTOP) == 0)
    defer { kill(process, SIGCONT) }
    try save(other) { try #require(try $0.all("Author").first).setValue("1", forKey: "name") }
    let isSaved = Mutex(false)
    Thread {
      do {
        // What the other has committed is told before this.
        try save(stand) { try $0.make("Subject", ["name": "s"]) }
        isSaved.withLock { $0 = true }
      } catch { Issue.record(error) }
    }.start()
    #expect(try await eventually { isSaved.withLock { $0 } })
    #expect(
      try await eventually {
        reader.performAndWait { reader.object(with: author).value(forKey: "name") as? String == "1" }
      })
  }

  @Test(.timeLimit(.minutes(2))) func nobodyWaitsForAConnectionThatIsBeingMade() throws {
    let (entered, gate, told) = (
      DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
    )
    let following = FollowingConnection(
      channel: "strata_none", ownPayload: "1", timeout: .seconds(1), retryInterval: .milliseconds(5)
    ) {
      entered.signal()
      gate.wait()
      throw StorageError(.unreachable, operation: "connect", path: "", detail: "It has taken long.")
    }
    let watch = following.watch { _ in told.signal() }
    entered.wait()
    // Meanwhile everybody looks from time to time.
    for _ in 0..<3 { told.wait() }
    #expect(!following.isListening)
    gate.signal()
    // It is tried again.
    entered.wait()
    following.close()
    gate.signal()
    withExtendedLifetime(watch) {}
  }
}
