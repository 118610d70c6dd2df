import StrataCore

/// The keys that Foundation's values answer to, which the Objective-C runtime would find: `number.stringValue`, `text.capitalizedString`, `url.path`.
///
/// What a store evaluates, too, is the same here.
enum FoundationKeys {
  /// The value, which may be nil; nil around it where `base` is no such value, or has no such key.
  static func value(of base: Any, _ key: String) -> Any?? {
    if let identifier = base as? ManagedObjectID { return self.identifier(identifier, key) }
    guard let value = AttributeValue(base, type: .undefined) else { return nil }
    return switch value {
    case .integer, .double, .float, .decimal, .boolean: number(value, key)
    case .string(let text): self.text(text, key)
    case .date(let date): self.date(date, key)
    case .uuid(let uuid): ["UUIDString", "uuidString", "description"].contains(key) ? uuid.uuidString : nil
    case .url(let url): self.url(url, key)
    case .data(let data): self.data(data, key)
    case .null, .reference: nil
    }
  }

  private static func number(_ value: AttributeValue, _ key: String) -> Any?? {
    switch key {
    case "stringValue", "description": .some(cast(value, .string)?.anyValue)
    case "intValue", "integerValue", "longValue", "longLongValue", "shortValue":
      if case .integer(let whole)? = cast(value, .integer64) { NSNumber(value: whole) } else { .some(nil) }
    case "doubleValue":
      if case .double(let number)? = cast(value, .double) { NSNumber(value: number) } else { .some(nil) }
    case "floatValue":
      if case .float(let number)? = cast(value, .float) { NSNumber(value: number) } else { .some(nil) }
    case "boolValue": NSNumber(value: !ComparedValues.isEqual(value, .integer(0), []))
    default: nil
    }
  }

  private static func cast(_ value: AttributeValue, _ type: AttributeType) -> AttributeValue? {
    ComparedValues.value(.cast, [value, .string("\(type)")])
  }

  private static func text(_ text: String, _ key: String) -> Any?? {
    switch key {
    case "length": text.count
    case "lowercaseString", "localizedLowercaseString": text.lowercased()
    case "uppercaseString", "localizedUppercaseString": text.uppercased()
    case "capitalizedString", "localizedCapitalizedString": text.capitalized
    case "description": text
    case "intValue", "integerValue", "longLongValue": NSNumber(value: NSString(string: text).integerValue)
    case "doubleValue": NSNumber(value: NSString(string: text).doubleValue)
    case "floatValue": NSNumber(value: NSString(string: text).floatValue)
    case "boolValue": NSNumber(value: NSString(string: text).boolValue)
    case "lastPathComponent": NSString(string: text).lastPathComponent
    case "pathExtension": NSString(string: text).pathExtension
    default: nil
    }
  }

  private static func date(_ date: Date, _ key: String) -> Any?? {
    switch key {
    case "timeIntervalSinceReferenceDate": NSNumber(value: date.timeIntervalSinceReferenceDate)
    case "timeIntervalSince1970": NSNumber(value: date.timeIntervalSince1970)
    case "timeIntervalSinceNow": NSNumber(value: date.timeIntervalSinceNow)
    // Foundation's own stops the process for some dates.
    case "description": AttributeValue.date(date).description
    default: nil
    }
  }

  private static func url(_ url: URL, _ key: String) -> Any?? {
    switch key {
    case "absoluteString", "description": url.absoluteString
    case "path": url.path
    case "lastPathComponent": url.lastPathComponent
    case "pathExtension": url.pathExtension
    case "host": .some(url.host)
    case "scheme": .some(url.scheme)
    case "query": .some(url.query)
    case "fragment": .some(url.fragment)
    case "isFileURL", "fileURL": NSNumber(value: url.isFileURL)
    default: nil
    }
  }

  private static func data(_ data: Data, _ key: String) -> Any?? {
    switch key {
    case "length": NSNumber(value: data.count)
    case "description": "\(data)"
    default: nil
    }
  }

  private static func identifier(_ identifier: ManagedObjectID, _ key: String) -> Any?? {
    switch key {
    case "URIRepresentation", "uriRepresentation": identifier.uriRepresentation()
    case "isTemporaryID", "temporaryID": NSNumber(value: identifier.isTemporaryID)
    case "description": "\(identifier)"
    default: nil
    }
  }
}
