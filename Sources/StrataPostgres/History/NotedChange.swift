import Foundation
import StrataCore

/// Rows that the same has happened to in one commit, as the column `changes` of `strata_commit` has it: a list of these, in JSON.
///
/// ```
///   [{"entity": "Book", "kind": "inserted", "keys": [1, 100, 205, 205]},            the rows 1 to 100, and 205
///    {"entity": "Book", "kind": "updated", "properties": ["title"], "keys": [7, 7]},
///    {"entity": "Author", "kind": "related", "properties": ["books"], "keys": [3, 3]},
///    {"entity": "Book", "kind": "deleted", "keys": [9, 9], "values": {"9": {"code": "X 17"}}}]
/// ```
///
/// Keys are the first and the last of each run. `related` rows have other members, or the same in another order, and are themselves as they were. `values` are
/// those that the model preserves of deleted rows, as ``NotedValue`` writes them.
struct NotedChange: Codable, Equatable {
  enum Kind: String, Codable, CaseIterable {
    case inserted, updated, related, deleted
  }

  let entity: String
  let kind: Kind
  var properties: [String]?
  /// The first and the last key of each run, ascending.
  var keys: [UInt64]
  /// By key and attribute.
  var values: [String: [String: String]]?

  init(
    _ kind: Kind, _ entity: String, keys sorted: [UInt64], properties: [String]? = nil,
    values: [String: [String: String]]? = nil
  ) {
    self.kind = kind
    self.entity = entity
    self.properties = properties
    self.values = values?.isEmpty == true ? nil : values
    keys = Self.runs(sorted)
  }

  /// Ascending keys, each once, as runs.
  private static func runs(_ keys: [UInt64]) -> [UInt64] {
    var runs: [UInt64] = []
    for key in keys {
      if let last = runs.last, last + 1 == key {
        runs[runs.count - 1] = key
      } else {
        runs.append(key)
        runs.append(key)
      }
    }
    return runs
  }

  /// The runs.
  /// - Throws: ``StorageError`` `.damaged` when they do not ascend, or name no keys.
  func ranges() throws -> [ClosedRange<UInt64>] {
    guard keys.count % 2 == 0 else { throw SQLResult.damaged }
    var ranges: [ClosedRange<UInt64>] = []
    var last: UInt64 = 0
    for place in stride(from: 0, to: keys.count, by: 2) {
      let (first, end) = (keys[place], keys[place + 1])
      guard first > last, first <= end, end < StoreReference.keyLimit else { throw SQLResult.damaged }
      ranges.append(first...end)
      last = end
    }
    return ranges
  }

  // MARK: JSON

  /// The list as it is stored.
  static func text(_ changes: [NotedChange]) -> String {
    // By hand: it is made for every save.
    var text = "["
    for (place, change) in changes.enumerated() {
      text += place == 0 ? "{\"entity\":" : ",{\"entity\":"
      append(change.entity, to: &text)
      text += ",\"kind\":\"\(change.kind.rawValue)\""
      if let properties = change.properties {
        text += ",\"properties\":["
        for (place, property) in properties.enumerated() {
          if place > 0 { text += "," }
          append(property, to: &text)
        }
        text += "]"
      }
      text += ",\"keys\":["
      for (place, key) in change.keys.enumerated() { text += place == 0 ? "\(key)" : ",\(key)" }
      text += "]"
      if let values = change.values { append(values, to: &text) }
      text += "}"
    }
    return text + "]"
  }

  private static func append(_ values: [String: [String: String]], to text: inout String) {
    text += ",\"values\":{"
    for (place, row) in values.sorted(by: { $0.key < $1.key }).enumerated() {
      text += place == 0 ? "\"\(row.key)\":{" : ",\"\(row.key)\":{"
      for (place, value) in row.value.sorted(by: { $0.key < $1.key }).enumerated() {
        if place > 0 { text += "," }
        append(value.key, to: &text)
        text += ":"
        append(value.value, to: &text)
      }
      text += "}"
    }
    text += "}"
  }

  private static func append(_ string: String, to text: inout String) {
    text += "\""
    for scalar in string.unicodeScalars {
      switch scalar {
      case "\"": text += "\\\""
      case "\\": text += "\\\\"
      case "\u{0}"..."\u{1F}":
        let digits = String(scalar.value, radix: 16)
        text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: text.unicodeScalars.append(scalar)
      }
    }
    text += "\""
  }

  /// The list in the store's text.
  /// - Throws: ``StorageError`` `.damaged`.
  static func list(_ text: String) throws -> [NotedChange] {
    guard let list = try? JSONDecoder().decode([NotedChange].self, from: Data(text.utf8)) else {
      throw SQLResult.damaged
    }
    return list
  }
}

/// Values as text, exactly: what stays of deleted rows.
enum NotedValue {
  /// Nil for nil and for references.
  static func text(_ value: AttributeValue) -> String? {
    switch value {
    case .null, .reference: nil
    case .integer(let value): String(value)
    case .boolean(let value): value ? "true" : "false"
    case .double(let value): value.description
    case .float(let value): value.description
    case .decimal(let value):
      NSDecimalNumber(decimal: value).description(withLocale: Locale(identifier: "en_US_POSIX"))
    case .string(let value): value
    case .date(let value): value.timeIntervalSinceReferenceDate.description
    case .data(let value): value.base64EncodedString()
    case .uuid(let value): value.uuidString
    case .url(let value): value.absoluteString
    }
  }

  /// Nil for a text that is none of that kind of slot.
  static func value(_ text: String, _ kind: SlotKind) -> AttributeValue? {
    switch kind {
    case .int16, .int32, .int64: Int64(text).map { .integer($0) }
    case .boolean: text == "true" ? .boolean(true) : text == "false" ? .boolean(false) : nil
    case .float: Float(text).map { .float($0) }
    case .double: Double(text).map { .double($0) }
    case .date: Double(text).map { .date(Date(timeIntervalSinceReferenceDate: $0)) }
    case .uuid: UUID(uuidString: text).map { .uuid($0) }
    case .string: .string(text)
    case .data: Data(base64Encoded: text).map { .data($0) }
    case .url: URL(string: text).map { .url($0) }
    case .decimal:
      text == "NaN"
        ? .decimal(.nan)
        : Decimal(string: text, locale: Locale(identifier: "en_US_POSIX")).map { .decimal($0) }
    case .reference, .transient: nil
    }
  }
}
