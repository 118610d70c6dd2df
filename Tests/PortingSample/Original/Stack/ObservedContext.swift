//
//  ObservedContext.swift
//  LedgerKit
//

import CoreData
import Foundation

/// What is told of a save.
public struct SaveSummary: Equatable, Sendable {
  public var inserted = 0
  public var updated = 0
  public var deleted = 0

  public init(inserted: Int = 0, updated: Int = 0, deleted: Int = 0) {
    self.inserted = inserted
    self.updated = updated
    self.deleted = deleted
  }

  public var isEmpty: Bool { return inserted + updated + deleted == 0 }
}

/// Those who are told of saves.
public final class ContextObservers: @unchecked Sendable {
  public typealias Observer = (SaveSummary) -> Void
  private let lock = NSLock()
  private var observers: [UUID: Observer] = [:]

  public init() {}

  @discardableResult
  public func add(_ observer: @escaping Observer) -> UUID {
    let id = UUID()
    lock.lock()
    observers[id] = observer
    lock.unlock()
    return id
  }

  public func remove(_ id: UUID) {
    lock.lock()
    observers[id] = nil
    lock.unlock()
  }

  func tell(_ summary: SaveSummary) {
    lock.lock()
    let all = Array(observers.values)
    lock.unlock()
    for observer in all { observer(summary) }
  }
}

/// A context that tells of its saves, and can be locked against them.
open class ObservedContext: NSManagedObjectContext, @unchecked Sendable {
  public weak var observers: ContextObservers?
  public var isReadOnly = false
  public private(set) var inaccessible: [NSManagedObjectID] = []
  private let created = Date()

  public override init(concurrencyType ct: NSManagedObjectContextConcurrencyType) {
    super.init(concurrencyType: ct)
  }

  public required init?(coder aDecoder: NSCoder) {
    fatalError("init(coder:) has not been implemented")
  }

  open override func save() throws {
    if isReadOnly && hasChanges {
      throw CoreDataStackError.unsupported("Saving a read-only context")
    }
    let summary = SaveSummary(
      inserted: insertedObjects.count, updated: updatedObjects.count, deleted: deletedObjects.count)
    try super.save()
    if !summary.isEmpty {
      observers?.tell(summary)
    }
  }

  open override func shouldHandleInaccessibleFault(
    _ fault: NSManagedObject, for oid: NSManagedObjectID, triggeredByProperty property: NSPropertyDescription?
  ) -> Bool {
    inaccessible.append(oid)
    return super.shouldHandleInaccessibleFault(fault, for: oid, triggeredByProperty: property)
  }

  public var age: TimeInterval { return Date().timeIntervalSince(created) }
}
