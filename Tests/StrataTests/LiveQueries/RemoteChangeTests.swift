import Foundation
import Strata
import Testing
import TortureKit

/// Rule 134: the coordinator posts a notification for every write to a store that was added with the option.
struct RemoteChangeTests {
  private let stand: LiveStand

  init() throws { stand = try LiveStand { $0.postsRemoteChangeNotifications = true } }

  private struct Change: Sendable {
    let uuid: String?
    let url: URL?
    let token: PersistentHistoryToken?
  }

  private func listen() -> Heard<Change> {
    Heard(PersistentStoreCoordinator.remoteChangeNotification, of: stand.coordinator) { note in
      Change(
        uuid: note.userInfo?["NSStoreUUID"] as? String, url: note.userInfo?["storeURL"] as? URL,
        token: note.userInfo?["historyToken"] as? PersistentHistoryToken)
    }
  }

  @Test("rule 134: own saves, batches and other processes' commits, with the store's UUID, URL and a token")
  func everyWrite() async throws {
    let heard = listen()
    let store = try #require(stand.coordinator.persistentStores.first)
    try stand.make("a")
    #expect(await eventually { heard.all.count == 1 })
    let context = ManagedObjectContext(.confinement, coordinator: stand.coordinator)
    _ = try context.execute(BatchUpdateRequest(entityName: "Note", propertiesToUpdate: ["count": 1]))
    #expect(await eventually { heard.all.count == 2 })
    try stand.elsewhere("insert:b")
    #expect(await eventually { heard.all.count == 3 })
    #expect(heard.all.allSatisfy { $0.uuid == store.identifier.uuidString && $0.url == stand.url })
    #expect(heard.all.compactMap { $0.token?.commitNumber(of: store.identifier) } == [1, 2, 3])
    #expect(try stand.coordinator.currentHistoryToken(for: store) == heard.all.last?.token)
  }

  private func save(_ title: String, _ coordinator: PersistentStoreCoordinator) throws {
    let context = ManagedObjectContext(.confinement, coordinator: coordinator)
    Note(context: context).title = title
    try context.save()
  }

  private func count(_ coordinator: PersistentStoreCoordinator) throws -> Int {
    let context = ManagedObjectContext(.confinement, coordinator: coordinator)
    return try context.count(for: FetchRequest<Note>(entityName: "Note"))
  }

  @Test("rule 134: own saves to a store in memory")
  func inMemory() async throws {
    let coordinator = try LiveModel.open(URL(fileURLWithPath: "/dev/null")) {
      $0.postsRemoteChangeNotifications = true
    }
    let heard = Heard(PersistentStoreCoordinator.remoteChangeNotification, of: coordinator) { note in
      Change(
        uuid: note.userInfo?["NSStoreUUID"] as? String, url: note.userInfo?["storeURL"] as? URL,
        token: note.userInfo?["historyToken"] as? PersistentHistoryToken)
    }
    try save("a", coordinator)
    try save("b", coordinator)
    #expect(await eventually { heard.all.count == 2 })
    let store = try #require(coordinator.persistentStores.first)
    #expect(heard.all.compactMap { $0.token?.commitNumber(of: store.identifier) } == [1, 2])
    try coordinator.remove(store)
  }

  @Test("rule 134: coordinators that share a store in memory by its name hear of each other's saves")
  func inSharedMemory() async throws {
    let url = URL(fileURLWithPath: "/dev/null/live-\(UUID().uuidString)")
    let here = try LiveModel.open(url) { $0.postsRemoteChangeNotifications = true }
    let there = try LiveModel.open(url)
    let context = ManagedObjectContext(.privateQueue, coordinator: here)
    context.automaticallyMergesChangesFromParent = true
    let heard = Heard(PersistentStoreCoordinator.remoteChangeNotification, of: here) { _ in 1 }
    let merged = Heard(ManagedObjectContext.didMergeChangesObjectIDsNotification, of: context) { _ in 1 }
    try save("a", there)
    #expect(await eventually { heard.all.count == 1 && !merged.all.isEmpty })
    try save("b", here)
    #expect(await eventually { heard.all.count == 2 })
    #expect(try count(here) == 2 && count(there) == 2)
    for coordinator in [here, there] {
      for store in coordinator.persistentStores { try coordinator.remove(store) }
    }
  }

  @Test("rule 134: without the option nothing is posted")
  func withoutTheOption() async throws {
    let stand = try LiveStand()
    let heard = Heard(PersistentStoreCoordinator.remoteChangeNotification, of: stand.coordinator) { _ in 1 }
    let context = stand.context()
    let merged = Heard(ManagedObjectContext.didMergeChangesObjectIDsNotification, of: context) { _ in 1 }
    try stand.elsewhere("insert:a")
    #expect(await eventually { !merged.all.isEmpty })
    #expect(heard.all.isEmpty)
  }

  @Test("a context that does not merge automatically merges the notification")
  func byHand() async throws {
    try stand.make("a")
    let context = ManagedObjectContext(.privateQueue, coordinator: stand.coordinator)
    let keeper = Keeper()
    try await context.perform {
      keeper.objects = try context.fetch(FetchRequest<Note>(entityName: "Note"))
      _ = keeper.notes[0].title
    }
    let token = NotificationCenter.default.addObserver(
      forName: PersistentStoreCoordinator.remoteChangeNotification, object: stand.coordinator, queue: nil
    ) { note in
      let note = Carried(note)
      context.perform { context.mergeChanges(fromContextDidSave: note.value) }
    }
    defer { NotificationCenter.default.removeObserver(token) }
    try stand.elsewhere("rename:a:A")
    #expect(await eventually { await context.perform { keeper.notes[0].title == "A" } })
  }

  @Test("a batch and a save that have nothing to write hide no commit of others")
  func nothingWritten() async throws {
    try stand.make("a")
    let context = stand.context()
    let keeper = Keeper()
    try await context.perform {
      keeper.objects = try context.fetch(FetchRequest<Note>(entityName: "Note"))
      _ = keeper.notes[0].title
    }
    // A stack of its own: to the first one, its commits are another's.
    let others = try LiveModel.open(stand.url)
    let writer = ManagedObjectContext(.privateQueue, coordinator: others)
    let here = ManagedObjectContext(.privateQueue, coordinator: stand.coordinator)
    for round in 0..<60 {
      try writer.performAndWait {
        let notes = try writer.fetch(FetchRequest<Note>(entityName: "Note"))
        notes[0].title = "\(round)"
        try writer.save()
      }
      try here.performAndWait {
        if round % 2 == 1 { return try here.save() }
        let none = FetchRequest<Note>(entityName: "Note", predicate: Attribute("title") == "nobody")
        _ = try here.execute(BatchDeleteRequest(fetchRequest: none))
      }
      let isTold = await eventually { await context.perform { keeper.notes[0].title == "\(round)" } }
      #expect(isTold, "round \(round)")
      if !isTold { break }
    }
    for store in others.persistentStores { try others.remove(store) }
  }

  @Test("followsOtherProcesses off: the file is not watched")
  func notFollowed() async throws {
    let stand = try LiveStand { $0.followsOtherProcesses = false }
    let context = stand.context()
    let heard = Heard(ManagedObjectContext.didMergeChangesObjectIDsNotification, of: context) { _ in 1 }
    let witness = try LiveWitness(stand.url)
    try stand.elsewhere("insert:a")
    try await witness.hasHeard()
    await context.perform {}
    #expect(heard.all.isEmpty)
  }
}

/// A value that is carried to another queue and used there only.
struct Carried<Value>: @unchecked Sendable {
  let value: Value
  init(_ value: Value) { self.value = value }
}
