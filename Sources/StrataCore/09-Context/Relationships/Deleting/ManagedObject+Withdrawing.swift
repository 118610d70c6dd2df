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
    relations.foreign = [:]
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
    if now == saved { return withdrawSettledReference(relationship, inverse, keepsPlace: keepsPlace) }
    for end in [now, saved] {
      guard let other = context.knownObject(end, inStore: home.storeIndex) else { continue }
      if inverse.isToMany {
        other.forgetWithdrawn(referenceBits, inverse)
      } else if let draft = other.draft, !other.state.contains(.draftFrozen), draft.isChanged(inverse.slot) {
        // One-to-one: the partner's own edit goes with this one.
        if end == saved || other.reference(inverse) == referenceBits {
          other.editableDraft().clear(inverse.slot)
          context.changes.note(other, .refresh)
        }
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
      other.forgetWithdrawn(referenceBits, inverse)
    }
  }

  private final func withdraw(_ state: RelationState) {
    guard let context, let inverse = context.schema.inverse(of: state.relationship) else {
      state.restore(MemberChanges())
      return
    }
    // Members that refer to this object by their own rows keep what they have been given.
    if !inverse.isToMany { return }
    for entry in state.changes.effective {
      context.knownObject(entry.member, inStore: home.storeIndex)?.forgetWithdrawn(referenceBits, inverse)
    }
    state.restore(MemberChanges())
  }

  /// The object is not deleted after all: its owners have it back.
  final func withdrawDeletion() {
    guard let context, let snapshot else { return }
    for relationship in home.entity.relationships where !relationship.isToMany && !relationship.isTransient {
      guard let inverse = context.schema.inverse(of: relationship), inverse.isToMany else { continue }
      let owner = context.knownObject(snapshot.reference(relationship, home), inStore: home.storeIndex)
      owner?.forgetWithdrawn(referenceBits, inverse)
    }
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
        if entry.position == MemberChanges.removed {
          other.changingState(inverse).remove(referenceBits)
        } else {
          other.changingState(inverse).add(referenceBits)
        }
        if other.state.isDisjoint(with: [.inserted, .updated, .deleted]) {
          context.changes.adopt(other, as: .update)
        }
      }
    }
  }

  /// A member whose own change is dropped: the object shows other members, and says so at the end of the event.
  private final func forgetWithdrawn(_ member: UInt64, _ relationship: RelationshipSchema) {
    guard let state = relations?.known(relationship), state.hasChanges else { return }
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
