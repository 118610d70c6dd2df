//
//  NSManagedObjectContext+Convenience.swift
//  LedgerKit
//

import CoreData
import Foundation

extension NSManagedObjectContext {
  public func saveIfNeeded() throws {
    guard hasChanges else { return }
    try save()
  }

  @discardableResult
  public func saveOrRollback() -> Bool {
    do {
      try save()
      return true
    } catch {
      rollback()
      return false
    }
  }

  /// Saves this context and those above it.
  public func saveToStore() throws {
    try saveIfNeeded()
    guard let parent = parent else { return }
    var failure: Error?
    parent.performAndWait {
      do {
        try parent.saveToStore()
      } catch {
        failure = error
      }
    }
    if let failure = failure { throw failure }
  }

  public func performChanges(_ block: @escaping () -> Void) {
    perform {
      block()
      _ = self.saveOrRollback()
    }
  }

  public func makeChild(
    ofType type: NSManagedObjectContextConcurrencyType = .privateQueueConcurrencyType
  ) -> NSManagedObjectContext {
    let context = NSManagedObjectContext(concurrencyType: type)
    context.parent = self
    return context
  }

  public func objects<T: NSManagedObject>(with ids: [NSManagedObjectID], as type: T.Type) throws -> [T] {
    return try ids.compactMap { try existingObject(with: $0) as? T }
  }

  /// Deletes by a batch, and tells the contexts.
  @discardableResult
  public func batchDelete<T: NSManagedObject>(
    _ type: T.Type, matching predicate: NSPredicate? = nil, mergingInto contexts: [NSManagedObjectContext] = []
  ) throws -> Int {
    let fetch = T.fetchRequest() as! NSFetchRequest<NSFetchRequestResult>
    fetch.predicate = predicate
    let request = NSBatchDeleteRequest(fetchRequest: fetch)
    request.resultType = .resultTypeObjectIDs
    let result = try execute(request) as? NSBatchDeleteResult
    let ids = result?.result as? [NSManagedObjectID] ?? []
    let changes: [AnyHashable: Any] = [NSDeletedObjectsKey: ids]
    NSManagedObjectContext.mergeChanges(fromRemoteContextSave: changes, into: [self] + contexts)
    return ids.count
  }

  /// Sets values of many records by a batch, and tells the contexts.
  @discardableResult
  public func batchUpdate(
    entity: String, set values: [AnyHashable: Any], matching predicate: NSPredicate? = nil,
    mergingInto contexts: [NSManagedObjectContext] = []
  ) throws -> Int {
    let request = NSBatchUpdateRequest(entityName: entity)
    request.propertiesToUpdate = values
    request.predicate = predicate
    request.resultType = .updatedObjectIDsResultType
    guard let result = try execute(request) as? NSBatchUpdateResult, let ids = result.result as? [NSManagedObjectID]
    else { return 0 }
    NSManagedObjectContext.mergeChanges(
      fromRemoteContextSave: [NSUpdatedObjectsKey: ids], into: [self] + contexts)
    return ids.count
  }

  /// What kind of queue the context has, for messages.
  public var kindDescription: String {
    switch concurrencyType {
    case .privateQueueConcurrencyType: return "private"
    case .mainQueueConcurrencyType: return "main"
    case .confinementConcurrencyType: return "confinement"
    @unknown default: return "unknown"
    }
  }
}

extension NSPersistentStoreCoordinator {
  public var storeURLs: [URL] { return persistentStores.compactMap { $0.url } }
}

extension NSEntityDescription {
  public func attribute(named name: String) -> NSAttributeDescription? {
    return attributesByName[name]
  }

  /// The keys of all relationships whose objects go with the object.
  public var cascadingKeys: [String] {
    return relationshipsByName.values.filter { relationship in
      switch relationship.deleteRule {
      case .cascadeDeleteRule: return true
      case .nullifyDeleteRule, .denyDeleteRule, .noActionDeleteRule: return false
      @unknown default: return false
      }
    }.map { $0.name }.sorted()
  }
}
