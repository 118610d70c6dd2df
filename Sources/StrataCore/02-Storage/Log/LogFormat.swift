import Foundation

/// The bytes of a store's log: a head of one sector, and records from `recordStart` on, one after the other.
///
/// ```
///   0            512        4096                                         file size
///   ┌────────────┬──────────┬──────────┬──────────┬──────────┬───────────┐
///   │ head       │ 0        │ record   │ record   │ record   │ old bytes │
///   └────────────┴──────────┴──────────┴──────────┴──────────┴───────────┘
/// ```
///
/// `Docs/FileFormat.md` describes every byte. All numbers are little-endian, except for the anchor, which is LMDB's.
enum LogFormat {
  static let magic: UInt64 = 0x474F_4C54_4152_5453  // "STRATLOG"
  static let version: UInt32 = 1
  /// Bytes of the head: one sector, which a medium writes as a whole or not at all.
  static let headSize = 512
  /// Where the first record begins.
  static let recordStart = 4096
  /// Bytes before a record's changes.
  static let recordHeader = 24
  /// Records are followed by zeros up to a multiple of this.
  static let alignment = 8
  /// Transactions whose changes take more bytes are not recorded.
  static let mostRecordBytes = 1 << 20
  /// The sizes of the file: a log that was full gets the next one at the next checkpoint.
  static let sizes = [1 << 16, 1 << 18, 1 << 20, 1 << 22]
  /// A larger file is no log of ours.
  static let mostFileBytes = 1 << 26

  /// The checksum of `bytes` behind what `seed` stands for: finds accidents, not forgeries.
  static func checksum(_ bytes: UnsafeRawBufferPointer, seed: UInt64) -> UInt64 {
    var hash = fold((0x9E37_79B9_7F4A_7C15 ^ seed) &+ UInt64(bytes.count))
    var place = 0
    while place + 8 <= bytes.count {
      hash = fold(hash ^ UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self)))
      place += 8
    }
    if place < bytes.count {
      var word: UInt64 = 0
      for index in (place..<bytes.count).reversed() { word = word << 8 | UInt64(bytes[index]) }
      hash = fold(hash ^ word)
    }
    return fold(hash ^ 0xA076_1D64_78BD_642F)
  }

  @inline(__always)
  private static func fold(_ value: UInt64) -> UInt64 {
    let product = value.multipliedFullWidth(by: 0xA076_1D64_78BD_642F)
    return product.high ^ product.low
  }
}

/// The first sector of a log: which store it belongs to, and from which state of the data file its records continue.
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
  /// The same bytes as in the data file's log mark.
  var identity: LogIdentity
  /// A random number for each checkpoint: where the chain of checksums begins.
  var generation: UInt64
  /// The anchor of the checkpoint as it lies in the data file, `MetaPage.size` bytes; zeros when the state is `empty`.
  var anchor: [UInt8]

  /// The number of the checkpoint's transaction.
  var checkpoint: UInt64 { MetaPage(anchor).transactionID }

  private static let anchorOffset = 48
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
      let checksum = LogFormat.checksum(
        UnsafeRawBufferPointer(rebasing: buffer[..<Self.checksumOffset]), seed: LogFormat.magic)
      buffer.storeBytes(of: checksum.littleEndian, toByteOffset: Self.checksumOffset, as: UInt64.self)
    }
    return bytes
  }

  /// What a first sector can be.
  enum Reading: Equatable {
    /// Nothing but zeros, or less than a sector: a log whose making was cut off. It has never been in force.
    case blank
    case head(LogHead)
    /// A log of a later version of Strata.
    case newer(UInt32)
    case damaged(String)
  }

  /// Reads a first sector, of any origin.
  static func read(_ bytes: [UInt8]) -> Reading {
    guard bytes.count >= LogFormat.headSize, bytes[..<LogFormat.headSize].contains(where: { $0 != 0 }) else {
      return .blank
    }
    return bytes.withUnsafeBytes { buffer in
      func number<N: FixedWidthInteger>(_ offset: Int, _ type: N.Type) -> N {
        N(littleEndian: buffer.loadUnaligned(fromByteOffset: offset, as: N.self))
      }
      guard number(0, UInt64.self) == LogFormat.magic else { return .damaged("it does not begin as a log") }
      let version = number(8, UInt32.self)
      if version > LogFormat.version { return .newer(version) }
      let checksum = LogFormat.checksum(
        UnsafeRawBufferPointer(rebasing: buffer[..<checksumOffset]), seed: LogFormat.magic)
      guard version == LogFormat.version, number(checksumOffset, UInt64.self) == checksum else {
        return .damaged("its head has a wrong checksum")
      }
      guard let state = State(rawValue: number(12, UInt32.self)) else {
        return .damaged("its head has an unknown state")
      }
      let head = LogHead(
        state: state, flags: Flags(rawValue: number(40, UInt32.self)),
        identity: LogIdentity(high: number(16, UInt64.self), low: number(24, UInt64.self)),
        generation: number(32, UInt64.self),
        anchor: Array(buffer[anchorOffset..<anchorOffset + MetaPage.size]))
      return .head(head)
    }
  }
}

extension LogHead {
  /// Nothing is known.
  static let none = LogHead(
    state: .empty, identity: LogIdentity(high: 0, low: 0), generation: 0,
    anchor: [UInt8](repeating: 0, count: MetaPage.size))
}

/// Which log belongs to which data file: 16 random bytes that both have.
struct LogIdentity: Hashable, Sendable {
  var high: UInt64
  var low: UInt64

  init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// One that no other log has.
  init() { self.init(high: .random(in: 1 ... .max), low: .random(in: 1 ... .max)) }
}
