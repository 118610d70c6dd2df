import StrataCore

// Relationships. To-many ones come as sets made when they are asked for: what is added to such a set is not added to the relationship, the
// generated `addTo…` and `mutableSetValue(forKey:)` are for that.

extension NSManagedAccessor {
  /// The object at the other end, if there is one.
  @inlinable @inline(__always)
  public borrowing func optional<Object: NSManagedObject>(
    _ type: Object.Type, of object: NSManagedObject
  ) -> Object? {
    let place = property.place(in: object)
    guard place.kind == .toOne else { return anyValue(of: object, place) }
    return object.readObject(Object.self, slot: place.slot)
  }
  /// The object at the other end. Traps when there is none.
  @inlinable @inline(__always)
  public borrowing func value<Object: NSManagedObject>(
    _ type: Object.Type, of object: NSManagedObject
  ) -> Object {
    let value = optional(type, of: object)
    return value ?? trapNil(object, Object.self)
  }
  /// Sets the object at the other end, and the inverse with it.
  @inlinable @inline(__always)
  public borrowing func set<Object: NSManagedObject>(_ value: Object, of object: NSManagedObject) {
    set(value as Object?, of: object)
  }
  /// Sets the object at the other end, or clears it, and the inverse with it.
  @inlinable @inline(__always)
  public borrowing func set<Object: NSManagedObject>(_ value: Object?, of object: NSManagedObject) {
    let place = property.place(in: object)
    if place.kind == .toOne {
      object.write(value as NSManagedObject?, slot: place.slot)
    } else {
      store(value, in: object, place)
    }
  }

  /// The members.
  public borrowing func value<Object: NSManagedObject>(_ type: Set<Object>.Type, of object: NSManagedObject)
    -> Set<Object>
  {
    Set(members(of: object, Set<Object>.self) as [Object])
  }
  /// The members; never nil.
  public borrowing func optional<Object: NSManagedObject>(
    _ type: Set<Object>.Type, of object: NSManagedObject
  ) -> Set<Object>? {
    Set(members(of: object, Set<Object>.self) as [Object])
  }
  /// The members, in order when the relationship has one; of a fetched property what it finds.
  public borrowing func value<Object: NSManagedObject>(_ type: [Object].Type, of object: NSManagedObject)
    -> [Object]
  {
    members(of: object, [Object].self)
  }
  /// The members, in order when the relationship has one; of a fetched property what it finds.
  public borrowing func optional<Object: NSManagedObject>(_ type: [Object].Type, of object: NSManagedObject)
    -> [Object]?
  {
    members(of: object, [Object].self)
  }
  /// The members; never nil for a relationship.
  public borrowing func optional(_ type: NSSet.Type, of object: NSManagedObject) -> NSSet? {
    let place = property.place(in: object)
    if place.kind == .attribute { return anyValue(of: object, place) }
    return NSSet(array: members(of: object, NSSet.self) as [NSManagedObject])
  }
  /// The members.
  public borrowing func value(_ type: NSSet.Type, of object: NSManagedObject) -> NSSet {
    optional(type, of: object) ?? NSSet()
  }
  /// The members in order; never nil for a relationship.
  public borrowing func optional(_ type: NSOrderedSet.Type, of object: NSManagedObject) -> NSOrderedSet? {
    let place = property.place(in: object)
    if place.kind == .attribute { return anyValue(of: object, place) }
    return NSOrderedSet(array: members(of: object, NSOrderedSet.self) as [NSManagedObject])
  }
  /// The members in order.
  public borrowing func value(_ type: NSOrderedSet.Type, of object: NSManagedObject) -> NSOrderedSet {
    optional(type, of: object) ?? NSOrderedSet()
  }

  /// What a to-many relationship or a fetched property leads to.
  private borrowing func members<Object: NSManagedObject>(of object: NSManagedObject, _ wanted: Any.Type)
    -> [Object]
  {
    let place = property.place(in: object)
    let found: [NSManagedObject]
    switch place.kind {
    case .toMany, .ordered:
      object.fireForMembers()
      found = object.relatedObjects(slot: place.slot)
    case .fetched: found = object.value(forKey: property.name.description) as? [NSManagedObject] ?? []
    case .toOne, .attribute: trapType(object, place, wanted)
    }
    return found.map { member in
      guard let typed = member as? Object else {
        trapMember(object, member, Object.self)
      }
      return typed
    }
  }

  // MARK: addTo…, removeFrom…

