import Foundation
import StrataCore

/// Stores of a class of the program's own.
struct ProgramStoreKind: StoreEngineKind {
  let storeType: PersistentStoreDescription.StoreType
  let storeClass: NSPersistentStore.Type

  var schemes: Set<String> { [] }

  /// Only the class knows where it keeps what.
  var needsURL: Bool { false }

  /// What a store is told that is added without a URL.
  static let nowhere = URL(fileURLWithPath: "/dev/null")

  private func url(_ description: PersistentStoreDescription) throws -> URL {
    guard let url = description.url else {
      throw CoreDataError(.persistentStoreOpen, "A store of type \(storeType.rawValue) needs a URL.")
    }
    return url
  }

  func open(
    _ description: PersistentStoreDescription, schema: Schema, patience: Patience,
    for coordinator: PersistentStoreCoordinator
  ) throws -> any StoreEngine {
    let program = storeClass.init(
      opening: description.url ?? Self.nowhere, for: coordinator,
      configurationName: description.configuration,
      options: NSPersistentStore.opening?.options.value)
    if description.isReadOnly { program.isReadOnly = true }
    try program.loadMetadata()
    let identifier = try identifier(of: program)
    if program.metadata[NSStoreTypeKey] == nil { program.metadata[NSStoreTypeKey] = storeType.rawValue }
    if !description.ignoresModelVersion { try requireModel(of: program, schema) }
    return try ProgramEngine.open(
      program, type: storeType.rawValue, schema: schema, identifier: identifier,
      configurationName: description.configuration)
  }

  /// The UUID under `NSStoreUUIDKey`; of a text that is none, one that is made of it.
  private func identifier(of program: NSPersistentStore) throws -> UUID {
    let text = (program.metadata[NSStoreUUIDKey] as? String) ?? program.identifier
    guard let text, !text.isEmpty else {
      throw CoreDataError(
        .persistentStoreOpen,
        "\(type(of: program)).loadMetadata() sets no metadata with the store's UUID under NSStoreUUIDKey.")
    }
    return ReferenceTable.storeUUID(of: text)
  }

  /// - Throws: `CoreDataError` 134100 when the metadata have version hashes, and they are those of another version of the model.
  private func requireModel(of program: NSPersistentStore, _ schema: Schema) throws {
    guard let stored = program.metadata[NSStoreModelVersionHashesKey] as? [String: Data] else { return }
    let known = schema.model.entityVersionHashesByName
    let differing = stored.filter { known[$0.key] != $0.value }.keys.sorted()
    if differing.isEmpty { return }
    throw CoreDataError(
      .persistentStoreIncompatibleVersionHash,
      "The store of type \(storeType.rawValue) was written with another version of the model: \(differing.joined(separator: ", ")) differ.",
      userInfo: ["NSStoreIncompatibleEntities": differing])
  }

  func metadata(of description: PersistentStoreDescription) throws -> StoreMetadata {
    let values = try storeClass.metadataForPersistentStore(with: url(description))
    guard let metadata = StoreMetadata(values) else {
      throw CoreDataError(
        .persistentStoreOpen, "\(storeClass) has metadata that are no property-list values.")
    }
    return metadata
  }

  func setMetadata(_ metadata: StoreMetadata, of description: PersistentStoreDescription) throws {
    try storeClass.setMetadata(metadata.dictionary, forPersistentStoreAt: url(description))
  }

  func model(of description: PersistentStoreDescription, withClasses: Bool) throws -> ManagedObjectModel {
    throw unsupported("asked for their model: they keep none")
  }

  func migrate(
    _ description: PersistentStoreDescription, to model: ManagedObjectModel,
    permission: MigrationPermission, patience: Patience
  ) throws {
    throw unsupported("migrated: only their class knows what they keep")
  }

  func destroy(_ description: PersistentStoreDescription) throws {
    throw unsupported("destroyed by a coordinator: only their class knows what they keep")
  }

  func destroy(_ description: PersistentStoreDescription, detaching detach: () throws -> Void) throws {
    try destroy(description)
  }

  func replace(_ description: PersistentStoreDescription, with source: PersistentStoreDescription) throws {
    throw unsupported("replaced by a coordinator: only their class knows what they keep")
  }
}

extension ProgramEngine {
  /// The engine of a store whose metadata are loaded.
  /// - Throws: what the class's `load()` throws.
  static func open(
    _ program: NSPersistentStore, type: String, schema: Schema, identifier: UUID, configurationName: String?
  ) throws -> ProgramEngine {
    let engine = ProgramEngine(
      program, type: type, schema: schema, identifier: identifier, configurationName: configurationName)
    program.engine = engine
    if let atomic = program as? NSAtomicStore { try engine.lock.withLock { try atomic.load() } }
    return engine
  }
}
