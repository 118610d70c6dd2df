import Foundation

/// One attribute's value: what sits in a draft, a predicate, a default, a key.
///
/// Two values are equal when ``compare(_:_:)`` calls them the same: `-0.0` equals `0.0`, NaN equals itself,
/// strings are equal when their UTF-8 bytes are. Hashing agrees with that.
public enum AttributeValue: Sendable {
  /// No value. Sorts before every value.
  case null
  /// A value of an integer16, integer32 or integer64 attribute.
  case integer(Int64)
  case boolean(Bool)
  case double(Double)
  case float(Float)
  case decimal(Decimal)
  case string(String)
  case date(Date)
  case data(Data)
  case uuid(UUID)
  case url(URL)
  /// The other end of a to-one relationship, as the store of the object writes it; see `Reference`.
  case reference(UInt64)
}

extension AttributeValue {
  /// Whether this is ``null``.
  @inlinable public var isNull: Bool {
    if case .null = self { return true }
    return false
  }

  /// The value as key-value coding hands it out, `nil` for ``null``. Integers come as `Int64`.
  public var anyValue: Any? {
    switch self {
    case .null: nil
    case .integer(let value): value
    case .boolean(let value): value
    case .double(let value): value
    case .float(let value): value
    case .decimal(let value): value
    case .string(let value): value
    case .date(let value): value
    case .data(let value): value
    case .uuid(let value): value
    case .url(let value): value
    case .reference(let value): value
    }
  }

  /// Whether this value may be stored in an attribute of `type`: the case fits and an integer is in range.
  ///
  /// ``null`` fits every type; `undefined` takes every value.
  public func fits(_ type: AttributeType) -> Bool {
    switch (self, type) {
    case (.null, _), (_, .undefined): true
    case (.integer(let value), .integer16): Int16(exactly: value) != nil
    case (.integer(let value), .integer32): Int32(exactly: value) != nil
    case (.integer, .integer64), (.boolean, .boolean), (.double, .double), (.float, .float),
      (.decimal, .decimal), (.string, .string), (.date, .date), (.data, .binaryData), (.uuid, .uuid),
      (.url, .uri), (.reference, .objectID), (.data, .transformable):
      true
    default: false
    }
  }
}

extension AttributeValue: CustomStringConvertible {
  /// The value in words, for messages and dumps.
  public var description: String {
    switch self {
    case .null: "nil"
    case .integer(let value): "\(value)"
    case .boolean(let value): "\(value)"
    case .double(let value): "\(value)"
    case .float(let value): "\(value)"
    case .decimal(let value): "\(value)"
    case .string(let value): "\"\(value)\""
    case .date(let value): Self.describe(value)
    case .data(let value): "\(value.count) bytes"
    case .uuid(let value): value.uuidString
    case .url(let value): value.absoluteString
    case .reference(let bits): "p\(Reference.primaryKey(bits))"
    }
  }
}

extension AttributeValue {
  /// Foundation's own description stops the process for NaN, and has no words for dates beyond `distantPast` and `distantFuture`.
  static func describe(_ date: Date) -> String {
    let seconds = date.timeIntervalSinceReferenceDate
    return (-63_113_904_000..<64_092_211_200).contains(seconds) ? "\(date)" : "\(seconds) s since 2001"
  }
}

extension AttributeValue: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral,
  ExpressibleByStringLiteral
{
  public init(integerLiteral value: Int64) { self = .integer(value) }
  public init(floatLiteral value: Double) { self = .double(value) }
  public init(booleanLiteral value: Bool) { self = .boolean(value) }
  public init(stringLiteral value: String) { self = .string(value) }
}
