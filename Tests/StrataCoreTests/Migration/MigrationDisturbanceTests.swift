import Foundation
import Synchronization
import Testing

@testable import StrataCore

/// What a migration leaves when it is interrupted, and what it does when others get in its way.
struct MigrationDisturbanceTests {
  private let folder: URL
  private let url: URL

  init() throws {
    // As the store knows it: links resolved.
    let base = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
    folder = base.appendingPathComponent("strata-migration-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    url = folder.appendingPathComponent("Spots.strata")
  }

  private func model(_ name: String) -> ManagedObjectModel {
    let attribute = AttributeDescription(name, .string)
    attribute.renamingIdentifier = "name"
    return ManagedObjectModel(entities: [EntityDescription("Spot", properties: [attribute])])
  }

  /// Adds objects with these names.
  private func add(_ names: [String], _ key: String = "name") throws {
    let store = try LMDBStore(url: url, schema: model(key).schema())
    defer { store.close() }
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model(key))
    let own = try LMDBStore(url: url, schema: coordinator.managedObjectModel.schema())
    try coordinator.attach(own)
    let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    try context.performAndWait {
      for name in names {
        let entity = coordinator.managedObjectModel.entities[0]
        ManagedObject(entity: entity, insertInto: context).setValue(name, forKey: key)
      }
      try context.save()
    }
    try coordinator.remove(own)
  }

  /// The names in the store in that file, by the model that it is of; and the attribute that holds them.
  private func content(_ url: URL) throws -> (key: String, names: [String], isSound: Bool) {
    let model = try LMDBStore.model(at: url)
    let key = try #require(model.entities[0].attributesByName.keys.first)
    let store = try LMDBStore(url: url, schema: model.schema())
    let isSound = try store.check().isSound
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    store.close()
    try coordinator.addPersistentStore(PersistentStoreDescription(url: url))
    let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    let names = try context.performAndWait {
      try context.fetch(FetchRequest<ManagedObject>(entityName: "Spot")).compactMap {
        $0.value(forKey: key) as? String
      }.sorted()
    }
    for store in coordinator.persistentStores { try coordinator.remove(store) }
    return (key, names, isSound)
  }

