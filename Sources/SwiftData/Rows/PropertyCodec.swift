import StrataCore

/// Reads and writes a property of rows, whatever its type.
class AnyCodec {
  /// Sets the property to the value of a draft.
  func writeAny(_ value: Any, _ row: ModelRow, _ property: ModelProperty) {
    stop("\(property.name) holds no value of an attribute")
  }
  /// Sets the property to nil, if it may be.
  func writeNothing(_ row: ModelRow, _ property: ModelProperty) {}
  /// The value; nil when the row has none.
  func readAny(_ row: ModelRow, _ property: ModelProperty) -> Any? { nil }
  /// Whether the slot holds the property's values, or nil, as they are.
  var isPlain: Bool { false }
  /// The same codec for an optional property.
  func optional() -> AnyCodec { self }

  /// The codec that a property needs.
  static func codec(for property: PropertyDescriptor) -> AnyCodec {
    guard case .attribute(let storage) = property.kind else { return AnyCodec() }
    let valueType = Swift.type(of: property.keyPath).valueType
    func opened<Value>(_ type: Value.Type) -> AnyCodec { make(type, storage, property) }
    if let optional = valueType as? any OptionalType.Type {
      let wrapped: Any.Type = optional.unwrappedType
      return _openExistential(wrapped, do: opened).optional()
    }
    return _openExistential(valueType, do: opened)
  }

  private static func make<Value>(
    _ type: Value.Type, _ storage: AttributeStorage, _ property: PropertyDescriptor
  ) -> AnyCodec {
    if property.attribute?.isTransient == true {
      if case .scalar = storage.form {} else { return RowKeyedCodec<Value>() }
    }
    switch storage.form {
    case .scalar:
      if let common = common(type) { return common }
      if let bounded = type as? any BoundedSlotValue.Type { return boundedCodec(bounded) }
      if let scalar = type as? any SlotValue.Type { return scalarCodec(scalar) }
      if let raw = type as? any RawRepresentable.Type, let codec = rawCodec(raw) { return codec }
      return RowBytesCodec<Value>(storage)
    case .composite: return RowCompositeCodec<Value>(storage)
    case .data: return RowBytesCodec<Value>(storage)
    case .transformable: return RowTransformedCodec<Value>()
    case .none(let reason): stop("\(property.name) \(reason)")
    }
  }

  private static func scalarCodec<Value: SlotValue>(_ type: Value.Type) -> AnyCodec {
    RowScalarCodec<Value>()
  }

  private static func boundedCodec<Value: BoundedSlotValue>(_ type: Value.Type) -> AnyCodec {
    RowBoundedCodec<Value>()
  }

  private static func rawCodec<Value: RawRepresentable>(_ type: Value.Type) -> AnyCodec? {
    func codec<Raw: SlotValue>(_ raw: Raw.Type) -> AnyCodec { RowRawCodec<Value, Raw>() }
    return (Value.RawValue.self as? any SlotValue.Type).map { codec($0) }
  }
}

/// Reads and writes a property whose values are of one type.
class PropertyCodec<Value>: AnyCodec {
  /// The value; nil when the row has none.
  func readOptional(_ row: ModelRow, _ property: ModelProperty) -> Value? { nil }
  /// Sets the property, to nil for nil.
  func writeOptional(_ value: Value?, _ row: ModelRow, _ property: ModelProperty) {}

  /// The value, or what stands for none.
  func read(_ row: ModelRow, _ property: ModelProperty) -> Value {
    readOptional(row, property) ?? absent(row, property)
  }
  func write(_ value: Value, _ row: ModelRow, _ property: ModelProperty) {
    writeOptional(value, row, property)
  }

  /// What a property shows that cannot be nil, where there is no value: a row that is gone, or of a version without the property.
  @inline(never)
  func absent(_ row: ModelRow, _ property: ModelProperty) -> Value {
    if let value = property.descriptor.defaultValue as? Value { return value }
    if let array = [] as [Never] as? Value { return array }
    if let dictionary = [:] as [String: Never] as? Value { return dictionary }
    stop(
      "\(type(of: row).modelType).\(property.name) has no value: the row of \(row.objectID) is gone, or was stored without it; give the property a default value, or declare it optional"
    )
  }

  override func readAny(_ row: ModelRow, _ property: ModelProperty) -> Any? { readOptional(row, property) }
  final override func writeAny(_ value: Any, _ row: ModelRow, _ property: ModelProperty) {
    guard let typed = value as? Value else {
      stop("\(property.name) was given a \(type(of: value)) instead of a \(Value.self)")
    }
    write(typed, row, property)
  }
  override func optional() -> AnyCodec { RowOptionalCodec(self) }
}

/// A property that may be nil.
final class RowOptionalCodec<Wrapped>: PropertyCodec<Wrapped?> {
  private let wrapped: PropertyCodec<Wrapped>
  init(_ wrapped: PropertyCodec<Wrapped>) { self.wrapped = wrapped }

