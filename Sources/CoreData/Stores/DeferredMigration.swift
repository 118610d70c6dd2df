import StrataCore

// Core Data can put off the part of a lightweight migration that only cleans up. Here a migration writes a new file, which is complete when the store is
// open: nothing is ever put off, and the key is in no store's metadata.

/// Whether the cleaning up after a lightweight migration may wait. Taken and without effect: a store is migrated completely when it is opened.
public let NSPersistentStoreDeferredLightweightMigrationOptionKey =
  "NSPersistentStoreDeferredLightweightMigrationOptionKey"

extension NSPersistentStoreCoordinator {
  /// Finishes what migrations have put off. They put off nothing, so there is nothing to do.
  /// - Throws: nothing; the signature is Core Data's.
  public func finishDeferredLightweightMigration() throws {}

  /// Does one part of what migrations have put off. They put off nothing, so there is nothing to do.
  /// - Throws: nothing; the signature is Core Data's.
  public func finishDeferredLightweightMigrationTask() throws {}
}
