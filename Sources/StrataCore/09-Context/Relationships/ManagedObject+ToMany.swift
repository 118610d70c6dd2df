import Foundation

extension ManagedObject {
  /// The object's to-many relationships, made on first use.
  final var ownRelations: Relations {
    if let relations { return relations }
    let new = Relations()
    relations = new
    return new
  }

  @inline(__always)
  final func relationState(_ relationship: RelationshipSchema) -> RelationState {
    ownRelations.state(of: relationship)
  }

  /// The relationship, about to be changed: what children have saved of the object comes first.
  @inline(__always)
  final func changingState(_ relationship: RelationshipSchema) -> RelationState {
    if !state.isDisjoint(with: .received) { claim() }
    observedWillChange(relationship.slot)
    context?.willChange(self)
    return ownRelations.state(of: relationship)
  }

  /// The object counts as changed because a relationship is; its row does not change (rule 200, better).
  @inline(__always)
  final func noteRelationChange() {
    if state.isDisjoint(with: .anyDeleted) { noteChange() }
  }

  // MARK: Members

  /// The members, in order when the relationship has one. Loads them with one range scan when they are not known.
  final func memberList(_ relationship: RelationshipSchema) -> ContiguousArray<PlacedMember> {
    visibleMembers(loadedState(relationship))
  }

  /// The members that are shown, with all of them loaded.
  final func visibleMembers(_ state: RelationState) -> ContiguousArray<PlacedMember> {
    let members = state.members()
    guard let context, context.hasBatchDeletions, state.hasChanges else { return members }
    return members.filter { member in
      guard let bits = state.lastChange(member.member)?.member else { return true }
      return context.object(bits, inStore: home.storeIndex).map {
        !context.isHidden($0, from: state.relationship)
      }
        ?? true
    }
  }

  /// What is known of the members, with all of them loaded.
  final func loadedState(_ relationship: RelationshipSchema) -> RelationState {
    checkConfinementHere()
    let state = untrackedState(relationship)
    // Whoever tracks it has the members to compare with.
    noteRead(relationship.slot)
    return state
  }

  /// The same without counting as read.
  final func untrackedState(_ relationship: RelationshipSchema) -> RelationState {
    let state = relationState(relationship)
    guard let context else {
      if self.state.contains(.probe) { ProbeRecording.current?.note(relationship.slot, of: home.entity) }
      // Detached: what was known last is all there is.
      if state.base == nil { state.setBase([], epoch: 0) }
      return state
    }
    context.flushAncestors()
    context.drainReceived()
    let epoch = context.epoch(of: relationship)
    if state.isFault(epoch: epoch) {
      state.setBase(context.membersBeneath(self, relationship), epoch: epoch)
    }
    return state
  }

  /// How many members there are. Looks into the index only, unless the members are loaded or contexts are nested.
  final func memberCount(_ relationship: RelationshipSchema) -> Int {
    checkConfinementHere()
    noteRead(relationship.slot)
    guard let context, !relationship.isTransient, !isInserted, context.strata.isEmpty,
      context.ancestors.isEmpty, !context.hasBatchDeletions
    else { return memberList(relationship).count }
    let known = relations?.known(relationship)
    let pending = known?.pending ?? []
    if known?.isFault(epoch: context.epoch(of: relationship)) == false || pending.count > Self.mostLookUps {
      return memberList(relationship).count
    }
    do {
      guard let binding = context.coordinator.binding(home.storeIndex) else { return 0 }
      let store = try context.reading(binding)
      let edges = EdgeSet(relationship: relationship.number)
      var count = try store.memberCount(edges, of: primaryKey)
      for entry in pending {
        let isStored = try store.hasMember(edges, of: primaryKey, entry.member)
        if isStored, entry.isRemoval { count -= 1 }
        if !isStored, !entry.isRemoval { count += 1 }
      }
      return count
    } catch {
      context.report(error, reading: self)
      return memberList(relationship).count
    }
  }

  /// From this many changes on loading the members is cheaper than looking each one up.
  private static var mostLookUps: Int { 1_024 }

