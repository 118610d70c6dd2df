import Foundation

// References between objects are IDs: an object refers to no other object, so there are no retain cycles (contexts 9). Owners hold
// what they lead to all the same, see `MemberKeeper` and `ReferenceKeepers`.

extension ManagedObject {
  /// This object as others of its store refer to it.
  final var referenceBits: UInt64 {
    withHome { Reference.bits(primaryKey, entityCode: $0.stamp.entityCode) }
  }

  /// What the object refers to now, 0 for nothing. Fires a fault.
  @inline(__always)
  final func reference(_ relationship: RelationshipSchema) -> UInt64 {
    if let row = fastRow, !relationship.isTransient {
      return RowBytes.reference(row, table[relationship.slot])
    }
    return slowReference(relationship)
  }

  /// What the object refers to as far as it is known, without firing a fault.
  private final func knownReference(_ relationship: RelationshipSchema) -> UInt64 {
    if relationship.isTransient { return transients?[relationship.slot] as? UInt64 ?? 0 }
    if case .reference(let bits) = storedValue(relationship.slot) { return bits }
    return 0
  }

  private final func slowReference(_ relationship: RelationshipSchema) -> UInt64 {
    fire()
    if let row = fastRow, !relationship.isTransient {
      return RowBytes.reference(row, table[relationship.slot])
    }
    return knownReference(relationship)
  }

  /// The object at the other end of a to-one relationship, perhaps a fault. Reads nothing but this object's own row. This object holds the other one
  /// from now on.
  final func relatedObject(_ relationship: RelationshipSchema) -> ManagedObject? {
    checkConfinementHere()
    noteRead(relationship.slot)
    if !state.isDisjoint(with: .fault) {
      fire()
      if state.contains(.probe) { return ProbeRecording.current?.target(relationship, of: self) }
    }
    if let foreign = relations?.foreign[relationship.slot] { return context?.object(with: foreign) }
    // Of a fault that could not be read, what was known.
    let bits = isFault ? knownReference(relationship) : reference(relationship)
    guard bits != 0, let context else {
      if bits != 0 { noteReadWithoutContext() }
      return nil
    }
    if context.deletions.mayHide, context.hidesGone(bits, relationship, of: self) { return nil }
    guard let other = heldObject(relationship, bits, context) else { return nil }
    if context.deletions.mayHide, context.hides(other, from: relationship, of: self) { return nil }
    context.noteWay(relationship, to: other)
    return other
  }

  /// The object that a reference of this one leads to: the one that is held, or one that is held from now on.
  @inline(__always)
  private final func heldObject(
    _ relationship: RelationshipSchema, _ bits: UInt64, _ context: ManagedObjectContext
  ) -> ManagedObject? {
    if keeperHead != 0,
      let held = context.stores.registered(home.storeIndex)?.references.target(
        of: self, slot: relationship.slot, Reference.primaryKey(bits), relationship.destinationHierarchy)
    {
      return held
    }
    guard let other = context.object(bits, inStore: home.storeIndex) else { return nil }
    context.hold(other, by: self, relationship)
    return other
  }

  /// Sets a to-one relationship and the other end with it, at once (rules 208, 209).
  final func setRelatedObject(_ relationship: RelationshipSchema, _ new: ManagedObject?) {
    if isMergedBySave { return }
    if let new, new.contextReference == nil, let kept = new.keptBySave() {
      return setRelatedObject(relationship, kept)
    }
    let isAnnounced = linkObject(relationship, new)
    observedDidChange(relationship.slot)
    if isAnnounced { announceChanged(relationship.slot) }
  }

