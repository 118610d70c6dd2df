import Foundation
import StrataCore

extension NSPersistentStoreCoordinator {
  /// Moves a store to another file: writes a copy, detaches the store and attaches the copy in its place. The old file stays.
  ///
  /// IDs stay what they are. Contexts that have objects of the store must be reset: the objects they hold belong to the
  /// store that was detached. What this coordinator's contexts saved before the store is detached is in the copy; saves of theirs that come while it is made
  /// fail. Metadata that awaits the next save is written to the copy.
  ///
  /// Other coordinators and other processes that have the store open go on with the old file. The copy has what they had saved when it was made.
  /// So a coordinator of its own makes a backup of a store that is in use.
  ///
  /// At `storeURL` there may be what is left of a store that was destroyed. The copy takes its place.
  /// - Throws: `CocoaError` 134070 when the store is not attached here; 134000 for a type that is not on disk, and for a store that cannot be copied to a
  ///   file; 134080 when there is a store or another file at `storeURL`, it cannot be written, or the copy cannot be opened with the options: the old store
  ///   stays attached then, and nothing is at `storeURL` that was not there before.
  @discardableResult
  public func migratePersistentStore(
    _ store: NSPersistentStore, to storeURL: URL, options: [AnyHashable: Any]? = nil,
    withType storeType: String
  ) throws -> NSPersistentStore {
    try cocoa(.persistentStoreOpen) {
      let store = own(store)
      try requireAttached(store)
      guard storeType == NSSQLiteStoreType || storeType == NSBinaryStoreType else {
        throw CoreDataError(
          .persistentStoreInvalidType, "A store can be moved to a file only, not to type “\(storeType)”.")
      }
      guard let source = engine(store.store)?.copyableStore else {
        throw CoreDataError(
          .persistentStoreInvalidType, "A store of type “\(store.type)” cannot be moved to a file.")
      }
      let description = try storeDescription(
        type: storeType, configuration: source.configurationName, url: storeURL, options: options)
      return try source.sealed {
        // Where something lies that is no empty store, no copy is made.
        let wasThere = FileManager.default.fileExists(atPath: storeURL.path)
        try source.copy(into: storeURL)
        do {
          if let pending = pendingMetadata(for: source) {
            try StoreEngines.kind(description.type).setMetadata(pending, of: description)
          }
          try tryOut(description)
          return try exchange(store, source, at: storeURL, options: options, type: storeType)
        } catch {
          // Where another process has opened it meanwhile, it stays.
          if wasThere { try? LMDBStore.empty(at: storeURL) } else { try? LMDBStore.destroy(at: storeURL) }
          throw error
        }
      }
    }
  }

  /// Opens a store and closes it again: a store in memory would be gone if that failed when it has been detached.
  private func tryOut(_ description: PersistentStoreDescription) throws {
    let (kind, schema) = (try StoreEngines.kind(description.type), try managedObjectModel.schema())
    do {
      try kind.open(description, schema: schema, patience: Patience(description.timeout), for: self).close()
    } catch let error as CoreDataError
      where error.code == .persistentStoreIncompatibleVersionHash && description.migratesAutomatically
    {
      // It is migrated when it is attached.
    }
  }

  /// Attaches the copy of `store` in its place.
  private func exchange(
    _ store: NSPersistentStore, _ source: any CopyableStore, at storeURL: URL,
    options: [AnyHashable: Any]?, type storeType: String
  ) throws -> NSPersistentStore {
    let (type, url, old) = (store.type, source.url, store.options)
    let pending = pendingMetadata(for: source)
    try remove(store)
    do {
      return try addPersistentStore(
        ofType: storeType, configurationName: source.configurationName, at: storeURL, options: options)
    } catch {
      if let url {
        let again = try addPersistentStore(
          ofType: type, configurationName: source.configurationName, at: url, options: old)
        setPendingMetadata(pending, for: again.store)
      }
      throw error
    }
  }

  /// Moves a store to another file. See `migratePersistentStore(_:to:options:withType:)`.
  /// - Throws: as the method with a type's name.
  @discardableResult
  public func migratePersistentStore(
    _ store: NSPersistentStore, to storeURL: URL, options: [AnyHashable: Any]? = nil,
    type storeType: NSPersistentStore.StoreType
  ) throws -> NSPersistentStore {
    try migratePersistentStore(store, to: storeURL, options: options, withType: storeType.rawValue)
  }
}
