import Foundation
import Synchronization

/// A whole stack in one line: model, coordinator, stores, a main-queue context and any number of background contexts.
///
///     let container = PersistentContainer(name: "Journal", model: model)
///     try await container.loadPersistentStores()
///     let context = container.viewContext
///
/// May be used from any thread.
public final class PersistentContainer: Sendable {
  /// The container's name; also the name of its default store file.
  public let name: String
  /// The coordinator, made with the container's model.
  public let persistentStoreCoordinator: PersistentStoreCoordinator
  private let descriptions: Mutex<[PersistentStoreDescription]>
  private let view: Mutex<ManagedObjectContext?>

  /// Makes a container for `model`. Opens nothing yet; the model is frozen. By default there is one store,
  /// `name.strata` in `defaultDirectoryURL()`.
  public init(name: String, model: ManagedObjectModel) {
    self.name = name
    persistentStoreCoordinator = PersistentStoreCoordinator(managedObjectModel: model)
    descriptions = Mutex([
      PersistentStoreDescription(url: Self.defaultDirectoryURL().appendingPathComponent(name + ".strata"))
    ])
    view = Mutex(nil)
  }

  /// Makes a container for the entities that the classes declare, and opens its one store, off the calling task's thread.
  ///
  ///     let library = try await PersistentContainer(for: Book.self, Author.self, at: url)
  ///
  /// What relationships and superclasses lead to belongs to the model too; subclasses have to be named. Containers for the same classes share one model.
  /// The container is called like the first class.
  /// - Throws: `ModelError` with a sentence for each mistake in the declarations, naming class, property and file; what `loadPersistentStores()` throws.
  public convenience init(for types: ManagedObject.Type..., at url: URL) async throws {
    try await self.init(types, PersistentStoreDescription(url: url))
  }

  /// The same with a store as `description` says: `.inMemory` for one that is gone with the container.
  /// - Throws: `ModelError` with a sentence for each mistake in the declarations, naming class, property and file; what `loadPersistentStores()` throws.
  public convenience init(for types: ManagedObject.Type..., at description: PersistentStoreDescription)
    async throws
  {
    try await self.init(types, description)
  }

  private convenience init(_ types: [ManagedObject.Type], _ description: PersistentStoreDescription)
    async throws
  {
    self.init(name: types.first.map { "\($0)" } ?? "Store", model: try ManagedObjectModel.shared(for: types))
    persistentStoreDescriptions = [description]
    try await loadPersistentStores()
  }

  /// The model.
  public var managedObjectModel: ManagedObjectModel { persistentStoreCoordinator.managedObjectModel }

  /// The stores `loadPersistentStores` opens. Set it before.
  public var persistentStoreDescriptions: [PersistentStoreDescription] {
    get { descriptions.withLock { $0 } }
    set { descriptions.withLock { $0 = newValue } }
  }

  /// Where stores go by default: Application Support on Apple systems, otherwise `$XDG_DATA_HOME` or `~/.local/share`, in a
  /// folder named after the program. The folder is made when a store is loaded into it.
  public static func defaultDirectoryURL() -> URL {
    #if canImport(Darwin)
      return URL.applicationSupportDirectory
    #else
      let environment = ProcessInfo.processInfo.environment
      let base =
        environment["XDG_DATA_HOME"].flatMap { $0.hasPrefix("/") ? URL(fileURLWithPath: $0) : nil }
        ?? FileManager.default.homeDirectoryForCurrentUser.appendingPathComponent(".local/share")
      return base.appendingPathComponent(ProcessInfo.processInfo.processName)
    #endif
  }

  // MARK: Opening

  /// Opens every described store and calls `completion` once for each, with the error if it could not be opened; at once,
  /// on the calling thread, unless the description says `shouldAddStoreAsynchronously` (rule 327).
  public func loadPersistentStores(
    completionHandler completion: @escaping @Sendable (PersistentStoreDescription, (any Error)?) -> Void
  ) {
    for description in persistentStoreDescriptions {
      if description.shouldAddStoreAsynchronously {
        Errand.hand(to: .global(qos: .userInitiated), isCounted: false) {
          completion(description, self.load(description))
        }
      } else {
        completion(description, load(description))
      }
    }
  }

