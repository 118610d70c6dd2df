import Foundation

/// What an object is, as a value: its stored attributes and the IDs of the objects it is related to. `@Managed` writes one for each class, `Book.Value`.
///
///     let value = book.value                    // may go to any actor, into a file, over a network
///     let copy = try context.insert(value)
///     try book.apply(value)
///
/// Derived, transient and fetched properties are no part of it.
public protocol ManagedValue: Sendable, Codable, Hashable {
  /// The class of the objects.
  associatedtype Object: ManagedObject
  /// The values that `object` has now. Fires its fault. On the object's queue.
  init(_ object: Object)
  /// Makes a new object without values in `context`.
  static func makeObject(in context: ManagedObjectContext) -> Object
  /// Sets the properties of `object` that have other values. On the object's queue.
  /// - Throws: what `relate(_:to:)` throws, for an ID of an object that is not there.
  func write(to object: Object) throws
}

extension ManagedObjectContext {
  /// Makes a new object with the values of `value` and inserts it. On the context's queue.
  /// - Throws: an error of `existingObject(with:)` when an object that it is to be related to is not there; nothing is inserted then.
  @discardableResult
  public func insert<Value: ManagedValue>(_ value: Value) throws -> Value.Object {
    let object = Value.makeObject(in: self)
    do {
      try value.write(to: object)
    } catch {
      delete(object)
      throw error
    }
    return object
  }
}

extension SlotDeclaring where Self: ManagedObject {
  /// Sets the properties that have other values than `value` says; those that are the same do not count as changed. On the object's queue.
  /// - Throws: an error of `existingObject(with:)` when an object that this one is to be related to is not there; what was set before stays set.
  public func apply<Value: ManagedValue>(_ value: Value) throws where Value.Object == Self {
    try value.write(to: self)
  }

  /// The ID of the object at the other end; makes no object.
  public func identifier<Other: ManagedObject>(_ slot: borrowing Slot<Self, Other?>) -> ManagedObjectID? {
    objectIDs(forRelationshipNamed: slot.name).first
  }
  /// The IDs of the members; makes no objects.
  public func identifiers<Other: ManagedObject>(_ slot: borrowing Slot<Self, Set<Other>>) -> Set<
    ManagedObjectID
  > {
    Set(objectIDs(forRelationshipNamed: slot.name))
  }
  /// The IDs of the members in order; makes no objects.
  public func identifiers<Other: ManagedObject>(_ slot: borrowing Slot<Self, [Other]>) -> [ManagedObjectID] {
    objectIDs(forRelationshipNamed: slot.name)
  }

  /// Relates the object to the one with the ID, or to none.
  /// - Throws: an error of `existingObject(with:)` when there is no such object.
  public func relate<Other: ManagedObject>(_ slot: borrowing Slot<Self, Other?>, to id: ManagedObjectID?)
    throws
  {
    if identifier(slot) == id { return }
    write(try id.map { try related($0, slot.name) }, slot)
  }
  /// Relates the object to those with the IDs, and to no others.
  /// - Throws: an error of `existingObject(with:)` when one is not there.
  public func relate<Other: ManagedObject>(
    _ slot: borrowing Slot<Self, Set<Other>>, to ids: Set<ManagedObjectID>
  ) throws {
    if identifiers(slot) == ids { return }
    write(Set(try ids.map { try related($0, slot.name) as Other }), slot)
  }
  /// Relates the object to those with the IDs, in this order, and to no others.
  /// - Throws: an error of `existingObject(with:)` when one is not there.
  public func relate<Other: ManagedObject>(_ slot: borrowing Slot<Self, [Other]>, to ids: [ManagedObjectID])
    throws
  {
    if identifiers(slot) == ids { return }
    write(try ids.map { try related($0, slot.name) as Other }, slot)
  }

  private func related<Other: ManagedObject>(_ id: ManagedObjectID, _ name: String) throws -> Other {
    guard let context = managedObjectContext else {
      throw CoreDataError(
        .coreData,
        "\(entityName).\(name) cannot lead to \(id): the object is in no context that could have it.")
    }
    let object = try context.existingObject(with: id)
    guard let typed = object as? Other else {
      throw CoreDataError(
        .managedObjectValidation,
        "\(entityName).\(name) leads to objects of class \(Other.self), and \(id) is none.")
    }
    return typed
  }
}

