import Foundation
import Strata
import StrataCore
import Testing
import TortureKit

@testable import StrataPostgres

/// Connections that are cut, sessions that are killed, a server that stops: what was acknowledged is there, and nothing is there twice.
@Suite struct LossTests {
  /// A stack that reaches its server through a proxy.
  private func stack(_ proxy: CuttingProxy, _ stand: ServerStand, timeout: Duration = .seconds(30)) throws
    -> PersistentStoreCoordinator
  {
    var components = try #require(URLComponents(url: stand.url, resolvingAgainstBaseURL: true))
    components.queryItems = components.queryItems?.map {
      $0.name == "host" ? URLQueryItem(name: "host", value: proxy.folder.path) : $0
    }
    let coordinator = PersistentStoreCoordinator(managedObjectModel: Library.make())
    // What passes the proxy are saves alone.
    var options = PostgresStoreOptions()
    options.listens = false
    options.timeout = timeout
    options.pollInterval = .seconds(3_600)
    let store = try PostgresStore(
      url: try #require(components.url), schema: try coordinator.managedObjectModel.schema(), options: options
    )
    try coordinator.attach(store)
    return coordinator
  }

  /// `STRATA_CUTS=1`: the connection is cut after every byte, and not after every seventeenth.
  private static let step = ProcessInfo.processInfo.environment["STRATA_CUTS"].flatMap { Int($0) } ?? 17

