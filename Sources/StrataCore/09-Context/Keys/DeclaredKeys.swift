import Foundation

/// What the classes of one module declare in Swift and key-value coding finds by name: properties, and methods that check a value.
///
/// The build plugin `CoreDataPlugin` writes them, since no Objective-C runtime could look for them. Not for hand-written code.
public struct DeclaredKeys: Sendable {
  /// By class.
  private(set) var properties: [ObjectIdentifier: [String: DeclaredProperty]] = [:]
  private(set) var validators: [ObjectIdentifier: [ValueValidator]] = [:]
  /// By class and key, the key paths that the key's value is made of.
  private(set) var affecting: [ObjectIdentifier: [String: Set<String>]] = [:]

  init() {}

  /// Says that objects of the class have a property `name`, which can be set when the key path can write.
  public mutating func add<Object: ManagedObject, Value>(
    _ name: String, _ path: any KeyPath<Object, Value> & Sendable
  ) {
    properties[ObjectIdentifier(Object.self), default: [:]][name] = DeclaredProperty(name, path)
  }

  /// Says that a method of the class checks values of the property `key`, and may replace them: Core Data's `validate<Key>(_:)`.
  public mutating func addValidation<Object: ManagedObject>(
    _ key: String, _ check: @escaping @Sendable (Object, UnsafeMutablePointer<AnyObject?>) throws -> Void
  ) {
    let validator = ValueValidator(key) { (object: Object, value: inout Any?) in
      // What is no object of a class is handed over as one: see `validateValue(_:forKey:)`.
      var boxed = ManagedObject.boxed(value)
      let before = boxed
      try check(object, &boxed)
      if boxed !== before { value = boxed.map { $0 } }
    }
    validators[ObjectIdentifier(Object.self), default: []].append(validator)
  }

  /// Says that the value of the property `key` is made of what the key paths lead to: `keyPathsForValuesAffecting<Key>()`.
  public mutating func add<Object: ManagedObject>(
    affecting key: String, of type: Object.Type, _ paths: Set<String>
  ) {
    affecting[ObjectIdentifier(type), default: [:]][key] = paths
  }
}

/// The keys of a module's classes: the plugin writes one subclass of the name `NSManagedKeys` into each module.
open class DeclaredKeyTable {
  /// Adds the keys of all classes of the module.
  open class func declare(in keys: inout DeclaredKeys) {}
}

/// One property that a class declares in Swift.
struct DeclaredProperty: Sendable {
  let read: @Sendable (ManagedObject) -> Any?
  /// Nil for a property that cannot be set. Answers false for a value of another type.
  let write: (@Sendable (ManagedObject, Any?) -> Bool)?
  /// Whether the Objective-C runtime could find it: only then does it stand before an attribute of the same name.
  let isRepresentable: Bool
  let valueType: Any.Type

  init<Object: ManagedObject, Value>(_ name: String, _ path: any KeyPath<Object, Value> & Sendable) {
    valueType = Value.self
    isRepresentable = Self.isRepresentable(Value.self)
    read = { object in
      guard let object = object as? Object else {
        trap("the property \(Object.self).\(name) is asked of \(object).")
      }
      return Self.plain(object[keyPath: path])
    }
    guard let writable = path as? ReferenceWritableKeyPath<Object, Value> else {
      write = nil
      return
    }
    // Safe: a key path without subscripts, as the plugin writes them, is a constant.
    nonisolated(unsafe) let constant = writable
    write = { object, value in
      guard let object = object as? Object, let value: Value = Self.convert(value) else { return false }
      object[keyPath: constant] = value
      return true
    }
  }

  /// Nil for an empty optional of any depth. An enumeration of integers is its raw value: that is what the Objective-C runtime knows of it.
  private static func plain(_ value: Any) -> Any? {
    if let optional = value as? any MaybeValue { return optional.content.flatMap { plain($0) } }
    guard !(type(of: value) is AnyObject.Type), let value = value as? any RawRepresentable else {
      return value
    }
    return number(of: value)
  }

  private static func number<Value: RawRepresentable>(of value: Value) -> Any {
    value.rawValue is any BinaryInteger ? value.rawValue : value
  }

  /// The value that a number stands for; nil where the number or the type has none.
  private static func represented<Value: RawRepresentable>(_ type: Value.Type, _ value: any BinaryInteger)
    -> Any?
  {
    guard let raw = Value.RawValue.self as? any BinaryInteger.Type, let number = exactly(raw, value),
      let number = number as? Value.RawValue
    else { return nil }
    return Value(rawValue: number)
  }

  private static func convert<Value>(_ value: Any?) -> Value? {
    guard let value else { return (Value.self as? any MaybeValue.Type)?.nothing as? Value }
    if let value = value as? Value { return value }
    let wanted = (Value.self as? any MaybeValue.Type)?.wrappedType ?? Value.self
    if let type = wanted as? any BinaryInteger.Type, let integer = value as? any BinaryInteger {
      // A number that does not fit is no value; cast to an optional, it would be one.
      return exactly(type, integer).flatMap { $0 as? Value }
    }
    if let type = wanted as? any RawRepresentable.Type, let integer = integer(value) {
      return represented(type, integer).flatMap { $0 as? Value }
    }
    if let type = wanted as? any BinaryFloatingPoint.Type {
      if let number = value as? any BinaryFloatingPoint { return nearest(type, number) as? Value }
      if let number = value as? any BinaryInteger { return nearest(type, number) as? Value }
    }
    return nil
  }

  /// An integer, also one in an `NSNumber`.
  private static func integer(_ value: Any) -> (any BinaryInteger)? {
    value as? any BinaryInteger ?? value as? Int64 ?? value as? UInt64
  }

  private static func exactly<Number: BinaryInteger>(_ type: Number.Type, _ value: any BinaryInteger)
    -> Number?
  {
    Number(exactly: value)
  }

  private static func nearest<Number: BinaryFloatingPoint>(
    _ type: Number.Type, _ value: any BinaryFloatingPoint
  ) -> Number { Number(value) }

  private static func nearest<Number: BinaryFloatingPoint>(
    _ type: Number.Type, _ value: any BinaryInteger
  ) -> Number { Number(value) }

  private static func isRepresentable(_ type: Any.Type) -> Bool {
    if let optional = type as? any MaybeValue.Type { return isRepresentable(optional.wrappedType) }
    if let collection = type as? any ValueCollection.Type {
      return collection.parts.allSatisfy(isRepresentable)
    }
    return type is AnyObject.Type || type is any BinaryInteger.Type || type is any BinaryFloatingPoint.Type
      || type == Bool.self || type == String.self || type == Date.self || type == Data.self
      || type == UUID.self
      || type == URL.self || type == Decimal.self || type == Any.self || type == AnyObject.self
  }
}

/// An optional, whatever it holds.
private protocol MaybeValue {
  static var wrappedType: Any.Type { get }
  static var nothing: Any { get }
  var content: Any? { get }
}

extension Optional: MaybeValue {
  static var wrappedType: Any.Type { Wrapped.self }
  static var nothing: Any { Self.none as Any }
  var content: Any? { map { $0 as Any } }
}

/// A collection, whatever it holds.
private protocol ValueCollection {
  static var parts: [Any.Type] { get }
}

extension Array: ValueCollection { static var parts: [Any.Type] { [Element.self] } }
extension Set: ValueCollection { static var parts: [Any.Type] { [Element.self] } }
extension Dictionary: ValueCollection { static var parts: [Any.Type] { [Key.self, Value.self] } }
