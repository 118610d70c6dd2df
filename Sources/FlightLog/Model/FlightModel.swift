import Strata

/// The model of the flight log, built in code: five tables of data and the journal of their import.
enum FlightModel {
  static func make() -> ManagedObjectModel {
    let airline = makeAirline()
    let airport = makeAirport()
    let plane = makePlane()
    let weather = makeWeather()
    let flight = makeFlight()
    // An airline is part of what a flight is: one that has flown may not be deleted.
    join(airline, "flights", .deny, flight, "airline")
    // Planes and airports come from files with gaps; a flight does without them and keeps their codes.
    join(plane, "flights", .nullify, flight, "plane")
    join(airport, "departures", .nullify, flight, "originAirport")
    join(airport, "arrivals", .nullify, flight, "destinationAirport")
    // Weather was measured at an airport and means nothing without it: it goes with it.
    join(airport, "weather", .cascade, weather, "airport")
    join(weather, "flights", .nullify, flight, "weather")
    return ManagedObjectModel(entities: [airline, airport, plane, weather, flight, makeImportState()])
  }

  /// One `owner` has many `member`s, each member at most one owner; `rule` says what happens to them when the owner is deleted.
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

  private static func makeAirline() -> EntityDescription {
    entity(
      "Airline", Airline.self, [required("carrier", .string), required("name", .string)], unique: ["carrier"])
  }

  private static func makeAirport() -> EntityDescription {
    let attributes = [
      required("faa", .string), required("name", .string), required("latitude", .double, in: -90...90),
      required("longitude", .double, in: -180...180), required("altitude", .integer32),
      optional("utcOffset", .double),
      optional("daylightSaving", .string), optional("timeZone", .string),
    ]
    return entity("Airport", Airport.self, attributes, unique: ["faa"])
  }

  private static func makePlane() -> EntityDescription {
    let attributes = [
      required("tailNumber", .string), optional("year", .integer16), required("type", .string),
      required("manufacturer", .string), required("model", .string), required("engines", .integer16),
      required("seats", .integer16), optional("speed", .integer16), optional("engine", .string),
    ]
    return entity("Plane", Plane.self, attributes, unique: ["tailNumber"])
  }

  private static func makeWeather() -> EntityDescription {
    let attributes = [
      required("origin", .string), required("hour", .date), optional("temperature", .double),
      optional("dewPoint", .double), optional("humidity", .double), optional("windDirection", .integer16),
      optional("windSpeed", .double), optional("windGust", .double), optional("precipitation", .double),
      optional("pressure", .double), optional("visibility", .double),
    ]
    return entity("Weather", Weather.self, attributes, unique: ["origin", "hour"])
  }

  private static func makeFlight() -> EntityDescription {
    let attributes = [
      required("line", .integer64), required("year", .integer16), required("month", .integer16, in: 1...12),
      required("day", .integer16, in: 1...31), optional("departureTime", .integer16),
      required("scheduledDepartureTime", .integer16), optional("departureDelay", .integer16),
      optional("arrivalTime", .integer16), required("scheduledArrivalTime", .integer16),
      optional("arrivalDelay", .integer16), required("carrier", .string), required("number", .integer32),
      optional("tailNumber", .string), required("origin", .string), required("destination", .string),
      optional("airTime", .integer16), required("distance", .integer32),
      required("hour", .integer16, in: 0...24),
      required("minute", .integer16, in: 0...59), required("scheduledHour", .date),
      optional("remark", .string),
    ]
    let indexes = ["origin", "destination", "carrier", "scheduledHour", "departureDelay"]
    return entity("Flight", Flight.self, attributes, unique: ["line"], indexed: indexes)
  }

  private static func makeImportState() -> EntityDescription {
    let attributes = [
      required("table", .string), required("fingerprint", .string), required("lastLine", .integer64),
      required("rowCount", .integer64), required("damageCount", .integer64), required("isFinished", .boolean),
    ]
    return entity("ImportState", ImportState.self, attributes, unique: ["table"])
  }

  // MARK: -

  private static func entity(
    _ name: String, _ type: ManagedObject.Type, _ attributes: [AttributeDescription], unique: [String],
    indexed: [String] = []
  ) -> EntityDescription {
    EntityDescription(
      name, managedObjectClass: type, properties: attributes, uniquenessConstraints: [unique],
      indexes: indexed.map { FetchIndexDescription(name: "by_\($0)", attributes: [$0]) })
  }

  private static func required(_ name: String, _ type: AttributeType, in bounds: ClosedRange<Double>? = nil)
    -> AttributeDescription
  {
    let rules = bounds.map {
      [ValidationRule.minimum(.double($0.lowerBound)), .maximum(.double($0.upperBound))]
    }
    return AttributeDescription(name, type, isOptional: false, rules: rules ?? [])
  }

  private static func optional(_ name: String, _ type: AttributeType) -> AttributeDescription {
    AttributeDescription(name, type, isOptional: true)
  }
}
