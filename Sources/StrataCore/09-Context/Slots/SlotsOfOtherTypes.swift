import Foundation

// Properties whose values an attribute holds in another form: raw values, composites, JSON.

/// A value that is stored in the elements of a composite attribute. `@Composite` writes the conformance for a struct.
public protocol CompositeValue: Sendable {
  /// The composite's elements, in order. Asked each time a model is made.
  static var elements: [AttributeDescription] { get }
  /// The value that the elements make; nil when one is missing that cannot be.
  init?(elements: [String: Any])
  /// The elements by name, without those that are nil.
  var elementValues: [String: Any] { get }
}

// MARK: Raw values

extension SlotDeclaring where Self: ManagedObject {
  /// The value whose raw value the attribute holds. Where there is none, and for a raw value that the type does not know (which is told as other
  /// unreadable values are): the default value, or else the first case.
  public func read<Value: RawRepresentable>(_ slot: borrowing Slot<Self, Value>) -> Value
  where Value.RawValue: StoredAttribute {
    if let value: Value = rawValue(slot.property) { return value }
    return absent(slot.property) {
      Value.RawValue(storedValue: $0).flatMap { Value(rawValue: $0) }
    }
  }

  /// The value whose raw value the attribute holds, or nil. Nil, and told, for a raw value that the type does not know.
  public func read<Value: RawRepresentable>(_ slot: borrowing Slot<Self, Value?>) -> Value?
  where Value.RawValue: StoredAttribute {
    rawValue(slot.property)
  }

  /// Sets the attribute to the raw value.
  public func write<Value: RawRepresentable>(_ value: Value, _ slot: borrowing Slot<Self, Value>)
  where Value.RawValue: StoredAttribute {
    Value.RawValue.write(value.rawValue, slot.property, of: self)
  }

  /// Sets the attribute to the raw value, or makes it nil.
  public func write<Value: RawRepresentable>(_ value: Value?, _ slot: borrowing Slot<Self, Value?>)
  where Value.RawValue: StoredAttribute {
    Value.RawValue.write(value?.rawValue, slot.property, of: self)
  }
}

// MARK: Composites

extension SlotDeclaring where Self: ManagedObject {
  /// The composite's value, or what stands for none.
  public func read<Value: CompositeValue>(_ slot: borrowing Slot<Self, Value>) -> Value {
    if let value: Value = compositeValue(slot.property) { return value }
    return absentComposite(slot.property)
  }

  /// The composite's value; nil when no element has one.
  public func read<Value: CompositeValue>(_ slot: borrowing Slot<Self, Value?>) -> Value? {
    compositeValue(slot.property)
  }

  /// Sets every element.
  public func write<Value: CompositeValue>(_ value: Value, _ slot: borrowing Slot<Self, Value>) {
    write(value: value.elementValues, slot: slot.property.slot(in: self))
  }

  /// Sets every element, to nil for nil.
  public func write<Value: CompositeValue>(_ value: Value?, _ slot: borrowing Slot<Self, Value?>) {
    write(value: value?.elementValues, slot: slot.property.slot(in: self))
  }
}

// MARK: Codable

extension SlotDeclaring where Self: ManagedObject {
  /// The value that the transformable attribute holds, or what stands for none.
  @_disfavoredOverload
  public func read<Value: Codable>(_ slot: borrowing Slot<Self, Value>) -> Value {
    if let value: Value = transformed(slot.property) { return value }
    return absent(slot.property) { _ in nil }
  }

  /// The value that the transformable attribute holds, or nil.
  @_disfavoredOverload
  public func read<Value: Codable>(_ slot: borrowing Slot<Self, Value?>) -> Value? {
    transformed(slot.property)
  }

  /// Sets the transformable attribute.
  @_disfavoredOverload
  public func write<Value: Codable>(_ value: Value, _ slot: borrowing Slot<Self, Value>) {
    write(transformed: value, slot: slot.property.slot(in: self))
  }

