import SwiftData

/// The row of the benchmark as people write a model: no options but the two indexes, an initialiser that sets everything.
@Model
final class FlightModel {
  #Index<FlightModel>([\.location], [\.departure])

  var number: Int64
  var distance: Int64
  var delay: Double
  var airTime: Double
  var departure: Date
  var carrier: String
  var tail: String
  var location: String
  var destination: String
  var remark: String

  init(_ flight: Flight) {
    number = flight.number
    distance = flight.distance
    delay = flight.delay
    airTime = flight.airTime
    departure = flight.departure
    carrier = flight.carrier
    tail = flight.tail
    location = flight.location
    destination = flight.destination
    remark = flight.remark
  }
}

/// `import SwiftData` as programs use it: everything as the library comes. Durability `.full`, and a history of every save.
final class SwiftDataPeer: PeerStore {
  private var container: ModelContainer?
  private var identifiers: [PersistentIdentifier] = []

  init(directory: URL) throws {
    container = try ModelContainer(
      for: FlightModel.self,
      configurations: ModelConfiguration(url: directory.appendingPathComponent("flights.strata")))
  }

  private func context() throws -> ModelContext {
    guard let container else { throw BenchmarkError("The container is closed") }
    return ModelContext(container)
  }

  func insert(_ flights: [Flight]) throws -> Outcome {
    let context = try context()
    var models: [FlightModel] = []
    models.reserveCapacity(flights.count)
    for flight in flights {
      let model = FlightModel(flight)
      context.insert(model)
      models.append(model)
    }
    try context.save()
    return Outcome(touch: Touch(rows: models.count), results: (context, models))
  }

  func fetchAll() throws -> Outcome {
    let context = try context()
    let models = try context.fetch(FetchDescriptor<FlightModel>())
    var touch = Touch()
    for model in models { touch.add(model) }
    return Outcome(touch: touch, results: (context, models))
  }

  func prepare(positions: [Int]) throws {
    let all = try context().fetch(FetchDescriptor<FlightModel>()).map {
      (Int($0.number), $0.persistentModelID)
    }
    let places = Dictionary(uniqueKeysWithValues: all)
    identifiers = positions.compactMap { places[$0] }
  }

  func fetchByID() throws -> Outcome {
    let context = try context()
    var models: [FlightModel] = []
    models.reserveCapacity(identifiers.count)
    var touch = Touch()
    for identifier in identifiers {
      guard let model = context.model(for: identifier) as? FlightModel else { continue }
      models.append(model)
      touch.add(model)
    }
    return Outcome(touch: touch, results: (context, models))
  }

  func contents() throws -> ContentChecksum {
    var checksum = ContentChecksum()
    for model in try context().fetch(FetchDescriptor<FlightModel>()) { checksum.add(model.flight) }
    return checksum
  }

  /// The container closes its store when it is let go, and so have its contexts been.
  func close() { container = nil }
}

extension FlightModel {
  var flight: Flight {
    Flight(
      number: number, distance: distance, delay: delay, airTime: airTime, departure: departure,
      carrier: carrier, tail: tail, location: location, destination: destination, remark: remark)
  }
}

extension Touch {
  @inline(__always)
  mutating func add(_ model: FlightModel) {
    add(
      number: model.number, distance: model.distance, delay: model.delay, airTime: model.airTime,
      departure: model.departure, carrier: model.carrier, tail: model.tail, location: model.location,
      destination: model.destination, remark: model.remark)
  }
}
