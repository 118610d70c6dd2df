import Foundation

// A new object that is given to another store gets a new key there. Whatever leads to it by its old key is cut before that, and tied again
// afterwards: as a relationship where both ends are in one store then, else as one to another store, which the save refuses.
//
//     ties ──▶ cut ──▶ new place ──▶ tied again

extension ManagedObjectContext {
  /// Assigns a new object to `store`: needed when several writable stores hold its entity (rule 26). Its ID changes.
  ///
  /// Relationships stay within one store: those with objects that are elsewhere then are refused by the save (rule 146), unless these are
  /// assigned to the same store before.
  /// - Throws: `CoreDataError` 134060 when the object has already been saved, or the store does not hold its entity; what reading an object
  ///   throws that is related to it.
  @_disfavoredOverload public func assign(_ object: ManagedObject, to store: any PersistentStore) throws {
    checkAccess(object.home.token.entityName)
    settleProvisional()
    drainReceived()
    if object.context === self { object.claim() }
    guard object.context === self, object.isMarkedInserted else {
      throw CoreDataError(
        .coreData, "\(object) cannot be assigned to a store: only new, unsaved objects of this context can.")
    }
    guard let binding = coordinator.bindings.first(where: { $0.store === store }),
      let bound = binding.entities[object.home.entity.number], !store.isReadOnly
    else {
      throw CoreDataError(
        .coreData,
        "The store cannot take \(object.home.token.entityName): it does not hold the entity, is "
          + "read-only, or is not attached to this context's coordinator.")
    }
    if bound.storeIndex == object.home.storeIndex { return }
    let table = stores.tables(for: binding).tables[bound.entity.hierarchyNumber]
    let home = HomeForNew(entity: object.entity, store: binding, bound: bound, table: table, generation: 0)
    let found = try throwingFailures { ties(of: object) }
    let knowsReferrers = event.looseReferrers?.editCount == changes.editCount
    willChange(object)
    for tie in found { tie.cut() }
    move(object, to: home)
    for tie in found { tie.tie() }
    // Whoever refers to the object by its new key has noted that.
    if knowsReferrers { event.looseReferrers?.editCount = changes.editCount }
  }

  private func move(_ object: ManagedObject, to home: HomeForNew) {
    noteFirstEdit()
    object.relations?.moveToOtherStore()
    // What is not finished for children yet will be when the event ends.
    let isFinished = !object.state.contains(.notedInsert) || object.state.contains(.flushed)
    // Nothing of what was captured or published at the old place is saved.
    withdraw(object, isPublishedAnew: isFinished)
    stores.table(for: object.home)?.remove(object.primaryKey)
    bind(object, to: home)
    if isFinished { unpublished.objects.append(object) }
  }

  // MARK: Ties

  /// A relationship of `owner` that leads to `end`.
  private struct Tie {
    let owner: ManagedObject
    let relationship: RelationshipSchema
    let end: ManagedObject

    func cut() {
      if relationship.isToMany {
        owner.removeMember(relationship, end)
      } else {
        owner.setRelatedObject(relationship, nil)
      }
    }

    func tie() {
      if relationship.isToMany {
        owner.addMember(relationship, end)
      } else {
        owner.setRelatedObject(relationship, end)
      }
    }
  }

  /// Everything that `object`, which is new, is related to, and who is related to it. One pass over what is unsaved if references without inverse
  /// may lead to it.
  private func ties(of object: ManagedObject) -> [Tie] {
    var ties: [Tie] = []
    for relationship in object.home.entity.relationships {
      if relationship.isToMany {
        collectMembers(of: object, relationship, &ties)
      } else {
        collectEnd(of: object, relationship, &ties)
      }
    }
    collectReferrers(to: object, &ties)
    collectForeign(of: object, &ties)
    for tie in ties { tie.owner.fire() }
    return ties
  }

  private func collectEnd(of object: ManagedObject, _ relationship: RelationshipSchema, _ ties: inout [Tie]) {
    let bits = object.reference(relationship)
    let index = object.home.storeIndex
    if bits == 0 { return }
    // A new object that has gone: there must be no fault of it.
    if isVanished(bits, inStore: index) { return object.storeReference(0, relationship) }
    guard let end = self.object(bits, inStore: index) else { return }
    if isWithdrawn(end) { return object.storeReference(0, relationship) }
    ties.append(Tie(owner: object, relationship: relationship, end: end))
  }

  /// Whether `end` is a fault of a new object that was deleted again, and to which its deletion has left the reference.
  private func isWithdrawn(_ end: ManagedObject) -> Bool {
    guard end.isFault, end.snapshot == nil, !end.hasDraft else { return false }
    return changes.withdrawn.contains { $0.primaryKey == end.primaryKey && $0.home === end.home }
      && !isBack(end.home, end.primaryKey)
  }

