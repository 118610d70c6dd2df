import ArgumentParser
import Foundation
import StrataCore

/// What a store says of itself.
struct Info: StoreTask {
  static let configuration = CommandConfiguration(
    abstract: "Prints what a store says of itself, and its figures.")

  @Argument(help: "The store's file.") var store: String

  func perform() throws {
    let opened = try openStore(store)
    defer { opened.close() }
    let statistics = try opened.statistics()
    print("identifier  \(opened.identifier.uuidString)")
    print("saves       \(try opened.commitNumber())")
    print("bytes       \(statistics.fileSize), in pages of \(statistics.pageSize)")
    let log = statistics.logSize
    print(
      "log         \(log == 0 ? "none" : "\(log) bytes, \(statistics.logRecordCount) commits since the checkpoint")"
    )
    print("readers     \(statistics.readersInUse)")
    for (name, count) in statistics.entryCounts.sorted(by: { $0.key < $1.key }) {
      print("\(name): \(count) \(count == 1 ? "entry" : "entries")")
    }
  }
}
