import CoreData
import Foundation
import Testing

/// Merge policies that call super and then set relationships, as those do that keep what a stored record was related to: what they have in their hands may be
/// duplicates that super has merged.
@Suite("Merge policies that restore relationships")
struct RestoringPolicyTests {
  /// Calls super, and then `restore` with all conflicts and what `prepare` has made of them before.
  private final class Restoring: NSMergePolicy, @unchecked Sendable {
    // Safe: used by one test on one thread.
    var prepare: ([NSConstraintConflict]) -> Void = { _ in }
    var restore: ([NSConstraintConflict]) -> Void = { _ in }
    /// How often it was asked about stored records only, the collection and a game among them.
    var calls = 0

    init() { super.init(merge: .mergeByPropertyObjectTrumpMergePolicyType) }

    override func resolve(constraintConflicts list: [NSConstraintConflict]) throws {
      if list.count > 1, list.allSatisfy({ $0.databaseObject != nil }) { calls += 1 }
      prepare(list)
      try super.resolve(constraintConflicts: list)
      restore(list)
    }
  }

  private let coordinator: NSPersistentStoreCoordinator
  private let context = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
  /// Sees what is stored. Read from at the end of a test only; kept, as objects have nothing without their context.
  private let reader = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
  private let policy = Restoring()