  /// - Returns: whether a change has been announced that is not over.
  private final func linkObject(_ relationship: RelationshipSchema, _ new: ManagedObject?) -> Bool {
    let context = contextForLinking(relationship, to: new)
    fire()
    // Whatever children have saved of the object comes first.
    claim()
    if state.contains(.awaking) {
      // Awakening objects are not reported, and neither is the other end (rule 55).
      relations?.foreign.remove(nil, slot: relationship.slot)
      let isForeign = new.map { $0.home.storeIndex != home.storeIndex } ?? false
      storeReference(isForeign ? 0 : new?.referenceBits ?? 0, relationship)
      if let new, isForeign { addForeign(relationship, new) }
      return false
    }
    if let new, new.home.storeIndex != home.storeIndex {
      setForeign(relationship, new)
      return false
    }
    if relations?.crossesStores == true { dropForeign(relationship) }
    // An object whose row could not be read leaves the owner that the row names as soon as it can be.
    let old = isFault ? knownReference(relationship) : reference(relationship)
    let bits = new?.referenceBits ?? 0
    if old == bits, !isFault {
      // A new object has been given it all the same: batches ask what that was.
      if bits == 0, !relationship.isTransient { context.givenSlots?.note(relationship.slot, of: self) }
      return false
    }
    storeReference(bits, relationship, isLinking: true)
    if let new { context.hold(new, by: self, relationship) }
    guard let inverse = context.schema.inverse(of: relationship) else { return true }
    if inverse.isToMany {
      moveMembership(inverse, from: old, to: new, context)
    } else {
      movePartnership(relationship, inverse, from: old, to: new, context)
    }
    return true
  }

  /// The common case of an import, without counting references: a new object that refers to nothing yet is given an object of
  /// the relationship's entity which has no news waiting, and is not recorded for undo.
  ///
  /// - Returns: whether it was that case; if not, nothing has happened.
  final func linkNew(_ slot: Int, to other: ManagedObject, _ edits: RowDraft.Pointers) -> Bool {
    guard state.isDisjoint(with: .observedOrAnnouncing), let contextReference, let boundReference,
      let otherBound = other.boundReference,
      other.contextReference?.toOpaque() == contextReference.toOpaque(), snapshot == nil,
      !edits.header.pointee.present.contains(slot), relations?.crossesStores != true,
      state.contains(.inserted), state.isDisjoint(with: .received),
      other.state.isDisjoint(with: [.received, .anyDeleted])
    else { return false }
    // The context lives while it is used, and what an object is bound to as long as the context.
    return contextReference._withUnsafeGuaranteedRef { context in
      boundReference._withUnsafeGuaranteedRef { bound in
        otherBound._withUnsafeGuaranteedRef { otherBound in
          guard context.undoRecorder == nil, bound.storeIndex == otherBound.storeIndex,
            let relationship = bound.entity.relationship(slot: slot), !relationship.isToMany,
            !relationship.isTransient, relationship.destination == otherBound.entity.number,
            let inverse = context.schema.inverse(of: relationship), inverse.isToMany
          else { return false }
          edits.put(
            bits: Reference.bits(other.primaryKey, entityCode: otherBound.stamp.entityCode), slot)
          let bits = Reference.bits(primaryKey, entityCode: bound.stamp.entityCode)
          other.withRelationState(of: inverse) { $0.add(bits) }
          other.noteRelationChange()
          return true
        }
      }
    }
  }

  /// The value alone, without the other end. `isLinking` when the caller sets that, and announces the change afterwards.
  final func storeReference(
    _ bits: UInt64, _ relationship: RelationshipSchema, isLinking: Bool = false
  ) {
    context?.noteReference(from: self, relationship, bits)
    if relationship.isTransient {
      setTransient(bits == 0 ? nil : bits, relationship.slot, isRelationship: true)
    } else {
      edit(relationship.slot, bits == 0 ? .null : .reference(bits), isFired: true)
    }
    if !isLinking { announceChanged(relationship.slot) }
  }

  /// An object of another store: remembered, so that the save can refuse it (rule 146).
  private final func setForeign(_ relationship: RelationshipSchema, _ new: ManagedObject) {
    setRelatedObject(relationship, nil)
    context?.willChange(self)
    observedWillChange(relationship.slot)
    addForeign(relationship, new)
    noteChange()
  }

  /// The relationship leads to an object of another store, which learns of it.
  final func addForeign(_ relationship: RelationshipSchema, _ end: ManagedObject) {
    if !relationship.isToMany { ownRelations.foreign.remove(nil, slot: relationship.slot) }
    ownRelations.foreign.add(end.objectID, slot: relationship.slot)
    end.ownRelations.noteForeign(owner: objectID)
  }

  /// The relationship does not lead to `end`, an object of another store, any more, whichever of the two was given the other; for nil to none
  /// of them.
  final func dropForeign(_ relationship: RelationshipSchema, _ end: ManagedObjectID? = nil) {
    guard let relations, relations.crossesStores else { return }
    if relations.foreign[relationship.slot] != nil {
      context?.willChange(self)
      relations.foreign.remove(end, slot: relationship.slot)
    }
    guard let context, let inverse = context.schema.inverse(of: relationship) else { return }
    for id in relations.foreignOwners where end == nil || id == end {
      guard let owner = context.locate(id)?.table.object(for: id.primaryKey),
        owner.relations?.foreign.leads(to: objectID, slot: inverse.slot) == true
      else { continue }
      context.willChange(owner)
      owner.relations?.foreign.remove(objectID, slot: inverse.slot)
    }
  }

