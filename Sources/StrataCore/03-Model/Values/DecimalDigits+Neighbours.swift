import Foundation

// Numbers of other kinds among decimals, and decimals among integers.

extension DecimalDigits {
  /// The digits of the shortest text that stands for the double and no other: 0.1 has one.
  init(shortest value: Double) {
    if value.isFinite { self.init(text: value.description) } else { self.init(value) }
  }

  /// The digits of the shortest text that stands for the float and no other.
  init(shortest value: Float) {
    if value.isFinite { self.init(text: value.description) } else { self.init(Double(value)) }
  }

  /// From a text as floating-point numbers are written: `-12.5`, `1e-07`.
  private init(text: String) {
    var digits: [UInt8] = []
    var scale = 0
    var isFraction = false
    let parts = text.utf8.split(separator: UInt8(ascii: "e"))
    for byte in parts[0] {
      switch byte {
      case UInt8(ascii: "-"): continue
      case UInt8(ascii: "."): isFraction = true
      default:
        digits.append(byte &- 48)
        if isFraction { scale -= 1 }
      }
    }
    if parts.count > 1 { scale += Int(String(decoding: parts[1], as: UTF8.self)) ?? 0 }
    self.init(isNegative: text.utf8.first == UInt8(ascii: "-"), digits: digits, scale: scale)
  }

  /// The greatest number a `Decimal` can be that is not above this one, which has no more digits than a double's text; nil when all
  /// of them are above.
  var decimalNotAbove: Decimal? {
    if let decimal { return decimal }
    let isNegative = kind == .negative || kind == .negativeInfinity
    // No decimal, and not because of its many digits: so it is beyond all of them, or closer to 0 than the last place of any.
    if exponent > 0 || kind == .negativeInfinity || kind == .positiveInfinity {
      return isNegative ? nil : .greatestFiniteMagnitude
    }
    let count = max(0, exponent - Self.lastPlace + 1)
    let steps = digits.prefix(count).reduce(0 as UInt64) { $0 * 10 + UInt64($1) }
    let text = (isNegative ? steps + 1 : steps).description
    return DecimalDigits(
      isNegative: isNegative, digits: text.utf8.map { $0 &- 48 }, scale: Self.lastPlace
    ).decimal
  }

  /// The power of ten of the last place that a `Decimal` can have.
  private static var lastPlace: Int { -128 }

  /// The greatest integer that is not above the number, and whether the number is above it; nil when that takes more than 64 bits,
  /// and for what is not a number.
  var integerNotAbove: (whole: Int64, hasFraction: Bool)? {
    switch kind {
    case .zero: return (0, false)
    case .positive, .negative: break
    case .notANumber, .negativeInfinity, .positiveInfinity: return nil
    }
    guard exponent < 19 else { return nil }
    let count = max(0, exponent + 1)
    let hasFraction = digits.count > count
    var magnitude: Int128 = 0
    for place in 0..<count { magnitude = magnitude * 10 + (place < digits.count ? Int128(digits[place]) : 0) }
    let whole = kind == .positive ? magnitude : hasFraction ? -magnitude - 1 : -magnitude
    return Int64(exactly: whole).map { ($0, hasFraction) }
  }

  /// The double that is exactly this number; nil when there is none.
  var exactDouble: Double? {
    if kind == .notANumber { return .nan }
    // Behind the point a sum of powers of two ends with 5.
    guard digits.count <= exponent + 1 || digits.last == 5, let double = Double(text), double.isFinite,
      Self.compare(DecimalDigits(double), self) == 0
    else { return nil }
    return double
  }

  private var text: String {
    let written = String(decoding: digits.map { $0 + 48 }, as: UTF8.self)
    return
      "\(kind == .negative ? "-" : "")\(digits.isEmpty ? "0" : written)e\(exponent - max(0, digits.count - 1))"
  }
}
