//
//  ManagedEntity.swift
//  LedgerKit
//

import CoreData
import Foundation

/// A class of managed objects that knows its entity and its usual order.
public protocol ManagedEntity: NSFetchRequestResult {
  static var entityName: String { get }
  static var defaultSortDescriptors: [NSSortDescriptor] { get }
  static var defaultPredicate: NSPredicate? { get }
}

extension ManagedEntity {
  public static var defaultSortDescriptors: [NSSortDescriptor] { return [] }
  public static var defaultPredicate: NSPredicate? { return nil }

  public static var sortedFetchRequest: NSFetchRequest<Self> {
    let request = NSFetchRequest<Self>(entityName: entityName)
    request.sortDescriptors = defaultSortDescriptors
    request.predicate = defaultPredicate
    return request
  }

  public static func sortedFetchRequest(with predicate: NSPredicate) -> NSFetchRequest<Self> {
    let request = sortedFetchRequest
    if let existing = request.predicate {
      request.predicate = NSCompoundPredicate(andPredicateWithSubpredicates: [existing, predicate])
    } else {
      request.predicate = predicate
    }
    return request
  }
}

extension ManagedEntity where Self: NSManagedObject {
  public static var entityName: String { return String(describing: self) }

  @discardableResult
  public static func insert(into context: NSManagedObjectContext, configure: (Self) -> Void = { _ in }) -> Self {
    let object = Self(context: context)
    configure(object)
    return object
  }

  public static func findOrCreate(
    in context: NSManagedObjectContext, matching predicate: NSPredicate, configure: (Self) -> Void
  ) throws -> Self {
    guard let object = try findOrFetch(in: context, matching: predicate) else {
      let new = Self(entity: NSEntityDescription.entity(forEntityName: entityName, in: context)!, insertInto: context)
      configure(new)
      return new
    }
    return object
  }

  public static func findOrFetch(in context: NSManagedObjectContext, matching predicate: NSPredicate) throws -> Self? {
    if let object = materialized(in: context, matching: predicate) {
      return object
    }
    return try fetch(in: context) { request in
      request.predicate = predicate
      request.returnsObjectsAsFaults = false
      request.fetchLimit = 1
    }.first
  }

  public static func fetch(
    in context: NSManagedObjectContext, configuration: (NSFetchRequest<Self>) -> Void = { _ in }
  ) throws -> [Self] {
    let request = NSFetchRequest<Self>(entityName: entityName)
    configuration(request)
    return try context.fetch(request)
  }

  public static func count(
    in context: NSManagedObjectContext, configuration: (NSFetchRequest<Self>) -> Void = { _ in }
  ) throws -> Int {
    let request = NSFetchRequest<Self>(entityName: entityName)
    configuration(request)
    return try context.count(for: request)
  }

  /// An object that is in memory anyway.
  public static func materialized(in context: NSManagedObjectContext, matching predicate: NSPredicate) -> Self? {
    for object in context.registeredObjects where !object.isFault && !object.isDeleted {
      guard let result = object as? Self, predicate.evaluate(with: result) else { continue }
      return result
    }
    return nil
  }

  /// The same object in another context.
  public func inContext(_ context: NSManagedObjectContext) throws -> Self? {
    if objectID.isTemporaryID {
      try managedObjectContext?.obtainPermanentIDs(for: [self])
    }
    return try context.existingObject(with: objectID) as? Self
  }
}

extension Account: ManagedEntity {
  public static var defaultSortDescriptors: [NSSortDescriptor] {
    return [
      NSSortDescriptor(key: #keyPath(Account.kindValue), ascending: true),
      NSSortDescriptor(key: #keyPath(Account.name), ascending: true),
    ]
  }
}

extension Entry: ManagedEntity {
  public static var defaultSortDescriptors: [NSSortDescriptor] {
    return [NSSortDescriptor(keyPath: \Entry.bookedAt, ascending: false)]
  }
}

extension Person: ManagedEntity {
  public static var defaultSortDescriptors: [NSSortDescriptor] {
    return [NSSortDescriptor(key: "familyName", ascending: true, selector: #selector(NSString.caseInsensitiveCompare(_:)))]
  }
}

extension Tag: ManagedEntity {
  public static var defaultSortDescriptors: [NSSortDescriptor] {
    return [NSSortDescriptor(key: #keyPath(Tag.name), ascending: true)]
  }
}

extension Attachment: ManagedEntity {}
