import Strata

/// A row that knows which managed object it becomes.
protocol ImportableRow: TableRow {
  /// Makes the row's object in `context`, on the context's queue. `line` is the row's line in its file.
  func insert(into context: ManagedObjectContext, line: Int)
}

extension AirlineRow: ImportableRow {
  func insert(into context: ManagedObjectContext, line: Int) {
    let airline = Airline(context: context)
    airline.carrier = carrier
    airline.name = name
  }
}

extension AirportRow: ImportableRow {
  func insert(into context: ManagedObjectContext, line: Int) {
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
  func insert(into context: ManagedObjectContext, line: Int) {
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
  func insert(into context: ManagedObjectContext, line: Int) {
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
  }
}

extension FlightRow: ImportableRow {
  func insert(into context: ManagedObjectContext, line: Int) {
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
