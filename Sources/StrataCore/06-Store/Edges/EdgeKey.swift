import Foundation

/// The keys and values of the keyspace "edges".
///
/// ```
///   without order   see PackedEdges
///   head    code u16 │ owner 48 bits               → number of members, the first of them packed
///   chunk   code u16 │ owner 48 bits │ bound u64   → members from the bound on, packed
///
///   ordered
///   count   code u16 │ owner 48 bits                                     → u64 number of members, never 0
///   edge    code u16 │ owner 48 bits │ member u64                        → u64 position
///   order   code|0x4000 u16 │ owner 48 bits │ position u64 │ member u64  → empty
///
///   code    0x8000 hidden inverse │ 0x4000 order list │ 1…0x3FFF the relationship's code, `relationship/` in "meta"
/// ```
///
/// Keys are big-endian, so that the members of one owner lie side by side, behind their number; values are little-endian.
/// `member` is a `Reference`: members sort by primary key. Code and owner together are called the prefix here.
enum EdgeKey {
  static let keyspaceName = "edges"
  static let hiddenInverse: UInt16 = 0x8000
  static let order: UInt16 = 0x4000
  static let largestCode: UInt16 = 0x3FFF
  /// The bit of a prefix that makes it one of the order list.
  static let orderPrefix = UInt64(order) << 48

  static let countLength = 8
  static let edgeLength = 16
  static let orderLength = 24

  @inline(__always)
  static func prefix(_ code: UInt16, _ owner: UInt64) -> UInt64 { UInt64(code) << 48 | owner }

  /// The code with its flags.
  @inline(__always)
  static func code(_ prefix: UInt64) -> UInt16 { UInt16(prefix >> 48) }

  @inline(__always)
  static func owner(_ prefix: UInt64) -> UInt64 { prefix & 0xFFFF_FFFF_FFFF }

  /// The word at a place of a key.
  @inline(__always)
  static func word(_ key: UnsafeRawBufferPointer, _ place: Int) -> UInt64 {
    UInt64(bigEndian: key.loadUnaligned(fromByteOffset: place * 8, as: UInt64.self))
  }

  /// Calls `body` with the key of a head or a count.
  @inline(__always)
  static func withCount<R>(_ prefix: UInt64, _ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    try withUnsafeBytes(of: prefix.bigEndian, body)
  }

  /// Calls `body` with the key of an edge or a chunk.
  @inline(__always)
  static func withEdge<R>(
    _ prefix: UInt64, _ member: UInt64, _ body: (UnsafeRawBufferPointer) throws -> R
  ) rethrows -> R {
    try withUnsafeBytes(of: (prefix.bigEndian, member.bigEndian), body)
  }

  /// Calls `body` with the key of an entry of the order list.
  @inline(__always)
  static func withOrder<R>(
    _ prefix: UInt64, _ position: UInt64, _ member: UInt64, _ body: (UnsafeRawBufferPointer) throws -> R
  ) rethrows -> R {
    try withUnsafeBytes(
      of: ((prefix | orderPrefix).bigEndian, position.bigEndian, member.bigEndian), body)
  }

  /// The number that a value is; nil unless it is eight bytes.
  @inline(__always)
  static func number(_ value: UnsafeRawBufferPointer) -> UInt64? {
    value.count == 8 ? UInt64(littleEndian: value.loadUnaligned(as: UInt64.self)) : nil
  }
}
