import Foundation

// Relationships by key: what key-value coding hands out and takes.

extension ManagedObject {
  /// The relationship as `value(forKey:)` hands it out.
  final func relatedValue(_ relationship: RelationshipSchema) -> Any? {
    if !relationship.isToMany { return relatedObject(relationship) }
    let members = members(relationship)
    return relationship.isOrdered ? handedOut(members) : Set(members)
  }

  /// Takes what `setValue(_:forKey:)` was given.
  final func setRelatedValue(_ value: Any?, _ relationship: RelationshipSchema) {
    if relationship.isToMany {
      setMembers(relationship, memberValues(value, relationship))
      return
    }
    switch value {
    case nil, is NSNull: setRelatedObject(relationship, nil)
    case let object as ManagedObject: setRelatedObject(relationship, object)
    case let some?: trapNoObject(some, relationship)
    }
  }

  /// The same without the other end, and without counting as a change (rule 210).
  final func setPrimitiveRelated(_ value: Any?, _ relationship: RelationshipSchema) {
    if isMergedBySave { return }
    _ = contextForLinking(relationship)
    if relationship.isToMany {
      let state = loadedState(relationship)
      let objects = Self.keptBySave(memberValues(value, relationship))
      for object in objects { _ = contextForLinking(relationship, to: object) }
      setPrimitiveForeign(objects.filter { !isInSameStore($0) }, relationship)
      var wanted = Set<UInt64>(minimumCapacity: objects.count)
      let order = objects.filter(isInSameStore).map(\.referenceBits).filter { wanted.insert($0).inserted }
      for member in state.members() where !wanted.contains(member.member) { state.remove(member.member) }
      let present = Set(state.members().map(\.member))
      for member in order where !present.contains(member) {
        state.add(member)
        context?.noteReference(from: self, relationship, member)
      }
      if relationship.isOrdered { state.arrange(order) }
      state.isSetPrimitively = state.hasChanges
      return
    }
    let given = value as? ManagedObject
    if let value, given == nil, !(value is NSNull) { trapNoObject(value, relationship) }
    let object = given.flatMap { Self.keptBySave([$0]).first }
    _ = contextForLinking(relationship, to: object)
    if let object, !isInSameStore(object) {
      setPrimitiveForeign([object], relationship)
      return storePrimitiveReference(0, relationship)
    }
    setPrimitiveForeign([], relationship)
    storePrimitiveReference(object?.referenceBits ?? 0, relationship)
  }

  private final func isInSameStore(_ object: ManagedObject) -> Bool {
    object.home.storeIndex == home.storeIndex
  }

  /// A setter goes on from what a primitive one has made of the members: from now on the object counts as changed, and the other ends say the same.
  final func relatePrimitiveMembers(_ relationship: RelationshipSchema) {
    guard let state = relations?.known(relationship), state.isSetPrimitively, let context else { return }
    state.isSetPrimitively = false
    let inverse = context.schema.inverse(of: relationship)
    // What such ends refer to is theirs.
    if inverse?.isToMany == false { return }
    claim()
    context.willChange(self)
    if state.hasChanges { noteRelationChange() }
    guard let inverse else { return }
    // What the store has may have been forgotten since.
    _ = untrackedState(relationship)
    for entry in state.changes.effective {
      guard let member = context.object(entry.member, inStore: home.storeIndex), !member.isMarkedDeleted,
        !(inverse === relationship && member === self)
      else { continue }
      let isLinked = member.relations?.known(inverse)?.lastChange(referenceBits).map { !$0.isRemoval }
      if isLinked ?? state.baseContains(entry.member) == !entry.isRemoval { continue }
      if !entry.isRemoval {
        member.changingState(inverse).add(referenceBits)
      } else if member.isThere(under: inverse) {
        member.changingState(inverse).remove(referenceBits)
      } else {
        continue
      }
      member.noteRelationChange()
    }
  }

  /// Objects of other stores are remembered, so that a save of this object refuses them (rule 146): their keys mean others here.
  private final func setPrimitiveForeign(_ ends: [ManagedObject], _ relationship: RelationshipSchema) {
    relations?.foreign.remove(nil, slot: relationship.slot)
    for end in ends { addForeign(relationship, end) }
  }

  // MARK: Primitive changes that are announced

