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
final class RelationshipOrderedSet: NSMutableOrderedSet {
  private let members: OrderedRelatedObjects<NSManagedObject>

  init(_ owner: NSManagedObject, _ key: String) {
    members = owner.orderedRelated(slot: owner.toManySlot(key, isOrdered: true))
    super.init(capacity: 0)
  }

  required convenience init(arrayLiteral elements: Any...) { Self.refuse() }
  required init?(coder aDecoder: NSCoder) { Self.refuse() }
  private static func refuse() -> Never {
    fatalError("A relationship's ordered set is made by mutableOrderedSetValue(forKey:) only.")
  }

  override var count: Int { members.count }
  override func object(at idx: Int) -> Any { members[idx] }
  override func index(of object: Any) -> Int {
    (object as? NSManagedObject).flatMap { members.firstIndex(of: $0) } ?? NSNotFound
  }
  override func insert(_ object: Any, at idx: Int) {
    let object = managed(object)
    // A set: what is there already stays where it is.
    if !members.contains(object) { members.insert(object, at: idx) }
  }
  override func removeObject(at idx: Int) { members.remove(at: idx) }
  override func replaceObject(at idx: Int, with obj: Any) { members.replace(at: idx, with: managed(obj)) }
  override func removeAllObjects() { members.removeAll() }

  override func copy(with zone: NSZone? = nil) -> Any { NSOrderedSet(array: Array(members)) }
  override func mutableCopy(with zone: NSZone? = nil) -> Any { NSMutableOrderedSet(array: Array(members)) }
}

private func managed(_ object: Any) -> NSManagedObject {
  guard let object = object as? NSManagedObject else {
    preconditionFailure("A relationship takes managed objects, not \(type(of: object)).")
  }
  return object
}
