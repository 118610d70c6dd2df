import Foundation

/// A table for people: columns side by side, as wide as their first rows need.
struct Table {
  private let columns: [(title: String, isNumber: Bool)]
  private let widest: Int
  private var waiting: [[String]] = []
  private var widths: [Int]?
  private static let rowsMeasured = 200

  /// - Parameter widest: The most characters of a cell; longer ones are cut. 0 for no limit.
  init(_ columns: [(title: String, isNumber: Bool)], widest: Int) {
    self.columns = columns
    self.widest = widest
  }

  mutating func add(_ row: [String], to output: Output) throws {
    let row = row.map(clipped)
    guard let widths else {
      waiting.append(row)
      if waiting.count == Self.rowsMeasured { try begin(output) }
      return
    }
    try write(row, widths, output)
  }

  mutating func finish(_ output: Output) throws {
    if widths == nil { try begin(output) }
  }

  private mutating func begin(_ output: Output) throws {
    let widths = columns.indices.map { place in
      waiting.reduce(columns[place].title.count) { max($0, $1[place].count) }
    }
    self.widths = widths
    try write(columns.map(\.title), widths, output)
    try output.line(widths.map { String(repeating: "─", count: $0) }.joined(separator: "──"))
    for row in waiting { try write(row, widths, output) }
    waiting = []
  }

  private func write(_ row: [String], _ widths: [Int], _ output: Output) throws {
    var line = ""
    for (place, cell) in row.enumerated() {
      let gap = String(repeating: " ", count: max(0, widths[place] - cell.count))
      if place > 0 { line += "  " }
      line += columns[place].isNumber ? gap + cell : cell + gap
    }
    while line.last == " " { line.removeLast() }
    try output.line(line)
  }

  private func clipped(_ cell: String) -> String {
    let plain = cell.asOneLine
    return widest > 0 && plain.count > widest ? plain.prefix(widest - 1) + "…" : plain
  }
}

extension String {
  /// With what would break a line, or steer a terminal, shown as what it is.
  var asOneLine: String {
    func isControl(_ scalar: Unicode.Scalar) -> Bool { scalar.value < 0x20 || 0x7F...0x9F ~= scalar.value }
    if !unicodeScalars.contains(where: isControl) { return self }
    return String(
      String.UnicodeScalarView(
        unicodeScalars.map { scalar in
          // Pictures of control characters; there are some for these.
          if scalar.value < 0x20 { return Unicode.Scalar(0x2400 + scalar.value) ?? scalar }
          return scalar.value == 0x7F ? "\u{2421}" : isControl(scalar) ? "\u{FFFD}" : scalar
        }))
  }
}
