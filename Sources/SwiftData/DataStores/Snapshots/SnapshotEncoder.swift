/// Takes the values that a snapshot encodes as they are.
final class SnapshotEncoder: Encoder {
  private(set) var values: [String: Any] = [:]
  private(set) var failure: EncodingError?
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(Container<Key>(encoder: self))
  }
  func unkeyedContainer() -> any UnkeyedEncodingContainer { refuse().unkeyedContainer() }
  func singleValueContainer() -> any SingleValueEncodingContainer { refuse().singleValueContainer() }

  private func refuse() -> any Encoder {
    failure =
      failure
      ?? .invalidValue(
        self,
        .init(
          codingPath: [],
          debugDescription: "a snapshot encodes each property as one value, by the property's name"))
    return LostEncoder()
  }

  private func set(_ value: Any, _ key: any CodingKey) {
    if key.stringValue == DataStoreSnapshotCodingKey.persistentIdentifier.stringValue { return }
    values[key.stringValue] = AttributeStorage.flattened(value)
  }

  private struct Container<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: SnapshotEncoder
    var codingPath: [any CodingKey] { [] }
    func encodeNil(forKey key: Key) {}
    func encode<Value: Encodable>(_ value: Value, forKey key: Key) { encoder.set(value, key) }
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
    func encode(_ value: Bool, forKey key: Key) { encoder.set(value, key) }
    func encode(_ value: String, forKey key: Key) { encoder.set(value, key) }
    func encode(_ value: Double, forKey key: Key) { encoder.set(value, key) }
    func encode(_ value: Float, forKey key: Key) { encoder.set(value, key) }
    func encode(_ value: Int, forKey key: Key) { encoder.set(value, key) }
    func encode(_ value: Int8, forKey key: Key) { encoder.set(value, key) }
    func encode(_ value: Int16, forKey key: Key) { encoder.set(value, key) }
    func encode(_ value: Int32, forKey key: Key) { encoder.set(value, key) }
    func encode(_ value: Int64, forKey key: Key) { encoder.set(value, key) }
    func encode(_ value: UInt, forKey key: Key) { encoder.set(value, key) }
    func encode(_ value: UInt8, forKey key: Key) { encoder.set(value, key) }
    func encode(_ value: UInt16, forKey key: Key) { encoder.set(value, key) }
    func encode(_ value: UInt32, forKey key: Key) { encoder.set(value, key) }
    func encode(_ value: UInt64, forKey key: Key) { encoder.set(value, key) }
  }
}
