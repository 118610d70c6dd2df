import Foundation

/// Foundation's sets and dictionaries, subclasses included, as Swift's collections.
///
/// On Linux a cast to `Set` or `Dictionary` succeeds with an EMPTY one for an instance of most subclasses of `NSSet` and `NSDictionary`:
/// `NSCountedSet`, the set that stands for a relationship, classes of the application. So what an application hands over is asked here before it
/// is cast to one. Casts to arrays are right for every `NSArray`.
package enum FoundationCollections {
  /// The members of a set, ordered or not, or the elements of an array; nil for anything else.
  package static func elements(of value: Any) -> [Any]? {
    switch instance(in: value) {
    case let set as NSOrderedSet: return set.array
    case let set as NSSet: return set.allObjects
    default: break
    }
    switch value {
    case let array as [Any]: return array
    case let set as Set<AnyHashable>: return set.map(\.base)
    default: return nil
    }
  }

  /// What may be cast to a `Set` or a `Dictionary`: `value` itself, or the contents of an instance of a subclass of `NSSet` or `NSDictionary`.
  package static func castable(_ value: Any) -> Any {
    switch instance(in: value) {
    case let set as NSSet where type(of: set) != NSSet.self && type(of: set) != NSMutableSet.self:
      NSSet(array: set.allObjects)
    case let dictionary as NSDictionary
    where type(of: dictionary) != NSDictionary.self && type(of: dictionary) != NSMutableDictionary.self:
      entries(of: dictionary)
    default: value
    }
  }

  /// `value` as a `Value`: a cast that is right for sets and dictionaries, too, and for protocols that Foundation's classes conform to.
  package static func cast<Value>(_ value: Any, as type: Value.Type) -> Value? {
    if let value = unbridged(value, as: type) { return value }
    return bridged(value, as: type)
  }

  /// `value` as a `Value`, if it is one or holds what fills one: no object is made of a number or a string for the sake of a protocol.
  package static func unbridged<Value>(_ value: Any, as type: Value.Type) -> Value? {
    guard Swift.type(of: value) is NSObject.Type, type is any FilledByCasts.Type else {
      return value as? Value
    }
    return castable(value) as? Value
  }

  private static func entries(of dictionary: NSDictionary) -> [AnyHashable: Any] {
    var entries = [AnyHashable: Any](minimumCapacity: dictionary.count)
    for key in dictionary.allKeys {
      // Foundation's texts become Swift's, by which entries are looked up; whatever else is a key of Foundation's is hashable.
      let name = (key as? String).map { AnyHashable($0) } ?? key as? AnyHashable
      if let name { entries[name] = dictionary.object(forKey: key) }
    }
    return entries
  }

  /// Whether `value` is one of Foundation's objects, whatever optionals it lies in.
  package static func isInstance(_ value: Any) -> Bool { instance(in: value) != nil }

  /// The object itself; nil for a value of a Swift type, of which a cast would make one, element by element.
  private static func instance(in value: Any) -> NSObject? {
    if type(of: value) is NSObject.Type { return value as? NSObject }
    guard let inner = (value as? any OptionalValue)?.anyValue else { return nil }
    return instance(in: inner)
  }
}

/// Swift's collections that a cast fills with what one of Foundation's holds.
private protocol FilledByCasts {}

extension Set: FilledByCasts {}
extension Dictionary: FilledByCasts {}
extension Optional: FilledByCasts where Wrapped: FilledByCasts {}
