import Foundation
import StrataCore

// Files that get shorter, and saves that are to outlast a power failure: what Core Data leaves to SQLite.

extension NSPersistentStoreCoordinator {
  /// Makes the file of `store` as short as what is in it, while contexts of this process and of others read and save.
  ///
  /// Object IDs, history, tokens and pinned query generations stay what they are. A save that comes meanwhile waits for one short transaction at most. What pinned
  /// generations and other readers still show is waited for, two seconds in all, and stays in the file otherwise: `heldBytes` of the report tells. Sizes are in bytes.
  ///
  /// - Parameters:
  ///   - store: A store of this coordinator.
  ///   - progress: Called between the transactions, on no thread in particular.
  /// - Throws: `CocoaError` 134070 when the store is not attached here, or is one of another engine or of the program's own; `StorageError`'s, as `CocoaError`s, when the
  ///   store is being compacted already, is read-only, or cannot be written; `CancellationError` when the task was cancelled. Every save is there then.
  @discardableResult
  public func compact(
    _ store: NSPersistentStore, progress: (@Sendable (CompactionReport) -> Void)? = nil
  ) async throws -> CompactionReport {
    do {
      let store = own(store)
      try requireAttached(store)
      return try await compact(store.store, progress: progress)
    } catch let error as CancellationError {
      throw error
    } catch {
      throw cocoa(error, .persistentStoreOperation)
    }
  }

  /// The same on the calling thread, which must not be inside of a hook.
  ///
  /// - Throws: as the other one does, but for cancelling.
  @discardableResult
  public func compact(
    _ store: NSPersistentStore, progress: (@Sendable (CompactionReport) -> Void)? = nil
  ) throws -> CompactionReport {
    try cocoa(.persistentStoreOperation) {
      let store = own(store)
      try requireAttached(store)
      return try compact(store.store, progress: progress)
    }
  }

  /// What `NSSQLiteManualVacuumOption` asks for when `store` has been opened. A store whose file cannot be made shorter now is open all the same, and a warning says why.
  func vacuum(_ store: NSPersistentStore, _ options: [AnyHashable: Any]?) {
    guard boolean(options, NSSQLiteManualVacuumOption), !(store is NSIncrementalStore),
      !(store is NSAtomicStore), canCompact(store.store)
    else { return }
    do {
      try compact(store.store)
    } catch {
      Diagnostics.write("\(store.description) was opened and not compacted", error, .warning)
    }
  }
}

extension NSPersistentContainer {
  /// Makes every save durable that has returned, in all stores, also where a `durability` of less than `.full` has not flushed it. May be called from any thread; waits
  /// for no save.
  /// - Throws: the first store's error, as `CocoaError`; every store has been tried then.
  public func flush() throws {
    try cocoa(.persistentStoreOperation) { try persistentStoreCoordinator.flush() }
  }

  /// Makes the files of all stores as short as what is in them, while they are used; read-only ones, and those that have no file of this library, are left out.
  ///
  /// - Parameter progress: Called between the transactions, on no thread in particular.
  /// - Returns: a report for each store, oldest store first. Sizes are in bytes.
  /// - Throws: as `compact(_:progress:)` of the coordinator; the stores before are compacted then.
  @discardableResult
  public func compact(
    progress: (@Sendable (CompactionReport) -> Void)? = nil
  ) async throws -> [CompactionReport] {
    var reports: [CompactionReport] = []
    let stores: [NSPersistentStore] = persistentStoreCoordinator.persistentStores
    for store in stores where persistentStoreCoordinator.canCompact(store.store) {
      reports.append(try await persistentStoreCoordinator.compact(store, progress: progress))
    }
    return reports
  }
}

/// Whether an option is set, and true.
func boolean(_ options: [AnyHashable: Any]?, _ key: String) -> Bool {
  (options?[key] as? NSNumber)?.boolValue ?? (options?[key] as? Bool) ?? false
}

/// What `StrataDurabilityOption` says; nil where it is not set.
/// - Throws: `CoreDataError` 134080 for what is no durability's name.
func durabilityOption(_ options: [AnyHashable: Any]?) throws -> Durability? {
  guard let option = options?[StrataDurabilityOption] else { return nil }
  if let durability = option as? Durability { return durability }
  let name = (option as? String) ?? (option as? NSString).map(String.init)
  if let durability = name.flatMap(Durability.init(rawValue:)) { return durability }
  throw CoreDataError(
    .persistentStoreOpen,
    "\(StrataDurabilityOption) is “\(option)”: full, relaxed and none are what a store can promise.")
}
