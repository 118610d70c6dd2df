/// What an object's to-many relationships were before an event: a part of `ObjectUndoState`.
///
/// Members that follow from references at the other end come back with those: of them only places are kept.
struct RelationUndoState {
  /// What had been done to each relationship before the event.
  private var before: [(state: RelationState, flying: MemberChanges, changes: MemberChanges)] = []
  /// After the event: members that were not what they are now; position nil for objects that were no members.
  private var members: [(relationship: RelationshipSchema, member: UInt64, position: UInt64?)] = []
  /// Where such a member stood behind all saved ones: these, in their order. A save gives them other positions.
  private var appended: [(relationship: RelationshipSchema, members: [UInt64])] = []
  /// Of an object that went: who led to it by relationships that do not lead back, and where it stood. Nothing else knows of that once the deletion is saved.
  private var owners: [(relationship: RelationshipSchema, owner: UInt64, position: UInt64)] = []
  /// Of an object that went: members that went, too, and that put themselves back where the store knows of it.
  private var departed: [(relationship: RelationshipSchema, member: UInt64, position: UInt64)] = []
  /// What relationships led to in other stores; nil when that has not changed.
  private var foreign: ForeignLinks?
  /// Some relationship has changed, by whatever means.
  private(set) var hasChanged = false

  init() {}

  init(before object: ManagedObject) {
    foreign = object.relations?.foreign ?? ForeignLinks()
    for (_, state) in object.relations?.states ?? [] {
      before.append((state, state.flying, state.changes))
    }
  }

  /// Nothing to put back here.
  var isEmpty: Bool { members.isEmpty && foreign == nil }

  /// The event is over, and the object stayed: keeps what differs.
  mutating func keepDifferences(of object: ManagedObject) {
    if foreign == object.relations?.foreign ?? ForeignLinks() { foreign = nil } else { hasChanged = true }
    for (_, state) in object.relations?.states ?? [] {
      let old = before.first { $0.state === state }
      if state.changes.entries == old?.changes.entries ?? [] { continue }
      hasChanged = true
      guard state.relationship.isKeptHere else { continue }
      if keepFew(of: object, state, old.map { [$0.flying, $0.changes] } ?? []) { continue }
      let base = object.loadedState(state.relationship).base ?? []
      let earlier = RelationState.apply(
        old.map { [$0.flying, $0.changes] } ?? [], to: base, state.relationship)
      keep(earlier, state.members(), of: state.relationship)
    }
    before = []
  }

  /// The same for a few changes while the members are not loaded: each is looked up. False when that is not the case, or they cannot be looked up.
  private mutating func keepFew(
    of object: ManagedObject, _ state: RelationState, _ before: [MemberChanges]
  ) -> Bool {
    var earlier = MemberChanges()
    for changes in before { earlier.append(changes) }
    let now = state.pending
    guard object.looksUpMembers(state, now.count + earlier.entries.count) else { return false }
    var changed = Set(now.map(\.member))
    var order = now.map(\.member)
    for entry in earlier.effective where changed.insert(entry.member).inserted { order.append(entry.member) }
    var kept: [(relationship: RelationshipSchema, member: UInt64, position: UInt64?)] = []
    var placed = ContiguousArray<PlacedMember>()
    do {
      for member in order {
        let beneath = try object.positionBeneath(state, member)
        let position = state.position(after: earlier.last(member), beneath)
        if let position { placed.append(PlacedMember(position: position, member: member)) }
        if position == state.position(after: state.lastChange(member), beneath) { continue }
        if position == nil, state.relationship.isInverseToOne { continue }
        kept.append((state.relationship, member, position))
      }
    } catch {
      // Loading all of them tells of it.
      return false
    }
    members += kept
    keepOrder(placed, of: state.relationship)
    return true
  }

  private mutating func keep(
    _ earlier: ContiguousArray<PlacedMember>, _ now: ContiguousArray<PlacedMember>,
    of relationship: RelationshipSchema
  ) {
    var old = Dictionary(earlier.map { ($0.member, $0.position) }) { first, _ in first }
    for member in now {
      let position = old.removeValue(forKey: member.member)
      if position == member.position { continue }
      // Who did not refer to the object before does not once its own reference is put back.
      if position == nil, relationship.isInverseToOne { continue }
      members.append((relationship, member.member, position))
    }
    for (member, position) in old { members.append((relationship, member, position)) }
    keepOrder(earlier, of: relationship)
  }

  /// Keeps the order of those that stood behind all saved ones, if one of them has left its place.
  private mutating func keepOrder(
    _ earlier: ContiguousArray<PlacedMember>, of relationship: RelationshipSchema
  ) {
    guard relationship.isOrdered,
      members.contains(where: { $0.relationship === relationship && Self.isProvisional($0.position) })
    else { return }
    let behind = earlier.filter { Self.isProvisional($0.position) }
    let sorted = behind.sorted { ($0.position, $0.member) < ($1.position, $1.member) }
    appended.append((relationship, sorted.map(\.member)))
  }

  private static func isProvisional(_ position: UInt64?) -> Bool {
    position.map { $0 >= EdgePosition.firstProvisional } ?? false
  }

