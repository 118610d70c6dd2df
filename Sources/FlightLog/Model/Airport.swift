import Strata

/// An airport, by its FAA code.
final class Airport: ManagedObject {
  static let faa = Slot<Airport, String>("faa")
  static let name = Slot<Airport, String>("name")
  static let latitude = Slot<Airport, Double>("latitude")
  static let longitude = Slot<Airport, Double>("longitude")
  static let altitude = Slot<Airport, Int32>("altitude")
  static let utcOffset = Slot<Airport, Double?>("utcOffset")
  static let daylightSaving = Slot<Airport, String?>("daylightSaving")
  static let timeZone = Slot<Airport, String?>("timeZone")
  static let departures = Slot<Airport, Set<Flight>>("departures")
  static let arrivals = Slot<Airport, Set<Flight>>("arrivals")
  static let weather = Slot<Airport, Set<Weather>>("weather")

  override class var namedSlots: [NamedSlot]? {
    [
      NamedSlot(faa), NamedSlot(name), NamedSlot(latitude), NamedSlot(longitude), NamedSlot(altitude),
      NamedSlot(utcOffset), NamedSlot(daylightSaving), NamedSlot(timeZone), NamedSlot(departures),
      NamedSlot(arrivals), NamedSlot(weather),
    ]
  }

  var faa: String {
    get { read(Airport.faa) }
    set { write(newValue, Airport.faa) }
  }
  var name: String {
    get { read(Airport.name) }
    set { write(newValue, Airport.name) }
  }
  var latitude: Double {
    get { read(Airport.latitude) }
    set { write(newValue, Airport.latitude) }
  }
  var longitude: Double {
    get { read(Airport.longitude) }
    set { write(newValue, Airport.longitude) }
  }
  var altitude: Int32 {
    get { read(Airport.altitude) }
    set { write(newValue, Airport.altitude) }
  }
  var utcOffset: Double? {
    get { read(Airport.utcOffset) }
    set { write(newValue, Airport.utcOffset) }
  }
  var daylightSaving: String? {
    get { read(Airport.daylightSaving) }
    set { write(newValue, Airport.daylightSaving) }
  }
  var timeZone: String? {
    get { read(Airport.timeZone) }
    set { write(newValue, Airport.timeZone) }
  }
  var departures: RelatedObjects<Flight> { members(Airport.departures) }
  var arrivals: RelatedObjects<Flight> { members(Airport.arrivals) }
  /// What was measured here, hour by hour.
  var weather: RelatedObjects<Weather> { members(Airport.weather) }
}
