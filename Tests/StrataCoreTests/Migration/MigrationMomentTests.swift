import Foundation
import Synchronization
import Testing

@testable import StrataCore

/// What becomes of a store whose model another process changes between a look at it and what is done then.
struct MigrationMomentTests {
  private let directory: ScratchDirectory
  private let url: URL

  init() throws {
    directory = try ScratchDirectory()
    url = URL(fileURLWithPath: directory("Spots.strata")).resolvingSymlinksInPath()
    try add(["a", "b"], Self.first())
  }

  private static func first(_ identifier: String = "") -> ManagedObjectModel {
    let model = ManagedObjectModel(entities: [
      EntityDescription("Spot", properties: [AttributeDescription("name", .string)])
    ])
    if !identifier.isEmpty { model.versionIdentifiers = [identifier] }
    return model
  }

  private static func second() -> ManagedObjectModel {
    ManagedObjectModel(entities: [
      EntityDescription(
        "Spot", properties: [AttributeDescription("name", .string), AttributeDescription("note", .string)])
    ])
  }

  private func add(
    _ names: [String], _ model: ManagedObjectModel, at other: URL? = nil, ignoresVersion: Bool = false
  ) throws {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    var options = LMDBStoreOptions()
    // As in another process that has migrated the store in place.
    options.ignoresVersionHashes = ignoresVersion
    let store = try LMDBStore(url: other ?? url, schema: model.schema(), options: options)
    try coordinator.attach(store)
    let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    try context.performAndWait {
      for name in names {
        let object = ManagedObject(entity: model.entities[0], insertInto: context)
        object.setValue(name, forKey: "name")
        if model.entities[0].attributesByName["note"] != nil {
          object.setValue("note of \(name)", forKey: "note")
        }
      }
      try context.save()
    }
    try coordinator.remove(store)
  }

  /// The notes in the store; nil when it is of the first version.
  private func notes() throws -> [String]? {
    let model = try LMDBStore.model(at: url)
    if model.entities[0].attributesByName["note"] == nil { return nil }
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    let store = try coordinator.addPersistentStore(PersistentStoreDescription(url: url))
    let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    let notes = try context.performAndWait {
      try context.fetch(FetchRequest<ManagedObject>(entityName: "Spot")).compactMap {
        $0.value(forKey: "note") as? String
      }
    }
    try coordinator.remove(store)
    return notes.sorted()
  }

  /// Calls `body` once, when the store gets to `place` for the `turn`th time.
  private func disturb(
    _ place: MigrationHooks.Place, _ turn: Int = 1, _ body: @escaping @Sendable () throws -> Void
  ) {
    let rounds = Mutex(0)
    MigrationHooks.set(
      { reached in
        guard reached == place,
          rounds.withLock({
            $0 += 1; return $0
          }) == turn
        else { return }
        do { try body() } catch { Issue.record(error) }
      }, for: url.path)
  }

  /// A copy of the store that another process has migrated and saved to.
  private func migratedCopy() throws -> URL {
    let other = URL(fileURLWithPath: directory("other.strata"))
    try FileManager.default.copyItem(at: url, to: other)
    try LMDBStore.migrate(at: other, to: Self.second())
    try add(["late"], Self.second(), at: other)
    return other
  }

  @Test func aStoreThatIsMigratedAfterItsModelWasReadKeepsWhatTheNewVersionHas() throws {
    let (other, url) = (try migratedCopy(), url)
    disturb(.looked) { #expect(rename(other.path, url.path) == 0) }
    defer { MigrationHooks.set(nil, for: url.path) }
    var options = LMDBStoreOptions()
    // Then the file is written anew.
    options.migratesAllRows = true
    try LMDBStore.migrate(at: url, to: Self.second(), options: options)
    #expect(try notes() == ["note of late"])
  }

  /// The other process writes into the same file.
  @Test(arguments: [false, true])
  func aStoreThatIsMigratedInPlaceAfterItWasOpenedKeepsWhatTheNewVersionHas(writesAllRows: Bool) throws {
    let (url, this) = (url, self)
    disturb(.compared) { try this.add(["late"], Self.second(), ignoresVersion: true) }
    defer { MigrationHooks.set(nil, for: url.path) }
    var options = LMDBStoreOptions()
    options.migratesAllRows = writesAllRows
    try LMDBStore.migrate(at: url, to: Self.second(), options: options)
    #expect(try notes() == ["note of late"])
  }

  @Test func anOlderProgramThatOpensAStoreMeanwhileDoesNotPutItsModelBack() throws {
    let url = url
    disturb(.compared) {
      var options = LMDBStoreOptions()
      options.ignoresVersionHashes = true
      try LMDBStore(url: url, schema: Self.second().schema(), options: options).close()
    }
    defer { MigrationHooks.set(nil, for: url.path) }
    // The same version under another identifier, which the store takes over.
    let error = #expect(throws: CoreDataError.self) {
      try LMDBStore(url: url, schema: Self.first("1.1").schema()).close()
    }
    #expect(error?.code == .persistentStoreIncompatibleVersionHash)
    #expect(try LMDBStore.model(at: url).entities[0].attributesByName["note"] != nil)
    #expect(try LMDBStore.metadata(at: url).versionHashes == Self.second().entityVersionHashesByName)
  }