extension ManagedObject {
  /// Whether the property has a value: a property that cannot be nil shows something where it has none. Fires a fault. Traps for an unknown key.
  public final func hasValue(forKey key: String) -> Bool {
    guard let slot = home.entity.slot(named: key) else {
      trap("entity \(home.token.entityName) has no property “\(key)”.")
    }
    return readValue(slot: slot) != nil
  }
}

// MARK: Coding

/// How the values of properties are coded: raw values as they are, everything else in its own way. What `@Managed` writes calls this.
extension KeyedEncodingContainer {
  /// Encodes an attribute.
  /// - Throws: what the encoder throws.
  @_disfavoredOverload
  public mutating func encodeProperty<Value: Encodable>(_ value: Value, _ key: Key) throws {
    try encode(value, forKey: key)
  }
  /// Encodes an attribute that may be nil; nothing for nil.
  /// - Throws: what the encoder throws.
  @_disfavoredOverload
  public mutating func encodeOptional<Value: Encodable>(_ value: Value?, _ key: Key) throws {
    try encodeIfPresent(value, forKey: key)
  }
  /// Encodes the raw value.
  /// - Throws: what the encoder throws.
  public mutating func encodeProperty<Value: RawRepresentable>(_ value: Value, _ key: Key) throws
  where Value.RawValue: Encodable { try encode(value.rawValue, forKey: key) }
  /// Encodes the raw value; nothing for nil.
  /// - Throws: what the encoder throws.
  public mutating func encodeOptional<Value: RawRepresentable>(_ value: Value?, _ key: Key) throws
  where Value.RawValue: Encodable { try encodeIfPresent(value?.rawValue, forKey: key) }
}

extension KeyedDecodingContainer {
  /// Decodes an attribute; `absent` where the key is not there.
  /// - Throws: `DecodingError` for a missing key without `absent`, and for a value of another type.
  @_disfavoredOverload
  public func decodeProperty<Value: Decodable>(_ key: Key, absent: @autoclosure () -> Value? = nil) throws
    -> Value
  {
    if !contains(key), let value = absent() { return value }
    return try decode(Value.self, forKey: key)
  }
  /// Decodes an attribute that may be nil; `absent` where the key is not there.
  /// - Throws: `DecodingError` for a value of another type.
  @_disfavoredOverload
  public func decodeOptional<Value: Decodable>(_ key: Key, absent: @autoclosure () -> Value? = nil) throws
    -> Value?
  {
    contains(key) ? try decodeIfPresent(Value.self, forKey: key) : absent()
  }
  /// Decodes a raw value; `absent` where the key is not there.
  /// - Throws: `DecodingError` for a missing key without `absent`, and for a raw value that the type does not know.
  public func decodeProperty<Value: RawRepresentable>(_ key: Key, absent: @autoclosure () -> Value? = nil)
    throws -> Value
  where Value.RawValue: Decodable {
    if !contains(key), let value = absent() { return value }
    return try known(try decode(Value.RawValue.self, forKey: key), key)
  }
  /// Decodes a raw value that may be nil; `absent` where the key is not there.
  /// - Throws: `DecodingError` for a raw value that the type does not know.
  public func decodeOptional<Value: RawRepresentable>(_ key: Key, absent: @autoclosure () -> Value? = nil)
    throws -> Value?
  where Value.RawValue: Decodable {
    guard contains(key) else { return absent() }
    return try decodeIfPresent(Value.RawValue.self, forKey: key).map { try known($0, key) }
  }

  private func known<Value: RawRepresentable>(_ raw: Value.RawValue, _ key: Key) throws -> Value {
    if let value = Value(rawValue: raw) { return value }
    throw DecodingError.dataCorruptedError(
      forKey: key, in: self, debugDescription: "\(raw) is no raw value of \(Value.self)")
  }
}