  /// The object belongs to another owner now.
  private final func moveMembership(
    _ inverse: RelationshipSchema, from old: UInt64, to new: ManagedObject?, _ context: ManagedObjectContext
  ) {
    let bits = referenceBits
    if old != 0, let owner = context.object(old, inStore: home.storeIndex), owner.isThere(under: inverse) {
      owner.changingState(inverse).remove(bits)
      owner.noteRelationChange()
    }
    if let new {
      new.changingState(inverse).add(bits)
      new.noteRelationChange()
    }
  }

  /// Whether the owner of `relationship` exists. Under the rule *no action* its members may still refer to one that is gone (rule
  /// 212), and which must not count as edited.
  final func isThere(under relationship: RelationshipSchema) -> Bool {
    guard relationship.deleteRule == .noAction, isFault, snapshot == nil, !hasDraft else { return true }
    // One that cannot be read is not gone.
    if case .gone = loadRow() { return false }
    return true
  }

  /// A child's change of what this object refers to is one of this context's own now: so is what follows for the owners. No context
  /// needs to be notified of it.
  final func adoptMembership(_ relationship: RelationshipSchema, from old: UInt64, to new: UInt64) {
    guard old != new, let context, let inverse = context.schema.inverse(of: relationship), inverse.isToMany
    else { return }
    let bits = referenceBits
    for (owner, isNew) in [(old, false), (new, true)] {
      // An owner that was new and went with the same save of a child: there must be no fault of it.
      if context.isVanished(owner, inStore: home.storeIndex) { continue }
      guard let owner = context.object(owner, inStore: home.storeIndex), owner.isThere(under: inverse) else {
        continue
      }
      let state = owner.changingState(inverse)
      if isNew {
        if state.lastChange(bits)?.isRemoval ?? true { state.add(bits) }
      } else {
        state.remove(bits)
      }
      if owner.state.isDisjoint(with: [.inserted, .updated, .deleted, .flyingDelete]) {
        context.changes.adopt(owner, as: .update)
      }
    }
  }

  /// Another context has given the object to another owner than `old` did, while an unsaved edit here gives it to a third or it is deleted
  /// here: it is not a member where the other has put it.
  final func leaveOwnersOfOthers(since old: RowSnapshot) {
    guard let context, let snapshot, !home.entity.relationships.isEmpty else { return }
    for relationship in home.entity.relationships where !relationship.isToMany && !relationship.isTransient {
      guard context.schema.inverse(of: relationship)?.isToMany == true else { continue }
      let found = snapshot.reference(relationship, home)
      if found == 0 || found == old.reference(relationship, home) { continue }
      if !isMarkedDeleted {
        guard let draft, draft.isChanged(relationship.slot), found != reference(relationship) else {
          continue
        }
      }
      adoptMembership(relationship, from: found, to: 0)
    }
  }

  /// The object is written again after its row had gone, and was no member without it: it is its owners' again.
  final func rejoinOwners() {
    guard let context else { return }
    for relationship in home.entity.relationships where !relationship.isToMany && !relationship.isTransient {
      guard let inverse = context.schema.inverse(of: relationship), inverse.isToMany,
        let owner = context.object(reference(relationship), inStore: home.storeIndex)
      else { continue }
      adoptMembership(relationship, from: 0, to: reference(relationship))
      owner.noteRelationChange()
    }
  }

  /// One-to-one: former partners at either end are released.
  private final func movePartnership(
    _ relationship: RelationshipSchema, _ inverse: RelationshipSchema, from old: UInt64,
    to new: ManagedObject?, _ context: ManagedObjectContext
  ) {
    let bits = referenceBits
    if old != 0, let partner = context.object(old, inStore: home.storeIndex), partner !== new {
      partner.leave(inverse, self)
    }
    guard let new else { return }
    new.claim()
    let previous = new.reference(inverse)
    if previous == bits { return }
    if previous != 0, let partner = context.object(previous, inStore: home.storeIndex), partner !== self {
      partner.leave(relationship, new)
    }
    new.storeReference(bits, inverse)
    context.hold(self, by: new, inverse)
  }

