import Foundation

/// A Swift type whose values an attribute holds as they are.
///
/// | type | attribute |
/// |---|---|
/// | `Int16`, `Int8`, `UInt8` | integer16 |
/// | `Int32`, `UInt16` | integer32 |
/// | `Int`, `Int64`, `UInt32` | integer64 |
/// | `Double`, `Float`, `Decimal`, `Bool`, `String`, `Date`, `Data`, `UUID`, `URL` | the attribute of that name |
public protocol AttributeRepresentable: Sendable {
  /// The type of an attribute that holds such values.
  static var attributeType: AttributeType { get }
  /// What a property shows that cannot be nil, where there is no value: zero, false, an empty text (rule 345).
  static var absentValue: Self { get }
  /// The value that an attribute holds; nil when it is another type's, or out of range.
  init?(storedValue: AttributeValue)
  /// The value as an attribute holds it.
  var storedValue: AttributeValue { get }
}

extension AttributeRepresentable where Self: FixedWidthInteger {
  /// 0.
  public static var absentValue: Self { 0 }
  /// The number, when it is in the range of the type.
  public init?(storedValue: AttributeValue) {
    guard case .integer(let value) = storedValue else { return nil }
    self.init(exactly: value)
  }
  /// The number.
  public var storedValue: AttributeValue {
    // No type that conforms has numbers beyond 64 bits.
    .integer(Int64(truncatingIfNeeded: self))
  }
}

extension Int8: AttributeRepresentable {
  public static var attributeType: AttributeType { .integer16 }
}
extension UInt8: AttributeRepresentable {
  public static var attributeType: AttributeType { .integer16 }
}
extension Int16: AttributeRepresentable {
  public static var attributeType: AttributeType { .integer16 }
}
extension UInt16: AttributeRepresentable {
  public static var attributeType: AttributeType { .integer32 }
}
extension Int32: AttributeRepresentable {
  public static var attributeType: AttributeType { .integer32 }
}
extension UInt32: AttributeRepresentable {
  public static var attributeType: AttributeType { .integer64 }
}
extension Int64: AttributeRepresentable {
  public static var attributeType: AttributeType { .integer64 }
}
extension Int: AttributeRepresentable {
  public static var attributeType: AttributeType { .integer64 }
}

extension Double: AttributeRepresentable {
  public static var attributeType: AttributeType { .double }
  public static var absentValue: Double { 0 }
  public init?(storedValue: AttributeValue) {
    guard case .double(let value) = storedValue else { return nil }
    self = value
  }
  public var storedValue: AttributeValue { .double(self) }
}
extension Float: AttributeRepresentable {
  public static var attributeType: AttributeType { .float }
  public static var absentValue: Float { 0 }
  public init?(storedValue: AttributeValue) {
    guard case .float(let value) = storedValue else { return nil }
    self = value
  }
  public var storedValue: AttributeValue { .float(self) }
}
extension Bool: AttributeRepresentable {
  public static var attributeType: AttributeType { .boolean }
  public static var absentValue: Bool { false }
  public init?(storedValue: AttributeValue) {
    guard case .boolean(let value) = storedValue else { return nil }
    self = value
  }
  public var storedValue: AttributeValue { .boolean(self) }
}
extension Decimal: AttributeRepresentable {
  public static var attributeType: AttributeType { .decimal }
  public static var absentValue: Decimal { 0 }
  public init?(storedValue: AttributeValue) {
    guard case .decimal(let value) = storedValue else { return nil }
    self = value
  }
  public var storedValue: AttributeValue { .decimal(self) }
}
extension String: AttributeRepresentable {
  public static var attributeType: AttributeType { .string }
  public static var absentValue: String { "" }
  public init?(storedValue: AttributeValue) {
    guard case .string(let value) = storedValue else { return nil }
    self = value
  }
  public var storedValue: AttributeValue { .string(self) }
}
extension Date: AttributeRepresentable {
  public static var attributeType: AttributeType { .date }
  /// The first moment of 2001, from which dates are counted.
  public static var absentValue: Date { Date(timeIntervalSinceReferenceDate: 0) }
  public init?(storedValue: AttributeValue) {
    guard case .date(let value) = storedValue else { return nil }
    self = value
  }
  public var storedValue: AttributeValue { .date(self) }
}
extension Data: AttributeRepresentable {
  public static var attributeType: AttributeType { .binaryData }
  public static var absentValue: Data { Data() }
  public init?(storedValue: AttributeValue) {
    guard case .data(let value) = storedValue else { return nil }
    self = value
  }
  public var storedValue: AttributeValue { .data(self) }
}
extension UUID: AttributeRepresentable {
  public static var attributeType: AttributeType { .uuid }
  /// Sixteen zeros.
  public static var absentValue: UUID { UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)) }
  public init?(storedValue: AttributeValue) {
    guard case .uuid(let value) = storedValue else { return nil }
    self = value
  }
  public var storedValue: AttributeValue { .uuid(self) }
}
extension URL: AttributeRepresentable {
  public static var attributeType: AttributeType { .uri }
  /// `about:blank`.
  public static var absentValue: URL {
    // A constant text that is a URL.
    URL(string: "about:blank")!
  }
  public init?(storedValue: AttributeValue) {
    guard case .url(let value) = storedValue else { return nil }
    self = value
  }
  public var storedValue: AttributeValue { .url(self) }
}
