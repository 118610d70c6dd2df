import Foundation
import Strata

/// The weather of one hour at one airport.
final class Weather: ManagedObject {
  enum Slot: Int, CodingKey, CaseIterable {
    case origin, hour, temperature, dewPoint, humidity, windDirection, windSpeed, windGust
    case precipitation, pressure, visibility, airport, flights
  }

  override class var declaredSlots: [String]? { Slot.allCases.map(\.stringValue) }

  /// The airport's code, also where `airport` leads nowhere.
  var origin: String {
    get { readString(slot: Slot.origin.rawValue) ?? "" }
    set { write(newValue, slot: Slot.origin.rawValue) }
  }
  var hour: Date {
    get { readDate(slot: Slot.hour.rawValue) ?? .distantPast }
    set { write(newValue, slot: Slot.hour.rawValue) }
  }
  var temperature: Double? {
    get { readOptionalDouble(slot: Slot.temperature.rawValue) }
    set { write(newValue, slot: Slot.temperature.rawValue) }
  }
  var dewPoint: Double? {
    get { readOptionalDouble(slot: Slot.dewPoint.rawValue) }
    set { write(newValue, slot: Slot.dewPoint.rawValue) }
  }
  var humidity: Double? {
    get { readOptionalDouble(slot: Slot.humidity.rawValue) }
    set { write(newValue, slot: Slot.humidity.rawValue) }
  }
  var windDirection: Int16? {
    get { readOptionalInt16(slot: Slot.windDirection.rawValue) }
    set { write(newValue, slot: Slot.windDirection.rawValue) }
  }
  var windSpeed: Double? {
    get { readOptionalDouble(slot: Slot.windSpeed.rawValue) }
    set { write(newValue, slot: Slot.windSpeed.rawValue) }
  }
  var windGust: Double? {
    get { readOptionalDouble(slot: Slot.windGust.rawValue) }
    set { write(newValue, slot: Slot.windGust.rawValue) }
  }
  var precipitation: Double? {
    get { readOptionalDouble(slot: Slot.precipitation.rawValue) }
    set { write(newValue, slot: Slot.precipitation.rawValue) }
  }
  var pressure: Double? {
    get { readOptionalDouble(slot: Slot.pressure.rawValue) }
    set { write(newValue, slot: Slot.pressure.rawValue) }
  }
  var visibility: Double? {
    get { readOptionalDouble(slot: Slot.visibility.rawValue) }
    set { write(newValue, slot: Slot.visibility.rawValue) }
  }
  var airport: Airport? {
    get { readObject(slot: Slot.airport.rawValue) }
    set { write(newValue, slot: Slot.airport.rawValue) }
  }
  /// The flights that were to leave here in this hour.
  var flights: RelatedObjects<Flight> { related(slot: Slot.flights.rawValue) }
}
