import Foundation
import Strata

/// The weather of one hour at one airport.
final class Weather: ManagedObject {
  static let origin = Slot<Weather, String>("origin")
  static let hour = Slot<Weather, Date?>("hour")
  static let temperature = Slot<Weather, Double?>("temperature")
  static let dewPoint = Slot<Weather, Double?>("dewPoint")
  static let humidity = Slot<Weather, Double?>("humidity")
  static let windDirection = Slot<Weather, Int16?>("windDirection")
  static let windSpeed = Slot<Weather, Double?>("windSpeed")
  static let windGust = Slot<Weather, Double?>("windGust")
  static let precipitation = Slot<Weather, Double?>("precipitation")
  static let pressure = Slot<Weather, Double?>("pressure")
  static let visibility = Slot<Weather, Double?>("visibility")
  static let airport = Slot<Weather, Airport?>("airport")
  static let flights = Slot<Weather, Set<Flight>>("flights")

  override class var namedSlots: [NamedSlot]? {
    [
      NamedSlot(origin), NamedSlot(hour), NamedSlot(temperature), NamedSlot(dewPoint), NamedSlot(humidity),
      NamedSlot(windDirection), NamedSlot(windSpeed), NamedSlot(windGust), NamedSlot(precipitation),
      NamedSlot(pressure), NamedSlot(visibility), NamedSlot(airport), NamedSlot(flights),
    ]
  }

  /// The airport's code, also where `airport` leads nowhere.
  var origin: String {
    get { read(Weather.origin) }
    set { write(newValue, Weather.origin) }
  }
  var hour: Date {
    get { read(Weather.hour) ?? .distantPast }
    set { write(newValue, Weather.hour) }
  }
  var temperature: Double? {
    get { read(Weather.temperature) }
    set { write(newValue, Weather.temperature) }
  }
  var dewPoint: Double? {
    get { read(Weather.dewPoint) }
    set { write(newValue, Weather.dewPoint) }
  }
  var humidity: Double? {
    get { read(Weather.humidity) }
    set { write(newValue, Weather.humidity) }
  }
  var windDirection: Int16? {
    get { read(Weather.windDirection) }
    set { write(newValue, Weather.windDirection) }
  }
  var windSpeed: Double? {
    get { read(Weather.windSpeed) }
    set { write(newValue, Weather.windSpeed) }
  }
  var windGust: Double? {
    get { read(Weather.windGust) }
    set { write(newValue, Weather.windGust) }
  }
  var precipitation: Double? {
    get { read(Weather.precipitation) }
    set { write(newValue, Weather.precipitation) }
  }
  var pressure: Double? {
    get { read(Weather.pressure) }
    set { write(newValue, Weather.pressure) }
  }
  var visibility: Double? {
    get { read(Weather.visibility) }
    set { write(newValue, Weather.visibility) }
  }
  var airport: Airport? {
    get { read(Weather.airport) }
    set { write(newValue, Weather.airport) }
  }
  /// The flights that were to leave here in this hour.
  var flights: RelatedObjects<Flight> { members(Weather.flights) }
}
