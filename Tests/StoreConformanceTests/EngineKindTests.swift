import Foundation
import StoreConformance
import StrataCore
import Synchronization
import Testing

/// A kind of store that writes down what it is asked for. Its stores are LMDB's, in memory.
private struct RecordingKind: StoreEngineKind {
  final class Log: Sendable {
    private let lines = Mutex<[String]>([])
    /// Whether stores are of the model's version.
    let isCurrent: Atomic<Bool>

    init(isCurrent: Bool) { self.isCurrent = Atomic(isCurrent) }

    func add(_ line: String) { lines.withLock { $0.append(line) } }
    func take() -> [String] {
      lines.withLock { lines in
        defer { lines = [] }
        return lines
      }
    }
  }

  let storeType: PersistentStoreDescription.StoreType
  let scheme: String
  let log: Log

  /// Of a type and a scheme that no other test has.
  static func register(isCurrent: Bool = true) -> RecordingKind {
    let name = "recorded" + UUID().uuidString.filter(\.isLetter).lowercased()
    let kind = RecordingKind(storeType: .init(rawValue: name), scheme: name, log: Log(isCurrent: isCurrent))
    StoreEngines.register(kind)
    return kind
  }

  var schemes: Set<String> { [scheme] }
  var url: URL? { URL(string: "\(scheme)://host/store") }
  var description: PersistentStoreDescription { PersistentStoreDescription(type: storeType, url: url) }

  func open(
    _ description: PersistentStoreDescription, schema: Schema, patience: Patience,
    for coordinator: PersistentStoreCoordinator
  ) throws -> any StoreEngine {
    log.add("open")
    guard log.isCurrent.load(ordering: .acquiring) else {
      throw CoreDataError(.persistentStoreIncompatibleVersionHash, "another version")
    }
    return try LMDBStore(url: nil, schema: schema, configurationName: description.configuration)
  }

  func metadata(of description: PersistentStoreDescription) throws -> StoreMetadata { StoreMetadata() }
  func setMetadata(_ metadata: StoreMetadata, of description: PersistentStoreDescription) throws {}
  func model(of description: PersistentStoreDescription, withClasses: Bool) throws -> ManagedObjectModel {
    log.add("model")
    return ManagedObjectModel(entities: [EntityDescription("Old")])
  }
  func migrate(
    _ description: PersistentStoreDescription, to model: ManagedObjectModel,
    permission: MigrationPermission, patience: Patience
  ) throws {
    log.add("migrate \(description.url?.scheme == scheme) \(patience.left <= description.timeout)")
    log.isCurrent.store(true, ordering: .releasing)
  }
  func destroy(_ description: PersistentStoreDescription) throws {
    log.add("destroy \(description.url?.path ?? "nil")")
  }
  func replace(_ description: PersistentStoreDescription, with source: PersistentStoreDescription) throws {
    log.add("replace \(description.url?.path ?? "nil") \(source.url?.path ?? "nil")")
  }
}

@Suite("Engines are found by the type of a store")
struct EngineKindTests {
  private func coordinator() -> PersistentStoreCoordinator {
    PersistentStoreCoordinator(managedObjectModel: ConformanceModel.make())
  }

  @Test("A store is opened by the kind of its type, with the description")
  func opening() throws {
    let kind = RecordingKind.register()
    let coordinator = coordinator()
    try coordinator.addPersistentStore(kind.description)
    #expect(kind.log.take() == ["open"] && coordinator.persistentStores.count == 1)
    #expect(StoreEngines.types.contains(kind.storeType.rawValue))
  }

  @Test("A store of another version is migrated when its description says so, and opened again")
  func migration() throws {
    let kind = RecordingKind.register(isCurrent: false)
    try coordinator().addPersistentStore(kind.description)
    #expect(kind.log.take() == ["open", "migrate true true", "open"])
  }

  @Test("It is refused when the description says so, or how is not to be inferred", arguments: [true, false])
  func refusal(_ migrates: Bool) throws {
    let kind = RecordingKind.register(isCurrent: false)
    var description = kind.description
    description.migratesAutomatically = migrates
    description.infersMappingModel = false
    let coordinator = coordinator()
    let error = #expect(throws: CoreDataError.self) { try coordinator.addPersistentStore(description) }
    #expect(
      error?.code == (migrates ? .migrationMissingMappingModel : .persistentStoreIncompatibleVersionHash))
    #expect(kind.log.take() == ["open"] && coordinator.persistentStores.isEmpty)
  }

  @Test("A staged migration asks the kind for the store's model")
  func stages() throws {
    let kind = RecordingKind.register(isCurrent: false)
    var description = kind.description
    let old = ManagedObjectModel(entities: [EntityDescription("Old")])
    description.stagedMigrationManager = StagedMigrationManager([
      LightweightMigrationStage([old.versionChecksum, ConformanceModel.make().versionChecksum])
    ])
    try coordinator().addPersistentStore(description)
    #expect(kind.log.take() == ["open", "model", "model", "migrate true true", "model", "open"])
  }

  @Test("Destroying and replacing find the kind by the scheme of the URL, or are told the type")
  func wholeStores() throws {
    let kind = RecordingKind.register()
    let url = try #require(kind.url)
    let other = try #require(URL(string: "\(kind.scheme)://host/other"))
    let coordinator = coordinator()
    try coordinator.destroyPersistentStore(at: url)
    try coordinator.replacePersistentStore(at: url, withPersistentStoreFrom: other)
    try coordinator.destroyPersistentStore(
      at: URL(fileURLWithPath: "/somewhere"), type: kind.storeType)
    #expect(kind.log.take() == ["destroy /store", "replace /store /other", "destroy /somewhere"])
  }

  @Test("A type that no engine is registered for is refused with the types there are")
  func unknownTypes() throws {
    let kind = RecordingKind.register()
    StoreEngines.unregister(kind.storeType)
    let error = #expect(throws: CoreDataError.self) { try coordinator().addPersistentStore(kind.description) }
    #expect(error?.code == .persistentStoreInvalidType)
    #expect("\(error as Any)".contains("LMDB") && "\(error as Any)".contains(kind.storeType.rawValue))
  }

  @Test("A store of a kind that needs a URL is refused without")
  func missingURL() throws {
    let kind = RecordingKind.register()
    for type in [kind.storeType, .lmdb] {
      let error = #expect(throws: CoreDataError.self) {
        try coordinator().addPersistentStore(PersistentStoreDescription(type: type, url: nil))
      }
      #expect(error?.code == .persistentStoreOpen)
    }
    #expect(kind.log.take().isEmpty)
  }

  @Test("URLs of files name one store when they lead to one file; others, when their text is the same")
  func sameStores() throws {
    let kind = RecordingKind.register()
    let url = try #require(kind.url)
    #expect(kind.isSameStore(url, try #require(kind.url)))
    #expect(!kind.isSameStore(url, url.appendingPathComponent("more")))
    #expect(
      kind.isSameStore(URL(fileURLWithPath: "/tmp/a/../b"), URL(fileURLWithPath: "/tmp/b")))
  }
}
