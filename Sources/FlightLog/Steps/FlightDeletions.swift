import Foundation
import Strata

/// What delete rules do: one that forbids, one that goes on to others. Nothing imported is lost.
@MainActor
struct FlightDeletions {
  let container: PersistentContainer
  let tally: FlightTally

  /// The code of an airport that is made in order to be deleted.
  static let airfield = "(field)"
  static let airfieldHours = 24

  /// - Returns: what happened, as lines to print, and how many objects were deleted, for good or not.
  func run(_ report: RunReport) async throws -> (lines: [String], count: Int) {
    var lines: [String] = []
    var count = 0
    if let refusal = try await deleteAirline() {
      report.check("deleting an airline with flights", refusal.code, expected: Self.denied)
      report.check(
        "flights of the airline that stayed", refusal.flightsAfter, expected: refusal.flightsBefore)
      lines.append("Deleting \(refusal.name) is refused: \(refusal.sentence)")
    }
    if let cascade = try await deleteAirport() {
      let expected = 1 + tally.weatherByAirport[cascade.faa, default: 0]
      report.check("objects that go with \(cascade.faa)", cascade.deleted, expected: expected)
      report.check("flights that lose \(cascade.faa)", cascade.released, expected: cascade.traffic)
      report.check("objects after taking it back", cascade.left, expected: expected - 1 + cascade.traffic)
      lines.append(
        "Deleting \(cascade.name) takes \((cascade.deleted - 1).grouped) hours of weather with it and leaves "
          + "\(cascade.released.grouped) flights without it; rolled back")
      count += cascade.deleted
    }
    count += try deleteAirfield(report)
    return (lines, count)
  }

  private static let denied = CoreDataError.Code.validationRelationshipDeniedDelete

  // MARK: Deny

  private struct Refusal: Sendable {
    var name = ""
    var sentence = ""
    var code: CoreDataError.Code?
    var flightsBefore = 0
    var flightsAfter = 0
  }

  /// Deletes the airline that flies most, which its flights forbid.
  private func deleteAirline() async throws -> Refusal? {
    try await container.performBackgroundTask { context in
      let airlines = try context.fetch(
        FetchRequest<Airline>(entityName: "Airline", sortDescriptors: [FetchSort("carrier")]))
      let counted = airlines.map { ($0, $0.flights.count) }
      guard let (airline, flights) = counted.max(by: { $0.1 < $1.1 }), flights > 0 else { return nil }
      var refusal = Refusal(name: airline.name, flightsBefore: flights)
      context.delete(airline)
      do {
        try context.save()
        refusal.sentence = "it is gone"
      } catch let error as CoreDataError {
        refusal.sentence = error.localizedDescription
        refusal.code = error.code
      }
      context.rollback()
      refusal.flightsAfter = airline.flights.count
      return refusal
    }
  }

  // MARK: Cascade

  private struct Cascade: Sendable {
    var faa = ""
    var name = ""
    /// Flights from and to the airport.
    var traffic = 0
    var deleted = 0
    var released = 0
    /// The weather and flights of the airport afterwards.
    var left = 0
  }

  /// Deletes the airport with the most weather, looks at what goes with it, and takes it back.
  private func deleteAirport() async throws -> Cascade? {
    try await container.performBackgroundTask { context in
      let airports = try context.fetch(
        FetchRequest<Airport>(entityName: "Airport", sortDescriptors: [FetchSort("faa")]))
      let counted = airports.map { ($0, $0.weather.count) }
      guard let (airport, hours) = counted.max(by: { $0.1 < $1.1 }), hours > 0 else { return nil }
      var cascade = Cascade(faa: airport.faa, name: airport.name)
      cascade.traffic = airport.departures.count + airport.arrivals.count
      context.delete(airport)
      // The end of the event, which applies the delete rules; a save would do it as well.
      context.processPendingChanges()
      cascade.deleted = context.deletedObjects.count
      cascade.released = context.updatedObjects.count { object in
        guard let flight = object as? Flight else { return false }
        return flight.origin == cascade.faa && flight.originAirport == nil
          || flight.destination == cascade.faa && flight.destinationAirport == nil
      }
      context.rollback()
      cascade.left = airport.weather.count + airport.departures.count + airport.arrivals.count
      return cascade
    }
  }

  /// Makes an airport with a day of weather, saves it, deletes it, and finds none of both afterwards.
  private func deleteAirfield(_ report: RunReport) throws -> Int {
    let context = container.viewContext
    let hours = FetchRequest<Weather>(entityName: "Weather")
    let before = try context.count(for: hours)
    let field = Airport(context: context)
    field.faa = Self.airfield
    field.name = "a field"
    field.latitude = 40.7
    field.longitude = -74
    field.altitude = 3
    for hour in 0..<Self.airfieldHours {
      let weather = Weather(context: context)
      weather.origin = Self.airfield
      weather.hour = FlightTally.firstDay.lowerBound.addingTimeInterval(Double(hour) * 3_600)
      field.weather.insert(weather)
    }
    try context.save()
    report.check(
      "weather with a field's", try context.count(for: hours), expected: before + Self.airfieldHours)
    context.delete(field)
    try context.save()
    report.check("weather after the field's deletion", try context.count(for: hours), expected: before)
    return 1 + Self.airfieldHours
  }
}
