import StrataCore

/// What a type has asked a decoder for.
final class ShapeRecording {
  var fields: [(name: String, type: Any.Type)] = []
  /// Whether it has asked for anything else than values by keys.
  var isOpaque = false
  /// Whether it has asked which keys there are.
  var asksForKeys = false
  /// All keys that it might ask for, with the names of their cases; empty where that is not known.
  private(set) var keys: [(name: String, caseName: String?)] = []
  private var hasContainer = false

  func beginContainer<Key: CodingKey>(keyedBy type: Key.Type) {
    if hasContainer { isOpaque = true }
    hasContainer = true
    keys = Key.allNames
  }
}

/// What the case of an enum is called in the source, which `description` does not tell of coding keys; nil where the program was built without names.
@_silgen_name("swift_EnumCaseName")
private func enumCaseName<Value>(_ value: Value) -> UnsafePointer<CChar>?

extension CodingKey {
  /// The names of all keys and cases of an enum of one byte without payloads, as the compiler writes it; none of another type.
  fileprivate static var allNames: [(name: String, caseName: String?)] {
    guard _isPOD(Self.self), MemoryLayout<Self>.size == 1, MemoryLayout<Self?>.size == 1 else { return [] }
    // Cases are numbered from 0, and the number behind the last one stands for nil.
    let count = unsafeBitCast(Optional<Self>.none, to: UInt8.self)
    let first = unsafeBitCast(UInt8(0), to: Self.self)
    let mirror = Mirror(reflecting: first)
    guard count > 0, mirror.displayStyle == .enum, mirror.children.isEmpty else { return [] }
    return (0..<count).map { number in
      let key = unsafeBitCast(number, to: Self.self)
      return (key.stringValue, enumCaseName(key).map { String(cString: $0) })
    }
  }
}

/// Decodes from nothing: every number is 0, every text is empty, and what is asked for is recorded.
struct ShapeDecoder: Decoder {
  let recording: ShapeRecording
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
    recording.beginContainer(keyedBy: type)
    return KeyedDecodingContainer(ShapeContainer<Key>(recording: recording))
  }
  func unkeyedContainer() -> any UnkeyedDecodingContainer {
    recording.isOpaque = true
    return EmptyContainer()
  }
  func singleValueContainer() -> any SingleValueDecodingContainer {
    recording.isOpaque = true
    return ZeroContainer()
  }

  /// A value of a type, whatever it is; what it decodes is nobody's business.
  static func value<Value: Decodable>(of type: Value.Type) throws -> Value {
    if let optional = Value.self as? any OptionalType.Type, let none = optional.noValue as? Value {
      return none
    }
    if let codable = Value.self as? any Codable.Type {
      let found = AttributeForms.form(
        of: codable, isCodable: false, isOptional: false, depth: CompositeShape.mostLevels)
      if let value = found.codec?.placeholder as? Value { return value }
    }
    return try Value(from: ShapeDecoder(recording: ShapeRecording()))
  }
}

