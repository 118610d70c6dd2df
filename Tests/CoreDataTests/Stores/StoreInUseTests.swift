import CoreData
import Foundation
import Testing
import struct StrataCore.Mutex

/// A store that another process has open is not removed, and the attempt is an error.
@Suite("Stores that another process uses")
struct StoreInUseTests {
  private let folder: URL

  init() throws {
    folder = try Journal.makeFolder()
    for (name, title) in [("a", "of a"), ("b", "of b")] {
      let coordinator = try Journal.makeCoordinator(at: url(name))
      let context = NSManagedObjectContext(.confinementConcurrencyType)
      context.persistentStoreCoordinator = coordinator
      Entry(context: context).title = title
      try context.save()
      try coordinator.remove(coordinator.persistentStores[0])
    }
  }

  private func url(_ name: String) -> URL { folder.appendingPathComponent(name + ".sqlite") }

  private func titles(_ name: String) throws -> [String] {
    let coordinator = try Journal.makeCoordinator(at: url(name))
    defer { for store in coordinator.persistentStores { try? coordinator.remove(store) } }
    return try Journal.savedTitles(coordinator)
  }

  /// Runs `body` while another process has the store open, which saves once more to it afterwards, or cannot.
  ///
  /// The body runs on a thread of its own: while exit tests wait for their processes, tasks may get none.
  private func whileOpenElsewhere(_ name: String, saves: Bool = true, _ body: @escaping () throws -> Void)
    async throws
  {
    let (opened, done) = (folder.path + "/opened", folder.path + "/done")
    let outcome = Mutex<Result<Void, any Error>?>(nil)
    // Safe: the test waits until the thread has ended, and touches nothing of it meanwhile.
    nonisolated(unsafe) let body = body
    let thread = Thread {
      for _ in 0..<60_000 where !FileManager.default.fileExists(atPath: opened) { usleep(10_000) }
      let result = Result { try body() }
      outcome.withLock { $0 = result }
      do { try Data().write(to: URL(fileURLWithPath: done)) } catch { Issue.record(error) }
    }
    thread.start()
    await #expect(processExitsWith: .success) {
      [
        path = url(name).path as String, opened = opened as String, done = done as String,
        saves = saves as Bool
      ] in
      let coordinator = try Journal.makeCoordinator(at: URL(fileURLWithPath: path))
      try Data().write(to: URL(fileURLWithPath: opened))
      for _ in 0..<60_000 where !FileManager.default.fileExists(atPath: done) { usleep(10_000) }
      if saves {
        let context = NSManagedObjectContext(.confinementConcurrencyType)
        context.persistentStoreCoordinator = coordinator
        Entry(context: context).title = "saved elsewhere"
        try context.save()
        try coordinator.remove(coordinator.persistentStores[0])
      }
    }
    try #require(outcome.withLock { $0 }, "the other process never had the store open").get()
  }

  private func expectBusy(_ body: () throws -> Void) {
    let error = #expect(throws: CocoaError.self, performing: body)
    #expect(error?.localizedDescription.contains("Another process") ?? false, "\(error as Any)")
  }

  @Test("rule 329: neither replaced nor destroyed; what the other process saves is kept")
  func replacedAndDestroyed() async throws {
    try await whileOpenElsewhere("a") {
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Journal.makeModel())
      expectBusy {
        try coordinator.replacePersistentStore(at: url("a"), withPersistentStoreFrom: url("b"), type: .sqlite)
      }
      expectBusy { try coordinator.destroyPersistentStore(at: url("a"), type: .sqlite) }
      // A source may be in use: it is only read.
      try coordinator.replacePersistentStore(at: url("c"), withPersistentStoreFrom: url("a"), type: .sqlite)
    }
    #expect(try titles("a").sorted() == ["of a", "saved elsewhere"])
    #expect(try titles("c") == ["of a"])
    // When no process has it open, it is replaced and destroyed.
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Journal.makeModel())
    try coordinator.replacePersistentStore(at: url("a"), withPersistentStoreFrom: url("b"), type: .sqlite)
    #expect(try titles("a") == ["of b"])
    try coordinator.destroyPersistentStore(at: url("a"), type: .sqlite)
    #expect(try titles("a") == [])
  }

  @Test("An attached store that another process uses is neither replaced nor destroyed, and stays attached")
  func attached() async throws {
    let coordinator = try Journal.makeCoordinator(at: url("a"))
    let store = coordinator.persistentStores[0]
    try await whileOpenElsewhere("a") {
      expectBusy { try coordinator.destroyPersistentStore(at: url("a"), type: .sqlite) }
      expectBusy {
        try coordinator.replacePersistentStore(at: url("a"), withPersistentStoreFrom: url("b"), type: .sqlite)
      }
      #expect(coordinator.persistentStores == [store])
    }
    #expect(try Journal.savedTitles(coordinator).sorted() == ["of a", "saved elsewhere"])
  }

  @Test("An attached store that another process uses is moved; the other process goes on with the old file")
  func moved() async throws {
    let coordinator = try Journal.makeCoordinator(at: url("a"))
    try await whileOpenElsewhere("a") {
      let moved = try coordinator.migratePersistentStore(
        coordinator.persistentStores[0], to: url("c"), type: .sqlite)
      #expect(coordinator.persistentStores == [moved])
      #expect(try Journal.savedTitles(coordinator) == ["of a"])
    }
    #expect(try titles("a").sorted() == ["of a", "saved elsewhere"])
    #expect(try titles("c") == ["of a"])
  }

  @Test("A store whose file was deleted is still in use: none is put under its name")
  func deletedFile() async throws {
    // The other process cannot save any more, and does not try.
    try await whileOpenElsewhere("a", saves: false) {
      try FileManager.default.removeItem(at: url("a"))
      let coordinator = try Journal.makeCoordinator(at: url("b"))
      expectBusy {
        try coordinator.replacePersistentStore(at: url("a"), withPersistentStoreFrom: url("b"), type: .sqlite)
      }
      expectBusy {
        try coordinator.migratePersistentStore(coordinator.persistentStores[0], to: url("a"), type: .sqlite)
      }
      #expect(coordinator.persistentStores.count == 1)
    }
  }
}
