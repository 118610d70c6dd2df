import CoreData

/// The value of an attribute, without the classes it comes in.
enum PlainValue: Hashable {
  case none
  case integer(Int64)
  case double(Double)
  case float(Float)
  case decimal(Decimal)
  case text(String)
  case truth(Bool)
  /// Seconds since 2001.
  case date(Double)
  case data(Data)
  case uuid(UUID)
  case url(String)

  /// What a program hands to Core Data.
  var object: Any? {
    switch self {
    case .none: nil
    case .integer(let value): NSNumber(value: value)
    case .double(let value): NSNumber(value: value)
    case .float(let value): NSNumber(value: value)
    case .decimal(let value): NSDecimalNumber(decimal: value)
    case .text(let value): value
    case .truth(let value): NSNumber(value: value)
    case .date(let value): Date(timeIntervalSinceReferenceDate: value)
    case .data(let value): value
    case .uuid(let value): value
    case .url(let value): URL(string: value)
    }
  }

  /// What Core Data answered for an attribute of `type`; nil when that is of another class.
  init?(_ answer: Any?, _ type: NSAttributeType) {
    guard let answer, !(answer is NSNull) else {
      self = .none
      return
    }
    let value: PlainValue? =
      switch type {
      case .integer16AttributeType, .integer32AttributeType, .integer64AttributeType:
        (answer as? Int64).map { .integer($0) }
      case .doubleAttributeType: (answer as? Double).map { .double($0) }
      case .floatAttributeType: (answer as? Float).map { .float($0) }
      case .decimalAttributeType:
        ((answer as? NSDecimalNumber)?.decimalValue ?? answer as? Decimal).map { .decimal($0) }
      case .stringAttributeType: (answer as? String).map { .text($0) }
      case .booleanAttributeType: (answer as? Bool).map { .truth($0) }
      case .dateAttributeType: (answer as? Date).map { .date($0.timeIntervalSinceReferenceDate) }
      case .binaryDataAttributeType: (answer as? Data).map { .data($0) }
      case .UUIDAttributeType: (answer as? UUID).map { .uuid($0) }
      case .URIAttributeType: (answer as? URL).map { .url($0.absoluteString) }
      default: nil
      }
    guard let value else { return nil }
    self = value
  }

  /// Whether this comes before `other` in an ascending order: nil first, texts by their bytes. Nil where there is no order.
  func precedes(_ other: PlainValue) -> Bool? {
    switch (self, other) {
    case (.none, .none): false
    case (.none, _): true
    case (_, .none): false
    case (.integer(let a), .integer(let b)): a < b
    case (.double(let a), .double(let b)): a < b
    case (.float(let a), .float(let b)): a < b
    case (.decimal(let a), .decimal(let b)): a < b
    case (.text(let a), .text(let b)): a.utf8.lexicographicallyPrecedes(b.utf8)
    case (.truth(let a), .truth(let b)): !a && b
    case (.date(let a), .date(let b)): a < b
    default: nil
    }
  }
}

extension PlainValue: CustomStringConvertible {
  var description: String {
    switch self {
    case .none: "nil"
    case .integer(let value): "\(value)"
    case .double(let value): "\(value)"
    case .float(let value): "\(value)f"
    case .decimal(let value): "\(value)d"
    case .text(let value): value.count > 40 ? "“\(value.prefix(12))…” (\(value.count))" : "“\(value)”"
    case .truth(let value): "\(value)"
    case .date(let value): "date \(value)"
    case .data(let value):
      "\(value.count) bytes" + (value.isEmpty ? "" : " from \(value[value.startIndex])")
    case .uuid(let value): "\(value)"
    case .url(let value): value
    }
  }
}
