import Foundation

/// The name of an attribute, as the left side of a comparison:
/// `Attribute("origin") == "JFK" && Attribute("distance") > 500`.
public struct Attribute: Sendable, Hashable {
  /// The attribute's name.
  public let key: String

  /// The attribute named `key` of whatever entity is fetched.
  public init(_ key: String) {
    self.key = key
  }

  /// Whether case and marks count when texts are compared: `[.caseInsensitive, .diacriticInsensitive]` finds “Émile” for “emile”, as `[cd]` does in
  /// format strings.
  public typealias TextOptions = FetchComparison.StringOptions

  /// True when the attribute's string starts with `prefix`. None starts with the empty string, as in Core Data.
  public func beginsWith(_ prefix: String, options: TextOptions = []) -> FetchPredicate {
    compare(.beginsWith, prefix, options)
  }
  /// True when the attribute's string contains `part`: `Attribute("title").contains("emma", options: .caseInsensitive)`. No string contains the
  /// empty one, as in Core Data.
  public func contains(_ part: String, options: TextOptions = []) -> FetchPredicate {
    compare(.contains, part, options)
  }
  /// True when the attribute's string ends with `suffix`. None ends with the empty string, as in Core Data.
  public func endsWith(_ suffix: String, options: TextOptions = []) -> FetchPredicate {
    compare(.endsWith, suffix, options)
  }
  /// True when the attribute's whole string fits a pattern, in which `*` stands for any characters, also none, and `?` for one.
  public func like(_ pattern: String, options: TextOptions = []) -> FetchPredicate {
    compare(.like, pattern, options)
  }
  /// True when the attribute's whole string matches a regular expression. One that cannot be read fails the request with ``TextMatchError``.
  public func matches(_ expression: String, options: TextOptions = []) -> FetchPredicate {
    compare(.matches, expression, options)
  }
  /// True when the attribute's string equals `text`: `==` for texts that are the same but for case or marks.
  public func equals(_ text: String, options: TextOptions) -> FetchPredicate {
    compare(.equal, text, options)
  }
  /// True when the attribute equals one of `values`.
  public func isIn(_ values: some Sequence<some PredicateOperand>) -> FetchPredicate {
    .in(key: key, values.map(\.attributeValue))
  }
  /// True when the attribute's string equals one of `texts`, but for case or marks.
  public func isIn(_ texts: some Sequence<String>, options: TextOptions) -> FetchPredicate {
    .compare(
      FetchComparison(
        .key(key), .in, .list(texts.map { .constant(.string($0)) }), options: options))
  }
  /// True when `low <= attribute <= high`.
  public func isBetween(_ low: some PredicateOperand, _ high: some PredicateOperand) -> FetchPredicate {
    .between(key: key, low: low.attributeValue, high: high.attributeValue)
  }

  public static func == (left: Attribute, right: some PredicateOperand) -> FetchPredicate {
    left.compare(.equal, right)
  }
  public static func != (left: Attribute, right: some PredicateOperand) -> FetchPredicate {
    left.compare(.notEqual, right)
  }
  public static func == (left: Attribute, right: _OptionalNilComparisonType) -> FetchPredicate {
    .comparison(key: left.key, .equal, .null)
  }
  public static func != (left: Attribute, right: _OptionalNilComparisonType) -> FetchPredicate {
    .comparison(key: left.key, .notEqual, .null)
  }
  public static func < (left: Attribute, right: some PredicateOperand) -> FetchPredicate {
    left.compare(.less, right)
  }
  public static func <= (left: Attribute, right: some PredicateOperand) -> FetchPredicate {
    left.compare(.lessOrEqual, right)
  }
  public static func > (left: Attribute, right: some PredicateOperand) -> FetchPredicate {
    left.compare(.greater, right)
  }
  public static func >= (left: Attribute, right: some PredicateOperand) -> FetchPredicate {
    left.compare(.greaterOrEqual, right)
  }

  private func compare(_ operation: ComparisonOperator, _ text: String, _ options: TextOptions)
    -> FetchPredicate
  {
    .compare(FetchComparison(.key(key), operation, .constant(.string(text)), options: options))
  }

  private func compare(_ operation: ComparisonOperator, _ value: some PredicateOperand) -> FetchPredicate {
    .comparison(key: key, operation, value.attributeValue)
  }
}

extension FetchPredicate {
  public static func && (left: FetchPredicate, right: FetchPredicate) -> FetchPredicate {
    if case .and(let parts) = left { return .and(parts + [right]) }
    return .and([left, right])
  }
  public static func || (left: FetchPredicate, right: FetchPredicate) -> FetchPredicate {
    if case .or(let parts) = left { return .or(parts + [right]) }
    return .or([left, right])
  }
  public static prefix func ! (part: FetchPredicate) -> FetchPredicate { .not(part) }
}

/// A Swift value that can stand in a predicate.
public protocol PredicateOperand {
  /// The value as attributes hold it.
  var attributeValue: AttributeValue { get }
}

extension AttributeValue: PredicateOperand { public var attributeValue: AttributeValue { self } }
extension String: PredicateOperand { public var attributeValue: AttributeValue { .string(self) } }
extension Bool: PredicateOperand { public var attributeValue: AttributeValue { .boolean(self) } }
extension Int: PredicateOperand { public var attributeValue: AttributeValue { .integer(Int64(self)) } }
extension Int8: PredicateOperand { public var attributeValue: AttributeValue { .integer(Int64(self)) } }
extension UInt8: PredicateOperand { public var attributeValue: AttributeValue { .integer(Int64(self)) } }
extension UInt16: PredicateOperand { public var attributeValue: AttributeValue { .integer(Int64(self)) } }
extension UInt32: PredicateOperand { public var attributeValue: AttributeValue { .integer(Int64(self)) } }
extension Int16: PredicateOperand { public var attributeValue: AttributeValue { .integer(Int64(self)) } }
extension Int32: PredicateOperand { public var attributeValue: AttributeValue { .integer(Int64(self)) } }
extension Int64: PredicateOperand { public var attributeValue: AttributeValue { .integer(self) } }
extension Double: PredicateOperand { public var attributeValue: AttributeValue { .double(self) } }
extension Float: PredicateOperand { public var attributeValue: AttributeValue { .float(self) } }
extension Decimal: PredicateOperand { public var attributeValue: AttributeValue { .decimal(self) } }
extension Date: PredicateOperand { public var attributeValue: AttributeValue { .date(self) } }
extension Data: PredicateOperand { public var attributeValue: AttributeValue { .data(self) } }
extension UUID: PredicateOperand { public var attributeValue: AttributeValue { .uuid(self) } }
extension URL: PredicateOperand { public var attributeValue: AttributeValue { .url(self) } }
extension Optional: PredicateOperand where Wrapped: PredicateOperand {
  public var attributeValue: AttributeValue { self?.attributeValue ?? .null }
}
