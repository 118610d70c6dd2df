import CoreData
import Testing

/// How long models live.
@Suite struct ModelLifetimeTests {
  /// Two entities that refer to each other.
  private static func makeModel() -> NSManagedObjectModel {
    let (nest, egg) = (NSEntityDescription(), NSEntityDescription())
    (nest.name, egg.name) = ("Nest", "Egg")
    let (eggs, owner) = (NSRelationshipDescription(), NSRelationshipDescription())
    (eggs.name, eggs.destinationEntity, eggs.maxCount) = ("eggs", egg, 0)
    (owner.name, owner.destinationEntity, owner.maxCount) = ("nest", nest, 1)
    (eggs.inverseRelationship, owner.inverseRelationship) = (owner, eggs)
    nest.properties = [eggs]
    egg.properties = [owner]
    let model = NSManagedObjectModel()
    model.entities = [nest, egg]
    return model
  }

  @Test("A model that coordinators used is freed with the last of them, and so are its entities")
  func modelsOfCoordinatorsAreFreed() {
    weak var model: NSManagedObjectModel?
    weak var entity: NSEntityDescription?
    func makeCoordinator() -> NSPersistentStoreCoordinator {
      let made = Self.makeModel()
      (model, entity) = (made, made.entitiesByName["Egg"])
      return NSPersistentStoreCoordinator(managedObjectModel: made)
    }
    var coordinator: NSPersistentStoreCoordinator? = makeCoordinator()
    // While it is used its entities have it.
    #expect(entity?.managedObjectModel === model && coordinator?.managedObjectModel === model)
    #expect(model != nil && entity?.relationshipsByName["nest"]?.inverseRelationship?.name == "eggs")
    withExtendedLifetime(coordinator) {}
    coordinator = nil
    #expect(model == nil && entity == nil)
  }

  @Test("A model that had a store is freed with its coordinator and contexts")
  func modelsOfStoresAreFreed() throws {
    weak var model: NSManagedObjectModel?
    func use() throws {
      let made = Self.makeModel()
      model = made
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: made)
      _ = try coordinator.addPersistentStore(
        ofType: NSInMemoryStoreType, configurationName: nil, at: nil, options: nil)
      let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
      context.persistentStoreCoordinator = coordinator
      try context.performAndWait {
        let nest = NSEntityDescription.insertNewObject(forEntityName: "Nest", into: context)
        let egg = NSEntityDescription.insertNewObject(forEntityName: "Egg", into: context)
        egg.setValue(nest, forKey: "nest")
        try context.save()
      }
    }
    try use()
    #expect(model == nil)
  }

  @Test("A model is kept for objects in no context, which have nothing else that keeps it")
  func unattachedObjectsKeepTheirModel() throws {
    func make() throws -> (NSManagedObject, NSManagedObject) {
      let model = Self.makeModel()
      let nest = try #require(model.entitiesByName["Nest"])
      let egg = try #require(model.entitiesByName["Egg"])
      let pair = (
        NSManagedObject(entity: nest, insertInto: nil), NSManagedObject(entity: egg, insertInto: nil)
      )
      // No longer than this.
      withExtendedLifetime(model) {}
      return pair
    }
    let (nest, egg) = try make()
    egg.setValue(nest, forKey: "nest")
    #expect(nest.entity.managedObjectModel != nil)
    #expect(nest.value(forKey: "eggs") as? Set<NSManagedObject> == [egg])
  }
}