  @Test func aModelThatIsChangedAgainAndAgainIsRefusedInTheEnd() throws {
    let url = url
    let rounds = Mutex(0)
    MigrationHooks.set(
      { place in
        guard place == .looked else { return }
        let round = rounds.withLock {
          $0 += 1; return $0
        }
        do {
          try LMDBStore(url: url, schema: Self.first("\(round)").schema()).close()
        } catch { Issue.record(error) }
      }, for: url.path)
    defer { MigrationHooks.set(nil, for: url.path) }
    var options = LMDBStoreOptions()
    options.isReadOnly = true
    let error = #expect(throws: StorageError.self) {
      try LMDBStore.openAsCarried(at: url, options: options).store.close()
    }
    #expect(error?.kind == .replaced)
    #expect(rounds.withLock { $0 } == 16)
  }

  @Test func rowVersionsGoOnInANewFile() throws {
    func versions() throws -> [UInt32] {
      let schema = try LMDBStore.model(at: url).schema()
      let store = try LMDBStore(url: url, schema: schema)
      defer { store.close() }
      let request = try ResolvedFetchRequest(FetchRequest<Int>(entityName: "Spot"), schema: schema)
      return try store.fetch(request, mode: .rows).rows.map { $0.snapshot?.version ?? 0 }
    }
    let coordinator = PersistentStoreCoordinator(managedObjectModel: Self.first())
    let store = try coordinator.addPersistentStore(PersistentStoreDescription(url: url))
    let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    try context.performAndWait {
      let spot = try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Spot")).first)
      for number in 0..<3 {
        spot.setValue("name \(number)", forKey: "name")
        try context.save()
      }
    }
    try coordinator.remove(store)
    let before = try versions()
    #expect(before.sorted() == [1, 4])
    var options = LMDBStoreOptions()
    options.migratesAllRows = true
    try LMDBStore.migrate(at: url, to: Self.second(), options: options)
    #expect(try versions() == before)
  }

  @Test func aDamagedHistoryKeepsNobodyFromTheRows() throws {
    var options = LMDBStoreOptions()
    options.recordsHistory = true
    let schema = try Self.first().schema()
    do {
      let store = try LMDBStore(url: url, schema: schema, options: options)
      defer { store.close() }
      try store.setHistoryConsumer(named: "widget", to: 1)
      let keyspace = try #require(try store.parts.environment.keyspaces([HistoryFormat.keyspaceName])[0])
      try store.parts.environment.write { transaction in
        try HistoryFormat.Key(1).withBytes { key in
          try [UInt8](repeating: 7, count: 9).withUnsafeBytes { try transaction.put(keyspace, key, $0) }
        }
      }
      #expect(try store.check().problems.map(\.kind).contains(.historyDamaged))
    }
    var rewriting = LMDBStoreOptions()
    rewriting.migratesAllRows = true
    try LMDBStore.migrate(at: url, to: Self.second(), options: rewriting)
    let store = try LMDBStore(url: url, schema: Self.second().schema())
    defer { store.close() }
    let check = try store.check()
    #expect(check.isSound && check.rowCount == 2)
    #expect(try store.historyConsumers().map(\.name) == ["widget"])
    let bounds = try #require(try store.historyBounds())
    #expect(bounds.purged == bounds.newest)
  }
}
