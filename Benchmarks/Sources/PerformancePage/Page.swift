/// The page with its tables between markers:
///
///     <!-- measured: inserts -->
///     | … the table, made from results … |
///     <!-- end -->
///
/// Everything else is left as it is.
struct Page {
  var lines: [String]
  let file: String

  init(_ text: String, file: String) {
    lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    self.file = file
  }

  var text: String { lines.joined(separator: "\n") }

  /// The page with all tables made anew.
  ///
  /// - Throws: `ResultError` when a figure is missing, a marker is not closed or is of no table, or a table has no marker.
  func filled(with tables: [PageTable], from results: Results) throws -> Page {
    var filled: [String] = []
    /// The lines on which the tables have been begun.
    var begun: [String: Int] = [:]
    var open: (name: String, line: Int)?
    for (index, line) in lines.enumerated() {
      if let name = Self.name(in: line) {
        if let open { throw error(open.line, "“\(open.name)” has no <!-- end --> before the next table.") }
        guard let table = tables.first(where: { $0.name == name }) else {
          throw error(
            index + 1, "There is no table “\(name)”: \(tables.map(\.name).joined(separator: ", ")).")
        }
        if let first = begun[name] { throw error(index + 1, "“\(name)” stands on line \(first) already.") }
        open = (name, index + 1)
        begun[name] = index + 1
        filled += [line] + (try table.lines(results))
      } else if line == "<!-- end -->" {
        guard open != nil else { throw error(index + 1, "Nothing was begun here.") }
        open = nil
        filled.append(line)
      } else if open == nil {
        filled.append(line)
      }
    }
    if let open { throw error(open.line, "“\(open.name)” has no <!-- end -->.") }
    if let missing = tables.first(where: { begun[$0.name] == nil }) {
      throw ResultError(file: file, line: nil, "The marker <!-- measured: \(missing.name) --> is missing.")
    }
    var page = self
    page.lines = filled
    return page
  }

  /// The table that the first line stands in which the two pages do not share; nil when they are the same.
  func firstDifference(from other: Page) -> (line: Int, table: String)? {
    let same = zip(lines, other.lines).prefix { $0 == $1 }.count
    if same == lines.count, same == other.lines.count { return nil }
    let table = lines.prefix(same).last { Self.name(in: $0) != nil }.flatMap(Self.name) ?? ""
    return (same + 1, table)
  }

  private static func name(in line: String) -> String? {
    let (before, after) = ("<!-- measured: ", " -->")
    guard line.hasPrefix(before), line.hasSuffix(after), line.count > before.count + after.count else {
      return nil
    }
    return String(line.dropFirst(before.count).dropLast(after.count))
  }

  private func error(_ line: Int, _ text: String) -> ResultError { ResultError(file: file, line: line, text) }
}
