import Foundation
import Strata

/// One scheduled departure from New York.
/// Clock times are local numbers: 517 is 05:17; nil when it never left.
///
/// `carrier`, `tailNumber`, `origin` and `destination` are the codes of the file. They stay beside the relationships, and keep
/// the plain names: queries ask for them, and they are all there is where the file of airports or planes has no such row.
final class Flight: ManagedObject {
  enum Slot: Int, CodingKey, CaseIterable {
    case line, year, month, day, departureTime, scheduledDepartureTime, departureDelay, arrivalTime
    case scheduledArrivalTime, arrivalDelay, carrier, number, tailNumber, origin, destination, airTime
    case distance, hour, minute, scheduledHour, remark
    case airline, plane, originAirport, destinationAirport, weather
  }

  override class var declaredSlots: [String]? { Slot.allCases.map(\.stringValue) }

  /// Where the flight stands in its file: the order of the log, and its key.
  var line: Int64 {
    get { readInt64(slot: Slot.line.rawValue) }
    set { write(newValue, slot: Slot.line.rawValue) }
  }
  var year: Int16 {
    get { readInt16(slot: Slot.year.rawValue) }
    set { write(newValue, slot: Slot.year.rawValue) }
  }
  var month: Int16 {
    get { readInt16(slot: Slot.month.rawValue) }
    set { write(newValue, slot: Slot.month.rawValue) }
  }
  var day: Int16 {
    get { readInt16(slot: Slot.day.rawValue) }
    set { write(newValue, slot: Slot.day.rawValue) }
  }
  var departureTime: Int16? {
    get { readOptionalInt16(slot: Slot.departureTime.rawValue) }
    set { write(newValue, slot: Slot.departureTime.rawValue) }
  }
  var scheduledDepartureTime: Int16 {
    get { readInt16(slot: Slot.scheduledDepartureTime.rawValue) }
    set { write(newValue, slot: Slot.scheduledDepartureTime.rawValue) }
  }
  var departureDelay: Int16? {
    get { readOptionalInt16(slot: Slot.departureDelay.rawValue) }
    set { write(newValue, slot: Slot.departureDelay.rawValue) }
  }
  var arrivalTime: Int16? {
    get { readOptionalInt16(slot: Slot.arrivalTime.rawValue) }
    set { write(newValue, slot: Slot.arrivalTime.rawValue) }
  }
  var scheduledArrivalTime: Int16 {
    get { readInt16(slot: Slot.scheduledArrivalTime.rawValue) }
    set { write(newValue, slot: Slot.scheduledArrivalTime.rawValue) }
  }
  var arrivalDelay: Int16? {
    get { readOptionalInt16(slot: Slot.arrivalDelay.rawValue) }
    set { write(newValue, slot: Slot.arrivalDelay.rawValue) }
  }
  var carrier: String {
    get { readString(slot: Slot.carrier.rawValue) ?? "" }
    set { write(newValue, slot: Slot.carrier.rawValue) }
  }
  var number: Int32 {
    get { readInt32(slot: Slot.number.rawValue) }
    set { write(newValue, slot: Slot.number.rawValue) }
  }
  var tailNumber: String? {
    get { readString(slot: Slot.tailNumber.rawValue) }
    set { write(newValue, slot: Slot.tailNumber.rawValue) }
  }
  var origin: String {
    get { readString(slot: Slot.origin.rawValue) ?? "" }
    set { write(newValue, slot: Slot.origin.rawValue) }
  }
  var destination: String {
    get { readString(slot: Slot.destination.rawValue) ?? "" }
    set { write(newValue, slot: Slot.destination.rawValue) }
  }
  var airTime: Int16? {
    get { readOptionalInt16(slot: Slot.airTime.rawValue) }
    set { write(newValue, slot: Slot.airTime.rawValue) }
  }
  var distance: Int32 {
    get { readInt32(slot: Slot.distance.rawValue) }
    set { write(newValue, slot: Slot.distance.rawValue) }
  }
  var hour: Int16 {
    get { readInt16(slot: Slot.hour.rawValue) }
    set { write(newValue, slot: Slot.hour.rawValue) }
  }
  var minute: Int16 {
    get { readInt16(slot: Slot.minute.rawValue) }
    set { write(newValue, slot: Slot.minute.rawValue) }
  }
  var scheduledHour: Date {
    get { readDate(slot: Slot.scheduledHour.rawValue) ?? .distantPast }
    set { write(newValue, slot: Slot.scheduledHour.rawValue) }
  }
  /// A remark about the flight; not part of the imported data.
  var remark: String? {
    get { readString(slot: Slot.remark.rawValue) }
    set { write(newValue, slot: Slot.remark.rawValue) }
  }

  var airline: Airline? {
    get { readObject(slot: Slot.airline.rawValue) }
    set { write(newValue, slot: Slot.airline.rawValue) }
  }
  var plane: Plane? {
    get { readObject(slot: Slot.plane.rawValue) }
    set { write(newValue, slot: Slot.plane.rawValue) }
  }
  var originAirport: Airport? {
    get { readObject(slot: Slot.originAirport.rawValue) }
    set { write(newValue, slot: Slot.originAirport.rawValue) }
  }
  var destinationAirport: Airport? {
    get { readObject(slot: Slot.destinationAirport.rawValue) }
    set { write(newValue, slot: Slot.destinationAirport.rawValue) }
  }
  /// The weather at the origin in the hour of the scheduled departure.
  var weather: Weather? {
    get { readObject(slot: Slot.weather.rawValue) }
    set { write(newValue, slot: Slot.weather.rawValue) }
  }
}
