import Foundation
import StrataCore

extension NSPersistentStoreCoordinator {
  /// Moves a store to another file: writes a copy, detaches the store and attaches the copy in its place. The old file stays.
  ///
  /// IDs stay what they are. Contexts that have objects of the store must be reset: the objects they hold belong to the
  /// store that was detached.
  /// - Throws: `CocoaError` 134000 for a type that is not on disk; 134080 when another process or another coordinator of this one has the
  ///   store open, when there is a file at `storeURL` already or it cannot be written: the old store stays attached then.
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
      try source.backup(to: storeURL, compacting: true)
      let (type, url, old) = (store.type, store.url, store.options)
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
