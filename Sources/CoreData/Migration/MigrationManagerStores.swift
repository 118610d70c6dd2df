import Foundation
import StrataCore

extension NSMigrationManager {
  /// Migrates the store at `sourceURL` into the one at `dURL`, which is made when it does not exist and appended to otherwise.
  /// - Throws: `CocoaError` 134140 without mappings, 134150 and 134160 when the source or the destination cannot be opened, 134120 when
  ///   it was cancelled; validation errors; what policies throw.
  public func migrateStore(
    from sourceURL: URL, sourceType sStoreType: String, options sOptions: [AnyHashable: Any]? = nil,
    with mappings: NSMappingModel?, toDestinationURL dURL: URL, destinationType dStoreType: String,
    destinationOptions dOptions: [AnyHashable: Any]? = nil
  ) throws {
    try cocoa(.migration) {
      guard let mappings else {
        throw CoreDataError(.migrationMissingMappingModel, "There is no mapping model.")
      }
      speaksFoundation = true
      try migrateStore(
        from: storeDescription(type: sStoreType, configuration: nil, url: sourceURL, options: sOptions),
        with: mappings,
        to: storeDescription(type: dStoreType, configuration: nil, url: dURL, options: dOptions))
    }
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