  override func read(_ row: ModelRow, _ property: ModelProperty) -> Wrapped? {
    wrapped.readOptional(row, property)
  }
  override func readAny(_ row: ModelRow, _ property: ModelProperty) -> Any? {
    wrapped.readAny(row, property)
  }
  override func write(_ value: Wrapped?, _ row: ModelRow, _ property: ModelProperty) {
    wrapped.writeOptional(value, row, property)
  }
  override func writeNothing(_ row: ModelRow, _ property: ModelProperty) {
    wrapped.writeOptional(nil, row, property)
  }
  override var isPlain: Bool { wrapped.isPlain }
}

/// A value that the slot holds.
final class RowScalarCodec<Value: SlotValue>: PropertyCodec<Value> {
  override var isPlain: Bool { true }
  override func readOptional(_ row: ModelRow, _ property: ModelProperty) -> Value? {
    Value.read(row, property.slot)
  }
  override func read(_ row: ModelRow, _ property: ModelProperty) -> Value {
    Value.read(row, property.slot) ?? Value.shown(property)
  }
  override func writeOptional(_ value: Value?, _ row: ModelRow, _ property: ModelProperty) {
    Value.write(value, row, property.slot)
  }
}

/// A number that the slot holds as one of a type that has more.
final class RowBoundedCodec<Value: BoundedSlotValue>: PropertyCodec<Value> {
  override func readOptional(_ row: ModelRow, _ property: ModelProperty) -> Value? {
    if let value = Value.read(row, property.slot) { return value }
    if !row.isFollowed, let stored = Value.unfit(row, property.slot) {
      row.noteUndecoded(property, UnsuitableValue(value: stored, wanted: "\(Value.self)"))
    }
    return nil
  }
  override func read(_ row: ModelRow, _ property: ModelProperty) -> Value {
    readOptional(row, property) ?? Value.shown(property)
  }
  override func writeOptional(_ value: Value?, _ row: ModelRow, _ property: ModelProperty) {
    row.set(property) {
      Value.unfit(row, property.slot) != nil
    } by: {
      Value.write(value, row, property.slot)
    }
  }
}

/// A value of which the slot holds the raw value.
final class RowRawCodec<Value: RawRepresentable, Raw: SlotValue>: PropertyCodec<Value> {
  override func readOptional(_ row: ModelRow, _ property: ModelProperty) -> Value? {
    if let value = Raw.read(row, property.slot).flatMap({ Self.value(of: $0) }) { return value }
    // Whoever follows a key path is answered values that nobody has stored.
    if !row.isFollowed, let stored = Self.unfit(row, property.slot) {
      row.noteUndecoded(property, UnsuitableValue(value: stored, wanted: "raw value of \(Value.self)"))
    }
    return nil
  }

  /// What is stored and is no raw value of the type.
  private static func unfit(_ row: ModelRow, _ slot: Int) -> Any? {
    guard let raw = Raw.read(row, slot) else {
      return (Raw.self as? any BoundedSlotValue.Type)?.unfit(row, slot)
    }
    if value(of: raw) != nil { return nil }
    return raw
  }

  private static func value(of raw: Raw) -> Value? {
    (raw as? Value.RawValue).flatMap { Value(rawValue: $0) }
  }

  override func absent(_ row: ModelRow, _ property: ModelProperty) -> Value {
    if let value = property.descriptor.defaultValue as? Value { return value }
    if let cases = Value.self as? any CaseIterable.Type, let first = cases.firstCase as? Value {
      return first
    }
    if row.isFollowed, let value = Self.someCase { return value }
    stop(
      "\(type(of: row).modelType).\(property.name) has no value, or a raw value that \(Value.self) does not know: \(Self.unfit(row, property.slot).map { "\($0)" } ?? "nil")"
    )
  }

  /// A value for whoever follows a key path and is answered a raw value that belongs to no case; nil where none can be made. What the key path leads to is found out with
  /// other means, or refused.
  private static var someCase: Value? {
    // Zero is a value of every inhabited type of one byte, and the first case of an enumeration without associated values.
    guard MemoryLayout<Value>.size <= 1 else { return nil }
    return withUnsafeTemporaryAllocation(byteCount: 1, alignment: MemoryLayout<Value>.alignment) {
      $0.initializeMemory(as: UInt8.self, repeating: 0)
      return $0.load(as: Value.self)
    }
  }

  override func writeOptional(_ value: Value?, _ row: ModelRow, _ property: ModelProperty) {
    row.set(property) {
      Self.unfit(row, property.slot) != nil
    } by: {
      Raw.write(value.flatMap { $0.rawValue as? Raw }, row, property.slot)
    }
  }
}

