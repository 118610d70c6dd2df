import ArgumentParser
import Foundation
import StrataCore

/// A file without free pages.
struct Compact: StoreTask {
  static let configuration = CommandConfiguration(
    abstract:
      "Writes a store anew without free pages, in the place of the old file. Nobody may use it meanwhile.",
    discussion: """
      The new file is written beside the store and takes its place in one step, so there has to be room for both. Identifiers, history and tokens stay. \
      For a store that is in use, “strata backup” writes such a file under another name.
      """)

  @Argument(help: "The store's file.", completion: .file()) var store: String
  @Flag(help: "As JSON.") var json = false
  var subject: String? { store }

  func perform() throws {
    let line = ProgressLine()
    defer { line.end() }
    line.show("writing the store anew …")
    let (before, after) = try LMDBStore.compact(at: StorePath.resolved(store))
    line.end()
    if json {
      try Output.current.json([
        "store": .string(store), "bytesBefore": .number(before), "bytes": .number(after),
      ])
    } else {
      try Output.current.line("\(Words.bytes(before)) before, \(Words.bytes(after)) now.")
    }
  }
}
