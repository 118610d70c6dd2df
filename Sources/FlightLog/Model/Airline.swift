import Strata

/// A carrier, by its two-letter code.
final class Airline: ManagedObject {
  static let carrier = Slot<Airline, String>("carrier")
  static let name = Slot<Airline, String>("name")
  static let flights = Slot<Airline, Set<Flight>>("flights")

  override class var namedSlots: [NamedSlot]? {
    [NamedSlot(carrier), NamedSlot(name), NamedSlot(flights)]
  }

  var carrier: String {
    get { read(Airline.carrier) }
    set { write(newValue, Airline.carrier) }
  }
  var name: String {
    get { read(Airline.name) }
    set { write(newValue, Airline.name) }
  }
  var flights: RelatedObjects<Flight> { members(Airline.flights) }
}
