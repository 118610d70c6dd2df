import ArgumentParser
import Foundation
import StrataCore

/// What is readable of a damaged store.
struct Salvage: StoreTask {
  static let configuration = CommandConfiguration(
    abstract: "Reads what is readable of a damaged store into a new one.",
    discussion: """
      The damaged file is only read. Rows come back when their checksums are right; the report says what came back from \
      pages that no tree leads to, and what did not. The new file appears under its name when it is complete, not before.

      Ends with exit code 0 when everything came back, with exit code 2 when the new file holds what was readable and that is not \
      everything, with another one when there is no new file.
      """)

  @Argument(help: "The damaged store's file. Nothing may write it meanwhile.", completion: .file()) var store:
    String
  @Argument(help: "The new store's file. It must not exist.", completion: .file()) var new: String
  @Flag(help: "Take only what trees lead to: nothing that was deleted comes back.") var strict = false
  @Option(
    help: "Where the model comes from when the damaged store has lost its own, such as a backup.",
    completion: .file())
  var modelFrom: String?
  @Flag(help: "List every row that came from a loose page, lost a value or was left out.") var list = false
  @Flag(help: "As JSON.") var json = false
  var subject: String? { store }

  func perform() throws {
    let source = StorePath.resolved(store)
    var status = stat()
    if stat(source.path, &status) == 0, status.st_mode & S_IFMT != S_IFREG {
      throw Failure(.notAStore, "\(store) is no file.")
    }
    let line = ProgressLine()
    defer { line.end() }
    let model = try modelFrom.map { try ModelSource.model($0) }
    let report: SalvageReport
    do {
      report = try LMDBStore.salvage(
        from: source, to: URL(fileURLWithPath: new), model: model,
        includesLoosePages: !strict
      ) { progress in
        line.show("\(progress.phase): \(Words.counted(progress.rowCount, "row")) …")
      }
    } catch let error as StorageError where error.kind == .notADatabase && model == nil {
      throw Failure(
        .notAStore, error.description, advice: "--model-from names a store or a model to read the rows with.")
    } catch var error as StorageError {
      // The new file has another name until it is complete.
      if URL(fileURLWithPath: error.path).lastPathComponent.hasPrefix(".strata-") { error.path = new }
      throw error
    }
    line.end()
    let output = Output.current
    if json {
      try output.json(Self.json(report, new))
    } else {
      try output.line("\(report)")
      if list {
        for row in report.looseRows { try output.line("from a loose page: \(row)") }
        for lost in report.lostValues { try output.line("lost: \(lost.attribute) of \(lost.row)") }
        for row in report.leftOutRows { try output.line("left out: \(row)") }
      }
      try output.line(
        report.isComplete
          ? "Complete: everything is in \(new)." : "Incomplete: what was readable is in \(new).")
    }
    if !report.isComplete { throw ExitCode(Failure.Kind.incomplete.rawValue) }
  }

  private static func json(_ report: SalvageReport, _ new: String) -> JSONValue {
    [
      "isComplete": .boolean(report.isComplete), "new": .string(new), "rows": .number(report.rowCount),
      "looseRows": .strings(report.looseRows.map { "\($0)" }),
      "lostValues": .array(
        report.lostValues.map { ["row": .string("\($0.row)"), "attribute": .string("\($0.attribute)")] }),
      "leftOutRows": .strings(report.leftOutRows.map { "\($0)" }), "remarks": .strings(report.remarks),
      "report": .string("\(report)"),
    ]
  }
}
