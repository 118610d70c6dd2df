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

  /// Nil when the value is of another kind than the attribute. Numbers and Booleans, 0 and 1, are of one kind.
  init?(_ value: AttributeValue, type: AttributeType) {
    switch (type, value) {
    case (.integer16, _): self.init(value, in: Int64(Int16.min)...Int64(Int16.max))
    case (.integer32, _): self.init(value, in: Int64(Int32.min)...Int64(Int32.max))
    case (.integer64, _): self.init(value, in: Int64.min...Int64.max)
    case (.boolean, .boolean), (.string, .string), (.date, .date), (.binaryData, .data),
      (.uuid, .uuid), (.uri, .url):
      self = .exact(value)
    case (.boolean, _):
      guard let position = OperandPosition(value, in: 0...1) else { return nil }
      self = position.amongBooleans
    case (.decimal, .double(let number)): self.init(decimal: DecimalDigits(shortest: number))
    case (.decimal, .float(let number)): self.init(decimal: DecimalDigits(shortest: number))
    // As values are stored that are set: where a number rounds there, it rounds here.
    case (.double, _), (.float, _), (.decimal, _):
      guard let stored = value.converted(to: type) else { return nil }
      self = .exact(stored)
    default: return nil
    }
  }

  private init(decimal number: DecimalDigits) {
    if let decimal = number.decimal {
      self = .exact(.decimal(decimal))
    } else if let decimal = number.decimalNotAbove {
      self = .after(.decimal(decimal))
    } else {
      self = .below
    }
  }

  private init?(_ value: AttributeValue, in range: ClosedRange<Int64>) {
    switch value {
    case .integer(let number): self.init(number, hasFraction: false, in: range)
    case .boolean(let flag): self = .exact(.integer(flag ? 1 : 0))
    case .double(let number): self.init(number, in: range)
    case .float(let number): self.init(Double(number), in: range)
    case .decimal(let number): self.init(DecimalDigits(number), in: range)
    default: return nil
    }
  }

  private init(_ number: DecimalDigits, in range: ClosedRange<Int64>) {
    if let (whole, hasFraction) = number.integerNotAbove {
      self.init(whole, hasFraction: hasFraction, in: range)
    } else {
      self = number.kind == .negative ? .below : .above
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

  /// The position among 0 and 1 as one among Booleans.
  private var amongBooleans: OperandPosition {
    switch self {
    case .exact(.integer(let number)): .exact(.boolean(number == 1))
    case .after(.integer(let number)): .after(.boolean(number == 1))
    default: self
    }
  }
}
