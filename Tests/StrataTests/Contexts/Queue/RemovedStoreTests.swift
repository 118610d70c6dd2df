import Foundation
import Strata
import Testing

/// What a context keeps of stores that were removed from its coordinator.
struct RemovedStoreTests {
  private static let bird = EntityDescription("Bird", properties: [AttributeDescription("name", .string)])
  private static let model = ManagedObjectModel(entities: [bird])

  @Test(
    "a context that is reset lets go of removed stores; objects that are held show their last values",
    arguments: [ConcurrencyType.privateQueue, .confinement])
  func reset(type: ConcurrencyType) throws {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: Self.model)
    let context = ManagedObjectContext(type, coordinator: coordinator)
    weak var store: (any PersistentStore)?
    var held: ManagedObject?
    try { () throws in
      let added = try coordinator.addPersistentStore(PersistentStoreDescription(type: .inMemory, url: nil))
      store = added
      try context.performAndWait { () throws in
        held = context.new("Bird", ["name": "gull"])
        try context.save()
        #expect(try context.count(for: FetchRequest<ManagedObject>(entityName: "Bird")) == 1)
      }
      try coordinator.remove(added)
    }()
    // What a context without a queue keeps for whoever called it from a hook goes with the next reset.
    for _ in 0..<2 { context.performAndWait { context.reset() } }
    // Behind what the queue had to do.
    context.performAndWait {}
    #expect(store == nil)
    context.performAndWait { () in
      #expect(held?["name"] as? String == "gull" && held?.managedObjectContext == nil)
      #expect(held?.entity === Self.model.entities[0])
      held = nil
    }
    // Another one takes its place.
    try coordinator.addPersistentStore(PersistentStoreDescription(type: .inMemory, url: nil))
    try context.performAndWait { () throws in
      _ = context.new("Bird", ["name": "auk"])
      try context.save()
      let found = try context.fetch(FetchRequest<ManagedObject>(entityName: "Bird"))
      #expect(found.map { $0["name"] as? String } == ["auk"])
    }
  }
}
