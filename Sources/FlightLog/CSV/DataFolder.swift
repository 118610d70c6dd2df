import Foundation

/// The folder that holds the five tables, each as `.csv` or `.csv.gz`.
struct DataFolder: Sendable {
  let url: URL

  /// The part of the data that ships in the repository.
  static let fixture = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Data")

  /// - Throws: `FlightLogError` when the folder or one of its tables is missing.
  init(_ url: URL) throws {
    self.url = url
    var isDirectory = ObjCBool(false)
    guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isDirectory), isDirectory.boolValue
    else {
      throw FlightLogError("There is no folder \(url.path) to read the flight data from.")
    }
    for table in Self.tables { _ = try file(of: table) }
  }

  static let tables = [AirlineRow.table, AirportRow.table, PlaneRow.table, WeatherRow.table, FlightRow.table]

  /// - Throws: `FlightLogError` when there is none.
  func file(of table: String) throws -> URL {
    for name in ["\(table).csv", "\(table).csv.gz"] {
      let file = url.appendingPathComponent(name)
      if FileManager.default.fileExists(atPath: file.path) { return file }
    }
    throw FlightLogError("There is no file \(table).csv or \(table).csv.gz in \(url.path).")
  }
}