  // MARK: Programmer errors

  /// The context, which an object must have before it can be related to others.
  ///
  /// `fate` is what became of this object, if that is known.
  final func contextForLinking(_ relationship: RelationshipSchema, fate: @autoclosure () -> String = "")
    -> ManagedObjectContext
  {
    guard let context = context ?? looseContext() else {
      trap(
        "\(relationship.qualifiedName) was set on an object that is in no context any more, since it was deleted or its context was "
          + "reset: insert \(self) into a context first.\(fate())"
      )
    }
    context.checkAccess(home.token.entityName)
    return context
  }

  /// The same once `object`, which is checked, is together with this one.
  final func contextForLinking(_ relationship: RelationshipSchema, to object: ManagedObject?)
    -> ManagedObjectContext
  {
    let context = contextForLinking(
      relationship, fate: object?.context?.fateInWords(of: objectID) ?? "")
    guard let object else { return context }
    let areTogether = object.contextReference?.toOpaque() == contextReference?.toOpaque()
    check(object, fits: relationship, in: context)
    // Where either was in no context, this one may have come into the object's.
    return areTogether ? context : self.context ?? context
  }

  /// Traps for an object of another context, or of the wrong entity. One that is in no context comes into this one's.
  final func check(
    _ object: ManagedObject, fits relationship: RelationshipSchema, in context: ManagedObjectContext
  ) {
    if object.contextReference?.toOpaque() != contextReference?.toOpaque(), !join(object, context) {
      trapForeignMember(object, relationship, context)
    }
    let destination = context.schema.entities[relationship.destination]
    let entity = object.home.entity.number
    if entity != destination.number, !destination.subtree.contains(entity) {
      trap(
        "\(relationship.qualifiedName) leads to \(destination.name) and cannot take an object of entity "
          + "\(object.home.token.entityName).")
    }
  }

  private final func trapForeignMember(
    _ object: ManagedObject, _ relationship: RelationshipSchema, _ context: ManagedObjectContext
  ) -> Never {
    let name = object.home.token.entityName
    guard let other = object.context else {
      trap(
        "\(relationship.qualifiedName) of an object of \(context) was given an object of \(name) that is in no context any more: "
          + "it was deleted or its context was reset; insert it again, or fetch it again."
          + context.fateInWords(of: object.objectID)
      )
    }
    trap(
      "\(relationship.qualifiedName) of an object of \(context) was given an object of \(name) that belongs to \(other). "
        + "A managed object belongs to one context: pass its objectID and call object(with:) on \(context)."
    )
  }
}

extension ManagedObjectContext {
  /// The object a reference leads to, perhaps a fault whose row was never read. Reads nothing.
  @inline(__always)
  func object(_ bits: UInt64, inStore index: Int) -> ManagedObject? {
    if bits != 0,
      let known = Unmanaged.passUnretained(stores)._withUnsafeGuaranteedRef({
        $0.known(bits, inStore: index)
      })
    {
      return known
    }
    guard bits != 0, let store = stores.registered(index),
      let bound = store.binding.entity(code: Reference.entityCode(bits))
    else { return nil }
    return object(Reference.primaryKey(bits), bound, store.tables[bound.hierarchyNumber])
  }

  func object(_ key: UInt64, _ bound: BoundEntity, _ table: IdentityTable) -> ManagedObject {
    if let known = known(key, as: bound, in: table) { return known }
    if let received = receivedObject(key, bound) { return received }
    let object = makeObject(key, nil, bound, table)
    object.noteWhetherStored()
    return object
  }

  /// The ID a reference stands for.
  func identifier(_ bits: UInt64, inStore index: Int) -> ManagedObjectID? {
    guard bits != 0,
      let bound = coordinator.binding(index)?.entity(code: Reference.entityCode(bits))
    else { return nil }
    let id = ManagedObjectID(token: bound.token, primaryKey: Reference.primaryKey(bits))
    if let known = stores.table(for: bound)?.object(for: id.primaryKey) { return known.objectID }
    if strata.isEmpty, ancestors.isEmpty { return id }
    return id.with(
      isTemporary: isUnstored(
        StratumLayer.Table(storeIndex: bound.storeIndex, hierarchy: bound.hierarchyNumber), id.primaryKey))
  }
}
