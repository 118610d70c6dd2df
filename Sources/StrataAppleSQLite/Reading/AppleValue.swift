import Foundation
import StrataCore

/// Values as Apple's tables have them.
enum AppleValue {
  /// What a stored value is for an attribute of a type; nil when it is none of that type.
  static func attribute(_ value: SQLiteValue, _ type: AttributeType) -> AttributeValue? {
    if value == .null { return .null }
    switch type {
    case .integer16, .integer32, .integer64:
      guard let number = integer(value) else { return nil }
      let result = AttributeValue.integer(number)
      return result.fits(type) ? result : nil
    case .boolean: return integer(value).map { .boolean($0 != 0) }
    case .double: return real(value).map { .double($0) }
    // It was rounded before it was stored.
    case .float: return real(value).map { .float(Float($0)) }
    case .decimal:
      switch value {
      case .integer(let number): return .decimal(Decimal(number))
      case .real(let number): return decimal(number).map { .decimal($0) }
      case .text(let text?): return decimal(text).map { .decimal($0) }
      default: return nil
      }
    case .date:
      guard let seconds = real(value), seconds.isFinite else { return nil }
      return .date(Date(timeIntervalSinceReferenceDate: seconds))
    case .string:
      if case .text(let text?) = value { return .string(text) }
      return nil
    case .uri:
      guard case .text(let text?) = value, let url = URL(string: text), url.absoluteString == text else {
        return nil
      }
      return .url(url)
    case .uuid:
      switch value {
      case .blob(let bytes): return uuid(bytes).map { .uuid($0) }
      case .text(let text?): return UUID(uuidString: text).map { .uuid($0) }
      default: return nil
      }
    case .binaryData, .transformable:
      if case .blob(let data) = value { return .data(data) }
      return nil
    case .undefined, .objectID, .composite: return nil
    }
  }

  private static func integer(_ value: SQLiteValue) -> Int64? {
    switch value {
    case .integer(let number): number
    case .real(let number): Int64(exactly: number)
    default: nil
    }
  }

  private static func real(_ value: SQLiteValue) -> Double? {
    switch value {
    case .integer(let number): Double(number)
    case .real(let number): number
    default: nil
    }
  }

  /// The shortest decimal that reads as the same double; nil for infinities.
  static func decimal(_ number: Double) -> Decimal? {
    guard number.isFinite else { return nil }
    return decimal("\(number)")
  }

  /// A number as a text that is nothing else.
  static func decimal(_ text: String) -> Decimal? {
    let allowed = Set("0123456789+-.eE".utf8)
    guard !text.isEmpty, text.utf8.count <= 200, text.utf8.allSatisfy({ allowed.contains($0) }),
      text.utf8.contains(where: { (48...57).contains($0) }), isNumber(text)
    else { return nil }
    guard let value = Decimal(string: text), !value.isNaN else { return nil }
    return value
  }

  /// Whether all of a text is a number: Foundation reads as far as it gets.
  private static func isNumber(_ text: String) -> Bool {
    var rest = text.utf8[...]
    func digits() -> Int {
      let count = rest.prefix { (48...57).contains($0) }.count
      rest = rest.dropFirst(count)
      return count
    }
    func sign() { if rest.first == 43 || rest.first == 45 { rest = rest.dropFirst() } }
    sign()
    var count = digits()
    if rest.first == 46 {
      rest = rest.dropFirst()
      count += digits()
    }
    guard count > 0 else { return false }
    if rest.first == 101 || rest.first == 69 {
      rest = rest.dropFirst()
      sign()
      if digits() == 0 { return false }
    }
    return rest.isEmpty
  }

  /// Sixteen bytes as they lie in memory.
  static func uuid(_ bytes: Data) -> UUID? {
    guard bytes.count == 16 else { return nil }
    var value = uuid_t(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    withUnsafeMutableBytes(of: &value) { _ = bytes.copyBytes(to: $0) }
    return UUID(uuid: value)
  }

  /// The form in which a value is stored. NaN has none: SQLite makes NULL of it.
  static func stored(_ value: AttributeValue) -> SQLiteValue {
    switch value {
    case .null, .reference: .null
    case .integer(let value): .integer(value)
    case .boolean(let value): .integer(value ? 1 : 0)
    case .double(let value): value.isNaN ? .null : .real(value)
    case .float(let value): value.isNaN ? .null : .real(Double(value))
    case .decimal(let value): value.isNaN ? .null : .text("\(value)")
    case .string(let value): .text(value)
    case .date(let value): .real(value.timeIntervalSinceReferenceDate)
    case .data(let value): .blob(value)
    case .uuid(let value): .blob(withUnsafeBytes(of: value.uuid) { Data($0) })
    case .url(let value): .text(value.absoluteString)
    }
  }

  /// The number that the declared type of a column gives a value; whether two stored forms are the same.
  static func declaredType(_ type: AttributeType) -> String {
    switch type {
    case .integer16, .integer32, .integer64, .boolean: "INTEGER"
    case .double, .float: "FLOAT"
    case .decimal: "DECIMAL"
    case .date: "TIMESTAMP"
    case .string, .uri: "VARCHAR"
    case .uuid, .binaryData, .transformable, .undefined, .objectID, .composite: "BLOB"
    }
  }
}

/// Large values in files beside a store.
struct ExternalValues {
  /// `.Name_SUPPORT/_EXTERNAL_DATA` beside `Name.sqlite`.
  let folder: String
  /// What such a value begins with in the column.
  static let inline: UInt8 = 1
  static let file: UInt8 = 2
  /// The largest value that is read; SQLite's own bound.
  static let largest = 1_000_000_000
  /// From how many bytes on a value is written to a file.
  static let threshold = 100_000

  init(store path: String) {
    folder = Self.support(store: path) + "/_EXTERNAL_DATA"
  }

  static func support(store path: String) -> String {
    let url = URL(fileURLWithPath: path)
    let name = url.deletingPathExtension().lastPathComponent
    let place = url.deletingLastPathComponent().path
    return (place == "/" ? "" : place) + "/.\(name)_SUPPORT"
  }

  enum Fault: Error {
    case noMark
    case missing(String)
  }

  /// The name in a reference to a file; nil for what is none.
  static func name(_ column: Data) -> String? {
    guard column.first == file else { return nil }
    var rest = column.dropFirst()
    if rest.last == 0 { rest = rest.dropLast() }
    guard rest.count == 36, let text = String(validating: rest, as: UTF8.self), UUID(uuidString: text) != nil
    else { return nil }
    return text
  }

  /// The value that a column stands for.
  /// - Throws: `Fault`.
  func value(_ column: Data) throws -> Data {
    if column.first == Self.inline { return Data(column.dropFirst()) }
    guard let name = Self.name(column) else { throw Fault.noMark }
    let path = folder + "/" + name
    var status = stat()
    guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size <= Self.largest,
      let data = try? Data(contentsOf: URL(fileURLWithPath: path))
    else { throw Fault.missing(name) }
    return data
  }
}
