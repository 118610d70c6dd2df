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
      everything, with exit code 1 when there is no new file.
      """)

  /// The exit code when not everything came back.
  private static let incomplete = ExitCode(2)

  @Argument(help: "The damaged store's file. Nothing may write it meanwhile.") var store: String
  @Argument(help: "The new store's file. It must not exist.") var new: String
  @Flag(help: "Take only what trees lead to: nothing that was deleted comes back.") var strict = false
  @Option(help: "A sound store of the same model, such as a backup, when the damaged one has lost its own.")
  var modelFrom: String?
  @Flag(help: "List every row that came from a loose page, lost a value or was left out.") var list = false

  func perform() throws {
    let line = ProgressLine()
    defer { line.end() }
    let model = try modelFrom.map { try LMDBStore.model(at: URL(fileURLWithPath: $0)) }
    let report = try LMDBStore.salvage(
      from: URL(fileURLWithPath: store), to: URL(fileURLWithPath: new), model: model,
      includesLoosePages: !strict
    ) { progress in
      line.show("\(progress.phase): \(progress.rowCount) rows …")
    }
    line.end()
    print(report)
    if list {
      for row in report.looseRows { print("from a loose page: \(row)") }
      for lost in report.lostValues { print("lost: \(lost.attribute) of \(lost.row)") }
      for row in report.leftOutRows { print("left out: \(row)") }
    }
    print(
      report.isComplete
        ? "Complete: everything is in \(new)." : "Incomplete: what was readable is in \(new).")
    if !report.isComplete { throw Self.incomplete }
  }
}
