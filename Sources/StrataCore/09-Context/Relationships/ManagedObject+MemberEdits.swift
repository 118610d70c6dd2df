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
      && !isMarkedInserted && context.strata.isEmpty && context.ancestors.isEmpty
  }

  /// Where a member stands without what was done here, 0 where there is no order; nil for one that is none there. One look-up while the members are not
  /// loaded, unless contexts are nested.
  /// - Throws: ``StorageError``.
  final func positionBeneath(_ state: RelationState, _ member: UInt64) throws -> UInt64? {
    let relationship = state.relationship
    guard let context, isReadThrough(state, context) else {
      if !isMarkedInserted { _ = loadedState(relationship) }
      let place = state.basePlace(member)
      return relationship.isOrdered ? place : place.map { _ in 0 }
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

/// Shows the members of a to-many relationship and has to know when there are others. Used on the context's queue.
package protocol MembersFollower: AnyObject {
  /// Whose relationship it is.
  var followed: ManagedObject { get }
  /// Members have changed.
  /// - Parameter isOver: Whether that was all: the members may be read then. While an edit goes on, only what is at hand may be looked at.
  func membersDidChange(isOver: Bool)
}

struct WeakFollower {
  weak var follower: (any MembersFollower)?
}

extension ManagedObject {
  /// From now on `follower` is told when members of this object's relationships change here, and whenever the context posts a notification, as
  /// long as it lives and the object is in its context.
  package final func addFollower(_ follower: any MembersFollower) {
    guard let context else { return }
    ownRelations.isFollowed = true
    let count = context.stores.followers.count
    // Now and then: there may be many that live.
    if count & (count - 1) == 0 { context.stores.followers.removeAll { $0.follower == nil } }
    context.stores.followers.append(WeakFollower(follower: follower))
  }

  /// The members of the relationship in `slot` as they were read last, with what was done here since; nil if they never were. Reads nothing.
  package final func membersAtHand(slot: Int) -> [ManagedObject]? {
    guard let context, let relationship = home.entity.relationship(slot: slot),
      let known = relations?.known(relationship), known.base != nil
    else { return nil }
    return visibleMembers(known).compactMap { context.object($0.member, inStore: home.storeIndex) }
  }

  /// The state of the members of the relationship in `slot`; nil when what is shown depends on more than that, as it does while deleted objects are hidden.
  /// - Parameter reads: Whether members that are not known, or not any more, are read. Otherwise it is the state of ``membersAtHand(slot:)``.
  package final func membersMoment(slot: Int, reads: Bool) -> MembersMoment? {
    guard let context, let relationship = home.entity.relationship(slot: slot),
      let state = reads ? loadedState(relationship) : relations?.known(relationship), state.base != nil,
      !context.deletions.mayHide, relationship.inverse != nil || !context.hasDeletions
    else { return nil }
    return state.moment()
  }

  /// What has moved.
  package final func member(of step: MembersMoment.Step) -> ManagedObject? {
    context?.object(step.member, inStore: home.storeIndex)
  }

  @inline(never)
  final func tellFollowers() {
    var isFollowed = false
    for entry in context?.stores.followers ?? [] {
      guard let follower = entry.follower, follower.followed === self else { continue }
      isFollowed = true
      follower.membersDidChange(isOver: false)
    }
    relations?.isFollowed = isFollowed
  }
}

extension ManagedObjectContext {
  /// Something has happened that may have changed members.
  @inline(never)
  func tellFollowers() {
    for entry in stores.followers {
      guard let follower = entry.follower else { continue }
      follower.membersDidChange(isOver: true)
      // What was known of the relationships may have been forgotten, and with it that somebody follows.
      follower.followed.relations?.isFollowed = true
    }
    stores.followers.removeAll { $0.follower == nil }
  }
}
