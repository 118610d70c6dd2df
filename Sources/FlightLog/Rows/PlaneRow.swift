/// A line of `planes.csv`.
struct PlaneRow: TableRow {
  enum Column: Int, TableColumn {
    case tailnum, year, type, manufacturer, model, engines, seats, speed, engine
  }

  static let table = "planes"

  let tailNumber: String
  let year: Int16?
  let type: String
  let manufacturer: String
  let model: String
  let engines: Int16
  let seats: Int16
  let speed: Int16?
  let engine: String?

  var key: String? { tailNumber }

  init(_ fields: inout Fields<Column>) throws(Fields<Column>.Mistake) {
    tailNumber = try fields.string(.tailnum)
    year = try fields.optionalInteger(.year)
    type = try fields.string(.type)
    manufacturer = try fields.string(.manufacturer)
    model = try fields.string(.model)
    engines = try fields.integer(.engines)
    seats = try fields.integer(.seats)
    speed = try fields.optionalInteger(.speed)
    engine = try fields.optionalString(.engine)
  }
}
