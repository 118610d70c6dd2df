import Foundation
import Strata

/// The newest delayed flights of the log, as a board of departures shows them: a controller keeps the list, whichever context changes it.
@MainActor
final class DepartureBoard {
  private let context: ManagedObjectContext
  private let controller: FetchedResultsController<Flight>

  /// A board with room for so many flights.
  init(context: ManagedObjectContext, rows: Int) throws {
    self.context = context
    controller = FetchedResultsController(
      fetchRequest: Self.request(rows: rows), managedObjectContext: context)
    try controller.performFetch()
  }

  /// Calls `body` once at first, and whenever other flights are to be shown; until the task is cancelled.
  func onChange(_ body: () -> Void) async {
    for await _ in controller.snapshots { body() }
  }

  /// The board's lines: a head, and a line for each flight.
  func lines() throws -> [String] {
    let flights = controller.fetchedObjects.map(Array.init) ?? []
    let delayed = try context.count(
      for: FetchRequest<Flight>(entityName: "Flight", predicate: Self.isDelayed))
    let all = try context.count(for: FetchRequest<Flight>(entityName: "Flight"))
    var table = TextTable([
      ("date", .left), ("planned", .right), ("left", .right), ("late", .right), ("flight", .left),
      ("from", .left),
      ("to", .left),
    ])
    for flight in flights {
      table.add(
        String(format: "%04d-%02d-%02d", Int(flight.year), Int(flight.month), Int(flight.day)),
        Self.clock(flight.scheduledDepartureTime), Self.clock(flight.departureTime ?? 0),
        "+\(flight.departureDelay ?? 0)", "\(flight.carrier) \(flight.number)", flight.origin,
        flight.destination)
    }
    return ["\(all.grouped) flights, \(delayed.grouped) delayed; the newest:"] + table.lines
  }

  private static let isDelayed = Attribute("departureDelay") > 0

  private static func request(rows: Int) -> FetchRequest<Flight> {
    var request = FetchRequest<Flight>(entityName: "Flight", predicate: isDelayed)
    request.sortDescriptors = ["year", "month", "day", "scheduledDepartureTime", "line"].map {
      FetchSort($0, ascending: false)
    }
    request.fetchLimit = rows
    request.returnsObjectsAsFaults = false
    return request
  }

  /// 517 as 05:17.
  private static func clock(_ time: Int16) -> String {
    String(format: "%02d:%02d", Int(time) / 100, Int(time) % 100)
  }
}