  /// Adds one object, at the end of an ordered relationship.
  public borrowing func add(_ member: NSManagedObject, to object: NSManagedObject) {
    unordered(object).insert(member)
  }
  /// Adds the objects.
  public borrowing func add(_ members: NSSet, to object: NSManagedObject) {
    unordered(object).formUnion(objects(members.allObjects, object))
  }
  /// Adds the objects in their order.
  public borrowing func add(_ members: NSOrderedSet, to object: NSManagedObject) {
    unordered(object).formUnion(objects(members.array, object))
  }
  /// Adds the objects.
  public borrowing func add(_ members: some Sequence<NSManagedObject>, to object: NSManagedObject) {
    unordered(object).formUnion(members)
  }
  /// Takes one object out.
  public borrowing func remove(_ member: NSManagedObject, from object: NSManagedObject) {
    unordered(object).remove(member)
  }
  /// Takes the objects out.
  public borrowing func remove(_ members: NSSet, from object: NSManagedObject) {
    unordered(object).subtract(objects(members.allObjects, object))
  }
  /// Takes the objects out.
  public borrowing func remove(_ members: NSOrderedSet, from object: NSManagedObject) {
    unordered(object).subtract(objects(members.array, object))
  }
  /// Takes the objects out.
  public borrowing func remove(_ members: some Sequence<NSManagedObject>, from object: NSManagedObject) {
    unordered(object).subtract(members)
  }

  // MARK: Positions

  /// Puts an object at `index`. What is a member already stays where it is.
  public borrowing func insert(_ member: NSManagedObject, at index: Int, into object: NSManagedObject) {
    let view = ordered(object)
    if !view.contains(member) { view.insert(member, at: index) }
  }
  /// Puts the objects at the places named, in ascending order of these. What is a member already stays where it is.
  public borrowing func insert(
    _ members: some Sequence<NSManagedObject>, at indexes: IndexSet, into object: NSManagedObject
  ) {
    let view = ordered(object)
    for (member, index) in zip(members, indexes) where !view.contains(member) {
      view.insert(member, at: index)
    }
  }
  /// Puts the objects at the places named, in ascending order of these.
  public borrowing func insert(
    _ members: some Sequence<NSManagedObject>, at indexes: NSIndexSet, into object: NSManagedObject
  ) {
    insert(members, at: indexes as IndexSet, into: object)
  }
  /// Takes out what stands at `index`.
  public borrowing func remove(at index: Int, from object: NSManagedObject) {
    _ = ordered(object).remove(at: index)
  }
  /// Takes out what stands at the places named.
  public borrowing func remove(at indexes: IndexSet, from object: NSManagedObject) {
    let view = ordered(object)
    for member in indexes.map({ view[$0] }) { view.remove(member) }
  }
  /// Takes out what stands at the places named.
  public borrowing func remove(at indexes: NSIndexSet, from object: NSManagedObject) {
    remove(at: indexes as IndexSet, from: object)
  }
  /// Puts an object in the place of another.
  public borrowing func replace(at index: Int, with member: NSManagedObject, in object: NSManagedObject) {
    ordered(object).replace(at: index, with: member)
  }
  /// Puts objects in the places of others. Traps for a place beyond the end.
  public borrowing func replace(
    at indexes: IndexSet, with members: some Sequence<NSManagedObject>, in object: NSManagedObject
  ) {
    let view = ordered(object)
    let name = property.name
    var all = Array(view)
    for (member, index) in zip(members, indexes) {
      guard all.indices.contains(index) else {
        stop("index \(index) is out of range: \(name) has \(all.count) members.")
      }
      all[index] = member
    }
    // One that would stand in two places stands in the first of them.
    view.replaceAll(with: all)
  }
  /// Puts objects in the places of others.
  public borrowing func replace(
    at indexes: NSIndexSet, with members: some Sequence<NSManagedObject>, in object: NSManagedObject
  ) {
    replace(at: indexes as IndexSet, with: members, in: object)
  }

  private borrowing func unordered(_ object: NSManagedObject) -> RelatedObjects<NSManagedObject> {
    let place = property.place(in: object)
    guard place.kind == .toMany || place.kind == .ordered else { trapType(object, place, NSSet.self) }
    object.fireForMembers()
    return object.related(slot: place.slot)
  }

  private borrowing func ordered(_ object: NSManagedObject) -> OrderedRelatedObjects<NSManagedObject> {
    let place = property.place(in: object)
    guard place.kind == .ordered else { trapType(object, place, NSOrderedSet.self) }
    object.fireForMembers()
    return object.orderedRelated(slot: place.slot)
  }

  private borrowing func objects(_ members: [Any], _ object: NSManagedObject) -> [NSManagedObject] {
    members.map { member in
      guard let typed = member as? NSManagedObject else { trapMember(object, member, NSManagedObject.self) }
      return typed
    }
  }
}
