import Foundation
import Synchronization
import Testing

@testable import StrataCore

/// What happens to the file that a migration replaces when something is lost.
struct ReplacedFileTests {
  private let folder: URL
  private let url: URL

  init() throws { try self.init(name: "Spots.strata") }

  private init(name: String) throws {
    let base = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
    folder = base.appendingPathComponent("strata-replaced-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    url = folder.appendingPathComponent(name)
  }

  private static func model(_ names: String...) -> ManagedObjectModel {
    ManagedObjectModel(entities: [
      EntityDescription("Spot", properties: names.map { AttributeDescription($0, .string) })
    ])
  }

  private static func old() -> ManagedObjectModel { model("name", "note") }
  private static func new() -> ManagedObjectModel { model("name") }

  /// Adds objects with these names, and notes.
  private func add(_ names: [String]) throws {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: Self.old())
    let own = try LMDBStore(url: url, schema: coordinator.managedObjectModel.schema())
    try coordinator.attach(own)
    let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    try context.performAndWait {
      for name in names {
        let object = ManagedObject(entity: coordinator.managedObjectModel.entities[0], insertInto: context)
        object.setValue(name, forKey: "name")
        object.setValue("note of \(name)", forKey: "note")
      }
      try context.save()
    }
    try coordinator.remove(own)
  }

  private func rowCount(_ url: URL) throws -> Int {
    let store = try LMDBStore(url: url, schema: LMDBStore.model(at: url).schema())
    defer { store.close() }
    let check = try store.check()
    #expect(check.isSound)
    return check.rowCount
  }

