/// The links between the tables, counted: from the CSV files, and from the store, which must agree.
struct LinkTally: Equatable, Sendable {
  /// Flights by what they are linked to.
  var toAirlines = 0
  var toPlanes = 0
  var toOrigins = 0
  var toDestinations = 0
  var toWeather = 0
  /// Weather linked to its airport.
  var weatherToAirports = 0
  /// Flights to the destinations that the airports file does not know.
  var flightsToMissing: [String: Int] = [:]
  var flightsOfUnknownPlanes = 0

  /// All links of flights.
  var ofFlights: Int { toAirlines + toPlanes + toOrigins + toDestinations + toWeather }
}

/// The keys of the small tables, as the files have them.
struct LinkKeys {
  var airlines: Set<String> = []
  var airports: Set<String> = []
  var planes: Set<String> = []
  var hours: Set<LinkTables.Hour> = []
}

extension LinkTally {
  /// Counts what a flight of the file is linked to.
  mutating func add(_ flight: FlightRow, _ keys: LinkKeys) {
    if keys.airlines.contains(flight.carrier) { toAirlines += 1 }
    if let tail = flight.tailNumber, keys.planes.contains(tail) {
      toPlanes += 1
    } else {
      flightsOfUnknownPlanes += 1
    }
    if keys.airports.contains(flight.origin) { toOrigins += 1 }
    if keys.airports.contains(flight.destination) {
      toDestinations += 1
    } else {
      flightsToMissing[flight.destination, default: 0] += 1
    }
    if keys.hours.contains(.init(origin: flight.origin, hour: flight.scheduledHour)) { toWeather += 1 }
  }
}
