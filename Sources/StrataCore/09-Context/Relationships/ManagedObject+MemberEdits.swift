/// What was done to the members of a to-many relationship and is not saved.
package struct MemberEdits {
  /// Those that the relationship has only here, in their order. One that was moved is among these and those taken away.
  package var added: [ManagedObjectID] = []
  /// Those that it has only in the store and in the contexts below.
  package var removed: [ManagedObjectID] = []
}

extension ManagedObject {
  /// The names of the persistent properties that differ from what was last fetched or saved. Loads nothing, other than ``changedValues()``.
  package final var changedNames: Set<String> {
    context?.checkAccess(home.token.entityName)
    var slots = received?.changedSlots ?? SlotBitmap()
    if received == nil, let draft, !state.contains(.draftFrozen) {
      slots = slotsThatDiffer
      draft.primitive.forEach { slots.remove($0) }
    }
    var names = Set(changedRelationships.map(\.name))
    let attributes = home.entity.attributes
    slots.forEach { names.insert((attributes[$0].composite.map { attributes[$0] } ?? attributes[$0]).name) }
    return names
  }

  /// What was done to the members of the to-many relationship of that name. One look-up for each member that was added or taken away: the others are not
  /// loaded. Traps for a name that is no to-many relationship's.
  /// - Throws: ``StorageError``.
  package final func memberEdits(_ name: String) throws -> MemberEdits {
    let relationship = relationship(named: name)
    guard relationship.isToMany else { trap("\(relationship.qualifiedName) is no to-many relationship.") }
    context?.checkAccess(home.token.entityName)
    var edits = MemberEdits()
    guard let context, let state = relations?.known(relationship) else { return edits }
    var added: [PlacedMember] = []
    for entry in state.pending {
      let before = try positionBeneath(state, entry.member)
      guard let id = context.identifier(entry.member, inStore: home.storeIndex) else { continue }
      if entry.isRemoval {
        if before != nil { edits.removed.append(id) }
      } else if before == nil {
        added.append(PlacedMember(position: entry.position, member: entry.member))
      } else if relationship.isOrdered, entry.position != MemberChanges.unplaced, entry.position != before {
        edits.removed.append(id)
        added.append(PlacedMember(position: entry.position, member: entry.member))
      }
    }
    if relationship.isOrdered { added.sort { ($0.position, $0.member) < ($1.position, $1.member) } }
    edits.added = added.compactMap { context.identifier($0.member, inStore: home.storeIndex) }
    return edits
  }

  /// Whether `count` members are rather looked up than all of them loaded.
  final func looksUpMembers(_ state: RelationState, _ count: Int) -> Bool {
    guard let context, count <= Self.mostLookUps else { return false }
    return isReadThrough(state, context)
  }

  /// Whether the members are not known here, and those of the store are what is beneath.
  private final func isReadThrough(_ state: RelationState, _ context: ManagedObjectContext) -> Bool {
    state.isFault(epoch: context.epoch(of: state.relationship)) && !state.relationship.isTransient
      && !isInserted && context.strata.isEmpty && context.ancestors.isEmpty
  }

  /// Where a member stands without what was done here, 0 where there is no order; nil for one that is none there. One look-up while the members are not
  /// loaded, unless contexts are nested.
  /// - Throws: ``StorageError``.
  final func positionBeneath(_ state: RelationState, _ member: UInt64) throws -> UInt64? {
    let relationship = state.relationship
    guard let context, isReadThrough(state, context) else {
      let base = isInserted ? state.base ?? [] : loadedState(relationship).base ?? []
      if relationship.isOrdered { return base.first { $0.member == member }?.position }
      return state.baseContains(member) ? 0 : nil
    }
    guard let binding = context.coordinator.binding(home.storeIndex) else {
      throw Self.storeIsRemoved(objectID)
    }
    let store = try context.reading(binding)
    let edges = EdgeSet(relationship: relationship.number)
    if relationship.isOrdered { return try store.position(edges, of: primaryKey, member) }
    return try store.hasMember(edges, of: primaryKey, member) ? 0 : nil
  }
}
