import Foundation

/// One record of a log, found intact behind those before it.
struct LogRecord: Equatable {
  enum Kind: UInt32 {
    /// The puts and deletes of one transaction.
    case changes = 1
    /// The transaction was too large. It is in the data file if the data file has its anchor: its pages were flushed before that was written.
    case flushed = 2
  }

  let kind: Kind
  /// LMDB's number of the transaction.
  let transactionID: UInt64
  /// Where its changes lie in the log.
  let body: Range<Int>
  /// Over the record and, by way of the seed, all records before it.
  let checksum: UInt64

  /// Where the next record begins.
  var end: Int { (body.upperBound + LogFormat.alignment - 1) & ~(LogFormat.alignment - 1) }

  /// The record at `offset` of `bytes`; nil where the chain ends.
  ///
  /// - Parameters:
  ///   - chain: the checksum of the record before, or the generation for the first one.
  ///   - base: what offset the first of `bytes` has in the log.
  ///   - isChecked: whether the checksum counts; only tests of tests leave it out.
  init?(
    _ bytes: UnsafeRawBufferPointer, at offset: Int, chain: UInt64, base: Int = 0, isChecked: Bool = true
  ) {
    let start = offset - base
    guard start >= 0, start <= bytes.count - LogFormat.recordHeader else { return nil }
    func number<N: FixedWidthInteger>(_ offset: Int, _ type: N.Type) -> N {
      N(littleEndian: bytes.loadUnaligned(fromByteOffset: start + offset, as: N.self))
    }
    let count = Int(number(0, UInt32.self))
    let bodyStart = start + LogFormat.recordHeader
    guard let kind = Kind(rawValue: number(4, UInt32.self)), count <= LogFormat.mostRecordBytes,
      count <= bytes.count - bodyStart
    else { return nil }
    let expected = Self.checksum(
      UnsafeRawBufferPointer(rebasing: bytes[start..<start + 16]),
      UnsafeRawBufferPointer(rebasing: bytes[bodyStart..<bodyStart + count]), chain: chain)
    guard number(16, UInt64.self) == expected || !isChecked else { return nil }
    self.kind = kind
    transactionID = number(8, UInt64.self)
    body = offset + LogFormat.recordHeader..<offset + LogFormat.recordHeader + count
    checksum = expected
  }

  /// What lies behind the last record and speaks of the next transaction, which was not committed.
  enum Remnant {
    /// The header of its record; whether the record is whole is another matter.
    case record
    /// The cut that has taken the record's place. Who made it may have been killed before it was durable.
    case cut
  }

  /// What a header says of a transaction; nil when it is not about that one.
  static func remnant(_ header: UnsafeRawBufferPointer, of transactionID: UInt64) -> Remnant? {
    guard header.count >= LogFormat.recordHeader else { return nil }
    let kind = UInt32(littleEndian: header.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
    let number = UInt64(littleEndian: header.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    guard number == transactionID else { return nil }
    return kind == cutKind ? .cut : Kind(rawValue: kind).map { _ in .record }
  }

  /// The kind of a header that ends the log.
  private static let cutKind: UInt32 = 0

  /// What takes the place of the header of a record that must not count: the log ends there. It names the transaction, so that others see that there was a record.
  static func cut(of transactionID: UInt64) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: LogFormat.recordHeader)
    bytes.withUnsafeMutableBytes {
      $0.storeBytes(of: transactionID.littleEndian, toByteOffset: 8, as: UInt64.self)
    }
    return bytes
  }

  static func checksum(
    _ header: UnsafeRawBufferPointer, _ body: UnsafeRawBufferPointer, chain: UInt64
  ) -> UInt64 {
    LogFormat.checksum(body, seed: LogFormat.checksum(header, seed: chain))
  }

  /// The header of a record, and its checksum.
  static func header(
    _ kind: Kind, _ transactionID: UInt64, body: UnsafeRawBufferPointer, chain: UInt64
  ) -> (bytes: [UInt8], checksum: UInt64) {
    var bytes = [UInt8](repeating: 0, count: LogFormat.recordHeader)
    let checksum = bytes.withUnsafeMutableBytes { buffer in
      putHeader(kind, transactionID, body: body, chain: chain, into: buffer)
    }
    return (bytes, checksum)
  }

  /// The same, put where it is wanted. Returns the checksum.
  private static func putHeader(
    _ kind: Kind, _ transactionID: UInt64, body: UnsafeRawBufferPointer, chain: UInt64,
    into buffer: UnsafeMutableRawBufferPointer
  ) -> UInt64 {
    buffer.storeBytes(of: UInt32(body.count).littleEndian, toByteOffset: 0, as: UInt32.self)
    buffer.storeBytes(of: kind.rawValue.littleEndian, toByteOffset: 4, as: UInt32.self)
    buffer.storeBytes(of: transactionID.littleEndian, toByteOffset: 8, as: UInt64.self)
    let checksum = Self.checksum(
      UnsafeRawBufferPointer(rebasing: buffer[..<16]), body, chain: chain)
    buffer.storeBytes(of: checksum.littleEndian, toByteOffset: 16, as: UInt64.self)
    return checksum
  }

