import CoreData
import Testing

@Suite("Key-value coding of what every object has")
struct OwnKeyTests {
  @Test("objectID, entity, the context and the states have keys, and fire no fault")
  func ownKeys() throws {
    let context = try BirdStand().stocked()
    let birds = try context.fetch(Bird.fetchRequest())
    let bird = try #require(birds.first { $0.name == "wren" })
    context.refresh(bird, mergeChanges: false)
    #expect(bird.value(forKey: "objectID") as? NSManagedObjectID == bird.objectID)
    #expect((bird.value(forKey: "entity") as? NSEntityDescription)?.name == "Bird")
    #expect(bird.value(forKey: "managedObjectContext") as? NSManagedObjectContext === context)
    #expect(bird.value(forKey: "self") as? Bird === bird)
    #expect(bird.value(forKey: "description") as? String == bird.description)
    #expect(bird.value(forKey: "isFault") as? Bool == true && bird.isFault)
    func states() -> [Bool?] {
      ["isInserted", "isUpdated", "isDeleted", "hasChanges"].map { bird.value(forKey: $0) as? Bool }
    }
    #expect(states() == [false, false, false, false])
    bird.tally += 1
    #expect(states() == [false, true, false, true] && bird.value(forKey: "isFault") as? Int == 0)
    context.delete(bird)
    #expect(bird.value(forKey: "isDeleted") as? Bool == true)
    #expect(
      (BirdStand.bird("dipper", 1, 1, nil, context).value(forKeyPath: "isInserted") as? NSNumber) == true)
    #expect(
      bird.dictionaryWithValues(forKeys: ["objectID"])["objectID"] as? NSManagedObjectID == bird.objectID)
  }

  @Test("Key paths lead on from an entity and a text; an ordered set has each value once, in order")
  func furtherKeys() throws {
    let context = try BirdStand().stocked()
    let bird = BirdStand.bird("wren", 9, 1, nil, context)
    #expect(bird.value(forKeyPath: "entity.name") as? String == "Bird")
    #expect(bird.value(forKeyPath: "name.length") as? Int == 4)
    let birds = [bird, BirdStand.bird("auk", 1, 1, nil, context), BirdStand.bird("wren", 1, 1, nil, context)]
    #expect(
      NSArray(array: birds).value(forKeyPath: "@distinctUnionOfObjects.entity.name") as? [String] == ["Bird"])
    let names = NSOrderedSet(array: birds).value(forKey: "name") as? NSOrderedSet
    #expect(names?.array as? [String] == ["wren", "auk"])
    #expect(NSOrderedSet(array: birds).value(forKeyPath: "name.@count") as? Int == 2)
  }

  @Test("Where objects have left their context, its key gives nil")
  func noContext() throws {
    let model = BirdStand.model()
    let bird = Bird(entity: try #require(model.entitiesByName["Bird"]), insertInto: nil)
    withExtendedLifetime(model) { #expect(bird.value(forKey: "managedObjectContext") == nil) }
  }
}
