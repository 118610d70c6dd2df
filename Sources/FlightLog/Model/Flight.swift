import Foundation
import Strata

/// One scheduled departure from New York.
/// Clock times are local numbers: 517 is 05:17; nil when it never left.
///
/// `carrier`, `tailNumber`, `origin` and `destination` are the codes of the file. They stay beside the relationships, and keep
/// the plain names: queries ask for them, and they are all there is where the file of airports or planes has no such row.
final class Flight: ManagedObject {
  static let line = Slot<Flight, Int64>("line")
  static let year = Slot<Flight, Int16>("year")
  static let month = Slot<Flight, Int16>("month")
  static let day = Slot<Flight, Int16>("day")
  static let departureTime = Slot<Flight, Int16?>("departureTime")
  static let scheduledDepartureTime = Slot<Flight, Int16>("scheduledDepartureTime")
  static let departureDelay = Slot<Flight, Int16?>("departureDelay")
  static let arrivalTime = Slot<Flight, Int16?>("arrivalTime")
  static let scheduledArrivalTime = Slot<Flight, Int16>("scheduledArrivalTime")
  static let arrivalDelay = Slot<Flight, Int16?>("arrivalDelay")
  static let carrier = Slot<Flight, String>("carrier")
  static let number = Slot<Flight, Int32>("number")
  static let tailNumber = Slot<Flight, String?>("tailNumber")
  static let origin = Slot<Flight, String>("origin")
  static let destination = Slot<Flight, String>("destination")
  static let airTime = Slot<Flight, Int16?>("airTime")
  static let distance = Slot<Flight, Int32>("distance")
  static let hour = Slot<Flight, Int16>("hour")
  static let minute = Slot<Flight, Int16>("minute")
  static let scheduledHour = Slot<Flight, Date?>("scheduledHour")
  static let remark = Slot<Flight, String?>("remark")
  static let airline = Slot<Flight, Airline?>("airline")
  static let plane = Slot<Flight, Plane?>("plane")
  static let originAirport = Slot<Flight, Airport?>("originAirport")
  static let destinationAirport = Slot<Flight, Airport?>("destinationAirport")
  static let weather = Slot<Flight, Weather?>("weather")

  override class var namedSlots: [NamedSlot]? {
    [
      NamedSlot(line), NamedSlot(year), NamedSlot(month), NamedSlot(day), NamedSlot(departureTime),
      NamedSlot(scheduledDepartureTime), NamedSlot(departureDelay), NamedSlot(arrivalTime),
      NamedSlot(scheduledArrivalTime), NamedSlot(arrivalDelay), NamedSlot(carrier), NamedSlot(number),
      NamedSlot(tailNumber), NamedSlot(origin), NamedSlot(destination), NamedSlot(airTime),
      NamedSlot(distance), NamedSlot(hour), NamedSlot(minute), NamedSlot(scheduledHour), NamedSlot(remark),
      NamedSlot(airline), NamedSlot(plane), NamedSlot(originAirport), NamedSlot(destinationAirport),
      NamedSlot(weather),
    ]
  }

  /// Where the flight stands in its file: the order of the log, and its key.
  var line: Int64 {
    get { read(Flight.line) }
    set { write(newValue, Flight.line) }
  }
  var year: Int16 {
    get { read(Flight.year) }
    set { write(newValue, Flight.year) }
  }
  var month: Int16 {
    get { read(Flight.month) }
    set { write(newValue, Flight.month) }
  }
  var day: Int16 {
    get { read(Flight.day) }
    set { write(newValue, Flight.day) }
  }
  var departureTime: Int16? {
    get { read(Flight.departureTime) }
    set { write(newValue, Flight.departureTime) }
  }
  var scheduledDepartureTime: Int16 {
    get { read(Flight.scheduledDepartureTime) }
    set { write(newValue, Flight.scheduledDepartureTime) }
  }
  var departureDelay: Int16? {
    get { read(Flight.departureDelay) }
    set { write(newValue, Flight.departureDelay) }
  }
  var arrivalTime: Int16? {
    get { read(Flight.arrivalTime) }
    set { write(newValue, Flight.arrivalTime) }
  }
  var scheduledArrivalTime: Int16 {
    get { read(Flight.scheduledArrivalTime) }
    set { write(newValue, Flight.scheduledArrivalTime) }
  }
  var arrivalDelay: Int16? {
    get { read(Flight.arrivalDelay) }
    set { write(newValue, Flight.arrivalDelay) }
  }
  var carrier: String {
    get { read(Flight.carrier) }
    set { write(newValue, Flight.carrier) }
  }
  var number: Int32 {
    get { read(Flight.number) }
    set { write(newValue, Flight.number) }
  }
  var tailNumber: String? {
    get { read(Flight.tailNumber) }
    set { write(newValue, Flight.tailNumber) }
  }
  var origin: String {
    get { read(Flight.origin) }
    set { write(newValue, Flight.origin) }
  }
  var destination: String {
    get { read(Flight.destination) }
    set { write(newValue, Flight.destination) }
  }
  var airTime: Int16? {
    get { read(Flight.airTime) }
    set { write(newValue, Flight.airTime) }
  }
  var distance: Int32 {
    get { read(Flight.distance) }
    set { write(newValue, Flight.distance) }
  }
  var hour: Int16 {
    get { read(Flight.hour) }
    set { write(newValue, Flight.hour) }
  }
  var minute: Int16 {
    get { read(Flight.minute) }
    set { write(newValue, Flight.minute) }
  }
  var scheduledHour: Date {
    get { read(Flight.scheduledHour) ?? .distantPast }
    set { write(newValue, Flight.scheduledHour) }
  }
  /// A remark about the flight; not part of the imported data.
  var remark: String? {
    get { read(Flight.remark) }
    set { write(newValue, Flight.remark) }
  }

  var airline: Airline? {
    get { read(Flight.airline) }
    set { write(newValue, Flight.airline) }
  }
  var plane: Plane? {
    get { read(Flight.plane) }
    set { write(newValue, Flight.plane) }
  }
  var originAirport: Airport? {
    get { read(Flight.originAirport) }
    set { write(newValue, Flight.originAirport) }
  }
  var destinationAirport: Airport? {
    get { read(Flight.destinationAirport) }
    set { write(newValue, Flight.destinationAirport) }
  }
  /// The weather at the origin in the hour of the scheduled departure.
  var weather: Weather? {
    get { read(Flight.weather) }
    set { write(newValue, Flight.weather) }
  }
}
