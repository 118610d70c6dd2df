import Strata

/// Follows the links between the tables, forwards and backwards. On the queue of `context`, which must be a fresh one.
struct FlightLinks {
  let context: ManagedObjectContext

  /// What the store knows of the links.
  struct Findings: Sendable {
    var tally = LinkTally()
    var flightsByPlane: [String: Int] = [:]
    /// Flights at the other end of the relationships that lead back, for each of the five.
    var ledBack = 0
    /// Flights that are linked to something else than the row with their code.
    var wrong = 0
    var busiestPlane: String?
  }

  /// Reads the links of every flight, then asks the other ends for theirs.
  func follow() throws -> Findings {
    var findings = Findings()
    // Held for the whole pass: a link is then right when it leads to this very object.
    let tables = try LinkTables(allIn: context)
    try FlightPages.forEach(in: context) { flight in
      findings.tally.add(flight)
      if !tables.agree(with: flight) { findings.wrong += 1 }
    }
    for weather in tables.weather.values where weather.airport != nil {
      findings.tally.weatherToAirports += 1
    }
    // Each count is one look-up; no flight is loaded.
    for (tailNumber, plane) in tables.planes {
      let count = plane.flights.count
      if count > 0 { findings.flightsByPlane[tailNumber] = count }
      findings.ledBack += count
    }
    for airline in tables.airlines.values { findings.ledBack += airline.flights.count }
    for airport in tables.airports.values {
      findings.ledBack += airport.departures.count + airport.arrivals.count
    }
    for weather in tables.weather.values { findings.ledBack += weather.flights.count }
    let busiest = findings.flightsByPlane.max { ($0.value, $1.key) < ($1.value, $0.key) }
    if let plane = busiest.flatMap({ tables.planes[$0.key] }) { findings.busiestPlane = describe(plane) }
    return findings
  }

  /// A plane by what it flew: from the plane to its flights, from them to their airports.
  private func describe(_ plane: Plane) -> String {
    var flights = 0
    var miles = 0
    var airports: [Airport: Int] = [:]
    for flight in plane.flights {
      flights += 1
      miles += Int(flight.distance)
      if let airport = flight.destinationAirport { airports[airport, default: 0] += 1 }
    }
    var text = "\(plane.tailNumber), \(plane.manufacturer) \(plane.model): \(flights.grouped) flights, "
    text += "\(miles.grouped) miles to \(airports.count) airports"
    let favourite = airports.max { ($0.value, $1.key.faa) < ($1.value, $0.key.faa) }
    if let favourite { text += ", most to \(favourite.key.name) (\(favourite.value.grouped))" }
    return text
  }
}

extension LinkTally {
  /// Counts what a flight of the store is linked to. Reads the flight's own row only.
  fileprivate mutating func add(_ flight: Flight) {
    if flight.airline != nil { toAirlines += 1 }
    if flight.plane != nil { toPlanes += 1 } else { flightsOfUnknownPlanes += 1 }
    if flight.originAirport != nil { toOrigins += 1 }
    if flight.destinationAirport != nil {
      toDestinations += 1
    } else {
      flightsToMissing[flight.destination, default: 0] += 1
    }
    if flight.weather != nil { toWeather += 1 }
  }

  /// The tally in sentences.
  var lines: [String] {
    let missing = flightsToMissing.sorted { $0.key < $1.key }
      .map { "\($0.key) (\($0.value.grouped) flights)" }
    var lines = [
      "Links of flights: \(toAirlines.grouped) to airlines, \(toPlanes.grouped) to planes, "
        + "\(toOrigins.grouped) to origins, \(toDestinations.grouped) to destinations, \(toWeather.grouped) to weather",
      "Flights whose plane is unknown: \(flightsOfUnknownPlanes.grouped)",
    ]
    if !missing.isEmpty {
      lines.append(
        "Destinations missing from the airports file: \(missing.count): \(missing.joined(separator: ", "))")
    }
    return lines
  }
}

extension LinkTables {
  /// Whether the flight's links lead to exactly the objects with its codes.
  fileprivate func agree(with flight: Flight) -> Bool {
    flight.airline === airlines[flight.carrier]
      && flight.plane === flight.tailNumber.flatMap { planes[$0] }
      && flight.originAirport === airports[flight.origin]
      && flight.destinationAirport === airports[flight.destination]
      && flight.weather === weather[.init(origin: flight.origin, hour: flight.scheduledHour)]
  }
}
