import Foundation
import Strata

/// Strata through its public API alone. Durability `.full`.
final class StrataGraph: GraphPeer {
  private let container: PersistentContainer
  private let savesWhileImporting: Bool

  /// - Parameter savesWhileImporting: Whether flights are saved with `saveAsynchronously()`, which writes one batch while the
  ///   next is made, or each batch with `save()`.
  init(directory: URL, savesWhileImporting: Bool = false) async throws {
    self.savesWhileImporting = savesWhileImporting
    container = PersistentContainer(name: "Graph", model: GraphModel.model)
    var description = PersistentStoreDescription(url: directory.appendingPathComponent("graph.strata"))
    description.durability = .full
    container.persistentStoreDescriptions = [description]
    try await container.loadPersistentStores()
  }

  func importAll(_ data: GraphData, batch: Int) async throws {
    let context = container.newBackgroundContext()
    let savesWhileImporting = savesWhileImporting
    let tables = try await context.perform {
      let tables = Tables(data, in: context)
      try context.save()
      return tables
    }
    var underWay: Task<Void, any Error>?
    for first in stride(from: 0, to: data.flights.count, by: batch) {
      let batch = data.flights[first..<min(first + batch, data.flights.count)]
      try await context.perform {
        tables.add(batch, to: context)
        if !savesWhileImporting { try context.save() }
      }
      if savesWhileImporting {
        // The batch before is durable; this one becomes so while the next is made.
        try await underWay?.value
        underWay = Task { try await context.saveAsynchronously() }
      }
    }
    try await underWay?.value
  }

  /// What flights refer to. Used on the context's queue only, as the objects in it: hence unchecked.
  private final class Tables: @unchecked Sendable {
    private var airlines: [String: GraphAirline] = [:]
    private var airports: [String: GraphAirport] = [:]
    private var planes: [String: GraphPlane] = [:]
    private var hours: [GraphData.Hour: GraphWeather] = [:]

    init(_ data: GraphData, in context: ManagedObjectContext) {
      for row in data.airlines {
        let airline = GraphAirline(context: context)
        airline.carrier = row.carrier
        airline.name = row.name
        airlines[row.carrier] = airline
      }
      for row in data.airports {
        let airport = GraphAirport(context: context)
        airport.faa = row.faa
        airport.name = row.name
        airport.latitude = row.latitude
        airport.longitude = row.longitude
        airports[row.faa] = airport
      }
      for row in data.planes {
        let plane = GraphPlane(context: context)
        plane.tail = row.tail
        plane.manufacturer = row.manufacturer
        plane.model = row.model
        plane.seats = row.seats
        planes[row.tail] = plane
      }
      for row in data.weather {
        let weather = GraphWeather(context: context)
        weather.origin = row.hour.origin
        weather.start = row.hour.start
        weather.temperature = row.temperature
        hours[row.hour] = weather
      }
    }

    func add(_ rows: ArraySlice<GraphData.Flight>, to context: ManagedObjectContext) {
      for row in rows {
        let flight = GraphFlight(context: context)
        flight.line = row.line
        flight.number = row.number
        flight.scheduled = row.scheduled
        flight.distance = row.distance
        flight.delay = row.delay
        flight.airTime = row.airTime
        flight.departure = row.departure
        flight.carrier = row.carrier
        flight.tail = row.tail
        flight.origin = row.origin
        flight.destination = row.destination
        flight.airline = airlines[row.carrier]
        flight.plane = row.tail.flatMap { planes[$0] }
        flight.originAirport = airports[row.origin]
        flight.destinationAirport = airports[row.destination]
        flight.weather = hours[row.hour]
      }
    }
  }

  func traverse() throws -> GraphTouch {
    let context = container.newBackgroundContext()
    return try context.performAndWait {
      var request = FetchRequest<GraphPlane>(entityName: "Plane")
      request.relationshipKeyPathsForPrefetching = ["flights"]
      var touch = GraphTouch()
      for plane in try context.fetch(request) {
        touch.planes += 1
        for flight in plane.flights where flight.plane === plane {
          touch.add(
            line: flight.line, number: flight.number, scheduled: flight.scheduled, distance: flight.distance,
            delay: flight.delay, airTime: flight.airTime, departure: flight.departure ?? .distantPast,
            carrier: flight.carrier ?? "", tail: flight.tail, origin: flight.origin ?? "",
            destination: flight.destination ?? "")
        }
      }
      return touch
    }
  }

  func delete(tails: [String]) throws {
    let context = container.newBackgroundContext()
    try context.performAndWait {
      let planes = try context.fetch(
        FetchRequest<GraphPlane>(entityName: "Plane", predicate: Attribute("tail").isIn(tails)))
      for plane in planes { context.delete(plane) }
      try context.save()
    }
  }

  func counts() throws -> GraphCounts {
    let context = container.newBackgroundContext()
    return try context.performAndWait {
      func all<Object: ManagedObject>(_ entity: String, _ type: Object.Type) throws -> [Object] {
        try context.fetch(FetchRequest<Object>(entityName: entity))
      }
      var counts = GraphCounts()
      counts.flights = try context.count(for: FetchRequest<GraphFlight>(entityName: "Flight"))
      for airline in try all("Airline", GraphAirline.self) { counts.toAirlines += airline.flights.count }
      for plane in try all("Plane", GraphPlane.self) { counts.toPlanes += plane.flights.count }
      for airport in try all("Airport", GraphAirport.self) {
        counts.toOrigins += airport.departures.count
        counts.toDestinations += airport.arrivals.count
      }
      for weather in try all("Weather", GraphWeather.self) { counts.toWeather += weather.flights.count }
      return counts
    }
  }

  func close() throws {
    let coordinator = container.persistentStoreCoordinator
    for store in coordinator.persistentStores { try coordinator.remove(store) }
  }
}
