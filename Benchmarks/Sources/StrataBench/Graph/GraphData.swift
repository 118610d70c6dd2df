import Foundation

/// The flights of 2013 and the four tables they refer to, as plain values: real data, so that links are as uneven as they are.
struct GraphData {
  struct Airline {
    var carrier: String
    var name: String
  }
  struct Airport {
    var faa: String
    var name: String
    var latitude: Double
    var longitude: Double
  }
  struct Plane {
    var tail: String
    var manufacturer: String
    var model: String
    var seats: Int64
  }
  /// An hour at an airport: how flights name their weather.
  struct Hour: Hashable {
    var origin: String
    var start: Date
  }
  struct Weather {
    var hour: Hour
    var temperature: Double?
  }
  struct Flight {
    var line: Int64
    var number: Int64
    var scheduled: Int64
    var distance: Int64
    var delay: Double?
    var airTime: Double?
    var departure: Date
    var carrier: String
    var tail: String?
    var origin: String
    var destination: String

    var hour: Hour { Hour(origin: origin, start: departure) }
  }

  var airlines: [Airline]
  var airports: [Airport]
  var planes: [Plane]
  var weather: [Weather]
  var flights: [Flight]

  /// The part of the data that ships in the repository.
  static let sample = URL(fileURLWithPath: #filePath + "/../../../../../Sources/FlightLog/Data")
    .standardizedFileURL

  /// Reads `airlines.csv` or `airlines.csv.gz` and so on in `folder`. A row that is not as it should be ends the program.
  init(_ folder: URL) throws {
    var dates: [String: Date] = [:]
    func date(_ text: String) throws -> Date {
      if let known = dates[text] { return known }
      let date = try Date(text, strategy: .iso8601)
      dates[text] = date
      return date
    }
    airlines = try GraphTable("airlines", in: folder).map {
      Airline(carrier: $0("carrier"), name: $0("name"))
    }
    airports = try GraphTable("airports", in: folder).map {
      Airport(
        faa: $0("faa"), name: $0("name"), latitude: try $0.number("lat"), longitude: try $0.number("lon"))
    }
    planes = try GraphTable("planes", in: folder).map {
      Plane(
        tail: $0("tailnum"), manufacturer: $0("manufacturer"), model: $0("model"),
        seats: try $0.number("seats"))
    }
    weather = try GraphTable("weather", in: folder).map {
      Weather(
        hour: Hour(origin: $0("origin"), start: try date($0("time_hour"))),
        temperature: $0.optionalNumber("temp"))
    }
    var line: Int64 = 0
    flights = try GraphTable("flights", in: folder).map {
      line += 1
      return Flight(
        line: line, number: try $0.number("flight"), scheduled: try $0.number("sched_dep_time"),
        distance: try $0.number("distance"), delay: $0.optionalNumber("dep_delay"),
        airTime: $0.optionalNumber("air_time"), departure: try date($0("time_hour")), carrier: $0("carrier"),
        tail: $0("tailnum") == "NA" ? nil : $0("tailnum"), origin: $0("origin"), destination: $0("dest"))
    }
  }
}

/// A table of comma-separated values in memory.
struct GraphTable {
  struct Row {
    fileprivate let columns: [String: Int]
    fileprivate let fields: [String]

    func callAsFunction(_ column: String) -> String {
      guard let position = columns[column], position < fields.count else { return "" }
      return fields[position]
    }

    func number<Number: LosslessStringConvertible>(_ column: String) throws -> Number {
      guard let number: Number = optionalNumber(column) else {
        throw BenchmarkError("\(column) is “\(self(column))” in \(fields)")
      }
      return number
    }

    func optionalNumber<Number: LosslessStringConvertible>(_ column: String) -> Number? {
      Number(self(column))
    }
  }

  private let columns: [String: Int]
  private let lines: [Substring]

  init(_ name: String, in folder: URL) throws {
    let text = try Self.text(of: folder.appendingPathComponent("\(name).csv"))
    let lines = text.split(whereSeparator: \.isNewline)
    guard let header = lines.first else { throw BenchmarkError("\(name) in \(folder.path) is empty") }
    columns = Dictionary(uniqueKeysWithValues: Self.fields(of: header).enumerated().map { ($1, $0) })
    self.lines = Array(lines.dropFirst())
  }

  func map<Value>(_ transform: (Row) throws -> Value) rethrows -> [Value] {
    try lines.map { try transform(Row(columns: columns, fields: Self.fields(of: $0))) }
  }

  private static func text(of file: URL) throws -> String {
    if let bytes = try? Data(contentsOf: file) { return String(decoding: bytes, as: UTF8.self) }
    let packed = file.appendingPathExtension("gz")
    guard FileManager.default.fileExists(atPath: packed.path) else {
      throw BenchmarkError("There is no \(file.path) and no \(packed.lastPathComponent) beside it")
    }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["gzip", "-dc", packed.path]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let bytes = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw BenchmarkError("\(packed.path) cannot be unpacked") }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Commas between quotes are text. No table here has quotes or line ends within a field.
  private static func fields(of line: Substring) -> [String] {
    var fields: [String] = []
    var field: [UInt8] = []
    var isQuoted = false
    for byte in line.utf8 {
      switch byte {
      case UInt8(ascii: "\""): isQuoted.toggle()
      case UInt8(ascii: ",") where !isQuoted:
        fields.append(String(decoding: field, as: UTF8.self))
        field.removeAll(keepingCapacity: true)
      default: field.append(byte)
      }
    }
    fields.append(String(decoding: field, as: UTF8.self))
    return fields
  }
}
