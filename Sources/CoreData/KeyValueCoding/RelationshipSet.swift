import Foundation
import StrataCore

/// A to-many relationship as a mutable set: what `mutableSetValue(forKey:)` hands out. Belongs to the context's queue.
final class RelationshipSet: NSMutableSet {
  private let members: RelatedObjects<NSManagedObject>

  init(_ owner: NSManagedObject, _ key: String) {
    members = owner.related(slot: owner.toManySlot(key, isOrdered: false))
    super.init(capacity: 0)
  }

  required init(capacity numItems: Int) { Self.refuse() }
  required init?(coder aDecoder: NSCoder) { Self.refuse() }
  private static func refuse() -> Never {
    fatalError("A relationship's set is made by mutableSetValue(forKey:) only.")
  }

  override var count: Int { members.count }
  override func member(_ object: Any) -> Any? {
    guard let object = object as? NSManagedObject, members.contains(object) else { return nil }
    return object
  }
  override func objectEnumerator() -> NSEnumerator { NSArray(array: Array(members)).objectEnumerator() }
  override func add(_ object: Any) { members.insert(managed(object)) }
  override func remove(_ object: Any) { members.remove(managed(object)) }
  override func removeAllObjects() { members.removeAll() }

  // Copies are sets of their own.
  override func copy(with zone: NSZone? = nil) -> Any { NSSet(array: Array(members)) }
  override func mutableCopy(with zone: NSZone? = nil) -> Any { NSMutableSet(array: Array(members)) }
}

/// An ordered relationship as a mutable ordered set: what `mutableOrderedSetValue(forKey:)` hands out. Belongs to the context's
/// queue.
///
/// Foundation's ordered set reads its own storage in methods that cannot be overridden (`array`, `for … in`). So the members are
/// in that storage too: brought up to date when the set is made, by every edit through it, and by every method that can be
/// overridden.
final class RelationshipOrderedSet: NSMutableOrderedSet {
  private let members: OrderedRelatedObjects<NSManagedObject>
  /// The storage is being brought up to date, or Foundation works on it.
  private var isInside = false

  init(_ owner: NSManagedObject, _ key: String) {
    members = owner.orderedRelated(slot: owner.toManySlot(key, isOrdered: true))
    super.init(capacity: 0)
    readMembers()
  }

  required convenience init(arrayLiteral elements: Any...) { Self.refuse() }
  required init?(coder aDecoder: NSCoder) { Self.refuse() }
  private static func refuse() -> Never {
    fatalError("A relationship's ordered set is made by mutableOrderedSetValue(forKey:) only.")
  }

  private func readMembers() {
    if isInside { return }
    let now = Array(members)
    inside {
      let known = (0..<super.count).map { super.object(at: $0) as? NSManagedObject }
      if known.elementsEqual(now, by: { $0 === $1 }) { return }
      for place in (0..<super.count).reversed() { super.removeObject(at: place) }
      for (place, member) in now.enumerated() { super.insert(member, at: place) }
    }
  }

  private func inside<T>(_ body: () -> T) -> T {
    isInside = true
    defer { isInside = false }
    return body()
  }

  private func edit(_ body: () -> Void) {
    body()
    readMembers()
  }

  override var count: Int {
    readMembers()
    return super.count
  }
  override func object(at idx: Int) -> Any {
    readMembers()
    return super.object(at: idx)
  }
  override func index(of object: Any) -> Int {
    if isInside { return super.index(of: object) }
    return (object as? NSManagedObject).flatMap { members.firstIndex(of: $0) } ?? NSNotFound
  }
  override func insert(_ object: Any, at idx: Int) {
    if isInside { return super.insert(object, at: idx) }
    let object = managed(object)
    // A set: what is there already stays where it is.
    if !members.contains(object) { edit { members.insert(object, at: idx) } }
  }
  override func removeObject(at idx: Int) {
    if isInside { return super.removeObject(at: idx) }
    edit { members.remove(at: idx) }
  }
  override func replaceObject(at idx: Int, with obj: Any) {
    if isInside { return super.replaceObject(at: idx, with: obj) }
    edit { members.replace(at: idx, with: managed(obj)) }
  }
  override func removeAllObjects() {
    if isInside { return super.removeAllObjects() }
    edit { members.removeAll() }
  }

  override func copy(with zone: NSZone? = nil) -> Any { NSOrderedSet(array: Array(members)) }
  override func mutableCopy(with zone: NSZone? = nil) -> Any { NSMutableOrderedSet(array: Array(members)) }
}

private func managed(_ object: Any) -> NSManagedObject {
  guard let object = object as? NSManagedObject else {
    preconditionFailure("A relationship takes managed objects, not \(type(of: object)).")
  }
  return object
}
