import Foundation
import Strata

/// The newest delayed flights of the log, as a board of departures shows them.
@MainActor
struct DepartureBoard {
  let context: ManagedObjectContext
  /// How many flights it has room for.
  let rows: Int

  /// The board's lines: a head, and a line for each flight.
  func lines() throws -> [String] {
    let flights = try context.fetch(request)
    let delayed = try context.count(for: FetchRequest<Flight>(entityName: "Flight", predicate: Self.isDelayed))
    let all = try context.count(for: FetchRequest<Flight>(entityName: "Flight"))
    var table = TextTable([
      ("date", .left), ("planned", .right), ("left", .right), ("late", .right), ("flight", .left), ("from", .left),
      ("to", .left),
    ])
    for flight in flights {
      table.add(
        String(format: "%04d-%02d-%02d", Int(flight.year), Int(flight.month), Int(flight.day)),
        Self.clock(flight.scheduledDepartureTime), Self.clock(flight.departureTime ?? 0),
        "+\(flight.departureDelay ?? 0)", "\(flight.carrier) \(flight.number)", flight.origin, flight.destination)
    }
    return ["\(all.grouped) flights, \(delayed.grouped) delayed; the newest:"] + table.lines
  }

  private static let isDelayed = Attribute("departureDelay") > 0

  private var request: FetchRequest<Flight> {
    var request = FetchRequest<Flight>(entityName: "Flight", predicate: Self.isDelayed)
    request.sortDescriptors = ["year", "month", "day", "scheduledDepartureTime", "line"].map {
      FetchSort($0, ascending: false)
    }
    request.fetchLimit = rows
    request.returnsObjectsAsFaults = false
    return request
  }

  /// 517 as 05:17.
  private static func clock(_ time: Int16) -> String { String(format: "%02d:%02d", Int(time) / 100, Int(time) % 100) }
}
