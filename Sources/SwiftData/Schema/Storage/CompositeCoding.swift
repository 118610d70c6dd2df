import StrataCore

/// Takes a struct apart into the elements of its shape.
final class CompositeEncoder: Encoder {
  let shape: CompositeShape
  private var elements: [String: Any] = [:]
  private var failure: (any Error)?
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  init(_ shape: CompositeShape) { self.shape = shape }

  /// - Throws: `EncodingError` when anything but values by known keys was encoded.
  func result() throws -> [String: Any] {
    if let failure { throw failure }
    return elements
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(Container<Key>(encoder: self))
  }
  func unkeyedContainer() -> any UnkeyedEncodingContainer { refuse().unkeyedContainer() }
  func singleValueContainer() -> any SingleValueEncodingContainer { refuse().singleValueContainer() }

  /// Where what has no place goes to; the whole then fails.
  private func refuse() -> any Encoder {
    failure = failure ?? Self.fault("something that is no value of a key", self)
    return LostEncoder()
  }

  private static func fault(_ what: String, _ value: Any) -> EncodingError {
    .invalidValue(
      value,
      .init(
        codingPath: [], debugDescription: "A composite value encodes \(what), which its type did not decode.")
    )
  }

  private func set(_ value: Any, _ key: any CodingKey) throws {
    guard let field = shape.field(named: key.stringValue) else {
      throw Self.fault("the key “\(key.stringValue)”", value)
    }
    guard let value = AttributeStorage.flattened(value) else { return }
    if case .composite = field.storage.form {
      elements[field.name] = try field.storage.elements(value)
    } else {
      elements[field.name] = try field.storage.stored(value).anyValue
    }
  }

  private struct Container<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: CompositeEncoder
    var codingPath: [any CodingKey] { [] }
    func encodeNil(forKey key: Key) {}
    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws { try encoder.set(value, key) }
    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key)
      -> KeyedEncodingContainer<Nested>
    {
      encoder.refuse().container(keyedBy: type)
    }
    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
      encoder.refuse().unkeyedContainer()
    }
    func superEncoder() -> any Encoder { encoder.refuse() }
    func superEncoder(forKey key: Key) -> any Encoder { encoder.refuse() }
    func encode(_ value: Bool, forKey key: Key) throws { try encoder.set(value, key) }
    func encode(_ value: String, forKey key: Key) throws { try encoder.set(value, key) }
    func encode(_ value: Double, forKey key: Key) throws { try encoder.set(value, key) }
    func encode(_ value: Float, forKey key: Key) throws { try encoder.set(value, key) }
    func encode(_ value: Int, forKey key: Key) throws { try encoder.set(value, key) }
    func encode(_ value: Int8, forKey key: Key) throws { try encoder.set(value, key) }
    func encode(_ value: Int16, forKey key: Key) throws { try encoder.set(value, key) }
    func encode(_ value: Int32, forKey key: Key) throws { try encoder.set(value, key) }
    func encode(_ value: Int64, forKey key: Key) throws { try encoder.set(value, key) }
    func encode(_ value: UInt, forKey key: Key) throws { try encoder.set(value, key) }
    func encode(_ value: UInt8, forKey key: Key) throws { try encoder.set(value, key) }
    func encode(_ value: UInt16, forKey key: Key) throws { try encoder.set(value, key) }
    func encode(_ value: UInt32, forKey key: Key) throws { try encoder.set(value, key) }
    func encode(_ value: UInt64, forKey key: Key) throws { try encoder.set(value, key) }
  }
}