  private func collectMembers(
    of object: ManagedObject, _ relationship: RelationshipSchema, _ ties: inout [Tie]
  ) {
    // Nearly every new object has none, and there are no children that could have given it some.
    if object.relations?.known(relationship) == nil, strata.isEmpty { return }
    let inverse = schema.inverse(of: relationship)
    for member in object.members(relationship, isAsked: false) where !isWithdrawn(member) {
      // A reference belongs to who has it.
      if let inverse, !inverse.isToMany {
        ties.append(Tie(owner: member, relationship: inverse, end: object))
      } else {
        ties.append(Tie(owner: object, relationship: relationship, end: member))
      }
    }
  }

  /// Only a pass over what is unsaved finds out who refers to the object by a relationship that does not lead back. One pass does for many objects
  /// that are assigned one after the other.
  private func collectReferrers(to object: ManagedObject, _ ties: inout [Tie]) {
    let relationships = object.home.entity.inbound.filter { $0.inverse == nil }
    if relationships.isEmpty { return }
    var owners = SlotBitmap()
    for relationship in relationships {
      for entity in schema.entities[relationship.owner].subtree { owners.insert(entity) }
    }
    let bits = object.referenceBits
    claimReferrers(owners, relationships) { $0 == bits }
    for relationship in relationships {
      var seen: Set<ObjectIdentifier> = []
      for owner in looseReferrers(of: object, relationship)
      where owner !== object && owner.home.storeIndex == object.home.storeIndex
        && owners.contains(owner.home.entityNumber)
        && owner.home.entity.relationship(slot: relationship.slot) === relationship
        && owner.hasUnsavedTie(relationship, bits) && seen.insert(ObjectIdentifier(owner)).inserted
      {
        ties.append(Tie(owner: owner, relationship: relationship, end: object))
      }
    }
  }

  /// At least those that have been related to the object by `relationship`, which does not lead back.
  private func looseReferrers(
    of object: ManagedObject, _ relationship: RelationshipSchema
  ) -> [ManagedObject] {
    // What children have saved becomes edits here without being noted as such.
    if !strata.isEmpty { return changes.inserted + changes.updated }
    if event.looseReferrers?.editCount != changes.editCount {
      var new = LooseReferrers(editCount: changes.editCount)
      for list in [changes.inserted, changes.updated] { for owner in list { new.add(owner) } }
      event.looseReferrers = new
    }
    return event.looseReferrers?.index.objects(
      relationship, object.referenceBits, store: object.home.storeIndex) ?? []
  }

  /// `owner` is being related to the object with that reference.
  @inline(__always)
  func noteReference(from owner: ManagedObject, _ relationship: RelationshipSchema, _ bits: UInt64) {
    if relationship.inverse == nil, event.looseReferrers != nil {
      event.looseReferrers?.note(owner, relationship, bits)
    }
  }

  /// What is related to the object beyond its store, from either side.
  private func collectForeign(of object: ManagedObject, _ ties: inout [Tie]) {
    guard let relations = object.relations, relations.crossesStores else { return }
    for (slot, id) in relations.foreign.all {
      guard let relationship = object.home.entity.relationship(slot: slot) else { continue }
      ties.append(Tie(owner: object, relationship: relationship, end: self.object(with: id)))
    }
    let id = object.objectID
    for owner in relations.foreignOwners.compactMap(registeredObject(for:)) where owner !== object {
      for (slot, end) in owner.relations?.foreign.all ?? [] where end == id {
        guard let relationship = owner.home.entity.relationship(slot: slot) else { continue }
        ties.append(Tie(owner: owner, relationship: relationship, end: object))
      }
    }
  }
}

/// Who has been related to what by edits of relationships without inverse, while new objects are assigned to stores one after the other.
///
/// Such edits are added as they come. Any other edit makes it be made anew.
struct LooseReferrers {
  private(set) var index = EndIndex()
  /// `ChangeTracker.editCount` for which it is true.
  var editCount: Int

  init(editCount: Int) { self.editCount = editCount }

  mutating func note(_ owner: ManagedObject, _ relationship: RelationshipSchema, _ bits: UInt64) {
    index.add(owner, relationship, bits)
  }

  fileprivate mutating func add(_ owner: ManagedObject) {
    for relationship in owner.home.entity.relationships where relationship.inverse == nil {
      if relationship.isToMany {
        guard let state = owner.relations?.known(relationship) else { continue }
        for entry in state.pending where !entry.isRemoval { index.add(owner, relationship, entry.member) }
      } else if relationship.isTransient {
        if let bits = owner.transients?[relationship.slot] as? UInt64 { index.add(owner, relationship, bits) }
      } else if let draft = owner.draft, draft.isChanged(relationship.slot),
        case .reference(let bits) = draft[relationship.slot]
      {
        index.add(owner, relationship, bits)
      }
    }
  }
}

extension ManagedObject {
  /// Whether the object has been related to a new one by an edit.
  fileprivate final func hasUnsavedTie(_ relationship: RelationshipSchema, _ bits: UInt64) -> Bool {
    if relationship.isToMany {
      return relations?.known(relationship)?.lastChange(bits)?.isRemoval == false
    }
    if relationship.isTransient { return transients?[relationship.slot] as? UInt64 == bits }
    guard let draft, draft.isChanged(relationship.slot), case .reference(let end) = draft[relationship.slot]
    else { return false }
    return end == bits
  }
}
