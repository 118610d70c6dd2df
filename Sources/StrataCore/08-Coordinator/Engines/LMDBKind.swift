import Foundation

/// Stores on LMDB, in a file or in memory.
struct LMDBKind: StoreEngineKind {
  let storeType: PersistentStoreDescription.StoreType

  init(_ storeType: PersistentStoreDescription.StoreType) { self.storeType = storeType }

  var needsURL: Bool { storeType != .inMemory }
  var keepsFiles: Bool { storeType != .inMemory }

  /// The file of a description.
  /// - Throws: `CoreDataError` 134080 when it has none, and for a URL that is not of a file: its path may be that of a file all the same, which nobody has named.
  private func file(_ description: PersistentStoreDescription) throws -> URL {
    guard let url = description.url else {
      throw CoreDataError(.persistentStoreOpen, "A store in a file needs a URL.")
    }
    guard url.isFileURL else {
      throw CoreDataError(.persistentStoreOpen, "A store's URL must be of a file, not \(url).")
    }
    return url
  }

  /// See `LMDBStore.init`. A program that ignores the store's version and writes has it brought to its own first (`LMDBStore.takeOver`).
  /// - Throws: ``StorageError``, ``CoreDataError`` as `LMDBStore.init` and `LMDBStore.takeOver` do.
  func open(
    _ description: PersistentStoreDescription, schema: Schema, patience: Patience,
    for coordinator: PersistentStoreCoordinator
  ) throws -> any StoreEngine {
    var options = description.storeOptions
    options.patience = patience
    if options.ignoresVersionHashes, !options.isReadOnly, keepsFiles,
      !PersistentStoreDescription.isInMemory(description.url)
    {
      try LMDBStore.takeOver(
        at: file(description), for: schema.model, configurationName: description.configuration,
        options: options)
      // Another program may have migrated it again since.
      options.ignoresVersionHashes = false
      options.leavesModel = true
    }
    return try LMDBStore(
      url: storeType == .inMemory && LMDBStore.memoryName(description.url) == nil ? nil : description.url,
      schema: schema,
      configurationName: description.configuration, options: options)
  }

  /// See `LMDBStore.metadata(at:)`.
  /// - Throws: ``StorageError``.
  func metadata(of description: PersistentStoreDescription) throws -> StoreMetadata {
    try LMDBStore.metadata(at: file(description))
  }

  /// See `LMDBStore.setMetadata(_:at:)`.
  /// - Throws: ``StorageError``.
  func setMetadata(_ metadata: StoreMetadata, of description: PersistentStoreDescription) throws {
    try LMDBStore.setMetadata(metadata, at: file(description))
  }

  /// See `LMDBStore.model(at:)`.
  /// - Throws: ``StorageError``.
  func model(of description: PersistentStoreDescription, withClasses: Bool) throws -> ManagedObjectModel {
    let url = try file(description)
    return try withClasses ? LMDBStore.modelWithClasses(at: url) : LMDBStore.model(at: url)
  }

  /// See `LMDBStore.migrate`.
  /// - Throws: as `LMDBStore.migrate` does.
  func migrate(
    _ description: PersistentStoreDescription, to model: ManagedObjectModel,
    permission: MigrationPermission, patience: Patience
  ) throws {
    try migrate(
      description, to: model, permission: permission, patience: patience, progress: BatchProgress())
  }

  /// See `LMDBStore.migrate`.
  /// - Throws: as `LMDBStore.migrate` does.
  func migrate(
    _ description: PersistentStoreDescription, to model: ManagedObjectModel,
    permission: MigrationPermission, patience: Patience, progress: BatchProgress
  ) throws {
    var options = description.storeOptions
    options.patience = patience
    try LMDBStore.migrate(
      at: file(description), to: model, configurationName: description.configuration,
      permission: permission, progress: progress, options: options)
  }

  /// See `LMDBStore.requireClosed(at:within:)`.
  /// - Throws: ``StorageError`` `.busy` when this process has the store open.
  func requireMigratable(_ description: PersistentStoreDescription) throws {
    try LMDBStore.requireClosed(at: file(description), within: description.timeout)
  }

  /// By the file, whatever name leads to it.
  /// - Throws: what `body` throws; ``StorageError`` for a name that cannot be that of a store, and `.busy` while another process migrates it.
  func inTurn<R>(_ description: PersistentStoreDescription, _ patience: Patience, _ body: () throws -> R)
    throws
    -> R
  {
    let file = try StoreFile(file(description).path, .system)
    return try EnvironmentRegistry.current.stages.take(file.path) { again in
      // A handler that migrates the store itself has the turn already.
      again ? try body() : try StageTurn.take(file, patience, body)
    }
  }

  /// See `LMDBStore.empty(at:)`.
  /// - Throws: ``StorageError``.
  func destroy(_ description: PersistentStoreDescription) throws {
    try LMDBStore.empty(at: file(description))
  }

  /// See `LMDBStore.replace(at:with:)`.
  /// - Throws: ``StorageError``.
  func replace(_ description: PersistentStoreDescription, with source: PersistentStoreDescription) throws {
    try LMDBStore.replace(at: file(description), with: file(source))
  }

  /// See `LMDBStore.replace(at:with:)`.
  /// - Throws: ``StorageError``; what `detach` throws.
  func replace(
    _ description: PersistentStoreDescription, with source: PersistentStoreDescription,
    detaching detach: () throws -> Void
  ) throws {
    try LMDBStore.replace(
      at: file(description), with: file(source), isOpenHere: true, detaching: detach)
  }
}

extension PersistentStoreDescription {
  /// What LMDB is told of it.
  var storeOptions: LMDBStoreOptions {
    var options = LMDBStoreOptions()
    options.isReadOnly = isReadOnly
    options.durability = durability
    options.ignoresVersionHashes = ignoresModelVersion
    options.allowsNetworkFileSystem = allowsNetworkFileSystem
    options.verifiesChecksums = verifiesChecksums
    options.writerDeadline = timeout
    options.keepsReplacedFiles = keepsReplacedFiles
    options.migratesAllRows = migratesAllRows
    options.recordsHistory = recordsHistory
    options.historyRetention = historyRetention
    options.keepsLog = keepsLog
    if compactsAutomatically { options.automaticCompaction = AutomaticCompaction.Policy() }
    if let commitsBeforeLog { options.commitsBeforeLog = commitsBeforeLog }
    return options
  }
}
