extension ManagedObject {
  /// Whether the row beneath does not show what the object is: unlike that of an object of which only relationships changed.
  final var hidesStoredRow: Bool {
    !state.isDisjoint(with: [.inserted, .deleted, .inFlight]) || (state.contains(.updated) && hasDraft)
  }

  /// The object's edits are about to be dropped: what they did to the other ends is taken back.
  final func withdrawRelationships() {
    guard context != nil, !home.entity.relationships.isEmpty else { return }
    for relationship in home.entity.relationships where !relationship.isToMany {
      if hasDraft, withDraft({ $0.isChanged(relationship.slot) }) { withdrawReference(relationship) }
    }
    guard let relations else { return }
    relations.foreign = ForeignLinks()
    for (_, state) in relations.states where state.hasChanges { withdraw(state) }
  }

  /// An edited reference is about to be dropped.
  ///
  /// - Parameter keepsPlace: The edit is dropped because it says what the row says. In an ordered relationship the object then stays where the edit has put it.
  final func withdrawReference(_ relationship: RelationshipSchema, keepsPlace: Bool = false) {
    guard let context, let inverse = context.schema.inverse(of: relationship), !relationship.isTransient
    else {
      return
    }
    let now = reference(relationship)
    let saved = snapshot?.reference(relationship, home) ?? 0
    if !keepsPlace { forgetForUndo(relationship, inverse) }
    if now == saved { return withdrawSettledReference(relationship, inverse, keepsPlace: keepsPlace) }
    for end in [now, saved] {
      guard let other = context.knownObject(end, inStore: home.storeIndex) else { continue }
      if inverse.isToMany {
        other.forgetWithdrawn(referenceBits, inverse)
      } else {
        let edit = PartnerEdit(object: other, relationship: inverse, former: self, isSaved: end == saved)
        withdrawPartners(beginningWith: edit, context)
      }
    }
  }

  /// One-to-one: an end that may have been edited together with the other one.
  private struct PartnerEdit {
    let object: ManagedObject
    let relationship: RelationshipSchema
    /// The other end, whose edit is dropped.
    let former: ManagedObject
    /// Whether the other end's row names the object: then it has left, whatever it has been given since.
    let isSaved: Bool
  }

  /// One-to-one: the partner's own edit goes with this object's, with it the edit of whoever it has been given to or taken from, and so on: otherwise one end would say what the other
  /// does not.
  private final func withdrawPartners(beginningWith first: PartnerEdit, _ context: ManagedObjectContext) {
    var waiting = [first]
    // Each round drops an edit, or ends nothing more: there is an end.
    while let edit = waiting.popLast() {
      let (object, slot) = (edit.object, edit.relationship.slot)
      guard object !== self, let draft = object.draft, !object.state.contains(.draftFrozen),
        draft.isChanged(slot), let inverse = context.schema.inverse(of: edit.relationship)
      else { continue }
      let now: UInt64 = if case .reference(let bits) = draft[slot] { bits } else { 0 }
      guard edit.isSaved || now == edit.former.referenceBits else { continue }
      let saved = object.snapshot?.reference(edit.relationship, object.home) ?? 0
      object.editableDraft().clear(slot)
      _ = context.undoRecorder?.forgetReference(edit.relationship, of: object)
      context.changes.note(object, .refresh)
      for end in [now, saved] {
        guard let next = context.knownObject(end, inStore: object.home.storeIndex) else { continue }
        waiting.append(
          PartnerEdit(object: next, relationship: inverse, former: object, isSaved: end == saved))
      }
    }
  }

  /// The reference led elsewhere and is back at what the row says: owners that had the object in between, and the one that has it again, have
  /// noted changes of members, which are none.
  private final func withdrawSettledReference(
    _ relationship: RelationshipSchema, _ inverse: RelationshipSchema, keepsPlace: Bool
  ) {
    guard let context, inverse.isToMany, hasDraft, withDraft({ $0.isChanged(relationship.slot) }) else {
      return
    }
    let owners = context.schema.entities[relationship.destination].subtree
    let owner = keepsPlace && inverse.isOrdered ? reference(relationship) : 0
    for other in context.changes.updated + context.changes.inserted
    where other.home.storeIndex == home.storeIndex && owners.contains(other.home.entityNumber) {
      // It is where the edit has put it, which the row does not say.
      if owner != 0, other.referenceBits == owner,
        other.relations?.known(inverse)?.lastChange(referenceBits)?.isRemoval == false
      {
        continue
      }
      other.forgetWithdrawn(referenceBits, inverse, forUndo: !keepsPlace)
    }
  }

  private final func withdraw(_ state: RelationState) {
    guard let context, let inverse = context.schema.inverse(of: state.relationship) else {
      state.restore(MemberChanges())
      self.context?.undoRecorder?.forget(nil, state.relationship, of: self)
      return
    }
    // Members that refer to this object by their own rows keep what they have been given.
    if !inverse.isToMany { return }
    context.undoRecorder?.forget(nil, state.relationship, of: self)
    for entry in state.changes.effective {
      context.knownObject(entry.member, inStore: home.storeIndex)?.forgetWithdrawn(referenceBits, inverse)
    }
    state.restore(MemberChanges())
  }