  /// In the store: the collection "snes" with the games "mario" and "kirby", and a list of both. In the context: another "snes" with another "mario", and "zelda".
  init() throws {
    coordinator = NSPersistentStoreCoordinator(managedObjectModel: Self.makeModel())
    try coordinator.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: nil)
    reader.persistentStoreCoordinator = coordinator
    let first = makeContext()
    Self.fill(first, ["mario", "kirby"])
    try first.save()
    context.persistentStoreCoordinator = coordinator
    context.mergePolicy = policy
    Self.fill(context, ["mario", "zelda"])
  }

  private func makeContext() -> NSManagedObjectContext {
    let context = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    return context
  }

  private static func make(_ entity: String, _ name: String, _ context: NSManagedObjectContext)
    -> NSManagedObject
  {
    let object = NSEntityDescription.insertNewObject(forEntityName: entity, into: context)
    object.setValue(name, forKey: "name")
    return object
  }

  private static func fill(_ context: NSManagedObjectContext, _ games: [String]) {
    let collection = make("Collection", "snes", context)
    for name in games {
      let game = make("Game", name, context)
      game.setValue(collection, forKey: "collection")
      collection.mutableOrderedSetValue(forKey: "list").add(game)
    }
  }

  /// Game ─collection▶ Collection, inverse games; Collection ─list▶▶ Game, ordered, inverse lists. Names are unique.
  private static func makeModel() -> NSManagedObjectModel {
    func entity(_ name: String) -> NSEntityDescription {
      let (entity, attribute) = (NSEntityDescription(), NSAttributeDescription())
      entity.name = name
      attribute.name = "name"
      attribute.attributeType = .stringAttributeType
      entity.properties = [attribute]
      entity.uniquenessConstraints = [["name"]]
      return entity
    }
    func relationship(_ name: String, to entity: NSEntityDescription, _ maxCount: Int)
      -> NSRelationshipDescription
    {
      let relationship = NSRelationshipDescription()
      relationship.name = name
      relationship.destinationEntity = entity
      relationship.maxCount = maxCount
      return relationship
    }
    let (game, collection) = (entity("Game"), entity("Collection"))
    let (toOne, games) = (relationship("collection", to: collection, 1), relationship("games", to: game, 0))
    (toOne.inverseRelationship, games.inverseRelationship) = (games, toOne)
    let (list, lists) = (relationship("list", to: game, 0), relationship("lists", to: collection, 0))
    list.isOrdered = true
    (list.inverseRelationship, lists.inverseRelationship) = (lists, list)
    game.properties += [toOne, lists]
    collection.properties += [games, list]
    let model = NSManagedObjectModel()
    model.entities = [game, collection]
    return model
  }

  /// The stored object and the new one of that entity that are in conflict.
  private static func pair(_ entity: String, _ list: [NSConstraintConflict])
    -> (kept: NSManagedObject, duplicate: NSManagedObject)?
  {
    let conflict = list.first { $0.conflictingObjects[0].entity.name == entity }
    guard let conflict, let kept = conflict.databaseObject else { return nil }
    return (kept, conflict.conflictingObjects[0])
  }

  private func fetch(_ entity: String, _ context: NSManagedObjectContext? = nil) throws -> [NSManagedObject] {
    let request = NSFetchRequest<NSManagedObject>(entityName: entity)
    request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
    return try (context ?? reader).fetch(request)
  }

  private static func name(_ object: Any) -> String {
    (object as? NSManagedObject)?.value(forKey: "name") as? String ?? "?"
  }

  /// The names of the games of the one collection in the store, in order, and of its list.
  private func saved() throws -> [[String]] {
    let collections = try fetch("Collection")
    #expect(collections.count == 1)
    let games = collections.first?.value(forKey: "games") as? Set<NSManagedObject> ?? []
    let list = collections.first?.value(forKey: "list") as? NSOrderedSet
    return [games.map(Self.name).sorted(), list?.array.map(Self.name) ?? []]
  }

  @Test("Rule 201: the duplicate that a new object was related to, given to the stored one, is what was kept")
  func toOne() throws {
    var given: NSManagedObject?
    policy.prepare = { list in
      given = Self.pair("Game", list)?.duplicate.value(forKey: "collection") as? NSManagedObject
    }
    policy.restore = { list in
      guard let game = Self.pair("Game", list), let collection = Self.pair("Collection", list) else { return }
      #expect(given === collection.duplicate && given?.isDeleted == true)
      game.kept.setValue(nil, forKey: "collection")
      game.kept.setValue(given, forKey: "collection")
      #expect(game.kept.value(forKey: "collection") as? NSManagedObject === collection.kept)
      game.kept.setValue(nil, forKey: "collection")
      game.kept.setPrimitiveValue(given, forKey: "collection")
      #expect(game.kept.primitiveValue(forKey: "collection") as? NSManagedObject === collection.kept)
      game.kept.setValue(nil, forKey: "collection")
      game.kept.setValue(given, forKey: "collection")
    }
    try context.save()
    #expect(given != nil && policy.calls > 0 && !context.hasChanges)
    #expect(try saved() == [["kirby", "mario", "zelda"], ["mario", "kirby", "zelda"]])
    #expect(try fetch("Game").count == 3)
  }

  @Test("Rule 201: sets that hold duplicates, and duplicates that are added to sets")
  func sets() throws {
    var games: Set<NSManagedObject> = []
    policy.prepare = { list in
      games = Self.pair("Collection", list)?.duplicate.value(forKey: "games") as? Set<NSManagedObject> ?? []
    }
    policy.restore = { list in
      guard let game = Self.pair("Game", list), let collection = Self.pair("Collection", list) else { return }
      #expect(games.contains(game.duplicate))
      let members = collection.kept.mutableSetValue(forKey: "games")
      // A duplicate is no member, so that taking it out takes nothing.
      members.remove(game.duplicate)
      #expect(members.count == 3 && members.contains(game.kept))
      collection.kept.setValue(games, forKey: "games")
      #expect(Set(members.map(Self.name)) == ["mario", "zelda"] && members.contains(game.kept))
      members.removeAllObjects()
      members.union(games)
      #expect(members.count == 2 && members.contains(game.kept))
      members.removeAllObjects()
      members.add(game.duplicate)
      #expect(members.count == 1 && members.contains(game.kept))
    }
    try context.save()
    #expect(policy.calls > 0)
    #expect(try saved().first == ["mario"])
  }

  @Test("Rule 201: ordered sets that hold duplicates, and duplicates that are placed in them")
  func orderedSets() throws {
    policy.restore = { list in
      guard let game = Self.pair("Game", list), let collection = Self.pair("Collection", list) else { return }
      let members = collection.kept.mutableOrderedSetValue(forKey: "list")
      #expect(members.array.map(Self.name) == ["mario", "kirby", "zelda"])
      let all = members.array
      // What was kept is named twice, and counts where it stands first.
      collection.kept.setValue(NSOrderedSet(array: [all[2], game.duplicate] + all[..<2]), forKey: "list")
      #expect(members.array.map(Self.name) == ["zelda", "mario", "kirby"])
      members.remove(game.kept)
      members.add(game.duplicate)
      #expect(members.array.map(Self.name) == ["zelda", "kirby", "mario"])
      members.remove(game.kept)
      members.insert(game.duplicate, at: 1)
      #expect(members.array.map(Self.name) == ["zelda", "mario", "kirby"])
      // What is there stays where it is.
      members.add(game.duplicate)
      members.replaceObject(at: 1, with: game.duplicate)
      #expect(members.array.map(Self.name) == ["zelda", "mario", "kirby"])
    }
    try context.save()
    #expect(policy.calls > 0)
    #expect(try saved().last == ["zelda", "mario", "kirby"])
  }

  @Test("Rule 201: changes of a duplicate's own relationships do nothing once super has merged it")
  func ownRelationships() throws {
    policy.restore = { list in
      guard let game = Self.pair("Game", list), let collection = Self.pair("Collection", list) else { return }
      game.duplicate.setValue(nil, forKey: "collection")
      game.duplicate.setValue(collection.kept, forKey: "collection")
      collection.duplicate.setValue([game.kept] as Set<NSManagedObject>, forKey: "games")
      collection.duplicate.mutableSetValue(forKey: "games").removeAllObjects()
      collection.duplicate.mutableSetValue(forKey: "games").add(game.kept)
      collection.duplicate.mutableOrderedSetValue(forKey: "list").insert(game.kept, at: 0)
    }
    try context.save()
    #expect(policy.calls > 0)
    #expect(try saved() == [["kirby", "mario", "zelda"], ["mario", "kirby", "zelda"]])
  }

  @Test("Rule 205: an observer of the did-save notification may still give others a duplicate of that save")
  func observer() throws {
    // Safe: notifications are posted on the thread that saves, which is this one.
    nonisolated(unsafe) let duplicate = try newCollection()
    nonisolated(unsafe) let zelda = try self.zelda()
    nonisolated(unsafe) var told = 0
    let token = NotificationCenter.default.addObserver(
      forName: .NSManagedObjectContextDidSave, object: context, queue: nil
    ) { _ in
      told += 1
      zelda.setValue(nil, forKey: "collection")
      zelda.setValue(duplicate, forKey: "collection")
    }
    defer { NotificationCenter.default.removeObserver(token) }
    try context.save()
    #expect(told == 1)
    let kept = try #require(try fetch("Collection", context).first)
    #expect(zelda.value(forKey: "collection") as? NSManagedObject === kept && kept !== duplicate)
  }

  @Test("Rule 201: the same of many duplicates in one save")
  func many() throws {
    let count = 1_200
    let first = makeContext()
    for number in 0..<count { _ = Self.make("Collection", "c\(number)", first) }
    try first.save()
    for number in 0..<count {
      let game = Self.make("Game", "g\(number)", context)
      game.setValue(Self.make("Collection", "c\(number)", context), forKey: "collection")
    }
    policy.restore = { list in
      guard let game = Self.pair("Game", list) else { return }
      for conflict in list where conflict.databaseObject?.entity.name == "Collection" {
        game.kept.setValue(conflict.conflictingObjects[0], forKey: "collection")
        #expect(game.kept.value(forKey: "collection") as? NSManagedObject === conflict.databaseObject)
      }
    }
    try context.save()
    #expect(policy.calls > 0)
    #expect(try fetch("Collection").count == count + 1)
    let related = try fetch("Game").filter { $0.value(forKey: "collection") != nil }
    #expect(related.count == count + 3)
  }
}

extension RestoringPolicyTests {
  /// The duplicate that the save is about to merge.
  func newCollection() throws -> NSManagedObject {
    try #require(context.insertedObjects.first { $0.entity.name == "Collection" })
  }

  func zelda() throws -> NSManagedObject {
    try #require(context.insertedObjects.first { $0.value(forKey: "name") as? String == "zelda" })
  }

  func save() throws { try context.save() }
}

@Suite("Duplicates that are used after the save")
struct LateDuplicateTests {
  @Test("They stop the process, and the message names what was kept")
  func afterTheSave() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let story = try RestoringPolicyTests()
      let (duplicate, zelda) = (try story.newCollection(), try story.zelda())
      try story.save()
      zelda.setValue(duplicate, forKey: "collection")
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(text.contains("was merged with it by the last saves"))
  }
}
