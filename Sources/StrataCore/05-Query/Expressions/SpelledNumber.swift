import Foundation

/// A number written as text, as SQLite reads one beside a column of numbers: `5`, ` -3 `, `5.0`, `.5`, `1e3`. White space of ASCII around it does not count.
struct SpelledNumber {
  private let digits: DecimalDigits
  /// Nearest to the number; infinite for one that is too large.
  private let double: Double

  /// Nil for a text that spells no number: neither hexadecimal digits nor words such as `nan` do.
  init?(_ text: String) {
    var rest = Array(text.utf8)[...]
    while let first = rest.first, Self.isSpace(first) { rest.removeFirst() }
    while let last = rest.last, Self.isSpace(last) { rest.removeLast() }
    let isNegative = rest.first == UInt8(ascii: "-")
    if isNegative || rest.first == UInt8(ascii: "+") { rest.removeFirst() }
    let whole = Self.takeDigits(&rest)
    var fraction: [UInt8] = []
    if rest.first == UInt8(ascii: ".") {
      rest.removeFirst()
      fraction = Self.takeDigits(&rest)
    }
    guard !whole.isEmpty || !fraction.isEmpty else { return nil }
    var power = 0
    if rest.first == UInt8(ascii: "e") || rest.first == UInt8(ascii: "E") {
      rest.removeFirst()
      guard let found = Self.takePower(&rest) else { return nil }
      power = found
    }
    guard rest.isEmpty else { return nil }
    let all = whole + fraction
    digits = DecimalDigits(isNegative: isNegative, digits: all, scale: power - fraction.count)
    let written = String(decoding: all.map { $0 + UInt8(ascii: "0") }, as: UTF8.self)
    // Digits and a power are always read; a number that is too large is infinite.
    double = Double("\(isNegative ? "-" : "")\(written)e\(power - fraction.count)") ?? .nan
  }

  /// The number as a value beside those of `type`: to the digit where integers, decimals and Booleans are, which a double would round; decimals keep 38 digits.
  func value(beside type: AttributeType) -> AttributeValue {
    if type == .double { return .double(double) }
    if type == .float { return .float(Float(double)) }
    let position = digits.integerNotAbove
    if let (whole, hasFraction) = position, !hasFraction { return .integer(whole) }
    if let decimal = digits.decimal { return .decimal(decimal) }
    // Among integers it matters only between which two it lies.
    if type != .decimal, let (whole, _) = position { return .decimal(Decimal(whole) + Decimal(5) / 10) }
    return .double(double)
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

  private static func takeDigits(_ bytes: inout ArraySlice<UInt8>) -> [UInt8] {
    let digits = bytes.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    bytes.removeFirst(digits.count)
    return digits.map { $0 - UInt8(ascii: "0") }
  }

  /// Powers beyond a million are a million: no number comes back from there.
  private static func takePower(_ bytes: inout ArraySlice<UInt8>) -> Int? {
    let isNegative = bytes.first == UInt8(ascii: "-")
    if isNegative || bytes.first == UInt8(ascii: "+") { bytes.removeFirst() }
    let digits = takeDigits(&bytes)
    if digits.isEmpty { return nil }
    let magnitude = digits.reduce(0) { min($0 * 10 + Int($1), 1_000_000) }
    return isNegative ? -magnitude : magnitude
  }
}

extension ComparedValues {
  /// A constant as it is compared with values of `type`: beside numbers and Booleans a text is the number that it spells, beside texts a number is written as one. As it
  /// is, where it spells none, and beside all other types.
  package static func adapted(_ constant: AttributeValue, beside type: AttributeType) -> AttributeValue {
    switch constant {
    case .string(let text) where type.isSummable:
      return SpelledNumber(text)?.value(beside: type) ?? constant
    case .integer, .boolean, .double, .float, .decimal:
      return type == .string ? .string(written(constant)) : constant
    default: return constant
    }
  }

  /// As SQLite writes it into a column of texts: `5`, a double `5.0`, a Boolean `1`.
  private static func written(_ number: AttributeValue) -> String {
    switch number {
    case .integer(let number): "\(number)"
    case .double(let number): "\(number)"
    case .float(let number): "\(number)"
    case .decimal(let number): "\(number)"
    case .boolean(let flag): flag ? "1" : "0"
    default: ""
    }
  }
}

extension ComparisonOperator {
  /// Whether a constant on one side becomes one of the other side's kind: a text beside numbers, a number beside texts.
  package var adaptsConstants: Bool {
    switch self {
    case .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual, .in, .between: true
    case .beginsWith, .contains, .endsWith, .like, .matches: false
    }
  }
}
