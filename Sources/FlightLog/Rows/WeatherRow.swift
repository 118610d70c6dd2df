import Foundation

/// A line of `weather.csv`: one hour at one airport.
struct WeatherRow: TableRow {
  enum Column: Int, TableColumn {
    case origin, temp, dewp, humid, windDir, windSpeed, windGust, precip, pressure, visib, timeHour
  }

  static let table = "weather"

  let origin: String
  let hour: Date
  let temperature: Double?
  let dewPoint: Double?
  let humidity: Double?
  let windDirection: Int16?
  let windSpeed: Double?
  let windGust: Double?
  let precipitation: Double?
  let pressure: Double?
  let visibility: Double?

  var key: String? { "\(origin) \(hour.timeIntervalSinceReferenceDate)" }

  init(_ fields: inout Fields<Column>) throws(Fields<Column>.Mistake) {
    origin = try fields.string(.origin)
    hour = try fields.time(.timeHour)
    temperature = try fields.optionalDouble(.temp)
    dewPoint = try fields.optionalDouble(.dewp)
    humidity = try fields.optionalDouble(.humid)
    windDirection = try fields.optionalInteger(.windDir)
    windSpeed = try fields.optionalDouble(.windSpeed)
    windGust = try fields.optionalDouble(.windGust)
    precipitation = try fields.optionalDouble(.precip)
    pressure = try fields.optionalDouble(.pressure)
    visibility = try fields.optionalDouble(.visib)
  }
}