  @Test(arguments: [CuttingProxy.Direction.toServer, .toClient])
  func aConnectionCutAnywhereInASaveLosesAndDoublesNothing(direction: CuttingProxy.Direction) throws {
    let server = try TestServer.required()
    let stand = try ServerStand(Library.make())
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "px\(UInt16.random(in: 0 ... .max))")
    let proxy = try CuttingProxy(folder: folder, serverFolder: server.folder, direction: direction)
    let coordinator = try stack(proxy, stand)
    let context = ManagedObjectContext(.confinement, coordinator: coordinator)
    let author = try context.make("Author", ["name": "0"])
    try context.save()
    func save(_ number: Int) throws {
      author.setValue("\(number)", forKey: "name")
      try context.make("Book", ["title": "\(number)", "code": "\(number)", "author": author])
      try context.save()
    }
    try save(1)
    let before = proxy.passed
    try save(2)
    let length = proxy.passed - before
    #expect(length > 100)
    var number = 2
    for place in stride(from: 0, through: length, by: Self.step) {
      number += 1
      proxy.cut(after: place)
      // Nothing was acknowledged when the connection was cut, or it was and is found: so every save succeeds.
      try save(number)
      proxy.cut(after: nil)
    }
    #expect(proxy.cuts > length / Self.step / 2)
    let reader = stand.context()
    #expect(try reader.texts("Author", "name") == ["\(number)"])
    let titles = try reader.texts("Book", "title").compactMap { Int($0) }.sorted()
    #expect(titles == Array(1...number))
    let version = try #require(try stand.sql("SELECT max(version), count(*) FROM \(stand.table("author"))"))
    #expect(try version.text(0, 0) == "\(number + 1)")
    try coordinator.remove(coordinator.persistentStores[0])
  }

  /// Who makes an object cannot be told of an error: so keys are asked for until the server can be reached.
  @Test func aKeyIsHadAlthoughConnectionsAreLostOneAfterTheOther() throws {
    let server = try TestServer.required()
    let stand = try ServerStand(Library.make())
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "px\(UInt16.random(in: 0 ... .max))")
    let proxy = try CuttingProxy(folder: folder, serverFolder: server.folder, direction: .toServer)
    let coordinator = try stack(proxy, stand)
    let store = try #require(coordinator.persistentStores.first as? PostgresStore)
    // The question, and then the beginnings of the next two connections.
    proxy.cut(at: MessageCut(kind: MessageCut.Kind(direction: .toServer, type: "B"), place: .inside))
    proxy.cut(at: MessageCut(kind: MessageCut.Kind(direction: .toServer, type: "-"), place: .inside))
    proxy.cut(at: MessageCut(kind: MessageCut.Kind(direction: .toClient, type: "R"), place: .inside))
    let key = try store.makePrimaryKey(hierarchy: 0)
    #expect(key > 0)
    #expect(proxy.cuts == 3)
    try coordinator.remove(store)
  }

  /// The commit has taken place, its answer is cut off, and no connection can be had to ask: the error says that nobody knows. Saved again, it is there once.
  @Test func aSaveThatNobodyCanBeAskedAboutIsOfUnknownOutcome() throws {
    let server = try TestServer.required()
    let stand = try ServerStand(Library.make())
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "px\(UInt16.random(in: 0 ... .max))")
    let proxy = try CuttingProxy(folder: folder, serverFolder: server.folder, direction: .toServer)
    // The first save has the time, too.
    let coordinator = try stack(proxy, stand, timeout: .seconds(10))
    let context = ManagedObjectContext(.confinement, coordinator: coordinator)
    try context.make("Subject", ["name": "first"])
    try context.save()
    try context.make("Subject", ["name": "second"])
    proxy.refuseAfterCut(true)
    proxy.cut(at: MessageCut(kind: MessageCut.Kind(direction: .toClient, type: "Z"), place: .before))
    let error = #expect(throws: StorageError.self) { try context.save() }
    #expect(error?.kind == .outcomeUnknown)
    #expect(error?.isOutcomeUnknown == true)
    #expect(try stand.context().texts("Subject", "name") == ["first", "second"])
    proxy.refuseAfterCut(false)
    // Whatever this says: it is not there twice.
    try? context.save()
    #expect(try stand.context().texts("Subject", "name") == ["first", "second"])
    try coordinator.remove(coordinator.persistentStores[0])
  }

  @Test func sessionsThatAreKilledLoseAndDoubleNothing() throws {
    let stand = try ServerStand(Library.make())
    let isDone = Mutex(false)
    let acknowledged = Mutex<[Int]>([])
    let killer = Thread {
      var random = SeededGenerator(seed: 5)
      var (count, pause) = (0, 12)
      while !isDone.withLock({ $0 }) {
        // On a busy machine it strikes less often, so that something is saved.
        let saved = acknowledged.withLock { $0.count }
        pause = saved > count ? 12 : min(pause + 1, 2_000)
        count = saved
        _ = try? stand.sql(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'strata' AND pid <> pg_backend_pid() AND query LIKE '%\(stand.store.mapping.namespace)%'"
        )
        Thread.sleep(forTimeInterval: Double(random.below(pause)) / 1_000)
      }
    }
    killer.start()
    defer { isDone.withLock { $0 = true } }
    let unknown = Mutex<[Int]>([])
    DispatchQueue.concurrentPerform(iterations: 2) { thread in
      var saved = 0
      // However many are refused on a busy machine, so many are saved.
      for number in 0..<10_000 where saved < 40 {
        let serial = thread * 10_000 + number
        do {
          let context = stand.context()
          try context.make("Book", ["title": "\(serial)", "pages": Int32(serial)])
          try context.save()
          acknowledged.withLock { $0.append(serial) }
          saved += 1
        } catch let error as StorageError where error.isOutcomeUnknown {
          unknown.withLock { $0.append(serial) }
        } catch {
          // Refused: it must not be there.
        }
      }
    }
    isDone.withLock { $0 = true }
    Thread.sleep(forTimeInterval: 0.05)
    let found = try stand.context().texts("Book", "title").compactMap { Int($0) }
    #expect(Set(found).count == found.count)
    let known = Set(acknowledged.withLock { $0 })
    #expect(known.isSubset(of: found))
    #expect(Set(found).subtracting(known).isSubset(of: unknown.withLock { $0 }))
    #expect(known.count == 80)
  }

  @Test func aServerThatCrashesAndStartsAgainLosesNothing() throws {
    let server = try TestServer.own()
    let url = try server.url("app")
    let model = Library.make()
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    let store = try PostgresStore(url: url, schema: try model.schema())
    try coordinator.attach(store)
    let isDone = Mutex(false)
    let acknowledged = Mutex<[Int]>([])
    let refused = Mutex<[Int]>([])
    let writer = DispatchQueue(label: "writer")
    let finished = DispatchSemaphore(value: 0)
    writer.async {
      var serial = 0
      while !isDone.withLock({ $0 }) {
        serial += 1
        do {
          let context = ManagedObjectContext(.confinement, coordinator: coordinator)
          try context.make("Book", ["title": "\(serial)"])
          try context.save()
          acknowledged.withLock { $0.append(serial) }
        } catch let error as StorageError where error.isOutcomeUnknown {
        } catch { refused.withLock { $0.append(serial) } }
      }
      finished.signal()
    }
    for round in 1...2 {
      while acknowledged.withLock({ $0.count }) < round * 30 { Thread.sleep(forTimeInterval: 0.005) }
      try server.crash()
    }
    let goal = acknowledged.withLock { $0.count } + 20
    while acknowledged.withLock({ $0.count }) < goal { Thread.sleep(forTimeInterval: 0.005) }
    isDone.withLock { $0 = true }
    finished.wait()
    let found = try ManagedObjectContext(.confinement, coordinator: coordinator).texts("Book", "title")
      .compactMap { Int($0) }
    #expect(Set(found).count == found.count)
    #expect(Set(acknowledged.withLock { $0 }).isSubset(of: found))
    #expect(Set(found).isDisjoint(with: refused.withLock { $0 }))
    try coordinator.remove(store)
  }

  @Test func theSumOfTransfersStaysTheSame() throws {
    let model = Library.make()
    let stand = try ServerStand(model)
    let stands = [stand, try stand.neighbour(Library.make())]
    let context = stand.context()
    for number in 0..<8 { try context.make("Book", ["title": "\(number)", "pages": Int32(100)]) }
    try context.save()
    let conflicts = Mutex(0)
    DispatchQueue.concurrentPerform(iterations: 4) { thread in
      var random = SeededGenerator(seed: UInt64(thread) + 1)
      var done = 0
      while done < 40 {
        do {
          let context = stands[thread % 2].context()
          let books = try context.all("Book", by: "title")
          let (from, to) = (random.below(8), random.below(8))
          if from == to { continue }
          func pages(_ place: Int) -> Int32 { Int32(books[place].value(forKey: "pages") as? Int64 ?? 0) }
          let amount = Int32(random.below(5))
          books[from].setValue(pages(from) - amount, forKey: "pages")
          books[to].setValue(pages(to) + amount, forKey: "pages")
          try context.save()
          done += 1
        } catch let error as CoreDataError where error.code == .managedObjectMerge {
          conflicts.withLock { $0 += 1 }
        } catch {
          Issue.record(error)
          return
        }
      }
    }
    let sum = try stand.context().all("Book").reduce(0) { $0 + ($1.value(forKey: "pages") as? Int64 ?? 0) }
    #expect(sum == 800)
  }

  /// A commit of nothing but metadata, by a run of its own.
  private func run(_ stand: ServerStand, _ connection: PostgresConnection) -> CommitRun {
    CommitRun(
      stand.store.mapping, identifier: stand.store.identifier, held: stand.store.held,
      connection: connection, writer: stand.store.writer, keeping: stand.store.keeping,
      deadline: ContinuousClock.now + .seconds(30), disturbances: 0,
      settings: CommitRun.Settings())
  }

  /// What was sent before the connection was given up arrives after the store has said that nothing was saved.
  @Test func aCommitThatArrivesAfterItWasGivenUpIsRefused() throws {
    let stand = try ServerStand(Library.make())
    func connection() throws -> PostgresConnection {
      try PostgresConnection(
        ServerAddress(stand.url), password: nil, deadline: ContinuousClock.now + .seconds(30))
    }
    let (late, asking) = (try connection(), try connection())
    let before = try stand.store.commitNumber()
    let run = run(stand, late)
    for _ in 1...2 {
      // Asked twice, as when the first answer is lost: what the question notes itself is no commit of the run's.
      #expect(
        try CommitRun.find(run.token, stand.store.mapping, asking, ContinuousClock.now + .seconds(30)) == nil)
    }
    #expect(throws: CommitRun.Disturbed.self) {
      _ = try run.run([ChangeSet(metadata: StoreMetadata(values: ["late": .string("yes")]))])
    }
    #expect(late.reset())
    #expect(!run.isCommitSent)
    let metadata = try #require(
      try stand.sql("SELECT metadata LIKE '%late%' FROM \(stand.table("strata_store"))"))
    #expect(try metadata.text(0, 0) == "f")
    // Others see a commit that changes nothing.
    let journal = try stand.store.journal(after: before)
    #expect(journal.newest == before + 1)
    #expect(journal.commits.map(\.number) == [before + 1])
    #expect(journal.commits.allSatisfy { !$0.isOwn && $0.changes.updated.count == 0 })
    // One that has taken place is found, and its token is not taken.
    let second = self.run(stand, late)
    _ = try second.run([ChangeSet(metadata: StoreMetadata(values: ["late": .string("no")]))])
    #expect(
      try CommitRun.find(second.token, stand.store.mapping, asking, ContinuousClock.now + .seconds(30))
        == before + 2)
    #expect(try stand.store.commitNumber() == before + 2)
  }

  @Test func whatALostAnswerSaysOfTheHistoryIsNothing() {
    var recent = RecentCommits(isRecording: true)
    recent.note([7], [70], nil)
    #expect(recent.isRecording)
    #expect(recent.marks[7] == 70)
    recent.note([8], [80], false)
    #expect(!recent.isRecording)
    #expect(recent.marks[8] == nil)
  }

  /// The server refuses a save: the next token is of the history that goes on.
  @Test func aRefusedSaveDoesNotEndTheHistory() throws {
    var options = PostgresStoreOptions()
    options.recordsHistory = true
    let stand = try ServerStand(Library.make(), options: options)
    try stand.sql("ALTER TABLE \(stand.table("book")) ADD CHECK (pages < 10)")
    let context = stand.context()
    let book = try context.make("Book", ["pages": Int32(11)])
    #expect(throws: StorageError.self) { try context.save() }
    #expect(stand.store.recent.withLock { $0.isRecording })
    book.setValue(Int32(1), forKey: "pages")
    try context.save()
    #expect(stand.store.recent.withLock { $0.isRecording && $0.marks.count == 1 })
  }
}
