import StrataCore

/// Key-value coding, as far as it goes without the Objective-C runtime.
///
/// | of | a key is |
/// |---|---|
/// | a managed object | what `value(forKey:)` says; `objectID` and `self` |
/// | a dictionary | the value of that key, nil when there is none; `@count` |
/// | a list or set | the values of that key of all elements, without lists in lists; `@count`, `@sum`, `@avg`, `@min`, `@max` |
/// | an entity | `name`, `managedObjectClassName`, `superentity`, `isAbstract`, `userInfo`, `renamingIdentifier` |
/// | a text, number, date, UUID, URL, data, object ID | what `FoundationKeys` has: `length`, `stringValue`, `absoluteString` and others |
/// | another object or value | its stored property of that name; any other name traps |
enum KeyedAccess {
  /// What the names of a key path lead to.
  ///
  /// - Parameter zero: What the sum of nothing is.
  static func value(_ base: Any?, _ path: String, zero: AttributeValue = .integer(0)) -> Any? {
    value(base, path.split(separator: ".", omittingEmptySubsequences: false)[...], zero)
  }

  private static func value(_ base: Any?, _ path: ArraySlice<Substring>, _ zero: AttributeValue) -> Any? {
    guard let key = path.first else { return base }
    let rest = path.dropFirst()
    if key.first == "@" { return collectionValue(base, key.dropFirst(), rest, zero) }
    guard let base = plain(base) else {
      // The count of nothing is 0, its other aggregates are those of no values.
      return path.contains { $0.first == "@" } ? value([Any](), path.drop { $0.first != "@" }, zero) : nil
    }
    if let elements = elements(base) {
      // An operator behind the key is one of all values.
      let end = path.firstIndex { $0.first == "@" } ?? path.endIndex
      let values = elements.flatMap { element -> [Any?] in
        let found = value(element, path[path.startIndex..<end], zero)
        return Self.elements(found) ?? [found]
      }
      return value(values as [Any?], path[end...], zero)
    }
    let found = property(of: base, String(key))
    if found == nil, let object = base as? ManagedObject, leadsToMany(object.entity, path) {
      return value([Any](), rest.drop { $0.first != "@" }, zero)
    }
    return value(found, rest, zero)
  }

  /// Whether a key path from objects of an entity goes through a to-many relationship: where it leads nowhere there are no values, not nil.
  private static func leadsToMany(_ entity: NSEntityDescription, _ path: ArraySlice<Substring>) -> Bool {
    var entity = entity
    for key in path {
      guard let relationship = entity.relationshipsByName[String(key)] else { return false }
      if relationship.isToMany { return true }
      guard let destination = relationship.destinationEntity else { return false }
      entity = destination
    }
    return false
  }

  /// Whether the values of a key path are those of a set's members, in an order or not, and no operator makes one value of them.
  static func leadsThroughSet(_ base: Any?, _ path: String) -> Bool {
    let path = path.split(separator: ".", omittingEmptySubsequences: false)[...]
    return !path.contains { $0.first == "@" } && leadsThroughSet(base, path)
  }

  private static func leadsThroughSet(_ base: Any?, _ path: ArraySlice<Substring>) -> Bool {
    guard let base = plain(base), let key = path.first else { return false }
    switch base {
    case let object as ManagedObject:
      if key == "self" || key == "SELF" { return leadsThroughSet(base, path.dropFirst()) }
      return leadsToMany(object.entity, path)
    case is NSSet, is NSOrderedSet, is any SetAlgebra: return true
    case is any AnyDictionary, is NSDictionary:
      return leadsThroughSet(property(of: base, String(key)), path.dropFirst())
    default: return false
    }
  }

  private static func collectionValue(
    _ base: Any?, _ name: Substring, _ rest: ArraySlice<Substring>, _ zero: AttributeValue
  ) -> Any? {
    let aggregate: FetchAggregate
    switch name {
    case "count": aggregate = .count
    case "sum": aggregate = .sum
    case "avg", "average": aggregate = .average
    case "min": aggregate = .minimum
    case "max": aggregate = .maximum
    default:
      refuse(
        "the collection operator @\(name) is not evaluated; there are @count, @sum, @avg, @min and @max.")
      return nil
    }
    return aggregated(aggregate, rest.isEmpty ? base : value(base, rest, zero), zero: zero)
  }

