import Foundation

/// Columns of text under each other, for the terminal.
///
///     step        count   time
///     import     24,796  0.41 s
struct TextTable {
  enum Alignment { case left, right }

  private let alignments: [Alignment]
  private var rows: [[String]]

  init(_ titles: [(title: String, alignment: Alignment)]) {
    alignments = titles.map(\.alignment)
    rows = [titles.map(\.title)]
  }

  /// Adds a line; cells that are left out are empty.
  mutating func add(_ cells: String...) {
    rows.append(cells + Array(repeating: "", count: max(0, alignments.count - cells.count)))
  }

  /// The lines, without trailing spaces.
  var lines: [String] {
    let widths = alignments.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    return rows.map { row in
      let cells = row.indices.map { column in
        let padding = String(repeating: " ", count: widths[column] - row[column].count)
        return alignments[column] == .left ? row[column] + padding : padding + row[column]
      }
      let line = cells.joined(separator: "  ")
      return String(line[..<(line.lastIndex { $0 != " " }.map(line.index(after:)) ?? line.startIndex)])
    }
  }
}

extension Int {
  /// With a comma between each three digits: `336,776`.
  var grouped: String {
    let digits = Array(String(magnitude))
    let groups = stride(from: digits.count, to: 0, by: -3).map { String(digits[Swift.max(0, $0 - 3)..<$0]) }
    return (self < 0 ? "-" : "") + groups.reversed().joined(separator: ",")
  }
}

extension Duration {
  /// In the unit that reads well: `412 µs`, `3.2 ms`, `1.25 s`.
  var short: String {
    let seconds = Double(components.seconds) + Double(components.attoseconds) * 1e-18
    if seconds < 0.001 { return String(format: "%.0f µs", seconds * 1e6) }
    if seconds < 1 { return String(format: "%.1f ms", seconds * 1e3) }
    return String(format: "%.2f s", seconds)
  }
}