  /// Opens every described store, off the calling task's thread.
  /// - Throws: the first error: see `PersistentStoreCoordinator.addPersistentStore`. Stores opened before it stay open.
  public func loadPersistentStores() async throws {
    for description in persistentStoreDescriptions {
      let answer = ErrandAnswer<(any Error)?>()
      await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
        Errand.hand(to: .global(qos: .userInitiated), isCounted: false) {
          answer.give(self.load(description))
        } then: {
          continuation.resume()
        }
      }
      if let error = answer.take() { throw error }
    }
  }

  private func load(_ description: PersistentStoreDescription) -> (any Error)? {
    do {
      if let directory = description.url?.deletingLastPathComponent(),
        directory.path == Self.defaultDirectoryURL().path
      {
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
      }
      try persistentStoreCoordinator.addPersistentStore(description)
      return nil
    } catch {
      return error
    }
  }

  /// Closes all stores, for good: what another process, or a container with another version of the model, waits for, and what is to be done before a store's file is deleted
  /// or moved.
  ///
  ///     try container.close()
  ///
  /// A container that nobody holds any more closes its stores by itself; a context, a task or an observer may still hold it. Unsaved changes are lost, saves that are under way
  /// are finished first. Objects in contexts become inaccessible faults, and fetches and saves throw. `loadPersistentStores()` opens the stores again. May be called from any
  /// thread that is not reading one of the stores; it does not wait for queues of contexts.
  /// - Throws: `CoreDataError` 134070 when another thread has closed a store meanwhile; all others are closed.
  public func close() throws {
    var failure: (any Error)?
    for store in persistentStoreCoordinator.persistentStores {
      do { try persistentStoreCoordinator.remove(store) } catch { failure = failure ?? error }
    }
    if let failure { throw failure }
  }

  /// Makes every save durable that has returned, in all stores, also where ``Durability/relaxed`` or ``Durability/none`` has not flushed it.
  ///
  /// May be called from any thread; waits for no save.
  /// - Throws: ``StorageError`` as ``LMDBStore/flush()`` throws it.
  public func flush() throws { try persistentStoreCoordinator.flush() }

  /// Makes the files of all stores as short as what is in them, while they are used; those that have no file of this library are left out.
  ///
  /// See `compact(_:progress:)` of ``PersistentStoreCoordinator``, which is called for one store after the other.
  /// - Parameter progress: Called between the transactions, on no thread in particular.
  /// - Throws: `StorageError`, `CancellationError` as that does; the stores before are compacted then.
  @discardableResult
  public func compact(
    progress: (@Sendable (CompactionReport) -> Void)? = nil
  ) async throws -> [CompactionReport] {
    let coordinator = persistentStoreCoordinator
    var reports: [CompactionReport] = []
    for store in coordinator.persistentStores where coordinator.canCompact(store) {
      reports.append(try await coordinator.compact(store, progress: progress))
    }
    return reports
  }

  // MARK: Contexts

  /// The main-queue context, made at first use, bound to the coordinator (rule 328). Use it on the main actor.
  public var viewContext: ManagedObjectContext {
    view.withLock { context in
      if let context { return context }
      let new = ManagedObjectContext(.mainQueue, coordinator: persistentStoreCoordinator)
      new.name = "view"
      context = new
      return new
    }
  }

  /// A new private-queue context on the coordinator. Does not merge others' saves by default (rule 185).
  public func newBackgroundContext() -> ManagedObjectContext {
    ManagedObjectContext(.privateQueue, coordinator: persistentStoreCoordinator)
  }

  /// Runs `block` with a fresh background context on that context's queue; returns at once.
  public func performBackgroundTask(_ block: @escaping @Sendable (ManagedObjectContext) -> Void) {
    let context = newBackgroundContext()
    context.perform { block(context) }
  }

  /// Runs `block` with a fresh background context on that context's queue and returns its value.
  /// - Throws: what `block` throws.
  public func performBackgroundTask<T: Sendable>(
    _ block: @escaping @Sendable (ManagedObjectContext) throws -> T
  ) async throws -> T {
    let context = newBackgroundContext()
    return try await context.perform { try block(context) }
  }

  /// Runs `block` with a fresh background context on that context's queue, saves, and returns what `block` returned.
  ///
  ///     let count = try await container.background { context in
  ///       for row in rows { Book(context: context).title = row.title }
  ///       return rows.count
  ///     }
  ///
  /// When `block` or the save throws, everything that is not saved is rolled back and the error comes out. `block` runs inside the calling task: a long
  /// one asks `try Task.checkCancellation()`. A task that is cancelled before `block` begins, or before it has come back, saves nothing. What `block`
  /// itself saves stays saved. May be called from any task.
  ///
  /// - Parameters:
  ///   - mergePolicy: What becomes of conflicts and duplicates; the default fails with them.
  ///   - author: Whom a history names as the author of the save.
  ///   - block: What to do; its value must be `Sendable`, so that no managed object is carried out.
  /// - Throws: `CancellationError`; what `block` throws; what `ManagedObjectContext.save()` throws, `CoreDataError` 134070 while no store is loaded.
  @discardableResult
  public func background<T: Sendable>(
    mergePolicy: MergePolicy = .error, author: String? = nil,
    _ block: @escaping @Sendable (ManagedObjectContext) throws -> T
  ) async throws -> T {
    try Task.checkCancellation()
    let context = newBackgroundContext()
    context.name = "background"
    context.mergePolicy = mergePolicy
    context.transactionAuthor = author
    let result: T
    do {
      result = try await BackgroundWork(context).run(block)
    } catch {
      await context.settleQueue()
      throw error
    }
    // Whoever gives up the container now closes its stores.
    await context.settleQueue()
    return result
  }
}

/// Work on the queue of a context, inside the task that asks for it.
private actor BackgroundWork {
  private let context: ManagedObjectContext
  nonisolated var unownedExecutor: UnownedSerialExecutor { context.asUnownedSerialExecutor() }

  init(_ context: ManagedObjectContext) { self.context = context }

  func run<T: Sendable>(_ block: @Sendable (ManagedObjectContext) throws -> T) throws -> T {
    do {
      try context.requireStores()
      let result = try block(context)
      try Task.checkCancellation()
      if context.hasChanges { try context.save() }
      return result
    } catch {
      context.rollback()
      throw error
    }
  }
}
