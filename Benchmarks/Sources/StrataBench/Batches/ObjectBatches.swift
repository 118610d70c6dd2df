import Foundation
import Strata

/// The same by objects: made or fetched, set or deleted in a new context each time, one durable save.
struct ObjectBatches: BatchPeer {
  private let container: PersistentContainer

  init(_ folder: URL) async throws {
    container = PersistentContainer(name: "Flights", model: FlightObject.model)
    container.persistentStoreDescriptions = [
      PersistentStoreDescription.measured(folder.appendingPathComponent("objects.strata"))
    ]
    try await container.loadPersistentStores()
  }

  func run(_ job: BatchJob, _ flights: [Flight]) throws -> Int {
    let context = container.newBackgroundContext()
    return try context.performAndWait {
      var count = flights.count
      switch job {
      case .insert: for flight in flights { FlightObject.make(flight, in: context) }
      case .update:
        count = try forEachTenth(context) { flight in
          flight.delay = 1.5
          flight.carrier = "XX"
        }
      case .compute: count = try forEachTenth(context) { $0.location = $0.location?.lowercased() }
      case .delete: count = try forEachTenth(context) { context.delete($0) }
      }
      try context.save()
      return count
    }
  }

  private func forEachTenth(_ context: ManagedObjectContext, _ body: (FlightObject) -> Void) throws -> Int {
    let request = FetchRequest<FlightObject>(entityName: "Flight", predicate: StrataBatches.tenth)
    let flights = try context.fetch(request)
    for flight in flights { body(flight) }
    return flights.count
  }

  func count() throws -> Int {
    let context = container.newBackgroundContext()
    return try context.performAndWait {
      try context.count(for: FetchRequest<FlightObject>(entityName: "Flight"))
    }
  }

  func close() throws {
    for store in container.persistentStoreCoordinator.persistentStores {
      try container.persistentStoreCoordinator.remove(store)
    }
  }
}
