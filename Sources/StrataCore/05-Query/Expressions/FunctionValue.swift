import Foundation

/// What functions make of their arguments. Pure; the same everywhere.
enum FunctionValue {
  /// The value of `function`; nil when an argument is nil, of another kind than the function takes, or when there is no result: a
  /// division by zero, integers of more than 64 bits, the root of a negative number.
  static func value(_ function: FetchFunction, _ arguments: [AttributeValue]) -> AttributeValue {
    if function == .coalesce { return arguments.first { !$0.isNull } ?? .null }
    guard let first = arguments.first, !arguments.contains(where: \.isNull) else { return .null }
    switch function {
    case .negate, .absolute, .squareRoot, .exponential, .naturalLogarithm, .logarithm, .ceiling, .floor,
      .truncate:
      return number(function, first)
    case .onesComplement:
      guard case .integer(let bits) = first else { return .null }
      return .integer(~bits)
    case .lowercase, .uppercase, .canonical, .length: return text(function, first)
    case .concatenate: return concatenation(arguments)
    case .add, .subtract, .multiply, .divide, .modulus, .power:
      return arguments.count == 2 ? arithmetic(function, first, arguments[1]) : .null
    case .bitwiseAnd, .bitwiseOr, .bitwiseXor, .leftShift, .rightShift:
      guard arguments.count == 2, case .integer(let left) = first, case .integer(let right) = arguments[1]
      else { return .null }
      return bits(function, left, right)
    case .coalesce, .now, .cast, .distinct: return .null
    }
  }

  // MARK: One number

  private static func number(_ function: FetchFunction, _ value: AttributeValue) -> AttributeValue {
    switch (function, value) {
    case (.negate, .integer(let number)): return number == .min ? .null : .integer(-number)
    case (.absolute, .integer(let number)): return number == .min ? .null : .integer(abs(number))
    case (.ceiling, .integer), (.floor, .integer), (.truncate, .integer): return value
    case (.negate, .decimal(let number)): return .decimal(-number)
    case (.absolute, .decimal(let number)): return .decimal(abs(number))
    case (.ceiling, .decimal(let number)): return .decimal(rounded(number, .up))
    case (.floor, .decimal(let number)): return .decimal(rounded(number, .down))
    case (.truncate, .decimal(let number)):
      return .decimal(rounded(number, number.isSignMinus ? .up : .down))
    default: break
    }
    guard let number = double(value) else { return .null }
    let result =
      switch function {
      case .negate: -number
      case .absolute: abs(number)
      case .squareRoot: number.squareRoot()
      case .exponential: exp(number)
      case .naturalLogarithm: log(number)
      case .logarithm: log10(number)
      case .ceiling: number.rounded(.up)
      case .floor: number.rounded(.down)
      default: number.rounded(.towardZero)
      }
    return finite(result, from: number, 0)
  }

  private static func rounded(_ value: Decimal, _ mode: NSDecimalNumber.RoundingMode) -> Decimal {
    var (value, result) = (value, Decimal())
    NSDecimalRound(&result, &value, 0, mode)
    return result
  }

  /// Nil when finite numbers have no finite result.
  private static func finite(_ result: Double, from left: Double, _ right: Double) -> AttributeValue {
    !result.isFinite && left.isFinite && right.isFinite ? .null : .double(result)
  }

  static func double(_ value: AttributeValue) -> Double? {
    switch value {
    case .integer(let number): Double(number)
    case .boolean(let flag): flag ? 1 : 0
    case .double(let number): number
    case .float(let number): Double(number)
    case .decimal(let number): DecimalArithmetic.double(number)
    default: nil
    }
  }

  // MARK: Two numbers