  /// Whether `member` belongs to the relationship. One look-up in the index while the members are not loaded.
  final func hasMember(_ relationship: RelationshipSchema, _ member: ManagedObject) -> Bool {
    checkConfinementHere()
    noteRead(relationship.slot)
    guard let context, member.contextReference?.toOpaque() == contextReference?.toOpaque(),
      member.home.storeIndex == home.storeIndex,
      !context.hasBatchDeletions || !context.isHidden(member, from: relationship)
    else { return false }
    if let inverse = context.schema.inverse(of: relationship), !inverse.isToMany {
      return member.reference(inverse) == referenceBits
    }
    let bits = member.referenceBits
    let state = relationState(relationship)
    if let last = state.lastChange(bits) { return !last.isRemoval }
    if !state.isFault(epoch: context.epoch(of: relationship)) { return state.baseContains(bits) }
    if relationship.isTransient || isInserted || !context.strata.isEmpty || !context.ancestors.isEmpty {
      return loadedState(relationship).baseContains(bits)
    }
    do {
      guard let binding = context.coordinator.binding(home.storeIndex) else { return false }
      return try context.reading(binding).hasMember(
        EdgeSet(relationship: relationship.number), of: primaryKey, bits)
    } catch {
      context.report(error, reading: self)
      return false
    }
  }

  /// The members as objects, faults where they are not in the context yet.
  final func members(_ relationship: RelationshipSchema) -> [ManagedObject] {
    let list = memberList(relationship)
    guard let context, let store = context.stores.registered(home.storeIndex) else { return [] }
    var result: [ManagedObject] = []
    result.reserveCapacity(list.count)
    // Mostly all are of one entity.
    var code: UInt16?
    var home: (bound: BoundEntity, table: IdentityTable)?
    for entry in list where entry.member != 0 {
      if Reference.entityCode(entry.member) != code {
        code = Reference.entityCode(entry.member)
        home = code.flatMap(store.binding.entity(code:)).map { ($0, store.tables[$0.hierarchyNumber]) }
      }
      guard let home else { continue }
      result.append(context.object(Reference.primaryKey(entry.member), home.bound, home.table))
    }
    return result
  }

  // MARK: Changing

  /// Adds an object, at the end of an ordered relationship; one that is there stays where it is.
  final func addMember(_ relationship: RelationshipSchema, _ member: ManagedObject) {
    let context = contextForLinking(relationship, to: member)
    if member.home.storeIndex != home.storeIndex {
      ownRelations.foreign[relationship.slot] = member.objectID
      noteChange()
      return
    }
    link(relationship, member, context)
  }

  private final func link(
    _ relationship: RelationshipSchema, _ member: ManagedObject, _ context: ManagedObjectContext
  ) {
    let inverse = context.schema.inverse(of: relationship)
    if let inverse, !inverse.isToMany {
      member.setRelatedObject(inverse, self)
      return
    }
    claim()
    context.willChange(self)
    if relationship.isOrdered || inverse?.isOrdered == true, hasMember(relationship, member) { return }
    let bits = member.referenceBits
    let state = relationState(relationship)
    if let last = state.lastChange(bits), !last.isRemoval { return }
    state.add(bits)
    noteRelationChange()
    guard let inverse, !(inverse === relationship && member === self) else { return }
    member.changingState(inverse).add(referenceBits)
    member.noteRelationChange()
  }

  /// Takes an object out.
  final func removeMember(_ relationship: RelationshipSchema, _ member: ManagedObject) {
    let context = contextForLinking(relationship)
    // Who is in no context, or not in this one's, is no member, and does not come in by being taken out.
    if member.isUnattached, member.contextReference?.toOpaque() != contextReference?.toOpaque() { return }
    check(member, fits: relationship, in: context)
    if member.home.storeIndex != home.storeIndex {
      if relations?.foreign[relationship.slot] == member.objectID {
        relations?.foreign[relationship.slot] = nil
      }
      return
    }
    let inverse = context.schema.inverse(of: relationship)
    if let inverse, !inverse.isToMany {
      if member.reference(inverse) == referenceBits { member.setRelatedObject(inverse, nil) }
      return
    }
    claim()
    context.willChange(self)
    let bits = member.referenceBits
    let state = relationState(relationship)
    if let last = state.lastChange(bits), last.isRemoval { return }
    state.remove(bits)
    noteRelationChange()
    guard let inverse, !(inverse === relationship && member === self) else { return }
    member.changingState(inverse).remove(referenceBits)
    member.noteRelationChange()
  }

