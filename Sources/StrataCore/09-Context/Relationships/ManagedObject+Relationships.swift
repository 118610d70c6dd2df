import Foundation

// What model classes call for their relationships. A slot is a property's position in its entity: inherited properties first,
// then the entity's own attributes, then its own relationships, each in the order of the model.

extension ManagedObject {
  /// The object at the other end of the to-one relationship in `slot`, or nil. Perhaps a fault: reads only this object's own row.
  ///
  ///     var plane: Plane? {
  ///       get { readObject(slot: 7) }
  ///       set { write(newValue, slot: 7) }
  ///     }
  ///
  /// Traps when the slot holds no to-one relationship, or the other end is of another class than `T`.
  @inlinable public final func readObject<T: ManagedObject>(_ type: T.Type = T.self, slot: Int) -> T? {
    guard let object = relatedObject(slot: slot) else { return nil }
    if let typed = object as? T { return typed }
    trapWrongClass(object, slot, T.self)
  }

  /// Sets the to-one relationship in `slot`, and its inverse with it, at once (rule 208). Traps for an object of another context
  /// (rule 12), of the wrong entity, or when the slot holds no to-one relationship.
  public final func write(_ object: ManagedObject?, slot: Int) {
    if let object, let edits = openEdits(slot, .reference), linkNew(slot, to: object, edits) { return }
    setRelatedObject(toOne(slot), object)
  }

  /// The members of the to-many relationship in `slot`. Loads them with one range scan; a set of a million objects is a million
  /// objects: `related(slot:)` is the way to look at a few, or to add one.
  @inlinable public final func readObjects<T: ManagedObject>(_ type: T.Type = T.self, slot: Int) -> Set<T> {
    var result = Set<T>()
    for object in relatedObjects(slot: slot) {
      guard let typed = object as? T else { trapWrongClass(object, slot, T.self) }
      result.insert(typed)
    }
    return result
  }

  /// Makes `objects` the members of the to-many relationship in `slot`, inverses included.
  public final func write<T: ManagedObject>(_ objects: Set<T>, slot: Int) {
    setMembers(toMany(slot), Array(objects))
  }

  /// The members of the ordered relationship in `slot`, in order.
  @inlinable
  public final func readOrderedObjects<T: ManagedObject>(_ type: T.Type = T.self, slot: Int) -> [T] {
    relatedObjects(slot: slot).map { object in
      guard let typed = object as? T else { trapWrongClass(object, slot, T.self) }
      return typed
    }
  }

  /// Makes `objects` the members of the ordered relationship in `slot`, in this order; an object counts where it stands first.
  public final func write<T: ManagedObject>(_ objects: [T], slot: Int) {
    setMembers(toMany(slot), objects)
  }

  /// The to-many relationship in `slot` as a view: counts, looks up, adds and removes without making a set.
  public final func related<T: ManagedObject>(_ type: T.Type = T.self, slot: Int) -> RelatedObjects<T> {
    RelatedObjects(self, toMany(slot))
  }

  /// The ordered relationship in `slot` as a view.
  public final func orderedRelated<T: ManagedObject>(_ type: T.Type = T.self, slot: Int)
    -> OrderedRelatedObjects<T>
  {
    let relationship = toMany(slot)
    if !relationship.isOrdered { trap("\(relationship.qualifiedName) has no order; use related(slot:).") }
    return OrderedRelatedObjects(self, relationship)
  }

  // MARK: Without types

  /// The object at the other end of the to-one relationship in `slot`.
  public final func relatedObject(slot: Int) -> ManagedObject? { relatedObject(toOne(slot)) }

  /// The members of the to-many relationship in `slot`, in order when it has one.
  public final func relatedObjects(slot: Int) -> [ManagedObject] { members(toMany(slot)) }

  /// Whether the members of the relationship are not loaded; for a to-one, whether the object is a fault. Fires nothing (rule 68).
  /// `objectIDs(forRelationshipNamed:)` leaves it a fault. A new object has no members that could be loaded. Traps for a name that is no relationship's.
  public final func hasFault(forRelationshipNamed name: String) -> Bool {
    context?.checkAccess(home.token.entityName)
    let relationship = relationship(named: name)
    if !relationship.isToMany { return isFault }
    return hasFault(toMany: relationship)
  }

  /// Whether the members of a to-many relationship are not loaded.
  final func hasFault(toMany relationship: RelationshipSchema) -> Bool {
    guard let context else { return false }
    // What a new object has is what was set here.
    if state.contains(.inserted), !isFault { return false }
    guard let known = relations?.known(relationship) else { return true }
    return known.isReadForIdentifiers || known.isFault(epoch: context.epoch(of: relationship))
  }

  /// The IDs of what the relationship leads to: at most one for a to-one, in order for an ordered one. Makes no objects (rule 69).
  /// Traps for a name that is no relationship's.
  public final func objectIDs(forRelationshipNamed name: String) -> [ManagedObjectID] {
    let relationship = relationship(named: name)
    context?.checkAccess(home.token.entityName)
    guard let context else { return [] }
    let index = home.storeIndex
    if relationship.isToMany {
      let wasFault = hasFault(toMany: relationship)
      let members = memberList(relationship)
      if wasFault { relations?.known(relationship)?.isReadForIdentifiers = true }
      return members.compactMap { context.identifier($0.member, inStore: index) }
    }
    fire()
    if let foreign = relations?.foreign[relationship.slot] { return [foreign] }
    return context.identifier(reference(relationship), inStore: index).map { [$0] } ?? []
  }

  // MARK: Shared steps

  final func relationship(named name: String) -> RelationshipSchema {
    if let slot = home.entity.slot(named: name), let found = home.entity.relationship(slot: slot) {
      return found
    }
    trap("entity \(home.token.entityName) has no relationship “\(name)”.")
  }

  private final func toOne(_ slot: Int) -> RelationshipSchema {
    if let found = home.entity.relationship(slot: slot), !found.isToMany { return found }
    trapWrongSlot(slot, "to-one")
  }

  private final func toMany(_ slot: Int) -> RelationshipSchema {
    if let found = home.entity.relationship(slot: slot), found.isToMany { return found }
    trapWrongSlot(slot, "to-many")
  }

  private final func trapWrongSlot(_ slot: Int, _ kind: String) -> Never {
    let entity = home.entity
    guard slot >= 0, slot < entity.attributes.count else {
      trap("entity \(entity.name) has \(entity.attributes.count) properties, there is no slot \(slot).")
    }
    trap("\(entity.name).\(entity.attributes[slot].name) (slot \(slot)) is no \(kind) relationship.")
  }

  @usableFromInline final func trapWrongClass(
    _ object: ManagedObject, _ slot: Int, _ type: ManagedObject.Type
  ) -> Never {
    trap(
      "\(home.token.entityName).\(home.entity.attributes[slot].name) leads to an object of class "
        + "\(Swift.type(of: object)), not \(type).")
  }
}
