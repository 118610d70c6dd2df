extension ManagedObject {
  /// The object is not deleted after all. Objects that had to leave it for that reason are related to it again; of those that were deleted
  /// or given to another owner meanwhile it notes that they have left.
  final func takeBackMembers() {
    guard let context else { return }
    for relationship in home.entity.relationships where !relationship.isTransient {
      // What a row that is known refers to needs no search.
      guard relationship.isToMany || snapshot == nil,
        let inverse = context.schema.inverse(of: relationship)
      else { continue }
      let others = context.possibleLeavers(of: self, inverse)
      if inverse.isToMany {
        for other in others where other !== self { takeBackEnd(at: other, relationship, inverse) }
        continue
      }
      for other in others where other !== self { takeBack(other, relationship, inverse) }
      // Those that were given to the object here: their rows do not say so.
      guard relationship.isToMany, let state = relations?.known(relationship) else { continue }
      for entry in state.pending where !entry.isRemoval {
        guard let other = context.knownObject(entry.member, inStore: home.storeIndex), other !== self else {
          continue
        }
        takeBack(other, relationship, inverse)
      }
    }
    adoptLostMembers()
  }

  /// Members have left the object, and that is kept although its other edits are dropped: it counts as edited until they are saved, when what is kept
  /// of them is over.
  final func adoptLostMembers() {
    guard let context else { return }
    let hasLost = relations?.states.contains { $0.state.hasChanges && $0.state.relationship.isInverseToOne }
    if hasLost == true, state.isDisjoint(with: [.inserted, .updated, .deleted]) {
      context.changes.adopt(self, as: .update)
    }
  }

  /// `other` has lost the object by its deletion only.
  private final func takeBackEnd(
    at other: ManagedObject, _ relationship: RelationshipSchema, _ inverse: RelationshipSchema
  ) {
    guard other.relations?.known(inverse)?.lastChange(referenceBits)?.isRemoval == true else { return }
    if relationship.isToMany {
      // What was edited here before is for the edits to say; what a save under way writes lies beneath them.
      if relations?.known(relationship)?.isPlacedHere(other.referenceBits) == true { return }
    } else if let draft, draft.isChanged(relationship.slot) {
      return
    }
    other.forgetWithdrawn(referenceBits, inverse)
  }

  /// `other` refers to the object by `inverse`, and had to let it go.
  private final func takeBack(
    _ other: ManagedObject, _ relationship: RelationshipSchema, _ inverse: RelationshipSchema
  ) {
    guard let draft = other.draft, let context else { return }
    let last =
      relationship.isToMany ? relations?.known(relationship)?.lastChange(other.referenceBits) : nil
    let isNamed = other.snapshot?.reference(inverse, other.home) == referenceBits
    // One that had left before stays away.
    guard last.map({ !$0.isRemoval }) ?? isNamed else { return }
    if isNamed, !draft.isChanged(inverse.slot) { return }
    if draft.isChanged(inverse.slot), draft[inverse.slot].isNull, !other.isMarkedDeleted,
      !other.state.contains(.draftFrozen)
    {
      if isNamed {
        other.editableDraft().clear(inverse.slot)
        _ = context.undoRecorder?.forgetReference(inverse, of: other)
        context.changes.note(other, .refresh)
      } else {
        other.storeReference(referenceBits, inverse)
      }
    } else if relationship.isToMany, other.isMarkedDeleted || other.reference(inverse) != referenceBits {
      relationState(relationship).remove(other.referenceBits)
    }
  }
}
