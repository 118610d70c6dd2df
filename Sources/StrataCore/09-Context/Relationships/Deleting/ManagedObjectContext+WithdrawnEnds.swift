extension ManagedObjectContext {
  /// Whether a reference leads to a new object that has gone and that must not be made a fault again.
  func isVanished(_ bits: UInt64, inStore index: Int) -> Bool {
    if deletions.vanished.isEmpty || knownObject(bits, inStore: index) != nil { return false }
    return identifier(bits, inStore: index).map(deletions.vanished.contains) ?? false
  }

  /// References to new objects that have been deleted again, and which their deletion has left where they were, are cleared: no store will
  /// ever hold what they lead to, and no other context can have deleted it (rules 24, 212). Of what a deletion here has left, these are
  /// those without inverse, and those of which the other end has the rule *no action*; a child need not have known of any.
  func clearReferencesToWithdrawn() {
    let (own, byChildren) = (changes.withdrawn, withdrawnByChildren)
    if own.isEmpty && byChildren.isEmpty { return }
    let withdrawn = own.map { (home: $0.home, primaryKey: $0.primaryKey) } + byChildren
    let ownHierarchies = Set(own.map(\.home.hierarchyNumber))
    let theirHierarchies = Set(byChildren.map(\.home.hierarchyNumber))
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
    var owners = SlotBitmap()
    for relationship in relationships {
      for entity in schema.entities[relationship.owner].subtree { owners.insert(entity) }
    }
    claimReferrers(owners, relationships) { bits in gone.values.contains { $0.contains(bits) } }
    for object in changes.inserted + changes.updated where owners.contains(object.home.entityNumber) {
      guard let gone = gone[object.home.storeIndex] else { continue }
      for relationship in relationships
      where object.home.entity.relationship(slot: relationship.slot) === relationship {
        clear(object, relationship, gone)
      }
    }
    tellChanges()
  }

  /// What children have inserted and deleted again, and none has brought back.
  private var withdrawnByChildren: [(home: BoundEntity, primaryKey: UInt64)] {
    changes.withdrawnByChildren.filter { home, key in
      let table = StratumLayer.Table(storeIndex: home.storeIndex, hierarchy: home.hierarchyNumber)
      if let object = stores.table(for: home)?.object(for: key), !object.state.contains(.rowGone) {
        return false
      }
      return strata.row(table, key) == nil
    }
  }

  private func clear(_ object: ManagedObject, _ relationship: RelationshipSchema, _ gone: Set<UInt64>) {
    if !relationship.isToMany {
      if gone.contains(object.reference(relationship)) { object.storeReference(0, relationship) }
      return
    }
    guard let state = object.relations?.known(relationship), state.hasChanges else { return }
    for entry in state.changes.effective where !entry.isRemoval && gone.contains(entry.member) {
      state.remove(entry.member)
      object.noteRelationChange()
    }
  }
}
