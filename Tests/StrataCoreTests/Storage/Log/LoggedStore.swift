import Foundation
import Testing

@testable import StrataCore

/// A store beside a directory, and what tests of its log do with both.
struct LoggedStore {
  let directory: ScratchDirectory
  let name: String
  var path: String { directory(name) }
  var logPath: String { path + "-log" }

  init(name: String = "Test.strata") throws {
    directory = try ScratchDirectory()
    self.name = name
  }

  init(in directory: ScratchDirectory, name: String) {
    self.directory = directory
    self.name = name
  }

  /// Options with which the first write makes a log.
  static func options(_ durability: Durability = .full) -> EnvironmentOptions {
    var options = EnvironmentOptions()
    options.durability = durability
    options.keepsLog = true
    options.log.commitsBefore = 1
    options.mapSize = 1 << 24
    return options
  }

  func open(_ options: EnvironmentOptions = Self.options()) throws -> Environment {
    try Environment.open(path: path, options: options)
  }

  var hasLog: Bool { FileManager.default.fileExists(atPath: logPath) }

  /// The store with three commits, each in the log, and its keyspace: `a` is 3.
  func openFilled(_ options: EnvironmentOptions = Self.options()) throws -> (Environment, Keyspace) {
    let environment = try open(options)
    let rows = try environment.keyspace("rows")
    for number in 1...3 { try environment.put(rows, "a", "\(number)") }
    return (environment, rows)
  }

  /// What a store has whose newest anchor has not reached the medium.
  func valueAfterPowerCut(_ key: String = "a") throws -> String? {
    let copy = try LoggedStore()
    try KilledStoreTests.tear(image()).put(copy)
    let environment = try copy.open()
    defer { environment.close() }
    return try environment.get(try environment.keyspace("rows"), key)
  }

  /// The bytes of the data file and of the log, as they are in the system's memory.
  func image() throws -> Image {
    Image(
      data: try fileBytes(path),
      log: hasLog ? try fileBytes(logPath) : nil)
  }

  /// What lies on a medium.
  struct Image: Equatable {
    var data: [UInt8]
    var log: [UInt8]?

    /// Writes the files under the name of another store.
    func put(_ store: LoggedStore) throws {
      for path in [store.path, store.logPath, store.path + "-lock"] { unlink(path) }
      try Data(data).write(to: URL(fileURLWithPath: store.path))
      if let log { try Data(log).write(to: URL(fileURLWithPath: store.logPath)) }
    }

    /// Changes a byte of both heads.
    mutating func damageHeads(_ offset: Int, _ change: (inout UInt8) -> Void) {
      for place in [offset, LogFormat.headSpacing + offset] where log != nil { change(&log![place]) }
    }

    var head: LogHead {
      get throws {
        guard case .head(let head) = LogHead.find(Array(try #require(log).prefix(LogFormat.headArea.count)))
        else {
          throw StorageError(.damaged, operation: "test", path: "", detail: "no head")
        }
        return head
      }
    }
  }

  /// Every entry of every keyspace.
  static func contents(_ environment: Environment, _ names: [String]) throws -> [String: [String: [UInt8]]] {
    var result: [String: [String: [UInt8]]] = [:]
    for (name, keyspace) in zip(names, try environment.keyspaces(names)) {
      guard let keyspace else { continue }
      var entries: [String: [UInt8]] = [:]
      try environment.read { transaction in
        try transaction.withCursor(keyspace) { cursor in
          while let entry = try cursor.next() {
            entries[String(decoding: entry.key, as: UTF8.self)] = Array(entry.value)
          }
        }
      }
      result[name] = entries
    }
    return result
  }
}
