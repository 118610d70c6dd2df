extension ManagedObjectContext {
  /// Whether a reference leads to a new object that has gone and that must not be made a fault again.
  func isVanished(_ bits: UInt64, inStore index: Int) -> Bool {
    if deletions.vanished.isEmpty && changes.gone.isEmpty || knownObject(bits, inStore: index) != nil {
      return false
    }
    return identifier(bits, inStore: index).map(deletions.vanished.contains) ?? false
      || isGone(bits, inStore: index)
  }

  /// Whether a reference leads to a new record that has gone since the last save. There may be a fault of it all the same: anybody may ask for one by its ID.
  func isGone(_ bits: UInt64, inStore index: Int) -> Bool {
    if changes.gone.isEmpty { return false }
    return coordinator.binding(index)?.entity(code: Reference.entityCode(bits)).map {
      isGone($0.place(Reference.primaryKey(bits)))
    } ?? false
  }

  /// The same by where it would lie. One that an undo, here or in a child, has brought back is there.
  func isGone(_ place: StratumLayer.Place) -> Bool {
    guard let home = changes.gone[place] else { return false }
    if let known = stores.table(for: home)?.object(for: place.primaryKey), known.isMarkedInserted {
      return false
    }
    // What was published of it stays until the event ends.
    if unpublished.withdrawn.contains(place) { return true }
    return (strata.row(place.table, place.primaryKey)?.kind ?? .delete) == .delete
  }

  /// Whether a record of which a new object has left the context is there again: brought back by an undo here, or saved by a child.
  func isBack(_ home: BoundEntity, _ primaryKey: UInt64) -> Bool {
    if stores.table(for: home)?.object(for: primaryKey)?.isMarkedInserted == true { return true }
    let place = home.place(primaryKey)
    if unpublished.withdrawn.contains(place) { return false }
    return strata.row(place.table, primaryKey).map { $0.kind != .delete } ?? false
  }

  /// Whether a to-one relationship of `owner` does not show what it leads to, for that has gone: there must be no fault of it.
  func hidesGone(_ bits: UInt64, _ relationship: RelationshipSchema, of owner: ManagedObject) -> Bool {
    guard isGone(bits, inStore: owner.home.storeIndex), owner.state.isDisjoint(with: .anyDeleted) else {
      return false
    }
    return schema.inverse(of: relationship)?.deleteRule != .noAction
  }

  /// The new records that go when everything unsaved is given up, if there are contexts that may know of them.
  func newRecordsForOthers() -> [(home: BoundEntity, primaryKey: UInt64)] {
    if !strata.publishes { return [] }
    let own = changes.inserted.map { (home: $0.home, primaryKey: $0.primaryKey) }
    let received = receivedRows(in: strata.top).filter { $0.kind == .insert }.map {
      (home: $0.bound, primaryKey: $0.primaryKey)
    }
    return (own + received).filter { !$0.home.entity.inbound.isEmpty }
  }

  /// References to new objects that have been deleted again, and which their deletion has left where they were, are cleared: no store will
  /// ever hold what they lead to, and no other context can have deleted it (rules 24, 212). Of what a deletion here has left, these are
  /// those without inverse, and those of which the other end has the rule *no action*; a child need not have known of any, and may lead others
  /// to what has gone here.
  func clearReferencesToWithdrawn() {
    let own = changes.withdrawn.filter { !isBack($0.home, $0.primaryKey) }
    if own.isEmpty, changes.gone.isEmpty { return }
    let others = changes.gone.filter { isGone($0.key) }.map { place, home in
      (home: home, primaryKey: place.primaryKey)
    }
    if own.isEmpty && others.isEmpty { return }
    let withdrawn = own.map { (home: $0.home, primaryKey: $0.primaryKey) } + others
    let ownHierarchies = Set(own.map(\.home.hierarchyNumber))
    let theirHierarchies = Set(others.map(\.home.hierarchyNumber))
    let relationships = schema.relationships.filter { relationship in
      if relationship.isTransient { return false }
      if theirHierarchies.contains(relationship.destinationHierarchy) { return true }
      let inverse = schema.inverse(of: relationship)
      return (inverse == nil || inverse?.deleteRule == .noAction)
        && ownHierarchies.contains(relationship.destinationHierarchy)
    }
    if relationships.isEmpty { return }
    var gone: [Int: Set<UInt64>] = [:]
    for (home, key) in withdrawn {
      gone[home.storeIndex, default: []].insert(Reference.bits(key, entityCode: home.stamp.entityCode))
    }
    forEachChanged(with: relationships, leadingTo: gone) { clear($0, $1, $2) }
    tellChanges()
  }

  /// The event ends: new objects that have gone in it are no members any more of relationships that do not lead back, like all others that are deleted (rule 216). That belongs to
  /// the event. To-one references stay until the save.
  func removeWithdrawnMembers() {
    let withdrawn = deletions.withdrawn
    deletions.withdrawn = []
    var gone: [Int: Set<UInt64>] = [:]
    for (home, bits) in withdrawn
    where !isBack(home, Reference.primaryKey(bits)) {
      gone[home.storeIndex, default: []].insert(bits)
    }
    if gone.isEmpty { return }
    let hierarchies = Set(withdrawn.map(\.home.hierarchyNumber))
    let relationships = schema.relationships.filter {
      $0.isToMany && $0.inverse == nil && !$0.isTransient && hierarchies.contains($0.destinationHierarchy)
    }
    forEachChanged(with: relationships, leadingTo: gone) { object, relationship, gone in
      guard let state = object.relations?.known(relationship), state.hasChanges else { return }
      let lost = state.added(among: gone)
      if lost.isEmpty { return }
      let changing = object.changingState(relationship)
      for member in lost { changing.remove(member) }
      object.noteRelationChange()
    }
  }

  /// Calls `body` with each unsaved object that has one of `relationships`, by which it may lead to some of `gone`, references by store, and those of its own store.
  private func forEachChanged(
    with relationships: [RelationshipSchema], leadingTo gone: [Int: Set<UInt64>],
    _ body: (ManagedObject, RelationshipSchema, Set<UInt64>) -> Void
  ) {
    var owners = SlotBitmap()
    for relationship in relationships {
      for entity in schema.entities[relationship.owner].subtree { owners.insert(entity) }
    }
    claimReferrers(owners, relationships) { bits in gone.values.contains { $0.contains(bits) } }
    for object in changes.inserted + changes.updated where owners.contains(object.home.entityNumber) {
      guard let gone = gone[object.home.storeIndex] else { continue }
      for relationship in relationships
      where object.home.entity.relationship(slot: relationship.slot) === relationship {
        body(object, relationship, gone)
      }
    }
  }

  private func clear(_ object: ManagedObject, _ relationship: RelationshipSchema, _ gone: Set<UInt64>) {
    let index = object.home.storeIndex
    if !relationship.isToMany {
      let end = object.reference(relationship)
      guard gone.contains(end) else { return }
      following(Reference.primaryKey(end), relationship, inStore: index) {
        object.storeReference(0, relationship)
      }
      return
    }
    guard let state = object.relations?.known(relationship), state.hasChanges else { return }
    for entry in state.changes.effective where !entry.isRemoval && gone.contains(entry.member) {
      following(Reference.primaryKey(entry.member), relationship, inStore: index) {
        object.changingState(relationship).remove(entry.member)
      }
      object.noteRelationChange()
    }
  }
}
