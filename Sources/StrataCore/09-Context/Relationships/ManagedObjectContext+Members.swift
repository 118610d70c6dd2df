import HashTreeCollections

extension ManagedObjectContext {
  /// Which state of a relationship loaded members are true for.
  @inline(__always)
  func epoch(of relationship: RelationshipSchema) -> UInt32 { relationEpochs[relationship.number] }

  /// Members of `relationship` are loaded again when they are next asked for.
  func forgetMembers(of relationship: Int) { relationEpochs[relationship] &+= 1 }

  /// The same for all relationships.
  func forgetAllMembers() { for number in relationEpochs.indices { relationEpochs[number] &+= 1 } }

  /// Rows of `entity` have changed elsewhere: whoever they refer to, or referred to, has other members. `slots` nil means any.
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
  /// context's own unsaved edits. The layers are taken before the store is read (contexts.md, section 1).
  func membersBeneath(_ object: ManagedObject, _ relationship: RelationshipSchema)
    -> ContiguousArray<PlacedMember>
  {
    let layers = memberLayers(object, relationship)
    var members: ContiguousArray<PlacedMember> = []
    if !relationship.isTransient, !object.state.contains(.inserted) {
      members = storedMembers(object, relationship)
    }
    for layer in layers { members = layer.applied(to: members, relationship) }
    if !layers.isEmpty, !relationship.isOrdered { members.sort { $0.member < $1.member } }
    return members
  }

  private func storedMembers(_ object: ManagedObject, _ relationship: RelationshipSchema)
    -> ContiguousArray<PlacedMember>
  {
    guard let binding = coordinator.binding(object.home.storeIndex) else { return [] }
    let edges = EdgeSet(relationship: relationship.number)
    do {
      statistics.relationshipFaultsFired += 1
      tellFault("\(relationship.qualifiedName) of p\(object.primaryKey)")
      let store = try reading(binding)
      if relationship.isOrdered {
        return ContiguousArray(try store.placedMembers(edges, of: object.primaryKey))
      }
      return ContiguousArray(
        try store.members(edges, of: object.primaryKey).lazy.map { PlacedMember(position: 0, member: $0) })
    } catch {
      report(error, reading: object)
      return []
    }
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

  /// Whether a relationship does not show `object`: a batch has deleted it, and what still refers to it has not been saved. The save
  /// tells (rule 221). What has no delete rule keeps leading there, as in the store.
  func isHidden(_ object: ManagedObject, from relationship: RelationshipSchema) -> Bool {
    object.state.isDeletedByBatch && schema.inverse(of: relationship)?.deleteRule != .noAction
  }
}
