import Foundation

/// One library's store of flights that refer to airlines, planes, airports and weather. One call per timed run.
protocol GraphPeer: AnyObject {
  /// Saves all tables, each flight linked to its airline, plane, two airports and weather as far as they are known: the small
  /// tables with one durable save, then flights with one for each `batch`.
  func importAll(_ data: GraphData, batch: Int) throws

  /// Goes from each plane to its flights and reads every attribute of each, and from each flight back to its plane.
  func traverse() throws -> GraphTouch

  /// Deletes these planes, and with them their flights, with one durable save.
  func delete(tails: [String]) throws

  /// What is stored, counted. Not timed.
  func counts() throws -> GraphCounts

  func close() throws
}

/// What a traversal has read, added up: wrong when a flight is missing, doubled or at the wrong plane.
struct GraphTouch: Equatable {
  var planes = 0
  var flights = 0
  var integers: Int64 = 0
  var bits: UInt64 = 0
  var characters = 0

  @inline(__always)
  mutating func add(
    line: Int64, number: Int64, scheduled: Int64, distance: Int64, delay: Double?, airTime: Double?,
    departure: Date, carrier: String, tail: String?, origin: String, destination: String
  ) {
    flights += 1
    integers &+= line &+ number &+ scheduled &+ distance
    bits &+= (delay ?? 1e9).bitPattern &+ (airTime ?? 1e9).bitPattern
    bits &+= departure.timeIntervalSinceReferenceDate.bitPattern
    characters &+= carrier.utf8.count &+ (tail?.utf8.count ?? 0)
    characters &+= origin.utf8.count &+ destination.utf8.count
  }

  @inline(__always)
  mutating func add(_ flight: GraphData.Flight) {
    add(
      line: flight.line, number: flight.number, scheduled: flight.scheduled, distance: flight.distance,
      delay: flight.delay, airTime: flight.airTime, departure: flight.departure, carrier: flight.carrier,
      tail: flight.tail, origin: flight.origin, destination: flight.destination)
  }
}

/// Rows, and flights by what they are linked to, asked from the other end.
struct GraphCounts: Equatable, CustomStringConvertible {
  var flights = 0
  var toAirlines = 0
  var toPlanes = 0
  var toOrigins = 0
  var toDestinations = 0
  var toWeather = 0

  var description: String {
    "\(flights) flights linked to \(toAirlines) airlines, \(toPlanes) planes, \(toOrigins) origins, "
      + "\(toDestinations) destinations, \(toWeather) hours of weather"
  }
}

extension GraphData {
  /// What a peer must find after importing, without the flights of the planes `deleted`.
  func expectedCounts(without deleted: Set<String> = []) -> GraphCounts {
    let airlines = Set(airlines.map(\.carrier))
    let airports = Set(airports.map(\.faa))
    let planes = Set(planes.map(\.tail))
    let hours = Set(weather.map(\.hour))
    var counts = GraphCounts()
    for flight in flights where !deleted.contains(flight.tail ?? "") {
      counts.flights += 1
      if airlines.contains(flight.carrier) { counts.toAirlines += 1 }
      if let tail = flight.tail, planes.contains(tail) { counts.toPlanes += 1 }
      if airports.contains(flight.origin) { counts.toOrigins += 1 }
      if airports.contains(flight.destination) { counts.toDestinations += 1 }
      if hours.contains(flight.hour) { counts.toWeather += 1 }
    }
    return counts
  }

  func expectedTouch() -> GraphTouch {
    let known = Set(planes.map(\.tail))
    var touch = GraphTouch(planes: planes.count)
    for flight in flights where known.contains(flight.tail ?? "") { touch.add(flight) }
    return touch
  }
}