  /// During the event what had been done to `member` before it was dropped, or what had been done to all of them, for nil.
  mutating func forget(_ member: UInt64?, _ relationship: RelationshipSchema) {
    for place in before.indices where before[place].state.relationship === relationship {
      if let member {
        before[place].changes.forget(member)
      } else {
        before[place].changes = MemberChanges()
      }
    }
  }

  /// The event is over, and the object went: keeps all members, since a save of the deletion forgets them.
  mutating func keepAll(of object: ManagedObject, _ ahead: HiddenOwners?) {
    hasChanged = !object.home.entity.relationships.isEmpty
    if object.context != nil {
      for relationship in object.home.entity.relationships where relationship.isToMany {
        let old = before.first { $0.state.relationship === relationship }
        var earlier: Set<UInt64> = []
        // Under no action the other ends stay as they are, and put nothing back.
        if relationship.isKeptHere || relationship.deleteRule == .noAction {
          let base = object.loadedState(relationship).base ?? []
          let all = RelationState.apply(old.map { [$0.flying, $0.changes] } ?? [], to: base, relationship)
          for member in all {
            if isPutBack(by: member.member, to: object, relationship) {
              departed.append((relationship, member.member, member.position))
            } else {
              members.append((relationship, member.member, member.position))
            }
          }
          earlier = Set(all.map(\.member))
        } else if let old {
          for changes in [old.flying, old.changes] {
            for entry in changes.effective where !entry.isRemoval { earlier.insert(entry.member) }
          }
        }
        keepAdded(to: object, relationship, since: earlier)
      }
      keepOwners(of: object, ahead)
    } else {
      // It was new: what had been done is all there is.
      for old in before where old.state.relationship.isKeptHere {
        for entry in old.changes.effective where !entry.isRemoval {
          members.append((old.state.relationship, entry.member, entry.position))
        }
      }
    }
    before = []
  }

  /// Whether `member`, which is deleted, puts itself back into a relationship of `object` that does not lead back: see `keepOwners(of:)`.
  private func isPutBack(
    by member: UInt64, to object: ManagedObject, _ relationship: RelationshipSchema
  ) -> Bool {
    guard relationship.inverse == nil, !relationship.isTransient, let context = object.context,
      let state = object.relations?.known(relationship)
    else { return false }
    return state.lastChange(member) == nil && state.baseContains(member)
      && context.isDeletedHere(member, inStore: object.home.storeIndex)
  }

  /// Looks up, before the deletion is saved, who leads to the object by relationships without an inverse. Owners to which something was done about it here put that back
  /// themselves.
  private mutating func keepOwners(of object: ManagedObject, _ ahead: HiddenOwners?) {
    let relationships = HiddenOwners.relationships(to: object)
    let index = object.home.storeIndex
    guard !relationships.isEmpty, let context = object.context, !object.state.contains(.rowGone),
      let binding = context.coordinator.binding(index)
    else { return }
    let (store, bits) = (context.newest(binding), object.referenceBits)
    do {
      for relationship in relationships {
        let backwards = EdgeSet(relationship: relationship.number, isHiddenInverse: true)
        let edges = EdgeSet(relationship: relationship.number)
        let found = ahead?.owners(of: object, relationship)
        for owner in try found ?? store.members(backwards, of: object.primaryKey) {
          let known = context.knownObject(owner, inStore: index)?.relations?.known(relationship)
          if known?.lastChange(bits) != nil { continue }
          var position: UInt64?
          if relationship.isOrdered {
            position = try store.position(edges, of: Reference.primaryKey(owner), bits)
          }
          owners.append((relationship, owner, position ?? MemberChanges.unplaced))
        }
      }
    } catch {
      context.report(error, reading: object)
    }
  }

  /// The object is written again, and all that returns with it is back: it belongs to those that led to it, as far as they are there.
  func putBackOwners(of object: ManagedObject, in context: ManagedObjectContext) {
    let (index, bits) = (object.home.storeIndex, object.referenceBits)
    for (relationship, owner, position) in owners {
      guard let owner = context.presentOwner(owner, inStore: index) else { continue }
      let state = owner.changingState(relationship)
      if state.lastChange(bits)?.isRemoval == false { continue }
      if position == MemberChanges.unplaced { state.add(bits) } else { state.place(bits, at: position) }
      owner.noteRelationChange()
    }
    for (relationship, member, position) in departed
    where context.knownObject(member, inStore: index)?.isPresent(in: context) == true {
      let state = object.relationState(relationship)
      if state.lastChange(member)?.isRemoval == false { continue }
      if position == MemberChanges.unplaced { state.add(member) } else { state.place(member, at: position) }
    }
  }

  /// What the event has added before the object went is no member when it returns. One that refers to the object still puts that back itself.
  private mutating func keepAdded(
    to object: ManagedObject, _ relationship: RelationshipSchema, since earlier: Set<UInt64>
  ) {
    guard let context = object.context, let state = object.relations?.known(relationship), state.hasChanges
    else { return }
    let inverse = context.schema.inverse(of: relationship)
    for entry in state.changes.effective where !entry.isRemoval && !earlier.contains(entry.member) {
      if let inverse, !inverse.isToMany,
        let member = context.knownObject(entry.member, inStore: object.home.storeIndex),
        member.isPresent(in: context), member.reference(inverse) == object.referenceBits
      {
        continue
      }
      members.append((relationship, entry.member, nil))
    }
  }

