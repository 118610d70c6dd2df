//
//  ContextPublishers.swift
//  LedgerKit
//

import Combine
import CoreData
import Foundation

/// What a notification of a context says about the objects of one class.
public struct ObjectChanges<Object: NSManagedObject> {
  public var inserted: Set<Object> = []
  public var updated: Set<Object> = []
  public var deleted: Set<Object> = []

  public var isEmpty: Bool { return inserted.isEmpty && updated.isEmpty && deleted.isEmpty }

  init(_ notification: Notification) {
    inserted = ObjectChanges.objects(notification, NSInsertedObjectsKey)
    updated = ObjectChanges.objects(notification, NSUpdatedObjectsKey)
      .union(ObjectChanges.objects(notification, NSRefreshedObjectsKey))
    deleted = ObjectChanges.objects(notification, NSDeletedObjectsKey)
  }

  private static func objects(_ notification: Notification, _ key: String) -> Set<Object> {
    let objects = notification.userInfo?[key] as? Set<NSManagedObject> ?? []
    return Set(objects.compactMap { $0 as? Object })
  }
}

extension NSManagedObjectContext {
  /// Changes of the objects of a class, each time that the context tells of any.
  public func changes<Object: NSManagedObject>(of type: Object.Type) -> AnyPublisher<ObjectChanges<Object>, Never> {
    return NotificationCenter.default
      .publisher(for: .NSManagedObjectContextObjectsDidChange, object: self)
      .map { ObjectChanges<Object>($0) }
      .filter { !$0.isEmpty }
      .eraseToAnyPublisher()
  }

  /// How many objects each save of the context has written.
  public var saves: AnyPublisher<SaveSummary, Never> {
    return NotificationCenter.default
      .publisher(for: .NSManagedObjectContextDidSave, object: self)
      .compactMap { ContextDidSaveNotification($0) }
      .map { note in
        SaveSummary(
          inserted: Array(note.insertedObjects).count, updated: Array(note.updatedObjects).count,
          deleted: Array(note.deletedObjects).count)
      }
      .eraseToAnyPublisher()
  }

  /// The result of a block that runs when somebody subscribes.
  public func performPublisher<Output>(_ block: @escaping (NSManagedObjectContext) throws -> Output)
    -> AnyPublisher<Output, Error>
  {
    return Deferred {
      Future<Output, Error> { promise in
        do {
          let output = try self.performAndWait { try block(self) }
          promise(.success(output))
        } catch {
          promise(.failure(error))
        }
      }
    }
    .eraseToAnyPublisher()
  }

  /// Saves when somebody subscribes; a rollback when that fails.
  public func savePublisher() -> AnyPublisher<Bool, NSError> {
    return performPublisher { context -> Bool in
      guard context.hasChanges else { return false }
      do {
        try context.save()
      } catch {
        context.rollback()
        throw error
      }
      return true
    }
    .mapError { $0 as NSError }
    .eraseToAnyPublisher()
  }
}

extension CoreDataStack {
  /// The loading of the store, as an event.
  public func loadPublisher() -> AnyPublisher<Void, NSError> {
    return Deferred {
      Future<Void, NSError> { promise in
        do {
          try self.load()
          promise(.success(()))
        } catch let error as NSError {
          promise(.failure(error))
        }
      }
    }
    .eraseToAnyPublisher()
  }

  /// Stores that come and go.
  public var storeChanges: AnyPublisher<Int, Never> {
    return NotificationCenter.default
      .publisher(
        for: .NSPersistentStoreCoordinatorStoresDidChange, object: container.persistentStoreCoordinator
      )
      .compactMap { ($0.object as? NSPersistentStoreCoordinator)?.persistentStores.count }
      .prepend(container.persistentStoreCoordinator.persistentStores.count)
      .removeDuplicates()
      .eraseToAnyPublisher()
  }
}

/// Merges what other contexts save into one context, until it is cancelled.
public final class SaveMerger {
  private var subscriptions = Set<AnyCancellable>()
  public private(set) var mergedSaves = 0

  public init(from sources: [NSManagedObjectContext], into target: NSManagedObjectContext) {
    let center = NotificationCenter.default
    for source in sources {
      center.publisher(for: .NSManagedObjectContextDidSave, object: source)
        .sink { [weak self] notification in
          target.performAndWait {
            target.mergeChanges(fromContextDidSave: notification)
          }
          self?.mergedSaves += 1
        }
        .store(in: &subscriptions)
    }
  }

  public func stop() {
    subscriptions.forEach { $0.cancel() }
    subscriptions.removeAll()
  }
}
