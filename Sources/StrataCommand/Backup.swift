import ArgumentParser
import Foundation
import StrataCore

/// A copy of the last save, while others go on.
struct Backup: StoreTask {
  static let configuration = CommandConfiguration(
    abstract: "Writes a copy of a store to a new file; the store may be in use meanwhile.",
    discussion: "Waits for no writer. The copy appears under its name when it is complete, not before.")

  @Argument(help: "The store's file.") var store: String
  @Argument(help: "The copy's file. It must not exist.") var copy: String
  @Flag(help: "Copy free pages as well: less work, a larger file.") var plain = false

  func perform() throws {
    let line = ProgressLine()
    let opened = try openStore(store)
    defer { opened.close() }
    line.show("copying …")
    defer { line.end() }
    try opened.backup(to: URL(fileURLWithPath: copy), compacting: !plain)
    line.end()
    print("Copied to \(copy).")
  }
}
