import ArgumentParser
import Foundation
import StrataCore

/// What a store says of itself.
struct Info: StoreTask {
  static let configuration = CommandConfiguration(
    abstract: "Prints what a store says of itself, and its figures.")

  @Argument(help: "The store's file.", completion: .file()) var store: String
  @Flag(help: "As JSON.") var json = false
  var subject: String? { store }
  static let readsServers = true

  func perform() throws {
    if StorePath.address(store) != nil { return try performOnServer() }
    let opened = try StorePath.open(store)
    defer { opened.close() }
    let statistics = try opened.statistics()
    let entries = statistics.entryCounts.sorted { $0.key < $1.key }
    let output = Output.current
    if json {
      return try output.json([
        "identifier": .string(opened.identifier.uuidString), "saves": .number(Int(try opened.commitNumber())),
        "bytes": .number(statistics.fileSize), "freeBytes": .number(statistics.freeBytes),
        "pageSize": .number(statistics.pageSize),
        "logBytes": .number(statistics.logSize), "logCommits": .number(statistics.logRecordCount),
        "readers": .number(statistics.readersInUse),
        "entries": .object(entries.map { ($0.key, .number($0.value)) }),
      ])
    }
    try output.line("identifier  \(opened.identifier.uuidString)")
    try output.line("saves       \(try opened.commitNumber())")
    try output.line("bytes       \(statistics.fileSize), in pages of \(statistics.pageSize)")
    try output.line("free        \(statistics.freeBytes) bytes")
    let log = statistics.logSize
    try output.line(
      "log         \(log == 0 ? "none" : "\(log) bytes, \(statistics.logRecordCount) commits since the checkpoint")"
    )
    try output.line("readers     \(statistics.readersInUse)")
    for (name, count) in entries {
      try output.line("\(name): \(count) \(count == 1 ? "entry" : "entries")")
    }
  }

  /// What does not depend on how the store is kept.
  private func performOnServer() throws {
    let (identifier, saves, counts) = try StorePath.read(store) { window in
      (
        window.store.identifier, try window.store.followedStore?.commitNumber() ?? 0,
        try MigrationPreview.objectCounts(window).sorted { $0.key < $1.key }
      )
    }
    let output = Output.current
    if json {
      return try output.json([
        "identifier": .string(identifier.uuidString), "saves": .number(Int(saves)),
        "entries": .object(counts.map { ($0.key, .number($0.value)) }),
      ])
    }
    try output.line("identifier  \(identifier.uuidString)")
    try output.line("saves       \(saves)")
    for (name, count) in counts {
      try output.line("\(name): \(count) \(count == 1 ? "object" : "objects")")
    }
  }
}
