import Foundation

/// What the CSV files themselves say, counted in one pass over each: the measure for every answer of the store.
struct FlightTally: Equatable, Sendable {
  struct Route: Hashable, Sendable, CustomStringConvertible {
    let origin: String
    let destination: String
    var description: String { "\(origin) → \(destination)" }
  }

  /// Sound rows by table.
  var rows: [String: Int] = [:]
  /// Damaged lines by table.
  var damages: [String: Int] = [:]
  var flightsByCarrier: [String: Int] = [:]
  var flightsByRoute: [Route: Int] = [:]
  var cancelledFlights = 0
  var distanceFlown = 0
  var longestDelays: [Int16] = []
  var flightsOnFirstDay = 0
  var oldPlanes = 0
  var windyHours = 0
  var links = LinkTally()
  /// Flights by plane, of the planes that are known and have flown.
  var flightsByPlane: [String: Int] = [:]
  var weatherByAirport: [String: Int] = [:]
  /// A digest of all fields of all flights in the file's order.
  var flightDigest = Digest()

  /// How many of the longest delays are kept.
  static let delayCount = 10
  /// New Year's Day 2013 in New York, in UTC.
  static let firstDay =
    Date(timeIntervalSince1970: 1_357_016_400)..<Date(timeIntervalSince1970: 1_357_016_400 + 86_400)
  static let oldPlaneYear: Int16 = 1980
  static let windySpeed = 30.0

  /// Sound rows of all tables.
  var rowCount: Int { rows.values.reduce(0, +) }

  /// Counts all five tables.
  init(of source: DataFolder) throws {
    var keys = LinkKeys()
    try count(AirlineRow.self, in: source) { keys.airlines.insert($1.carrier) }
    try count(AirportRow.self, in: source) { keys.airports.insert($1.faa) }
    try count(PlaneRow.self, in: source) { tally, row in
      keys.planes.insert(row.tailNumber)
      if let year = row.year, year < Self.oldPlaneYear { tally.oldPlanes += 1 }
    }
    try count(WeatherRow.self, in: source) { tally, row in
      keys.hours.insert(.init(origin: row.origin, hour: row.hour))
      tally.weatherByAirport[row.origin, default: 0] += 1
      if keys.airports.contains(row.origin) { tally.links.weatherToAirports += 1 }
      if let speed = row.windSpeed, speed > Self.windySpeed { tally.windyHours += 1 }
    }
    try count(FlightRow.self, in: source) { tally, row in
      tally.add(row)
      tally.links.add(row, keys)
      if let tail = row.tailNumber, keys.planes.contains(tail) {
        tally.flightsByPlane[tail, default: 0] += 1
      }
    }
  }

  private mutating func count<Row: TableRow>(
    _ type: Row.Type, in source: DataFolder, _ body: (inout FlightTally, Row) -> Void
  ) throws {
    var reader = try TableReader<Row>(source)
    var count = 0
    while let row = try reader.next() {
      count += 1
      body(&self, row)
    }
    rows[Row.table] = count
    damages[Row.table] = reader.damageCount
  }

  private mutating func add(_ flight: FlightRow) {
    flightsByCarrier[flight.carrier, default: 0] += 1
    flightsByRoute[Route(origin: flight.origin, destination: flight.destination), default: 0] += 1
    if flight.departureTime == nil { cancelledFlights += 1 }
    distanceFlown += Int(flight.distance)
    if Self.firstDay.contains(flight.scheduledHour) { flightsOnFirstDay += 1 }
    if let delay = flight.departureDelay { keep(delay) }
    flightDigest.add(flight)
  }

  private mutating func keep(_ delay: Int16) {
    guard longestDelays.count < Self.delayCount || delay > longestDelays[longestDelays.count - 1] else {
      return
    }
    let place = longestDelays.firstIndex { $0 < delay } ?? longestDelays.count
    longestDelays.insert(delay, at: place)
    if longestDelays.count > Self.delayCount { longestDelays.removeLast() }
  }
}

/// A 64-bit FNV-1a hash: the same rows in the same order give the same number, on every machine.
struct Digest: Equatable, Sendable, CustomStringConvertible {
  private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

  var description: String {
    let digits = String(value, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }

  mutating func add(_ bytes: some Sequence<UInt8>) {
    for byte in bytes { value = (value ^ UInt64(byte)) &* 0x100_0000_01B3 }
  }

  mutating func add(_ number: some BinaryInteger) {
    // 8 bytes in one step: quick, and as good for telling rows apart.
    value = (value ^ UInt64(truncatingIfNeeded: number)) &* 0x100_0000_01B3
    value ^= value >> 32
  }

  private mutating func add(_ text: String?) {
    guard let text else { return add(-1) }
    add(text.utf8.count)
    add(text.utf8)
  }

  private mutating func add(_ number: Int16?) {
    guard let number else { return add(Int.min) }
    add(Int(number))
  }

  mutating func add(_ flight: FlightRow) {
    for number in [flight.year, flight.month, flight.day, flight.hour, flight.minute] { add(number) }
    add(flight.departureTime)
    add(flight.scheduledDepartureTime)
    add(flight.departureDelay)
    add(flight.arrivalTime)
    add(flight.scheduledArrivalTime)
    add(flight.arrivalDelay)
    add(flight.airTime)
    add(flight.carrier)
    add(Int(flight.number))
    add(flight.tailNumber)
    add(flight.origin)
    add(flight.destination)
    add(Int(flight.distance))
    add(Int(flight.scheduledHour.timeIntervalSinceReferenceDate))
  }
}
