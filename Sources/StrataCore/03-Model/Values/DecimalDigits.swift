import Foundation

/// A decimal number taken apart: sign, exponent of the first digit, digits without leading or trailing zeros.
///
/// `0.0125` is `+`, `-2`, `[1, 2, 5]`. The form in which decimals are compared, stored and made into keys.
/// Foundation keeps the mantissa to itself on Linux, so this goes through the digits of `description`.
struct DecimalDigits: Sendable {
  /// Where the number lies; the raw values are in order.
  enum Kind: UInt8, Sendable {
    case negativeInfinity = 0x08
    case negative = 0x10
    case zero = 0x20
    case positive = 0x30
    case positiveInfinity = 0x38
    case notANumber = 0x40
  }

  var kind: Kind
  /// The power of ten of the first digit. 0 for zero and the special kinds.
  var exponent: Int
  /// 0…9 each; first and last are not 0. Empty for zero and the special kinds.
  var digits: [UInt8]

  init(kind: Kind, exponent: Int = 0, digits: [UInt8] = []) {
    self.kind = kind
    self.exponent = exponent
    self.digits = digits
  }

  init(_ value: Decimal) {
    if value.isNaN {
      self.init(kind: .notANumber)
    } else {
      self.init(
        isNegative: value.isSignMinus, digits: value.significand.description.utf8.map { $0 &- 48 },
        scale: value.exponent)
    }
  }

  init(_ value: some BinaryInteger) {
    self.init(isNegative: value < 0, digits: value.magnitude.description.utf8.map { $0 &- 48 }, scale: 0)
  }

  /// The double's exact decimal expansion.
  init(_ value: Double) {
    guard value.isFinite else {
      self.init(kind: value.isNaN ? .notANumber : value < 0 ? .negativeInfinity : .positiveInfinity)
      return
    }
    // value = mantissa × 2^power; a negative power of two is a power of five, scaled by ten.
    var mantissa = value.significandBitPattern
    if value.exponentBitPattern != 0 { mantissa |= 1 << 52 }
    let power = Int(max(value.exponentBitPattern, 1)) - 1075
    var digits = Array(mantissa.description.utf8.reversed().map { $0 &- 48 })
    for _ in 0..<abs(power) { Self.multiply(&digits, by: power < 0 ? 5 : 2) }
    self.init(isNegative: value < 0, digits: digits.reversed(), scale: min(power, 0))
  }

  /// From whole digits times ten to the power of `scale`.
  init(isNegative: Bool, digits: [UInt8], scale: Int) {
    let significant = digits.drop { $0 == 0 }
    var trimmed = Array(significant)
    while trimmed.last == 0 { trimmed.removeLast() }
    if trimmed.isEmpty {
      self.init(kind: .zero)
    } else {
      self.init(
        kind: isNegative ? .negative : .positive, exponent: significant.count - 1 + scale, digits: trimmed)
    }
  }

  /// The number as a `Decimal`, `nil` when it has more digits or a larger exponent than a `Decimal` holds.
  var decimal: Decimal? {
    switch kind {
    case .notANumber: return .nan
    case .zero: return 0
    case .negativeInfinity, .positiveInfinity: return nil
    case .negative, .positive: break
    }
    let scale = exponent - (digits.count - 1)
    guard (-128...165).contains(scale), digits.count <= 39 else { return nil }
    let result = scale > 127 ? stretched(by: scale - 127) : number(digits, scale: scale)
    // Rounded where the mantissa or the exponent does not hold the number: then it is none.
    guard scale > 127 || digits.count == 39 else { return result }
    return Self.compare(DecimalDigits(result), self) == 0 ? result : nil
  }

  /// Whether ``decimal`` is not nil; nearly always told without making it.
  var isDecimal: Bool {
    let scale = exponent - (digits.count - 1)
    return digits.count < 39 && (-128...127).contains(scale) || decimal != nil
  }

  /// The number of these digits and this scale, rounded or not a number where a `Decimal` cannot hold it.
  private func number(_ digits: [UInt8], scale: Int) -> Decimal {
    var significand = Decimal(0)
    for start in stride(from: 0, to: digits.count, by: 13) {
      let piece = digits[start..<min(start + 13, digits.count)]
      let number = piece.reduce(0 as UInt64) { $0 * 10 + UInt64($1) }
      significand = start == 0 ? Decimal(number) : significand * Self.power(piece.count) + Decimal(number)
    }
    return Decimal(sign: kind == .negative ? .minus : .plus, exponent: scale, significand: significand)
  }

  /// A number whose mantissa ends with zeros, because its exponent cannot be larger.
  ///
  /// Foundation moves such zeros into the exponent, and overflows; only a sum is left as it is.
  private func stretched(by zeros: Int) -> Decimal {
    guard digits.count + zeros <= 39 else { return .nan }
    var lesser = digits
    // The last digit is not 0.
    lesser[lesser.count - 1] -= 1
    lesser += Array(repeating: 9, count: zeros)
    return number(Array(lesser.drop { $0 == 0 }), scale: 127) + number([1], scale: 127)
  }

  static func compare(_ a: DecimalDigits, _ b: DecimalDigits) -> Int {
    guard a.kind == b.kind else { return Int(a.kind.rawValue) - Int(b.kind.rawValue) }
    let magnitude =
      a.exponent != b.exponent
      ? a.exponent - b.exponent
      : a.digits.withUnsafeBytes { x in b.digits.withUnsafeBytes { AttributeValue.orderBytes(x, $0) } }
    return a.kind == .negative ? -magnitude : magnitude
  }

  private static func power(_ count: Int) -> Decimal {
    Decimal((0..<count).reduce(1 as UInt64) { product, _ in product * 10 })
  }

  /// Multiplies a number of little-endian digits.
  private static func multiply(_ digits: inout [UInt8], by factor: UInt8) {
    var carry: UInt8 = 0
    for index in digits.indices {
      let product = digits[index] * factor + carry
      digits[index] = product % 10
      carry = product / 10
    }
    if carry > 0 { digits.append(carry) }
  }
}
