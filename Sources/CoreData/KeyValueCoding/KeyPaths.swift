import Foundation
import StrataCore

/// Key paths of key-value coding: names with dots between them, of objects, dictionaries and collections, with operators such as
/// `@count`, `@sum.price` and `@distinctUnionOfObjects.name`.
enum KeyPaths {
  /// The value of one key of anything that has keys; a collection of its members' values for a collection.
  static func value(_ key: String, of target: Any?) -> Any? {
    switch target {
    case nil, is NSNull: return nil
    case let object as NSManagedObject: return object.value(forKey: key)
    case let dictionary as NSDictionary:
      return key == "@count" ? NSNumber(value: dictionary.count) : dictionary.object(forKey: key)
    case let dictionary as [String: Any]: return dictionary[key]
    default:
      // An entity, a text, a date: what predicates ask of them in memory.
      guard let members = members(of: target) else { return KeyedAccess.property(of: target!, key) }
      if key == "@count" { return NSNumber(value: members.count) }
      // A set leaves nil out; what has an order keeps its place.
      if isSet(target) { return DistinctValues.set(members.compactMap { value(key, of: $0) }) }
      let values = members.map { value(key, of: $0) ?? NSNull() }
      return target is NSOrderedSet ? DistinctValues.orderedSet(values) : values
    }
  }

  /// The value of a key path.
  static func value(path: String, of target: Any?) -> Any? {
    guard path.contains(".") || path.hasPrefix("@") else { return value(path, of: target) }
    let parts = path.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    if parts[0].hasPrefix("@"), parts[0] != "@count", let members = members(of: target) {
      let rest = parts.count > 1 ? parts[1] : "self"
      return aggregate(parts[0], members.map { rest == "self" ? $0 : value(path: rest, of: $0) })
    }
    let head = parts[0] == "self" || parts[0] == "SELF" ? target : value(parts[0], of: target)
    return parts.count > 1 ? value(path: parts[1], of: head) : head
  }

  /// Sets the value of a key path.
  static func set(_ value: Any?, path: String, of target: Any?) {
    guard let dot = path.firstIndex(of: ".") else { return set(value, path, of: target) }
    set(
      value, path: String(path[path.index(after: dot)...]), of: Self.value(String(path[..<dot]), of: target))
  }

  /// Sets one key; of every member for a collection.
  static func set(_ value: Any?, _ key: String, of target: Any?) {
    switch target {
    case nil, is NSNull: return
    case let object as NSManagedObject: object.setValue(value, forKey: key)
    case let dictionary as NSMutableDictionary: dictionary[key] = value
    default:
      guard let members = members(of: target) else {
        stop("Key-value coding: \(type(of: target!)) cannot set the key “\(key)”.")
      }
      for member in members { set(value, key, of: member) }
    }
  }

  /// The members of a collection; nil for what is none.
  static func members(of target: Any?) -> [Any]? {
    KeyedAccess.elements(target)?.map { $0 ?? NSNull() }
  }

  private static func isSet(_ target: Any?) -> Bool {
    switch target {
    case is NSOrderedSet: false
    case is NSSet, is Set<AnyHashable>: true
    default: false
    }
  }

  private static func aggregate(_ name: String, _ values: [Any?]) -> Any? {
    let present = values.compactMap { $0 is NSNull ? nil : $0 }
    switch name {
    case "@sum": return NSDecimalNumber(decimal: decimalSum(present))
    case "@avg":
      return present.isEmpty
        ? NSNumber(value: 0)
        : NSDecimalNumber(
          decimal: DecimalArithmetic.quotient(decimalSum(present), Decimal(present.count)))
    case "@min": return FoundationNumbers.handedOut(optional: present.min(by: isLess))
    case "@max": return FoundationNumbers.handedOut(optional: present.max(by: isLess))
    case "@unionOfObjects": return present
    case "@distinctUnionOfObjects": return DistinctValues.list(present)
    case "@unionOfArrays", "@unionOfSets": return present.flatMap { members(of: $0) ?? [] }
    case "@distinctUnionOfArrays":
      return DistinctValues.list(present.flatMap { members(of: $0) ?? [] })
    case "@distinctUnionOfSets":
      return DistinctValues.set(present.flatMap { members(of: $0) ?? [] })
    default: stop("Key-value coding knows no operator \(name).")
    }
  }

  /// The sum, exact as far as a decimal holds it; a number beyond all decimals makes it none.
  private static func decimalSum(_ values: [Any]) -> Decimal {
    values.reduce(Decimal(0)) { sum, value in
      guard let number = AttributeValue(value, type: .undefined), number.isNumeric else {
        stop("Key-value coding cannot add up \(type(of: value)).")
      }
      guard case .decimal(let exact)? = ComparedValues.converted(number, to: .decimal) else { return .nan }
      return sum + exact
    }
  }

  private static func isLess(_ left: Any, _ right: Any) -> Bool {
    guard let first = AttributeValue(left, type: .undefined),
      let second = AttributeValue(right, type: .undefined),
      first.isComparable(with: second)
    else { stop("Key-value coding cannot compare \(type(of: left)) with \(type(of: right)).") }
    return ComparedValues.order(first, second) < 0
  }
}

extension AttributeValue {
  /// Whether it is a number, or a truth value, which is 0 or 1.
  fileprivate var isNumeric: Bool {
    switch self {
    case .integer, .boolean, .double, .float, .decimal: true
    default: false
    }
  }

  fileprivate func isComparable(with other: AttributeValue) -> Bool {
    switch (self, other) {
    case (.string, .string), (.date, .date): true
    default: isNumeric && other.isNumeric
    }
  }
}
