import StrataCore

/// Reads and sets what lies behind one property, as `primitiveValue(forKey:)` does: what the accessors of `@NSManaged var primitiveTitle` call that the
/// package's build plugin generates.
///
///     nonisolated private let _Book_primitiveTitle = NSManagedPrimitive("primitiveTitle", "title")
///
/// Not for hand-written code. No custom accessor is called, nothing is observed. A model that has a property of the whole name is meant by it. On the
/// queue of the object's context.
public struct NSManagedPrimitive: Sendable {
  private let name: String
  private let key: String

  /// For the property `key`, or for one that is called `name` after all.
  public init(_ name: String, _ key: String) {
    self.name = name
    self.key = key
  }

  /// The value; what is empty of its kind when there is none. Traps when there is nothing empty, and for a value of another type.
  public func value<Value>(_ type: Value.Type, of object: NSManagedObject) -> Value {
    if let value = optional(type, of: object) { return value }
    guard let empty = (Value.self as? any EmptyValue.Type)?.emptyValue as? Value else {
      stop("\(Swift.type(of: object)).\(name) is nil, but the class declares it as \(type), not \(type)?.")
    }
    return empty
  }

  /// The value, if there is one. Traps for a value of another type.
  public func optional<Value>(_ type: Value.Type, of object: NSManagedObject) -> Value? {
    let found = isWhole(object) ? object.value(forKey: name) : object.primitiveValue(forKey: key)
    guard let found else { return nil }
    guard let value: Value = Self.adapted(found) else {
      stop(
        "\(Swift.type(of: object)).\(name) is declared as \(type), and the value of \(key) is a \(Swift.type(of: found))."
      )
    }
    return value
  }

  /// Sets the value, or makes it nil.
  public func set<Value>(_ value: Value?, of object: NSManagedObject) {
    var plain = value.map { Self.raw($0) }
    if let seconds = plain as? Double,
      object.entity.attributesByName[key]?.attributeType == .dateAttributeType
    {
      plain = Date(timeIntervalSinceReferenceDate: seconds)
    }
    if isWhole(object) {
      object.setValue(plain, forKey: name)
    } else {
      object.setPrimitiveValue(plain, forKey: key)
    }
  }

  private func isWhole(_ object: NSManagedObject) -> Bool { object.propertySlot(name) != nil }

  private static func raw(_ value: Any) -> Any {
    guard !(type(of: value) is AnyClass), let value = value as? any RawRepresentable else { return value }
    return rawValue(of: value)
  }

  private static func rawValue<Value: RawRepresentable>(of value: Value) -> Any { value.rawValue }

  private static func adapted<Value>(_ value: Any) -> Value? {
    if let value = FoundationCollections.unbridged(value, as: Value.self) { return value }
    if let type = Value.self as? any FixedWidthInteger.Type {
      if let number = value as? any BinaryInteger { return integer(type, number) as? Value }
      return (value as? NSNumber).flatMap { integer(type, $0.int64Value) } as? Value
    }
    if Value.self == Double.self, let date = value as? Date {
      return date.timeIntervalSinceReferenceDate as? Value
    }
    if let number = value as? NSNumber {
      if Value.self == Double.self { return number.doubleValue as? Value }
      if Value.self == Float.self { return number.floatValue as? Value }
      if Value.self == Bool.self { return number.boolValue as? Value }
    }
    if let type = Value.self as? any RawRepresentable.Type { return represented(type, value) as? Value }
    if let value = NSManagedAccessor.reference(value, as: Value.self) as? Value { return value }
    return FoundationCollections.bridged(value, as: Value.self)
  }

  private static func integer<Number: FixedWidthInteger>(_ type: Number.Type, _ value: some BinaryInteger)
    -> Number?
  {
    Number(exactly: value)
  }

  private static func represented<Represented: RawRepresentable>(_ type: Represented.Type, _ value: Any)
    -> Any?
  {
    (adapted(value) as Represented.RawValue?).flatMap { Represented(rawValue: $0) }
  }
}
