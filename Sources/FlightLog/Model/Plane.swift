import Strata

/// An aircraft, by its tail number.
final class Plane: ManagedObject {
  enum Slot: Int, CodingKey, CaseIterable {
    case tailNumber, year, type, manufacturer, model, engines, seats, speed, engine, flights
  }

  override class var declaredSlots: [String]? { Slot.allCases.map(\.stringValue) }

  var tailNumber: String {
    get { readString(slot: Slot.tailNumber.rawValue) ?? "" }
    set { write(newValue, slot: Slot.tailNumber.rawValue) }
  }
  var year: Int16? {
    get { readOptionalInt16(slot: Slot.year.rawValue) }
    set { write(newValue, slot: Slot.year.rawValue) }
  }
  var type: String {
    get { readString(slot: Slot.type.rawValue) ?? "" }
    set { write(newValue, slot: Slot.type.rawValue) }
  }
  var manufacturer: String {
    get { readString(slot: Slot.manufacturer.rawValue) ?? "" }
    set { write(newValue, slot: Slot.manufacturer.rawValue) }
  }
  var model: String {
    get { readString(slot: Slot.model.rawValue) ?? "" }
    set { write(newValue, slot: Slot.model.rawValue) }
  }
  var engines: Int16 {
    get { readInt16(slot: Slot.engines.rawValue) }
    set { write(newValue, slot: Slot.engines.rawValue) }
  }
  var seats: Int16 {
    get { readInt16(slot: Slot.seats.rawValue) }
    set { write(newValue, slot: Slot.seats.rawValue) }
  }
  var speed: Int16? {
    get { readOptionalInt16(slot: Slot.speed.rawValue) }
    set { write(newValue, slot: Slot.speed.rawValue) }
  }
  var engine: String? {
    get { readString(slot: Slot.engine.rawValue) }
    set { write(newValue, slot: Slot.engine.rawValue) }
  }
  var flights: RelatedObjects<Flight> { related(slot: Slot.flights.rawValue) }
}
