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
    /// The record of a commit that failed stays, also the one of a killed process.
    case withoutCut
    /// A head that another process has written is believed to be durable.
    case trusting
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
      options.log.trustsHeads = mutant == .trusting
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
    try update(here: here) { _ in changes }
  }

  /// The same with changes that depend on what lies under keys; `body` may be called again.
  package func update(
    here: Bool = false,
    _ body:
      @escaping @Sendable (_ value: (_ keyspace: Int, _ key: [UInt8]) throws -> [UInt8]?) throws -> [Change]
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

  /// Does what is done in a quiet moment: a checkpoint, of whose failure nobody is told.
  package func rest() {
    environment.log?.wantFlush()
    environment.makeQuietCheckpoint()
  }

  /// Makes the file as short as can be, for the sake of a single page.
  package func compact() throws { _ = try environment.compact(patience: .milliseconds(60), slack: 0) }

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
      guard hasMark, let log,
        case .head(let head) = LogHead.find(Array(log.prefix(LogFormat.headArea.count))),
        head.identity == identity, head.state == .inForce
      else { return }
      isInForce = true
      recordCount = log.withUnsafeBytes { LogRecord.all($0, generation: head.generation).count }
    }
  }
}

extension LogProbe {
  /// Reads bytes of any origin as the head of a log and its records, without the zeros between; whether they are a log with records whose changes can be
  /// carried out.
  package static func decode(_ bytes: UnsafeRawBufferPointer) -> Bool {
    let head = Array(bytes.prefix(LogFormat.headSize))
    let gap = [UInt8](repeating: 0, count: LogFormat.recordStart - head.count)
    return (head + gap + bytes.dropFirst(LogFormat.headSize)).withUnsafeBytes { log in
      var generation: UInt64 = 0
      var isSound = false
      if case .head(let head) = LogHead.read(head) {
        generation = head.generation
        isSound = true
      }
      let records = LogRecord.all(log, generation: generation)
      isSound = isSound && !records.isEmpty
      for record in records { isSound = canBeCarriedOut(.init(rebasing: log[record.body])) && isSound }
      // Behind checksums that happen to be right.
      for record in LogRecord.all(log, generation: generation, isChecked: false) {
        _ = canBeCarriedOut(.init(rebasing: log[record.body]))
      }
      return isSound
    }
  }

  private static func canBeCarriedOut(_ body: UnsafeRawBufferPointer) -> Bool {
    var count = 0
    do {
      try LogChange.forEach(body) { change in
        switch change {
        case .keyspace(let name): count += name.utf8.count
        // Every byte is touched.
        case .put(let key, let value): count += key.reduce(value.count) { $0 ^ Int($1) } & 1
        case .delete(let key): count += Int(key[0])
        case .clear: count += 1
        }
      }
    } catch { return false }
    return count >= 0
  }

  /// Valid logs, small ones.
  package static func samples() -> [[UInt8]] {
    [[1], [3, 40, 0, 2], [200]].map { sizes in
      let anchor = [UInt8](repeating: 7, count: MetaPage.size)
      let head = LogHead(
        state: .inForce, identity: LogIdentity(high: 1, low: 2), generation: 77, anchor: anchor)
      var bytes = head.bytes
      var chain = head.generation
      for (number, size) in sizes.enumerated() {
        let recorder = LogRecorder()
        for name in ["rows", "edges", "rows"] {
          let keyspace = Keyspace(handle: name == "rows" ? 2 : 3, name: name)
          let key = Array("key \(number)".utf8)
          key.withUnsafeBytes { key in
            [UInt8](repeating: 9, count: size).withUnsafeBytes { recorder.put(keyspace, key, $0) }
            recorder.delete(keyspace, key)
          }
          recorder.clear(keyspace)
        }
        recorder.bytes.withUnsafeBytes { body in
          let header = LogRecord.header(.changes, 8 + UInt64(number), body: body, chain: chain)
          chain = header.checksum
          bytes += header.bytes + body
        }
        bytes += [UInt8](repeating: 0, count: bytes.count.roundedUp(to: LogFormat.alignment) - bytes.count)
      }
      return bytes + [UInt8](repeating: 0, count: 64)
    }
  }
}
