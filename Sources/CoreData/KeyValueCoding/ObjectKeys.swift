import Foundation
import StrataCore

extension NSManagedObject {
  /// The values of `keys`, `NSNull` for nil.
  public func dictionaryWithValues(forKeys keys: [String]) -> [String: Any] {
    var result: [String: Any] = [:]
    for key in keys { result[key] = value(forKey: key) ?? NSNull() }
    return result
  }

  /// Sets every key, nil for `NSNull`.
  public func setValuesForKeys(_ keyedValues: [String: Any]) {
    for (key, value) in keyedValues { setValue(value is NSNull ? nil : value, forKey: key) }
  }

  /// The value of a key path: through relationships, the elements of composite attributes, collections and operators such as
  /// `items.@sum.price`.
  public func value(forKeyPath keyPath: String) -> Any? {
    // Elements of composite attributes are properties of their own.
    propertySlot(keyPath) != nil ? value(forKey: keyPath) : KeyPaths.value(path: keyPath, of: self)
  }

  /// Sets the value of a key path; of every member where it leads through a to-many relationship.
  public func setValue(_ value: Any?, forKeyPath keyPath: String) {
    if propertySlot(keyPath) != nil {
      setValue(value, forKey: keyPath)
    } else {
      KeyPaths.set(value, path: keyPath, of: self)
    }
  }

  /// The members of a to-many relationship as a set that edits the relationship.
  public func mutableSetValue(forKey key: String) -> NSMutableSet { RelationshipSet(self, key) }

  /// The same for the last key of a path.
  public func mutableSetValue(forKeyPath keyPath: String) -> NSMutableSet {
    let (owner, key) = lastOwner(keyPath)
    return owner.mutableSetValue(forKey: key)
  }

  /// The members of an ordered relationship as an ordered set that edits the relationship, and shows what is done to it elsewhere in the context.
  public func mutableOrderedSetValue(forKey key: String) -> NSMutableOrderedSet {
    RelationshipOrderedSet(self, key)
  }

  /// The same for the last key of a path.
  public func mutableOrderedSetValue(forKeyPath keyPath: String) -> NSMutableOrderedSet {
    let (owner, key) = lastOwner(keyPath)
    return owner.mutableOrderedSetValue(forKey: key)
  }

  /// The elements of an attribute that holds an array, as an array that edits the attribute. Relationships have
  /// `mutableSetValue(forKey:)` and `mutableOrderedSetValue(forKey:)`; others stop the process.
  public func mutableArrayValue(forKey key: String) -> NSMutableArray { AttributeArray(self, key) }

  /// The same for the last key of a path.
  public func mutableArrayValue(forKeyPath keyPath: String) -> NSMutableArray {
    let (owner, key) = lastOwner(keyPath)
    return owner.mutableArrayValue(forKey: key)
  }

  private func lastOwner(_ path: String) -> (NSManagedObject, String) {
    guard let dot = path.lastIndex(of: ".") else { return (self, path) }
    guard let owner = value(forKeyPath: String(path[..<dot])) as? NSManagedObject else {
      stop("\(path) does not lead to an object that has a relationship.")
    }
    return (owner, String(path[path.index(after: dot)...]))
  }

  /// The slot of a to-many relationship; traps for other keys.
  func toManySlot(_ key: String, isOrdered: Bool) -> Int {
    guard let relationship = entity.relationshipsByName[key], relationship.isToMany,
      relationship.isOrdered == isOrdered, let slot = propertySlot(key)
    else {
      stop(
        "\(entity.name ?? "?").\(key) is no \(isOrdered ? "ordered " : "unordered ")to-many relationship.")
    }
    return slot
  }
}
