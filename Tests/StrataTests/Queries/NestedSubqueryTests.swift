import Foundation
import Strata
import Testing
import TortureKit

/// Sub-queries in sub-queries, and key paths through many to-many relationships, cost what there is to look at, not what there are
/// ways to it (rule 109).
@Suite struct NestedSubqueryTests {
  private func context(_ count: Int = 12) throws -> (TemporaryStore, ManagedObjectContext) {
    let store = try TemporaryStore(Self.model()) { $0.durability = .none }
    let context = store.context()
    guard let entity = store.coordinator.managedObjectModel.entitiesByName["Person"] else { throw Missing() }
    let people = (0..<count).map { number in
      let person = ManagedObject(entity: entity, insertInto: context)
      person.setValue(number, forKey: "number")
      return person
    }
    for person in people { person.setValue(Set(people), forKey: "friends") }
    try context.save()
    return (store, store.context())
  }

  struct Missing: Error {}

  private static func model() -> ManagedObjectModel {
    let person = EntityDescription("Person", properties: [AttributeDescription("number", .integer64)])
    let friends = RelationshipDescription("friends", to: person, maxCount: 0)
    let friendOf = RelationshipDescription("friendOf", to: person, maxCount: 0)
    friends.inverseRelationship = friendOf
    friendOf.inverseRelationship = friends
    person.properties += [friends, friendOf]
    return ManagedObjectModel(entities: [person])
  }

  private func nested(_ depth: Int, _ innermost: String, _ link: (Int) -> String) -> String {
    (0..<depth).reversed().reduce(innermost) { inner, level in
      let owner = level == 0 ? "" : "$m\(level - 1)."
      return "SUBQUERY(\(owner)friends, $m\(level), (\(inner)) AND \(link(level))).@count > 0"
    }
  }

  private func numbers(_ context: ManagedObjectContext, _ format: String) throws -> [Int64] {
    let request = FetchRequest<ManagedObject>(
      entityName: "Person", predicate: try FetchPredicate(format: format),
      sortDescriptors: [FetchSort("number")])
    return try context.fetch(request).compactMap { $0.value(forKey: "number") as? Int64 }
  }

  @Test(
    "each sub-query is answered once for each combination of the objects that it reads",
    arguments: [false, true])
  func subqueriesInSubqueries(unsaved: Bool) throws {
    let (_store, context) = try context()
    defer { withExtendedLifetime(_store) {} }
    if unsaved {
      let first = try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Person")).first)
      first.setValue(first.value(forKey: "number"), forKey: "number")
      first.setValue(100, forKey: "number")
      first.setValue(0, forKey: "number")
    }
    let all = (0..<12).map(Int64.init)
    // Twelve to the power of twenty ways.
    #expect(try numbers(context, nested(20, "TRUEPREDICATE") { "$m\($0).number < 99" }) == all)
    #expect(try numbers(context, nested(20, "$m19.number > 99") { "$m\($0).number < 99" }) == [])
    // Each looks at the one around it …
    #expect(
      try numbers(
        context,
        nested(20, "$m19.number > 99") { $0 == 0 ? "TRUEPREDICATE" : "$m\($0).number >= $m\($0 - 1).number" })
        == [])
    // … or at the object of the whole predicate.
    #expect(
      try numbers(context, nested(20, "$m19.number == number + 99") { "$m\($0).number >= number" }) == [])
    #expect(
      try numbers(context, nested(9, "$m8.number == number + 1") { "$m\($0).number >= number" }).count == 11)
  }

  @Test func looksOutsideAreLimited() throws {
    let (_store, context) = try context(3)
    defer { withExtendedLifetime(_store) {} }
    #expect(
      try numbers(
        context, nested(4, "$m0.number + $m1.number + $m2.number + number > 8") { _ in "TRUEPREDICATE" })
        == [])
    #expect(
      try numbers(
        context,
        nested(4, "$m0.number + $m1.number + $m2.number + $m3.number + number > 9") { _ in "TRUEPREDICATE" })
        == [2])
    let error = #expect(throws: FetchError.self) {
      try numbers(
        context,
        nested(5, "$m0.number + $m1.number + $m2.number + $m3.number + $m4.number + number > 8") { _ in
          "TRUEPREDICATE"
        })
    }
    #expect(error?.description.contains("more than 4 objects outside of it") == true)
  }

  @Test("a comparison whose other side is a sub-query is looked up once at each level")
  func bothSides() throws {
    let (_store, context) = try context(3)
    defer { withExtendedLifetime(_store) {} }
    let right = (0..<25).reversed().reduce("TRUEPREDICATE") { inner, level in
      let owner = level == 0 ? "" : "$m\(level - 1)."
      return "\(owner)number < SUBQUERY(\(owner)friends, $m\(level), \(inner)).@count"
    }
    #expect(try numbers(context, right) == [0, 1, 2])
    let left = (0..<25).reversed().reduce("TRUEPREDICATE") { inner, level in
      let owner = level == 0 ? "" : "$m\(level - 1)."
      return "SUBQUERY(\(owner)friends, $m\(level), \(inner)).@count > \(owner)number"
    }
    #expect(try numbers(context, left) == [0, 1, 2])
  }

  @Test func keyPathsThroughManyToManyRelationships() throws {
    let (_store, context) = try context()
    defer { withExtendedLifetime(_store) {} }
    let path = Array(repeating: "friends", count: 20).joined(separator: ".")
    #expect(try numbers(context, "ANY \(path).number == 3").count == 12)
    #expect(try numbers(context, "ANY \(path).number == number + 1").count == 11)
    #expect(try numbers(context, "ALL \(path).number >= number") == [0])
    // Each way is a value of its own here: more than memory holds.
    let error = #expect(throws: FetchError.self) { try numbers(context, "\(path).@sum.number > number") }
    #expect(error?.description.contains("more than 2097152 values") == true)
  }

  @Test("a to-one inverse: the joins within joins are shared")
  func joinsWithinJoins() throws {
    let store = try TemporaryStore(QueryModel.make(isIndexed: false)) { $0.durability = .none }
    let writer = store.context()
    guard let entity = store.coordinator.managedObjectModel.entitiesByName["Agent"] else { throw Missing() }
    var boss: ManagedObject?
    for number in 0..<30 {
      let agent = ManagedObject(entity: entity, insertInto: writer)
      agent.setValue("a\(number)", forKey: "name")
      agent.setValue(boss, forKey: "boss")
      boss = agent
    }
    try writer.save()
    func nested(_ depth: Int) -> String {
      (0..<depth).reversed().reduce("TRUEPREDICATE") { inner, level in
        "SUBQUERY(\(level == 0 ? "" : "$m\(level - 1).")staff, $m\(level), \(inner)).@count > 0"
      }
    }
    for depth in [3, 25] {
      let request = FetchRequest<ManagedObject>(
        entityName: "Agent", predicate: try FetchPredicate(format: nested(depth)))
      #expect(try store.context().fetch(request).count == 30 - depth)
    }
    let chain = Array(repeating: "staff", count: 25).joined(separator: ".")
    let request = FetchRequest<ManagedObject>(
      entityName: "Agent", predicate: try FetchPredicate(format: "ANY \(chain).name != 'x'"))
    #expect(try store.context().fetch(request).count == 5)
  }
}
