import Foundation

/// A line of `flights.csv`. Clock times are local numbers: 517 is 05:17.
struct FlightRow: TableRow, Hashable {
  enum Column: Int, TableColumn {
    case year, month, day, depTime, schedDepTime, depDelay, arrTime, schedArrTime, arrDelay
    case carrier, flight, tailnum, origin, dest, airTime, distance, hour, minute, timeHour
  }

  static let table = "flights"

  let year: Int16
  let month: Int16
  let day: Int16
  let departureTime: Int16?
  let scheduledDepartureTime: Int16
  let departureDelay: Int16?
  let arrivalTime: Int16?
  let scheduledArrivalTime: Int16
  let arrivalDelay: Int16?
  let carrier: String
  let number: Int32
  let tailNumber: String?
  let origin: String
  let destination: String
  let airTime: Int16?
  let distance: Int32
  let hour: Int16
  let minute: Int16
  let scheduledHour: Date

  init(_ fields: inout Fields<Column>) throws(Fields<Column>.Mistake) {
    year = try fields.integer(.year)
    month = try fields.integer(.month)
    day = try fields.integer(.day)
    departureTime = try fields.optionalInteger(.depTime)
    scheduledDepartureTime = try fields.integer(.schedDepTime)
    departureDelay = try fields.optionalInteger(.depDelay)
    arrivalTime = try fields.optionalInteger(.arrTime)
    scheduledArrivalTime = try fields.integer(.schedArrTime)
    arrivalDelay = try fields.optionalInteger(.arrDelay)
    carrier = try fields.string(.carrier)
    number = try fields.integer(.flight)
    tailNumber = try fields.optionalString(.tailnum)
    origin = try fields.string(.origin)
    destination = try fields.string(.dest)
    airTime = try fields.optionalInteger(.airTime)
    distance = try fields.integer(.distance)
    hour = try fields.integer(.hour)
    minute = try fields.integer(.minute)
    scheduledHour = try fields.time(.timeHour)
  }
}
