import Foundation
import Strata

/// Accessors by slot number, written by hand.
final class SlotFlight: ManagedObject, FlightOfTen {
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
      name: "by hand", rows: rows, context: context, all: all, make: { SlotFlight(context: $0) },
      save: { try $0.save() }, rollback: { $0.rollback() },
      close: { for store in coordinator.persistentStores { try coordinator.remove(store) } })
  }
}
