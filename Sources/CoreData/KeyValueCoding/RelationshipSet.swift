import Foundation
import StrataCore

/// A to-many relationship as a mutable set: what `mutableSetValue(forKey:)` hands out. Belongs to the context's queue.
final class RelationshipSet: NSMutableSet {
  private let view: RelatedObjects<NSManagedObject>

  /// The members. Whoever asks for them fires the owner, which may have become a fault since this set was made.
  private var members: RelatedObjects<NSManagedObject> {
    view.owner.fireForMembers()
    return view
  }

  init(_ owner: NSManagedObject, _ key: String) {
    view = owner.related(slot: owner.toManySlot(key, isOrdered: false))
    super.init(capacity: 0)
  }

  required init(capacity numItems: Int) { Self.refuse() }
  required init?(coder aDecoder: NSCoder) { Self.refuse() }
  private static func refuse() -> Never {
    stop("A relationship's set is made by mutableSetValue(forKey:) only.")
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

func managed(_ object: Any) -> NSManagedObject {
  guard let object = object as? NSManagedObject else {
    stop("A relationship takes managed objects, not \(type(of: object)).")
  }
  return object
}
