import Foundation
import StrataCore

extension NSPersistentStoreCoordinator {
  /// The attached stores, oldest first.
  public var persistentStores: [NSPersistentStore] {
    self.StrataCore::persistentStores.map { .of($0, in: self) }
  }

  /// Opens a store and attaches it.
  /// - Throws: `CocoaError` 134000 for an unknown type, 134100 when it was written with another version of the model, 134080 with all sentences
  ///   when the model or a class is wrong; Foundation's codes for the file: 259 when it is no store or a damaged one, 256 for a folder, 260 when it is missing and not to be
  ///   made, 512 when its folder is missing, 257 and 513 without permission, 642 and 640 for a volume that is read-only or full; otherwise 134080.
  @discardableResult
  public func addPersistentStore(
    ofType storeType: String, configurationName configuration: String?, at storeURL: URL?,
    options: [AnyHashable: Any]? = nil
  ) throws -> NSPersistentStore {
    try cocoa(.persistentStoreOpen) {
      let description = try storeDescription(
        type: storeType, configuration: configuration, url: storeURL, options: options)
      let opening = NSPersistentStore.Opening(type: storeType, options: Carried(options), url: storeURL)
      return try NSPersistentStore.$opening.withValue(opening) {
        spellStores()
        let store = NSPersistentStore.of(try addPersistentStore(description), in: self)
        store.remember(opening)
        vacuum(store, options)
        store.didAdd(to: self)
        return store
      }
    }
  }

  /// Has the coordinator's notifications tell of `NSPersistentStore`s.
  private func spellStores() {
    if storeSpelling != nil { return }
    storeSpelling = { [weak self] store in
      guard let self else { return store }
      let spelled = NSPersistentStore.of(store, in: self)
      if let opening = NSPersistentStore.opening { spelled.remember(opening) }
      return spelled
    }
  }

  /// Opens a store and attaches it. See `addPersistentStore(ofType:configurationName:at:options:)`.
  /// - Throws: as the method with a type's name.
  @discardableResult
  public func addPersistentStore(
    type: NSPersistentStore.StoreType, configuration: String? = nil, at storeURL: URL,
    options: [AnyHashable: Any]? = nil
  ) throws -> NSPersistentStore {
    try addPersistentStore(
      ofType: type.rawValue, configurationName: configuration, at: storeURL, options: options)
  }

  /// Opens a store and attaches it, then calls `block` with the error if it could not be opened; at once, on the calling thread,
  /// unless the description says `shouldAddStoreAsynchronously`.
  public func addPersistentStore(
    with storeDescription: NSPersistentStoreDescription,
    completionHandler block: @escaping (NSPersistentStoreDescription, (any Error)?) -> Void
  ) {
    guard storeDescription.shouldAddStoreAsynchronously else {
      return add(storeDescription) { _, error in block(storeDescription, error) }
    }
    let block = Carried(block)
    Errand.hand(to: .global(qos: .userInitiated), isCounted: false) {
      self.add(storeDescription) { _, error in block.value(storeDescription, error) }
    }
  }

  /// Opens a store and attaches it, as `addPersistentStore(with:completionHandler:)` but always at once; `block` gets the store or the error.
  func add(
    _ description: NSPersistentStoreDescription, _ block: (NSPersistentStore?, (any Error)?) -> Void
  ) {
    let added = Result {
      try addPersistentStore(
        ofType: description.type, configurationName: description.configuration, at: description.url,
        options: description.options)
    }
    switch added {
    case .success(let store): block(store, nil)
    case .failure(let error): block(nil, error)
    }
  }

  /// Detaches and closes `store`.
  /// - Throws: `CocoaError` 134070 when the store is not attached here.
  public func remove(_ store: NSPersistentStore) throws {
    try cocoa {
      let store = own(store)
      try requireAttached(store)
      spellStores()
      if store.persistentStoreCoordinator === self { store.willRemove(from: self) }
      try remove(store.store)
    }
  }

  /// What is `store` here: where it is attached to another coordinator, which has the same store open, the object of this one's. What is attached nowhere any more
  /// stands for itself.
  func own(_ store: NSPersistentStore) -> NSPersistentStore {
    guard let other = store.persistentStoreCoordinator, other !== self,
      let identifier = store is EngineStore ? store.store.identifier : store.engine?.identifier
    else { return store }
    let attached: [NSPersistentStore] = persistentStores
    return attached.first { $0.store.identifier == identifier } ?? store
  }

