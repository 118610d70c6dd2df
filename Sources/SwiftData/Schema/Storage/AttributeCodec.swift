import StrataCore

/// Turns values of a type that is known at run time into what an attribute holds, and back.
class AnyAttributeCodec: @unchecked Sendable {
  // @unchecked Sendable: constants.

  func storedAny(_ value: Any) throws -> AttributeValue { fatalError("overridden by every codec") }
  func anyValue(_ stored: AttributeValue) throws -> Any { fatalError("overridden by every codec") }
  /// The codec of the optional type.
  var optional: AnyAttributeCodec { fatalError("overridden by every codec") }
  /// A value of the type, for finding out what reads it; nil when none can be made.
  var placeholder: Any? { nil }
}

/// Turns values of one type into what an attribute holds, and back. Of a property that may be nil `Value` is the optional type.
class AttributeCodec<Value>: AnyAttributeCodec, @unchecked Sendable {
  // @unchecked Sendable: see AnyAttributeCodec.

  /// The codec of a property of this type. Traps when the storage is of another type.
  static func of(_ storage: AttributeStorage) -> AttributeCodec<Value> {
    guard let codec = storage.codec as? AttributeCodec<Value> else {
      preconditionFailure("an attribute of \(storage.valueType) was read or set as \(Value.self)")
    }
    return codec
  }

  /// What an attribute holds for the value.
  /// - Throws: `EncodingError`.
  func stored(_ value: Value) throws -> AttributeValue { fatalError("overridden by every codec") }
  /// The value that an attribute holds.
  /// - Throws: `DecodingError`, and ``UnsuitableValue`` for what no value of the type is stored as.
  func value(_ stored: AttributeValue) throws -> Value { fatalError("overridden by every codec") }

  final override func storedAny(_ value: Any) throws -> AttributeValue {
    guard let value = value as? Value else { throw UnsuitableValue(value: value, wanted: "\(Value.self)") }
    return try stored(value)
  }
  final override func anyValue(_ stored: AttributeValue) throws -> Any { try value(stored) }
  final override var optional: AnyAttributeCodec { OptionalCodec(self) }
}

/// A codec that takes nil for no value.
final class OptionalCodec<Wrapped>: AttributeCodec<Wrapped?>, @unchecked Sendable {
  // @unchecked Sendable: see AnyAttributeCodec.

  private let codec: AttributeCodec<Wrapped>
  init(_ codec: AttributeCodec<Wrapped>) { self.codec = codec }

  override func stored(_ value: Wrapped?) throws -> AttributeValue {
    guard let value else { return .null }
    return try codec.stored(value)
  }
  override func value(_ stored: AttributeValue) throws -> Wrapped? {
    stored.isNull ? nil : try codec.value(stored)
  }
  override var placeholder: Any? { codec.placeholder }
}

/// Values that an attribute holds as they are.
final class ScalarCodec<Value: AttributeRepresentable>: AttributeCodec<Value>, @unchecked Sendable {
  // @unchecked Sendable: see AnyAttributeCodec.

  override func stored(_ value: Value) -> AttributeValue { value.storedValue }
  override func value(_ stored: AttributeValue) throws -> Value {
    guard let value = Value(storedValue: stored) else {
      throw UnsuitableValue(value: stored, wanted: "\(Value.self)")
    }
    return value
  }
  override var placeholder: Any? { Value.absentValue }
}

/// Whole numbers beyond those of 64 bits with a sign, as decimals.
final class UnsignedCodec<Value: FixedWidthInteger & UnsignedInteger>: AttributeCodec<Value>,
  @unchecked Sendable
{
  // @unchecked Sendable: see AnyAttributeCodec.

  override func stored(_ value: Value) -> AttributeValue { .decimal(Decimal(UInt64(value))) }
  override func value(_ stored: AttributeValue) throws -> Value {
    guard case .decimal(let decimal) = stored, let value = Value(decimal.description) else {
      throw UnsuitableValue(value: stored, wanted: "\(Value.self)")
    }
    return value
  }
  override var placeholder: Any? { Value.zero }
}

/// Numbers that are as wide as the processor's.
final class CGFloatCodec: AttributeCodec<CGFloat>, @unchecked Sendable {
  // @unchecked Sendable: see AnyAttributeCodec.

  override func stored(_ value: CGFloat) -> AttributeValue { .double(Double(value)) }
  override func value(_ stored: AttributeValue) throws -> CGFloat {
    guard case .double(let value) = stored else { throw UnsuitableValue(value: stored, wanted: "CGFloat") }
    return CGFloat(value)
  }
  override var placeholder: Any? { CGFloat.zero }
}

/// Values with a raw value that an attribute holds.
final class RawCodec<Value: RawRepresentable>: AttributeCodec<Value>, @unchecked Sendable {
  // @unchecked Sendable: see AnyAttributeCodec.

  private let raw: AttributeCodec<Value.RawValue>
  init(_ raw: AttributeCodec<Value.RawValue>) { self.raw = raw }

  override func stored(_ value: Value) throws -> AttributeValue { try raw.stored(value.rawValue) }
  override func value(_ stored: AttributeValue) throws -> Value {
    guard let value = Value(rawValue: try raw.value(stored)) else {
      throw UnsuitableValue(value: stored, wanted: "raw value of \(Value.self)")
    }
    return value
  }

  override var placeholder: Any? {
    if let value = (raw.placeholder as? Value.RawValue).flatMap({ Value(rawValue: $0) }) { return value }
    if let type = Value.self as? any CaseIterable.Type { return type.anyCase }
    // An enum with raw values has no payloads: its cases are numbered from 0, in a byte or two.
    guard _isPOD(Value.self), MemoryLayout<Value>.size <= 2 else { return nil }
    return withUnsafeTemporaryAllocation(of: Value.self, capacity: 1) { buffer in
      UnsafeMutableRawBufferPointer(buffer).initializeMemory(as: UInt8.self, repeating: 0)
      return buffer.first
    }
  }
}

extension CaseIterable {
  static var anyCase: Any? { allCases.first }
}

/// Other values, as JSON: an array with one element, since not every value may stand alone.
final class DataCodec<Value: Codable>: AttributeCodec<Value>, @unchecked Sendable {
  // @unchecked Sendable: see AnyAttributeCodec.

  override func stored(_ value: Value) throws -> AttributeValue {
    .data(try CodableBytes.transform(value, of: Value.self))
  }
  override func value(_ stored: AttributeValue) throws -> Value {
    guard case .data(let bytes) = stored,
      let value = try CodableBytes.reverse(bytes, of: Value.self) as? Value
    else { throw UnsuitableValue(value: stored, wanted: "JSON of \(Value.self)") }
    return value
  }
}

/// Values of structs, each of whose properties is an element of a composite attribute. They are no single ``AttributeValue``.
final class CompositeCodec<Value: Codable>: AttributeCodec<Value>, @unchecked Sendable {
  // @unchecked Sendable: see AnyAttributeCodec.

  let shape: CompositeShape
  init(_ shape: CompositeShape) { self.shape = shape }

  override func stored(_ value: Value) throws -> AttributeValue {
    throw UnsuitableValue(value: value, wanted: "single value: it is kept in elements")
  }
  override func value(_ stored: AttributeValue) throws -> Value {
    throw UnsuitableValue(value: stored, wanted: "composite value")
  }
  override var placeholder: Any? { shape.placeholder }
}
