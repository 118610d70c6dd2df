/// A row's 32-bit checksum: finds damage and rows under a wrong key, not forgery.
///
/// ```
/// h = 0x9E37_79B9_7F4A_7C15 ^ primary key, folded with the byte count
/// for each 8 bytes w (little-endian) from offset 4:  h = fold(h ^ w)
/// for the last 8 bytes of the row, overlapping:      h = fold(h ^ w)
/// checksum = high half of h ^ low half of h
/// fold(x) = high ^ low of the 128-bit product x × 0xA076_1D64_78BD_642F
/// ```
enum RowChecksum {
  /// The checksum of the row at `base`; `count` is at least 16.
  @inline(__always)
  static func checksum(_ base: UnsafeRawPointer, count: Int, primaryKey: UInt64) -> UInt32 {
    var hash = fold((0x9E37_79B9_7F4A_7C15 ^ primaryKey) &+ UInt64(truncatingIfNeeded: count))
    var offset = 4
    while offset + 8 < count {
      hash = fold(hash ^ UInt64(littleEndian: base.loadUnaligned(fromByteOffset: offset, as: UInt64.self)))
      offset += 8
    }
    hash = fold(hash ^ UInt64(littleEndian: base.loadUnaligned(fromByteOffset: count - 8, as: UInt64.self)))
    return UInt32(truncatingIfNeeded: hash >> 32) ^ UInt32(truncatingIfNeeded: hash)
  }

  @inline(__always)
  private static func fold(_ word: UInt64) -> UInt64 {
    let product = word.multipliedFullWidth(by: 0xA076_1D64_78BD_642F)
    return product.high ^ product.low
  }
}
