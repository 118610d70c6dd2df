import Foundation
import StrataCore

// Store types.

/// The default store, on disk. What is in the file is Strata's, not SQLite's.
public let NSSQLiteStoreType = "SQLite"
/// The default store, on disk.
public let NSBinaryStoreType = "Binary"
/// In memory.
public let NSInMemoryStoreType = "InMemory"

// Metadata.

/// The type of a store.
public let NSStoreTypeKey = StoreMetadataKey.storeType
/// The UUID of a store.
public let NSStoreUUIDKey = StoreMetadataKey.storeUUID
/// The version hashes, by entity, of the model a store was written with.
public let NSStoreModelVersionHashesKey = StoreMetadataKey.modelVersionHashes
/// The version identifiers of the model a store was written with.
public let NSStoreModelVersionIdentifiersKey = StoreMetadataKey.modelVersionIdentifiers
/// The version checksum of the model a store was written with. Worked out from the hashes when the metadata are asked for.
public let NSPersistentStoreModelVersionChecksumKey = "NSPersistentStoreModelVersionChecksumKey"

// Options for stores.

/// Saves are refused.
public let NSReadOnlyPersistentStoreOption = "NSReadOnlyPersistentStoreOption"
/// How long a save waits for another process's, in seconds.
public let NSPersistentStoreTimeoutOption = "NSPersistentStoreTimeoutOption"
/// Open a store although it was written with another version of the model.
public let NSIgnorePersistentStoreVersioningOption = "NSIgnorePersistentStoreVersioningOption"
/// Post `NSPersistentStoreRemoteChange` after every write.
public let NSPersistentStoreRemoteChangeNotificationPostOptionKey =
  "NSPersistentStoreRemoteChangeNotificationPostOptionKey"
/// Migrate a store that was written with another version of the model; without, it is refused with error 134100. Descriptions set it.
public let NSMigratePersistentStoresAutomaticallyOption = "NSMigratePersistentStoresAutomaticallyOption"
/// Migrate by what can be inferred from the models; without, error 134140: there are no mapping models in bundles here. Descriptions set it.
public let NSInferMappingModelAutomaticallyOption = "NSInferMappingModelAutomaticallyOption"
/// Migrate by the stages of this `NSStagedMigrationManager`.
public let NSPersistentStoreStagedMigrationManagerOptionKey =
  "NSPersistentStoreStagedMigrationManagerOptionKey"
/// Models that the program knows besides the versions in the `.xcdatamodeld` that its model was read from: an array of
/// `NSManagedObjectModel`. A migration that takes something away from a store needs to know the store's model. Core Data has no such option: it
/// looks for the model in the bundle, and refuses any migration without (134130), as is done here.
public let StrataKnownModelsOption = "StrataKnownModels"
/// What a migration may take away, whichever program wrote it: an array or a set of strings, `Entity` or `Entity.property`, by the names that the
/// store's model has. The error that refuses a migration lists what it takes.
public let StrataPermittedLossesOption = "StrataPermittedLosses"
/// Whether the file from before a migration that has taken something away, `Name.sqlite-before-1`, outlasts the next save.
public let StrataKeepsReplacedFilesOption = "StrataKeepsReplacedFiles"
/// Whether the store's file is made shorter by itself, when it is mostly free and nothing is saved: see `compactsAutomatically` of descriptions.
public let StrataCompactsAutomaticallyOption = "StrataCompactsAutomatically"
/// What a returned save promises: `full`, the default, `relaxed` or `none`. See `durability` of descriptions.
public let StrataDurabilityOption = "StrataDurability"
/// Taken and without effect: there is no SQLite below.
public let NSSQLitePragmasOption = "NSSQLitePragmasOption"
/// Taken and without effect: there is no SQLite below.
public let NSSQLiteAnalyzeOption = "NSSQLiteAnalyzeOption"
/// Make the file as short as what is in it when the store is opened, on the calling thread, as `compact(_:progress:)` of the coordinator does. Where that cannot be done, the store
/// is open all the same, and a warning says why. Without effect on stores that are read-only or have no file of this library.
public let NSSQLiteManualVacuumOption = "NSSQLiteManualVacuumOption"
/// Taken and without effect: file protection is a matter of Apple's systems.
public let NSPersistentStoreFileProtectionKey = "NSPersistentStoreFileProtectionKey"
/// Record every save and batch in the store's history, which `NSPersistentHistoryChangeRequest` reads. A store that records one goes on when
/// it is opened without the option; Core Data makes it read-only.
public let NSPersistentHistoryTrackingKey = "NSPersistentHistoryTrackingKey"
/// Taken and without effect: any number of threads read at once.
public let NSPersistentStoreConnectionPoolMaxSizeKey = "NSPersistentStoreConnectionPoolMaxSizeKey"
/// Taken and without effect: a store that somebody has open is not destroyed.
public let NSPersistentStoreForceDestroyOption = "NSPersistentStoreForceDestroyOption"
/// Taken and without effect: values of stores of every type are kept the same way, and archives are read by their transformers.
public let NSBinaryStoreSecureDecodingClasses = "NSBinaryStoreSecureDecodingClasses"
/// Taken and without effect, see `NSBinaryStoreSecureDecodingClasses`.
public let NSBinaryStoreInsecureDecodingCompatibilityOption =
  "NSBinaryStoreInsecureDecodingCompatibilityOption"
/// The key of Core Data's that says which systems can read a store. No metadata has it: a store is the same on all of them.
public let NSPersistentStoreOSCompatibility = "NSPersistentStoreOSCompatibility"
/// The number of Core Data's framework whose names are here: that of iOS 17 and macOS 14. It says nothing of the library's own version.
public let NSCoreDataVersionNumber: Double = 1338

/// Metadata as Core Data code expects it: the store's type by Apple's name, numbers as `NSNumber`s.
func appleSpelled(_ metadata: [String: Any]) -> [String: Any] {
  var metadata = metadata.mapValues(foundationValue)
  if let type = metadata[NSStoreTypeKey] as? String,
    type == PersistentStoreDescription.StoreType.lmdb.rawValue
  {
    metadata[NSStoreTypeKey] = NSSQLiteStoreType
  }
  metadata[NSPersistentStoreModelVersionChecksumKey] = NSManagedObjectModel.versionChecksum(
    ofStoreMetadata: metadata)
  return metadata
}

private func foundationValue(_ value: Any) -> Any {
  switch value {
  case let number as Int64: NSNumber(value: number)
  case let number as Int: NSNumber(value: number)
  case let flag as Bool: NSNumber(value: flag)
  case let number as Double: NSNumber(value: number)
  case let list as [Any]: list.map(foundationValue)
  // The hashes of a store stay a dictionary of data.
  case let hashes as [String: Data]: hashes
  case let dictionary as [String: Any]: dictionary.mapValues(foundationValue)
  default: value
  }
}

/// Metadata as the store keeps it.
func strataSpelled(_ metadata: [String: Any]) -> [String: Any] {
  var metadata = metadata
  if let type = metadata[NSStoreTypeKey] as? String, type == NSSQLiteStoreType || type == NSBinaryStoreType {
    metadata[NSStoreTypeKey] = PersistentStoreDescription.StoreType.lmdb.rawValue
  }
  metadata[NSPersistentStoreModelVersionChecksumKey] = nil
  return metadata
}
