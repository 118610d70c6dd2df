import Foundation

/// What happens to a number that an integer or Boolean attribute cannot hold as it is.
enum NumberFit {
  /// It has a fraction, or is no truth value: what is left when that is cut off.
  case cut(AttributeValue)
  /// It is larger than the type allows.
  case tooLarge
  /// It is smaller than the type allows.
  case tooSmall

  /// Nil when `any` is no number, is not a number (NaN) for an integer, or the type has no bounds. NaN is true for a Boolean, as `NSNumber.boolValue` says.
  init?(_ any: Any, type: AttributeType) {
    switch type {
    case .boolean:
      guard let number = AttributeValue.inferred(any, preferring: .double)?.approximateDouble else {
        return nil
      }
      self = .cut(.boolean(number != 0))
    case .integer16: self.init(any, in: Int64(Int16.min)...Int64(Int16.max))
    case .integer32: self.init(any, in: Int64(Int32.min)...Int64(Int32.max))
    case .integer64: self.init(any, in: Int64.min...Int64.max)
    default: return nil
    }
  }

  private init?(_ any: Any, in bounds: ClosedRange<Int64>) {
    guard let number = AttributeValue.inferred(any, preferring: .integer64) else {
      // An integer of more than 64 bits with sign.
      guard let large = any as? any BinaryInteger else { return nil }
      self = Self.isNegative(large) ? .tooSmall : .tooLarge
      return
    }
    switch number {
    case .integer(let whole): self.init(whole, in: bounds)
    case .decimal(var decimal) where decimal.isFinite:
      var whole = Decimal()
      NSDecimalRound(&whole, &decimal, 0, decimal < 0 ? .up : .down)
      if let small = Int64(whole.description) {
        self.init(small, in: bounds)
      } else {
        self = decimal < 0 ? .tooSmall : .tooLarge
      }
    default:
      guard let double = number.approximateDouble, !double.isNaN else { return nil }
      if let whole = Int64(exactly: double.rounded(.towardZero)) {
        self.init(whole, in: bounds)
      } else {
        self = double < 0 ? .tooSmall : .tooLarge
      }
    }
  }

  private init(_ whole: Int64, in bounds: ClosedRange<Int64>) {
    self =
      whole > bounds.upperBound ? .tooLarge : whole < bounds.lowerBound ? .tooSmall : .cut(.integer(whole))
  }

  private static func isNegative(_ number: some BinaryInteger) -> Bool { number.signum() < 0 }
}

extension AttributeValue {
  /// The same value as an attribute of `type` holds it; nil when it does not fit.
  ///
  /// - Parameter cutsNumbers: Whether a number is cut off to what an integer or Boolean attribute holds.
  func fitted(to type: AttributeType, cutsNumbers: Bool) -> AttributeValue? {
    if let converted = converted(to: type) { return converted }
    guard cutsNumbers, let number = anyValue, case .cut(let rest)? = NumberFit(number, type: type) else {
      return nil
    }
    return rest
  }
}
