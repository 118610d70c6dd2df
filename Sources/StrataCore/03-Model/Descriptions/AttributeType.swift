/// The type of an attribute's values, with Core Data's numbers (rule 333).
public enum AttributeType: Int16, Sendable, Hashable, CaseIterable {
  /// No type. Legal for transient attributes only, which then hold any value (rule 334).
  case undefined = 0
  case integer16 = 100
  case integer32 = 200
  case integer64 = 300
  case decimal = 400
  case double = 500
  case float = 600
  case string = 700
  case boolean = 800
  /// Seconds since 2001, sub-second precision kept (rule 347).
  case date = 900
  case binaryData = 1000
  case uuid = 1100
  case uri = 1200
  case transformable = 1800
  case objectID = 2000
  case composite = 2100

  /// Whether values of this type are whole numbers.
  var isInteger: Bool {
    switch self {
    case .integer16, .integer32, .integer64: true
    default: false
    }
  }

  /// Whether values of this type are numbers: they have bounds and can be added up.
  var isNumber: Bool { isInteger || self == .decimal || self == .double || self == .float }

  /// Whether classes may declare an attribute of this type as a type without nil that is no class.
  var isScalar: Bool {
    switch self {
    case .integer16, .integer32, .integer64, .double, .float, .boolean, .date: true
    default: false
    }
  }
}

extension AttributeType: CustomStringConvertible {
  /// The name used in messages: `integer64`, `string` and so on.
  public var description: String {
    switch self {
    case .undefined: "undefined"
    case .integer16: "integer16"
    case .integer32: "integer32"
    case .integer64: "integer64"
    case .decimal: "decimal"
    case .double: "double"
    case .float: "float"
    case .string: "string"
    case .boolean: "boolean"
    case .date: "date"
    case .binaryData: "binaryData"
    case .uuid: "uuid"
    case .uri: "uri"
    case .transformable: "transformable"
    case .objectID: "objectID"
    case .composite: "composite"
    }
  }
}
