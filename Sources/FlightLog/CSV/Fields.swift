import Foundation

/// The columns of a table: the cases' names in snake case are the names in the file's header (`depDelay` is `dep_delay`).
protocol TableColumn: RawRepresentable<Int>, CodingKey, CaseIterable {}

extension TableColumn {
  var name: String {
    stringValue.reduce(into: "") { name, character in
      name += character.isUppercase ? "_\(character.lowercased())" : String(character)
    }
  }
}

/// Typed access to the fields of one record. `NA` and the empty field are nil.
struct Fields<Column: TableColumn> {
  /// Why a field is not what its column promises.
  struct Mistake: Error {
    let reason: String
  }

  /// Position in the record by the column's raw value.
  private let positions: [Int]
  var record = CSVRecord()
  private var lastTime: (text: [UInt8], date: Date)?

  /// - Throws: `FlightLogError` when the header lacks a column.
  init(header: [String], file: String) throws {
    positions = try Column.allCases.map { column in
      guard let position = header.firstIndex(of: column.name) else {
        throw FlightLogError("The file \(file) has no column \(column.name).")
      }
      return position
    }
  }

  func string(_ column: Column) throws(Mistake) -> String {
    try required(column, optionalString(column))
  }

  func optionalString(_ column: Column) throws(Mistake) -> String? {
    guard let bytes = bytes(column) else { return nil }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw Mistake(reason: "\(column.name) is not UTF-8 text")
    }
    return text
  }

  func integer<Number: FixedWidthInteger>(_ column: Column, as type: Number.Type = Number.self)
    throws(Mistake) -> Number
  {
    try required(column, optionalInteger(column))
  }

  func optionalInteger<Number: FixedWidthInteger>(
    _ column: Column, as type: Number.Type = Number.self
  ) throws(Mistake) -> Number? {
    guard let bytes = bytes(column) else { return nil }
    let text = String(decoding: bytes, as: UTF8.self)
    guard let number = Number(text) else {
      throw Mistake(reason: "\(column.name) is '\(text)', not a whole number of \(Number.bitWidth) bits")
    }
    return number
  }

  func double(_ column: Column) throws(Mistake) -> Double {
    try required(column, optionalDouble(column))
  }

  func optionalDouble(_ column: Column) throws(Mistake) -> Double? {
    guard let bytes = bytes(column) else { return nil }
    let text = String(decoding: bytes, as: UTF8.self)
    guard let number = Double(text), number.isFinite else {
      throw Mistake(reason: "\(column.name) is '\(text)', not a number")
    }
    return number
  }

  /// A moment in UTC such as `2013-01-01T10:00:00Z`.
  mutating func time(_ column: Column) throws(Mistake) -> Date {
    let bytes = try required(column, bytes(column))
    // Neighbouring flights leave in the same hour: the last answer is mostly the next one too.
    if let lastTime, lastTime.text.elementsEqual(bytes) { return lastTime.date }
    let text = String(decoding: bytes, as: UTF8.self)
    // The parser is generous (February 31); the way back is not.
    guard let date = try? Date(text, strategy: .iso8601), date.ISO8601Format() == text else {
      throw Mistake(reason: "\(column.name) is '\(text)', not a time like 2013-01-01T10:00:00Z")
    }
    lastTime = (Array(bytes), date)
    return date
  }

  private func bytes(_ column: Column) -> ArraySlice<UInt8>? {
    let bytes = record[positions[column.rawValue]]
    if bytes.isEmpty || (bytes.count == 2 && bytes.elementsEqual("NA".utf8)) { return nil }
    return bytes
  }

  private func required<Value>(_ column: Column, _ value: Value?) throws(Mistake) -> Value {
    guard let value else { throw Mistake(reason: "\(column.name) is missing") }
    return value
  }
}
