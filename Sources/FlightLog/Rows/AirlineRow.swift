/// A line of `airlines.csv`.
struct AirlineRow: TableRow {
  enum Column: Int, TableColumn { case carrier, name }

  static let table = "airlines"

  let carrier: String
  let name: String

  var key: String? { carrier }

  init(_ fields: inout Fields<Column>) throws(Fields<Column>.Mistake) {
    carrier = try fields.string(.carrier)
    name = try fields.string(.name)
  }
}
