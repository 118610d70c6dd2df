import Foundation
import Synchronization
import Testing

@testable import StrataCore

/// A migration of a store that has a log: the old file must be whole without it, since it gets another name.
struct MigratedLogTests {
  private let store: LoggedStore
  private let url: URL

  init() throws {
    store = try LoggedStore(name: "Spots.strata")
    url = URL(fileURLWithPath: store.path)
  }

  private static func model(_ names: String...) -> ManagedObjectModel {
    ManagedObjectModel(entities: [
      EntityDescription("Spot", properties: names.map { AttributeDescription($0, .string) })
    ])
  }

  /// Opens the store and adds objects, a save each, so that there is a log; the store stays open.
  private static func add(_ names: [String], _ url: URL) throws -> PersistentStoreCoordinator {
    var options = LMDBStoreOptions()
    options.keepsLog = true
    options.commitsBeforeLog = 0
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model("name", "note"))
    let own = try LMDBStore(url: url, schema: coordinator.managedObjectModel.schema(), options: options)
    try coordinator.attach(own)
    let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    try context.performAndWait {
      for name in names {
        let object = ManagedObject(entity: coordinator.managedObjectModel.entities[0], insertInto: context)
        object.setValue(name, forKey: "name")
        object.setValue("note of \(name)", forKey: "note")
        try context.save()
      }
    }
    try #require(FileManager.default.fileExists(atPath: url.path + "-log"))
    return coordinator
  }

  private func rowCount(_ url: URL) throws -> Int {
    let store = try LMDBStore(url: url, schema: LMDBStore.model(at: url).schema())
    defer { store.close() }
    let check = try store.check()
    #expect(check.isSound)
    return check.rowCount
  }

  private func migrate() throws {
    try LMDBStore.migrate(
      at: url, to: Self.model("name"), permission: MigrationPermission(permittedLosses: ["Spot.note"]))
  }

  /// Both files, and no log of either; the old one speaks of none.
  private func check(_ count: Int) throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: store.directory.path)
    #expect(names.filter { $0.hasSuffix("-log") } == [])
    let kept = url.deletingLastPathComponent().appendingPathComponent("Spots.strata-before-1")
    let mark = try fileBytes(kept.path)[LogMark.offset..<LogMark.offset + LogMark.size]
    #expect(mark.allSatisfy { $0 == 0 })
    #expect(try rowCount(url) == count)
    #expect(try rowCount(kept) == count)
    #expect(try LMDBStore.model(at: kept).entities[0].attributesByName["note"] != nil)
  }

  /// Its process was killed before the migration began. The newest anchor is gone, as after a power cut: only the log has the last saves.
  @Test func theLogOfAKilledProcessIsCarriedOutBeforeTheMigration() throws {
    let coordinator = try Self.add((0..<9).map { "spot \($0)" }, url)
    let image = try KilledStoreTests.tear(store.image())
    for store in coordinator.persistentStores { try coordinator.remove(store) }
    try image.put(store)
    try migrate()
    try check(9)
  }

  /// Its process came during the migration, saved, and was killed: the log is in force when the files are exchanged.
  @Test func theLogOfAProcessThatWasKilledDuringTheMigrationIsRetired() async throws {
    let first = try Self.add(["first", "second"], url)
    for store in first.persistentStores { try first.remove(store) }
    let (path, filled, killed) = (store.path, store.directory("filled"), store.directory("killed"))
    MigrationHooks.set(
      { place in
        guard place == .filled, !FileManager.default.fileExists(atPath: filled) else { return }
        do {
          try announce(filled)
          try waitFor(killed)
        } catch { Issue.record(error) }
      }, for: path)
    defer { MigrationHooks.set(nil, for: path) }
    let this = self
    let outcome = Mutex<Result<Void, any Error>?>(nil)
    let thread = Thread {
      let result = Result { try this.migrate() }
      outcome.withLock { $0 = result }
      do { try announce(this.store.directory("done")) } catch { Issue.record(error) }
    }
    thread.start()
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String, filled = filled as String] in
      try waitFor(filled)
      let coordinator = try Self.add((0..<9).map { "spot \($0)" }, URL(fileURLWithPath: path))
      withExtendedLifetime(coordinator) { _ = kill(getpid(), SIGKILL) }
    }
    #expect(FileManager.default.fileExists(atPath: store.logPath))
    try announce(killed)
    try waitFor(store.directory("done"))
    try #require(outcome.withLock { $0 }).get()
    try check(11)
  }
}
