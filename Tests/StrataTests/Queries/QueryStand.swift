import Foundation
import Strata
import TortureKit

/// A few places, agents and visits to ask about; the model is that of the random queries.
///
///     Place   "JFK" Kennedy, "LGA" LaGuardia, "EWR" Newark
///     Agent   ann at JFK, bob at LGA (boss ann), cid at LGA (boss ann), dan nowhere (boss bob)
///     Visit   scores 1, 5, 9 of ann at JFK; 5 of bob at LGA; 2 of cid without a place
struct QueryStand {
  let store: TemporaryStore
  let context: ManagedObjectContext

  init(isIndexed: Bool = true, padding: Int = 0) throws {
    let store = try TemporaryStore(QueryModel.make(isIndexed: isIndexed)) { $0.durability = .none }
    let writer = store.context()
    func make(_ entity: String, _ values: [String: Any]) throws -> ManagedObject {
      guard let description = store.coordinator.managedObjectModel.entitiesByName[entity] else {
        throw Missing()
      }
      let object = ManagedObject(entity: description, insertInto: writer)
      for (key, value) in values { object.setValue(value, forKey: key) }
      return object
    }
    let kennedy = try make("Place", ["code": "JFK", "name": "Kennedy", "size": 4])
    let guardia = try make("Place", ["code": "LGA", "name": "LaGuardia", "size": 2])
    _ = try make("Place", ["code": "EWR", "name": "Newark", "size": 3])
    let ann = try make("Agent", ["name": "ann", "base": kennedy, "medium": 1, "long": 10])
    let bob = try make("Agent", ["name": "bob", "base": guardia, "boss": ann, "medium": 2, "long": 20])
    let cid = try make("Pilot", ["name": "cid", "base": guardia, "boss": ann, "medium": 3, "long": 30])
    _ = try make("Agent", ["name": "dan", "boss": bob, "medium": 4, "long": 40])
    for score in [1, 5, 9] {
      _ = try make("Visit", ["score": score, "agent": ann, "place": kennedy, "note": "v\(score)"])
    }
    _ = try make("Visit", ["score": 5, "agent": bob, "place": guardia, "note": "v5"])
    _ = try make("Visit", ["score": 2, "agent": cid, "note": "v2"])
    for number in 0..<padding {
      _ = try make("Visit", ["score": 100 + number % 50, "note": "padding"])
      _ = try make("Agent", ["name": "padding", "medium": 1_000 + number])
    }
    try writer.save()
    self.store = store
    context = store.context()
  }

  struct Missing: Error {}

  /// The names of the agents that match, ascending.
  func agents(_ predicate: FetchPredicate, _ context: ManagedObjectContext? = nil) throws -> [String] {
    try names("Agent", "name", predicate, context)
  }

  func names(
    _ entity: String, _ key: String, _ predicate: FetchPredicate, _ context: ManagedObjectContext? = nil
  )
    throws -> [String]
  {
    let context = context ?? self.context
    let request = FetchRequest<ManagedObject>(entityName: entity, predicate: predicate)
    let found = try context.fetch(request).map { $0.value(forKey: key) as? String ?? "nil" }.sorted()
    let count = try context.count(for: request)
    guard count == found.count else { throw Disagreement(found: found, count: count) }
    return found
  }

  struct Disagreement: Error {
    let found: [String]
    let count: Int
  }

  func object(_ entity: String, _ key: String, _ value: String, in context: ManagedObjectContext? = nil)
    throws
    -> ManagedObject
  {
    let request = FetchRequest<ManagedObject>(
      entityName: entity, predicate: .comparison(key: key, .equal, .string(value)))
    guard let found = try (context ?? self.context).fetch(request).first else { throw Missing() }
    return found
  }

  func explain(_ entity: String, _ predicate: FetchPredicate?, sort: [FetchSort] = [], limit: Int = 0) throws
    -> FetchExplanation
  {
    try context.explain(
      FetchRequest<ManagedObject>(
        entityName: entity, predicate: predicate, sortDescriptors: sort, fetchLimit: limit), .executing)
  }
}

extension FetchPredicate {
  static func compare(
    _ left: FetchExpression, _ operation: ComparisonOperator, _ right: FetchExpression,
    _ quantifier: FetchComparison.Quantifier = .direct
  ) -> FetchPredicate {
    .compare(FetchComparison(left, operation, right, quantifier: quantifier))
  }

  static func any(_ key: String, _ operation: ComparisonOperator, _ value: AttributeValue) -> FetchPredicate {
    .compare(.key(key), operation, .constant(value), .any)
  }
}
