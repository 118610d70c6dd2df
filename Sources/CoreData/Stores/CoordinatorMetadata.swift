import Foundation
import StrataCore

extension NSPersistentStoreCoordinator {
  /// The store's metadata, including what was set and awaits the next save.
  public func metadata(for store: NSPersistentStore) -> [String: Any] {
    appleSpelled(metadata(for: own(store).store))
  }

  /// Sets the store's metadata; written by the next save of any context to that store. Traps for values that are no
  /// property-list values and for a store that is not attached here, not even as another coordinator's. An open store keeps its UUID: another one is left out, with a warning.
  public func setMetadata(_ metadata: [String: Any]?, for store: NSPersistentStore) {
    var metadata = strataSpelled(metadata ?? [:])
    let store = own(store)
    if store is EngineStore, let given = metadata[NSStoreUUIDKey],
      (given as? String).flatMap({ UUID(uuidString: $0) }) != store.store.identifier
    {
      metadata[NSStoreUUIDKey] = nil
      Diagnostics.write(
        "setMetadata(_:for:): the store keeps its UUID while it is open; set the metadata of its file when it is closed.",
        .warning, module: "CoreData")
    }
    do { try setMetadata(metadata, for: store.store) } catch {
      stop("setMetadata(_:for:): \(error)")
    }
  }

  /// The metadata of the store in the file at `url`, which need not be open.
  /// - Throws: `CocoaError` 260 when there is no file, 259 when it is not a store; see `addPersistentStore(ofType:configurationName:at:options:)`.
  public static func metadataForPersistentStore(
    ofType storeType: String, at url: URL, options: [AnyHashable: Any]? = nil
  ) throws -> [String: Any] {
    try cocoa(.persistentStoreOpen) {
      let description = try closedStore(type: storeType, url: url, options: options)
      return appleSpelled(try StoreEngines.kind(description.type).metadata(of: description).dictionary)
    }
  }

  /// The metadata of the store in the file at `storeURL`, which need not be open.
  /// - Throws: as the method with a type's name.
  public static func metadataForPersistentStore(
    type storeType: NSPersistentStore.StoreType, at storeURL: URL, options: [AnyHashable: Any]? = nil
  ) throws -> [String: Any] {
    try metadataForPersistentStore(ofType: storeType.rawValue, at: storeURL, options: options)
  }

  /// The metadata of the store in the file at `url`; the type is not looked at.
  /// - Throws: as the method with options.
  public static func metadataForPersistentStore(ofType storeType: String?, at url: URL) throws -> [String:
    Any]
  {
    try metadataForPersistentStore(ofType: storeType ?? NSSQLiteStoreType, at: url, options: nil)
  }

  /// Writes the metadata of the store in the file at `url`. A UUID that is not the store's becomes the store's, so that a copy can be added beside its original;
  /// object IDs and history tokens of the old one are those of another store then.
  /// - Throws: `CocoaError` 134070 for values that are no property-list values, and for a UUID that is none; 134080 for another UUID when the store is open; Foundation's
  ///   codes for the file.
  public static func setMetadata(
    _ metadata: [String: Any]?, forPersistentStoreOfType storeType: String, at url: URL,
    options: [AnyHashable: Any]? = nil
  ) throws {
    try cocoa(.persistentStoreOpen) {
      guard let values = StoreMetadata(strataSpelled(metadata ?? [:])) else {
        throw CoreDataError(.persistentStoreOperation, "Store metadata takes property-list values only.")
      }
      let description = try closedStore(type: storeType, url: url, options: options)
      try StoreEngines.kind(description.type).setMetadata(values, of: description)
    }
  }

  /// Writes the metadata of the store in the file at `storeURL`.
  /// - Throws: as the method with a type's name.
  public static func setMetadata(
    _ metadata: [String: Any]?, type storeType: NSPersistentStore.StoreType, at storeURL: URL,
    options: [AnyHashable: Any]? = nil
  ) throws {
    try setMetadata(
      metadata, forPersistentStoreOfType: storeType.rawValue, at: storeURL, options: options)
  }

  /// The model the store in the file at `url` was written with.
  /// - Throws: `CocoaError` with Foundation's codes for the file; 134080 when the store's model cannot be read.
  public static func cachedModelForPersistentStore(at url: URL, options: [AnyHashable: Any]? = nil) throws
    -> NSManagedObjectModel
  {
    try cocoa(.persistentStoreOpen) {
      let type = StoreEngines.type(of: url)
      return try StoreEngines.kind(type).model(
        of: PersistentStoreDescription(type: type, url: url), withClasses: true)
    }
  }

  /// The ID that `string` is the URI of.
  public func managedObjectID(for string: String) -> NSManagedObjectID? {
    URL(string: string).flatMap { managedObjectID(forURIRepresentation: $0) }
  }

  /// Carries `request` out for `context`: an array for a fetch, an `NSPersistentStoreResult` for other requests. On the context's
  /// queue.
  /// - Throws: what `context.execute(_:)` throws.
  public func execute(_ request: NSPersistentStoreRequest, with context: NSManagedObjectContext) throws -> Any
  {
    if let fetch = request as? NSFetchRequestDescription { return try cocoa { try context.found(fetch) } }
    return try context.execute(request)
  }

  /// Always false: the file of an open store is not exchanged. See `migratePersistentStore(_:to:options:type:)`.
  public func setURL(_ url: URL, for store: NSPersistentStore) -> Bool { false }

  /// Writes the metadata of the store in the file at `url`; the type is not looked at.
  /// - Throws: as the method with options.
  public static func setMetadata(
    _ metadata: [String: Any]?, forPersistentStoreOfType storeType: String?, at url: URL
  ) throws {
    try setMetadata(
      metadata, forPersistentStoreOfType: storeType ?? NSSQLiteStoreType, at: url, options: nil)
  }
}
