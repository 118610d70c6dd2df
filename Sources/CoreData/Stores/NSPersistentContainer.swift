import Foundation
import StrataCore

/// A whole stack: model, coordinator, stores, a main-queue context and any number of background contexts.
///
///     let container = NSPersistentContainer(name: "Journal")
///     container.loadPersistentStores { _, error in … }
///     let context = container.viewContext
///
/// May be used from any thread.
open class NSPersistentContainer: NSObject, @unchecked Sendable {
  // Safe: the stored properties are constants, or have their own lock.

  /// The container's name: of its model, where it has to be looked up, and of its default store's file.
  public let name: String
  /// The coordinator, made with the container's model.
  public let persistentStoreCoordinator: NSPersistentStoreCoordinator
  /// The main-queue context, on the coordinator. Use it on the main actor.
  public let viewContext: NSManagedObjectContext
  private let descriptions: Mutex<Carried<[NSPersistentStoreDescription]>>
  /// What `loadPersistentStores` has opened.
  private let loaded = Mutex(Carried([LoadedStore]()))

  private struct LoadedStore {
    let description: NSPersistentStoreDescription
    /// As the description was.
    let url: URL?
    let store: NSPersistentStore
  }

  /// Makes a container for the model called `name`.
  ///
  /// Looked for, in this order, are `name.xcdatamodeld` and `name.xcdatamodel` in the main bundle, in the resource bundles that
  /// lie beside the program, and in the current directory. Traps, naming the places, when there is none; a model that cannot be
  /// read traps with its error.
  public convenience init(name: String) {
    guard let url = ModelLocations.url(ofModelNamed: name) else {
      stop(
        "NSPersistentContainer(name: \"\(name)\"): there is no \(name).xcdatamodeld or \(name).xcdatamodel in "
          + ModelLocations.folders().map(\.path).joined(separator: ", ")
          + ". Put the model into the target's resources (.copy), or use init(name:managedObjectModel:).")
    }
    do {
      self.init(name: name, managedObjectModel: try ManagedObjectModel.mergedModel(contentsOf: [url]))
    } catch {
      stop("NSPersistentContainer(name: \"\(name)\"): \(url.path) cannot be read: \(error)")
    }
  }

  /// Makes a container for `model`, which is frozen. Opens nothing yet. By default there is one store, `name.sqlite` in
  /// `defaultDirectoryURL()`.
  public init(name: String, managedObjectModel model: NSManagedObjectModel) {
    self.name = name
    persistentStoreCoordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    viewContext = NSManagedObjectContext(concurrencyType: .mainQueueConcurrencyType)
    let url = Self.defaultDirectoryURL().appendingPathComponent(name + ".sqlite")
    descriptions = Mutex(Carried([NSPersistentStoreDescription(url: url)]))
    super.init()
    viewContext.persistentStoreCoordinator = persistentStoreCoordinator
    viewContext.name = "view"
  }

  /// The model.
  public var managedObjectModel: NSManagedObjectModel { persistentStoreCoordinator.managedObjectModel }

  /// The stores `loadPersistentStores` opens. Set it before.
  open var persistentStoreDescriptions: [NSPersistentStoreDescription] {
    get { descriptions.withLock { $0 }.value }
    set {
      let new = Carried(newValue)
      descriptions.withLock { $0 = new }
    }
  }

  /// Where stores go by default: `$XDG_DATA_HOME` or `~/.local/share`, in a folder named after the program. The folder is
  /// made when a store is loaded into it.
  open class func defaultDirectoryURL() -> URL { PersistentContainer.defaultDirectoryURL() }

  /// Opens every described store that is not loaded yet and calls `block` once for each of those, with the error if it could not be opened; at
  /// once, on the calling thread, unless the description says `shouldAddStoreAsynchronously`. A store that was loaded and has been removed
  /// from the coordinator is loaded again.
  open func loadPersistentStores(
    completionHandler block: @escaping (NSPersistentStoreDescription, (any Error)?) -> Void
  ) {
    let folder = Self.defaultDirectoryURL()
    for description in persistentStoreDescriptions where !isLoaded(description) {
      if description.type != NSInMemoryStoreType,
        description.url?.deletingLastPathComponent().path == folder.path
      {
        do {
          try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        } catch {
          block(description, error)
          continue
        }
      }
      guard description.shouldAddStoreAsynchronously else {
        load(description, block)
        continue
      }
      let carried = Carried((description, block))
      Errand.hand(to: .global(qos: .userInitiated), isCounted: false) {
        self.load(carried.value.0, carried.value.1)
      }
    }
  }

  private func load(
    _ description: NSPersistentStoreDescription,
    _ block: (NSPersistentStoreDescription, (any Error)?) -> Void
  ) {
    let url = description.url
    persistentStoreCoordinator.add(description) { store, error in
      if let store {
        let new = Carried(LoadedStore(description: description, url: url, store: store))
        loaded.withLock { $0 = Carried($0.value + [new.value]) }
      }
      block(description, error)
    }
  }

  private func isLoaded(_ description: NSPersistentStoreDescription) -> Bool {
    let stores = persistentStoreCoordinator.persistentStores
    return loaded.withLock { $0 }.value.contains {
      $0.description === description && $0.url == description.url && stores.contains($0.store)
    }
  }

  /// A new private-queue context on the coordinator. Does not merge others' saves by default.
  open func newBackgroundContext() -> NSManagedObjectContext {
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = persistentStoreCoordinator
    return context
  }

  /// Runs `block` with a fresh background context on that context's queue; returns at once.
  open func performBackgroundTask(_ block: sending @escaping (NSManagedObjectContext) -> Void) {
    let context = newBackgroundContext()
    context.perform { block(context) }
  }

  /// Runs `block` with a fresh background context on that context's queue and returns its value.
  nonisolated(nonsending) public func performBackgroundTask<T>(
    _ block: sending @escaping (NSManagedObjectContext) throws -> T
  ) async throws -> T {
    let context = newBackgroundContext()
    let block = Carried(block)
    return try await context.perform { try block.value(context) }
  }

  /// Runs `block`, which cannot fail, with a fresh background context on that context's queue and returns its value.
  nonisolated(nonsending) public func performBackgroundTask<T>(
    _ block: sending @escaping (NSManagedObjectContext) -> T
  ) async -> T {
    let context = newBackgroundContext()
    let block = Carried(block)
    return await context.perform { block.value(context) }
  }
}
