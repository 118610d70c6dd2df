//
//  NSManagedObject+Finders.swift
//  LedgerKit
//

import CoreData
import Foundation

/// Finders for every class of managed objects.
extension NSManagedObject {
  public class func lk_entityName() -> String {
    return NSStringFromClass(self).components(separatedBy: ".").last ?? ""
  }

  public static func lk_create(in context: NSManagedObjectContext) -> Self {
    return self.init(context: context)
  }

  public class func lk_request<T: NSManagedObject>(
    _ type: T.Type, predicate: NSPredicate? = nil, sortedBy keys: String? = nil, ascending: Bool = true
  ) -> NSFetchRequest<T> {
    let request = NSFetchRequest<T>(entityName: type.lk_entityName())
    request.predicate = predicate
    if let keys = keys {
      request.sortDescriptors = keys.split(separator: ",").map { key in
        NSSortDescriptor(key: key.trimmingCharacters(in: .whitespaces), ascending: ascending)
      }
    }
    return request
  }

  public static func lk_findAll<T: NSManagedObject>(
    _ type: T.Type, sortedBy keys: String? = nil, ascending: Bool = true, matching predicate: NSPredicate? = nil,
    in context: NSManagedObjectContext
  ) throws -> [T] {
    return try context.fetch(lk_request(type, predicate: predicate, sortedBy: keys, ascending: ascending))
  }

  public static func lk_findFirst<T: NSManagedObject>(
    _ type: T.Type, by attribute: String, withValue value: CVarArg, in context: NSManagedObjectContext
  ) throws -> T? {
    let request = lk_request(type, predicate: NSPredicate(format: "%K == %@", attribute, value))
    request.fetchLimit = 1
    return try context.fetch(request).first
  }

  public static func lk_count<T: NSManagedObject>(
    _ type: T.Type, matching predicate: NSPredicate? = nil, in context: NSManagedObjectContext
  ) throws -> Int {
    return try context.count(for: lk_request(type, predicate: predicate))
  }

  /// A value over all objects: `sum:`, `max:` and so on.
  public static func lk_aggregate(
    _ function: String, of attribute: String, entity: String, matching predicate: NSPredicate? = nil,
    in context: NSManagedObjectContext
  ) throws -> NSNumber? {
    let expression = NSExpression(forFunction: function, arguments: [NSExpression(forKeyPath: attribute)])
    let description = NSExpressionDescription()
    description.name = "result"
    description.expression = expression
    description.expressionResultType = .doubleAttributeType
    let request = NSFetchRequest<NSDictionary>(entityName: entity)
    request.resultType = .dictionaryResultType
    request.predicate = predicate
    request.propertiesToFetch = [description]
    let results = try context.fetch(request)
    return results.first?["result"] as? NSNumber
  }

  /// Values of one attribute, each once.
  public static func lk_distinctValues(
    of attribute: String, entity: String, in context: NSManagedObjectContext
  ) throws -> [String] {
    let request = NSFetchRequest<NSDictionary>(entityName: entity)
    request.resultType = .dictionaryResultType
    request.returnsDistinctResults = true
    request.propertiesToFetch = [attribute]
    request.sortDescriptors = [NSSortDescriptor(key: attribute, ascending: true)]
    return try context.fetch(request).compactMap { $0[attribute] as? String }
  }

  /// How many objects each value of an attribute has.
  public static func lk_counts(
    by attribute: String, entity name: String, in context: NSManagedObjectContext
  ) throws -> [String: Int] {
    guard let entity = NSEntityDescription.entity(forEntityName: name, in: context),
      let property = entity.attributesByName[attribute]
    else { return [:] }
    let count = NSExpressionDescription()
    count.name = "count"
    count.expression = NSExpression(forFunction: "count:", arguments: [NSExpression(forKeyPath: attribute)])
    count.expressionResultType = .integer64AttributeType
    let request = NSFetchRequest<NSFetchRequestResult>()
    request.entity = entity
    request.resultType = .dictionaryResultType
    request.propertiesToGroupBy = [property]
    request.propertiesToFetch = [property, count]
    var counts: [String: Int] = [:]
    for case let row as NSDictionary in try context.fetch(request) {
      guard let value = row[attribute] else { continue }
      counts["\(value)"] = (row["count"] as? NSNumber)?.intValue ?? 0
    }
    return counts
  }

  public static func lk_truncate(entity: String, in context: NSManagedObjectContext) throws {
    let request = NSFetchRequest<NSManagedObject>(entityName: entity)
    request.includesPropertyValues = false
    request.includesSubentities = true
    for object in try context.fetch(request) {
      context.delete(object)
    }
  }

  public func lk_delete() {
    managedObjectContext?.delete(self)
  }

  public func lk_refresh(merging: Bool = true) {
    managedObjectContext?.refresh(self, mergeChanges: merging)
  }

  /// What has changed since the object was read or saved.
  public var lk_changes: [String: (old: Any?, new: Any?)] {
    let keys = Array(changedValues().keys)
    let old = committedValues(forKeys: keys)
    var result: [String: (old: Any?, new: Any?)] = [:]
    for key in keys {
      result[key] = (old[key], value(forKey: key))
    }
    return result
  }
}