  private func files() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { !$0.hasSuffix("-lock") }
      .sorted()
  }

  private static func migrate(_ url: URL) throws {
    try LMDBStore.migrate(
      at: url, to: new(), permission: MigrationPermission(permittedLosses: ["Spot.note"]))
  }

  @Test("a save during the migration makes it decide again: a loss that came late is refused")
  func decidedAnew() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    // A row whose note is nil: nothing would be lost.
    let store = try LMDBStore(url: url, schema: Self.old().schema())
    store.close()
    let this = self
    let rounds = Mutex(0)
    MigrationHooks.set(
      { place in
        guard place == .filled,
          rounds.withLock({
            $0 += 1; return $0 == 1
          })
        else { return }
        try? this.add(["late"])
      }, for: url.path)
    defer { MigrationHooks.set(nil, for: url.path) }
    let error = #expect(throws: CoreDataError.self) { try LMDBStore.migrate(at: url, to: Self.new()) }
    #expect(error?.errorUserInfo[MigrationPermission.lossesKey] as? [String: Int] == ["Spot.note": 1])
    #expect(rounds.withLock { $0 } == 1)
    #expect(try files() == ["Spots.strata"])
    #expect(try rowCount(url) == 1)
  }

  @Test(
    "a process that is killed while it exchanges the files leaves the old one under a name that the next migration mends",
    arguments: ["copied", "filled", "exchanged"])
  func killed(place: String) async throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    try add((0..<50).map { "spot \($0)" })
    let path = url.path
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String, place = place as String] in
      MigrationHooks.set({ if $0.rawValue == place { kill(getpid(), SIGKILL) } }, for: path)
      try LMDBStore.migrate(
        at: URL(fileURLWithPath: path),
        to: ManagedObjectModel(entities: [
          EntityDescription("Spot", properties: [AttributeDescription("name", .string)])
        ]), permission: MigrationPermission(permittedLosses: ["Spot.note"]))
    }
    let kept = folder.appendingPathComponent("Spots.strata-before-1")
    if place == "exchanged" {
      #expect(try files() == ["Spots.strata", "Spots.strata-before-1"])
      // As if the process had been killed one step before.
      let inode = try #require(try StoreFile(kept.path, .system).status()).identity.inode
      try FileManager.default.moveItem(
        at: kept, to: folder.appendingPathComponent(".strata-migration-4194305-abc.\(inode)"))
      // A process that tidies up in the folder meanwhile leaves it alone.
      StoreDraft.removeLeftovers(beside: try StoreFile(url.path, .system))
    }
    try Self.migrate(url)
    #expect(try files() == ["Spots.strata", "Spots.strata-before-1"])
    #expect(try LMDBStore.model(at: kept).entities[0].attributesByName["note"] != nil)
    #expect(try rowCount(url) == 50)
    #expect(try rowCount(kept) == 50)
  }

  @Test(
    "what a killed migration has left under the name of its draft goes with the next save, and with the store",
    arguments: ["save", "destroy"])
  func leftUnderDraftName(end: String) throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    try add(["spot"])
    try Self.migrate(url)
    let kept = folder.appendingPathComponent("Spots.strata-before-1")
    let inode = try #require(try StoreFile(kept.path, .system).status()).identity.inode
    try FileManager.default.moveItem(
      at: kept, to: folder.appendingPathComponent(".strata-migration-4194305-abc.\(inode)"))
    if end == "destroy" {
      try LMDBStore.destroy(at: url)
      #expect(try files() == [])
      return
    }
    let coordinator = PersistentStoreCoordinator(managedObjectModel: Self.new())
    let own = try LMDBStore(url: url, schema: coordinator.managedObjectModel.schema())
    try coordinator.attach(own)
    let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    try context.performAndWait {
      let object = ManagedObject(entity: coordinator.managedObjectModel.entities[0], insertInto: context)
      object.setValue("new", forKey: "name")
      try context.save()
    }
    try coordinator.remove(own)
    #expect(try files() == ["Spots.strata"])
  }

  @Test(
    "of a name that is too long the beginning is left: the kept file opens, and goes with the next save, and with the store",
    arguments: [232, 233, 246, 247, 250], ["save", "destroy"])
  func longName(length: Int, end: String) throws {
    let rest = length - ".strata".utf8.count
    let name = String(repeating: "é", count: rest / 2) + String(repeating: "n", count: rest % 2)
    let long = try Self(name: name + ".strata")
    defer { try? FileManager.default.removeItem(at: long.folder) }
    try long.add(["spot"])
    try Self.migrate(long.url)
    let kept = try #require(try long.files().first { $0.hasSuffix("-before-1") })
    #expect(try long.files().count == 2)
    #expect((kept == "\(name).strata-before-1") == (length == 232))
    #expect(try long.rowCount(long.folder.appendingPathComponent(kept)) == 1)
    // One whose name begins in the same way.
    let other = long.folder.appendingPathComponent("\(name.dropLast(3)).strata")
    let stranger = try StoreFile(other.path, .system)
    #expect(try stranger.status() == nil)
    try stranger.removeAllReplaced()
    #expect(try long.files().contains(kept))
    if end == "destroy" {
      try LMDBStore.destroy(at: long.url)
      #expect(try long.files() == [])
      return
    }
    let coordinator = PersistentStoreCoordinator(managedObjectModel: Self.new())
    let store = try LMDBStore(url: long.url, schema: coordinator.managedObjectModel.schema())
    try coordinator.attach(store)
    let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    try context.performAndWait {
      let object = ManagedObject(entity: coordinator.managedObjectModel.entities[0], insertInto: context)
      object.setValue("new", forKey: "name")
      try context.save()
    }
    try coordinator.remove(store)
    #expect(try long.files() == ["\(name).strata"])
  }

  @Test(
    "beside a store that is damaged since, what a killed migration has left gets its name, and goes with the store",
    arguments: ["migrate", "destroy"])
  func leftBesideDamage(way: String) throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    try add(["spot"])
    try Self.migrate(url)
    let kept = folder.appendingPathComponent("Spots.strata-before-1")
    let inode = try #require(try StoreFile(kept.path, .system).status()).identity.inode
    let mark = StoreDraft.mark(of: try StoreFile(url.path, .system))
    try FileManager.default.moveItem(
      at: kept, to: folder.appendingPathComponent(".strata-migration-4194305-abc.\(mark).\(inode)"))
    // Of another store in the folder.
    let other = folder.appendingPathComponent("other")
    try Data("other".utf8).write(to: other)
    let number = try #require(try StoreFile(other.path, .system).status()).identity.inode
    let stranger = ".strata-migration-4194305-def.z.\(number)"
    try FileManager.default.moveItem(at: other, to: folder.appendingPathComponent(stranger))
    let size = try Data(contentsOf: url).count
    try Data(repeating: 0x5a, count: size).write(to: url)
    if way == "migrate" {
      #expect(throws: (any Error).self) { try Self.migrate(url) }
      #expect(try files() == [stranger, "Spots.strata", "Spots.strata-before-1"])
      #expect(try LMDBStore.model(at: kept).entities[0].attributesByName["note"] != nil)
      #expect(try rowCount(kept) == 1)
    }
    try LMDBStore.destroy(at: url)
    #expect(try files() == [stranger])
  }

  @Test(
    "where two names cannot be exchanged in one step, what is kept is a copy; a name that cannot be given leaves all as it was"
  )
  func exchanging() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    func write(_ name: String, _ text: String) throws -> String {
      let path = folder.appendingPathComponent(name).path
      try Data(text.utf8).write(to: URL(fileURLWithPath: path))
      return path
    }
    func read(_ name: String) -> String? {
      try? String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
    }
    for code in [0, -ENOSYS, -EINVAL] {
      _ = try write("Spots.strata", "old")
      let draft = try write(".strata-migration-1-x", "new")
      var system = FileSystem.system
      if code != 0 { system.exchange = { _, _ in code } }
      let file = try StoreFile(url.path, system)
      let record = try file.makeReplaced()
      #expect(record.name == "Spots.strata-before-1")
      try Environment.move(draft, over: file, keeping: record)
      #expect(try files() == ["Spots.strata", "Spots.strata-before-1"])
      #expect(read("Spots.strata") == "new" && read("Spots.strata-before-1") == "old")
      #expect(try file.makeReplaced().name == "Spots.strata-before-2")
      try file.remove([
        ReplacedFile(name: "Spots.strata", inode: 0), ReplacedFile(name: "Other-before-1", inode: 0),
      ])
      #expect(try files().count == 2, "only names of replaced files of this store")
      try file.remove([record])
      #expect(try files() == ["Spots.strata"])
    }
    _ = try write("Spots.strata", "old")
    let draft = try write(".strata-migration-1-x", "new")
    var system = FileSystem.system
    system.renameExclusively = { _, _ in -ENOSPC }
    let file = try StoreFile(url.path, system)
    let record = try file.makeReplaced()
    let error = #expect(throws: StorageError.self) {
      try Environment.move(draft, over: file, keeping: record)
    }
    #expect(error?.kind == .diskFull)
    #expect(read("Spots.strata") == "old" && read(".strata-migration-1-x") == "new")
  }

  @Test("a copy for which there is no room leaves all as it was")
  func noRoomForCopy() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    try add((0..<20).map { "spot \($0)" })
    let before = try Data(contentsOf: url)
    let draft = folder.appendingPathComponent(".strata-migration-1-x").path
    try Data("new".utf8).write(to: URL(fileURLWithPath: draft))
    var system = FileSystem.system
    system.exchange = { _, _ in -EINVAL }
    system.write = { _, _, _ in -Int(ENOSPC) }
    let file = try StoreFile(url.path, system)
    let record = try file.makeReplaced()
    let error = #expect(throws: StorageError.self) {
      try Environment.move(draft, over: file, keeping: record)
    }
    #expect(error?.kind == .diskFull)
    #expect(try Data(contentsOf: url) == before)
    #expect(try files() == [".strata-migration-1-x", "Spots.strata"])
  }

  @Test(
    "a refusal costs memory for numbers only, and looks no further than the first loss when the loss is permitted"
  )
  func stopsAtTheFirst() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    try add((0..<300).map { "spot \($0)" })
    let source = try LMDBStore(url: url, schema: LMDBStore.model(at: url).schema())
    defer { source.close() }
    let snapshot = try #require(try source.makeSnapshot() as? LMDBSnapshot)
    defer { snapshot.release() }
    let (old, new) = (source.parts.schema, try Self.new().schema())
    let pairing = ModelPairing(old.model, new.model)
    let plan = try MigrationPlan(pairing, from: old, holding: ["Spot"], to: new)
    let losses = LossPlan(pairing, plan)
    let rows = SourceRows(plan: plan, snapshot: snapshot)
    var first = LossCount(losses, rows, progress: BatchProgress())
    #expect(try first.findsAny())
    #expect(first.counts == [1])
    var all = LossCount(losses, rows, progress: BatchProgress())
    try all.run()
    #expect(all.counts == [300])
  }
}
