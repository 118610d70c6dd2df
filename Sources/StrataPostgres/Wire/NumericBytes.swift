import Foundation

/// Decimals in the server's binary form of `numeric`.
///
/// ```
///   u16 number of digits │ i16 weight of the first │ u16 sign │ u16 digits behind the point │ digits, u16 each, 0…9999
/// ```
///
/// Digits are those of base 10,000; a weight of 0 is that of the ones. All is big-endian.
enum NumericBytes {
  private static let negative: UInt16 = 0x4000
  private static let notANumber: UInt16 = 0xC000

  /// A number's digits without zeros at either end, 0…9 each, and the power of ten of the last one. No digits for zero.
  private struct Digits: Equatable {
    var digits: [UInt8]
    var scale: Int

    init(_ digits: [UInt8], scale: Int) {
      self.digits = Array(digits.drop { $0 == 0 })
      self.scale = scale
      while self.digits.last == 0 {
        self.digits.removeLast()
        self.scale += 1
      }
      if self.digits.isEmpty { self.scale = 0 }
    }

    /// Foundation keeps the mantissa to itself: its digits are those of the significand's description.
    init(_ value: Decimal) {
      self.init(value.significand.description.utf8.map { $0 &- 48 }, scale: value.exponent)
    }
  }

  static func append(_ value: Decimal, to bytes: inout [UInt8]) {
    if value.isNaN {
      for word: UInt16 in [0, 0, notANumber, 0] { bytes.append(bigEndian: word) }
      return
    }
    let number = Digits(value)
    if number.digits.isEmpty {
      for word: UInt16 in [0, 0, 0, 0] { bytes.append(bigEndian: word) }
      return
    }
    // The last digit must end a group of four, and the first begin one.
    var digits = number.digits
    let padding = ((number.scale % 4) + 4) % 4
    digits.append(contentsOf: repeatElement(0, count: padding))
    digits.insert(contentsOf: repeatElement(0, count: (4 - digits.count % 4) % 4), at: 0)
    let groups = digits.count / 4
    bytes.append(bigEndian: UInt16(groups))
    bytes.append(bigEndian: Int16((number.scale - padding) / 4 + groups - 1))
    bytes.append(bigEndian: value.isSignMinus ? negative : 0)
    bytes.append(bigEndian: UInt16(max(0, -number.scale)))
    for group in 0..<groups {
      bytes.append(bigEndian: digits[group * 4..<group * 4 + 4].reduce(UInt16(0)) { $0 * 10 + UInt16($1) })
    }
  }

  /// Nil for what is no number, or one that a `Decimal` does not hold.
  static func decimal(_ bytes: UnsafeRawBufferPointer) -> Decimal? {
    guard bytes.count >= 8 else { return nil }
    func word(_ place: Int) -> UInt16 {
      UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: place * 2, as: UInt16.self))
    }
    let groups = Int(word(0))
    let sign = word(2)
    if sign == notANumber { return .nan }
    guard bytes.count == 8 + groups * 2, sign == 0 || sign == negative else { return nil }
    var digits: [UInt8] = []
    for group in 0..<groups {
      let value = word(4 + group)
      guard value < 10_000 else { return nil }
      for power: UInt16 in [1_000, 100, 10, 1] { digits.append(UInt8(value / power % 10)) }
    }
    let number = Digits(digits, scale: (Int(Int16(bitPattern: word(1))) - groups + 1) * 4)
    if number.digits.isEmpty { return 0 }
    // Exponents go from -128 to 127; what lies above it is zeros of the mantissa.
    let zeros = max(0, number.scale - 127)
    guard number.scale >= -128, number.digits.count + zeros <= 39 else { return nil }
    let text = String(
      decoding: (number.digits + repeatElement(0, count: zeros)).map { $0 + 48 }, as: UTF8.self)
    guard let mantissa = Decimal(string: text, locale: Locale(identifier: "en_US_POSIX")) else { return nil }
    let result = Decimal(
      sign: sign == negative ? .minus : .plus, exponent: number.scale - zeros, significand: mantissa)
    // Where the mantissa has no room for the digits it is rounded: then it is another number.
    return Digits(result) == number ? result : nil
  }
}