  /// Asked before anything else: a store of the program's own that is attached nowhere has no engine.
  /// - Throws: `CoreDataError` 134070 when the store is not attached here.
  func requireAttached(_ store: NSPersistentStore) throws {
    let attached: [NSPersistentStore] = persistentStores
    if !attached.contains(where: { $0 === store }) { throw Self.isNotAttached }
  }

  /// The attached store in the file at `url`; of stores in memory the oldest that was added with `url`.
  public func persistentStore(for url: URL) -> NSPersistentStore? {
    if let store = self.StrataCore::persistentStore(for: url) { return .of(store, in: self) }
    return persistentStores.first { store in
      guard store is EngineStore, store.store.url == nil, let own = store.url else { return false }
      return own.isFileURL && url.isFileURL
        ? own.standardizedFileURL.path == url.standardizedFileURL.path : own == url
    }
  }

  /// The file of `store`; of a store in memory the URL that it was added with, `/dev/null` for one that was added without.
  public func url(for store: NSPersistentStore) -> URL {
    own(store).url ?? URL(fileURLWithPath: "/dev/null")
  }

  // MARK: Whole stores

  /// Destroys the store in the file at `url`, as Core Data does: detaches it when it is attached here, and empties it. The file stays, and is opened as a
  /// new store. Where there is no file in the folder, for `/dev/null/Name` and for stores in memory nothing happens.
  /// - Throws: `CocoaError` 134070 when another coordinator of this process or another process has the store open, and for stores of the program's own; Foundation's
  ///   codes for `/dev/null`, for a missing folder, and for a file that cannot be written. Nothing is changed then, and a store that was attached is attached.
  public func destroyPersistentStore(
    at url: URL, ofType storeType: String, options: [AnyHashable: Any]? = nil
  ) throws {
    try cocoa(.persistentStoreOperation) {
      if storeType == NSInMemoryStoreType { return }
      let type = try engineType(storeType)
      try knownAsBefore(url) { try destroyPersistentStore(at: url, type: type) }
    }
  }

  /// Destroys the store in the file at `url`. See `destroyPersistentStore(at:ofType:options:)`.
  /// - Throws: as the method with a type's name.
  public func destroyPersistentStore(
    at url: URL, type storeType: NSPersistentStore.StoreType, options: [AnyHashable: Any]? = nil
  ) throws {
    try destroyPersistentStore(at: url, ofType: storeType.rawValue, options: options)
  }

  /// Puts a copy of the store at `sourceURL`, which may be in use, in the place of the one at `destinationURL`. A store there that is attached here is
  /// detached; add it again.
  /// - Throws: `CocoaError` 134070 when another coordinator of this process or another process has the store at `destinationURL` open; Foundation's codes for
  ///   files: 259 when there is no store at `sourceURL`, or one that cannot be read. Nothing is changed then, and a store that was attached is attached.
  public func replacePersistentStore(
    at destinationURL: URL, destinationOptions: [AnyHashable: Any]? = nil,
    withPersistentStoreFrom sourceURL: URL, sourceOptions: [AnyHashable: Any]? = nil,
    ofType storeType: String
  ) throws {
    try cocoa(.persistentStoreOperation) {
      let type = try engineType(storeType)
      try knownAsBefore(destinationURL) {
        try replacePersistentStore(at: destinationURL, withPersistentStoreFrom: sourceURL, type: type)
      }
    }
  }

  /// Runs `body`. When that detaches the store at `url` and has to attach it again, it is known by the type and the options that it was added with.
  private func knownAsBefore(_ url: URL, _ body: () throws -> Void) rethrows {
    guard let store = persistentStore(for: url) else { return try body() }
    spellStores()
    let opening = NSPersistentStore.Opening(type: store.type, options: Carried(store.options))
    try NSPersistentStore.$opening.withValue(opening) { try body() }
  }

  /// Puts a copy of the store at `sourceURL`, which may be in use, in the place of the one at `destinationURL`. A store there that is attached here is
  /// detached; add it again.
  /// - Throws: `CocoaError` 134070 when another coordinator of this process or another process has the store at `destinationURL` open; Foundation's codes for
  ///   files: 259 when there is no store at `sourceURL`, or one that cannot be read. Nothing is changed then, and a store that was attached is attached.
  public func replacePersistentStore(
    at destinationURL: URL, destinationOptions: [AnyHashable: Any]? = nil,
    withPersistentStoreFrom sourceURL: URL, sourceOptions: [AnyHashable: Any]? = nil,
    type storeType: NSPersistentStore.StoreType
  ) throws {
    try replacePersistentStore(
      at: destinationURL, withPersistentStoreFrom: sourceURL, ofType: storeType.rawValue)
  }
}