  /// Sets the transformable attribute, or makes it nil.
  @_disfavoredOverload
  public func write<Value: Codable>(_ value: Value?, _ slot: borrowing Slot<Self, Value?>) {
    write(transformed: value, slot: slot.property.slot(in: self))
  }
}

// MARK: Transient values of any type

extension SlotDeclaring where Self: ManagedObject {
  /// The transient attribute, or what stands for none.
  public func readTransient<Value: StoredAttribute>(_ slot: borrowing Slot<Self, Value>) -> Value {
    read(slot)
  }
  /// The transient attribute, or nil.
  public func readTransient<Value: StoredAttribute>(_ slot: borrowing Slot<Self, Value?>) -> Value? {
    read(slot)
  }
  /// Sets the transient attribute.
  public func writeTransient<Value: StoredAttribute>(_ value: Value, _ slot: borrowing Slot<Self, Value>) {
    write(value, slot)
  }
  /// Sets the transient attribute, or makes it nil.
  public func writeTransient<Value: StoredAttribute>(_ value: Value?, _ slot: borrowing Slot<Self, Value?>) {
    write(value, slot)
  }

  /// The transient attribute of a type that no store keeps, or its default value. Traps when there is neither.
  @_disfavoredOverload
  public func readTransient<Value>(_ slot: borrowing Slot<Self, Value>) -> Value {
    let place = slot.property.slot(in: self)
    let found = readValue(slot: place)
    // Nothing is nil, of a type that has it.
    let made: Value?
    if let found {
      made = FoundationCollections.cast(found, as: Value.self)
    } else {
      made = Any?.none as? Value
    }
    if let made { return made }
    // Nil that was set, in the place of a default value.
    if found is NSNull, let none = Any?.none as? Value { return none }
    let attribute = home.entity.entityDescription.slotDescriptions[place].property as? AttributeDescription
    if let value = attribute?.declaredDefault as? Value { return value }
    return absent(slot.property) { _ in Any?.none as? Value }
  }

  /// Sets the transient attribute of a type that no store keeps.
  @_disfavoredOverload
  public func writeTransient<Value>(_ value: Value, _ slot: borrowing Slot<Self, Value>) {
    write(value: isNilValue(value) ? NSNull() : value, slot: slot.property.slot(in: self))
  }
}

// MARK: Shared steps

extension ManagedObject {
  fileprivate final func rawValue<Value: RawRepresentable>(_ property: borrowing PropertyReference) -> Value?
  where Value.RawValue: StoredAttribute {
    if isProbe {
      let stored = home.entity.attributes[property.slot(in: self)].defaultValue
      return probed(property, Value.RawValue(storedValue: stored).flatMap { Value(rawValue: $0) })
    }
    guard let raw = Value.RawValue.read(property, of: self) else { return nil }
    if let value = Value(rawValue: raw) { return value }
    return reportUnfit(property.name.description, "\(raw)", Value.self)
  }

  fileprivate final func compositeValue<Value: CompositeValue>(_ property: borrowing PropertyReference)
    -> Value?
  {
    if isProbe {
      noteOpaqueRead(property)
      guard let recording = ProbeRecording.current else { return nil }
      let elements = CompositeSamples.elements(of: Value.self, recording.round)
      let value = Value(elements: elements)
      recording.wholeType = Value.self
      recording.composite = value == nil ? nil : elements
      return value
    }
    guard let elements = readValue(slot: property.slot(in: self)) as? [String: Any] else { return nil }
    if let value = Value(elements: elements) { return value }
    return reportUnfit(property.name.description, "\(elements.keys.sorted())", Value.self)
  }

  fileprivate final func transformed<Value>(_ property: borrowing PropertyReference) -> Value? {
    if isProbe {
      ProbeRecording.current?.wholeType = Value.self
      let slot = property.slot(in: self)
      let attribute = home.entity.entityDescription.slotDescriptions[slot].property as? AttributeDescription
      return probed(property, attribute?.defaultValue as? Value)
    }
    guard let value = readTransformed(slot: property.slot(in: self)) else { return nil }
    if let value = FoundationCollections.cast(value, as: Value.self) { return value }
    return reportUnfit(property.name.description, "\(Swift.type(of: value))", Value.self)
  }

