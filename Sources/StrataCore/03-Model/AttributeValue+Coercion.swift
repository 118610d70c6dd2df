import Foundation

extension AttributeValue {
  /// Takes what key-value coding was given for an attribute of `type`; `nil` when it does not fit.
  ///
  /// `nil` (also a nil inside `Any`) becomes ``null``. Numbers convert between numeric types when nothing is
  /// lost: 3.0 fits an integer, 70,000 does not fit an integer16; floats and doubles may round to each other.
  /// Foundation's reference types (NSNumber, NSString, NSData …) count as their values. For `undefined` the
  /// case follows the value's own type.
  public init?(_ any: Any?, type: AttributeType) {
    guard let any, !isNil(any) else {
      self = .null
      return
    }
    if let value = any as? AttributeValue {
      guard let fitted = value.converted(to: type) else { return nil }
      self = fitted
      return
    }
    guard let value = Self.inferred(any, preferring: type), let fitted = value.converted(to: type) else {
      return nil
    }
    self = fitted
  }

  /// The same value as an attribute of `type` holds it; `nil` when it does not fit without loss.
  func converted(to type: AttributeType) -> AttributeValue? {
    if fits(type) { return self }
    switch type {
    case .integer16, .integer32, .integer64:
      guard let integer = exactInteger else { return nil }
      let value = AttributeValue.integer(integer)
      return value.fits(type) ? value : nil
    case .double: return approximateDouble.map { .double($0) }
    case .float: return approximateDouble.map { .float(Float($0)) }
    case .decimal: return exactDecimal.map { .decimal($0) }
    case .boolean:
      guard let integer = exactInteger, integer == 0 || integer == 1 else { return nil }
      return .boolean(integer == 1)
    default: return nil
    }
  }

  private var exactInteger: Int64? {
    switch self {
    case .integer(let value): value
    case .boolean(let value): value ? 1 : 0
    case .double(let value): Int64(exactly: value)
    case .float(let value): Int64(exactly: value)
    case .decimal(let value): Int64(value.description)
    default: nil
    }
  }

  var approximateDouble: Double? {
    switch self {
    case .integer(let value): Double(value)
    case .boolean(let value): value ? 1 : 0
    case .double(let value): value
    case .float(let value): Double(value)
    case .decimal(let value): Double(value.description)
    default: nil
    }
  }

  /// Doubles by their shortest description, so that 0.1 becomes 0.1.
  private var exactDecimal: Decimal? {
    switch self {
    case .integer(let value): Decimal(value)
    case .boolean(let value): value ? 1 : 0
    case .double(let value): DecimalDigits(shortest: value).decimal
    case .float(let value): DecimalDigits(shortest: value).decimal
    case .decimal(let value): value
    default: nil
    }
  }

  static func inferred(_ any: Any, preferring type: AttributeType) -> AttributeValue? {
    switch any {
    case let value as String: return .string(value)
    case let value as Int: return .integer(Int64(value))
    case let value as Int64: return .integer(value)
    case let value as Bool: return .boolean(value)
    case let value as Double: return .double(value)
    case let value as Float: return .float(value)
    case let value as Int32: return .integer(Int64(value))
    case let value as Int16: return .integer(Int64(value))
    case let value as Date: return .date(value)
    case let value as Data: return .data(value)
    case let value as UUID: return .uuid(value)
    case let value as URL: return .url(value)
    case let value as Decimal: return .decimal(value)
    case let value as any FixedWidthInteger: return Int64(exactly: value).map { .integer($0) }
    case let value as Substring: return .string(String(value))
    // An empty array of anything can be cast to it.
    case let value as [UInt8] where type == .binaryData || Swift.type(of: any) == [UInt8].self:
      return .data(Data(value))
    default: return inferredReference(any, preferring: type)
    }
  }

  private static func inferredReference(_ any: Any, preferring type: AttributeType) -> AttributeValue? {
    switch any {
    case let value as NSDecimalNumber: return .decimal(value.decimalValue)
    case let value as NSNumber:
      switch type {
      case .boolean: return .boolean(value.boolValue)
      case .double, .float, .decimal: return .double(value.doubleValue)
      default:
        let double = value.doubleValue
        return double == double.rounded() && abs(double) < 0x1p53 || Double(value.int64Value) == double
          ? .integer(value.int64Value) : .double(double)
      }
    case let value as NSString: return .string(value as String)
    case let value as NSDate: return .date(value as Date)
    case let value as NSData: return .data(value as Data)
    case let value as NSUUID: return .uuid(value as UUID)
    case let value as NSURL: return .url(value as URL)
    default: return nil
    }
  }
}

private protocol OptionalBox {
  var isNone: Bool { get }
}

extension Optional: OptionalBox {
  fileprivate var isNone: Bool {
    switch self {
    case .none: true
    case .some(let wrapped): isNil(wrapped)
    }
  }
}

/// Whether a value handed in as `Any` is an optional without value, or stands for none.
func isNilValue(_ any: Any) -> Bool { any is NSNull || isNil(any) }

/// Whether `any` is an optional, however deeply wrapped, without a value.
func isNil(_ any: Any) -> Bool { (any as? any OptionalBox)?.isNone ?? false }