  /// Makes the relationships what they were. What is done at the other ends is put back by those.
  func putBack(_ object: ManagedObject) {
    if let foreign, !foreign.isEmpty || object.relations != nil { object.ownRelations.foreign = foreign }
    for (relationship, member, position) in members {
      let state = object.relationState(relationship)
      if let position {
        if position == MemberChanges.unplaced {
          state.add(member)
        } else {
          state.place(member, at: position)
        }
      } else {
        state.remove(member)
      }
    }
  }

  /// All members are back: brings those that stood behind all saved ones into their order, if they may have been saved since.
  func putBackOrder(_ object: ManagedObject, isSaved: Bool) {
    for (relationship, order) in appended {
      let isFlying = object.relations?.known(relationship)?.flying.isEmpty == false
      guard isSaved || object.context?.parent != nil || isFlying else { continue }
      let state = object.untrackedState(relationship)
      let now = state.members().map(\.member)
      let present = Set(now)
      let ordered = Set(order)
      var moved = Set<UInt64>()
      for kept in members where kept.relationship === relationship && Self.isProvisional(kept.position) {
        moved.insert(kept.member)
      }
      // What has come behind those that stayed where they are stays behind them.
      let end = now.lastIndex { ordered.contains($0) && !moved.contains($0) }.map { $0 + 1 } ?? now.count
      let first = now[..<end].filter { !ordered.contains($0) }
      let last = now[end...].filter { !ordered.contains($0) }
      object.reorder(relationship, first + order.filter { present.contains($0) } + last)
    }
  }
}

extension RelationshipSchema {
  /// Whether undo must keep members, or their places: they do not all come back with references at the other end.
  var isKeptHere: Bool { isToMany && (!isInverseToOne || isOrdered) }
}

extension ManagedObject {
  /// Takes the object out of the sets of those it refers to, or puts it in.
  final func tellOwners(isMember: Bool) {
    for relationship in home.entity.relationships where !relationship.isToMany {
      let end = reference(relationship)
      adoptMembership(relationship, from: isMember ? 0 : end, to: isMember ? end : 0)
    }
  }

  /// The edit of a reference is dropped, and with it what that did at the other end. Undo does not bring that back; the reference itself only
  /// with the other values of the object.
  final func forgetForUndo(_ relationship: RelationshipSchema, _ inverse: RelationshipSchema) {
    guard let context, let recorder = context.undoRecorder else { return }
    let former = recorder.forgetReference(relationship, of: self, isKept: inverse.isToMany)
    guard let other = context.knownObject(former, inStore: home.storeIndex) else { return }
    if inverse.isToMany {
      recorder.forget(referenceBits, inverse, of: other)
    } else {
      _ = recorder.forgetReference(inverse, of: other)
    }
  }

  /// What has been done to relationships and undone again is no change.
  final func forgetUndoneRelations() {
    guard let context, let relations, relations.hasChanges else { return }
    for (_, state) in relations.states where state.hasChanges && state.flying.isEmpty {
      if let isNone = changesNothing(state) {
        if isNone { state.restore(MemberChanges()) }
        continue
      }
      let loaded = context.undoneBase(of: self, state)
      if loaded == state.members() { state.restore(MemberChanges()) }
    }
  }

  /// Whether a few changes leave every member where it is beneath, by looking each one up; nil when they are not to be looked up, or cannot be.
  private final func changesNothing(_ state: RelationState) -> Bool? {
    let changes = state.pending
    guard looksUpMembers(state, changes.count) else { return nil }
    do {
      return try changes.allSatisfy { change in
        let beneath = try positionBeneath(state, change.member)
        return state.position(after: change, beneath) == beneath
      }
    } catch {
      // Loading all of them tells of it.
      return nil
    }
  }
}

extension ManagedObjectContext {
  /// The object a reference leads to, if it is there and stays. One that cannot be read is reported.
  fileprivate func presentOwner(_ bits: UInt64, inStore index: Int) -> ManagedObject? {
    guard !isVanished(bits, inStore: index), !isDeletedHere(bits, inStore: index),
      let owner = object(bits, inStore: index)
    else { return nil }
    guard owner.isFault, owner.snapshot == nil, !owner.hasDraft else { return owner }
    switch owner.loadRow() {
    case .found: return owner
    case .gone: return nil
    case .unreadable(let error):
      report(error, reading: owner)
      return nil
    }
  }

  fileprivate func undoneBase(of object: ManagedObject, _ state: RelationState)
    -> ContiguousArray<PlacedMember>
  {
    let base = object.loadedState(state.relationship).base ?? []
    // Without an order members may have been added back behind the others.
    if state.relationship.isOrdered { return base }
    let now = Set(state.members().map(\.member))
    return now.count == base.count && base.allSatisfy({ now.contains($0.member) }) ? state.members() : base
  }
}
