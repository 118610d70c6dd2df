import Foundation

// What single XML attributes say.
extension XcodeModelReader {
  /// The name of an element; reports when there is none. `kind` begins the sentence.
  mutating func name(of element: XcodeElement, _ kind: String) -> String? {
    guard let name = text("name", of: element) else {
      report(element, "\(kind) has no name.")
      return nil
    }
    if name.utf8.count > 255 {
      report(element, "\(kind) has a name of more than 255 bytes.")
      return nil
    }
    return name
  }

  /// An XML attribute; nil when it is missing or empty.
  func text(_ key: String, of element: XcodeElement) -> String? {
    guard let text = element.attributes[key], !text.isEmpty else { return nil }
    return text
  }

  /// YES or NO; nil, with a sentence for anything else, when the XML attribute says neither.
  mutating func flag(_ keys: String..., of element: XcodeElement, _ place: String) -> Bool? {
    for key in keys {
      switch element.attributes[key] {
      case nil: continue
      case "YES": return true
      case "NO": return false
      case let other?:
        report(element, "\(place) has \(key)=\(quoted(other)), which is neither YES nor NO.")
        return nil
      }
    }
    return nil
  }

  /// A whole number from 0 to 2,147,483,647; nil, with a sentence for anything else, when it is missing.
  mutating func count(_ key: String, of element: XcodeElement, _ place: String) -> Int? {
    guard let text = element.attributes[key] else { return nil }
    guard let count = Int32(text), count >= 0 else {
      report(element, "\(place) has \(key)=\(quoted(text)), which is no count.")
      return nil
    }
    return Int(count)
  }

  /// The entries of a `userInfo`; nil when there are none.
  mutating func userInfo(of element: XcodeElement, _ place: String) -> [AnyHashable: Any]? {
    var entries: [AnyHashable: Any] = [:]
    for entry in element.children(named: "userInfo").flatMap({ $0.children(named: "entry") }) {
      guard let key = entry.attributes["key"] else {
        report(entry, "\(place) has an entry without a key in its user info.")
        continue
      }
      if entries.updateValue(entry.attributes["value"] ?? "", forKey: key) != nil {
        report(entry, "\(place) has two entries \(quoted(key)) in its user info.")
      }
    }
    return entries.isEmpty ? nil : entries
  }

  /// A text of the file as messages show it.
  func quoted(_ text: String) -> String { "\"\(text.prefix(100))\(text.count > 100 ? "…" : "")\"" }
}

extension AttributeType {
  /// The type that Xcode writes as these words.
  init?(xcodeName: String) {
    switch xcodeName {
    case "Undefined": self = .undefined
    case "Integer 16": self = .integer16
    case "Integer 32": self = .integer32
    case "Integer 64": self = .integer64
    case "Decimal": self = .decimal
    case "Double": self = .double
    case "Float": self = .float
    case "String": self = .string
    case "Boolean": self = .boolean
    case "Date": self = .date
    case "Binary", "Binary Data": self = .binaryData
    case "UUID": self = .uuid
    case "URI": self = .uri
    case "Transformable": self = .transformable
    case "ObjectID", "Object ID": self = .objectID
    case "Composite": self = .composite
    default: return nil
    }
  }
}

extension AttributeValue {
  /// The value of an attribute of `type` that Xcode writes as `text`; nil when it is none. Dates are written as seconds since 2001.
  init?(xcodeText text: String, type: AttributeType) {
    switch type {
    case .string: self = .string(text)
    case .boolean:
      switch text {
      case "YES", "true", "1": self = .boolean(true)
      case "NO", "false", "0": self = .boolean(false)
      default: return nil
      }
    case .uuid:
      guard let uuid = UUID(uuidString: text) else { return nil }
      self = .uuid(uuid)
    case .uri:
      guard !text.isEmpty, text.utf8.count <= 10_000, let url = URL(string: text) else { return nil }
      self = .url(url)
    case .integer16, .integer32, .integer64, .decimal, .double, .float, .date:
      guard Self.isNumber(text) else { return nil }
      self.init(numberText: text, type: type)
    default: return nil
    }
  }

  private init?(numberText text: String, type: AttributeType) {
    switch type {
    case .double, .date, .float:
      guard let value = Double(text), value.isFinite else { return nil }
      if type == .float, !Float(value).isFinite { return nil }
      self =
        type == .date
        ? .date(Date(timeIntervalSinceReferenceDate: value))
        : type == .double ? .double(value) : .float(Float(text) ?? Float(value))
    case .decimal:
      guard let value = Decimal(string: text), !value.isNaN else { return nil }
      self = .decimal(value)
    default:
      let whole = Int64(text).map { AttributeValue.integer($0) } ?? Decimal(string: text).map { .decimal($0) }
      guard let value = whole?.converted(to: type) else { return nil }
      self = value
    }
  }

  /// Whether the text is a decimal number and nothing else: a sign, digits with a point, an exponent.
  private static func isNumber(_ text: String) -> Bool {
    guard text.utf8.count <= 400 else { return false }
    var rest = Array(text.utf8)[...]
    func isSign(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "-") || byte == UInt8(ascii: "+") }
    func digits(_ rest: inout ArraySlice<UInt8>) -> Int {
      let count = rest.prefix { (48...57).contains($0) }.count
      rest = rest.dropFirst(count)
      return count
    }
    if let first = rest.first, isSign(first) { rest = rest.dropFirst() }
    var count = digits(&rest)
    if rest.first == UInt8(ascii: ".") {
      rest = rest.dropFirst()
      count += digits(&rest)
    }
    guard count > 0 else { return false }
    if let first = rest.first, first == UInt8(ascii: "e") || first == UInt8(ascii: "E") {
      rest = rest.dropFirst()
      if let first = rest.first, isSign(first) { rest = rest.dropFirst() }
      let exponent = digits(&rest)
      guard exponent > 0, exponent <= 4 else { return false }
    }
    return rest.isEmpty
  }
}