  private static func arithmetic(
    _ function: FetchFunction, _ left: AttributeValue, _ right: AttributeValue
  ) -> AttributeValue {
    switch (left, right) {
    case (.integer(let left), .integer(let right)) where function != .power:
      return integers(function, left, right)
    case (.decimal(let left), .decimal(let right)) where function != .power:
      return decimals(function, left, right)
    case (.decimal(let left), .integer(let right)) where function != .power:
      return decimals(function, left, Decimal(right))
    case (.integer(let left), .decimal(let right)) where function != .power:
      return decimals(function, Decimal(left), right)
    case (.date(let left), .date(let right)) where function == .subtract:
      return .double(left.timeIntervalSinceReferenceDate - right.timeIntervalSinceReferenceDate)
    case (.date(let date), _) where function == .add || function == .subtract:
      guard let seconds = double(right) else { return .null }
      return moved(date, by: function == .add ? seconds : -seconds)
    case (_, .date(let date)) where function == .add:
      guard let seconds = double(left) else { return .null }
      return moved(date, by: seconds)
    default:
      guard let left = double(left), let right = double(right) else { return .null }
      return doubles(function, left, right)
    }
  }

  private static func moved(_ date: Date, by seconds: Double) -> AttributeValue {
    .date(Date(timeIntervalSinceReferenceDate: date.timeIntervalSinceReferenceDate + seconds))
  }

  private static func integers(_ function: FetchFunction, _ left: Int64, _ right: Int64) -> AttributeValue {
    if right == 0, function == .divide || function == .modulus { return .null }
    let (result, isTooLarge) =
      switch function {
      case .add: left.addingReportingOverflow(right)
      case .subtract: left.subtractingReportingOverflow(right)
      case .multiply: left.multipliedReportingOverflow(by: right)
      case .divide: left.dividedReportingOverflow(by: right)
      default: left.remainderReportingOverflow(dividingBy: right)
      }
    return isTooLarge ? .null : .integer(result)
  }

  private static func decimals(_ function: FetchFunction, _ left: Decimal, _ right: Decimal) -> AttributeValue
  {
    if right.isZero, function == .divide || function == .modulus { return .null }
    let result: Decimal
    switch function {
    case .add: result = left + right
    case .subtract: result = left - right
    case .multiply: result = DecimalArithmetic.product(left, right)
    case .divide: result = DecimalArithmetic.quotient(left, right)
    default:
      guard let remainder = remainder(left, right) else { return .null }
      result = remainder
    }
    return result.isNaN && !left.isNaN && !right.isNaN ? .null : .decimal(result)
  }

  /// What is left of a division without a fraction; nil where a multiple of the divisor next to `left` has more digits than a decimal keeps.
  private static func remainder(_ left: Decimal, _ right: Decimal) -> Decimal? {
    if left.isNaN || right.isNaN { return .nan }
    var divisor = right
    NSDecimalCompact(&divisor)
    let limit = Decimal(sign: .plus, exponent: min(divisor.exponent + 38, 127), significand: 1)
    if abs(left) >= limit, abs(left) >= abs(right) { return nil }
    let quotient = DecimalArithmetic.quotient(left, right)
    let whole = rounded(quotient, quotient.isSignMinus ? .up : .down)
    let result = left - DecimalArithmetic.product(whole, right)
    // A quotient just below a whole number is rounded to it.
    if result.isZero || result.isSignMinus == left.isSignMinus { return result }
    return left.isSignMinus ? result - abs(right) : result + abs(right)
  }

  private static func doubles(_ function: FetchFunction, _ left: Double, _ right: Double) -> AttributeValue {
    if right == 0, function == .divide || function == .modulus { return .null }
    let result =
      switch function {
      case .add: left + right
      case .subtract: left - right
      case .multiply: left * right
      case .divide: left / right
      case .modulus: left.truncatingRemainder(dividingBy: right)
      default: pow(left, right)
      }
    return finite(result, from: left, right)
  }

