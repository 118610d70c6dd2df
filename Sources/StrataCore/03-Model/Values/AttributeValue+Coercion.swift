import Foundation

extension AttributeValue {
  /// Takes what key-value coding was given for an attribute of `type`; `nil` when it does not fit.
  ///
  /// `nil` (also a nil inside `Any`) becomes ``null``. Numbers convert between numeric types when nothing is
  /// lost: 3.0 fits an integer, 70,000 does not fit an integer16; floats and doubles may round to each other.
  /// Foundation's reference types (NSNumber, NSString, NSData …) count as their values; an NSNumber is the kind of
  /// number it was made of. For `undefined` the case follows the value's own type.
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

  /// The value that `any` is, as what it is: a number in Foundation's clothes keeps its kind, digits and all.
  static func inferred(_ any: Any, preferring type: AttributeType) -> AttributeValue? {
    let kind = Swift.type(of: any)
    // By type first: that costs a comparison, a cast several times as much.
    if kind == String.self, let value = any as? String { return .string(value) }
    if kind == Int.self, let value = any as? Int { return .integer(Int64(value)) }
    if kind == Double.self, let value = any as? Double { return .double(value) }
    // A cast would make a double of a decimal, an integer of a double and of a Boolean, whichever is tried first.
    if kind is AnyClass, let value = inferredReference(any) { return value }
    switch any {
    case let value as Int64: return .integer(value)
    case let value as Bool: return .boolean(value)
    case let value as Float: return .float(value)
    case let value as Date: return .date(value)
    case let value as Decimal: return .decimal(value)
    case let value as Data: return .data(value)
    case let value as UUID: return .uuid(value)
    case let value as URL: return .url(value)
    case let value as any FixedWidthInteger: return whole(value)
    // One that was optional: its type is another one.
    case let value as Double: return .double(value)
    case let value as CGFloat: return .double(Double(value))
    case let value as Substring: return .string(String(value))
    // An empty array of anything can be cast to it.
    case let value as [UInt8] where type == .binaryData || kind == [UInt8].self:
      return .data(Data(value))
    case let value as String: return .string(value)
    default: return nil
    }
  }

  /// A whole number; one of more than 64 bits with sign is a decimal, as long as that holds it.
  private static func whole(_ value: some FixedWidthInteger) -> AttributeValue? {
    Int64(exactly: value).map { .integer($0) } ?? DecimalDigits(value).decimal.map { .decimal($0) }
  }

  private static func inferredReference(_ any: Any) -> AttributeValue? {
    switch any {
    case let value as NSDecimalNumber: return .decimal(value.decimalValue)
    case let value as NSNumber: return number(value)
    case let value as NSString: return .string(value as String)
    case let value as NSDate: return .date(value as Date)
    case let value as NSData: return .data(value as Data)
    case let value as NSUUID: return .uuid(value as UUID)
    case let value as NSURL: return .url(value as URL)
    default: return nil
    }
  }

  private static func number(_ value: NSNumber) -> AttributeValue? {
    if isBoolean(value) { return .boolean(value.boolValue) }
    return switch UInt8(bitPattern: value.objCType.pointee) {
    case UInt8(ascii: "d"): .double(value.doubleValue)
    case UInt8(ascii: "f"): .float(value.floatValue)
    case UInt8(ascii: "Q"): whole(value.uint64Value)
    default: .integer(value.int64Value)
    }
  }

  private static func isBoolean(_ value: NSNumber) -> Bool {
    #if canImport(Darwin)
      CFGetTypeID(value) == CFBooleanGetTypeID()
    #else
      // Only truth values are of C's type for characters here.
      UInt8(bitPattern: value.objCType.pointee) == UInt8(ascii: "c")
    #endif
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
