/// Takes numbers and bytes from a buffer, one after the other: nil as soon as there is none, whatever the bytes are.
///
/// A varint has seven bits a byte, the lowest first; the highest bit says that more follow. Other numbers are little-endian.
struct ByteReader {
  private let bytes: UnsafeRawBufferPointer
  private(set) var place = 0

  @inline(__always)
  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  @inline(__always)
  var isAtEnd: Bool { place >= bytes.count }
  /// How many bytes have not been read.
  @inline(__always)
  var count: Int { bytes.count - place }
  /// The bytes that have not been read.
  var rest: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: bytes[place...]) }

  @inline(__always)
  mutating func byte() -> UInt8? {
    guard place < bytes.count else { return nil }
    defer { place += 1 }
    return bytes[place]
  }

  /// A byte that has not been read, so many behind the next one; it stays to be read.
  @inline(__always)
  func peek(_ ahead: Int = 0) -> UInt8? { place + ahead < bytes.count ? bytes[place + ahead] : nil }
  /// Leaves out bytes, which there are.
  @inline(__always)
  mutating func skip(_ length: Int) { place += length }

  @inline(__always)
  mutating func number<N: FixedWidthInteger>(_ type: N.Type) -> N? {
    guard count >= MemoryLayout<N>.size else { return nil }
    defer { place += MemoryLayout<N>.size }
    return N(littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: N.self))
  }

  /// At most 63 bits.
  @inline(__always)
  mutating func varint() -> UInt64? {
    var (value, shift) = (UInt64(0), UInt64(0))
    while place < bytes.count, shift < 63 {
      let byte = bytes[place]
      place += 1
      value |= UInt64(byte & 0x7F) << shift
      if byte < 0x80 { return value }
      shift += 7
    }
    return nil
  }

  /// A varint that counts things of at least a byte each.
  mutating func itemCount() -> Int? {
    guard let found = varint(), found <= UInt64(count) else { return nil }
    return Int(found)
  }

  mutating func take(_ length: Int) -> UnsafeRawBufferPointer? {
    guard length <= count else { return nil }
    defer { place += length }
    return UnsafeRawBufferPointer(rebasing: bytes[place..<place + length])
  }

  /// Leaves nothing to read.
  mutating func end() { place = bytes.count }
}

extension ContiguousArray<UInt8> {
  @inline(__always)
  mutating func append(varint: UInt64) {
    var rest = varint
    while rest >= 0x80 {
      append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    append(UInt8(truncatingIfNeeded: rest))
  }

  @inline(__always)
  mutating func append<N: FixedWidthInteger>(littleEndian number: N) {
    Swift.withUnsafeBytes(of: number.littleEndian) { append(contentsOf: $0) }
  }
}

extension UnsafeRawBufferPointer {
  /// Two digits for each byte.
  var hexadecimal: String { map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined() }
}
