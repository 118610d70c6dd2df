import Strata

/// A carrier, by its two-letter code.
final class Airline: ManagedObject {
  enum Slot: Int, CodingKey, CaseIterable {
    case carrier, name, flights
  }

  override class var declaredSlots: [String]? { Slot.allCases.map(\.stringValue) }

  var carrier: String {
    get { readString(slot: Slot.carrier.rawValue) ?? "" }
    set { write(newValue, slot: Slot.carrier.rawValue) }
  }
  var name: String {
    get { readString(slot: Slot.name.rawValue) ?? "" }
    set { write(newValue, slot: Slot.name.rawValue) }
  }
  var flights: RelatedObjects<Flight> { related(slot: Slot.flights.rawValue) }
}
