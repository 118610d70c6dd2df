import Foundation

/// A head of a log: which store it belongs to, and from which state of the data file its records continue.
///
/// A log has two, one sector each. Head number `n` is written where `n` modulo 2 says, flushed, and then copied over the other one. So at any moment one of both is
/// whole on the medium, and afterwards both are the same: a sector that is damaged later does not lead back to an older head.
struct LogHead: Equatable {
  /// What the records mean.
  enum State: UInt32 {
    /// The data file is the checkpoint's anchor and the pages it leads to; records follow. Other pages may be anything.
    case inForce = 1
    /// The data file is whole without the log.
    case empty = 2
  }

  struct Flags: OptionSet, Equatable {
    let rawValue: UInt32
    /// A record or a head may not have reached the medium: nothing is appended before a new checkpoint.
    static let untrusted = Flags(rawValue: 1)
    /// Pages of the data file may not have reached the medium although the system says so: the store must be recovered from the log.
    static let suspect = Flags(rawValue: 2)
  }

  var state: State
  var flags: Flags = []
  /// Heads are counted: of two that are whole the one with the higher number counts. 0 for none.
  var number: UInt64 = 0
  /// The same bytes as in the data file's log mark.
  var identity: LogIdentity
  /// A random number for each checkpoint: where the chain of checksums begins.
  var generation: UInt64
  /// The anchor of the checkpoint as it lies in the data file, `MetaPage.size` bytes; zeros when the state is `empty`.
  var anchor: [UInt8]
  /// Bytes that the file has at least: a shorter one was cut off.
  var fileSize = LogFormat.sizes[0]

  /// The number of the checkpoint's transaction.
  var checkpoint: UInt64 { MetaPage(anchor).transactionID }

  /// What follows it when the data file is whole without the log.
  var emptied: LogHead {
    var next = self
    next.state = .empty
    next.flags = []
    next.generation = .random(in: 1 ... .max)
    next.anchor = LogHead.none.anchor
    return next
  }

  /// Where it is written first.
  var place: Int { Self.place(number) }
  /// Where it is copied to.
  var copyPlace: Int { Self.place(number &+ 1) }

  private static func place(_ number: UInt64) -> Int { Int(number & 1) * LogFormat.headSpacing }

  /// Heads are never counted so far, unless somebody has chosen the bytes: there is always a next number.
  private static let numberLimit: UInt64 = 1 << 62

  private static let anchorOffset = 48
  private static let numberOffset = anchorOffset + MetaPage.size
  private static let fileSizeOffset = numberOffset + 8
  private static let checksumOffset = 504

  /// The sector.
  var bytes: [UInt8] {
    precondition(anchor.count == MetaPage.size, "an anchor has \(MetaPage.size) bytes")
    var bytes = [UInt8](repeating: 0, count: LogFormat.headSize)
    bytes.withUnsafeMutableBytes { buffer in
      buffer.storeBytes(of: LogFormat.magic.littleEndian, toByteOffset: 0, as: UInt64.self)
      buffer.storeBytes(of: LogFormat.version.littleEndian, toByteOffset: 8, as: UInt32.self)
      buffer.storeBytes(of: state.rawValue.littleEndian, toByteOffset: 12, as: UInt32.self)
      buffer.storeBytes(of: identity.high.littleEndian, toByteOffset: 16, as: UInt64.self)
      buffer.storeBytes(of: identity.low.littleEndian, toByteOffset: 24, as: UInt64.self)
      buffer.storeBytes(of: generation.littleEndian, toByteOffset: 32, as: UInt64.self)
      buffer.storeBytes(of: flags.rawValue.littleEndian, toByteOffset: 40, as: UInt32.self)
      for (index, byte) in anchor.enumerated() { buffer[Self.anchorOffset + index] = byte }
      buffer.storeBytes(of: number.littleEndian, toByteOffset: Self.numberOffset, as: UInt64.self)
      buffer.storeBytes(
        of: UInt64(fileSize).littleEndian, toByteOffset: Self.fileSizeOffset, as: UInt64.self)
      let checksum = LogFormat.checksum(
        UnsafeRawBufferPointer(rebasing: buffer[..<Self.checksumOffset]), seed: LogFormat.magic)
      buffer.storeBytes(of: checksum.littleEndian, toByteOffset: Self.checksumOffset, as: UInt64.self)
    }
    return bytes
  }

  /// What the sector of a head can be, and what both together can be.
  enum Reading: Equatable {
    /// Nothing but zeros, or less than a sector.
    case blank
    case head(LogHead)
    /// A log of another version of Strata.
    case unsupported(UInt32)
    case damaged(String)
  }

  /// Reads the sector of one head, of any origin.
  static func read(_ bytes: some Collection<UInt8>) -> Reading {
    let bytes = Array(bytes.prefix(LogFormat.headSize))
    guard bytes.count == LogFormat.headSize, bytes.contains(where: { $0 != 0 }) else { return .blank }
    return bytes.withUnsafeBytes { buffer in
      func number<N: FixedWidthInteger>(_ offset: Int, _ type: N.Type) -> N {
        N(littleEndian: buffer.loadUnaligned(fromByteOffset: offset, as: N.self))
      }
      guard number(0, UInt64.self) == LogFormat.magic else { return .damaged("it does not begin as a log") }
      let version = number(8, UInt32.self)
      let checksum = LogFormat.checksum(
        UnsafeRawBufferPointer(rebasing: buffer[..<checksumOffset]), seed: LogFormat.magic)
      if version != LogFormat.version { return .unsupported(version) }
      guard number(checksumOffset, UInt64.self) == checksum else {
        return .damaged("its head has a wrong checksum")
      }
      guard let state = State(rawValue: number(12, UInt32.self)) else {
        return .damaged("its head has an unknown state")
      }
      let fileSize = number(fileSizeOffset, UInt64.self)
      guard (UInt64(LogFormat.sizes[0])...UInt64(LogFormat.mostFileBytes)).contains(fileSize) else {
        return .damaged("its head speaks of \(fileSize) bytes")
      }
      let count = number(numberOffset, UInt64.self)
      guard count < numberLimit else { return .damaged("its head has the number \(count)") }
      let head = LogHead(
        state: state, flags: Flags(rawValue: number(40, UInt32.self)), number: count,
        identity: LogIdentity(high: number(16, UInt64.self), low: number(24, UInt64.self)),
        generation: number(32, UInt64.self),
        anchor: Array(buffer[anchorOffset..<anchorOffset + MetaPage.size]), fileSize: Int(fileSize))
      return .head(head)
    }
  }

  /// Reads both heads: the newer one that is whole counts.
  ///
  /// - Parameter area: the log from its beginning on, `LogFormat.headArea` if it is so long.
  static func find(_ area: [UInt8]) -> Reading {
    let readings = [0, LogFormat.headSpacing].map { read(area.dropFirst($0)) }
    let heads = readings.compactMap { reading in
      if case .head(let head) = reading { head } else { nil }
    }
    if let newest = heads.max(by: { $0.number < $1.number }) { return .head(newest) }
    // Of a sector that is no head, the version may be a part of the damage: what the other one says is worth more.
    return readings.first {
      if case .unsupported = $0 { true } else { false }
    } ?? readings.first { $0 != .blank } ?? .blank
  }
}

extension LogHead {
  /// Nothing is known.
  static let none = LogHead(
    state: .empty, identity: LogIdentity(high: 0, low: 0), generation: 0,
    anchor: [UInt8](repeating: 0, count: MetaPage.size))
}
