import Foundation
import Strata

/// The questions asked of the log, each on the main context, each answer compared with the count taken from the CSV files.
@MainActor
struct FlightQueries {
  let context: ManagedObjectContext
  let tally: FlightTally

  /// Asks everything; returns the answers as lines to print, and how many objects and counts came back.
  func run(_ report: RunReport) throws -> (lines: [String], answers: Int) {
    var lines: [String] = []
    var answers = 0
    func ask(_ line: String, _ count: Int) {
      lines.append(line)
      answers += count
    }

    let route = FlightTally.Route(origin: "JFK", destination: "LAX")
    let flights = try context.fetch(
      FetchRequest<Flight>(
        entityName: "Flight", predicate: Attribute("origin") == "JFK" && Attribute("destination") == "LAX"))
    report.check("flights \(route)", flights.count, expected: tally.flightsByRoute[route, default: 0])
    ask("From JFK to LAX: \(flights.count.grouped) flights", flights.count)

    let perCarrier = try countFlightsPerCarrier()
    for (airline, count) in perCarrier {
      report.check("flights of \(airline)", count, expected: tally.flightsByCarrier[airline, default: 0])
    }
    let busiest = perCarrier.sorted { ($1.count, $0.carrier) < ($0.count, $1.carrier) }.prefix(3)
    ask(
      "Busiest airlines: " + busiest.map { "\($0.carrier) \($0.count.grouped)" }.joined(separator: ", "),
      perCarrier.count)

    let worst = try context.fetch(
      FetchRequest<Flight>(
        entityName: "Flight", sortDescriptors: [FetchSort("departureDelay", ascending: false)],
        fetchLimit: FlightTally.delayCount))
    report.check("longest delays", worst.compactMap(\.departureDelay), expected: tally.longestDelays)
    ask(
      "Longest delays in minutes: "
        + worst.compactMap { $0.departureDelay.map { "\($0)" } }.joined(separator: " "), worst.count)
    if let flight = worst.first { ask(describe(flight), 5) }

    let cancelled = try count("Flight", Attribute("departureTime") == nil)
    report.check("cancelled flights", cancelled, expected: tally.cancelledFlights)
    ask("Cancelled flights: \(cancelled.grouped)", cancelled)

    let day = FlightTally.firstDay
    let firstDay = try count(
      "Flight", Attribute("scheduledHour") >= day.lowerBound && Attribute("scheduledHour") < day.upperBound)
    report.check("flights on New Year's Day", firstDay, expected: tally.flightsOnFirstDay)
    ask("Flights on New Year's Day: \(firstDay.grouped)", firstDay)

    let oldPlanes = try count("Plane", Attribute("year") < FlightTally.oldPlaneYear)
    report.check("old planes", oldPlanes, expected: tally.oldPlanes)
    ask("Planes built before \(FlightTally.oldPlaneYear): \(oldPlanes)", oldPlanes)

    let windyHours = try count("Weather", Attribute("windSpeed") > FlightTally.windySpeed)
    report.check("windy hours", windyHours, expected: tally.windyHours)
    ask("Hours with wind above \(Int(FlightTally.windySpeed)) mph: \(windyHours)", windyHours)
    return (lines, answers)
  }

  private func count(_ entity: String, _ predicate: FetchPredicate) throws -> Int {
    try context.count(for: FetchRequest<ManagedObject>(entityName: entity, predicate: predicate))
  }

  private func countFlightsPerCarrier() throws -> [(carrier: String, count: Int)] {
    let request = FetchRequest<Airline>(entityName: "Airline", sortDescriptors: [FetchSort("carrier")])
    return try context.fetch(request).map { airline in
      (airline.carrier, try count("Flight", Attribute("carrier") == airline.carrier))
    }
  }

  /// A flight with the objects it is linked to.
  private func describe(_ flight: Flight) -> String {
    var text = "The longest: \(flight.airline?.name ?? flight.carrier) \(flight.number)"
    text += " from \(flight.originAirport?.name ?? flight.origin)"
    text += " to \(flight.destinationAirport?.name ?? flight.destination)"
    text += " on \(flight.year)-\(flight.month)-\(flight.day)"
    if let plane = flight.plane { text += ", \(plane.manufacturer) \(plane.model)" }
    if let temperature = flight.weather?.temperature { text += ", \(temperature) °F" }
    return text
  }
}
