// What the compiler says of slots that nothing can be stored in. Never called: without these, it would name a protocol that the type happens to lack.

extension Slot {
  /// Refuses a relationship that is declared as an attribute.
  @available(
    *, unavailable, message: "objects are related, not stored: write @Relationship (by hand: relationship())"
  )
  public borrowing func attribute<Other: ManagedObject>(
    default value: Other? = nil, _ options: AttributeOption...
  ) -> PropertyDeclaration where Value == Other? { trap("unavailable") }

  /// Refuses a relationship that is declared as an attribute.
  @available(
    *, unavailable, message: "objects are related, not stored: write @Relationship (by hand: relationship())"
  )
  public borrowing func attribute<Other: ManagedObject>(
    default value: [Other] = [], _ options: AttributeOption...
  ) -> PropertyDeclaration where Value == [Other] { trap("unavailable") }

  /// Refuses a relationship that is declared as an attribute.
  @available(
    *, unavailable, message: "objects are related, not stored: write @Relationship (by hand: relationship())"
  )
  public borrowing func attribute<Other: ManagedObject>(
    default value: Set<Other> = [], _ options: AttributeOption...
  ) -> PropertyDeclaration where Value == Set<Other> { trap("unavailable") }

  /// Refuses a type that no attribute holds.
  @_disfavoredOverload
  @available(
    *, unavailable,
    message:
      "no attribute holds this type: make it Codable, Hashable and Sendable, or an enum with a raw value; objects need @Relationship"
  )
  public borrowing func attribute(default value: Value? = nil, _ options: AttributeOption...)
    -> PropertyDeclaration
  { trap("unavailable") }
}

extension SlotDeclaring where Self: ManagedObject {
  /// Refuses a type that no attribute holds.
  @_disfavoredOverload
  @available(
    *, unavailable,
    message:
      "no attribute holds this type: make it Codable, Hashable and Sendable, or an enum with a raw value; objects need @Relationship"
  )
  public func read<Value>(_ slot: borrowing Slot<Self, Value>) -> Value { trap("unavailable") }

  /// Refuses a type that no attribute holds.
  @_disfavoredOverload
  @available(
    *, unavailable,
    message:
      "no attribute holds this type: make it Codable, Hashable and Sendable, or an enum with a raw value; objects need @Relationship"
  )
  public func write<Value>(_ value: Value, _ slot: borrowing Slot<Self, Value>) { trap("unavailable") }
}

extension KeyedEncodingContainer {
  /// Refuses a type that no attribute holds.
  /// - Throws: nothing; it cannot be called.
  @_disfavoredOverload
  @available(*, unavailable, message: "no attribute holds this type")
  public mutating func encodeProperty<Value>(_ value: Value, _ key: Key) throws { trap("unavailable") }

  /// Refuses a type that no attribute holds.
  /// - Throws: nothing; it cannot be called.
  @_disfavoredOverload
  @available(*, unavailable, message: "no attribute holds this type")
  public mutating func encodeOptional<Value>(_ value: Value?, _ key: Key) throws { trap("unavailable") }
}

extension KeyedDecodingContainer {
  /// Refuses a type that no attribute holds.
  /// - Throws: nothing; it cannot be called.
  @_disfavoredOverload
  @available(*, unavailable, message: "no attribute holds this type")
  public func decodeProperty<Value>(_ key: Key, absent: @autoclosure () -> Value? = nil) throws -> Value {
    trap("unavailable")
  }

  /// Refuses a type that no attribute holds.
  /// - Throws: nothing; it cannot be called.
  @_disfavoredOverload
  @available(*, unavailable, message: "no attribute holds this type")
  public func decodeOptional<Value>(_ key: Key, absent: @autoclosure () -> Value? = nil) throws -> Value? {
    trap("unavailable")
  }
}
