import Foundation

/// Products and quotients of decimals, also of those with more places than a decimal keeps: Foundation's product of such stops the process, and its quotient is
/// not a number.
package enum DecimalArithmetic {
  static func double(_ value: Decimal) -> Double { value.isNaN ? .nan : Double("\(value)") ?? .nan }

  /// The product, rounded to the places that a decimal has, 128 at most; not a number where it is too large.
  package static func product(_ left: Decimal, _ right: Decimal) -> Decimal {
    // The places of a product are at most those of both factors.
    if left.isNaN || right.isNaN || left.exponent + right.exponent >= leastExponent {
      return left * right
    }
    let (left, right) = (compact(left), compact(right))
    let exponent = left.exponent + right.exponent
    if exponent >= leastExponent { return left * right }
    return placed(
      left.significand * right.significand, exponent, isNegative: left.isSignMinus != right.isSignMinus)
  }

  /// The quotient, rounded as the product is; not a number where it is too large, and for a division by zero.
  package static func quotient(_ left: Decimal, _ right: Decimal) -> Decimal {
    if right.isZero { return .nan }
    let result = left / right
    if !result.isNaN || left.isNaN || right.isNaN { return result }
    let (left, right) = (compact(left), compact(right))
    return placed(
      left.significand / right.significand, left.exponent - right.exponent,
      isNegative: left.isSignMinus != right.isSignMinus)
  }

  private static var leastExponent: Int { -128 }

  private static func compact(_ value: Decimal) -> Decimal {
    var value = value
    NSDecimalCompact(&value)
    return value
  }

  /// `number`, which is not negative, times ten to the power of `power`.
  private static func placed(_ number: Decimal, _ power: Int, isNegative: Bool) -> Decimal {
    let number = compact(number)
    if number.isNaN || number.isZero { return number }
    let exponent = number.exponent + power
    // Digits in front of the last place that there is.
    let surplus = leastExponent - exponent
    if surplus > 39 { return 0 }
    let sign: FloatingPointSign = isNegative ? .minus : .plus
    if surplus <= 0 { return Decimal(sign: sign, exponent: exponent, significand: number.significand) }
    var (whole, result) = (
      Decimal(sign: .plus, exponent: -surplus, significand: number.significand), Decimal()
    )
    NSDecimalRound(&result, &whole, 0, .plain)
    if result.isZero { return 0 }
    return Decimal(sign: sign, exponent: leastExponent, significand: result)
  }
}
