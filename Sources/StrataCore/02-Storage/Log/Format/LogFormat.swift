import Foundation

/// The bytes of a store's log: two heads of one sector each, and records from `recordStart` on, one after the other.
///
/// ```
///   0      512  4096   4608  8192                                     file size
///   ┌──────┬────┬──────┬─────┬──────────┬──────────┬──────────┬───────────┐
///   │ head │ 0  │ head │ 0   │ record   │ record   │ record   │ old bytes │
///   └──────┴────┴──────┴─────┴──────────┴──────────┴──────────┴───────────┘
/// ```
///
/// `Docs/FileFormat.md` describes every byte. All numbers are little-endian, except for the anchor, which is LMDB's.
enum LogFormat {
  static let magic: UInt64 = 0x474F_4C54_4152_5453  // "STRATLOG"
  static let version: UInt32 = 2
  /// Bytes of a head: one sector.
  static let headSize = 512
  /// The heads lie so far apart: in pages of their own, for media whose sectors are larger.
  static let headSpacing = 4096
  /// The bytes from the beginning of the first head to the end of the second.
  static let headArea = 0..<headSpacing + headSize
  /// Where the first record begins.
  static let recordStart = 8192
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
