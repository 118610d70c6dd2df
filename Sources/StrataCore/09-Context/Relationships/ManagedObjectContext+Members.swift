import HashTreeCollections

extension ManagedObjectContext {
  /// Which state of a relationship loaded members are true for.
  @inline(__always)
  func epoch(of relationship: RelationshipSchema) -> UInt32 { relationEpochs[relationship.number] }

  /// Members of `relationship` are loaded again when they are next asked for.
  func forgetMembers(of relationship: Int) { relationEpochs[relationship] &+= 1 }

  /// The same for all relationships.
  func forgetAllMembers() { for number in relationEpochs.indices { relationEpochs[number] &+= 1 } }

  /// Rows of `entity` have changed elsewhere: the objects that they refer to, or referred to, have other members. `slots` nil means any.
  func forgetMembers(referredToBy entity: EntitySchema, _ slots: SlotBitmap?) {
    for relationship in entity.relationships {
      if relationship.isToMany {
        if slots == nil { forgetMembers(of: relationship.number) }
      } else if let inverse = relationship.inverse, slots?.contains(relationship.slot) ?? true {
        forgetMembers(of: inverse)
      }
    }
  }

  /// The members of `object` as the store, the contexts below and what children have saved here make them: without the
  /// context's own unsaved edits. The layers are taken before the store is read (contexts 4). Nil, and told, when they cannot
  /// be read.
  func membersBeneath(_ object: ManagedObject, _ relationship: RelationshipSchema)
    -> ContiguousArray<PlacedMember>?
  {
    let layers = memberLayers(object, relationship)
    var members: ContiguousArray<PlacedMember> = []
    if !relationship.isTransient, !object.state.contains(.inserted) {
      do {
        members = try storedMembers(object, relationship)
      } catch {
        report(error, reading: object, property: relationship.name)
        return nil
      }
    }
    for layer in layers { members = layer.applied(to: members, relationship) }
    if !layers.isEmpty, !relationship.isOrdered { members.sort { $0.member < $1.member } }
    return members
  }

  private func storedMembers(_ object: ManagedObject, _ relationship: RelationshipSchema) throws
    -> ContiguousArray<PlacedMember>
  {
    guard let binding = coordinator.binding(object.home.storeIndex) else {
      throw ManagedObject.storeIsRemoved(object.objectID)
    }
    let edges = EdgeSet(relationship: relationship.number)
    statistics.relationshipFaultsFired += 1
    tellFault("\(relationship.qualifiedName) of p\(object.primaryKey)")
    let store = try reading(binding)
    if binding.isFar {
      return try membersTogether(object, relationship, through: store) {
        memberLayers($0, relationship).isEmpty
      }
    }
    let members: ContiguousArray<PlacedMember>
    if relationship.isOrdered {
      members = ContiguousArray(try store.placedMembers(edges, of: object.primaryKey))
    } else {
      members = ContiguousArray(
        try store.members(edges, of: object.primaryKey).lazy.map { PlacedMember(position: 0, member: $0) })
    }
    tellMembersRead(object, relationship, isAlone: true)
    return members
  }

  /// What unsaved layers do to the members, oldest first.
  private func memberLayers(_ object: ManagedObject, _ relationship: RelationshipSchema) -> [LayerMembers] {
    if strata.isEmpty && ancestors.isEmpty { return [] }
    let table = StratumLayer.Table(
      storeIndex: object.home.storeIndex, hierarchy: object.home.hierarchyNumber)
    var result: [LayerMembers] = []
    for layer in strata.layers {
      result.append(
        layer.changes(
          of: relationship, table, object.primaryKey,
          isSkipped: { self.isOwnEdit($0) }))
    }
    for strata in ancestors where !strata.isEmpty {
      for layer in strata.layers {
        result.append(layer.changes(of: relationship, table, object.primaryKey, isSkipped: { _ in false }))
      }
    }
    return result.reversed().filter { !$0.isEmpty }
  }

  /// Whether there may be records that are deleted and not saved to the store as such, here or below.
  var hasDeletions: Bool {
    changes.deletedCount > 0 || !strata.isEmpty || !ancestors.isEmpty || saving.flight != nil
  }

  /// Whether what a reference leads to is deleted here, or was by a child or below, or was new and has gone.
  func isDeletedHere(_ bits: UInt64, inStore index: Int) -> Bool {
    if isGone(bits, inStore: index) { return true }
    if let known = knownObject(bits, inStore: index) { return known.isMarkedDeleted }
    guard let bound = coordinator.binding(index)?.entity(code: Reference.entityCode(bits)) else {
      return false
    }
    let table = StratumLayer.Table(storeIndex: index, hierarchy: bound.hierarchyNumber)
    return unsavedRow(table, Reference.primaryKey(bits))?.row.kind == .delete
  }

  /// Records of `entity` are gone: relationships without inverse that led to them have other members.
  func forgetMembers(withoutInverseTo entity: EntitySchema) {
    for relationship in entity.inbound where relationship.isToMany && relationship.inverse == nil {
      forgetMembers(of: relationship.number)
    }
  }

  /// The same for what a save has deleted.
  func forgetMembers(left notices: [CommitNotice]) {
    if !notices.contains(where: { !$0.changes.deletes.isEmpty }) { return }
    guard schema.relationships.contains(where: { $0.isToMany && $0.inverse == nil }) else { return }
    for entity in Set(notices.flatMap { $0.changes.deletes.map(\.entity) }) {
      forgetMembers(withoutInverseTo: schema.entities[entity])
    }
  }

  /// Whether a relationship does not show `object`: a batch has deleted it, and what still refers to it has not been saved. The save
  /// tells (rule 221). What has no delete rule keeps leading there, as in the store.
  func isHidden(_ object: ManagedObject, from relationship: RelationshipSchema) -> Bool {
    object.state.isDeletedByBatch && schema.inverse(of: relationship)?.deleteRule != .noAction
  }
}

extension StoreReading {
  /// The members of a relationship of many owners, with their places where it is ordered.
  func members(of relationship: RelationshipSchema, owners: [UInt64]) throws -> [ContiguousArray<
    PlacedMember
  >] {
    let edges = EdgeSet(relationship: relationship.number)
    if relationship.isOrdered {
      return try placedMembers(edges, of: owners).map { ContiguousArray($0) }
    }
    return try members(edges, of: owners).map { members in
      ContiguousArray(members.lazy.map { PlacedMember(position: 0, member: $0) })
    }
  }
}
