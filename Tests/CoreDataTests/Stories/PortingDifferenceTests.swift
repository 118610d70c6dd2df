import CoreData
import Foundation
import Testing

/// What Docs/Porting.md says is different at run time.
@Suite("Differences that Porting names")
struct PortingDifferenceTests {
  @Test("What another coordinator has open is not destroyed")
  func attached() throws {
    let url = try Journal.makeFolder().appendingPathComponent("a.sqlite")
    let coordinator = try Journal.makeCoordinator(at: url)
    let other = NSPersistentStoreCoordinator(managedObjectModel: Journal.makeModel())
    #expect(throws: (any Error).self) {
      try other.destroyPersistentStore(at: url, ofType: NSSQLiteStoreType)
    }
    try coordinator.remove(try #require(coordinator.persistentStores.first))
    try coordinator.destroyPersistentStore(at: url, ofType: NSSQLiteStoreType)
  }

  @Test("Fetched results refuse sections by what is not stored")
  func fetches() throws {
    let context = try BirdStand().stocked()
    let request = Bird.fetchRequest()
    request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
    let controller = NSFetchedResultsController(
      fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: "shoutedName", cacheName: nil)
    #expect(throws: (any Error).self) { try controller.performFetch() }
  }

  @Test("A mutable array in a transformable attribute comes back as another, immutable one")
  func mutableArrays() throws {
    let stand = try BirdStand {
      let rings = NSAttributeDescription()
      rings.name = "rings"
      rings.attributeType = .transformableAttributeType
      rings.isOptional = true
      $0.entitiesByName["Bird"]?.properties.append(rings)
    }
    let bird = Bird(context: stand.context())
    let rings = NSMutableArray(array: ["a"])
    bird.setValue(rings, forKey: "rings")
    rings.add("b")
    let found = bird.value(forKey: "rings")
    #expect(!(found is NSMutableArray) && (found as? [String]) == ["a"])
  }
}
