import ArgumentParser
import Foundation
import StrataCore

/// Where the objects and the bytes of a store are.
struct Stats: StoreTask {
  static let configuration = CommandConfiguration(
    abstract: "Prints how many objects each entity has, and where the bytes of the store are.",
    discussion: "Objects of entities that share a hierarchy with others are counted one by one.")

  @Argument(help: "The store's file.", completion: .file()) var store: String
  @Flag(help: "Count the history too: how many changes of each entity it tells.") var history = false
  @Flag(help: "As JSON.") var json = false
  var subject: String? { store }
  static let readsServers = true

  func perform() throws {
    if StorePath.address(store) != nil { return try performOnServer() }
    var figures = try StorePath.read(store) { try StoreFigures($0) }
    if history { figures.changes = try changes() }
    if json { try Output.current.json(figures.report) } else { try write(figures) }
  }

  /// What there is to say of a store that is in no file.
  private func performOnServer() throws {
    let (counts, parts) = try StorePath.read(store) { window in
      (try MigrationPreview.objectCounts(window).sorted { $0.key < $1.key }, try window.parts())
    }
    let changes = history ? try changes() : nil
    let sum = parts.reduce(0) { $0 + $1.byteCount }
    let output = Output.current
    if json {
      var members: [(String, JSONValue)] = [
        ("objects", .object(counts.map { ($0.key, .number($0.value)) })),
        ("parts", .object(parts.map { ($0.words, .number($0.byteCount)) })), ("bytes", .number(sum)),
      ]
      if let changes { members.append(("history", .object(changes.map { ($0.name, .number($0.count)) }))) }
      return try output.json(.object(members))
    }
    var table = Table([("entity", false), ("objects", true)], widest: 0)
    for (name, count) in counts { try table.add([name, Words.grouped(count)], to: output) }
    try table.finish(output)
    try output.line()
    table = Table([("what", false), ("bytes", true)], widest: 0)
    for part in parts.sorted(by: { ($1.byteCount, $0.words) < ($0.byteCount, $1.words) }) {
      try table.add([part.words, Words.grouped(part.byteCount)], to: output)
    }
    try table.finish(output)
    try output.line()
    try output.line("\(Words.bytes(sum)) on the server")
    if let changes { try write(changes) }
  }

  private func write(_ changes: [(name: String, count: Int)]) throws {
    try Output.current.line()
    var table = Table([("history of", false), ("changes", true)], widest: 0)
    for (name, count) in changes { try table.add([name, Words.grouped(count)], to: Output.current) }
    try table.finish(Output.current)
  }

  private func changes() throws -> [(name: String, count: Int)] {
    var counts: [String: Int] = [:]
    try StoreHistory.read(store) { coordinator in
      try coordinator.forEachHistoryTransaction(.fetchHistory(after: .beginning)) { transaction in
        for change in transaction.changes ?? [] { counts[change.changedObjectID.entityName, default: 0] += 1 }
        return true
      }
    }
    return counts.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  private func write(_ figures: StoreFigures) throws {
    let output = Output.current
    let (statistics, space) = (figures.statistics, figures.space)
    var table = Table([("entity", false), ("objects", true)], widest: 0)
    for (name, count) in figures.counts { try table.add([name, Words.grouped(count)], to: output) }
    try table.finish(output)
    try output.line()
    table = Table([("what", false), ("entries", true), ("bytes", true)], widest: 0)
    for (name, bytes) in space.bytes.sorted(by: { ($1.value, $0.key) < ($0.value, $1.key) }) {
      let entries = statistics.entryCounts[name].map(Words.grouped) ?? ""
      try table.add([StoreFigures.words(name), entries, Words.grouped(bytes)], to: output)
    }
    try table.add(
      ["free pages", Words.grouped(space.freeBytes / statistics.pageSize), Words.grouped(space.freeBytes)],
      to: output)
    try table.finish(output)
    try output.line()
    let log = statistics.logSize
    try output.line(
      "\(Words.bytes(statistics.fileSize)) in pages of \(statistics.pageSize) bytes, "
        + (log == 0
          ? "no log"
          : "a log of \(Words.bytes(log)) with \(Words.counted(statistics.logRecordCount, "commit"))")
        + ", \(Words.counted(statistics.readersInUse, "reader"))")
    if space.freeBytes * 4 > statistics.fileSize {
      try output.line("“strata compact \(Words.quoted(store))” gives the free pages back.")
    }
    if let changes = figures.changes { try write(changes) }
  }
}

/// How much there is of what in a store.
struct StoreFigures {
  let statistics: StoreStatistics
  let space: (bytes: [String: Int], freeBytes: Int)
  /// By entity, how many objects there are of exactly that.
  let counts: [(name: String, count: Int)]
  /// By entity, how many changes the history tells, where that was asked.
  var changes: [(name: String, count: Int)]?

  /// - Parameter counts: Where they are known already; nil to count.
  init(_ window: StoreWindow, counts known: [(name: String, count: Int)]? = nil) throws {
    guard let file = window.fileStore else { throw Failure(.usage, "The store is in no file.") }
    statistics = try file.statistics()
    space = try file.space()
    let counts = try known ?? MigrationPreview.objectCounts(window).map { ($0.key, $0.value) }
    self.counts = counts.sorted { $0.name < $1.name }
  }

  /// Keyspaces in the order of the file format, with what they are for.
  static func words(_ keyspace: String) -> String {
    switch keyspace {
    case "large": return "large values"
    case "edges": return "members of relationships"
    case "journal": return "journal for other processes"
    case "history": return "history"
    case "meta": return "the store itself"
    default: break
    }
    if keyspace.hasPrefix("rows:") { return "objects of \(keyspace.dropFirst(5)) and below" }
    if keyspace.hasPrefix("index:") { return "index \(keyspace.dropFirst(6))" }
    return keyspace
  }

  /// The figures as JSON.
  var report: JSONValue {
    let keyspaces = space.bytes.sorted { $0.key < $1.key }.map { name, bytes -> (String, JSONValue) in
      (name, ["entries": .number(statistics.entryCounts[name] ?? 0), "bytes": .number(bytes)])
    }
    var members: [(String, JSONValue)] = [
      ("objects", .object(counts.map { ($0.name, .number($0.count)) })),
      ("keyspaces", .object(keyspaces)), ("bytes", .number(statistics.fileSize)),
      ("pageSize", .number(statistics.pageSize)), ("freeBytes", .number(space.freeBytes)),
      ("logBytes", .number(statistics.logSize)), ("logCommits", .number(statistics.logRecordCount)),
      ("readers", .number(statistics.readersInUse)),
    ]
    if let changes = changes {
      members.append(("history", .object(changes.map { ($0.name, .number($0.count)) })))
    }
    return .object(members)
  }
}
