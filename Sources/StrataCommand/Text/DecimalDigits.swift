/// A number as a text writes it, digit by digit: what is the same number is equal, however it is written.
struct DecimalDigits: Equatable {
  /// Without zeros at both ends.
  private var digits: [UInt8] = []
  /// The power of ten that they are multiplied by.
  private var exponent = 0
  private var isNegative = false
  /// Whether every decimal keeps so many digits, so that nothing has to be compared.
  let fitsSurely: Bool

  /// Digits with a point or none among them, and an exponent; nil for any other text.
  init?(_ text: some StringProtocol) {
    var rest = Array(text.utf8)[...]
    func takes(_ bytes: [UInt8]) -> UInt8? {
      guard let first = rest.first, bytes.contains(first) else { return nil }
      rest = rest.dropFirst()
      return first
    }
    func takesDigits() -> ArraySlice<UInt8> {
      let found = rest.prefix { $0 &- 48 < 10 }
      rest = rest.dropFirst(found.count)
      return found
    }
    let signs = [UInt8(ascii: "-"), UInt8(ascii: "+")]
    isNegative = takes(signs) == signs[0]
    digits = Array(takesDigits())
    if takes([UInt8(ascii: ".")]) != nil {
      let fraction = takesDigits()
      digits += fraction
      exponent = -fraction.count
    }
    guard !digits.isEmpty else { return nil }
    var isPlain = true
    if takes([UInt8(ascii: "e"), UInt8(ascii: "E")]) != nil {
      isPlain = false
      let isBelow = takes(signs) == signs[0]
      let power = takesDigits()
      guard !power.isEmpty else { return nil }
      // More than any decimal has.
      let size = power.prefix(10).reduce(0) { $0 * 10 + Int($1 - 48) }
      exponent += isBelow ? -size : size
    }
    guard rest.isEmpty else { return nil }
    fitsSurely = isPlain && digits.count <= 38
    digits = Array(digits.drop { $0 == 48 })
    while digits.last == 48 {
      digits.removeLast()
      exponent += 1
    }
    if digits.isEmpty { (exponent, isNegative) = (0, false) }
  }

  static func == (left: DecimalDigits, right: DecimalDigits) -> Bool {
    left.digits == right.digits && left.exponent == right.exponent && left.isNegative == right.isNegative
  }
}
