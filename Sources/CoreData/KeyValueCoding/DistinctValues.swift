import Foundation
import StrataCore

/// Values without those that are there twice: values are the same by what they are, whatever clothes they wear, everything else as its class
/// says.
///
/// Foundation on Linux cannot hash an `NSDecimalNumber`, and stops the process. So decimals are in sets as Swift's `Decimal`, and what has
/// decimals in it is a set of Swift's.
enum DistinctValues {
  /// By what an element is known; nil for what cannot be hashed.
  static func key(_ element: Any) -> AnyHashable? {
    if let value = AttributeValue(element, type: .undefined) { return AnyHashable(value) }
    return (element as? NSObject).map { AnyHashable($0) } ?? element as? AnyHashable
  }

  /// The element as a set may hold it.
  static func element(_ element: Any) -> AnyHashable? {
    if case .decimal(let number)? = AttributeValue(element, type: .undefined) { return AnyHashable(number) }
    return element as? AnyHashable
  }

  /// Each value once, in the order of their first appearances.
  static func list(_ values: [Any]) -> [Any] {
    var seen: Set<AnyHashable> = []
    return values.filter { value in
      guard let key = key(value) else {
        refuse("values of type \(type(of: value)) cannot be told apart.")
        return false
      }
      return seen.insert(key).inserted
    }
  }

  /// The values as an `NSSet`; as a `Set<AnyHashable>` where there are decimals among them.
  static func set(_ values: [Any]) -> Any {
    holdDecimals(values) ? Set(list(values).compactMap(element)) : NSSet(array: values)
  }

  /// The values, each once, as an `NSOrderedSet`; as an array where there are decimals among them.
  static func orderedSet(_ values: [Any]) -> Any {
    let distinct = list(values)
    return holdDecimals(distinct) ? distinct : NSOrderedSet(array: distinct)
  }

  private static func holdDecimals(_ values: [Any]) -> Bool {
    values.contains { value in
      if case .decimal? = AttributeValue(value, type: .undefined) { return true }
      return false
    }
  }
}