  /// The object is not deleted after all: its owners have it back, and so have those that are related to it at both ends by edges. What was
  /// edited here before is for the edits to say.
  ///
  /// - Parameter fromMembers: Looks at all members that are known, and at what is edited.
  final func withdrawDeletion(fromMembers: Bool = true) {
    if fromMembers { takeBackMembers() }
    guard let context, let snapshot else { return }
    for relationship in home.entity.relationships where !relationship.isTransient {
      guard let inverse = context.schema.inverse(of: relationship) else { continue }
      if relationship.isToMany {
        if fromMembers, inverse.isToMany { withdrawDeletion(from: relationship, inverse) }
        continue
      }
      if let draft, draft.isChanged(relationship.slot) { continue }
      guard
        let other = context.knownObject(snapshot.reference(relationship, home), inStore: home.storeIndex)
      else { continue }
      if inverse.isToMany {
        other.forgetWithdrawn(referenceBits, inverse)
      } else {
        other.takeBackLeaving(inverse, referenceBits)
      }
    }
  }

  /// The members that were known have lost the object by its deletion only.
  private final func withdrawDeletion(from relationship: RelationshipSchema, _ inverse: RelationshipSchema) {
    guard let context, let state = relations?.known(relationship) else { return }
    for entry in state.members() where !state.isPlacedHere(entry.member) {
      context.knownObject(entry.member, inStore: home.storeIndex)?.forgetWithdrawn(referenceBits, inverse)
    }
  }

  /// One-to-one: the object was to leave `partner`, which its row names and which is not deleted after all.
  private final func takeBackLeaving(_ relationship: RelationshipSchema, _ partner: UInt64) {
    guard let context, let draft, !state.contains(.draftFrozen), draft.isChanged(relationship.slot),
      draft[relationship.slot].isNull, snapshot?.reference(relationship, home) == partner
    else { return }
    editableDraft().clear(relationship.slot)
    _ = context.undoRecorder?.forgetReference(relationship, of: self)
    context.changes.note(self, .refresh)
  }

  /// The object is gone, and was to be a member of the owners that it refers to: it is a member no longer.
  final func withdrawMemberships() {
    guard let context else { return }
    for relationship in home.entity.relationships where !relationship.isToMany && !relationship.isTransient {
      guard let inverse = context.schema.inverse(of: relationship), inverse.isToMany else { continue }
      context.knownObject(reference(relationship), inStore: home.storeIndex)?
        .forgetWithdrawn(referenceBits, inverse)
    }
    guard let relations else { return }
    for (_, state) in relations.states where state.hasChanges {
      guard let inverse = context.schema.inverse(of: state.relationship), inverse.isToMany else { continue }
      for entry in state.changes.effective {
        context.knownObject(entry.member, inStore: home.storeIndex)?.forgetWithdrawn(referenceBits, inverse)
      }
    }
  }

  /// The object was gone and is there again, with its edits: what they gave it to has it again.
  final func restoreMemberships() {
    guard let context else { return }
    for relationship in home.entity.relationships where !relationship.isToMany && !relationship.isTransient {
      guard hasDraft, withDraft({ $0.isChanged(relationship.slot) }),
        context.schema.inverse(of: relationship)?.isToMany == true
      else { continue }
      adoptMembership(relationship, from: 0, to: reference(relationship))
    }
    guard let relations else { return }
    for (_, state) in relations.states where state.hasChanges {
      guard let inverse = context.schema.inverse(of: state.relationship), inverse.isToMany else { continue }
      for entry in state.changes.effective {
        guard let other = context.object(entry.member, inStore: home.storeIndex) else { continue }
        let state = other.changingState(inverse)
        if entry.isRemoval {
          state.remove(referenceBits)
        } else if state.lastChange(referenceBits)?.isRemoval ?? true {
          state.add(referenceBits)
        }
        if other.state.isDisjoint(with: [.inserted, .updated, .deleted]) {
          context.changes.adopt(other, as: .update)
        }
      }
    }
  }

  /// A member whose own change is dropped: the object shows other members, and says so at the end of the event. Undo does not bring the
  /// change back either, unless `forUndo` is false.
  final func forgetWithdrawn(
    _ member: UInt64, _ relationship: RelationshipSchema, forUndo: Bool = true
  ) {
    guard let state = relations?.known(relationship) else { return }
    if forUndo { context?.undoRecorder?.forget(member, relationship, of: self) }
    if !state.hasChanges { return }
    state.forget(member)
    context?.changes.note(self, .refresh)
  }
}

extension ManagedObjectContext {
  /// The object a reference leads to if it is in the context.
  func knownObject(_ bits: UInt64, inStore index: Int) -> ManagedObject? {
    guard bits != 0, let store = stores.registered(index),
      let bound = store.binding.entity(code: Reference.entityCode(bits))
    else { return nil }
    return store.tables[bound.hierarchyNumber].object(for: Reference.primaryKey(bits))
  }

  /// A child has saved `row`.
  func forgetMembers(changedBy row: StratumRow) {
    if row.kind == .delete { forgetMembers(withoutInverseTo: row.bound.entity) }
    for number in row.edges.keys { forgetMembers(of: number) }
    for relationship in row.bound.entity.relationships where row.changesReference(relationship) {
      if let inverse = relationship.inverse { forgetMembers(of: inverse) }
    }
  }
}
