/// A line of `airports.csv`.
struct AirportRow: TableRow {
  enum Column: Int, TableColumn { case faa, name, lat, lon, alt, tz, dst, tzone }

  static let table = "airports"

  let faa: String
  let name: String
  let latitude: Double
  let longitude: Double
  let altitude: Int32
  let utcOffset: Double?
  let daylightSaving: String?
  let timeZone: String?

  var key: String? { faa }

  init(_ fields: inout Fields<Column>) throws(Fields<Column>.Mistake) {
    faa = try fields.string(.faa)
    name = try fields.string(.name)
    latitude = try fields.double(.lat)
    longitude = try fields.double(.lon)
    altitude = try fields.integer(.alt)
    utcOffset = try fields.optionalDouble(.tz)
    daylightSaving = try fields.optionalString(.dst)
    timeZone = try fields.optionalString(.tzone)
  }
}
