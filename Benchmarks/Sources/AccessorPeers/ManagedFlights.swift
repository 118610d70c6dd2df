import CoreData

/// Accessors that the build plugin writes.
final class ManagedFlight: NSManagedObject, FlightOfTen {
  @NSManaged var number: Int64
  @NSManaged var distance: Int32
  @NSManaged var delay: Double
  @NSManaged var isLate: Bool
  @NSManaged var departure: Date?
  @NSManaged var carrier: String?
  @NSManaged var tail: String?
  @NSManaged var location: String?
  @NSManaged var destination: String?
  @NSManaged var remark: String?
}

/// Imports CoreData.
enum ManagedFlights {
  static func model() -> NSManagedObjectModel {
    func attribute(_ name: String, _ type: NSAttributeType) -> NSAttributeDescription {
      let attribute = NSAttributeDescription()
      attribute.name = name
      attribute.attributeType = type
      attribute.isOptional = true
      return attribute
    }
    let entity = NSEntityDescription()
    entity.name = "Flight"
    entity.managedObjectClassName = NSStringFromClass(ManagedFlight.self)
    entity.properties = [
      attribute("number", .integer64AttributeType),
      attribute("distance", .integer32AttributeType),
      attribute("delay", .doubleAttributeType),
      attribute("isLate", .booleanAttributeType),
      attribute("departure", .dateAttributeType),
      attribute("carrier", .stringAttributeType),
      attribute("tail", .stringAttributeType),
      attribute("location", .stringAttributeType),
      attribute("destination", .stringAttributeType),
      attribute("remark", .stringAttributeType),
    ]
    let model = NSManagedObjectModel()
    model.entities = [entity]
    return model
  }
}

extension AccessorPeer {
  /// Core Data's names, `@NSManaged`.
  public static func byPlugin(rows count: Int) throws -> AccessorPeer {
    let rows = Row.make(count)
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: ManagedFlights.model())
    try coordinator.addPersistentStore(
      ofType: NSInMemoryStoreType, configurationName: nil, at: nil, options: nil)
    func context() -> NSManagedObjectContext {
      let context = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
      context.persistentStoreCoordinator = coordinator
      return context
    }
    func all(_ context: NSManagedObjectContext) throws -> [ManagedFlight] {
      try context.fetch(NSFetchRequest<ManagedFlight>(entityName: "Flight"))
    }
    return AccessorPeer(
      name: "@NSManaged", rows: rows, context: context, all: all, make: { ManagedFlight(context: $0) },
      save: { try $0.save() }, rollback: { $0.rollback() },
      close: { for store in coordinator.persistentStores { try coordinator.remove(store) } })
  }
}
