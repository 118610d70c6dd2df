import Foundation

// Types that are protocols. On Apple's systems a cast to `NSCoding` or to a protocol of the application's makes an object of Foundation's of a number or a
// string. On Linux only a cast to a class does.

extension FoundationCollections {
  /// The object of Foundation's that stands for `value`, as a `Value`: for `Value`s that are protocols to which the object's class conforms. Of
  /// arrays and dictionaries the elements, each as it is or as its object. Nil where no cast would succeed on Apple's systems either.
  package static func bridged<Value>(_ value: Any, as type: Value.Type) -> Value? {
    if let collection = type as? any BridgedByElement.Type {
      // Not in one step: a cast of nil to an optional succeeds.
      guard let made = collection.bridged(value) else { return nil }
      return made as? Value
    }
    // A number is not to become a number of another type by way of its object.
    if type is any _ObjectiveCBridgeable.Type { return nil }
    guard let value = value as? any _ObjectiveCBridgeable else { return nil }
    let object: Any = value._bridgeToObjectiveC()
    guard let made = object as? Value, Swift.type(of: made as Any) == Swift.type(of: object) else {
      return nil
    }
    return made
  }
}

/// Types whose parts are cast one by one.
private protocol BridgedByElement {
  /// `value` with its parts as this type has them; nil when one is none of that type.
  static func bridged(_ value: Any) -> Self?
}

extension Array: BridgedByElement {
  fileprivate static func bridged(_ value: Any) -> [Element]? {
    guard let elements = value as? [Any] else { return nil }
    var made: [Element] = []
    for element in elements {
      guard let element = FoundationCollections.cast(element, as: Element.self) else { return nil }
      made.append(element)
    }
    return made
  }
}

extension Dictionary: BridgedByElement {
  fileprivate static func bridged(_ value: Any) -> [Key: Value]? {
    guard let entries = FoundationCollections.castable(value) as? [AnyHashable: Any] else { return nil }
    var made: [Key: Value] = [:]
    for (key, value) in entries {
      guard let key = FoundationCollections.cast(key.base, as: Key.self),
        let value = FoundationCollections.cast(value, as: Value.self)
      else { return nil }
      made[key] = value
    }
    return made
  }
}

extension Optional: BridgedByElement {
  fileprivate static func bridged(_ value: Any) -> Wrapped?? {
    FoundationCollections.cast(value, as: Wrapped.self).map { .some($0) }
  }
}
