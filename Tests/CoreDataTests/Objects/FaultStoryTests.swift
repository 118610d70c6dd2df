import CoreData
import Foundation
import Testing

@Suite("Faults by Apple's names")
struct FaultStoryTests {
  let stand: BirdStand

  init() throws {
    stand = try BirdStand()
    _ = try stand.stocked()
  }

  private func site(_ name: String, _ context: NSManagedObjectContext) throws -> Site {
    let request = NSFetchRequest<Site>(entityName: "Site")
    request.predicate = NSPredicate(format: "name == %@", name)
    return try #require(try context.fetch(request).first)
  }

  private func bird(_ name: String, _ context: NSManagedObjectContext) throws -> Bird {
    let request = Bird.fetchRequest()
    request.predicate = NSPredicate(format: "name == %@", name)
    return try #require(try context.fetch(request).first)
  }

  @Test("A fault that cannot be read is reported, stays a fault and is not deleted")
  func unreadableFault() throws {
    let context = stand.context()
    let wren = try #require(context.object(with: try bird("wren", stand.context()).objectID) as? Bird)
    var failures: [any Error] = []
    context.readFailureHandler = { failures.append($0.error) }
    for store in stand.coordinator.persistentStores { try stand.coordinator.remove(store) }
    #expect(wren.name == nil)
    #expect(wren.isFault && !wren.isDeleted && !context.hasChanges)
    #expect(context.deletedObjects.isEmpty && !failures.isEmpty)
    #expect(throws: (any Error).self) { try context.existingObject(with: wren.objectID) }
  }

  @Test("Walked once, a to-many relationship fires no fault again while its owner is held (rule 220)")
  func realisedToMany() throws {
    let context = stand.context()
    let wood = try site("Wood", context)
    func names() -> [String] {
      let birds = wood.value(forKey: "birds") as? Set<NSManagedObject> ?? []
      return birds.compactMap { $0.value(forKey: "name") as? String }.sorted()
    }
    #expect(names() == ["robin", "wren"])
    let birds = wood.value(forKey: "birds") as? Set<NSManagedObject> ?? []
    #expect(birds.count == 2 && birds.allSatisfy { !$0.isFault })
    #expect(names() == ["robin", "wren"])
  }

  @Test("A new object that is refreshed without merging is a fault, and so is everything after reset()")
  func newFaults() throws {
    let context = stand.context()
    let new = Bird(context: context)
    new.name = "owl"
    context.refresh(new, mergeChanges: false)
    #expect(new.isFault && new.isInserted)
    #expect(new.name == nil)
    let wren = try bird("wren", context)
    #expect(wren.tally == 7 && !wren.isFault)
    context.reset()
    #expect(wren.isFault && wren.managedObjectContext == nil && new.isFault)
  }

  @Test(
    "Transient values of faults are their defaults: of a new object that is refreshed, and after reset()")
  func transientValuesOfFaults() throws {
    let stand = try BirdStand { model in
      for (name, value) in [("mood", "calm"), ("nick", nil)] {
        let attribute = NSAttributeDescription()
        (attribute.name, attribute.attributeType, attribute.isTransient) = (name, .stringAttributeType, true)
        (attribute.isOptional, attribute.defaultValue) = (true, value)
        model.entitiesByName["Bird"]?.properties.append(attribute)
      }
    }
    let context = try stand.stocked()
    let (new, wren) = (Bird(context: context), try bird("wren", context))
    func values(_ bird: Bird) -> [String?] {
      ["mood", "nick"].map { bird.value(forKey: $0) as? String }
    }
    for bird in [new, wren] {
      #expect(values(bird) == ["calm", nil])
      bird.setValue("wild", forKey: "mood")
      bird.setValue("pip", forKey: "nick")
      #expect(values(bird) == ["wild", "pip"])
      context.refresh(bird, mergeChanges: false)
      #expect(bird.isFault)
      #expect(values(bird) == ["calm", nil])
      bird.setValue("wild", forKey: "mood")
      bird.setValue("pip", forKey: "nick")
    }
    context.reset()
    for bird in [new, wren] {
      #expect(bird.isFault && bird.managedObjectContext == nil)
      #expect(values(bird) == ["calm", nil])
    }
  }

  @Test("stalenessInterval: -1 by default and for any age, 0 asks the store each time (rule 64)")
  func staleness() throws {
    let (context, other) = (stand.context(), stand.context())
    #expect(context.stalenessInterval == -1)
    let wren = try bird("wren", context)
    try bird("wren", other).tally = 8
    try other.save()
    #expect(wren.isFault && wren.tally == 7)
    // Objects in use are never changed by it.
    context.stalenessInterval = 0
    #expect(wren.tally == 7)
    context.refresh(wren, mergeChanges: false)
    context.stalenessInterval = -1
    #expect(wren.tally == 8)
    let robin = try bird("robin", context)
    try bird("robin", other).tally = 9
    try other.save()
    context.stalenessInterval = 0
    #expect(robin.isFault && robin.tally == 9)
    context.stalenessInterval = -1
    #expect(context.stalenessInterval == -1)
  }

  @Test("A deleted member is no member after the event, and is one again after a rollback (rule 216)")
  func deletedMember() throws {
    let context = stand.context()
    let wood = try site("Wood", context)
    let birds = wood.value(forKey: "birds") as? Set<NSManagedObject> ?? []
    let wren = try #require(birds.first { $0.value(forKey: "name") as? String == "wren" })
    context.delete(wren)
    context.processPendingChanges()
    #expect((wood.value(forKey: "birds") as? Set<NSManagedObject>)?.count == 1)
    context.rollback()
    #expect((wood.value(forKey: "birds") as? Set<NSManagedObject>)?.count == 2)
    context.delete(wren)
    try context.save()
    #expect((wood.value(forKey: "birds") as? Set<NSManagedObject>)?.count == 1)
  }
}
