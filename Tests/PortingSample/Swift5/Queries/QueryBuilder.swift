//
//  QueryBuilder.swift
//  LedgerKit
//

import CoreData
import Foundation

/// A condition that knows the class it is for.
public struct Condition<T: NSManagedObject> {
  public let predicate: NSPredicate

  public init(_ predicate: NSPredicate) {
    self.predicate = predicate
  }

  public init(format: String, _ arguments: Any...) {
    predicate = NSPredicate(format: format, argumentArray: arguments)
  }

  public static func && (left: Condition, right: Condition) -> Condition {
    return Condition(NSCompoundPredicate(type: .and, subpredicates: [left.predicate, right.predicate]))
  }

  public static func || (left: Condition, right: Condition) -> Condition {
    return Condition(NSCompoundPredicate(type: .or, subpredicates: [left.predicate, right.predicate]))
  }

  public static prefix func ! (condition: Condition) -> Condition {
    return Condition(NSCompoundPredicate(notPredicateWithSubpredicate: condition.predicate))
  }

  public static var all: Condition { return Condition(NSPredicate(value: true)) }
}

/// A key of a class, for building conditions.
public struct Key<T: NSManagedObject, Value> {
  public let path: String
  public init(_ path: String) { self.path = path }

  private func compare(
    _ type: NSComparisonPredicate.Operator, _ value: Any?, options: NSComparisonPredicate.Options = []
  ) -> Condition<T> {
    return Condition(
      NSComparisonPredicate(
        leftExpression: NSExpression(forKeyPath: path), rightExpression: NSExpression(forConstantValue: value),
        modifier: .direct, type: type, options: options))
  }

  public static func == (key: Key, value: Value) -> Condition<T> { return key.compare(.equalTo, value) }
  public static func != (key: Key, value: Value) -> Condition<T> { return key.compare(.notEqualTo, value) }
  public static func < (key: Key, value: Value) -> Condition<T> { return key.compare(.lessThan, value) }
  public static func > (key: Key, value: Value) -> Condition<T> { return key.compare(.greaterThan, value) }
  public static func <= (key: Key, value: Value) -> Condition<T> { return key.compare(.lessThanOrEqualTo, value) }
  public static func >= (key: Key, value: Value) -> Condition<T> { return key.compare(.greaterThanOrEqualTo, value) }

  public var isNil: Condition<T> { return Condition(NSPredicate(format: "%K == nil", path)) }

  public func isIn(_ values: [Value]) -> Condition<T> {
    return Condition(NSPredicate(format: "%K IN %@", path, values as NSArray))
  }

  public func between(_ low: Value, _ high: Value) -> Condition<T> {
    return Condition(NSPredicate(format: "%K BETWEEN %@", path, [low, high] as NSArray))
  }
}

extension Key where Value == String {
  public func contains(_ text: String) -> Condition<T> {
    return Condition(NSPredicate(format: "%K CONTAINS[cd] %@", path, text))
  }

  public func hasPrefix(_ text: String) -> Condition<T> {
    return Condition(NSPredicate(format: "%K BEGINSWITH[c] %@", path, text))
  }

  public func matches(_ pattern: String) -> Condition<T> {
    return Condition(NSPredicate(format: "%K MATCHES %@", path, pattern))
  }
}

/// A request that is put together step by step.
public struct Query<T: NSManagedObject> {
  private var condition: Condition<T>?
  private var sorting: [NSSortDescriptor] = []
  private var limit = 0
  private var offset = 0
  private var prefetched: [String] = []
  private let context: NSManagedObjectContext
  private let entityName: String

  public init(_ context: NSManagedObjectContext, entityName: String? = nil) {
    self.context = context
    self.entityName = entityName ?? T.lk_entityName()
  }

  public func filter(_ condition: Condition<T>) -> Query {
    var query = self
    if let existing = self.condition {
      query.condition = existing && condition
    } else {
      query.condition = condition
    }
    return query
  }

  public func filter(_ format: String, _ arguments: CVarArg...) -> Query {
    let predicate = withVaList(arguments) { NSPredicate(format: format, arguments: $0) }
    return filter(Condition(predicate))
  }

  public func sorted(by key: String, ascending: Bool = true) -> Query {
    var query = self
    query.sorting.append(NSSortDescriptor(key: key, ascending: ascending))
    return query
  }

  public func limited(to limit: Int, from offset: Int = 0) -> Query {
    var query = self
    query.limit = limit
    query.offset = offset
    return query
  }

  public func prefetching(_ keyPaths: String...) -> Query {
    var query = self
    query.prefetched += keyPaths
    return query
  }

  public var request: NSFetchRequest<T> {
    let request = NSFetchRequest<T>(entityName: entityName)
    request.predicate = condition?.predicate
    request.sortDescriptors = sorting.isEmpty ? nil : sorting
    request.fetchLimit = limit
    request.fetchOffset = offset
    request.relationshipKeyPathsForPrefetching = prefetched
    request.fetchBatchSize = 50
    return request
  }

  public func all() throws -> [T] { return try context.fetch(request) }

  public func first() throws -> T? {
    let request = self.request
    request.fetchLimit = 1
    return try context.fetch(request).first
  }

  public func count() throws -> Int { return try context.count(for: request) }

  public func objectIDs() throws -> [NSManagedObjectID] {
    let request = NSFetchRequest<NSManagedObjectID>(entityName: entityName)
    request.predicate = condition?.predicate
    request.sortDescriptors = sorting
    request.resultType = .managedObjectIDResultType
    return try context.fetch(request)
  }

  public func delete() throws -> Int {
    let objects = try all()
    objects.forEach { context.delete($0) }
    return objects.count
  }

  /// The subpredicates of the condition, for messages.
  public var parts: [String] {
    guard let compound = condition?.predicate as? NSCompoundPredicate else {
      return condition.map { [$0.predicate.description] } ?? []
    }
    return compound.subpredicates.map { "\($0)" }
  }
}

extension Account {
  public enum Keys {
    public static var name: Key<Account, String> { return Key("name") }
    public static var kind: Key<Account, Int16> { return Key("kindValue") }
    public static var isLocked: Key<Account, Bool> { return Key("isLocked") }
    public static var ownerName: Key<Account, String> { return Key("owner.familyName") }
  }
}

extension Entry {
  public enum Keys {
    public static var text: Key<Entry, String> { return Key("text") }
    public static var amount: Key<Entry, NSDecimalNumber> { return Key("amount") }
    public static var bookedAt: Key<Entry, Date> { return Key("bookedAt") }
    public static var flags: Key<Entry, Int64> { return Key("flags") }
  }

  /// Entries that have all the flags.
  public static func having(_ flags: Flags) -> Condition<Entry> {
    return Condition(format: "(flags & %d) == %d", flags.rawValue, flags.rawValue)
  }
}
