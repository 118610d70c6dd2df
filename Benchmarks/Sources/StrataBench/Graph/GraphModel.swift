import Foundation
import Strata

/// Flights and what they refer to, written by hand as a user would. A slot is an attribute's position, relationships after them.
enum GraphModel {
  static var model: ManagedObjectModel {
    let airline = entity("Airline", GraphAirline.self, [("carrier", .string), ("name", .string)])
    let airport = entity(
      "Airport", GraphAirport.self,
      [("faa", .string), ("name", .string), ("latitude", .double), ("longitude", .double)])
    let plane = entity(
      "Plane", GraphPlane.self,
      [("tail", .string), ("manufacturer", .string), ("model", .string), ("seats", .integer64)])
    let weather = entity(
      "Weather", GraphWeather.self, [("origin", .string), ("start", .date), ("temperature", .double)])
    let flight = entity(
      "Flight", GraphFlight.self,
      [
        ("line", .integer64), ("number", .integer64), ("scheduled", .integer64), ("distance", .integer64),
        ("delay", .double), ("airTime", .double), ("departure", .date), ("carrier", .string),
        ("tail", .string), ("origin", .string), ("destination", .string),
      ])
    join(airline, "flights", .deny, flight, "airline")
    // A cascade of some size: a plane takes its flights with it.
    join(plane, "flights", .cascade, flight, "plane")
    join(airport, "departures", .nullify, flight, "originAirport")
    join(airport, "arrivals", .nullify, flight, "destinationAirport")
    join(weather, "flights", .nullify, flight, "weather")
    return ManagedObjectModel(entities: [airline, airport, plane, weather, flight])
  }

  private static func entity(
    _ name: String, _ type: ManagedObject.Type, _ attributes: [(String, AttributeType)]
  ) -> EntityDescription {
    EntityDescription(
      name, managedObjectClass: type, properties: attributes.map { AttributeDescription($0.0, $0.1) })
  }

  private static func join(
    _ owner: EntityDescription, _ members: String, _ rule: DeleteRule, _ member: EntityDescription,
    _ inverse: String
  ) {
    let toMany = RelationshipDescription(members, to: member, maxCount: 0, deleteRule: rule)
    let toOne = RelationshipDescription(inverse, to: owner, maxCount: 1)
    toMany.inverseRelationship = toOne
    toOne.inverseRelationship = toMany
    owner.properties.append(toMany)
    member.properties.append(toOne)
  }
}

final class GraphAirline: ManagedObject {
  override class var declaredSlots: [String]? { ["carrier", "name", "flights"] }

  var carrier: String? {
    get { readString(slot: 0) }
    set { write(newValue, slot: 0) }
  }
  var name: String? {
    get { readString(slot: 1) }
    set { write(newValue, slot: 1) }
  }
  var flights: RelatedObjects<GraphFlight> { related(slot: 2) }
}

final class GraphAirport: ManagedObject {
  override class var declaredSlots: [String]? {
    ["faa", "name", "latitude", "longitude", "departures", "arrivals"]
  }

  var faa: String? {
    get { readString(slot: 0) }
    set { write(newValue, slot: 0) }
  }
  var name: String? {
    get { readString(slot: 1) }
    set { write(newValue, slot: 1) }
  }
  var latitude: Double {
    get { readDouble(slot: 2) }
    set { write(newValue, slot: 2) }
  }
  var longitude: Double {
    get { readDouble(slot: 3) }
    set { write(newValue, slot: 3) }
  }
  var departures: RelatedObjects<GraphFlight> { related(slot: 4) }
  var arrivals: RelatedObjects<GraphFlight> { related(slot: 5) }
}

final class GraphPlane: ManagedObject {
  override class var declaredSlots: [String]? { ["tail", "manufacturer", "model", "seats", "flights"] }

  var tail: String? {
    get { readString(slot: 0) }
    set { write(newValue, slot: 0) }
  }
  var manufacturer: String? {
    get { readString(slot: 1) }
    set { write(newValue, slot: 1) }
  }
  var model: String? {
    get { readString(slot: 2) }
    set { write(newValue, slot: 2) }
  }
  var seats: Int64 {
    get { readInt64(slot: 3) }
    set { write(newValue, slot: 3) }
  }
  var flights: RelatedObjects<GraphFlight> { related(slot: 4) }
}

final class GraphWeather: ManagedObject {
  override class var declaredSlots: [String]? { ["origin", "start", "temperature", "flights"] }

  var origin: String? {
    get { readString(slot: 0) }
    set { write(newValue, slot: 0) }
  }
  var start: Date? {
    get { readDate(slot: 1) }
    set { write(newValue, slot: 1) }
  }
  var temperature: Double? {
    get { readOptionalDouble(slot: 2) }
    set { write(newValue, slot: 2) }
  }
  var flights: RelatedObjects<GraphFlight> { related(slot: 3) }
}

final class GraphFlight: ManagedObject {
  override class var declaredSlots: [String]? {
    [
      "line", "number", "scheduled", "distance", "delay", "airTime", "departure", "carrier", "tail",
      "origin", "destination", "airline", "plane", "originAirport", "destinationAirport", "weather",
    ]
  }

  var line: Int64 {
    get { readInt64(slot: 0) }
    set { write(newValue, slot: 0) }
  }
  var number: Int64 {
    get { readInt64(slot: 1) }
    set { write(newValue, slot: 1) }
  }
  var scheduled: Int64 {
    get { readInt64(slot: 2) }
    set { write(newValue, slot: 2) }
  }
  var distance: Int64 {
    get { readInt64(slot: 3) }
    set { write(newValue, slot: 3) }
  }
  var delay: Double? {
    get { readOptionalDouble(slot: 4) }
    set { write(newValue, slot: 4) }
  }
  var airTime: Double? {
    get { readOptionalDouble(slot: 5) }
    set { write(newValue, slot: 5) }
  }
  var departure: Date? {
    get { readDate(slot: 6) }
    set { write(newValue, slot: 6) }
  }
  var carrier: String? {
    get { readString(slot: 7) }
    set { write(newValue, slot: 7) }
  }
  var tail: String? {
    get { readString(slot: 8) }
    set { write(newValue, slot: 8) }
  }
  var origin: String? {
    get { readString(slot: 9) }
    set { write(newValue, slot: 9) }
  }
  var destination: String? {
    get { readString(slot: 10) }
    set { write(newValue, slot: 10) }
  }
  var airline: GraphAirline? {
    get { readObject(slot: 11) }
    set { write(newValue, slot: 11) }
  }
  var plane: GraphPlane? {
    get { readObject(slot: 12) }
    set { write(newValue, slot: 12) }
  }
  var originAirport: GraphAirport? {
    get { readObject(slot: 13) }
    set { write(newValue, slot: 13) }
  }
  var destinationAirport: GraphAirport? {
    get { readObject(slot: 14) }
    set { write(newValue, slot: 14) }
  }
  var weather: GraphWeather? {
    get { readObject(slot: 15) }
    set { write(newValue, slot: 15) }
  }
}
