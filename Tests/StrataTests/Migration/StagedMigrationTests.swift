import Foundation
import Strata
import Testing
import struct StrataCore.Mutex

/// Which stages may follow each other, and which of them are gone through (rule 314).
struct StagedMigrationTests {
  let stand: MigrationStand

  init() throws {
    stand = try MigrationStand()
    let context = try stand.open(Self.model(1))
    try context.performAndWait {
      context.newObject("Spot", ["a0": "here"])
      try context.save()
    }
    try stand.close()
  }

  /// Version `number` has as many attributes.
  private static func model(_ number: Int) -> ManagedObjectModel {
    ManagedObjectModel(entities: [
      EntityDescription("Spot", properties: (0..<number).map { AttributeDescription("a\($0)", .string) })
    ])
  }

  private final class Calls: Sendable {
    private let calls = Mutex<[String]>([])
    func note(_ call: String) { calls.withLock { $0.append(call) } }
    var all: [String] { calls.withLock { $0 } }
  }

  private let calls = Calls()

  private func light(_ numbers: Int...) -> MigrationStage {
    LightweightMigrationStage(numbers.map { Self.model($0).versionChecksum })
  }

  private func custom(_ from: Int, _ to: Int) -> MigrationStage { Self.custom(from, to, calls) }

  private static func custom(_ from: Int, _ to: Int, _ calls: Calls) -> MigrationStage {
    func reference(_ number: Int) -> ManagedObjectModelReference {
      ManagedObjectModelReference(
        model: model(number), versionChecksum: model(number).versionChecksum)
    }
    let stage = CustomMigrationStage(migratingFrom: reference(from), to: reference(to))
    stage.label = "\(from) to \(to)"
    stage.willMigrateHandler = { _, stage in calls.note(stage.label) }
    return stage
  }

  private func open(_ number: Int, _ stages: [MigrationStage]) throws {
    try stand.open(Self.model(number)) { $0.stagedMigrationManager = StagedMigrationManager(stages) }
    try stand.close()
  }

  private func version() throws -> Int? {
    let checksum = try LMDBStore.model(at: stand.url).versionChecksum
    return (1...6).first { Self.model($0).versionChecksum == checksum }
  }

  @Test("rule 314: a gap between custom stages is 134110, said before anything is touched")
  func gap() throws {
    let error = #expect(throws: CoreDataError.self) { try open(4, [custom(1, 2), custom(3, 4)]) }
    #expect(error?.code == .migration)
    #expect(error?.description.contains("“1 to 2” ends") == true, "\(String(describing: error))")
    #expect(error?.description.contains("“3 to 4” begins") == true)
    #expect(try version() == 1)
    #expect(calls.all == [])
    // Wherever it is: the stages are one description, and its author should learn of the error at once.
    #expect(throws: CoreDataError.self) { try open(2, [custom(1, 2), light(3), custom(4, 5), custom(3, 6)]) }
    #expect(try version() == 1)
  }

  @Test(
    "rule 314: from and to what a lightweight stage names leads what can be inferred, as in Core Data's own examples"
  )
  func bridges() throws {
    try open(4, [light(1), custom(2, 3), light(4)])
    #expect(try version() == 4)
    #expect(calls.all == ["2 to 3"])
    try open(6, [light(1), custom(2, 3), light(4), light(5, 6)])
    #expect(try version() == 6)
    #expect(calls.all == ["2 to 3"])
  }

  @Test("rule 314: stages that lead beyond the model are left alone")
  func beyond() throws {
    try open(2, [light(1, 2, 3), custom(3, 4)])
    #expect(try version() == 2)
    try open(3, [custom(1, 2), custom(2, 3), custom(3, 4)])
    #expect(try version() == 3)
    #expect(calls.all == ["2 to 3"])
  }

  @Test("rule 314: a store that this process has open is refused before a handler runs")
  func openHere() throws {
    try stand.open(Self.model(1))
    let coordinator = PersistentStoreCoordinator(managedObjectModel: Self.model(2))
    let description = {
      var description = PersistentStoreDescription(url: stand.url)
      description.stagedMigrationManager = StagedMigrationManager([custom(1, 2)])
      return description
    }()
    let error = #expect(throws: StorageError.self) { try coordinator.addPersistentStore(description) }
    #expect(error?.kind == .busy)
    #expect(calls.all == [])
    try stand.close()
    try open(2, [custom(1, 2)])
    #expect(calls.all == ["1 to 2"])
    #expect(try version() == 2)
  }

  @Test("two threads open a store with stages at once: one goes through them, the other finds it migrated")
  func atOnce() async throws {
    let (url, calls) = (stand.url, calls)
    let failures = await withTaskGroup(of: String?.self) { group in
      for _ in 0..<4 {
        group.addTask {
          await withCheckedContinuation { continuation in
            Thread.detachNewThread {
              do {
                let stages = StagedMigrationManager(
                  [(1, 2), (2, 3), (3, 4)].map { Self.custom($0, $1, calls) })
                let coordinator = PersistentStoreCoordinator(managedObjectModel: Self.model(4))
                var description = PersistentStoreDescription(url: url)
                description.stagedMigrationManager = stages
                let store = try coordinator.addPersistentStore(description)
                try coordinator.remove(store)
                continuation.resume(returning: nil)
              } catch {
                continuation.resume(returning: "\(error)")
              }
            }
          }
        }
      }
      var failures: [String] = []
      for await failure in group { if let failure { failures.append(failure) } }
      return failures
    }
    #expect(failures == [])
    #expect(calls.all == ["1 to 2", "2 to 3", "3 to 4"])
    #expect(try version() == 4)
  }

