import CoreData

/// Accessors that the build plugin writes.
final class ManagedFlight: NSManagedObject {
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

  static func touch(_ flight: ManagedFlight) -> Int64 {
    var sum = flight.number &+ Int64(flight.distance) &+ Int64(flight.delay) &+ (flight.isLate ? 1 : 0)
    sum &+= flight.departure == nil ? 0 : 1
    sum &+= Int64(flight.carrier?.utf8.count ?? 0) &+ Int64(flight.tail?.utf8.count ?? 0)
    sum &+= Int64(flight.location?.utf8.count ?? 0) &+ Int64(flight.destination?.utf8.count ?? 0)
    return sum &+ Int64(flight.remark?.utf8.count ?? 0)
  }

  static func fill(_ flight: ManagedFlight, _ row: Row) {
    flight.number = row.number
    flight.distance = Int32(truncatingIfNeeded: row.number)
    flight.delay = row.delay
    flight.isLate = row.delay > 5
    flight.departure = row.departure
    flight.carrier = row.carrier
    flight.tail = row.tail
    flight.location = row.location
    flight.destination = row.destination
    flight.remark = row.remark
  }

  static func change(_ flight: ManagedFlight, _ row: Row, _ round: Int) {
    flight.number = Int64(round)
    flight.delay = Double(round)
    flight.isLate = round % 2 == 0
    flight.departure = row.departure
    flight.carrier = row.carrier
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
      name: "@NSManaged",
      insert: { count in
        let context = context()
        for row in rows.prefix(count) { ManagedFlights.fill(ManagedFlight(context: context), row) }
        try context.save()
      },
      fetchAndTouch: {
        let context = context()
        var sum: Int64 = 0
        for flight in try all(context) { sum &+= ManagedFlights.touch(flight) }
        return sum
      },
      read: { rounds in
        let context = context()
        let flights = try all(context)
        var sum: Int64 = 0
        for flight in flights { sum &+= ManagedFlights.touch(flight) }
        let time = seconds {
          for _ in 0..<rounds { for flight in flights { sum &+= ManagedFlights.touch(flight) } }
        }
        return sum == 0 ? .nan : time / Double(rounds)
      },
      write: { rounds in
        let context = context()
        let flights = try all(context)
        for flight in flights { flight.number = 0 }
        let time = seconds {
          for round in 0..<rounds {
            for (place, flight) in flights.enumerated() { ManagedFlights.change(flight, rows[place], round) }
          }
        }
        context.rollback()
        return time / Double(rounds)
      },
      close: {
        for store in coordinator.persistentStores { try coordinator.remove(store) }
      })
  }
}
