//
//  ObjectObserver.swift
//  LedgerKit
//

import CoreData
import Foundation

/// Watches one object by the notifications of its context.
public final class ObjectObserver: NSObject {
  public enum ChangeType: Equatable {
    case update
    case refresh
    case delete
  }

  private let objectID: NSManagedObjectID
  private let handler: (ChangeType) -> Void
  private weak var context: NSManagedObjectContext?

  public init?(object: NSManagedObject, handler: @escaping (ChangeType) -> Void) {
    guard let context = object.managedObjectContext else { return nil }
    objectID = object.objectID
    self.handler = handler
    self.context = context
    super.init()
    NotificationCenter.default.addObserver(
      self, name: .NSManagedObjectContextObjectsDidChange,
      object: context) { $0.objectsDidChange(notification: $1) }
  }

  deinit {
    NotificationCenter.default.removeObserver(
      self, name: .NSManagedObjectContextObjectsDidChange, object: context)
  }

  func objectsDidChange(notification: Notification) {
    guard let type = changeType(in: notification) else { return }
    handler(type)
  }

  private func changeType(in notification: Notification) -> ChangeType? {
    func contains(_ key: String) -> Bool {
      let objects = notification.userInfo?[key] as? Set<NSManagedObject> ?? []
      return objects.contains { $0.objectID == objectID }
    }
    if notification.userInfo?[NSInvalidatedAllObjectsKey] != nil || contains(NSDeletedObjectsKey) {
      return .delete
    }
    if contains(NSUpdatedObjectsKey) { return .update }
    if contains(NSRefreshedObjectsKey) { return .refresh }
    return nil
  }
}

/// What a did-save notification is about, without user infos.
public struct ContextDidSaveNotification {
  private let notification: Notification

  public init?(_ notification: Notification) {
    guard notification.name == .NSManagedObjectContextDidSave else { return nil }
    self.notification = notification
  }

  public var managedObjectContext: NSManagedObjectContext? {
    return notification.object as? NSManagedObjectContext
  }

  public var insertedObjects: AnyIterator<NSManagedObject> { return iterator(for: NSInsertedObjectsKey) }
  public var updatedObjects: AnyIterator<NSManagedObject> { return iterator(for: NSUpdatedObjectsKey) }
  public var deletedObjects: AnyIterator<NSManagedObject> { return iterator(for: NSDeletedObjectsKey) }

  private func iterator(for key: String) -> AnyIterator<NSManagedObject> {
    guard let set = notification.userInfo?[key] as? NSSet else {
      return AnyIterator { nil }
    }
    return AnyIterator(set.compactMap { $0 as? NSManagedObject }.makeIterator())
  }

  public var historyToken: NSPersistentHistoryToken? {
    return notification.userInfo?["newQueryGeneration"] as? NSPersistentHistoryToken
  }
}

extension ContextDidSaveNotification: CustomDebugStringConvertible {
  public var debugDescription: String {
    var components = [notification.name.rawValue]
    for (name, objects) in [
      ("inserted", insertedObjects), ("updated", updatedObjects), ("deleted", deletedObjects),
    ] {
      components.append("\(name): {\(objects.map { $0.objectID.uriRepresentation().lastPathComponent }.sorted().joined(separator: ", "))}")
    }
    return components.joined(separator: " ")
  }
}
