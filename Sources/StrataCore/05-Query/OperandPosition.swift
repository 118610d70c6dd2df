import Foundation

/// Where a value lies among the values an attribute can have.
enum OperandPosition: Hashable {
  /// The attribute can have this value.
  case exact(AttributeValue)
  /// After this value and before the attribute's next one: 2.5 among integers.
  case after(AttributeValue)
  /// Greater than every value the attribute can have.
  case above
  /// Smaller than every value the attribute can have.
  case below

  /// Nil when the value is of another kind than the attribute.
  init?(_ value: AttributeValue, type: AttributeType) {
    switch (type, value) {
    case (.integer16, _): self.init(value, in: Int64(Int16.min)...Int64(Int16.max))
    case (.integer32, _): self.init(value, in: Int64(Int32.min)...Int64(Int32.max))
    case (.integer64, _): self.init(value, in: Int64.min...Int64.max)
    case (.boolean, .boolean), (.string, .string), (.date, .date), (.binaryData, .data),
      (.uuid, .uuid), (.uri, .url), (.decimal, .decimal), (.double, .double), (.float, .float):
      self = .exact(value)
    case (.boolean, .integer(let number)) where number == 0 || number == 1:
      self = .exact(.boolean(number == 1))
    case (.double, .integer(let number)): self = .exact(.double(Double(number)))
    case (.double, .float(let number)): self = .exact(.double(Double(number)))
    case (.double, .decimal(let number)): self = .exact(.double(NSDecimalNumber(decimal: number).doubleValue))
    case (.float, .integer(let number)): self = .exact(.float(Float(number)))
    case (.float, .double(let number)): self = .exact(.float(Float(number)))
    case (.float, .decimal(let number)):
      self = .exact(.float(Float(NSDecimalNumber(decimal: number).doubleValue)))
    case (.decimal, .integer(let number)): self = .exact(.decimal(Decimal(number)))
    case (.decimal, .double(let number)) where number.isFinite: self = .exact(.decimal(Decimal(number)))
    case (.decimal, .float(let number)) where number.isFinite:
      self = .exact(.decimal(Decimal(Double(number))))
    default: return nil
    }
  }

  private init?(_ value: AttributeValue, in range: ClosedRange<Int64>) {
    switch value {
    case .integer(let number): self.init(number, hasFraction: false, in: range)
    case .boolean(let flag): self = .exact(.integer(flag ? 1 : 0))
    case .double(let number): self.init(number, in: range)
    case .float(let number): self.init(Double(number), in: range)
    case .decimal(let number): self.init(NSDecimalNumber(decimal: number).doubleValue, in: range)
    default: return nil
    }
  }

  private init(_ number: Double, in range: ClosedRange<Int64>) {
    let whole = number.rounded(.down)
    if number.isNaN || whole >= 0x1p63 {
      self = .above
    } else if whole < -0x1p63 {
      self = .below
    } else {
      self.init(Int64(whole), hasFraction: whole != number, in: range)
    }
  }

  private init(_ whole: Int64, hasFraction: Bool, in range: ClosedRange<Int64>) {
    if whole > range.upperBound || (hasFraction && whole == range.upperBound) {
      self = .above
    } else if whole < range.lowerBound {
      self = .below
    } else {
      self = hasFraction ? .after(.integer(whole)) : .exact(.integer(whole))
    }
  }
}
