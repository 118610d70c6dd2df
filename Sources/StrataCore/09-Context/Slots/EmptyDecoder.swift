/// Decodes from nothing: zeros, empty texts and lists, nil where that may be, the first case of enums.
struct EmptyDecoder: Decoder {
  /// The type that is decoded is an enum: it looks for the one key that is its case.
  let isEnum: Bool
  let depth: Int
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  init(_ type: Any.Type, depth: Int) {
    isEnum = EmptyValues.isEnum(type)
    self.depth = depth
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(EmptyKeys<Key>(decoder: self))
  }
  func unkeyedContainer() -> any UnkeyedDecodingContainer { EmptyList(decoder: self) }
  func singleValueContainer() -> any SingleValueDecodingContainer { EmptyValue(decoder: self) }

  /// - Throws: `DecodingError` for a type of which no value can be made.
  fileprivate func value<Value: Decodable>(_ type: Value.Type) throws -> Value {
    if let value = EmptyValues.placeholder(of: type, depth: depth) { return value }
    throw DecodingError.valueNotFound(
      type, DecodingError.Context(codingPath: [], debugDescription: "nothing stands for no \(type)"))
  }
}

private struct EmptyKeys<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let decoder: EmptyDecoder
  var codingPath: [any CodingKey] { [] }
  var allKeys: [Key] {
    guard decoder.isEnum, let key = EmptyValues.first(of: Key.self) else { return [] }
    return [key]
  }

  func contains(_ key: Key) -> Bool { true }
  func decodeNil(forKey key: Key) -> Bool { true }
  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    try decoder.value(type)
  }
  func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key)
    -> KeyedDecodingContainer<Nested>
  { decoder.container(keyedBy: type) }
  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedDecodingContainer { decoder.unkeyedContainer() }
  func superDecoder() -> any Decoder { decoder }
  func superDecoder(forKey key: Key) -> any Decoder { decoder }
}

private struct EmptyList: UnkeyedDecodingContainer {
  let decoder: EmptyDecoder
  var codingPath: [any CodingKey] { [] }
  var count: Int? { 0 }
  var isAtEnd: Bool { true }
  var currentIndex: Int { 0 }

  func decodeNil() -> Bool { true }
  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try decoder.value(type) }
  func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedDecodingContainer<Nested> {
    decoder.container(keyedBy: type)
  }
  func nestedUnkeyedContainer() -> any UnkeyedDecodingContainer { self }
  func superDecoder() -> any Decoder { decoder }
}

private struct EmptyValue: SingleValueDecodingContainer {
  let decoder: EmptyDecoder
  var codingPath: [any CodingKey] { [] }

  func decodeNil() -> Bool { true }
  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try decoder.value(type) }
}
