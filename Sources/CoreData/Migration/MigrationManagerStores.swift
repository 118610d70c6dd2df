import Foundation
import StrataCore

extension NSMigrationManager: MigratingByNames {
  /// What the method that may be overridden does, with names of types and options as Core Data has them.
  package func migrateByNames(
    from source: NamedStore, with mappings: NSMappingModel?, to destination: NamedStore
  ) throws {
    try cocoa(.migration) {
      guard let mappings else {
        throw CoreDataError(.migrationMissingMappingModel, "There is no mapping model.")
      }
      speaksFoundation = true
      try migrateStore(
        from: described(source), with: mappings, to: described(destination))
    }
  }

  private func described(_ store: NamedStore) throws -> PersistentStoreDescription {
    try storeDescription(type: store.type, configuration: nil, url: store.url, options: store.options)
  }

  /// Migrates a store. See `migrateStore(from:sourceType:options:with:toDestinationURL:destinationType:destinationOptions:)`.
  /// - Throws: as the method with a type's name.
  public func migrateStore(
    from sourceURL: URL, type sourceType: NSPersistentStore.StoreType,
    options sourceOptions: [AnyHashable: Any]? = nil,
    mapping: NSMappingModel, to destinationURL: URL, type destinationType: NSPersistentStore.StoreType,
    options destinationOptions: [AnyHashable: Any]? = nil
  ) throws {
    try migrateStore(
      from: sourceURL, sourceType: sourceType.rawValue, options: sourceOptions, with: mapping,
      toDestinationURL: destinationURL, destinationType: destinationType.rawValue,
      destinationOptions: destinationOptions)
  }
}
