import Foundation
import Strata

/// Strata through its public API alone. Durability `.full`.
final class StrataGraph: GraphPeer {
  let container: PersistentContainer

  init(directory: URL) async throws {
    container = PersistentContainer(name: "Graph", model: GraphModel.model)
    var description = PersistentStoreDescription.measured(directory.appendingPathComponent("graph.strata"))
    description.durability = .full
    container.persistentStoreDescriptions = [description]
    try await container.loadPersistentStores()
  }

  func importAll(_ data: GraphData, batch: Int) throws {
    let context = container.newBackgroundContext()
    try context.performAndWait {
      var airlines: [String: GraphAirline] = [:]
      for row in data.airlines {
        let airline = GraphAirline(context: context)
        airline.carrier = row.carrier
        airline.name = row.name
        airlines[row.carrier] = airline
      }
      var airports: [String: GraphAirport] = [:]
      for row in data.airports {
        let airport = GraphAirport(context: context)
        airport.faa = row.faa
        airport.name = row.name
        airport.latitude = row.latitude
        airport.longitude = row.longitude
        airports[row.faa] = airport
      }
      var planes: [String: GraphPlane] = [:]
      for row in data.planes {
        let plane = GraphPlane(context: context)
        plane.tail = row.tail
        plane.manufacturer = row.manufacturer
        plane.model = row.model
        plane.seats = row.seats
        planes[row.tail] = plane
      }
      var hours: [GraphData.Hour: GraphWeather] = [:]
      for row in data.weather {
        let weather = GraphWeather(context: context)
        weather.origin = row.hour.origin
        weather.start = row.hour.start
        weather.temperature = row.temperature
        hours[row.hour] = weather
      }
      try context.save()
      for first in stride(from: 0, to: data.flights.count, by: batch) {
        for row in data.flights[first..<min(first + batch, data.flights.count)] {
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
        try context.save()
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
