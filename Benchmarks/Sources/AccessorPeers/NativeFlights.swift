import Foundation
import Strata

/// Accessors by slot number, written by hand.
final class SlotFlight: ManagedObject {
  override class var declaredSlots: [String]? {
    [
      "number",
      "distance",
      "delay",
      "isLate",
      "departure",
      "carrier",
      "tail",
      "location",
      "destination",
      "remark",
    ]
  }

  var number: Int64 {
    get { readInt64(slot: 0) }
    set { write(newValue, slot: 0) }
  }
  var distance: Int32 {
    get { readInt32(slot: 1) }
    set { write(newValue, slot: 1) }
  }
  var delay: Double {
    get { readDouble(slot: 2) }
    set { write(newValue, slot: 2) }
  }
  var isLate: Bool {
    get { readBool(slot: 3) }
    set { write(newValue, slot: 3) }
  }
  var departure: Date? {
    get { readDate(slot: 4) }
    set { write(newValue, slot: 4) }
  }
  var carrier: String? {
    get { readString(slot: 5) }
    set { write(newValue, slot: 5) }
  }
  var tail: String? {
    get { readString(slot: 6) }
    set { write(newValue, slot: 6) }
  }
  var location: String? {
    get { readString(slot: 7) }
    set { write(newValue, slot: 7) }
  }
  var destination: String? {
    get { readString(slot: 8) }
    set { write(newValue, slot: 8) }
  }
  var remark: String? {
    get { readString(slot: 9) }
    set { write(newValue, slot: 9) }
  }
}

/// Imports Strata.
enum NativeFlights {
  static func model() -> ManagedObjectModel {
    let entity = EntityDescription(
      "Flight",
      properties: [
        AttributeDescription("number", .integer64),
        AttributeDescription("distance", .integer32),
        AttributeDescription("delay", .double),
        AttributeDescription("isLate", .boolean),
        AttributeDescription("departure", .date),
        AttributeDescription("carrier", .string),
        AttributeDescription("tail", .string),
        AttributeDescription("location", .string),
        AttributeDescription("destination", .string),
        AttributeDescription("remark", .string),
      ])
    entity.managedObjectClass = SlotFlight.self
    return ManagedObjectModel(entities: [entity])
  }

  static func touch(_ flight: SlotFlight) -> Int64 {
    var sum = flight.number &+ Int64(flight.distance) &+ Int64(flight.delay) &+ (flight.isLate ? 1 : 0)
    sum &+= flight.departure == nil ? 0 : 1
    sum &+= Int64(flight.carrier?.utf8.count ?? 0) &+ Int64(flight.tail?.utf8.count ?? 0)
    sum &+= Int64(flight.location?.utf8.count ?? 0) &+ Int64(flight.destination?.utf8.count ?? 0)
    return sum &+ Int64(flight.remark?.utf8.count ?? 0)
  }

  static func fill(_ flight: SlotFlight, _ row: Row) {
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

  static func change(_ flight: SlotFlight, _ row: Row, _ round: Int) {
    flight.number = Int64(round)
    flight.delay = Double(round)
    flight.isLate = round % 2 == 0
    flight.departure = row.departure
    flight.carrier = row.carrier
  }
}

extension AccessorPeer {
  /// Strata's own names, slots by number.
  public static func byHand(rows count: Int) throws -> AccessorPeer {
    let rows = Row.make(count)
    let coordinator = PersistentStoreCoordinator(managedObjectModel: NativeFlights.model())
    try coordinator.addPersistentStore(.inMemory)
    func context() -> ManagedObjectContext { ManagedObjectContext(.confinement, coordinator: coordinator) }
    func all(_ context: ManagedObjectContext) throws -> [SlotFlight] {
      try context.fetch(FetchRequest<SlotFlight>(entityName: "Flight"))
    }
    return AccessorPeer(
      name: "by hand",
      insert: { count in
        let context = context()
        for row in rows.prefix(count) { NativeFlights.fill(SlotFlight(context: context), row) }
        try context.save()
      },
      fetchAndTouch: {
        let context = context()
        var sum: Int64 = 0
        for flight in try all(context) { sum &+= NativeFlights.touch(flight) }
        return sum
      },
      read: { rounds in
        let context = context()
        let flights = try all(context)
        var sum: Int64 = 0
        for flight in flights { sum &+= NativeFlights.touch(flight) }
        let time = seconds {
          for _ in 0..<rounds { for flight in flights { sum &+= NativeFlights.touch(flight) } }
        }
        return sum == 0 ? .nan : time / Double(rounds)
      },
      write: { rounds in
        let context = context()
        let flights = try all(context)
        for flight in flights { flight.number = 0 }
        let time = seconds {
          for round in 0..<rounds {
            for (place, flight) in flights.enumerated() { NativeFlights.change(flight, rows[place], round) }
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
