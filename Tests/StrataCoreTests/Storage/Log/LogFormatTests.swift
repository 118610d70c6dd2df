import Foundation
import Testing

@testable import StrataCore

/// The bytes of logs: what was written is read again, and nothing else.
struct LogFormatTests {
  private static let rows = Keyspace(handle: 2, name: "rows:Shop")
  private static let meta = Keyspace(handle: 3, name: "meta")

  private func recorded(_ body: (LogRecorder) -> Void) -> [UInt8] {
    let recorder = LogRecorder()
    body(recorder)
    return recorder.bytes
  }

  private func words(_ bytes: [UInt8]) throws -> [String] {
    var words: [String] = []
    func text(_ bytes: UnsafeRawBufferPointer) -> String { String(decoding: bytes, as: UTF8.self) }
    try bytes.withUnsafeBytes { body in
      try LogChange.forEach(body) { change in
        switch change {
        case .keyspace(let name): words.append("in \(name)")
        case .put(let key, let value): words.append("\(text(key))=\(text(value))")
        case .delete(let key): words.append("-\(text(key))")
        case .clear: words.append("clear")
        }
      }
    }
    return words
  }

  @Test func changesAreReadInTheOrderInWhichTheyWereTakenDown() throws {
    let bytes = recorded { recorder in
      "a".bytes { key in "1".bytes { recorder.put(Self.rows, key, $0) } }
      "b".bytes { key in "2".bytes { recorder.put(Self.meta, key, $0) } }
      "c".bytes { recorder.delete(Self.rows, $0) }
      recorder.clear(Self.rows)
      "d".bytes { key in "".bytes { recorder.put(Self.rows, key, $0) } }
    }
    #expect(
      try words(bytes) == ["in rows:Shop", "a=1", "in meta", "b=2", "in rows:Shop", "-c", "clear", "d="])
  }

  @Test func whatIsTakenBackIsNotThere() throws {
    let bytes = recorded { recorder in
      "a".bytes { key in "1".bytes { recorder.put(Self.rows, key, $0) } }
      let place = recorder.place
      "b".bytes { recorder.delete(Self.meta, $0) }
      recorder.takeBack(to: place)
      "c".bytes { recorder.delete(Self.rows, $0) }
    }
    #expect(try words(bytes) == ["in rows:Shop", "a=1", "-c"])
  }

  @Test func aTransactionOfMoreThanAMebibyteIsNotTakenDown() {
    let recorder = LogRecorder()
    let value = [UInt8](repeating: 7, count: 100_000)
    for number in 0..<11 {
      "\(number)".bytes { key in value.withUnsafeBytes { recorder.put(Self.rows, key, $0) } }
    }
    #expect(recorder.isTooLarge && recorder.hasChanges && recorder.bytes.isEmpty)
  }

  /// A log in memory: the head's generation and its bytes.
  private func log(_ bodies: [[UInt8]], from first: UInt64 = 8) -> (generation: UInt64, bytes: [UInt8]) {
    let generation: UInt64 = 0xFEED
    var (bytes, chain) = ([UInt8](repeating: 0, count: LogFormat.recordStart), generation)
    for (number, body) in bodies.enumerated() {
      body.withUnsafeBytes { body in
        let header = LogRecord.header(.changes, first + UInt64(number), body: body, chain: chain)
        chain = header.checksum
        bytes += header.bytes + body
      }
      bytes += [UInt8](repeating: 0, count: bytes.count.roundedUp(to: 8) - bytes.count)
    }
    return (generation, bytes + [UInt8](repeating: 0, count: 512))
  }

  @Test func theChainEndsAtTheFirstChangedByteOfAnyRecord() {
    let bodies = (1...5).map { [UInt8](repeating: UInt8($0), count: 7 * $0) }
    let log = log(bodies)
    let sound = log.bytes.withUnsafeBytes { LogRecord.all($0, generation: log.generation) }
    #expect(sound.map(\.transactionID) == [8, 9, 10, 11, 12])
    #expect(sound.map { Array(log.bytes[$0.body]) } == bodies)
    for (number, record) in sound.enumerated() {
      for place in record.body.lowerBound - LogFormat.recordHeader..<record.body.upperBound {
        var bytes = log.bytes
        bytes[place] ^= 0x10
        let found = bytes.withUnsafeBytes { LogRecord.all($0, generation: log.generation) }
        #expect(found.count == number, "byte \(place)")
      }
    }
  }

  @Test func recordsOfAnotherGenerationAreNone() {
    let log = log([[1], [2]])
    #expect(log.bytes.withUnsafeBytes { LogRecord.all($0, generation: log.generation + 1) }.isEmpty)
  }

  @Test func aHeadIsReadAgainAndEveryChangedBitIsNoticed() throws {
    var anchor = [UInt8](repeating: 0, count: MetaPage.size)
    for index in anchor.indices { anchor[index] = UInt8(truncatingIfNeeded: index &* 31) }
    let head = LogHead(
      state: .inForce, flags: [.untrusted], number: 9, identity: LogIdentity(), generation: 77,
      anchor: anchor,
      fileSize: LogFormat.sizes[1])
    #expect(LogHead.read(head.bytes) == .head(head))
    #expect(LogHead.read([UInt8](repeating: 0, count: 4_096)) == .blank)
    #expect(LogHead.read([UInt8]()) == .blank)
    for bit in 0..<512 * 8 {
      var bytes = head.bytes
      bytes[bit / 8] ^= 1 << UInt8(bit % 8)
      switch LogHead.read(bytes) {
      case .damaged, .unsupported: break
      case let other: Issue.record("bit \(bit): \(other)")
      }
    }
  }

  @Test func ofTwoHeadsTheNewerOneThatIsWholeCounts() {
    func head(_ number: UInt64) -> LogHead {
      LogHead(
        state: .inForce, number: number, identity: LogIdentity(high: 1, low: 2), generation: number,
        anchor: LogHead.none.anchor)
    }
    func area(_ heads: LogHead...) -> [UInt8] {
      var area = [UInt8](repeating: 0, count: LogFormat.headArea.count)
      for head in heads {
        area.replaceSubrange(head.place..<head.place + LogFormat.headSize, with: head.bytes)
      }
      return area
    }
    #expect(LogHead.find(area(head(7), head(8))) == .head(head(8)))
    #expect(LogHead.find(area(head(9), head(8))) == .head(head(9)))
    #expect(LogHead.find(area(head(1))) == .head(head(1)))
    #expect(LogHead.find(area()) == .blank && LogHead.find([]) == .blank)
    // Of the newer one, 64 bytes after the other have arrived.
    let newer = head(9)
    for end in stride(from: 64, to: LogFormat.headSize, by: 64) {
      var torn = area(head(7), head(8))
      torn.replaceSubrange(newer.place..<newer.place + end, with: newer.bytes[..<end])
      #expect(LogHead.find(torn) == .head(end == LogFormat.headSize ? newer : head(8)), "\(end)")
    }
    var both = area(head(8), head(9))
    for place in [100, LogFormat.headSpacing + 100] { both[place] ^= 1 }
    #expect(LogHead.find(both) == .damaged("its head has a wrong checksum"))
    both[LogFormat.headSpacing + 8] = 3
    #expect(LogHead.find(both) == .unsupported(3))
  }

  @Test func aHeadBehindWhichThereIsNoNumberIsDamaged() {
    func head(_ number: UInt64) -> LogHead {
      LogHead(
        state: .empty, number: number, identity: LogIdentity(), generation: 1, anchor: LogHead.none.anchor)
    }
    let last = head((1 << 62) - 1)
    #expect(LogHead.read(last.bytes) == .head(last))
    for number: UInt64 in [1 << 62, .max] {
      #expect(LogHead.read(head(number).bytes) == .damaged("its head has the number \(number)"))
    }
  }

  @Test func changesThatContradictThemselvesAreRefused() {
    let cases: [[UInt8]] = [
      [9], [1], [1, 1, 0], [1, 0, 0], [1, 2, 0, 0x61, 0], [1, 1, 0, 0xFF], [3, 1, 0, 0x61, 0, 0, 0, 0], [5],
      [2, 0, 0], [1, 1, 0, 0x61, 2, 1, 0], [1, 1, 0, 0x61, 4, 0, 0], [1, 1, 0, 0x61, 4, 0, 2],
      [1, 1, 0, 0x61, 3, 1, 0, 0x62, 0xFF, 0xFF, 0xFF, 0xFF],
    ]
    for bytes in cases {
      #expect(throws: LogChange.Contradiction.self, "\(bytes)") {
        try bytes.withUnsafeBytes { try LogChange.forEach($0) { _ in } }
      }
    }
  }

  @Test func headRecordAndMarkAreTheDocumentedBytes() throws {
    let document = try DocumentedBytes()
    func bytes(_ block: String) throws -> [UInt8] {
      try document.lines(block).flatMap { $0.bytes ?? [UInt8](repeating: 0, count: $0.count ?? 0) }
    }
    let identity = LogIdentity(high: 0x0807_0605_0403_0201, low: 0x1817_1615_1413_1211)
    let generation: UInt64 = 0x2122_2324_2526_2728
    let head = LogHead(
      state: .inForce, number: 5, identity: identity, generation: generation, anchor: LogHead.none.anchor)
    #expect(try bytes("log head") == head.bytes)
    #expect(try bytes("log mark") == LogMark.bytes(identity))
    let changes = recorded { recorder in
      "a".bytes { key in "hi".bytes { recorder.put(Self.rows, key, $0) } }
      recorder.clear(Self.meta)
      "b".bytes { recorder.delete(Self.rows, $0) }
    }
    let record = try bytes("log record")
    let header = changes.withUnsafeBytes { LogRecord.header(.changes, 8, body: $0, chain: generation) }
    #expect(record == header.bytes + changes + [0, 0, 0])
  }

  /// `STRATA_LOG_MUTATIONS=1000000` for the long mode.
  @Test func mutatedLogsAreReadWithoutATrap() throws {
    let count = ProcessInfo.processInfo.environment["STRATA_LOG_MUTATIONS"].flatMap(Int.init) ?? 5_000
    var random = SeededGenerator(seed: testSeed())
    let body = recorded { recorder in
      for number in 0..<6 {
        let keyspace = number % 2 == 0 ? Self.rows : Self.meta
        "key \(number)".bytes { key in "value \(number)".bytes { recorder.put(keyspace, key, $0) } }
        "old \(number)".bytes { recorder.delete(keyspace, $0) }
      }
      recorder.clear(Self.meta)
    }
    let log = log([body, body, body])
    let head = LogHead(state: .inForce, identity: LogIdentity(), generation: 1, anchor: LogHead.none.anchor)
    var (refused, read) = (0, 0)
    for _ in 0..<count {
      var bytes = log.bytes
      for _ in 0...Int.random(in: 0..<4, using: &random) {
        let place = Int.random(in: LogFormat.recordStart..<bytes.count, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        case 1: bytes[place] = [0, 1, 0x7F, 0xFF].randomElement(using: &random) ?? 0
        case 2:
          bytes.removeLast(
            min(Int.random(in: 0..<200, using: &random), bytes.count - LogFormat.recordStart - 1))
        default: bytes[place] = .random(in: 0 ... .max, using: &random)
        }
      }
      let records = bytes.withUnsafeBytes { LogRecord.all($0, generation: log.generation) }
      #expect(records.count <= 3 && records.allSatisfy { $0.body.upperBound <= bytes.count })
      read += records.count
      // Behind a checksum that happens to be right.
      let start = LogFormat.recordStart + LogFormat.recordHeader
      if bytes.count > start {
        do {
          let end = min(bytes.count, start + body.count)
          try bytes[start..<end].withUnsafeBytes { try LogChange.forEach($0) { _ in } }
        } catch { refused += 1 }
      }
      var sector = head.bytes
      sector[Int.random(in: 0..<512, using: &random)] ^= .random(in: 1 ... .max, using: &random)
      if case .head = LogHead.read(sector) { Issue.record("a changed head was believed") }
    }
    #expect(refused > 0 && read > 0)
  }
}