  /// A shift by a negative number has no result; one by 64 or more leaves nothing but the sign.
  private static func bits(_ function: FetchFunction, _ left: Int64, _ right: Int64) -> AttributeValue {
    switch function {
    case .bitwiseAnd: .integer(left & right)
    case .bitwiseOr: .integer(left | right)
    case .bitwiseXor: .integer(left ^ right)
    case .leftShift: right < 0 ? .null : .integer(left << right)
    default: right < 0 ? .null : .integer(left >> right)
    }
  }

  // MARK: Text

  private static func text(_ function: FetchFunction, _ value: AttributeValue) -> AttributeValue {
    guard case .string(let text) = value else { return .null }
    switch function {
    case .lowercase: return .string(text.lowercased())
    case .uppercase: return .string(text.uppercased())
    case .length: return .integer(Int64(text.count))
    default: return .string(String(decoding: TextFolding(.diacriticInsensitive).folded(text), as: UTF8.self))
    }
  }

  private static func concatenation(_ arguments: [AttributeValue]) -> AttributeValue {
    var result = ""
    for case .string(let text) in arguments { result += text }
    let isText = arguments.allSatisfy { if case .string = $0 { true } else { false } }
    return isText ? .string(result) : .null
  }

  // MARK: Casts

  /// A value as an attribute of `type` would have it; nil when it has no such form. Numbers round towards zero where they must,
  /// texts are read as numbers, UUIDs and URLs are written, dates are seconds since 2001.
  static func cast(_ value: AttributeValue, to type: AttributeType) -> AttributeValue {
    if value.isNull || value.fits(type) { return value }
    switch type {
    case .string: return written(value)
    case .integer16, .integer32, .integer64:
      let number = integer(value).map { AttributeValue.integer($0) } ?? .null
      return number.fits(type) ? number : .null
    case .double, .float, .decimal, .boolean:
      if case .date(let date) = value {
        return cast(.double(date.timeIntervalSinceReferenceDate), to: type)
      }
      if case .string(let text) = value {
        guard let number = Decimal(string: text, locale: nil), Double(text) != nil else { return .null }
        return type == .double
          ? Double(text).map { .double($0) } ?? .null
          : AttributeValue.decimal(number).converted(to: type) ?? .null
      }
      return value.converted(to: type) ?? .null
    case .date:
      guard let seconds = double(value) else { return .null }
      return .date(Date(timeIntervalSinceReferenceDate: seconds))
    case .uuid:
      guard case .string(let text) = value else { return .null }
      return UUID(uuidString: text).map { .uuid($0) } ?? .null
    case .uri:
      guard case .string(let text) = value else { return .null }
      return URL(string: text).map { .url($0) } ?? .null
    default: return .null
    }
  }

  private static func integer(_ value: AttributeValue) -> Int64? {
    if case .string(let text) = value { return Int64(text) ?? Double(text).flatMap(whole) }
    if case .date(let date) = value { return whole(date.timeIntervalSinceReferenceDate) }
    if case .decimal(let number) = value {
      return Int64("\(rounded(number, number.isSignMinus ? .up : .down))")
    }
    return double(value).flatMap(whole)
  }

  private static func whole(_ number: Double) -> Int64? {
    number >= -0x1p63 && number < 0x1p63 ? Int64(number) : nil
  }

  /// A number as an `NSNumber` has it in its `stringValue`: a whole one has no fraction.
  static func text(_ number: some BinaryFloatingPoint & LosslessStringConvertible) -> String {
    let text = "\(number)"
    return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
  }

  private static func written(_ value: AttributeValue) -> AttributeValue {
    switch value {
    case .string: value
    case .integer(let number): .string("\(number)")
    case .double(let number): .string(text(number))
    case .float(let number): .string(text(number))
    case .decimal(let number): .string("\(number)")
    case .boolean(let flag): .string(flag ? "1" : "0")
    case .uuid(let identifier): .string(identifier.uuidString)
    case .url(let url): .string(url.absoluteString)
    case .date(let date): .string("\(date.timeIntervalSinceReferenceDate)")
    case .null, .data, .reference: .null
    }
  }
}
