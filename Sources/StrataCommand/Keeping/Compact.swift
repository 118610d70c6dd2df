import ArgumentParser
import Foundation
import StrataCore

/// A file with few free pages, or none.
struct Compact: StoreTask {
  static let configuration = CommandConfiguration(
    abstract:
      "Gives the free pages of a store back to the disk, also while the store is in use.",
    discussion: """
      A store that nobody has open is written anew beside the old file, and takes its place in one step, so there has to be room for both. One that is in use is made \
      shorter where it lies, in short steps between which others read and save; what a reader still needs stays in it. Identifiers, history and tokens stay.
      """)

  @Argument(help: "The store's file.", completion: .file()) var store: String
  @Flag(help: "As JSON.") var json = false
  var subject: String? { store }

  func perform() throws {
    let line = ProgressLine()
    defer { line.end() }
    line.show("writing the store anew …")
    let url = StorePath.resolved(store)
    var result: Outcome
    do {
      let (before, after) = try LMDBStore.compact(at: url)
      result = Outcome(before: before, after: after)
    } catch let error as StorageError where error.kind == .busy {
      let report = try LMDBStore.compactInUse(at: url) { report in
        line.show("\(Words.bytes(report.movedBytes)) moved, the file has \(Words.bytes(report.size)) …")
      }
      result = Outcome(before: report.sizeBefore, after: report.size)
      (result.free, result.held, result.isInUse) = (report.freeBytes, report.heldBytes, true)
    }
    line.end()
    try write(result)
  }

  private struct Outcome {
    let before: Int
    let after: Int
    var free = 0
    var held = 0
    var isInUse = false
  }

  private func write(_ result: Outcome) throws {
    if json {
      return try Output.current.json([
        "store": .string(store), "bytesBefore": .number(result.before), "bytes": .number(result.after),
        "freeBytes": .number(result.free), "heldBytes": .number(result.held),
        "inUse": .boolean(result.isInUse),
      ])
    }
    try Output.current.line("\(Words.bytes(result.before)) before, \(Words.bytes(result.after)) now.")
    if result.isInUse {
      try Output.current.line("The store is in use; \(Words.bytes(result.free)) of that are free.")
    }
    if result.held * 4 > result.after {
      try Output.current.line(
        "\(Words.bytes(result.held)) of that may still be read by somebody; try again when they have gone on."
      )
    }
  }
}
