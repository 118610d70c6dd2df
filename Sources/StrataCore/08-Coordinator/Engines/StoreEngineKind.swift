import Foundation

/// A kind of store: how stores of one type are opened, and handled while they are closed.
///
/// Registered with ``StoreEngines``. Coordinators ask a kind and never an engine's class: what stands above is blind to the engine. Each method is
/// told the whole description, of which an engine takes what concerns it: the URL, the options, the configuration. All methods may be called from any
/// thread.
package protocol StoreEngineKind: Sendable {
  /// The type that descriptions name it by.
  var storeType: PersistentStoreDescription.StoreType { get }

  /// The schemes, in lower case, of the URLs that no other kind's stores have. Where a URL comes without a type, its scheme tells the kind.
  var schemes: Set<String> { get }

  /// Whether a description must have a URL. The default is true.
  var needsURL: Bool { get }

  /// Whether stores are plain files that can be written under one name and published under another. The default is false.
  var keepsFiles: Bool { get }

  /// Opens the store, which becomes one of the coordinator's afterwards. Makes it when it does not exist.
  ///
  /// - Parameter patience: What is left of the waiting that opening may do, in all its attempts.
  /// - Throws: `CoreDataError` 134100 when the store was written with another version of the model: the coordinator has it migrated then, if the
  ///   description says so, and asks again. Otherwise what is wrong with the store, which is not changed.
  func open(
    _ description: PersistentStoreDescription, schema: Schema, patience: Patience,
    for coordinator: PersistentStoreCoordinator
  ) throws -> any StoreEngine

  /// The metadata of a store that need not be open, the standard keys included.
  func metadata(of description: PersistentStoreDescription) throws -> StoreMetadata

  /// Replaces the user's metadata of a store that need not be open.
  func setMetadata(_ metadata: StoreMetadata, of description: PersistentStoreDescription) throws

  /// The model that the store was last opened with; with the classes of its entities, where the program has them, or without.
  func model(of description: PersistentStoreDescription, withClasses: Bool) throws -> ManagedObjectModel

  /// Brings the store to another version of its model by what can be inferred. Does nothing when it is of that version.
  func migrate(
    _ description: PersistentStoreDescription, to model: ManagedObjectModel,
    permission: MigrationPermission, patience: Patience
  ) throws

  /// The same, and tells `progress` of the rows; ends when that is cancelled. The default looks at it before it begins.
  /// - Throws: what the other throws; some error when `progress` was cancelled.
  func migrate(
    _ description: PersistentStoreDescription, to model: ManagedObjectModel,
    permission: MigrationPermission, patience: Patience, progress: BatchProgress
  ) throws

  /// Looks whether `migrate` would be refused because the store is in use, before stages begin whose handlers change it. The default finds nothing.
  ///
  /// - Throws: what `migrate` would throw.
  func requireMigratable(_ description: PersistentStoreDescription) throws

  /// Runs `body`, the stages of a migration, when neither another thread of this process nor another process migrates the same store by stages. The default takes
  /// turns within the process, by the URL's text.
  ///
  /// - Parameter patience: How long to wait for another process.
  func inTurn<R>(_ description: PersistentStoreDescription, _ patience: Patience, _ body: () throws -> R)
    throws
    -> R

  /// Makes an empty store of the one that is there, which nobody may have open. Does nothing when there is none.
  func destroy(_ description: PersistentStoreDescription) throws

  /// The same for a store that the coordinator which asks has open. The kind calls `detach`, which closes it, before it touches the store. The default does so
  /// first of all; kinds whose stores cannot be destroyed do not call it.
  func destroy(_ description: PersistentStoreDescription, detaching detach: () throws -> Void) throws

  /// Puts a copy of `source`, which may be in use, in the place of the store, which may not.
  func replace(_ description: PersistentStoreDescription, with source: PersistentStoreDescription) throws

  /// The same for a store that the coordinator which asks has open. The kind calls `detach`, which closes it, as soon as the copy is complete and known to be a store. The default
  /// does not call it: for kinds whose stores cannot be replaced.
  func replace(
    _ description: PersistentStoreDescription, with source: PersistentStoreDescription,
    detaching detach: () throws -> Void
  ) throws

  /// Whether two URLs name one store. The default compares files by where they are and other URLs by their text.
  func isSameStore(_ url: URL, _ other: URL) -> Bool
}

extension StoreEngineKind {
  package var schemes: Set<String> { [] }
  package var needsURL: Bool { true }
  package var keepsFiles: Bool { false }

  /// Migrates without a progress.
  /// - Throws: what `migrate` throws; `CancellationError` when `progress` was cancelled before.
  package func migrate(
    _ description: PersistentStoreDescription, to model: ManagedObjectModel,
    permission: MigrationPermission, patience: Patience, progress: BatchProgress
  ) throws {
    try progress.stopIfCancelled()
    try migrate(description, to: model, permission: permission, patience: patience)
  }

  /// Finds nothing.
  /// - Throws: nothing; other kinds do.
  package func requireMigratable(_ description: PersistentStoreDescription) throws {}

  /// Runs `body` in the turn of the URL.
  /// - Throws: what `body` throws.
  package func inTurn<R>(
    _ description: PersistentStoreDescription, _ patience: Patience, _ body: () throws -> R
  ) throws -> R {
    guard let url = description.url else { return try body() }
    return try EnvironmentRegistry.current.stages.take(url.absoluteString, body)
  }

  /// Detaches the store and destroys it.
  /// - Throws: what `detach` and `destroy(_:)` throw.
  package func destroy(_ description: PersistentStoreDescription, detaching detach: () throws -> Void) throws
  {
    try detach()
    try destroy(description)
  }

  /// Replaces the store without detaching it.
  /// - Throws: what `replace(_:with:)` throws.
  package func replace(
    _ description: PersistentStoreDescription, with source: PersistentStoreDescription,
    detaching detach: () throws -> Void
  ) throws {
    try replace(description, with: source)
  }

  package func isSameStore(_ url: URL, _ other: URL) -> Bool {
    if url.isFileURL, other.isFileURL {
      return url.resolvingSymlinksInPath() == other.resolvingSymlinksInPath()
    }
    return url.absoluteString == other.absoluteString
  }

  /// What an operation throws that the kind does not have.
  package func unsupported(_ operation: String) -> CoreDataError {
    CoreDataError(
      .persistentStoreOperation, "Stores of type \(storeType.rawValue) cannot be \(operation).")
  }
}
