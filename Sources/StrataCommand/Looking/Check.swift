import ArgumentParser
import Foundation
import StrataCore

/// Every page, then everything in them.
struct Check: StoreTask {
  static let configuration = CommandConfiguration(
    abstract: "Walks every page of a store, then compares its rows, indexes, relationships and large values.")

  @Argument(help: "The store's file.", completion: .file()) var store: String
  @Flag(help: "As JSON.") var json = false
  var subject: String? { store }

  func perform() throws {
    let line = ProgressLine()
    line.show("walking the pages …")
    defer { line.end() }
    try LMDBStore.inspect(at: StorePath.resolved(store))
    let opened = try StorePath.open(store)
    defer { opened.close() }
    line.show("comparing rows, indexes, relationships and large values …")
    let check = try opened.check()
    line.end()
    let output = Output.current
    if json {
      try output.json([
        "isSound": .boolean(check.isSound), "rows": .number(check.rowCount),
        "indexEntries": .number(check.indexEntryCount), "edges": .number(check.edgeCount),
        "largeValues": .number(check.largeValueCount),
        "danglingReferences": .number(check.danglingReferenceCount),
        "problems": .array(
          check.problems.map { ["kind": .string($0.kind.rawValue), "place": .string($0.place)] }),
      ])
    } else {
      for problem in check.problems { try output.line("\(problem)") }
    }
    if !check.isSound {
      throw Failure(
        .damaged, "The store has \(Words.counted(check.problems.count, "problem")).",
        advice: Failure.damageAdvice(store))
    }
    if json { return }
    try output.line(
      "Sound: \(check.rowCount) rows, \(check.indexEntryCount) index entries, \(check.edgeCount) edges, "
        + "\(check.largeValueCount) large values."
    )
    if check.danglingReferenceCount > 0 {
      try output.line(
        "\(check.danglingReferenceCount) references lead to deleted rows, as the delete rule noAction allows."
      )
    }
  }
}