/// A value that is encoded as bytes. Decoded once for the bytes that the row has.
final class RowBytesCodec<Value>: PropertyCodec<Value> {
  private let storage: AttributeStorage
  init(_ storage: AttributeStorage) { self.storage = storage }

  override func readOptional(_ row: ModelRow, _ property: ModelProperty) -> Value? {
    guard let bytes = row.readData(slot: property.slot) else { return nil }
    if let known = row._decoded?[property.slot], known.bytes == bytes { return known.value as? Value }
    if row.hasNotDecoded(bytes, property) { return nil }
    do {
      guard let value = try storage.value(.data(bytes)) as? Value else { return nil }
      row._decoded = row._decoded ?? [:]
      row._decoded?[property.slot] = (bytes, value)
      return value
    } catch {
      // Whoever follows a key path is answered bytes that nobody has encoded.
      if !row.isFollowed { row.noteUndecoded(property, error, bytes: bytes) }
      return nil
    }
  }

  override func writeOptional(_ value: Value?, _ row: ModelRow, _ property: ModelProperty) {
    row.set(property) {
      row.readData(slot: property.slot).map { row.hasNotDecoded($0, property) } ?? false
    } by: {
      encode(value, row, property)
    }
  }

  private func encode(_ value: Value?, _ row: ModelRow, _ property: ModelProperty) {
    guard let value else { return row.write(nil as Data?, slot: property.slot) }
    do {
      guard case .data(let bytes) = try storage.stored(value) else {
        stop("\(property.name) of \(type(of: row).modelType) is not encoded as bytes")
      }
      row.write(bytes, slot: property.slot)
      row._decoded = row._decoded ?? [:]
      row._decoded?[property.slot] = (bytes, value)
    } catch {
      stop("\(type(of: row).modelType).\(property.name) cannot be encoded: \(error)")
    }
  }
}

/// A structure whose fields are columns.
final class RowCompositeCodec<Value>: PropertyCodec<Value> {
  private let storage: AttributeStorage
  init(_ storage: AttributeStorage) { self.storage = storage }

  override func readOptional(_ row: ModelRow, _ property: ModelProperty) -> Value? {
    if row.isFollowed, case .composite(let shape) = storage.form {
      row.noteFollowed(slot: property.slot)
      if let answer = CompositeAnswer.current, answer.property === property.descriptor {
        return answer.value as? Value
      }
      // What lies behind an optional need not be followed.
      return storage.isOptional ? nil : shape.placeholder as? Value
    }
    // Without elements, as of a model whose row has gone, there is nothing that could be damaged.
    guard let elements = row.value(forKey: property.name) as? [String: Any] else {
      return (try? storage.value(elements: nil)) as? Value
    }
    do { return try storage.value(elements: elements) as? Value } catch {
      row.noteUndecoded(property, error)
      return nil
    }
  }

  override func writeOptional(_ value: Value?, _ row: ModelRow, _ property: ModelProperty) {
    row.set(property) {
      guard let elements = row.value(forKey: property.name) as? [String: Any] else { return false }
      return (try? storage.value(elements: elements)) == nil
    } by: {
      encode(value, row, property)
    }
  }

  private func encode(_ value: Value?, _ row: ModelRow, _ property: ModelProperty) {
    do {
      let elements: Any? = try value.flatMap { try storage.elements($0) }
      row.setValue(elements, forKey: property.name)
    } catch {
      stop("\(type(of: row).modelType).\(property.name) cannot be encoded: \(error)")
    }
  }
}

/// A value that a value transformer keeps.
final class RowTransformedCodec<Value>: PropertyCodec<Value> {
  override func readOptional(_ row: ModelRow, _ property: ModelProperty) -> Value? {
    let found = row.readTransformed(slot: property.slot)
    if let value = found as? Value { return value }
    if !row.isFollowed, let bytes = row.readData(slot: property.slot) {
      let error = UnsuitableValue(value: found ?? bytes, wanted: "\(Value.self)")
      // What the transformer has thrown was told.
      row.noteUndecoded(property, error, bytes: bytes, isTold: found == nil)
    }
    return nil
  }
  override func writeOptional(_ value: Value?, _ row: ModelRow, _ property: ModelProperty) {
    row.set(property) {
      row.readData(slot: property.slot).map { row.hasNotDecoded($0, property) } ?? false
    } by: {
      row.write(transformed: value, slot: property.slot)
    }
  }
}

/// A value of any type that is kept in memory only.
final class RowKeyedCodec<Value>: PropertyCodec<Value> {
  override func readOptional(_ row: ModelRow, _ property: ModelProperty) -> Value? {
    row.value(forKey: property.name) as? Value
  }
  override func writeOptional(_ value: Value?, _ row: ModelRow, _ property: ModelProperty) {
    row.setValue(value, forKey: property.name)
  }
}

extension CaseIterable {
  fileprivate static var firstCase: Any? { allCases.first }
}
