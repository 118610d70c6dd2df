import Foundation
import Strata

/// Flights in a Strata store, changed by batch requests.
struct StrataBatches: BatchPeer {
  private let container: PersistentContainer
  private let context: ManagedObjectContext

  /// Whether rows are given as dictionaries, not by column.
  private let usesDictionaries: Bool
  /// Whether the context that executes the requests has their changes at once.
  private let merges: Bool

  /// Every tenth flight.
  static var tenth: FetchPredicate {
    .compare(FetchComparison(.function(.modulus, [.key("number"), .constant(10)]), .equal, .constant(0)))
  }

  init(_ folder: URL, usesDictionaries: Bool = false, merges: Bool = true) async throws {
    self.usesDictionaries = usesDictionaries
    self.merges = merges
    let flight = EntityDescription(
      "Flight",
      properties: [
        AttributeDescription("number", .integer64), AttributeDescription("distance", .integer64),
        AttributeDescription("delay", .double), AttributeDescription("airTime", .double),
        AttributeDescription("departure", .date), AttributeDescription("carrier", .string),
        AttributeDescription("tail", .string), AttributeDescription("location", .string),
        AttributeDescription("destination", .string), AttributeDescription("remark", .string),
      ],
      indexes: [
        FetchIndexDescription(name: "byLocation", attributes: ["location"]),
        FetchIndexDescription(name: "byDeparture", attributes: ["departure"]),
      ])
    container = PersistentContainer(name: "Batches", model: ManagedObjectModel(entities: [flight]))
    container.persistentStoreDescriptions = [
      PersistentStoreDescription.measured(folder.appendingPathComponent("batches.strata"))
    ]
    try await container.loadPersistentStores()
    context = container.newBackgroundContext()
  }

  func run(_ job: BatchJob, _ flights: [Flight]) throws -> Int {
    try run(job, count: flights.count) { flights[$0] }
  }

  /// The same with rows that are made as they are asked for.
  func run(_ job: BatchJob, count: Int) throws -> Int {
    let sample = Flight.make(count: 1_000)
    return try run(job, count: count) { position in
      var flight = sample[position % 1_000]
      flight.number = Int64(position)
      flight.departure += Double(position)
      return flight
    }
  }

  private func run(_ job: BatchJob, count: Int, _ flight: (Int) -> Flight) throws -> Int {
    try withoutActuallyEscaping(flight) { flight in
      try context.performAndWait { try execute(job, count, flight) }
    }
  }

  private func execute(_ job: BatchJob, _ count: Int, _ flight: @escaping (Int) -> Flight) throws -> Int {
    switch job {
    case .insert:
      var request = usesDictionaries ? dictionaries(count, flight) : rows(count, flight)
      request.mergesIntoContext = merges
      return try context.execute(request).count
    case .update:
      return try update(["delay": 1.5, "carrier": "XX"])
    case .compute:
      return try update(["location": FetchExpression.function(.lowercase, [.key("location")])])
    case .delete:
      var request = BatchDeleteRequest(
        fetchRequest: FetchRequest<ManagedObject>(entityName: "Flight", predicate: Self.tenth))
      request.mergesIntoContext = merges
      return try context.execute(request).count
    }
  }

  private func update(_ values: [String: any Sendable]) throws -> Int {
    var request = BatchUpdateRequest(
      entityName: "Flight", predicate: Self.tenth, propertiesToUpdate: values)
    request.mergesIntoContext = merges
    return try context.execute(request).count
  }

  private func rows(_ count: Int, _ flight: @escaping (Int) -> Flight) -> BatchInsertRequest {
    var position = 0
    let columns = [
      "number", "distance", "delay", "airTime", "departure", "carrier", "tail", "location", "destination",
      "remark",
    ]
    return BatchInsertRequest(entityName: "Flight", columns: columns) { row in
      if position == count { return true }
      let flight = flight(position)
      position += 1
      row.set(0, flight.number)
      row.set(1, flight.distance)
      row.set(2, flight.delay)
      row.set(3, flight.airTime)
      row.set(4, flight.departure)
      row.set(5, flight.carrier)
      row.set(6, flight.tail)
      row.set(7, flight.location)
      row.set(8, flight.destination)
      row.set(9, flight.remark)
      return false
    }
  }

  private func dictionaries(_ count: Int, _ flight: @escaping (Int) -> Flight) -> BatchInsertRequest {
    var position = 0
    return BatchInsertRequest(entityName: "Flight") { (values: inout [String: Any]) in
      if position == count { return true }
      let flight = flight(position)
      position += 1
      values["number"] = Int(flight.number)
      values["distance"] = Int(flight.distance)
      values["delay"] = flight.delay
      values["airTime"] = flight.airTime
      values["departure"] = flight.departure
      values["carrier"] = flight.carrier
      values["tail"] = flight.tail
      values["location"] = flight.location
      values["destination"] = flight.destination
      values["remark"] = flight.remark
      return false
    }
  }

  func count() throws -> Int {
    try context.performAndWait {
      try context.count(for: FetchRequest<ManagedObject>(entityName: "Flight"))
    }
  }

  func close() throws {
    for store in container.persistentStoreCoordinator.persistentStores {
      try container.persistentStoreCoordinator.remove(store)
    }
  }
}
