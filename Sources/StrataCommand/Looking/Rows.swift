import ArgumentParser
import Foundation
import StrataCore

/// The objects of an entity as a table.
struct Rows: StoreTask {
  static let configuration = CommandConfiguration(
    abstract: "Shows the objects of an entity that satisfy a condition.",
    discussion: """
      As a table the first 100 are shown, as JSON and CSV all of them. Columns are attributes, relationships (to-one ones show an \
      object, to-many ones how many), “id” (“objectID” where a property has that name), and key paths through to-one relationships: --columns name,team.name,id.
      """)

  @OptionGroup var asking: Asking
  @Option(help: "The order: keys with “:desc” behind them where the largest comes first; “age:desc,name”.")
  var sort: [String] = []
  @Option(help: "The columns, with commas between them.") var columns: String?
  // Unconditional: a number below 0 is a value, and refused as one.
  @Option(parsing: .unconditional, help: "The most objects to show; 0 for all.") var limit: Int?
  @Option(parsing: .unconditional, help: "How many objects to leave out at the beginning.") var offset = 0
  @Flag(help: "A line of JSON for each object.") var json = false
  @Flag(help: "Comma-separated values with a line of names.") var csv = false
  @Flag(help: "Show long values whole in the table.") var wide = false

  var subject: String? { asking.store }
  static let readsServers = true

  func validate() throws {
    if (limit ?? 0) < 0 { throw ValidationError("--limit must not be negative; 0 shows all.") }
    if offset < 0 { throw ValidationError("--offset must not be negative.") }
    if json && csv { throw ValidationError("--json and --csv exclude each other.") }
  }

  func perform() throws {
    try StorePath.read(asking.store) { window in
      let isTable = !json && !csv
      let limit = self.limit ?? (isTable ? 100 : 0)
      // One more tells whether there are more.
      let request = try asking.request(
        window, sort: sort, limit: isTable && limit > 0 && limit < .max ? limit + 1 : limit,
        offset: offset)
      let shape = EntityShape(request.entity, window.schema)
      let chosen = try columns.map { try Column.parse($0, request.entity, window.schema) }
      let output = Output.current
      if json {
        let objects = ObjectLines(window)
        var writer = JSONWriter()
        try forEachRow(request, window, rows: 0) { row in
          writer.clear()
          if let chosen {
            try JSONValue.object(
              chosen.map { ($0.name, try $0.content(of: row, window).json(window.schema)) }
            ).write(to: &writer)
          } else {
            try objects.write(row, to: &writer)
          }
          writer.byte(UInt8(ascii: "\n"))
          try output.write(writer.bytes)
        }
        return
      }
      let columns = chosen ?? Column.all(of: shape)
      if csv {
        try output.line(columns.map { CSV.quoted($0.name) }.joined(separator: ","))
        try forEachRow(request, window, rows: 0) { row in
          try output.line(
            columns.map { try $0.content(of: row, window).cell(window.schema) }.joined(separator: ","))
        }
        return
      }
      var table = Table(columns.map { ($0.name, $0.isNumber) }, widest: wide ? 0 : 40)
      let count = try forEachRow(request, window, rows: limit) { row in
        try table.add(columns.map { try $0.content(of: row, window).shown(window.schema) }, to: output)
      }
      try table.finish(output)
      let more = limit > 0 && count > limit ? "; there are more, --limit 0 shows all" : ""
      try output.line("\(Words.counted(limit > 0 ? min(count, limit) : count, "object"))\(more)")
    }
  }

  /// Calls `body` with the objects, but only the first `rows` of them when that is not 0; how many there were. Many are read some at a time.
  @discardableResult
  private func forEachRow(
    _ request: ResolvedFetchRequest, _ window: StoreWindow, rows: Int, _ body: (FetchedRow) throws -> Void
  ) throws -> Int {
    if request.limit > 0 && request.limit <= 10_000 {
      let found = try window.reading.fetch(request, mode: .rows).rows
      for row in rows > 0 ? found.prefix(rows) : found[...] { try body(row) }
      return found.count
    }
    let found = try window.reading.fetch(request, mode: .identifiers).rows
    let wanted = rows > 0 ? min(rows, found.count) : found.count
    for start in stride(from: 0, to: wanted, by: 1_000) {
      let keys = found[start..<min(start + 1_000, wanted)].map(\.primaryKey)
      for row in try window.reading.rows(hierarchy: request.hierarchyNumber, primaryKeys: keys) {
        if let row { try body(row) }
      }
    }
    return found.count
  }
}