  /// Its handler multiplies: twice would be wrong.
  @Test("two processes open a store with stages at once: each handler runs once, whoever comes first")
  func processesAtOnce() async throws {
    let context = try stand.open(Self.model(1))
    try context.performAndWait {
      for object in try context.fetch(FetchRequest<ManagedObject>(entityName: "Spot")) {
        object.setValue("x", forKey: "a0")
      }
      try context.save()
    }
    try stand.close()
    let path = stand.url.path
    let other = Mutex<String?>(nil)
    let came = path + ".came"
    let ended = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      defer { ended.signal() }
      do {
        for _ in 0..<36_000 where !FileManager.default.fileExists(atPath: came) { usleep(10_000) }
        try Self.openDoubling(path) {}
      } catch { other.withLock { $0 = "\(error)" } }
    }
    await #expect(processExitsWith: .success) { [path = path as String, came = came as String] in
      try Self.openDoubling(path) {
        try Data().write(to: URL(fileURLWithPath: came))
        usleep(200_000)
      }
    }
    await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        ended.wait()
        continuation.resume()
      }
    }
    #expect(other.withLock { $0 } == nil)
    let last = try stand.open(Self.model(3))
    try last.performAndWait {
      let values = try last.fetch(FetchRequest<ManagedObject>(entityName: "Spot")).map {
        $0.value(forKey: "a0") as? String
      }
      #expect(values == ["xxxx"])
    }
    try stand.close()
    #expect(!FileManager.default.fileExists(atPath: path + "-stages"))
  }

  /// Opens the store at `path` by stages whose handlers double a text; `then` runs in the first.
  private static func openDoubling(_ path: String, _ then: @escaping () throws -> Void) throws {
    let stages = [(1, 2), (2, 3)].map { from, to in
      let stage = custom(from, to, Calls()) as! CustomMigrationStage
      stage.willMigrateHandler = nil
      stage.didMigrateHandler = { manager, _ in
        try then()
        let context = try #require(manager.container).newBackgroundContext()
        try context.performAndWait {
          for object in try context.fetch(FetchRequest<ManagedObject>(entityName: "Spot")) {
            let text = object.value(forKey: "a0") as? String ?? ""
            object.setValue(text + text, forKey: "a0")
          }
          try context.save()
        }
      }
      return stage
    }
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model(3))
    var description = PersistentStoreDescription(url: URL(fileURLWithPath: path))
    description.stagedMigrationManager = StagedMigrationManager(stages)
    description.timeout = .seconds(300)
    try coordinator.remove(try coordinator.addPersistentStore(description))
  }

  @Test("a store that a program without stages brings to the last version meanwhile is left as it is")
  func broughtByAnother() throws {
    let (url, calls) = (stand.url, calls)
    let stage = custom(1, 2) as! CustomMigrationStage
    stage.willMigrateHandler = { _, stage in
      calls.note(stage.label)
      try LMDBStore.migrate(at: url, to: Self.model(4))
    }
    try open(4, [stage, custom(2, 3), custom(3, 4)])
    #expect(calls.all == ["1 to 2"])
    #expect(try version() == 4)
  }

  /// What the store does not hold changes without it.
  @Test(
    "rule 314: a stage that changes nothing that the store's configuration holds runs once, and the next ones follow"
  )
  func configuration() throws {
    func model(_ here: Int, _ there: Int) -> ManagedObjectModel {
      let model = ManagedObjectModel(entities: [
        EntityDescription("Here", properties: (0..<here).map { AttributeDescription("a\($0)", .string) }),
        EntityDescription("There", properties: (0..<there).map { AttributeDescription("a\($0)", .string) }),
      ])
      model.setEntities([model.entities[0]], forConfigurationName: "Own")
      return model
    }
    func reference(_ model: ManagedObjectModel) -> ManagedObjectModelReference {
      ManagedObjectModelReference(model: model, versionChecksum: model.versionChecksum)
    }
    let other = try MigrationStand()
    try other.open(model(1, 1)) { $0.configuration = "Own" }
    try other.close()
    let versions = [model(1, 1), model(1, 2), model(2, 2)]
    let stages = zip(versions, versions.dropFirst()).enumerated().map { number, pair in
      let stage = CustomMigrationStage(migratingFrom: reference(pair.0), to: reference(pair.1))
      stage.willMigrateHandler = { [calls] _, _ in calls.note("\(number)") }
      return stage
    }
    try other.open(model(2, 2)) { description in
      description.configuration = "Own"
      description.stagedMigrationManager = StagedMigrationManager(stages)
    }
    #expect(calls.all == ["0", "1"])
    #expect(try other.problems() == [])
  }
}
