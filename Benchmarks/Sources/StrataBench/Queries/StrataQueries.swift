import Foundation
import Strata

/// Strata through its public API alone. Durability `.full`.
final class StrataQueries: QueryPeer {
  private let flights: PersistentContainer
  private let counted: PersistentContainer
  private let graph: StrataGraph?

  init(directory: URL, flights data: [Flight], graph graphData: GraphData?) async throws {
    flights = try await Self.container("flights", FlightObject.model, directory)
    counted = try await Self.container("counted", Self.indexedModel(), directory)
    for container in [flights, counted] {
      let context = container.newBackgroundContext()
      try context.performAndWait {
        for flight in data { _ = FlightObject.make(flight, in: context) }
        try context.save()
      }
    }
    graph = graphData == nil ? nil : try await StrataGraph(directory: directory)
    if let graphData { try graph?.importAll(graphData, batch: 50_000) }
  }

  private static func container(_ name: String, _ model: ManagedObjectModel, _ directory: URL) async throws
    -> PersistentContainer
  {
    let container = PersistentContainer(name: name, model: model)
    var description = PersistentStoreDescription.measured(directory.appendingPathComponent("\(name).strata"))
    description.durability = .full
    container.persistentStoreDescriptions = [description]
    try await container.loadPersistentStores()
    return container
  }

  /// The same with an index on the distance.
  private static func indexedModel() -> ManagedObjectModel {
    let model = FlightObject.model
    for entity in model.entities {
      entity.indexes.append(FetchIndexDescription(name: "byDistance", attributes: ["distance"]))
    }
    return model
  }

  func run(_ job: QueryJob, variant: Int) throws -> QueryAnswer {
    let container =
      switch job {
      case .coveredCount, .sameIndexCount: counted
      default: job.isAboutGraph ? graph?.container ?? flights : flights
      }
    let context = container.newBackgroundContext()
    return try context.performAndWait { try run(job, context) }
  }

  private func run(_ job: QueryJob, _ context: ManagedObjectContext) throws -> QueryAnswer {
    var answer = QueryAnswer()
    var request = FetchRequest<FlightObject>(entityName: "Flight")
    switch job {
    case .equality:
      for number in 0..<1_000 {
        request.predicate = Attribute("location") == QueryValues.location(number)
        answer.add(try context.fetch(request))
      }
    case .scan:
      request.predicate =
        Attribute("distance") < QueryValues.fewDistance && Attribute("remark").contains(QueryValues.part)
      for _ in 0..<10 { answer.add(try context.fetch(request)) }
    case .count, .coveredCount, .sameIndexCount:
      request.predicate = Attribute("distance") < QueryValues.distance
      for _ in 0..<10 { answer.count += try context.count(for: request) }
    case .newest:
      request.sortDescriptors = [FetchSort("departure", ascending: false)]
      request.fetchLimit = 50
      for _ in 0..<1_000 { answer.add(try context.fetch(request)) }
    case .sort:
      request.sortDescriptors = [FetchSort("delay")]
      answer.add(try context.fetch(request))
    case .update:
      request.predicate = Attribute("location") < QueryValues.tenth
      let objects = try context.fetch(request)
      for object in objects { object.delay += 1 }
      try context.save()
      answer.count = objects.count
    case .delete:
      request.predicate = Attribute("location") < QueryValues.tenth
      let objects = try context.fetch(request)
      for object in objects { context.delete(object) }
      try context.save()
      answer.count = objects.count
    default: try ask(job, context, &answer)
    }
    return answer
  }

  private func ask(_ job: QueryJob, _ context: ManagedObjectContext, _ answer: inout QueryAnswer) throws {
    var planes = FetchRequest<GraphPlane>(entityName: "Plane")
    var flights = FetchRequest<GraphFlight>(entityName: "Flight")
    switch job {
    case .anyRare, .anyCommon:
      planes.predicate = .compare(
        FetchComparison(
          .key("flights.delay"), .greater, .constant(.double(job == .anyRare ? 600 : 60)), quantifier: .any))
    case .subquery:
      let delay = FetchExpression.keyPath(base: .variable("f"), keys: ["delay"])
      let distance = FetchExpression.keyPath(base: .variable("f"), keys: ["distance"])
      planes.predicate = .compare(
        FetchComparison(
          .aggregate(
            .count,
            .subquery(
              .key("flights"), variable: "f",
              .and([
                .compare(FetchComparison(delay, .greater, .constant(.double(60)))),
                .compare(FetchComparison(distance, .greater, .constant(.integer(1_000)))),
              ]))), .greater, .constant(.integer(5))))
    case .related:
      flights.predicate = .comparison(key: "plane.manufacturer", .equal, .string("AIRBUS"))
      for _ in 0..<10 { answer.count += try context.count(for: flights) }
      return
    default:
      flights.predicate = .comparison(key: "plane.tail", .equal, .string("N711MQ"))
      for _ in 0..<10 {
        for flight in try context.fetch(flights) {
          answer.count += 1
          answer.touch.characters += (flight.origin?.utf8.count ?? 0) + (flight.destination?.utf8.count ?? 0)
          answer.touch.integers += flight.line + flight.number + flight.scheduled + flight.distance
        }
      }
      return
    }
    for _ in 0..<10 {
      for plane in try context.fetch(planes) {
        answer.count += 1
        answer.touch.characters += plane.tail?.utf8.count ?? 0
      }
    }
  }

  func close() throws {
    for container in [flights, counted] {
      let coordinator = container.persistentStoreCoordinator
      for store in coordinator.persistentStores { try coordinator.remove(store) }
    }
    try graph?.close()
  }
}

extension QueryAnswer {
  fileprivate mutating func add(_ objects: [FlightObject]) {
    count += objects.count
    for object in objects { touch.add(object) }
  }
}
