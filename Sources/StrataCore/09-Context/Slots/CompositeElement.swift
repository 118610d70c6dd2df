/// How a property of a struct is an element of a composite attribute. What `@Composite` writes calls this.
public enum CompositeElement<Value> {}

extension CompositeElement where Value: StoredAttribute {
  /// The element as the composite has it.
  public static func description(_ name: String) -> AttributeDescription {
    AttributeDescription(name, Value.attributeType, isOptional: false)
  }
  /// The property's value; nil when there is none.
  public static func value(_ stored: Any?) -> Value? {
    guard let stored = AttributeValue(stored, type: Value.attributeType) else { return nil }
    return Value(storedValue: stored)
  }
  /// The element's value.
  public static func stored(_ value: Value) -> Any? { value.storedValue.anyValue }
}

extension CompositeElement {
  /// The element as the composite has it.
  public static func description<Wrapped: StoredAttribute>(_ name: String) -> AttributeDescription
  where Value == Wrapped? { AttributeDescription(name, Wrapped.attributeType) }
  /// The property's value; nil, which is none, when it is of another type.
  public static func value<Wrapped: StoredAttribute>(_ stored: Any?) -> Value? where Value == Wrapped? {
    guard let stored else { return .some(nil) }
    return CompositeElement<Wrapped>.value(stored).map { .some($0) }
  }
  /// The element's value.
  public static func stored<Wrapped: StoredAttribute>(_ value: Value) -> Any? where Value == Wrapped? {
    value?.storedValue.anyValue
  }

  /// The element as the composite has it.
  public static func description(_ name: String) -> AttributeDescription
  where Value: RawRepresentable, Value.RawValue: StoredAttribute {
    CompositeElement<Value.RawValue>.description(name)
  }
  /// The value of the raw value; nil when there is none, or none that the type knows.
  public static func value(_ stored: Any?) -> Value?
  where Value: RawRepresentable, Value.RawValue: StoredAttribute {
    CompositeElement<Value.RawValue>.value(stored).flatMap { Value(rawValue: $0) }
  }
  /// The element's value.
  public static func stored(_ value: Value) -> Any?
  where Value: RawRepresentable, Value.RawValue: StoredAttribute { value.rawValue.storedValue.anyValue }

  /// The element as the composite has it.
  public static func description<Wrapped: RawRepresentable>(_ name: String) -> AttributeDescription
  where Value == Wrapped?, Wrapped.RawValue: StoredAttribute {
    CompositeElement<Wrapped.RawValue?>.description(name)
  }
  /// The value of the raw value; nil, which is none, for one that the type does not know.
  public static func value<Wrapped: RawRepresentable>(_ stored: Any?) -> Value?
  where Value == Wrapped?, Wrapped.RawValue: StoredAttribute {
    guard let stored else { return .some(nil) }
    return CompositeElement<Wrapped>.value(stored).map { .some($0) }
  }
  /// The element's value.
  public static func stored<Wrapped: RawRepresentable>(_ value: Value) -> Any?
  where Value == Wrapped?, Wrapped.RawValue: StoredAttribute { value?.rawValue.storedValue.anyValue }

  /// The element as the composite has it: a composite of its own.
  public static func description(_ name: String) -> AttributeDescription where Value: CompositeValue {
    CompositeAttributeDescription(name, elements: Value.elements, isOptional: false)
  }
  /// The property's value; nil when elements are missing.
  public static func value(_ stored: Any?) -> Value? where Value: CompositeValue {
    Value(elements: stored as? [String: Any] ?? [:])
  }
  /// The element's value.
  public static func stored(_ value: Value) -> Any? where Value: CompositeValue { value.elementValues }

  /// The element as the composite has it: a composite of its own that may be nil.
  public static func description<Wrapped: CompositeValue>(_ name: String) -> AttributeDescription
  where Value == Wrapped? { CompositeAttributeDescription(name, elements: Wrapped.elements) }
  /// The property's value; nil, which is none, when elements are missing though others are there.
  public static func value<Wrapped: CompositeValue>(_ stored: Any?) -> Value? where Value == Wrapped? {
    guard let stored else { return .some(nil) }
    return CompositeElement<Wrapped>.value(stored).map { .some($0) }
  }
  /// The element's value.
  public static func stored<Wrapped: CompositeValue>(_ value: Value) -> Any? where Value == Wrapped? {
    value?.elementValues
  }
}

/// What the compiler says of elements of other types. Never called.
extension CompositeElement {
  /// Refuses a type that no element has.
  @_disfavoredOverload
  @available(
    *, unavailable,
    message:
      "no element of a composite attribute holds this type: lists and other Codable types are attributes of their own"
  )
  public static func description(_ name: String) -> AttributeDescription { trap("unavailable") }
  /// Refuses a type that no element has.
  @_disfavoredOverload
  @available(
    *, unavailable,
    message:
      "no element of a composite attribute holds this type: lists and other Codable types are attributes of their own"
  )
  public static func value(_ stored: Any?) -> Value? { trap("unavailable") }
  /// Refuses a type that no element has.
  @_disfavoredOverload
  @available(
    *, unavailable,
    message:
      "no element of a composite attribute holds this type: lists and other Codable types are attributes of their own"
  )
  public static func stored(_ value: Value) -> Any? { trap("unavailable") }
}
