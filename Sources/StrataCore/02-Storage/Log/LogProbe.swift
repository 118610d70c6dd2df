import Foundation

/// A store of bytes with a log beside it, for programs that cut its power, kill its writers, make its calls fail, and damage its files.
///
/// It is `Environment` with the log switched on, and nothing else.
package final class LogProbe: Sendable {
  /// A fault that is put into the log on purpose: tests that do not notice it prove nothing.
  package enum Mutant: String, Sendable, CaseIterable {
    /// No pin keeps the pages of the checkpoint.
    case withoutPin
    /// A record counts whatever its checksum is.
    case withoutChain
    /// The record of a commit that failed stays.
    case withoutCut
  }

  package struct Settings: Sendable {
    package var durability = Durability.full
    package var mutant: Mutant?
    /// How many commits go without a log.
    package var commitsBefore = 1
    /// By how many pages the file may grow between two checkpoints.
    package var mostPages = 1_024
    package var mapSize = 1 << 24
    package var createsIfMissing = true
    package var writerDeadline = Duration.seconds(30)

    package init() {}

    var options: EnvironmentOptions {
      var options = EnvironmentOptions()
      options.durability = durability
      options.create = createsIfMissing ? .ifMissing : .never
      options.mapSize = mapSize
      options.writerDeadline = writerDeadline
      options.keepsLog = true
      options.log.commitsBefore = commitsBefore
      options.log.mostPages = mostPages
      options.log.omitsPin = mutant == .withoutPin
      options.log.ignoresChain = mutant == .withoutChain
      options.log.omitsCut = mutant == .withoutCut
      return options
    }
  }

  /// A change of the store; keyspaces are made when they are missing.
  package enum Change: Sendable {
    case put(keyspace: Int, key: [UInt8], value: [UInt8])
    case delete(keyspace: Int, key: [UInt8])
    case clear(keyspace: Int)
  }

  /// Every entry, by keyspace.
  package typealias Contents = [[[UInt8]: [UInt8]]]

  private let environment: Environment
  private let names: [String]

  /// Opens the store at `path`, which recovers it when it was not closed.
  package init(_ path: String, keyspaces names: [String], _ settings: Settings) throws {
    environment = try Environment.open(path: path, options: settings.options)
    self.names = names
  }

  /// Commits all of `changes` or none.
  ///
  /// - Parameter here: whether the calling thread may write by itself.
  package func commit(_ changes: [Change], here: Bool = false) throws {
    try write(here: here) { _ in changes }
  }

  /// The same with changes that depend on what lies under a key.
  package func update(
    keyspace: Int, key: [UInt8], here: Bool = false,
    _ body: @escaping @Sendable (_ value: [UInt8]?) throws -> [Change]
  ) throws {
    try write(here: here) { try body($0(keyspace, key)) }
  }

  private func write(
    here: Bool, _ body: @escaping @Sendable ((Int, [UInt8]) throws -> [UInt8]?) throws -> [Change]
  ) throws {
    let keyspaces = try environment.keyspaces(names).compactMap { $0 }
    let work: @Sendable (borrowing WriteTransaction) throws -> Void = { transaction in
      let view = transaction.read.handle
      let changes = try body { number, key in
        try key.withUnsafeBytes { try ReadTransaction(handle: view).get(keyspaces[number], $0) }.map(
          Array.init)
      }
      for change in changes { try Self.carryOut(change, keyspaces, transaction) }
    }
    guard here else { return try environment.write(work) }
    let done = DispatchSemaphore(value: 0)
    // Unsafe: set before the signal, read after it.
    nonisolated(unsafe) var outcome: Result<Void, any Error>?
    environment.submitWrite(here: true, work) {
      outcome = $0
      done.signal()
    }
    done.wait()
    try outcome?.get()
  }

  private static func carryOut(
    _ change: Change, _ keyspaces: [Keyspace], _ transaction: borrowing WriteTransaction
  ) throws {
    switch change {
    case .put(let number, let key, let value):
      try key.withUnsafeBytes { key in
        try value.withUnsafeBytes { try transaction.put(keyspaces[number], key, $0) }
      }
    case .delete(let number, let key):
      _ = try key.withUnsafeBytes { try transaction.delete(keyspaces[number], $0) }
    case .clear(let number): try transaction.clear(keyspaces[number])
    }
  }

  /// What is in the store.
  package func contents() throws -> Contents {
    // Of a store whose making was cut off some are missing.
    let missing = try environment.keyspaces(names)
    return try environment.read { transaction in
      try missing.map { keyspace in
        guard let keyspace else { return [:] }
        var entries: [[UInt8]: [UInt8]] = [:]
        try transaction.withCursor(keyspace) { cursor in
          while let entry = try cursor.next() { entries[Array(entry.key)] = Array(entry.value) }
        }
        return entries
      }
    }
  }

  /// Makes all commits durable.
  package func flush() throws { try environment.flush() }

  /// Closes the store; the log goes when no other process has the store open.
  package func close() { environment.close() }

  /// What lies in a log and a data file of any origin, for tests that look at images.
  package struct Look: Sendable {
    /// Whether the data file says that it needs a log.
    package var hasMark = false
    /// Whether the log is in force and belongs to the data file.
    package var isInForce = false
    package var recordCount = 0

    package init(data: [UInt8], log: [UInt8]?) {
      let mark = data.dropFirst(LogMark.offset).prefix(LogMark.size)
      guard mark.count == LogMark.size else { return }
      let identity = Array(mark).withUnsafeBytes { mark in
        LogIdentity(
          high: UInt64(littleEndian: mark.loadUnaligned(fromByteOffset: 8, as: UInt64.self)),
          low: UInt64(littleEndian: mark.loadUnaligned(fromByteOffset: 16, as: UInt64.self)))
      }
      hasMark = LogMark.bytes(identity) == Array(mark)
      guard hasMark, let log, case .head(let head) = LogHead.read(Array(log.prefix(LogFormat.headSize))),
        head.identity == identity, head.state == .inForce
      else { return }
      isInForce = true
      recordCount = log.withUnsafeBytes { LogRecord.all($0, generation: head.generation).count }
    }
  }
}
