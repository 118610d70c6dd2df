import Strata

/// An airport, by its FAA code.
final class Airport: ManagedObject {
  enum Slot: Int, CodingKey, CaseIterable {
    case faa, name, latitude, longitude, altitude, utcOffset, daylightSaving, timeZone
    case departures, arrivals, weather
  }

  override class var declaredSlots: [String]? { Slot.allCases.map(\.stringValue) }

  var faa: String {
    get { readString(slot: Slot.faa.rawValue) ?? "" }
    set { write(newValue, slot: Slot.faa.rawValue) }
  }
  var name: String {
    get { readString(slot: Slot.name.rawValue) ?? "" }
    set { write(newValue, slot: Slot.name.rawValue) }
  }
  var latitude: Double {
    get { readDouble(slot: Slot.latitude.rawValue) }
    set { write(newValue, slot: Slot.latitude.rawValue) }
  }
  var longitude: Double {
    get { readDouble(slot: Slot.longitude.rawValue) }
    set { write(newValue, slot: Slot.longitude.rawValue) }
  }
  var altitude: Int32 {
    get { readInt32(slot: Slot.altitude.rawValue) }
    set { write(newValue, slot: Slot.altitude.rawValue) }
  }
  var utcOffset: Double? {
    get { readOptionalDouble(slot: Slot.utcOffset.rawValue) }
    set { write(newValue, slot: Slot.utcOffset.rawValue) }
  }
  var daylightSaving: String? {
    get { readString(slot: Slot.daylightSaving.rawValue) }
    set { write(newValue, slot: Slot.daylightSaving.rawValue) }
  }
  var timeZone: String? {
    get { readString(slot: Slot.timeZone.rawValue) }
    set { write(newValue, slot: Slot.timeZone.rawValue) }
  }
  var departures: RelatedObjects<Flight> { related(slot: Slot.departures.rawValue) }
  var arrivals: RelatedObjects<Flight> { related(slot: Slot.arrivals.rawValue) }
  /// What was measured here, hour by hour.
  var weather: RelatedObjects<Weather> { related(slot: Slot.weather.rawValue) }
}