  /// One value of many.
  static func aggregated(_ aggregate: FetchAggregate, _ values: Any?, zero: AttributeValue) -> Any? {
    if aggregate == .count, let values = dictionaryValues(values) { return values.count }
    let elements = elements(values) ?? (plain(values).map { [$0] } ?? [])
    // As a fetch counts: members, and values that are there.
    if aggregate == .count { return elements.count { $0 != nil } }
    let scalars = elements.map { element -> AttributeValue in
      guard let value = AttributeValue(element, type: .undefined) else {
        refuse("“\(aggregate.selector)” takes numbers, texts and dates, no \(type(of: element)).")
        return .null
      }
      return value
    }
    if let result = ComparedValues.aggregate(aggregate, scalars, zero: zero) { return result.spelledValue }
    // A sum of more than 64 bits is a decimal, as Core Data adds up in memory.
    let decimals = scalars.map { ComparedValues.converted($0, to: .decimal) ?? $0 }
    return ComparedValues.aggregate(aggregate, decimals, zero: zero)?.spelledValue
  }

  /// The elements of a list or set; nil for anything else, dictionaries and texts included.
  static func elements(_ value: Any?) -> [Any?]? {
    guard let value = plain(value) else { return nil }
    // Foundation's classes first: a cast would make them of Swift's values, with other elements.
    if type(of: value) is AnyClass {
      switch value {
      case let list as NSArray: return list.map { plain($0) }
      case let set as NSSet: return set.map { plain($0) }
      case let set as NSOrderedSet: return set.map { plain($0) }
      default: return nil
      }
    }
    switch value {
    case is String, is Substring, is Data, is URL, is any AnyDictionary: return nil
    case let sequence as any Sequence: return elements(of: sequence)
    default: return nil
    }
  }

  private static func elements(of sequence: some Sequence) -> [Any?] { sequence.map { plain($0) } }

  /// The values of a dictionary; nil for anything else.
  static func dictionaryValues(_ value: Any?) -> [Any?]? {
    switch plain(value) {
    case let dictionary as any AnyDictionary: dictionary.plainValues
    case let dictionary as NSDictionary: dictionary.allValues.map { plain($0) }
    default: nil
    }
  }

  // MARK: One key

  static func property(of base: Any, _ key: String) -> Any? {
    if key == "self" || key == "SELF" { return base }
    switch base {
    case let object as ManagedObject:
      return key == "objectID" ? object.objectID : plain(object.value(forKey: key))
    case let entity as NSEntityDescription:
      switch key {
      case "name": return entity.name
      case "managedObjectClassName": return entity.managedObjectClassName
      case "superentity": return entity.superentity
      case "isAbstract", "abstract": return entity.isAbstract
      case "userInfo": return entity.userInfo
      case "renamingIdentifier": return entity.renamingIdentifier
      default: break
      }
    case let manager as NSMigrationManager:
      if let found = MigrationFunctions.value(of: manager, key) { return found }
    case let dictionary as any AnyDictionary: return dictionary.value(ofKey: key)
    case let dictionary as NSDictionary: return plain(dictionary.object(forKey: key))
    default: break
    }
    if let found = FoundationKeys.value(of: base, key) { return found }
    var mirror: Mirror? = Mirror(reflecting: base)
    while let current = mirror {
      if let child = current.children.first(where: { $0.label == key }) { return plain(child.value) }
      mirror = current.superclassMirror
    }
    if key == "description" { return "\(base)" }
    refuse(
      "\(type(of: base)) has no stored property “\(key)”; without the Objective-C runtime, keys are found in managed objects, "
        + "dictionaries and stored properties.")
    return nil
  }
}

/// A Swift dictionary, without the copies that casts make.
private protocol AnyDictionary {
  func value(ofKey key: String) -> Any?
  var plainValues: [Any?] { get }
}

extension Dictionary: AnyDictionary {
  fileprivate func value(ofKey key: String) -> Any? {
    guard let key = key as? Key ?? AnyHashable(key) as? Key else { return nil }
    return self[key].flatMap { plain($0) }
  }

  fileprivate var plainValues: [Any?] { values.map { plain($0) } }
}
