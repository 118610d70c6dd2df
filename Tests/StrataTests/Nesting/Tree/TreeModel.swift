import Foundation
import Strata

/// The model of the tests that let trees of contexts grow: leaves with a number, some values to edit, and one that may be
/// too large for its row.
enum TreeModel {
  /// In slot order.
  static let names = ["number", "a", "b", "name", "blob"]
  /// The slots that are edited.
  static let editable = 1..<5
  /// How long a text is that lies outside its row.
  static let large = 3_000

  static func make() -> ManagedObjectModel {
    let bud = EntityDescription("Bud")
    let leaf = EntityDescription(
      "Leaf",
      properties: [
        AttributeDescription("number", .integer64, isOptional: false),
        AttributeDescription("a", .integer64, isOptional: false, defaultValue: 0),
        AttributeDescription("b", .integer64),
        AttributeDescription("name", .string),
        AttributeDescription("blob", .string),
      ],
      indexes: [
        FetchIndexDescription(name: "byNumber", attributes: ["number"]),
        FetchIndexDescription(name: "byA", attributes: ["a"]),
      ], subentities: [bud])
    return ManagedObjectModel(entities: [leaf, bud])
  }
}

/// A value of a leaf.
enum TreeValue: Hashable, CustomStringConvertible {
  case none
  case number(Int64)
  case text(String)

  /// What key-value coding says.
  init(_ any: Any?) {
    switch any {
    case let number as Int64: self = .number(number)
    case let text as String: self = .text(text)
    default: self = .none
    }
  }

  var any: Any? {
    switch self {
    case .none: nil
    case .number(let number): number
    case .text(let text): text
    }
  }

  var isLarge: Bool {
    if case .text(let text) = self { return text.utf8.count >= TreeModel.large }
    return false
  }

  var description: String {
    switch self {
    case .none: "nil"
    case .number(let number): "\(number)"
    case .text(let text): text.utf8.count > 30 ? "“\(text.prefix(12))…”" : "“\(text)”"
    }
  }
}
