import Foundation
import StrataCore

extension PersistentStoreDescription.StoreType {
  /// A store that Apple's Core Data or SwiftData has written, read where it lies. The first use makes the type known to all coordinators of the process.
  ///
  /// The description must say `isReadOnly`. The store shows the state that it had when it was opened; while it is open its app can save, but not clear its
  /// write-ahead log.
  public static let appleSQLite: PersistentStoreDescription.StoreType = {
    StoreEngines.register(AppleKind())
    return PersistentStoreDescription.StoreType(rawValue: AppleKind.name)
  }()
}

/// Stores in Apple's format, as coordinators ask for them.
struct AppleKind: StoreEngineKind {
  static let name = "AppleSQLite"
  let storeType = PersistentStoreDescription.StoreType(rawValue: Self.name)

  private func url(_ description: PersistentStoreDescription) throws -> URL {
    guard let url = description.url, url.isFileURL else {
      throw CoreDataError(
        .persistentStoreOpen, "A store of type \(storeType.rawValue) is a file and needs its URL.")
    }
    return url
  }

  /// Opens the store for reading.
  /// - Throws: `CoreDataError` 134080 unless the description says that the store is read-only, and for what is no such store; 134020 when the model is
  ///   another one than the store's.
  func open(
    _ description: PersistentStoreDescription, schema: Schema, patience: Patience,
    for coordinator: PersistentStoreCoordinator
  ) throws -> any StoreEngine {
    guard description.isReadOnly else {
      throw CoreDataError(
        .persistentStoreOpen,
        "Stores of type \(storeType.rawValue) are only read: set isReadOnly, or make a store of Strata with AppleSQLite.importStore."
      )
    }
    return try translated {
      try AppleEngine(url: url(description), schema: schema, configurationName: description.configuration)
    }
  }

  /// An error of the format as coordinators know it.
  private func translated<R>(_ body: () throws -> R) throws -> R {
    do { return try body() } catch let error as AppleStoreError {
      let isMissing = error.kind == .missing
      throw CoreDataError(
        error.kind == .model ? .persistentStoreIncompatibleSchema : .persistentStoreOpen, error.description,
        userInfo: isMissing ? [NSUnderlyingErrorKey: CocoaError(.fileReadNoSuchFile)] : [:])
    }
  }

  /// The program's metadata, with hashes of the model in the store's cache where there is one.
  /// - Throws: `CoreDataError` 134080.
  func metadata(of description: PersistentStoreDescription) throws -> StoreMetadata {
    try translated {
      let file = try SourceFile(try url(description).path)
      defer { file.close() }
      let catalogue = try AppleCatalogue(file.database)
      let model = try? catalogue.cachedModel().model
      return catalogue.metadata.withStandardKeys(
        identifier: catalogue.identifier, type: storeType.rawValue,
        versionHashes: model?.entityVersionHashesByName ?? [:],
        versionIdentifiers: model?.versionIdentifiers.sorted() ?? [])
    }
  }

  func setMetadata(_ metadata: StoreMetadata, of description: PersistentStoreDescription) throws {
    throw unsupported("written")
  }

  /// The model in the store's cache.
  /// - Throws: `CoreDataError` 134080.
  func model(of description: PersistentStoreDescription, withClasses: Bool) throws -> ManagedObjectModel {
    let model = try translated { try AppleSQLite.model(at: try url(description)) }
    if !withClasses { for entity in model.entities { entity.managedObjectClass = nil } }
    return model
  }

  func migrate(
    _ description: PersistentStoreDescription, to model: ManagedObjectModel, permission: MigrationPermission,
    patience: Patience
  ) throws { throw unsupported("migrated: import them") }

  func destroy(_ description: PersistentStoreDescription) throws { throw unsupported("destroyed") }

  func destroy(_ description: PersistentStoreDescription, detaching detach: () throws -> Void) throws {
    try destroy(description)
  }

  func replace(_ description: PersistentStoreDescription, with source: PersistentStoreDescription) throws {
    throw unsupported("replaced")
  }
}
