//
//  CoreDataStack.swift
//  LedgerKit
//

import CoreData
import Foundation
#if canImport(os)
import os.log
#endif

/// How the stack keeps its data.
public enum StoreKind: Equatable {
  case sqlite(URL)
  case inMemory

  var storeType: String {
    switch self {
    case .sqlite: return NSSQLiteStoreType
    case .inMemory: return NSInMemoryStoreType
    }
  }

  var url: URL? {
    switch self {
    case .sqlite(let url): return url
    case .inMemory: return nil
    }
  }
}

public enum CoreDataStackError: Error, LocalizedError {
  case modelNotFound(String)
  case storeNotLoaded
  case unsupported(String)

  public var errorDescription: String? {
    switch self {
    case .modelNotFound(let name): return "There is no model named \(name)."
    case .storeNotLoaded: return "The store is not loaded."
    case .unsupported(let what): return "\(what) is not supported."
    }
  }
}

/// A container that hands out contexts of the library's own class.
open class LedgerContainer: NSPersistentContainer, @unchecked Sendable {
  public let observers = ContextObservers()

  open override func newBackgroundContext() -> NSManagedObjectContext {
    let context = ObservedContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = persistentStoreCoordinator
    context.observers = observers
    return context
  }

  open override class func defaultDirectoryURL() -> URL {
    return FileManager.default.temporaryDirectory.appendingPathComponent("LedgerKit", isDirectory: true)
  }
}

/// The stack: a container, its view context and what keeps the two in step with others.
public class CoreDataStack: NSObject, @unchecked Sendable {
  public let container: LedgerContainer
  public let kind: StoreKind
  private let lock = NSLock()
  private var loaded = false
  private var _savedNotifications = 0
  private var _loadError: NSError?

  /// The model among the resources, by the name of what Xcode compiles.
  public static func model(named name: String, in bundle: Bundle) throws -> NSManagedObjectModel {
    guard let url = bundle.url(forResource: name, withExtension: "momd"),
      let model = NSManagedObjectModel(contentsOf: url)
    else {
      throw CoreDataStackError.modelNotFound(name)
    }
    return model
  }

  public init(name: String, model: NSManagedObjectModel, kind: StoreKind) {
    self.kind = kind
    container = LedgerContainer(name: name, managedObjectModel: model)
    super.init()
    let description = NSPersistentStoreDescription()
    description.type = kind.storeType
    description.url = kind.url
    description.shouldMigrateStoreAutomatically = true
    description.shouldInferMappingModelAutomatically = true
    description.setOption(true as NSNumber, forKey: NSPersistentHistoryTrackingKey)
    description.setOption(true as NSNumber, forKey: NSPersistentStoreRemoteChangeNotificationPostOptionKey)
    container.persistentStoreDescriptions = [description]
  }

  deinit {
    NotificationCenter.default.removeObserver(self)
  }

  /// Loads the store, and follows what is saved.
  public func load() throws {
    var failure: Error?
    container.loadPersistentStores { _, error in
      if let error = error as NSError? {
        failure = error
      }
    }
    if let failure = failure {
      lock.lock()
      _loadError = failure as NSError
      lock.unlock()
      throw failure
    }
    lock.lock()
    loaded = true
    lock.unlock()
    configure(container.viewContext)
    NotificationCenter.default.addObserver(
      self,
      name: .NSManagedObjectContextDidSave,
      object: nil) { $0.contextDidSave($1) }
    NotificationCenter.default.addObserver(self, name: .NSPersistentStoreCoordinatorStoresDidChange, object: container.persistentStoreCoordinator) { observer, _ in observer.storesDidChange() }
  }

  private func configure(_ context: NSManagedObjectContext) {
    context.automaticallyMergesChangesFromParent = true
    context.mergePolicy = NSMergeByPropertyObjectTrumpMergePolicy
    context.name = "view"
    context.transactionAuthor = "app"
    context.undoManager = nil
    context.shouldDeleteInaccessibleFaults = true
  }

  public var isLoaded: Bool {
    lock.lock()
    defer { lock.unlock() }
    return loaded
  }

  public var loadError: NSError? {
    lock.lock()
    defer { lock.unlock() }
    return _loadError
  }

  /// How many saves of this stack's contexts were seen.
  public var savedNotifications: Int {
    lock.lock()
    defer { lock.unlock() }
    return _savedNotifications
  }

  private func contextDidSave(_ notification: Notification) {
    guard let context = notification.object as? NSManagedObjectContext,
      context.persistentStoreCoordinator === container.persistentStoreCoordinator
    else { return }
    lock.lock()
    _savedNotifications += 1
    lock.unlock()
  }

  private func storesDidChange() {
    lock.lock()
    loaded = !container.persistentStoreCoordinator.persistentStores.isEmpty
    lock.unlock()
  }

  // MARK: Contexts

  public var viewContext: NSManagedObjectContext { return container.viewContext }

  public func makeBackgroundContext(author: String = "background") -> NSManagedObjectContext {
    let context = container.newBackgroundContext()
    context.mergePolicy = NSMergePolicy(merge: .mergeByPropertyObjectTrumpMergePolicyType)
    context.transactionAuthor = author
    context.undoManager = nil
    return context
  }

  public func makeScratchpad() -> ObservedContext {
    let context = ObservedContext(concurrencyType: .privateQueueConcurrencyType)
    context.parent = container.viewContext
    context.observers = container.observers
    return context
  }

  /// Runs a block with a fresh context, and saves what it has changed.
  public func performInBackground<T>(_ block: @escaping @Sendable (NSManagedObjectContext) throws -> T) async throws -> T {
    let context = makeBackgroundContext()
    return try await context.perform {
      let result = try block(context)
      if context.hasChanges {
        try context.save()
      }
      return result
    }
  }

  /// The same, and returns at once.
  public func performInBackground(
    _ block: @escaping @Sendable (NSManagedObjectContext) throws -> Void, completion: @escaping @Sendable (Result<Void, Error>) -> Void
  ) {
    container.performBackgroundTask { context in
      do {
        try block(context)
        try context.saveIfNeeded()
        completion(.success(()))
      } catch {
        context.rollback()
        completion(.failure(error))
      }
    }
  }

  // MARK: Stores

  public func destroy() throws {
    guard isLoaded else { throw CoreDataStackError.storeNotLoaded }
    let coordinator = container.persistentStoreCoordinator
    for store in coordinator.persistentStores {
      let url = store.url
      let type = store.type
      try coordinator.remove(store)
      if let url = url, type == NSSQLiteStoreType {
        try coordinator.destroyPersistentStore(at: url, ofType: type, options: nil)
      }
    }
  }

  public func setMetadata(_ value: Any, forKey key: String) throws {
    guard let store = container.persistentStoreCoordinator.persistentStores.first else {
      throw CoreDataStackError.storeNotLoaded
    }
    var metadata = container.persistentStoreCoordinator.metadata(for: store)
    metadata[key] = value
    container.persistentStoreCoordinator.setMetadata(metadata, for: store)
  }

  public func metadata(forKey key: String) -> Any? {
    guard let store = container.persistentStoreCoordinator.persistentStores.first else { return nil }
    return container.persistentStoreCoordinator.metadata(for: store)[key]
  }
}
