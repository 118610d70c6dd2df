import ArgumentParser
import Foundation
import StrataCore

/// How a request is executed.
struct Explain: StoreTask {
  static let configuration = CommandConfiguration(
    abstract: "Says how a request for objects is executed: which index, how many rows.")

  @OptionGroup var asking: Asking
  @Option(help: "The order, as for “rows”.") var sort: [String] = []
  // Unconditional: a number below 0 is a value, and refused as one.
  @Option(parsing: .unconditional, help: "The most objects; 0 for all.") var limit = 0
  @Flag(help: "Execute it too, and say what was looked at and how long it took.") var analyze = false
  @Flag(help: "Explain the counting, not the fetching.") var count = false
  @Flag(help: "As JSON.") var json = false
  var subject: String? { asking.store }
  static let readsServers = true

  func validate() throws {
    if limit < 0 { throw ValidationError("--limit must not be negative; 0 asks for all.") }
  }

  func perform() throws {
    try StorePath.read(asking.store) { window in
      let request = try asking.request(window, sort: sort, limit: limit)
      let mode: FetchMode = count ? .count : .rows
      guard let part = try window.reading.explain(request, mode: mode, isExecuting: analyze) else {
        throw Failure(.other, "The store does not tell how it executes requests.")
      }
      if json { return try Output.current.json(Self.report(part)) }
      let output = Output.current
      try output.line(part.plan)
      if let rows = part.estimatedRows {
        let isMore =
          window.fileStore != nil && rows >= FetchExplanation.largestEstimate && part.access == .index
        try output.line("estimated: \(isMore ? "at least " : "")\(Words.counted(rows, "row"))")
      }
      if let execution = part.execution {
        let entries =
          execution.entriesExamined > 0
          ? " and \(Words.counted(execution.entriesExamined, "index entry"))" : ""
        try output.line(
          "actual: \(Words.counted(execution.rowsExamined, "row"))\(entries.replacingOccurrences(of: "entrys", with: "entries")) looked at, "
            + "\(Words.grouped(execution.rowsReturned)) returned, \(execution.duration)"
            + (execution.hasScannedInstead ? "; scanned, since so many rows are concerned" : ""))
      }
      if part.access == .scan, asking.condition != nil {
        try output.line("No index helps: every row is looked at.")
      }
    }
  }

  static func report(_ part: FetchExplanation.StorePart) -> JSONValue {
    var members: [(String, JSONValue)] = [
      ("access", .string(part.access.rawValue)), ("plan", .string(part.plan)),
      ("indexes", .strings(part.indexNames)), ("ranges", .number(part.rangeCount)),
      ("estimatedRows", part.estimatedRows.map { .number($0) } ?? .null),
      ("isOrdered", .boolean(part.isOrdered)), ("isCovering", .boolean(part.isCovering)),
    ]
    if let execution = part.execution {
      let time = execution.duration.components
      members.append(
        (
          "execution",
          [
            "rowsExamined": .number(execution.rowsExamined),
            "entriesExamined": .number(execution.entriesExamined),
            "rowsReturned": .number(execution.rowsReturned),
            "hasScannedInstead": .boolean(execution.hasScannedInstead),
            "seconds": .real(Double(time.seconds) + Double(time.attoseconds) / 1e18),
          ]
        ))
    }
    return .object(members)
  }
}
