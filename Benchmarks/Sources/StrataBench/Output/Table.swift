/// Text in columns, padded for the eye and valid as Markdown. The first column is set left, the others right.
struct Table: CustomStringConvertible {
  var header: [String]
  var rows: [[String]] = []

  var description: String {
    let widths = header.indices.map { column in
      ([header] + rows).map { $0[column].count }.max() ?? 0
    }
    func line(_ cells: [String]) -> String {
      let padded = cells.indices.map { column in
        let space = String(repeating: " ", count: widths[column] - cells[column].count)
        return column == 0 ? cells[column] + space : space + cells[column]
      }
      return "| " + padded.joined(separator: " | ") + " |"
    }
    let rule = widths.indices.map { column in
      String(repeating: "-", count: widths[column] - (column == 0 ? 0 : 1)) + (column == 0 ? "" : ":")
    }
    return ([line(header), line(rule)] + rows.map(line)).joined(separator: "\n")
  }
}