/// Notes keys and types.
private struct ShapeContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let recording: ShapeRecording
  var codingPath: [any CodingKey] { [] }

  /// An enum with payloads wants exactly one: its first case is one like another.
  var allKeys: [Key] {
    recording.isOpaque = true
    guard _isPOD(Key.self), MemoryLayout<Key>.size <= 1 else { return [] }
    // Coding keys that the compiler writes are enums without payloads, whose first case is 0.
    return withUnsafeTemporaryAllocation(of: Key.self, capacity: 1) { buffer in
      UnsafeMutableRawBufferPointer(buffer).initializeMemory(as: UInt8.self, repeating: 0)
      return buffer.first.map { [$0] } ?? []
    }
  }
  func contains(_ key: Key) -> Bool {
    recording.asksForKeys = true
    return true
  }
  func decodeNil(forKey key: Key) -> Bool {
    recording.isOpaque = true
    return false
  }
  func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key)
    -> KeyedDecodingContainer<Nested>
  {
    recording.isOpaque = true
    return KeyedDecodingContainer(ShapeContainer<Nested>(recording: recording))
  }
  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedDecodingContainer {
    recording.isOpaque = true
    return EmptyContainer()
  }
  func superDecoder() -> any Decoder { opaque() }
  func superDecoder(forKey key: Key) -> any Decoder { opaque() }
  private func opaque() -> any Decoder {
    recording.isOpaque = true
    return ShapeDecoder(recording: recording)
  }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    recording.fields.append((key.stringValue, Value.self))
    return try ShapeDecoder.value(of: type)
  }
  func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) -> Value? {
    recording.fields.append((key.stringValue, Value?.self))
    return nil
  }
  func decode(_ type: Bool.Type, forKey key: Key) -> Bool {
    recording.fields.append((key.stringValue, Bool.self))
    return false
  }
  func decode(_ type: String.Type, forKey key: Key) -> String {
    recording.fields.append((key.stringValue, String.self))
    return ""
  }
  func decode(_ type: Double.Type, forKey key: Key) -> Double {
    recording.fields.append((key.stringValue, Double.self))
    return 0
  }
  func decode(_ type: Float.Type, forKey key: Key) -> Float {
    recording.fields.append((key.stringValue, Float.self))
    return 0
  }
  func decode(_ type: Int.Type, forKey key: Key) -> Int {
    recording.fields.append((key.stringValue, Int.self))
    return 0
  }
  func decode(_ type: Int8.Type, forKey key: Key) -> Int8 {
    recording.fields.append((key.stringValue, Int8.self))
    return 0
  }
  func decode(_ type: Int16.Type, forKey key: Key) -> Int16 {
    recording.fields.append((key.stringValue, Int16.self))
    return 0
  }
  func decode(_ type: Int32.Type, forKey key: Key) -> Int32 {
    recording.fields.append((key.stringValue, Int32.self))
    return 0
  }
  func decode(_ type: Int64.Type, forKey key: Key) -> Int64 {
    recording.fields.append((key.stringValue, Int64.self))
    return 0
  }
  func decode(_ type: UInt.Type, forKey key: Key) -> UInt {
    recording.fields.append((key.stringValue, UInt.self))
    return 0
  }
  func decode(_ type: UInt8.Type, forKey key: Key) -> UInt8 {
    recording.fields.append((key.stringValue, UInt8.self))
    return 0
  }
  func decode(_ type: UInt16.Type, forKey key: Key) -> UInt16 {
    recording.fields.append((key.stringValue, UInt16.self))
    return 0
  }
  func decode(_ type: UInt32.Type, forKey key: Key) -> UInt32 {
    recording.fields.append((key.stringValue, UInt32.self))
    return 0
  }
  func decode(_ type: UInt64.Type, forKey key: Key) -> UInt64 {
    recording.fields.append((key.stringValue, UInt64.self))
    return 0
  }
  func decodeIfPresent(_ type: Bool.Type, forKey key: Key) -> Bool? {
    recording.fields.append((key.stringValue, Bool?.self))
    return nil
  }
  func decodeIfPresent(_ type: String.Type, forKey key: Key) -> String? {
    recording.fields.append((key.stringValue, String?.self))
    return nil
  }
  func decodeIfPresent(_ type: Double.Type, forKey key: Key) -> Double? {
    recording.fields.append((key.stringValue, Double?.self))
    return nil
  }
  func decodeIfPresent(_ type: Float.Type, forKey key: Key) -> Float? {
    recording.fields.append((key.stringValue, Float?.self))
    return nil
  }
  func decodeIfPresent(_ type: Int.Type, forKey key: Key) -> Int? {
    recording.fields.append((key.stringValue, Int?.self))
    return nil
  }
  func decodeIfPresent(_ type: Int8.Type, forKey key: Key) -> Int8? {
    recording.fields.append((key.stringValue, Int8?.self))
    return nil
  }
  func decodeIfPresent(_ type: Int16.Type, forKey key: Key) -> Int16? {
    recording.fields.append((key.stringValue, Int16?.self))
    return nil
  }
  func decodeIfPresent(_ type: Int32.Type, forKey key: Key) -> Int32? {
    recording.fields.append((key.stringValue, Int32?.self))
    return nil
  }
  func decodeIfPresent(_ type: Int64.Type, forKey key: Key) -> Int64? {
    recording.fields.append((key.stringValue, Int64?.self))
    return nil
  }
  func decodeIfPresent(_ type: UInt.Type, forKey key: Key) -> UInt? {
    recording.fields.append((key.stringValue, UInt?.self))
    return nil
  }
  func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) -> UInt8? {
    recording.fields.append((key.stringValue, UInt8?.self))
    return nil
  }
  func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) -> UInt16? {
    recording.fields.append((key.stringValue, UInt16?.self))
    return nil
  }
  func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) -> UInt32? {
    recording.fields.append((key.stringValue, UInt32?.self))
    return nil
  }
  func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) -> UInt64? {
    recording.fields.append((key.stringValue, UInt64?.self))
    return nil
  }
}

/// An array without elements.
private struct EmptyContainer: UnkeyedDecodingContainer {
  struct End: Error {}
  var codingPath: [any CodingKey] { [] }
  var count: Int? { 0 }
  var isAtEnd: Bool { true }
  var currentIndex: Int { 0 }
  func decodeNil() throws -> Bool { throw End() }
  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try ShapeDecoder.value(of: type) }
  func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) throws -> KeyedDecodingContainer<Nested>
  {
    throw End()
  }
  func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer { throw End() }
  func superDecoder() throws -> any Decoder { throw End() }
}

/// A single value: 0, or an empty text.
private struct ZeroContainer: SingleValueDecodingContainer {
  var codingPath: [any CodingKey] { [] }
  func decodeNil() -> Bool { false }
  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try ShapeDecoder.value(of: type) }
  func decode(_ type: Bool.Type) -> Bool { false }
  func decode(_ type: String.Type) -> String { "" }
  func decode(_ type: Double.Type) -> Double { 0 }
  func decode(_ type: Float.Type) -> Float { 0 }
  func decode(_ type: Int.Type) -> Int { 0 }
  func decode(_ type: Int8.Type) -> Int8 { 0 }
  func decode(_ type: Int16.Type) -> Int16 { 0 }
  func decode(_ type: Int32.Type) -> Int32 { 0 }
  func decode(_ type: Int64.Type) -> Int64 { 0 }
  func decode(_ type: UInt.Type) -> UInt { 0 }
  func decode(_ type: UInt8.Type) -> UInt8 { 0 }
  func decode(_ type: UInt16.Type) -> UInt16 { 0 }
  func decode(_ type: UInt32.Type) -> UInt32 { 0 }
  func decode(_ type: UInt64.Type) -> UInt64 { 0 }
}
