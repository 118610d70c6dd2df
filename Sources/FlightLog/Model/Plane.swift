import Strata

/// An aircraft, by its tail number.
final class Plane: ManagedObject {
  static let tailNumber = Slot<Plane, String>("tailNumber")
  static let year = Slot<Plane, Int16?>("year")
  static let type = Slot<Plane, String>("type")
  static let manufacturer = Slot<Plane, String>("manufacturer")
  static let model = Slot<Plane, String>("model")
  static let engines = Slot<Plane, Int16>("engines")
  static let seats = Slot<Plane, Int16>("seats")
  static let speed = Slot<Plane, Int16?>("speed")
  static let engine = Slot<Plane, String?>("engine")
  static let flights = Slot<Plane, Set<Flight>>("flights")

  override class var namedSlots: [NamedSlot]? {
    [
      NamedSlot(tailNumber), NamedSlot(year), NamedSlot(type), NamedSlot(manufacturer), NamedSlot(model),
      NamedSlot(engines), NamedSlot(seats), NamedSlot(speed), NamedSlot(engine), NamedSlot(flights),
    ]
  }

  var tailNumber: String {
    get { read(Plane.tailNumber) }
    set { write(newValue, Plane.tailNumber) }
  }
  var year: Int16? {
    get { read(Plane.year) }
    set { write(newValue, Plane.year) }
  }
  var type: String {
    get { read(Plane.type) }
    set { write(newValue, Plane.type) }
  }
  var manufacturer: String {
    get { read(Plane.manufacturer) }
    set { write(newValue, Plane.manufacturer) }
  }
  var model: String {
    get { read(Plane.model) }
    set { write(newValue, Plane.model) }
  }
  var engines: Int16 {
    get { read(Plane.engines) }
    set { write(newValue, Plane.engines) }
  }
  var seats: Int16 {
    get { read(Plane.seats) }
    set { write(newValue, Plane.seats) }
  }
  var speed: Int16? {
    get { read(Plane.speed) }
    set { write(newValue, Plane.speed) }
  }
  var engine: String? {
    get { read(Plane.engine) }
    set { write(newValue, Plane.engine) }
  }
  var flights: RelatedObjects<Flight> { members(Plane.flights) }
}
