import Foundation

/// `CAST(value, 'type')`: the names of types, and constants written as casts because they have no literal of their own.
enum FormatCast {
  /// The type called `name`: by its own name, by that of Core Data's class or of Swift's type.
  static func type(_ name: String) -> AttributeType? { names[name.lowercased()] }

  private static let names: [String: AttributeType] = {
    var names: [String: AttributeType] = [
      "nsnumber": .double, "nsdecimalnumber": .decimal, "nsdate": .date, "nsstring": .string,
      "nsdata": .binaryData, "nsuuid": .uuid, "nsurl": .uri,
      "int": .integer64, "int16": .integer16, "int32": .integer32, "int64": .integer64, "bool": .boolean,
      "data": .binaryData, "url": .uri,
    ]
    for type in AttributeType.allCases {
      switch type {
      case .undefined, .transformable, .composite: continue
      default: names["\(type)".lowercased()] = type
      }
    }
    return names
  }()

  /// The function call that evaluates a cast.
  static func function(_ expression: FetchExpression, _ type: AttributeType) -> FetchExpression {
    .function(.cast, [expression, .constant(.string("\(type)"))])
  }

  /// A cast of a constant as the constant it is, of anything else as a function call.
  ///
  /// - Parameter error: Makes the error for a text that is no value of the type.
  static func folded(
    _ expression: FetchExpression, _ type: AttributeType, error: (String) -> PredicateSyntaxError
  ) throws -> FetchExpression {
    guard case .constant(let value) = expression else { return function(expression, type) }
    switch value {
    case .string(let text):
      guard let value = read(text, type) else {
        throw error("“\(text.prefix(40))” is no value of type \(type)")
      }
      return .constant(value)
    case .integer, .double, .boolean:
      if type == .date, let seconds = seconds(value) {
        return .constant(.date(Date(timeIntervalSinceReferenceDate: seconds)))
      }
      return value.converted(to: type).map { .constant($0) } ?? function(expression, type)
    default: return function(expression, type)
    }
  }

  private static func seconds(_ value: AttributeValue) -> Double? {
    switch value {
    case .integer(let number): Double(number)
    case .double(let number): number
    default: nil
    }
  }

  /// The value of a type that a text stands for.
  private static func read(_ text: String, _ type: AttributeType) -> AttributeValue? {
    switch type {
    case .string: .string(text)
    case .integer16, .integer32, .integer64:
      Int64(text).flatMap { AttributeValue.integer($0).fits(type) ? .integer($0) : nil }
    case .double: Double(text).map { .double($0) }
    case .float: Float(text).map { .float($0) }
    case .decimal: decimal(text).map { .decimal($0) }
    case .boolean: Bool(text.lowercased()).map { .boolean($0) }
    case .date: Double(text).map { .date(Date(timeIntervalSinceReferenceDate: $0)) }
    case .binaryData: Data(base64Encoded: text).map { .data($0) }
    case .uuid: UUID(uuidString: text).map { .uuid($0) }
    case .uri: URL(string: text).map { .url($0) }
    case .objectID: UInt64(text).map { .reference($0) }
    case .undefined, .transformable, .composite: nil
    }
  }

  private static func decimal(_ text: String) -> Decimal? {
    if text.lowercased() == "nan" { return .nan }
    // Foundation reads as far as it understands: all of it must be a number.
    guard Double(text) != nil, text.utf8.allSatisfy({ "0123456789+-.eE".utf8.contains($0) }) else {
      return nil
    }
    return Decimal(string: text, locale: Locale(identifier: "en_US_POSIX"))
  }

  /// A constant that has no literal, as a cast that is read back as the same value; nil of one that has.
  static func text(_ value: AttributeValue) -> String? {
    switch value {
    case .null, .boolean, .integer, .string: nil
    case .double(let value): value.isFinite ? nil : "CAST('\(value)', 'double')"
    case .float(let value): "CAST('\(value)', 'float')"
    case .decimal(let value): "CAST('\(value.description)', 'decimal')"
    case .date(let value):
      value.timeIntervalSinceReferenceDate.isFinite
        ? "CAST(\(value.timeIntervalSinceReferenceDate), 'date')"
        : "CAST('\(value.timeIntervalSinceReferenceDate)', 'date')"
    case .data(let value): "CAST('\(value.base64EncodedString())', 'binaryData')"
    case .uuid(let value): "CAST('\(value.uuidString)', 'uuid')"
    case .url(let value): "CAST(\(FormatText.quoted(value.absoluteString)), 'uri')"
    case .reference(let value): "CAST('\(value)', 'objectID')"
    }
  }
}