  @Test(
    "at whatever moment a migration is interrupted, the file is the old store or the new one, and whole")
  func crashImages() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let names = (0..<500).map { "spot \($0 + 1_000)" }
    try add(names)
    let images = Mutex<[String: URL]>([:])
    let (folder, url) = (folder, url)
    MigrationHooks.set(
      { place in
        if place == .looked || place == .compared { return }
        // What a process finds that comes after a kill: all files as they are at this moment.
        let image = folder.deletingLastPathComponent().appendingPathComponent(
          folder.lastPathComponent + "-\(place.rawValue)")
        try? FileManager.default.copyItem(at: folder, to: image)
        images.withLock { $0[place.rawValue] = image }
      }, for: url.path)
    defer { MigrationHooks.set(nil, for: url.path) }
    try LMDBStore.migrate(at: url, to: model("title"))
    let taken = images.withLock { $0 }
    defer { for image in taken.values { try? FileManager.default.removeItem(at: image) } }
    #expect(taken.keys.sorted() == ["copied", "exchanged", "filled"])
    for (place, image) in taken {
      let file = image.appendingPathComponent(url.lastPathComponent)
      let found = try content(file)
      #expect(found.key == (place == "exchanged" ? "title" : "name"), "\(place)")
      #expect(found.names == names && found.isSound, "\(place)")
      // Nothing prevents another attempt.
      try LMDBStore.migrate(at: file, to: model("title"))
      #expect(try content(file).names == names, "\(place)")
    }
    #expect(try content(url).key == "title")
  }

  @Test("drafts of processes that have died are removed by the next migration")
  func leftovers() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    try add(["a"])
    // No process has this number: it is beyond the largest.
    for name in [".strata-migration-4194305-abc", ".strata-migration-4194305-abc-lock"] {
      try Data("x".utf8).write(to: folder.appendingPathComponent(name))
    }
    try LMDBStore.migrate(at: url, to: model("title"))
    let files = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    #expect(files.filter { $0.hasPrefix(".strata") } == [])
  }

  @Test("what another process saves while the store is being migrated is migrated too")
  func savedMeanwhile() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    try add(["a", "b"])
    let rounds = Mutex(0)
    let this = self
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
    try LMDBStore.migrate(at: url, to: model("title"))
    #expect(rounds.withLock { $0 } == 2)
    let found = try content(url)
    #expect(found.key == "title" && found.names == ["a", "b", "late"] && found.isSound)
  }

  @Test(
    "a store that is saved to meanwhile is migrated all the same: at the end, saves have to wait"
  )
  func savedForEver() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    try add(["a"])
    let this = self
    let rounds = Mutex(0)
    let refusals = Mutex<[StorageError.Kind]>([])
    MigrationHooks.set(
      { place in
        guard place == .filled else { return }
        let round = rounds.withLock {
          $0 += 1
          return $0
        }
        if round < 5 {
          try? this.add(["late"])
        } else if let kind = this.metadataRefusal() {
          refusals.withLock { $0.append(kind) }
        }
      }, for: url.path)
    defer { MigrationHooks.set(nil, for: url.path) }
    var options = LMDBStoreOptions()
    options.writerDeadline = .milliseconds(200)
    try LMDBStore.migrate(at: url, to: model("title"), options: options)
    #expect(rounds.withLock { $0 } == 5)
    #expect(refusals.withLock { $0 } == [.busy])
    let found = try content(url)
    #expect(found.key == "title" && found.isSound)
    #expect(found.names == ["a", "late", "late", "late", "late"])
  }

  /// Why a commit to the store is refused; nil when it is not.
  private func metadataRefusal() -> StorageError.Kind? {
    do {
      let store = try LMDBStore(url: url, schema: model("name").schema())
      defer { store.close() }
      var change = ChangeSet()
      change.metadata = StoreMetadata(values: ["who": .string("late")])
      try store.commitAndWait(change)
      return nil
    } catch {
      return (error as? StorageError)?.kind
    }
  }

  @Test(
    "threads that open an old store at once: one migrates it, the others wait, and all of them have it open")
  func openedAtOnce() async throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let this = self
    for round in 0..<4 {
      if round > 0 { try LMDBStore.destroy(at: url) }
      try add((0..<200).map { "spot \($0)" })
      let failures = await withTaskGroup(of: String?.self) { group in
        for number in 0..<5 {
          group.addTask {
            await withCheckedContinuation { continuation in
              Thread.detachNewThread { continuation.resume(returning: this.openOrLook(number)) }
            }
          }
        }
        var failures: [String] = []
        for await failure in group { if let failure { failures.append(failure) } }
        return failures
      }
      #expect(failures == [])
      let found = try content(url)
      #expect(found.key == "title" && found.names.count == 200 && found.isSound)
    }
  }

  /// What went wrong.
  private func openOrLook(_ number: Int) -> String? {
    do {
      if number == 0 {
        // Short reads of the file disturb no process either.
        for _ in 0..<200 { _ = try LMDBStore.metadata(at: url) }
        return nil
      }
      let coordinator = PersistentStoreCoordinator(managedObjectModel: model("title"))
      let store = try coordinator.addPersistentStore(PersistentStoreDescription(url: url))
      let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
      let count = try context.performAndWait {
        try context.fetch(FetchRequest<ManagedObject>(entityName: "Spot")).count
      }
      try coordinator.remove(store)
      return count == 200 ? nil : "\(count) objects"
    } catch {
      return "\(error)"
    }
  }

  @Test(
    "a migration that finds no room leaves the store as it was: diskFull, and it succeeds when there is room")
  func diskFull() async throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = url.path
    try add((0..<1_000).map { "spot \($0) " + String(repeating: "x", count: 400) })
    let before = try Data(contentsOf: url)
    await #expect(processExitsWith: .success) { [path = path as String] in
      func model() -> ManagedObjectModel {
        let attribute = AttributeDescription("title", .string)
        attribute.renamingIdentifier = "name"
        return ManagedObjectModel(entities: [EntityDescription("Spot", properties: [attribute])])
      }
      let url = URL(fileURLWithPath: path)
      var limit = rlimit()
      getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
      let size = limit.rlim_cur
      for room in [50_000, 100_000, 200_000, 400_000] {
        limit.rlim_cur = rlim_t(room)
        setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
        let error = #expect(throws: StorageError.self) { try LMDBStore.migrate(at: url, to: model()) }
        #expect(error?.kind == .diskFull, "\(String(describing: error))")
      }
      limit.rlim_cur = size
      setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
      let files = try FileManager.default.contentsOfDirectory(
        atPath: url.deletingLastPathComponent().path)
      #expect(files.filter { $0.hasPrefix(".strata") } == [])
      #expect(try LMDBStore.model(at: url).entities[0].attributesByName["name"] != nil)
    }
    #expect(try Data(contentsOf: url) == before)
    #expect(try content(url).key == "name")
    try LMDBStore.migrate(at: url, to: model("title"))
    let found = try content(url)
    #expect(found.key == "title" && found.names.count == 1_000 && found.isSound)
  }

  @Test("when another process has migrated the store meanwhile, that is found and left as it is")
  func migratedByAnother() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    try add(["a"])
    let other = folder.appendingPathComponent("other.strata")
    try FileManager.default.copyItem(at: url, to: other)
    try LMDBStore.migrate(at: other, to: model("title"))
    let rounds = Mutex(0)
    let url = url
    MigrationHooks.set(
      { place in
        if place == .copied || place == .filled { rounds.withLock { $0 += 1 } }
        if place == .filled { rename(other.path, url.path) }
      }, for: url.path)
    try LMDBStore.migrate(at: url, to: model("title"))
    MigrationHooks.set(nil, for: url.path)
    #expect(rounds.withLock { $0 } == 2, "copied and filled, once each")
    let found = try content(url)
    #expect(found.key == "title" && found.names == ["a"])
  }

  @Test(
    "a process that is killed while it migrates leaves the old store or the new one, and no lock",
    arguments: ["copied", "filled", "exchanged"])
  func killed(place: String) async throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let names = (0..<300).map { "spot \($0 + 1_000)" }
    try add(names)
    let path = url.path
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String, place = place as String] in
      MigrationHooks.set({ if $0.rawValue == place { kill(getpid(), SIGKILL) } }, for: path)
      let attribute = AttributeDescription("title", .string)
      attribute.renamingIdentifier = "name"
      try LMDBStore.migrate(
        at: URL(fileURLWithPath: path),
        to: ManagedObjectModel(entities: [EntityDescription("Spot", properties: [attribute])]))
    }
    let left = try content(url)
    #expect(left.key == (place == "exchanged" ? "title" : "name") && left.names == names && left.isSound)
    try LMDBStore.migrate(at: url, to: model("title"))
    let found = try content(url)
    #expect(found.key == "title" && found.names == names && found.isSound)
    let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(files.filter { $0.hasPrefix(".strata") } == [], "the dead process's draft is removed")
  }

  @Test(
    "a process that has the store open while another one migrates it reads on what it had, and its saves are refused"
  )
  func openInAnotherProcess() async throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    try add(["a"])
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model("name"))
    try coordinator.addPersistentStore(PersistentStoreDescription(url: url))
    let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    let path = url.path
    await #expect(processExitsWith: .success) { [path = path as String] in
      let attribute = AttributeDescription("title", .string)
      attribute.renamingIdentifier = "name"
      try LMDBStore.migrate(
        at: URL(fileURLWithPath: path),
        to: ManagedObjectModel(entities: [EntityDescription("Spot", properties: [attribute])]))
    }
    context.performAndWait {
      let count = try? context.fetch(FetchRequest<ManagedObject>(entityName: "Spot")).count
      #expect(count == 1)
      ManagedObject(entity: coordinator.managedObjectModel.entities[0], insertInto: context).setValue(
        "b", forKey: "name")
      for _ in 0..<2 {
        let error = #expect(throws: CoreDataError.self) { try context.save() }
        #expect(error?.code == .persistentStoreIncompatibleVersionHash)
        #expect(error?.description.contains("Another process has migrated the store") == true)
        #expect(error?.description.contains("title was name") == true, "\(String(describing: error))")
        let below = error?.errorUserInfo[NSUnderlyingErrorKey] as? StorageError
        #expect(below?.kind == .replaced)
      }
      let batch = #expect(throws: CoreDataError.self) {
        try context.execute(BatchDeleteRequest(fetchRequest: FetchRequest<ManagedObject>(entityName: "Spot")))
      }
      #expect(batch?.code == .persistentStoreIncompatibleVersionHash)
    }
    for store in coordinator.persistentStores { try coordinator.remove(store) }
    let found = try content(url)
    #expect(found.key == "title" && found.names == ["a"])
  }
}
