import CoreData
import Foundation
import NSManagedSample
import Testing

/// Classes that the plugin has generated from a model made with Xcode.
@Suite("Classes from models")
struct ModelClassTests {
  private let context: NSManagedObjectContext
  private let model: NSManagedObjectModel

  init() throws {
    model = try #require(gardenURL.flatMap { NSManagedObjectModel(contentsOf: $0) })
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    _ = try coordinator.addPersistentStore(
      ofType: NSInMemoryStoreType, configurationName: nil, at: nil, options: nil)
    context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
  }

  @Test("Entities find their classes by Module.Class, Class and .Class")
  func classesByName() throws {
    func type(_ entity: String) -> AnyClass? { model.entitiesByName[entity]?.managedObjectClass }
    #expect(type("Plant") == Plant.self && type("Tree") == Tree.self)
    #expect(type("Bed") == Bed.self && type("Gardener") == Gardener.self)
  }

  @Test("Generated properties read and set; numbers are scalars or objects as the model says")
  func properties() throws {
    try context.performAndWait {
      let tree = Tree(context: context)
      #expect(tree.height == 0 && tree.petals == 0 && tree.rank == nil && !tree.isRare && tree.watered == 0)
      tree.name = "Oak"
      tree.height = 12.5
      tree.rank = 3
      tree.isRare = true
      tree.planted = Date(timeIntervalSinceReferenceDate: 5)
      tree.watered = 6
      tree.price = NSDecimalNumber(string: "9.99")
      tree.hues = ["green"]
      tree.note = NSString(string: "note")
      tree.default = "keyword"
      tree.rings = 80
      try context.save()
      context.refresh(tree, mergeChanges: false)
      #expect(tree.name == "Oak" && tree.height == 12.5 && tree.rank == 3 && tree.isRare && tree.rings == 80)
      #expect(tree.planted == Date(timeIntervalSinceReferenceDate: 5) && tree.watered == 6)
      #expect(
        tree.price == NSDecimalNumber(string: "9.99") && tree.hues == ["green"] && tree.default == "keyword")
      #expect(tree.note as? NSString == "note" && tree.id == ObjectIdentifier(tree))
    }
  }

  @Test(
    "An extension of a written class has the model's properties; generated methods keep order and inverses")
  func category() throws {
    context.performAndWait {
      let bed = Bed(context: context)
      let (one, two) = (Plant(context: context), Plant(context: context))
      one.height = 1
      two.height = 2
      bed.addToPlants(one)
      bed.insertIntoPlants(two, at: 0)
      #expect(bed.plants?.array.first as? Plant === two && one.bed === bed && bed.tallest === two)
      let gardener = Gardener(context: context)
      bed.addToGardeners(gardener)
      #expect(gardener.beds == [bed])
    }
  }

  @Test("fetchRequest() of a generated class fetches objects of it")
  func fetching() throws {
    try context.performAndWait {
      let tree = Tree(context: context)
      tree.height = 3
      tree.name = "Ash"
      try context.save()
      let request: NSFetchRequest<Plant> = Plant.fetchRequest()
      request.predicate = NSPredicate(format: "height > 2")
      #expect(try context.fetch(request) == [tree])
      let trees: NSFetchRequest<Tree> = Tree.fetchRequest()
      #expect(try context.fetch(trees) == [tree])
    }
  }

  @Test("Both modules' NSExpression means CoreData's in the target")
  func sharedNames() {
    #expect(nameExpression().keyPath == "name")
  }
}
