import Foundation

/// A row of one of the five tables, read from a CSV record.
protocol TableRow: Sendable {
  associatedtype Column: TableColumn
  /// The table's name: `flights` stands in `flights.csv` or `flights.csv.gz`.
  static var table: String { get }
  /// What no two rows of the table share; nil for a table without a key.
  var key: String? { get }
  init(_ fields: inout Fields<Column>) throws(Fields<Column>.Mistake)
}

extension TableRow {
  var key: String? { nil }
}

/// Reads the rows of one table. Damaged lines are counted and reported, never handed out.
///
/// Memory: one record, and the keys seen so far of a table that has keys (the large table, flights, has none).
struct TableReader<Row: TableRow> {
  /// The number of damaged lines met so far.
  private(set) var damageCount = 0
  /// The line on which the last row handed out begins; 1, the header's, before the first.
  private(set) var line = 1

  private var reader: CSVReader
  private var fields: Fields<Row.Column>
  private var lineOfKey: [String: Int] = [:]
  private let report: (DamagedLine) -> Void

  init(_ source: DataFolder, report: @escaping (DamagedLine) -> Void = { _ in }) throws {
    try self.init(file: source.file(of: Row.table), report: report)
  }

  init(file: URL, report: @escaping (DamagedLine) -> Void = { _ in }) throws {
    reader = try CSVReader(file)
    fields = try Fields(header: reader.header, file: file.path)
    self.report = report
  }

  /// The next sound row, nil at the end of the table.
  mutating func next() throws -> Row? {
    while let element = try reader.next() {
      switch element {
      case .damage(let damage):
        skip(damage)
      case .record(let record):
        fields.record = record
        do {
          let row = try Row(&fields)
          if let key = row.key, let first = lineOfKey.updateValue(record.line, forKey: key) {
            lineOfKey[key] = first
            skip(
              DamagedLine(
                file: reader.file, line: record.line, reason: "\(key) stands already on line \(first)"))
            continue
          }
          line = record.line
          return row
        } catch {
          skip(DamagedLine(file: reader.file, line: record.line, reason: error.reason))
        }
      }
    }
    return nil
  }

  private mutating func skip(_ damage: DamagedLine) {
    damageCount += 1
    report(damage)
  }
}