/// Takes everything and keeps nothing: what it is given has been refused.
struct LostEncoder: Encoder {
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }
  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(Keyed<Key>())
  }
  func unkeyedContainer() -> any UnkeyedEncodingContainer { Unkeyed() }
  func singleValueContainer() -> any SingleValueEncodingContainer { Single() }

  private struct Keyed<Key: CodingKey>: KeyedEncodingContainerProtocol {
    var codingPath: [any CodingKey] { [] }
    func encodeNil(forKey key: Key) {}
    func encode<Value: Encodable>(_ value: Value, forKey key: Key) {}
    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key)
      -> KeyedEncodingContainer<Nested>
    {
      LostEncoder().container(keyedBy: type)
    }
    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { Unkeyed() }
    func superEncoder() -> any Encoder { LostEncoder() }
    func superEncoder(forKey key: Key) -> any Encoder { LostEncoder() }
  }

  private struct Unkeyed: UnkeyedEncodingContainer {
    var codingPath: [any CodingKey] { [] }
    var count: Int { 0 }
    func encodeNil() {}
    func encode<Value: Encodable>(_ value: Value) {}
    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
      LostEncoder().container(keyedBy: type)
    }
    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { Unkeyed() }
    func superEncoder() -> any Encoder { LostEncoder() }
  }

  private struct Single: SingleValueEncodingContainer {
    var codingPath: [any CodingKey] { [] }
    func encodeNil() {}
    func encode<Value: Encodable>(_ value: Value) {}
  }
}

/// Puts a struct together from the elements of its shape.
struct CompositeDecoder: Decoder {
  private let shape: CompositeShape
  private let elements: [String: Any]
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  init(_ shape: CompositeShape, _ elements: [String: Any]) {
    self.shape = shape
    self.elements = elements
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(Container<Key>(shape: shape, elements: elements))
  }
  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw Self.fault("no array") }
  func singleValueContainer() throws -> any SingleValueDecodingContainer {
    throw Self.fault("no single value")
  }

  private static func fault(_ what: String) -> DecodingError {
    .dataCorrupted(.init(codingPath: [], debugDescription: "A composite value is \(what)."))
  }

  private struct Container<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let shape: CompositeShape
    let elements: [String: Any]
    var codingPath: [any CodingKey] { [] }
    var allKeys: [Key] { shape.fields.compactMap { contains($0.name) ? Key(stringValue: $0.name) : nil } }

    private func contains(_ name: String) -> Bool {
      guard let field = shape.field(named: name) else { return false }
      // A struct whose values are all nil has no elements and is there nevertheless.
      return elements[name] != nil || !field.storage.isOptional && field.mayBeEmpty
    }
    func contains(_ key: Key) -> Bool { contains(key.stringValue) }
    func decodeNil(forKey key: Key) -> Bool { !contains(key) }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
      guard let field = shape.field(named: key.stringValue) else {
        throw DecodingError.keyNotFound(
          key, .init(codingPath: [], debugDescription: "The composite has no element “\(key.stringValue)”."))
      }
      let stored = elements[field.name]
      let found: Any?
      switch field.storage.form {
      case .composite: found = try field.storage.value(elements: stored as? [String: Any])
      case .scalar(let type): found = try stored.map { try value($0, type, field) } ?? nil
      default: found = try stored.map { try value($0, .binaryData, field) } ?? nil
      }
      if let found = found as? Value { return found }
      throw DecodingError.valueNotFound(
        Value.self,
        .init(codingPath: [key], debugDescription: "The element “\(field.name)” of a composite has no value.")
      )
    }

    private func value(_ stored: Any, _ type: AttributeType, _ field: CompositeShape.Field) throws -> Any? {
      guard let value = AttributeValue(stored, type: type) else {
        throw UnsuitableValue(value: stored, wanted: "value of type \(type)")
      }
      return try field.storage.value(value)
    }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) throws
      -> KeyedDecodingContainer<Nested>
    {
      throw CompositeDecoder.fault("not nested")
    }
    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
      throw CompositeDecoder.fault("not nested")
    }
    func superDecoder() throws -> any Decoder { throw CompositeDecoder.fault("not nested") }
    func superDecoder(forKey key: Key) throws -> any Decoder { throw CompositeDecoder.fault("not nested") }
    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try decode(any: type, key) }
    func decode(_ type: String.Type, forKey key: Key) throws -> String { try decode(any: type, key) }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try decode(any: type, key) }
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try decode(any: type, key) }
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try decode(any: type, key) }
    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try decode(any: type, key) }
    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try decode(any: type, key) }
    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try decode(any: type, key) }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try decode(any: type, key) }
    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try decode(any: type, key) }
    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try decode(any: type, key) }
    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try decode(any: type, key) }
    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try decode(any: type, key) }
    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try decode(any: type, key) }

    /// The generic form, by another name: the others would call themselves.
    private func decode<Value: Decodable>(any type: Value.Type, _ key: Key) throws -> Value {
      try decode(type, forKey: key)
    }
  }
}