  /// Remembers what a relationship holds before a primitive setter changes it.
  final func rememberRelated(_ slot: Int) {
    guard context != nil, let relationship = home.entity.relationship(slot: slot) else { return }
    ownRelations.announced[slot] = relatedList(relationship)
  }

  /// Does again what primitive setters have done to a relationship since then, this time with the other ends.
  final func relateAnnounced(_ slot: Int) {
    guard context != nil, let former = relations?.announced.removeValue(forKey: slot),
      let relationship = home.entity.relationship(slot: slot)
    else { return }
    let current = relatedList(relationship)
    if relationship.isOrdered ? former == current : Set(former) == Set(current) { return }
    if relationship.isToMany {
      setPrimitiveRelated(former, relationship)
      setMembers(relationship, current)
    } else {
      setPrimitiveRelated(former.first, relationship)
      setRelatedObject(relationship, current.first)
    }
  }

  /// What the relationship leads to, objects of other stores included.
  private final func relatedList(_ relationship: RelationshipSchema) -> [ManagedObject] {
    guard relationship.isToMany else { return relatedObject(relationship).map { [$0] } ?? [] }
    let members = members(relationship)
    guard let context, let relations, !relations.foreign.isEmpty else { return members }
    let foreign = relations.foreign.all.filter { $0.slot == relationship.slot }
    return members + foreign.map { context.object(with: $0.end) }
  }

  private final func memberValues(_ value: Any?, _ relationship: RelationshipSchema) -> [ManagedObject] {
    if !(value is ManagedObject), let objects = Self.objects(in: value) { return objects }
    guard let value else { return [] }
    if !(value is ManagedObject),
      let stranger = FoundationCollections.elements(of: value)?.first(where: { !($0 is ManagedObject) })
    {
      trap(
        "\(relationship.qualifiedName) is a to-many relationship and cannot take \(type(of: value)) with a member of type "
          + "\(type(of: stranger)).")
    }
    trapNoObject(value, relationship)
  }

  /// The objects that a value by key is or holds; nil when it holds anything else.
  static func objects(in value: Any?) -> [ManagedObject]? {
    guard let value, !(value is NSNull) else { return [] }
    if let object = value as? ManagedObject { return [object] }
    // Of Foundation's classes nothing is cast to a set: that would be empty for an instance of a subclass.
    if !FoundationCollections.isInstance(value) {
      if let set = value as? Set<ManagedObject> { return Array(set) }
      if let array = value as? [ManagedObject] { return array }
    }
    guard let elements = FoundationCollections.elements(of: value) else { return nil }
    let objects = elements.compactMap { $0 as? ManagedObject }
    return objects.count == elements.count ? objects : nil
  }

  private final func trapNoObject(_ value: Any, _ relationship: RelationshipSchema) -> Never {
    trap(
      "\(relationship.qualifiedName) is a \(relationship.isToMany ? "to-many" : "to-one") relationship and cannot take "
        + "\(type(of: value)).")
  }

  /// Relationships whose members differ from the saved ones; references are among the row's slots.
  final var changedRelationships: [RelationshipSchema] {
    relations?.states.filter { $0.state.hasChanges }.map(\.state.relationship) ?? []
  }

  /// Adds to committed values the members of to-many relationships: those that are known, or that are named (rule 72).
  final func addCommittedMembers(to values: inout [String: Any], _ keys: [String]?) {
    guard let context else { return }
    for relationship in home.entity.relationships where relationship.isToMany && !relationship.isTransient {
      let isKnown =
        relations?.known(relationship)?.isFault(epoch: context.epoch(of: relationship)) == false
      guard keys?.contains(relationship.name) ?? isKnown else { continue }
      let members = (loadedState(relationship).base ?? []).compactMap {
        context.object($0.member, inStore: home.storeIndex)
      }
      values[relationship.name] = relationship.isOrdered ? handedOut(members) : Set(members)
    }
  }

  /// A property in words, from what is in memory.
  final func describe(_ property: AttributeSchema) -> String {
    guard let relationship = home.entity.relationship(slot: property.slot) else {
      if property.type == .composite { return "{…}" }
      return "\(storedValue(property.slot))"
    }
    if !relationship.isToMany {
      let bits = reference(relationship)
      return context?.identifier(bits, inStore: home.storeIndex)?.description ?? "nil"
    }
    if context == nil || hasFault(toMany: relationship) { return "(fault)" }
    return "\(relations?.known(relationship)?.members().count ?? 0) objects"
  }
}
