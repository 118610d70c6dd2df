import CoreData
import Foundation
import Testing

/// How long models live.
@Suite struct ModelLifetimeTests {
  /// Whether `isTrue` comes true in half a minute: the last reference may be let go of on another thread.
  private static func eventually(_ isTrue: () -> Bool) -> Bool {
    for _ in 0..<3_000 where !isTrue() { Thread.sleep(forTimeInterval: 0.01) }
    return isTrue()
  }

  /// Two entities that refer to each other.
  private static func makeModel() -> NSManagedObjectModel {
    let (nest, egg) = (NSEntityDescription(), NSEntityDescription())
    (nest.name, egg.name) = ("Nest", "Egg")
    let (eggs, owner) = (NSRelationshipDescription(), NSRelationshipDescription())
    (eggs.name, eggs.destinationEntity, eggs.maxCount) = ("eggs", egg, 0)
    (owner.name, owner.destinationEntity, owner.maxCount) = ("nest", nest, 1)
    (eggs.inverseRelationship, owner.inverseRelationship) = (owner, eggs)
    let site = NSAttributeDescription()
    (site.name, site.attributeType, site.isOptional) = ("site", .stringAttributeType, true)
    nest.properties = [site, eggs]
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

  @Test(
    "A model whose objects were fetched, changed and saved is freed with its container and contexts",
    arguments: [NSInMemoryStoreType, NSSQLiteStoreType])
  func modelsOfContainersAreFreed(type: String) throws {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    weak var model: NSManagedObjectModel?
    weak var entity: NSEntityDescription?
    func use() throws {
      let made = Self.makeModel()
      (model, entity) = (made, made.entitiesByName["Egg"])
      let container = NSPersistentContainer(name: "Nests", managedObjectModel: made)
      let description = NSPersistentStoreDescription(url: directory.appendingPathComponent("Nests.sqlite"))
      description.type = type
      container.persistentStoreDescriptions = [description]
      var failure: (any Error)?
      container.loadPersistentStores { failure = $1 }
      if let failure { throw failure }
      for _ in 0..<2 {
        let context = container.newBackgroundContext()
        try context.performAndWait {
          for nest in try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Nest")) {
            nest.setValue("Elm", forKey: "site")
          }
          let egg = NSEntityDescription.insertNewObject(forEntityName: "Egg", into: context)
          let nest = NSEntityDescription.insertNewObject(forEntityName: "Nest", into: context)
          egg.setValue(nest, forKey: "nest")
          try context.save()
        }
      }
    }
    try use()
    #expect(Self.eventually { model == nil && entity == nil })
  }

  /// How a context lets go of an object that is held elsewhere.
  enum Parting: CaseIterable {
    case end, reset, deletion, removalOfItsStore
  }

  @Test(
    "An object that has left its context keeps its entity and its model until it goes as well",
    arguments: Parting.allCases)
  func objectsKeepTheirModel(parting: Parting) throws {
    weak var model: NSManagedObjectModel?
    func makeOrphan() throws -> NSManagedObject {
      let made = Self.makeModel()
      model = made
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: made)
      let store = try coordinator.addPersistentStore(
        ofType: NSInMemoryStoreType, configurationName: nil, at: nil, options: nil)
      let context = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
      context.persistentStoreCoordinator = coordinator
      let nest = NSEntityDescription.insertNewObject(forEntityName: "Nest", into: context)
      let egg = NSEntityDescription.insertNewObject(forEntityName: "Egg", into: context)
      nest.setValue("Oak", forKey: "site")
      egg.setValue(nest, forKey: "nest")
      try context.save()
      switch parting {
      case .end: break
      case .reset: context.reset()
      case .deletion:
        context.delete(nest)
        try context.save()
      case .removalOfItsStore: try coordinator.remove(store)
      }
      return nest
    }
    func look(at nest: NSManagedObject) {
      #expect(nest.managedObjectContext == nil)
      #expect(nest.entity.name == "Nest" && nest.entity.managedObjectModel === model)
      #expect(nest.entity.relationshipsByName["eggs"]?.destinationEntity?.name == "Egg")
      switch parting {
      case .end, .deletion: #expect(nest.value(forKey: "site") as? String == "Oak")
      case .reset: #expect(nest.isFault)
      case .removalOfItsStore: break
      }
    }
    var nest: NSManagedObject? = try makeOrphan()
    #expect(model != nil)
    if let nest { look(at: nest) }
    nest = nil
    #expect(Self.eventually { model == nil })
  }

  @Test("A model is freed with the last of its objects in no context")
  func unattachedObjectsLetGoOfTheirModel() throws {
    weak var model: NSManagedObjectModel?
    func make() throws -> NSManagedObject {
      let made = Self.makeModel()
      model = made
      return NSManagedObject(entity: try #require(made.entitiesByName["Nest"]), insertInto: nil)
    }
    func look(at nest: NSManagedObject) {
      nest.setValue("Oak", forKey: "site")
      #expect(nest.value(forKey: "site") as? String == "Oak" && nest.entity.managedObjectModel === model)
    }
    var nest: NSManagedObject? = try make()
    #expect(model != nil)
    if let nest { look(at: nest) }
    nest = nil
    #expect(Self.eventually { model == nil })
  }

  @Test("A model is freed with its coordinator, where objects were made in no context and inserted")
  func insertedObjectsLetGoOfTheirModel() throws {
    weak var model: NSManagedObjectModel?
    func use() throws {
      let made = Self.makeModel()
      model = made
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: made)
      _ = try coordinator.addPersistentStore(
        ofType: NSInMemoryStoreType, configurationName: nil, at: nil, options: nil)
      let context = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
      context.persistentStoreCoordinator = coordinator
      let (nestEntity, eggEntity) = (
        try #require(made.entitiesByName["Nest"]), try #require(made.entitiesByName["Egg"])
      )
      for _ in 0..<3 {
        let nest = NSManagedObject(entity: nestEntity, insertInto: nil)
        let egg = NSManagedObject(entity: eggEntity, insertInto: nil)
        egg.setValue(nest, forKey: "nest")
        context.insert(nest)
        #expect(egg.managedObjectContext === context)
      }
      try context.save()
      #expect(try context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Egg")) == 3)
    }
    try use()
    #expect(Self.eventually { model == nil })
  }
}
