//
//  BatchProcessor.swift
//  LedgerKit
//

import CoreData
import Foundation

/// Changes many records without making objects of them, and tells contexts about it.
public final class BatchProcessor {
  public enum Outcome: Equatable {
    case count(Int)
    case objects(Int)
    case status(Bool)
  }

  private let context: NSManagedObjectContext
  private let listeners: [NSManagedObjectContext]
  public private(set) var outcomes: [Outcome] = []

  public init(context: NSManagedObjectContext, listeners: [NSManagedObjectContext]) {
    self.context = context
    self.listeners = listeners
  }

  /// Sets values of all objects that match.
  @discardableResult
  public func update<Object: NSManagedObject>(
    _ type: Object.Type, where predicate: NSPredicate?, set values: [AnyHashable: Any]
  ) throws -> Int {
    let request = NSBatchUpdateRequest(entity: type.entity())
    request.predicate = predicate
    request.propertiesToUpdate = values
    request.resultType = .updatedObjectIDsResultType
    guard let result = try context.execute(request) as? NSBatchUpdateResult,
      let ids = result.result as? [NSManagedObjectID]
    else { return 0 }
    merge([NSUpdatedObjectsKey: ids])
    outcomes.append(.objects(ids.count))
    return ids.count
  }

  /// Adds an amount to a number of all objects that match.
  @discardableResult
  public func increment<Object: NSManagedObject>(
    _ type: Object.Type, _ key: String, by amount: Int, where predicate: NSPredicate? = nil
  ) throws -> Int {
    let request = NSBatchUpdateRequest(entityName: type.lk_entityName())
    request.predicate = predicate
    request.propertiesToUpdate = [
      key: NSExpression(
        forFunction: "add:to:",
        arguments: [NSExpression(forKeyPath: key), NSExpression(forConstantValue: amount)])
    ]
    request.resultType = .updatedObjectsCountResultType
    let result = try context.execute(request) as? NSBatchUpdateResult
    let count = result?.result as? Int ?? 0
    outcomes.append(.count(count))
    return count
  }

  /// Deletes all objects that match.
  @discardableResult
  public func delete<Object: NSManagedObject>(_ type: Object.Type, where predicate: NSPredicate?) throws -> Int {
    let fetch = NSFetchRequest<NSFetchRequestResult>(entityName: type.lk_entityName())
    fetch.predicate = predicate
    let request = NSBatchDeleteRequest(fetchRequest: fetch)
    request.resultType = .resultTypeObjectIDs
    guard let result = try context.execute(request) as? NSBatchDeleteResult,
      let ids = result.result as? [NSManagedObjectID]
    else { return 0 }
    merge([NSDeletedObjectsKey: ids])
    outcomes.append(.objects(ids.count))
    return ids.count
  }

  /// Records made by a handler, until it says that there are no more.
  @discardableResult
  public func insert<Object: NSManagedObject>(
    _ type: Object.Type, count: Int, fill: @escaping (Object, Int) -> Void
  ) throws -> Bool {
    var index = 0
    let request = NSBatchInsertRequest(
      entity: type.entity(),
      managedObjectHandler: { object in
        guard index < count else { return true }
        if let object = object as? Object {
          fill(object, index)
        }
        index += 1
        return false
      })
    request.resultType = .statusOnly
    let result = try context.execute(request) as? NSBatchInsertResult
    let isDone = result?.result as? Bool ?? false
    outcomes.append(.status(isDone))
    return isDone
  }

  private func merge(_ changes: [AnyHashable: Any]) {
    NSManagedObjectContext.mergeChanges(fromRemoteContextSave: changes, into: [context] + listeners)
  }

  /// What the requests are called in a log.
  public static func describe(_ request: NSPersistentStoreRequest) -> String {
    switch request {
    case let insert as NSBatchInsertRequest: return "insert \(insert.entityName)"
    case let update as NSBatchUpdateRequest: return "update \(update.entityName)"
    case let delete as NSBatchDeleteRequest: return "delete \(delete.fetchRequest.entityName ?? "?")"
    default: break
    }
    switch request.requestType {
    case .fetchRequestType: return "fetch"
    case .saveRequestType: return "save"
    default: return "other"
    }
  }
}
