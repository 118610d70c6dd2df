import ArgumentParser
import Foundation
import StrataCore

/// A copy of the last save, while others go on.
struct Backup: StoreTask {
  static let configuration = CommandConfiguration(
    abstract: "Writes a copy of a store to a new file; the store may be in use meanwhile.",
    discussion: "Waits for no writer. The copy appears under its name when it is complete, not before.")

  @Argument(help: "The store's file.", completion: .file()) var store: String
  @Argument(help: "The copy's file. It must not exist.", completion: .file()) var copy: String
  @Flag(help: "Copy free pages as well: less work, a larger file.") var plain = false
  @Flag(help: "As JSON.") var json = false
  var subject: String? { store }

  func perform() throws {
    let line = ProgressLine()
    let opened = try StorePath.open(store)
    defer { opened.close() }
    line.show("copying …")
    defer { line.end() }
    let destination = URL(fileURLWithPath: copy)
    try opened.backup(to: destination, compacting: !plain)
    line.end()
    if json {
      let size = try FileManager.default.attributesOfItem(atPath: destination.path)[.size] as? Int
      try Output.current.json([
        "store": .string(store), "copy": .string(copy), "bytes": size.map { .number($0) } ?? .null,
      ])
    } else {
      try Output.current.line("Copied to \(copy).")
    }
  }
}
