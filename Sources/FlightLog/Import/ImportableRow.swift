import Strata

/// A row that knows which managed object it becomes.
protocol ImportableRow: TableRow {
  /// What the rows of this table refer to, to be fetched once for all of them. On the queue of `context`.
  static func links(in context: ManagedObjectContext) throws -> LinkTables
  /// Makes the row's object in `context`, on the context's queue, and relates it to what it names and `links` knows. `line` is
  /// the row's line in its file.
  func insert(into context: ManagedObjectContext, line: Int, _ links: LinkTables)
}

extension ImportableRow {
  static func links(in context: ManagedObjectContext) -> LinkTables { LinkTables() }
}

extension AirlineRow: ImportableRow {
  func insert(into context: ManagedObjectContext, line: Int, _ links: LinkTables) {
    let airline = Airline(context: context)
    airline.carrier = carrier
    airline.name = name
  }
}

extension AirportRow: ImportableRow {
  func insert(into context: ManagedObjectContext, line: Int, _ links: LinkTables) {
    let airport = Airport(context: context)
    airport.faa = faa
    airport.name = name
    airport.latitude = latitude
    airport.longitude = longitude
    airport.altitude = altitude
    airport.utcOffset = utcOffset
    airport.daylightSaving = daylightSaving
    airport.timeZone = timeZone
  }
}

extension PlaneRow: ImportableRow {
  func insert(into context: ManagedObjectContext, line: Int, _ links: LinkTables) {
    let plane = Plane(context: context)
    plane.tailNumber = tailNumber
    plane.year = year
    plane.type = type
    plane.manufacturer = manufacturer
    plane.model = model
    plane.engines = engines
    plane.seats = seats
    plane.speed = speed
    plane.engine = engine
  }
}

extension WeatherRow: ImportableRow {
  static func links(in context: ManagedObjectContext) throws -> LinkTables {
    try LinkTables(airportsIn: context)
  }

  func insert(into context: ManagedObjectContext, line: Int, _ links: LinkTables) {
    let weather = Weather(context: context)
    weather.origin = origin
    weather.hour = hour
    weather.temperature = temperature
    weather.dewPoint = dewPoint
    weather.humidity = humidity
    weather.windDirection = windDirection
    weather.windSpeed = windSpeed
    weather.windGust = windGust
    weather.precipitation = precipitation
    weather.pressure = pressure
    weather.visibility = visibility
    weather.airport = links.airports[origin]
  }
}

extension FlightRow: ImportableRow {
  static func links(in context: ManagedObjectContext) throws -> LinkTables {
    try LinkTables(allIn: context)
  }

  func insert(into context: ManagedObjectContext, line: Int, _ links: LinkTables) {
    let flight = Flight(context: context)
    flight.line = Int64(line)
    flight.year = year
    flight.month = month
    flight.day = day
    flight.departureTime = departureTime
    flight.scheduledDepartureTime = scheduledDepartureTime
    flight.departureDelay = departureDelay
    flight.arrivalTime = arrivalTime
    flight.scheduledArrivalTime = scheduledArrivalTime
    flight.arrivalDelay = arrivalDelay
    flight.carrier = carrier
    flight.number = number
    flight.tailNumber = tailNumber
    flight.origin = origin
    flight.destination = destination
    flight.airTime = airTime
    flight.distance = distance
    flight.hour = hour
    flight.minute = minute
    flight.scheduledHour = scheduledHour
    flight.airline = links.airlines[carrier]
    flight.plane = tailNumber.flatMap { links.planes[$0] }
    flight.originAirport = links.airports[origin]
    flight.destinationAirport = links.airports[destination]
    flight.weather = links.weather[.init(origin: origin, hour: scheduledHour)]
  }

  /// The row an object was made from.
  init(_ flight: Flight) {
    year = flight.year
    month = flight.month
    day = flight.day
    departureTime = flight.departureTime
    scheduledDepartureTime = flight.scheduledDepartureTime
    departureDelay = flight.departureDelay
    arrivalTime = flight.arrivalTime
    scheduledArrivalTime = flight.scheduledArrivalTime
    arrivalDelay = flight.arrivalDelay
    carrier = flight.carrier
    number = flight.number
    tailNumber = flight.tailNumber
    origin = flight.origin
    destination = flight.destination
    airTime = flight.airTime
    distance = flight.distance
    hour = flight.hour
    minute = flight.minute
    scheduledHour = flight.scheduledHour
  }
}