  /// Tells that the stored value is none of the property's type: it stays as it is, the property shows none.
  final func reportUnfit<Value>(_ name: String, _ stored: String, _ type: Value.Type) -> Value? {
    let entity = home.token.entityName
    let key = state.contains(.probe) ? ProbeRecording.current?.subject?.primaryKey : primaryKey
    let record = key.map { " of p\($0)" } ?? ""
    _ = reported {
      throw CoreDataError(
        .coreData, "The stored value \(stored) of \(entity).\(name)\(record) is no \(Value.self).",
        userInfo: [CoreDataError.Key.validationKey: name])
    }
    return nil
  }

  /// What a property shows that has no value and cannot be nil: its default value, or the first and emptiest value of its type.
  fileprivate final func absent<Value>(
    _ property: borrowing PropertyReference, _ make: (AttributeValue) -> Value?
  ) -> Value {
    let slot = property.slot(in: self)
    let attribute = home.entity.entityDescription.slotDescriptions[slot].property as? AttributeDescription
    // A type that has nil can be read by the way of those that have none.
    if let none = Any?.none as? Value { return none }
    if let value = attribute?.defaultValue as? Value { return value }
    if let value = make(home.entity.attributes[slot].defaultValue) ?? EmptyValues.first(of: Value.self) {
      return value
    }
    return unreadable(property)
  }

  /// The same of a composite attribute, whose elements have the default values.
  fileprivate final func absentComposite<Value: CompositeValue>(_ property: borrowing PropertyReference)
    -> Value
  {
    let slot = property.slot(in: self)
    let attribute = home.entity.entityDescription.slotDescriptions[slot].property
    let defaults = CompositeSamples.defaults(
      of: (attribute as? CompositeAttributeDescription)?.elements ?? [])
    if let value = Value(elements: defaults) ?? Value(elements: [:]) { return value }
    return unreadable(property)
  }

  /// What is shown where nothing stands for none: something that means nothing, where a reading is under way that throws in its place, or a key path is followed.
  private final func unreadable<Value>(_ property: borrowing PropertyReference) -> Value {
    let name = "\(home.token.entityName).\(property.name)"
    let isFollowed = isProbe
    if isFollowed || ValueReading.current != nil, let value = EmptyValues.placeholder(of: Value.self) {
      if !isFollowed {
        let isRow = state.contains(.probe)
        let key = isRow ? ProbeRecording.current?.subject?.primaryKey : primaryKey
        ValueReading.current?.fail(
          CoreDataError(
            .coreData,
            "\(name)\(key.map { " of p\($0)" } ?? "") has no value that can be read, and nothing stands for none of type \(Value.self): give the attribute "
              + "a default value, or make it optional.",
            userInfo: [CoreDataError.Key.validationKey: property.name.description]))
      }
      return value
    }
    trap(
      "\(name) has no value, and nothing stands for none of type \(Value.self): give the attribute a default value, or make it optional."
    )
  }

  /// Whether the object is one on which a key path is followed.
  final var isProbe: Bool { state.contains(.probe) && ProbeRecording.current?.isReplaying != true }

  /// Notes that a probe's property is read whose values no probe can be given.
  final func noteOpaqueRead(_ property: borrowing PropertyReference) {
    ProbeRecording.current?.noteOpaque(property.slot(in: self), of: self)
  }

  /// What a property of a probe shows whose values no probe can be given: the read is noted, and what is shown means nothing.
  private final func probed<Value>(_ property: borrowing PropertyReference, _ defaultValue: Value?) -> Value?
  {
    noteOpaqueRead(property)
    return defaultValue ?? EmptyValues.first(of: Value.self) ?? EmptyValues.placeholder(of: Value.self)
  }
}
