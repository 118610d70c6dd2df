import ArgumentParser
import Foundation
import StrataCore

/// Every page, then everything in them.
struct Check: StoreTask {
  static let configuration = CommandConfiguration(
    abstract: "Walks every page of a store, then compares its rows, indexes, relationships and large values.")

  @Argument(help: "The store's file.") var store: String

  func perform() throws {
    let line = ProgressLine()
    line.show("walking the pages …")
    defer { line.end() }
    try LMDBStore.inspect(at: URL(fileURLWithPath: store))
    let opened = try openStore(store)
    defer { opened.close() }
    line.show("comparing rows, indexes, relationships and large values …")
    let check = try opened.check()
    line.end()
    for problem in check.problems { print(problem) }
    if !check.isSound {
      throw StrataCommandError(
        description:
          "The store has \(check.problems.count) problems; “strata salvage” brings back what is readable.")
    }
    print(
      "Sound: \(check.rowCount) rows, \(check.indexEntryCount) index entries, \(check.edgeCount) edges, "
        + "\(check.largeValueCount) large values."
    )
    if check.danglingReferenceCount > 0 {
      print(
        "\(check.danglingReferenceCount) references lead to deleted rows, as the delete rule noAction allows."
      )
    }
  }
}
