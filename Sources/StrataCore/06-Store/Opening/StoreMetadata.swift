import Foundation

/// A store's metadata: property-list values under string keys, as a Sendable value.
public struct StoreMetadata: Sendable, Hashable {
  /// The values.
  public var values: [String: MetadataValue]

  /// Metadata with the given values.
  public init(values: [String: MetadataValue] = [:]) {
    self.values = values
  }

  /// Metadata from a dictionary of strings, numbers, booleans, dates, data, arrays, sets and dictionaries.
  /// Nil when a value is none of these.
  public init?(_ dictionary: [String: Any]) {
    guard case .dictionary(let values)? = MetadataValue(dictionary) else { return nil }
    self.values = values
  }

  /// The values as Foundation types.
  public var dictionary: [String: Any] { values.mapValues(\.anyValue) }

  /// The value for a key.
  public subscript(key: String) -> MetadataValue? {
    get { values[key] }
    set { values[key] = newValue }
  }
}

extension StoreMetadata {
  /// The key of the store's type.
  public static let typeKey = "NSStoreType"
  /// The key of the store's UUID.
  public static let identifierKey = "NSStoreUUID"
  /// The key of the entities' version hashes: entity name → 32 bytes.
  public static let versionHashesKey = "NSStoreModelVersionHashes"
  /// The key of the model's version identifiers: an array of strings.
  public static let versionIdentifiersKey = "NSStoreModelVersionIdentifiers"

  /// The UUID that is given by hand; nil without one.
  /// - Throws: ``CoreDataError`` 134070 for what is no UUID.
  package func givenIdentifier() throws -> UUID? {
    guard let value = values[Self.identifierKey] else { return nil }
    guard case .string(let text) = value, let identifier = UUID(uuidString: text) else {
      throw CoreDataError(
        .persistentStoreOperation, "The value for “\(Self.identifierKey)” is not the text of a UUID.")
    }
    return identifier
  }

  static let standardKeys = [typeKey, identifierKey, versionHashesKey, versionIdentifiersKey]

  /// The version hashes by entity name; empty when there are none.
  public var versionHashes: [String: Data] {
    guard case .dictionary(let values)? = values[Self.versionHashesKey] else { return [:] }
    return values.compactMapValues { if case .data(let data) = $0 { data } else { nil } }
  }
}

/// A value in a store's metadata.
public indirect enum MetadataValue: Sendable, Hashable, Codable {
  case string(String)
  case integer(Int64)
  case double(Double)
  case boolean(Bool)
  case date(Date)
  case data(Data)
  case array([MetadataValue])
  case dictionary([String: MetadataValue])

  /// A value from a Foundation type; nil for what is no property-list value.
  public init?(_ any: Any) {
    switch FoundationCollections.castable(any) {
    case let value as MetadataValue: self = value
    // Casts would make a Boolean of the number 1.
    case let number as NSNumber where type(of: any) is AnyClass:
      switch AttributeValue(number, type: .undefined) {
      case .boolean(let value): self = .boolean(value)
      case .integer(let value): self = .integer(value)
      case .double(let value) where value.isFinite: self = .double(value)
      case .float(let value) where value.isFinite: self = .double(Double(value))
      // The store has no form for decimals, nor for integers of more than 64 bits.
      default: return nil
      }
    case let value as String: self = .string(value)
    case let value as Bool: self = .boolean(value)
    case let value as Date:
      // Neither these nor numbers that are none have a form in the store.
      guard value.timeIntervalSinceReferenceDate.isFinite else { return nil }
      self = .date(value)
    case let value as Data: self = .data(value)
    case let value as UUID: self = .string(value.uuidString)
    case let value as any BinaryInteger:
      guard let integer = Int64(exactly: value) else { return nil }
      self = .integer(integer)
    case let value as any BinaryFloatingPoint:
      let double = Double(value)
      guard double.isFinite else { return nil }
      self = .double(double)
    case let value as [Any]:
      let parts = value.compactMap { MetadataValue($0) }
      guard parts.count == value.count else { return nil }
      self = .array(parts)
    case let value as Set<String>: self = .array(value.sorted().map { .string($0) })
    case let value as [String: Any]:
      let parts = value.compactMapValues { MetadataValue($0) }
      guard parts.count == value.count else { return nil }
      self = .dictionary(parts)
    default: return nil
    }
  }

  /// Whether arrays and dictionaries lie at most so deep inside each other.
  func isNested(atMost levels: Int) -> Bool {
    switch self {
    case .array(let values): levels > 0 && values.allSatisfy { $0.isNested(atMost: levels - 1) }
    case .dictionary(let values): levels > 0 && values.values.allSatisfy { $0.isNested(atMost: levels - 1) }
    default: true
    }
  }

  /// The value as a Foundation type.
  public var anyValue: Any {
    switch self {
    case .string(let value): value
    case .integer(let value): value
    case .double(let value): value
    case .boolean(let value): value
    case .date(let value): value
    case .data(let value): value
    case .array(let values): values.map(\.anyValue)
    case .dictionary(let values): values.mapValues(\.anyValue)
    }
  }
}
