/// Decimals as bytes that are canonical: equal numbers have equal bytes.
///
/// ```
/// offset  width  field
///      0      1  kind (DecimalDigits.Kind): 10 negative, 20 zero, 30 positive, 40 not a number
///      1      2  power of ten of the first digit + 0x8000, big-endian      negative and positive only
///      3      n  digits in pairs, each pair + 1 (1…100); an odd last digit is the tens of its pair
/// ```
///
/// In keys a 0 follows, and everything after the kind is inverted for negative numbers: then the bytes sort as
/// the numbers do.
enum DecimalBytes {
  /// The most bytes of a `Decimal`: 39 digits.
  static let maximumLength = RowLayout.longestDecimal

  static func encode(_ number: DecimalDigits) -> [UInt8] {
    var bytes = [number.kind.rawValue]
    guard number.kind == .negative || number.kind == .positive else { return bytes }
    let exponent = UInt16(clamping: number.exponent + 0x8000)
    bytes.append(UInt8(exponent >> 8))
    bytes.append(UInt8(exponent & 0xFF))
    for start in stride(from: 0, to: number.digits.count, by: 2) {
      let low = start + 1 < number.digits.count ? number.digits[start + 1] : 0
      bytes.append(number.digits[start] * 10 + low + 1)
    }
    return bytes
  }

  static func encodeKey(_ number: DecimalDigits) -> [UInt8] {
    var bytes = encode(number)
    guard number.kind == .negative || number.kind == .positive else { return bytes }
    bytes.append(0)
    if number.kind == .negative { for index in 1..<bytes.count { bytes[index] = ~bytes[index] } }
    return bytes
  }

  /// Nil unless the bytes are what `encode` makes of some number with at most 39 digits.
  static func decode(_ bytes: UnsafeRawBufferPointer) -> DecimalDigits? {
    guard let first = bytes.first, bytes.count <= maximumLength,
      let kind = DecimalDigits.Kind(rawValue: first)
    else { return nil }
    switch kind {
    case .zero, .notANumber: return bytes.count == 1 ? DecimalDigits(kind: kind) : nil
    case .negativeInfinity, .positiveInfinity: return nil
    case .negative, .positive: break
    }
    guard bytes.count >= 4, bytes[3] >= 11 else { return nil }
    var digits: [UInt8] = []
    for pair in bytes.dropFirst(3) {
      guard (1...100).contains(pair) else { return nil }
      digits.append((pair - 1) / 10)
      digits.append((pair - 1) % 10)
    }
    if digits.last == 0 { digits.removeLast() }
    guard digits.last != 0, digits.count <= 39 else { return nil }
    let exponent = Int(bytes[1]) << 8 + Int(bytes[2]) - 0x8000
    return DecimalDigits(kind: kind, exponent: exponent, digits: digits)
  }
}