  /// Makes `objects` the members, in their order when the relationship has one.
  final func setMembers(_ relationship: RelationshipSchema, _ objects: [ManagedObject]) {
    _ = contextForLinking(relationship)
    for object in objects { _ = contextForLinking(relationship, to: object) }
    var wanted = Set<ObjectIdentifier>(minimumCapacity: objects.count)
    let distinct = objects.filter { wanted.insert(ObjectIdentifier($0)).inserted }
    // One of another store that was set before is among `objects` or taken back.
    relations?.foreign[relationship.slot] = nil
    let old = members(relationship)
    var present = Set<ObjectIdentifier>(minimumCapacity: old.count)
    for object in old {
      if wanted.contains(ObjectIdentifier(object)) {
        present.insert(ObjectIdentifier(object))
      } else {
        removeMember(relationship, object)
      }
    }
    for object in distinct where !present.contains(ObjectIdentifier(object)) {
      addMember(relationship, object)
    }
    if relationship.isOrdered {
      reorder(relationship, distinct.filter { $0.home.storeIndex == home.storeIndex }.map(\.referenceBits))
    }
  }
}

// MARK: Order

extension ManagedObject {
  /// Brings the members into the order given; those that are not named follow behind.
  final func reorder(_ relationship: RelationshipSchema, _ order: [UInt64]) {
    let state = loadedState(relationship)
    let now = state.members().map(\.member)
    if now.elementsEqual(order) { return }
    claim()
    context?.willChange(self)
    var position = EdgePosition.first
    for member in order {
      state.place(member, at: position)
      position += EdgePosition.gap
    }
    let named = Set(order)
    for member in now where !named.contains(member) {
      state.place(member, at: position)
      position += EdgePosition.gap
    }
    noteRelationChange()
  }

  /// Adds a member so that it comes to stand at `index`; one that is there moves.
  final func placeMember(_ relationship: RelationshipSchema, _ member: ManagedObject, at index: Int) {
    if !hasMember(relationship, member) { addMember(relationship, member) }
    guard member.home.storeIndex == home.storeIndex else { return }
    claim()
    context?.willChange(self)
    let state = loadedState(relationship)
    let bits = member.referenceBits
    let others = state.members().filter { $0.member != bits }
    guard index >= 0, index <= others.count else {
      trap("index \(index) is out of range: \(relationship.qualifiedName) has \(others.count) other members.")
    }
    if let position = Self.position(
      between: index > 0 ? others[index - 1] : nil, and: index < others.count ? others[index] : nil)
    {
      state.place(bits, at: position)
      noteRelationChange()
    } else {
      // No room between the two: all of them get new positions.
      var order = others.map(\.member)
      order.insert(bits, at: index)
      reorder(relationship, order)
    }
  }

  /// A position between two members; nil when there is none.
  static func position(between before: PlacedMember?, and after: PlacedMember?) -> UInt64? {
    switch (before?.position, after?.position) {
    case (nil, nil): return ProvisionalPosition.next()
    case (_?, nil): return ProvisionalPosition.next()
    case (nil, let after?):
      if after > EdgePosition.gap {
        return after >= EdgePosition.firstProvisional ? EdgePosition.first : after - EdgePosition.gap
      }
      return after > 1 ? after / 2 : nil
    case (let before?, let after?):
      if before < EdgePosition.firstProvisional, after >= EdgePosition.firstProvisional {
        return before + EdgePosition.gap
      }
      let middle = before + (after - before) / 2
      return after > before && middle > before ? middle : nil
    }
  }
}
