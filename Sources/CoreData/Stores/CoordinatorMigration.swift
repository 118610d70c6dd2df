import Foundation
import StrataCore

extension NSPersistentStoreCoordinator {
  /// Moves a store to another file: writes a copy, detaches the store and attaches the copy in its place. The old file stays.
  ///
  /// IDs stay what they are. Contexts that have objects of the store must be reset: the objects they hold belong to the
  /// store that was detached. What was saved before the store is detached is in the copy; saves that come while it is made fail.
  /// - Throws: `CocoaError` 134000 for a type that is not on disk; 134080 when another process or another coordinator of this one has the
  ///   store open, when there is a file at `storeURL` already, it cannot be written, or the copy cannot be opened with the options: the old store stays
  ///   attached then, and there is no file at `storeURL` that was not there before.
  @discardableResult
  public func migratePersistentStore(
    _ store: NSPersistentStore, to storeURL: URL, options: [AnyHashable: Any]? = nil,
    withType storeType: String
  ) throws -> NSPersistentStore {
    try cocoa(.persistentStoreOpen) {
      guard storeType == NSSQLiteStoreType || storeType == NSBinaryStoreType,
        let source = engine(store.store)?.copyableStore
      else {
        throw CoreDataError(
          .persistentStoreInvalidType, "A store can be moved to a file only, not to type “\(storeType)”.")
      }
      // Other coordinators that have it open would go on with a file that is invisible here.
      if source.url != nil { try source.requireSoleUse() }
      let description = try storeDescription(
        type: storeType, configuration: source.configurationName, url: storeURL, options: options)
      return try source.sealed {
        try source.backup(to: storeURL, compacting: true)
        do {
          try tryOut(description)
          return try exchange(store, source, at: storeURL, options: options, type: storeType)
        } catch {
          // Where somebody else has opened it meanwhile, it stays.
          try? LMDBStore.destroy(at: storeURL)
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
    try remove(store)
    do {
      return try addPersistentStore(
        ofType: storeType, configurationName: source.configurationName, at: storeURL, options: options)
    } catch {
      if let url {
        try addPersistentStore(
          ofType: type, configurationName: source.configurationName, at: url, options: old)
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
