import Foundation

/// The keys of Foundation's values that a store evaluates at the end of a key path: `number.stringValue`, `name.length`.
enum ValueKeys {
  private static let names: Set<String> = [
    "length", "lowercaseString", "uppercaseString", "stringValue", "intValue", "integerValue", "longValue",
    "longLongValue", "shortValue", "doubleValue", "floatValue", "boolValue", "timeIntervalSince1970",
    "timeIntervalSinceReferenceDate", "UUIDString", "absoluteString",
  ]

  /// Whether any type of value has the key.
  static func contains(_ key: String) -> Bool { names.contains(key) }

  /// What `key` makes of the value of an attribute of `type`; nil where such values have no such key.
  static func expression(_ key: String, of value: FetchExpression, _ type: AttributeType) -> FetchExpression?
  {
    switch type {
    case .string: text(key, value)
    case .integer16, .integer32, .integer64, .double, .float, .decimal, .boolean: number(key, value)
    case .date:
      switch key {
      case "timeIntervalSinceReferenceDate": cast(value, .double)
      case "timeIntervalSince1970":
        .function(
          .add,
          [cast(value, .double), .constant(.double(Date.timeIntervalBetween1970AndReferenceDate))])
      default: nil
      }
    case .uuid: key == "UUIDString" ? cast(value, .string) : nil
    case .uri: key == "absoluteString" ? cast(value, .string) : nil
    default: nil
    }
  }

  /// Whether what `key` makes of values of `type` has their order, and tells as many of them apart.
  static func keepsOrder(_ key: String, of type: AttributeType) -> Bool {
    let wholes: Set<String> = ["integerValue", "longValue", "longLongValue"]
    return switch type {
    case .uri: key == "absoluteString"
    case .uuid: key == "UUIDString"
    case .date: key == "timeIntervalSinceReferenceDate" || key == "timeIntervalSince1970"
    case .integer16: wholes.union(["shortValue", "intValue", "floatValue", "doubleValue"]).contains(key)
    case .integer32: wholes.union(["intValue", "doubleValue"]).contains(key)
    case .integer64: wholes.contains(key)
    case .float: key == "floatValue" || key == "doubleValue"
    case .double: key == "doubleValue"
    case .boolean: key == "boolValue" || key == "intValue" || wholes.contains(key)
    default: false
    }
  }

  private static func text(_ key: String, _ value: FetchExpression) -> FetchExpression? {
    switch key {
    case "length": .function(.length, [value])
    case "lowercaseString": .function(.lowercase, [value])
    case "uppercaseString": .function(.uppercase, [value])
    default: nil
    }
  }

  private static func number(_ key: String, _ value: FetchExpression) -> FetchExpression? {
    switch key {
    case "stringValue": cast(value, .string)
    case "intValue", "integerValue", "longValue", "longLongValue", "shortValue": cast(value, .integer64)
    case "doubleValue": cast(value, .double)
    case "floatValue": cast(value, .float)
    case "boolValue":
      .conditional(
        isEqual(value, .null), .constant(.null),
        .conditional(
          isEqual(value, .integer(0)), .constant(.boolean(false)), .constant(.boolean(true))))
    default: nil
    }
  }

  private static func isEqual(_ value: FetchExpression, _ constant: AttributeValue) -> FetchPredicate {
    .compare(FetchComparison(value, .equal, .constant(constant)))
  }

  private static func cast(_ value: FetchExpression, _ type: AttributeType) -> FetchExpression {
    .function(.cast, [value, .constant(.string("\(type)"))])
  }
}