  /// Puts a whole record into the first `count` bytes of `buffer`: the header, the body, and zeros. Returns its checksum.
  static func put(
    _ kind: Kind, _ transactionID: UInt64, body: UnsafeRawBufferPointer, chain: UInt64,
    into buffer: UnsafeMutableRawBufferPointer, count: Int
  ) -> UInt64 {
    let checksum = putHeader(kind, transactionID, body: body, chain: chain, into: buffer)
    let end = LogFormat.recordHeader + body.count
    UnsafeMutableRawBufferPointer(rebasing: buffer[LogFormat.recordHeader..<end]).copyMemory(from: body)
    for place in end..<count { buffer[place] = 0 }
    return checksum
  }

  /// All records from the beginning up to where the chain ends.
  ///
  /// - Parameter log: the whole file.
  static func all(
    _ log: UnsafeRawBufferPointer, generation: UInt64, isChecked: Bool = true
  ) -> [LogRecord] {
    var records: [LogRecord] = []
    var (offset, chain) = (LogFormat.recordStart, generation)
    while let record = LogRecord(log, at: offset, chain: chain, isChecked: isChecked) {
      records.append(record)
      (offset, chain) = (record.end, record.checksum)
    }
    return records
  }
}

/// What a record says was done, in its order.
enum LogChange: Equatable {
  /// The changes that follow concern this keyspace; it is made when it is missing.
  case keyspace(String)
  case put(key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer)
  case delete(key: UnsafeRawBufferPointer)
  /// Every entry is deleted.
  case clear

  static func == (one: LogChange, other: LogChange) -> Bool {
    switch (one, other) {
    case (.keyspace(let one), .keyspace(let other)): one == other
    case (.put(let key, let value), .put(let otherKey, let otherValue)):
      key.elementsEqual(otherKey) && value.elementsEqual(otherValue)
    case (.delete(let key), .delete(let other)): key.elementsEqual(other)
    case (.clear, .clear): true
    default: false
    }
  }

  /// The first byte of a change.
  enum Code {
    static let name: UInt8 = 1
    static let keyspace: UInt8 = 2
    static let put: UInt8 = 3
    static let delete: UInt8 = 4
    static let clear: UInt8 = 5
  }

  /// Why a record's bytes are no list of changes.
  struct Contradiction: Error, Equatable {
    var offset: Int
    var reason: String
  }

  /// Reads a record's changes; bytes are valid as long as `body` is.
  ///
  /// - Throws: ``Contradiction``; what `handle` throws.
  static func forEach(_ body: UnsafeRawBufferPointer, _ handle: (LogChange) throws -> Void) throws {
    var place = 0
    var names: [String] = []
    var hasKeyspace = false
    func take(_ count: Int) throws -> UnsafeRawBufferPointer {
      guard count <= body.count - place else {
        throw Contradiction(offset: place, reason: "a change is cut off")
      }
      defer { place += count }
      return UnsafeRawBufferPointer(rebasing: body[place..<place + count])
    }
    func key() throws -> UnsafeRawBufferPointer {
      let count = Int(UInt16(littleEndian: try take(2).loadUnaligned(as: UInt16.self)))
      guard hasKeyspace, (1...511).contains(count) else {
        throw Contradiction(offset: place, reason: "a key of \(count) bytes, or in no keyspace")
      }
      return try take(count)
    }
    while place < body.count {
      let code = try take(1)[0]
      switch code {
      case Code.name:
        let count = Int(UInt16(littleEndian: try take(2).loadUnaligned(as: UInt16.self)))
        let bytes = try take(count)
        guard (1...511).contains(count), !bytes.contains(0),
          let name = String(validating: bytes, as: UTF8.self),
          names.count < 1 << 16
        else { throw Contradiction(offset: place, reason: "a keyspace's name is none") }
        names.append(name)
        hasKeyspace = true
        try handle(.keyspace(name))
      case Code.keyspace:
        let number = Int(UInt16(littleEndian: try take(2).loadUnaligned(as: UInt16.self)))
        guard number < names.count else {
          throw Contradiction(offset: place, reason: "keyspace \(number) has no name")
        }
        try handle(.keyspace(names[number]))
      case Code.put:
        let key = try key()
        let count = Int(UInt32(littleEndian: try take(4).loadUnaligned(as: UInt32.self)))
        try handle(.put(key: key, value: try take(count)))
      case Code.delete: try handle(.delete(key: try key()))
      case Code.clear:
        guard hasKeyspace else { throw Contradiction(offset: place, reason: "no keyspace is to be cleared") }
        try handle(.clear)
      default: throw Contradiction(offset: place - 1, reason: "\(code) is no change")
      }
    }
  }
}
