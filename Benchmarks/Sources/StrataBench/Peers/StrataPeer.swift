import Foundation
import Strata

/// Strata through its public API alone, with a class as a user writes it by hand. Durability `.full`.
final class StrataPeer: PeerStore {
  private let container: PersistentContainer
  private var identifiers: [ManagedObjectID] = []

  init(directory: URL, recordsHistory: Bool = false) async throws {
    container = PersistentContainer(name: "Flights", model: FlightObject.model)
    var description = PersistentStoreDescription.measured(directory.appendingPathComponent("flights.strata"))
    description.durability = .full
    description.recordsHistory = recordsHistory
    container.persistentStoreDescriptions = [description]
    try await container.loadPersistentStores()
  }

  func insert(_ flights: [Flight]) throws -> Outcome {
    let context = container.newBackgroundContext()
    let objects = try context.performAndWait {
      var objects: [FlightObject] = []
      objects.reserveCapacity(flights.count)
      for flight in flights {
        objects.append(FlightObject.make(flight, in: context))
      }
      try context.save()
      return objects
    }
    return Outcome(touch: Touch(rows: objects.count), results: (context, objects))
  }

  func fetchAll() throws -> Outcome {
    let context = container.newBackgroundContext()
    return try context.performAndWait {
      let objects = try context.fetch(FetchRequest<FlightObject>(entityName: "Flight"))
      var touch = Touch()
      for object in objects { touch.add(object) }
      return Outcome(touch: touch, results: (context, objects))
    }
  }

  func prepare(positions: [Int]) throws {
    let context = container.newBackgroundContext()
    identifiers = try context.performAndWait {
      let objects = try context.fetch(FetchRequest<FlightObject>(entityName: "Flight"))
      let all = Dictionary(uniqueKeysWithValues: objects.map { (Int($0.number), $0.objectID) })
      return positions.compactMap { all[$0] }
    }
  }

  func fetchByID() throws -> Outcome {
    let context = container.newBackgroundContext()
    return try context.performAndWait {
      var objects: [FlightObject] = []
      objects.reserveCapacity(identifiers.count)
      for identifier in identifiers {
        guard let object = try context.existingObject(with: identifier) as? FlightObject else { continue }
        objects.append(object)
      }
      var touch = Touch()
      for object in objects { touch.add(object) }
      return Outcome(touch: touch, results: (context, objects))
    }
  }

  func contents() throws -> ContentChecksum {
    let context = container.newBackgroundContext()
    return try context.performAndWait {
      var checksum = ContentChecksum()
      for object in try context.fetch(FetchRequest<FlightObject>(entityName: "Flight")) {
        checksum.add(object.flight)
      }
      return checksum
    }
  }

  func close() throws {
    let coordinator = container.persistentStoreCoordinator
    for store in coordinator.persistentStores { try coordinator.remove(store) }
  }
}

extension Contender {
  static let strata = Contender(name: "Strata", role: .strata, library: "strata") {
    try await StrataPeer(directory: $0)
  }
}

final class FlightObject: ManagedObject {
  override class var declaredSlots: [String]? {
    [
      "number", "distance", "delay", "airTime", "departure",
      "carrier", "tail", "location", "destination", "remark",
    ]
  }

  var number: Int64 {
    get { readInt64(slot: 0) }
    set { write(newValue, slot: 0) }
  }
  var distance: Int64 {
    get { readInt64(slot: 1) }
    set { write(newValue, slot: 1) }
  }
  var delay: Double {
    get { readDouble(slot: 2) }
    set { write(newValue, slot: 2) }
  }
  var airTime: Double {
    get { readDouble(slot: 3) }
    set { write(newValue, slot: 3) }
  }
  var departure: Date? {
    get { readDate(slot: 4) }
    set { write(newValue, slot: 4) }
  }
  var carrier: String? {
    get { readString(slot: 5) }
    set { write(newValue, slot: 5) }
  }
  var tail: String? {
    get { readString(slot: 6) }
    set { write(newValue, slot: 6) }
  }
  var location: String? {
    get { readString(slot: 7) }
    set { write(newValue, slot: 7) }
  }
  var destination: String? {
    get { readString(slot: 8) }
    set { write(newValue, slot: 8) }
  }
  var remark: String? {
    get { readString(slot: 9) }
    set { write(newValue, slot: 9) }
  }

  static var model: ManagedObjectModel {
    let types: [AttributeType] = [
      .integer64, .integer64, .double, .double, .date, .string, .string, .string, .string, .string,
    ]
    let attributes = zip(declaredSlots ?? [], types).map { AttributeDescription($0, $1) }
    let indexes = [
      FetchIndexDescription(name: "byLocation", attributes: ["location"]),
      FetchIndexDescription(name: "byDeparture", attributes: ["departure"]),
    ]
    let entity = EntityDescription(
      "Flight", managedObjectClass: FlightObject.self, properties: attributes, indexes: indexes)
    return ManagedObjectModel(entities: [entity])
  }
}

extension FlightObject {
  var flight: Flight {
    Flight(
      number: number, distance: distance, delay: delay, airTime: airTime,
      departure: departure ?? .distantPast, carrier: carrier ?? "", tail: tail ?? "",
      location: location ?? "", destination: destination ?? "", remark: remark ?? "")
  }
}

extension Touch {
  @inline(__always)
  mutating func add(_ object: FlightObject) {
    add(
      number: object.number, distance: object.distance, delay: object.delay, airTime: object.airTime,
      departure: object.departure ?? .distantPast, carrier: object.carrier ?? "", tail: object.tail ?? "",
      location: object.location ?? "", destination: object.destination ?? "", remark: object.remark ?? "")
  }
}

extension FlightObject {
  @discardableResult
  static func make(_ flight: Flight, in context: ManagedObjectContext) -> FlightObject {
    let object = FlightObject(context: context)
    object.number = flight.number
    object.distance = flight.distance
    object.delay = flight.delay
    object.airTime = flight.airTime
    object.departure = flight.departure
    object.carrier = flight.carrier
    object.tail = flight.tail
    object.location = flight.location
    object.destination = flight.destination
    object.remark = flight.remark
    return object
  }
}
