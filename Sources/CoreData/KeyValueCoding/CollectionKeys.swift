import Foundation
import StrataCore

// Key-value coding of collections: the values of all members.

extension NSArray {
  /// The values of all members, `NSNull` for nil; `@count` the number of members.
  public func value(forKey key: String) -> Any { KeyPaths.value(key, of: self) ?? NSNull() }
  /// The value of a key path, operators such as `@sum.price` included.
  public func value(forKeyPath keyPath: String) -> Any? { KeyPaths.value(path: keyPath, of: self) }
  /// Sets the key of every member.
  public func setValue(_ value: Any?, forKey key: String) { KeyPaths.set(value, key, of: self) }
}

extension NSSet {
  /// The set of the values of all members.
  public func value(forKey key: String) -> Any { KeyPaths.value(key, of: self) ?? NSNull() }
  /// The value of a key path, operators such as `@sum.price` included.
  public func value(forKeyPath keyPath: String) -> Any? { KeyPaths.value(path: keyPath, of: self) }
  /// Sets the key of every member.
  public func setValue(_ value: Any?, forKey key: String) { KeyPaths.set(value, key, of: self) }
}

extension NSOrderedSet {
  /// The ordered set of the values of all members, `NSNull` for nil; an array where there are decimals among them.
  public func value(forKey key: String) -> Any { KeyPaths.value(key, of: self) ?? NSNull() }
  /// The value of a key path, operators such as `@sum.price` included.
  public func value(forKeyPath keyPath: String) -> Any? { KeyPaths.value(path: keyPath, of: self) }
  /// Sets the key of every member.
  public func setValue(_ value: Any?, forKey key: String) { KeyPaths.set(value, key, of: self) }
}

extension NSDictionary {
  /// The value of a key path.
  public func value(forKeyPath keyPath: String) -> Any? { KeyPaths.value(path: keyPath, of: self) }
}

extension NSMutableDictionary {
  /// Sets `key`; takes it away for nil.
  public func setValue(_ value: Any?, forKey key: String) { self[key] = value }
}
