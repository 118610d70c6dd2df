import Foundation

/// A model as plain, codable values, entities referring to each other by name.
///
/// The one form through which models are stored, copied and merged.
struct ModelDocument: Codable, Equatable {
  var format = 1
  var versionIdentifiers: [String]
  var entities: [Entity]
  var configurations: [String: [String]]

  struct Entity: Codable, Equatable {
    var name: String
    var superentity: String?
    var isAbstract: Bool
    var className: String?
    var renamingIdentifier: String?
    var versionHashModifier: String?
    var userInfo: UserInfoDocument?
    var uniquenessConstraints: [[String]]
    var attributes: [Attribute]
    var relationships: [Relationship]
    /// Names of attributes and relationships in declaration order.
    var order: [String]
    var indexes: [Index]
    /// The entity's version hash when it was written, checked when it is read.
    var versionHash: Data
  }

  struct Property: Codable, Equatable {
    var name: String
    var isOptional: Bool
    var isTransient: Bool
    var renamingIdentifier: String?
    var versionHashModifier: String?
    var userInfo: UserInfoDocument?
    /// Nil for none, and in models that were written before there were rules.
    var rules: [Rule]?
  }

  struct Attribute: Codable, Equatable {
    var property: Property
    var type: Int16
    var defaultValue: ValueDocument?
    var allowsExternalBinaryDataStorage: Bool
    var preservesValueInHistoryOnDeletion: Bool
    var valueTransformerName: String?
    var attributeValueClassName: String?
    /// Of composite attributes only.
    var elements: [Attribute]?
    /// Of derived attributes only.
    var derivation: String?
  }

  struct Relationship: Codable, Equatable {
    var property: Property
    var destination: String?
    var inverse: String?
    var minCount: Int
    var maxCount: Int
    var isOrdered: Bool
    var deleteRule: UInt
  }

  struct Index: Codable, Equatable {
    var name: String
    var elements: [Element]
    /// Left out of indexes of all rows, as in models of earlier programs.
    var condition: IndexCondition?
  }

  struct Element: Codable, Equatable {
    var property: String
    var isAscending: Bool
    var collation: UInt
  }
}

/// An attribute value as text that reads back exactly: `["double", "0.1"]`.
struct ValueDocument: Codable, Equatable {
  var value: AttributeValue

  init(_ value: AttributeValue) { self.value = value }

  init(from decoder: any Decoder) throws {
    var container = try decoder.unkeyedContainer()
    let tag = try container.decode(String.self)
    let text = try container.decode(String.self)
    guard let value = Self.value(tag, text), container.isAtEnd else {
      throw DecodingError.dataCorrupted(
        .init(codingPath: decoder.codingPath, debugDescription: "not a value of type \(tag.prefix(20))"))
    }
    self.value = value
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.unkeyedContainer()
    let (tag, text) = tagged
    try container.encode(tag)
    try container.encode(text)
  }

  /// The two texts.
  var tagged: (String, String) {
    switch value {
    case .null: ("nil", "")
    case .integer(let value): ("integer", value.description)
    case .boolean(let value): ("boolean", value.description)
    case .double(let value): ("double", value.description)
    case .float(let value): ("float", value.description)
    case .decimal(let value): ("decimal", value.description)
    case .string(let value): ("string", value)
    case .date(let value): ("date", value.timeIntervalSinceReferenceDate.description)
    case .data(let value): ("data", value.base64EncodedString())
    case .uuid(let value): ("uuid", value.uuidString)
    case .url(let value): ("url", value.absoluteString)
    // No attribute has references.
    case .reference: ("reference", "")
    }
  }

  private static func value(_ tag: String, _ text: String) -> AttributeValue? {
    switch tag {
    case "nil": text.isEmpty ? .null : nil
    case "integer": Int64(text).map { .integer($0) }
    case "boolean": Bool(text).map { .boolean($0) }
    case "double": Double(text).map { .double($0) }
    case "float": Float(text).map { .float($0) }
    case "decimal": decimal(text).map { .decimal($0) }
    case "string": .string(text)
    case "date": Double(text).map { .date(Date(timeIntervalSinceReferenceDate: $0)) }
    case "data": Data(base64Encoded: text).map { .data($0) }
    case "uuid": UUID(uuidString: text).map { .uuid($0) }
    case "url": URL(string: text).map { .url($0) }
    default: nil
    }
  }

  private static func decimal(_ text: String) -> Decimal? {
    if text == "NaN" { return .nan }
    guard text.utf8.count <= 400, text.utf8.allSatisfy({ (48...57).contains($0) || $0 == 45 || $0 == 46 })
    else { return nil }
    return Decimal(string: text)
  }
}
