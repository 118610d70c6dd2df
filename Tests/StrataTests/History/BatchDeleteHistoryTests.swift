import Foundation
@_spi(Testing) import Strata
import Testing

/// What the history says of the rows that a batch delete takes away: that they go, and nothing else.
struct BatchDeleteHistoryTests {
  private let coordinator = PersistentStoreCoordinator(managedObjectModel: BatchDeleteHistoryTests.model())
  private let context: ManagedObjectContext

  init() throws {
    var description = PersistentStoreDescription.inMemory
    description.recordsHistory = true
    try coordinator.addPersistentStore(description)
    context = ManagedObjectContext(.confinement, coordinator: coordinator)
  }

  /// A zoo takes its animals along and counts them, visitors stay; branches take theirs along.
  private static func model() -> ManagedObjectModel {
    let zoo = EntityDescription("Zoo", properties: [AttributeDescription("name", .string)])
    let animal = EntityDescription("Animal", properties: [AttributeDescription("name", .string)])
    let visitor = EntityDescription("Visitor", properties: [AttributeDescription("name", .string)])
    let branch = EntityDescription("Branch", properties: [AttributeDescription("name", .string)])
    func link(
      _ owner: EntityDescription, _ many: String, _ members: EntityDescription, _ one: String,
      _ rule: DeleteRule
    ) {
      let toMany = RelationshipDescription(many, to: members, maxCount: 0, deleteRule: rule)
      let toOne = RelationshipDescription(one, to: owner, maxCount: 1)
      toMany.inverseRelationship = toOne
      toOne.inverseRelationship = toMany
      owner.properties += [toMany]
      members.properties += [toOne]
    }
    link(zoo, "animals", animal, "zoo", .cascade)
    link(zoo, "visitors", visitor, "visited", .nullify)
    link(branch, "branches", branch, "parent", .cascade)
    zoo.properties += [
      DerivedAttributeDescription("animalCount", .integer64, derivationExpression: "animals.@count"),
      DerivedAttributeDescription("visitorCount", .integer64, derivationExpression: "visitors.@count"),
    ]
    return ManagedObjectModel(entities: [zoo, animal, visitor, branch])
  }

  private func make(_ entity: String, _ values: [String: Any] = [:]) throws -> ManagedObject {
    let description = try #require(coordinator.managedObjectModel.entitiesByName[entity])
    let object = ManagedObject(entity: description, insertInto: context)
    for (key, value) in values { object.setValue(value, forKey: key) }
    return object
  }

  private func delete(_ entity: String, _ predicate: FetchPredicate? = nil, step: Int) throws -> BatchResult {
    var request = BatchDeleteRequest(
      fetchRequest: FetchRequest<ManagedObject>(entityName: entity, predicate: predicate))
    request.step = step
    request.resultType = .objectIDs
    return try context.execute(request)
  }

  /// How often the newest transaction says what, `delete Zoo`; and how many records it speaks of.
  private func newest() throws -> (said: [String: Int], recordCount: Int) {
    let beginning: PersistentHistoryToken? = nil
    let transactions = try coordinator.history(.fetchHistory(after: beginning)).transactions
    let changes = try #require(transactions.last?.changes)
    let words = changes.map { "\($0.changeType) \($0.changedObjectID.entityName)" }
    return (
      Dictionary(words.map { ($0, 1) }, uniquingKeysWith: +), Set(changes.map(\.changedObjectID)).count
    )
  }

  @Test(
    "rows that a cascade takes along are said to go, and not to have changed before",
    arguments: [1, 3, 1_000])
  func cascade(step: Int) throws {
    for _ in 0..<2 {
      let zoo = try make("Zoo")
      for _ in 0..<5 { _ = try make("Animal", ["zoo": zoo]) }
    }
    try context.save()
    let result = try delete("Zoo", step: step)
    #expect(result.count == 12)
    let history = try newest()
    #expect(history.said == ["delete Zoo": 2, "delete Animal": 10])
    #expect(history.recordCount == 12)
  }

  @Test(
    "rows that stay are said to have changed, those that they referred to only to go", arguments: [1, 1_000])
  func nullify(step: Int) throws {
    let zoo = try make("Zoo")
    for _ in 0..<4 { _ = try make("Visitor", ["visited": zoo]) }
    try context.save()
    #expect(try delete("Zoo", step: step).count == 1)
    let history = try newest()
    #expect(history.said == ["delete Zoo": 1, "update Visitor": 4])
    #expect(history.recordCount == 5)
  }

  @Test("an owner that stays is said to have changed, once", arguments: [1, 1_000])
  func owners(step: Int) throws {
    let zoo = try make("Zoo")
    for _ in 0..<4 { _ = try make("Animal", ["zoo": zoo]) }
    try context.save()
    #expect(try delete("Animal", step: step).count == 4)
    #expect(try newest().said == ["delete Animal": 4, "update Zoo": 1])
  }

  @Test(
    "a tree of one entity goes in several steps, and each row is spoken of once", arguments: [1, 7, 1_000])
  func tree(step: Int) throws {
    let root = try make("Branch", ["name": "root"])
    var parents = [root]
    for _ in 0..<3 {
      parents = try parents.flatMap { parent in
        try (0..<3).map { _ in try make("Branch", ["parent": parent, "name": "twig"]) }
      }
    }
    try context.save()
    let result = try delete("Branch", try FetchPredicate(format: "name == 'root'"), step: step)
    // One root, and 3 + 9 + 27 below it.
    #expect(result.count == 40)
    let history = try newest()
    #expect(history.said == ["delete Branch": 40])
    #expect(history.recordCount == 40)
  }
}
