import Foundation

extension ManagedObject {
  /// The object's to-many relationships, made on first use.
  final var ownRelations: Relations {
    if let relations { return relations }
    let new = Relations()
    relations = new
    return new
  }

  /// Calls `body`, which asks for no other relationship and calls nothing of the program, with what is known of one, without counting references.
  @inline(__always)
  final func withRelationState(of relationship: RelationshipSchema, _ body: (RelationState) -> Void) {
    if relations == nil { relations = Relations() }
    // Kept by the object, which keeps its relations meanwhile.
    Unmanaged.passUnretained(relations.unsafelyUnwrapped)._withUnsafeGuaranteedRef {
      $0.withState(of: relationship, body)
    }
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

  /// `member`, which is deleted, leaves this object of the same context.
  @inline(__always)
  final func loseMember(_ relationship: RelationshipSchema, _ member: UInt64) {
    if !state.isDisjoint(with: .received) { claim() }
    observedWillChange(relationship.slot)
    // The context lives: it is deleting.
    contextReference?._withUnsafeGuaranteedRef { $0.willChange(self) }
    withRelationState(of: relationship) { $0.remove(member) }
  }

  /// The object counts as changed because a relationship is; its row does not change (rule 200, better).
  @inline(__always)
  final func noteRelationChange() {
    if state.isDisjoint(with: .anyDeleted) { noteChangeBesideValues() }
    if relations?.isFollowed == true { tellFollowers() }
  }

  // MARK: Members

  /// The members, in order when the relationship has one. Loads them with one range scan when they are not known.
  final func memberList(_ relationship: RelationshipSchema) -> ContiguousArray<PlacedMember> {
    visibleMembers(loadedState(relationship))
  }

  /// The members that are shown, with all of them loaded.
  final func visibleMembers(_ state: RelationState) -> ContiguousArray<PlacedMember> {
    var members = state.members()
    guard let context else { return members }
    if state.relationship.inverse == nil, context.hasDeletions {
      // A deleted object cannot leave a relationship that does not lead back (rule 216).
      members = members.filter { !context.isDeletedHere($0.member, inStore: home.storeIndex) }
    }
    guard context.deletions.mayHide else { return members }
    if context.hidesDeleted(state.relationship, of: self) {
      members = members.filter { !context.isDeletedHere($0.member, inStore: home.storeIndex) }
    }
    guard context.deletions.includeBatches, state.hasChanges else { return members }
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
    state.isReadForIdentifiers = false
    // Its observers have the members to compare with.
    noteRead(relationship.slot)
    return state
  }

  /// The same without counting as read.
  final func untrackedState(_ relationship: RelationshipSchema) -> RelationState {
    let state = relationState(relationship)
    guard let context else {
      if self.state.contains(.probe) { ProbeRecording.current?.note(relationship.slot, of: self) }
      // Detached: what was known last is all there is.
      if state.base == nil {
        noteReadWithoutContext()
        state.setBase([], epoch: 0)
      }
      return state
    }
    context.flushAncestors()
    context.drainReceived()
    let epoch = context.epoch(of: relationship)
    if state.isFault(epoch: epoch), let members = context.membersBeneath(self, relationship) {
      state.setBase(members, epoch: epoch)
    }
    return state
  }

  /// How many members there are. Looks into the index only, unless the members are loaded or contexts are nested.
  final func memberCount(_ relationship: RelationshipSchema) -> Int {
    checkConfinementHere()
    noteRead(relationship.slot)
    guard let context, !relationship.isTransient, !isMarkedInserted, context.strata.isEmpty,
      context.ancestors.isEmpty, !context.deletions.mayHide,
      relationship.inverse != nil || !context.hasDeletions
    else { return memberList(relationship).count }
    let known = relations?.known(relationship)
    if known?.isFault(epoch: context.epoch(of: relationship)) == false {
      return memberList(relationship).count
    }
    let pending = known?.pending ?? []
    if pending.count > Self.mostLookUps { return memberList(relationship).count }
    do {
      guard let binding = context.coordinator.binding(home.storeIndex) else {
        throw Self.storeIsRemoved(objectID)
      }
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
      context.report(error, reading: self, property: relationship.name)
      return visibleMembers(relationState(relationship)).count
    }
  }

  /// From this many changes on loading the members is cheaper than looking each one up.
  static var mostLookUps: Int { 1_024 }

  /// Whether `member` belongs to the relationship. One look-up in the index while the members are not loaded.
  final func hasMember(_ relationship: RelationshipSchema, _ member: ManagedObject) -> Bool {
    checkConfinementHere()
    noteRead(relationship.slot)
    guard let context, member.contextReference?.toOpaque() == contextReference?.toOpaque(),
      member.home.storeIndex == home.storeIndex,
      !context.deletions.includeBatches || !context.isHidden(member, from: relationship)
    else { return false }
    if let inverse = context.schema.inverse(of: relationship), !inverse.isToMany {
      return member.reference(inverse) == referenceBits
    }
    let bits = member.referenceBits
    let state = relationState(relationship)
    if let last = state.lastChange(bits) { return !last.isRemoval }
    if !state.isFault(epoch: context.epoch(of: relationship)) { return state.baseContains(bits) }
    if relationship.isTransient || isMarkedInserted || !context.strata.isEmpty || !context.ancestors.isEmpty {
      return loadedState(relationship).baseContains(bits)
    }
    do {
      guard let binding = context.coordinator.binding(home.storeIndex) else {
        throw Self.storeIsRemoved(objectID)
      }
      return try context.reading(binding).hasMember(
        EdgeSet(relationship: relationship.number), of: primaryKey, bits)
    } catch {
      context.report(error, reading: self, property: relationship.name)
      return state.baseContains(bits)
    }
  }

  /// Whether the relationship shows `member`: a deleted object is no member any more, unless no rule says what happens to it (rule 216).
  final func showsMember(_ relationship: RelationshipSchema, _ member: ManagedObject) -> Bool {
    guard hasMember(relationship, member) else { return false }
    return !member.isMarkedDeleted || context?.schema.inverse(of: relationship)?.deleteRule == .noAction
  }

  /// The members as objects, faults where they are not in the context yet. They are held by the object from now on, unless they were
  /// never asked for, or `isKept` is false: by what goes through them once.
  final func members(
    _ relationship: RelationshipSchema, isAsked: Bool = true, isKept: Bool = true
  ) -> [ManagedObject] {
    let state = loadedState(relationship)
    let list = visibleMembers(state)
    guard let context else {
      if !list.isEmpty { noteReadWithoutContext() }
      return []
    }
    guard let store = context.stores.registered(home.storeIndex) else { return [] }
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
    if isAsked {
      if isKept { context.keep(result, of: self, state) }
      context.noteWay(relationship, to: result)
    }
    if store.binding.isFar { context.noteTogether(result, isPart: true) }
    return result
  }

  // MARK: Changing

  /// Adds an object, at the end of an ordered relationship; one that is there stays where it is.
  final func addMember(_ relationship: RelationshipSchema, _ member: ManagedObject) {
    if isMergedBySave { return }
    if member.contextReference == nil, let kept = member.keptBySave() { return addMember(relationship, kept) }
    let context = contextForLinking(relationship, to: member)
    if member.home.storeIndex != home.storeIndex {
      context.willChange(self)
      addForeign(relationship, member)
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
    relatePrimitiveMembers(relationship)
    claim()
    context.willChange(self)
    if relationship.isOrdered || inverse?.isOrdered == true {
      var isThere = false
      if !context.readsAll({ isThere = hasMember(relationship, member) }) {
        return postponeChange(relationship, of: member) { $0.link(relationship, member, context) }
      }
      if isThere { return }
    }
    let bits = member.referenceBits
    let state = relationState(relationship)
    if let last = state.lastChange(bits), !last.isRemoval { return }
    state.add(bits)
    context.noteReference(from: self, relationship, bits)
    noteRelationChange()
    guard let inverse, !(inverse === relationship && member === self) else { return }
    member.changingState(inverse).add(referenceBits)
    member.noteRelationChange()
  }

  /// Takes an object out.
  final func removeMember(_ relationship: RelationshipSchema, _ member: ManagedObject) {
    // A duplicate is no member any more, and the object that was kept instead is not meant.
    if isMergedBySave || member.isMergedBySave { return }
    let context = contextForLinking(relationship)
    // An object in no context, or in another one, is no member, and does not become one by being removed.
    if member.isUnattached, member.contextReference?.toOpaque() != contextReference?.toOpaque() { return }
    check(member, fits: relationship, in: context)
    if member.home.storeIndex != home.storeIndex {
      return dropForeign(relationship, member.objectID)
    }
    let inverse = context.schema.inverse(of: relationship)
    if let inverse, !inverse.isToMany {
      var isMember = false
      if !context.readsAll({ isMember = member.reference(inverse) == referenceBits }) {
        return postponeChange(relationship, of: member) {
          // It was given to another owner, or to this one again.
          if member.draft?.isChanged(inverse.slot) != true { $0.removeMember(relationship, member) }
        }
      }
      if isMember {
        member.setRelatedObject(inverse, nil)
      } else if isAddedHereAlone(relationship, member) {
        claim()
        context.willChange(self)
        relationState(relationship).remove(member.referenceBits)
        noteRelationChange()
      }
      return
    }
    relatePrimitiveMembers(relationship)
    claim()
    context.willChange(self)
    let bits = member.referenceBits
    let state = relationState(relationship)
    if let last = state.lastChange(bits), last.isRemoval { return }
    state.remove(bits)
    noteRelationChange()
    guard let inverse, !(inverse === relationship && member === self), member.isThere(under: inverse) else {
      return
    }
    member.changingState(inverse).remove(referenceBits)
    member.noteRelationChange()
  }

  /// Whether a primitive setter has added `member`, which does not lead back here: it is shown, and belongs to the relationship only when a setter adds it (rule 210).
  private final func isAddedHereAlone(_ relationship: RelationshipSchema, _ member: ManagedObject) -> Bool {
    let bits = member.referenceBits
    guard let inverse = context?.schema.inverse(of: relationship), !inverse.isToMany,
      let state = relations?.known(relationship),
      let last = state.lastChange(bits), !last.isRemoval,
      // One that was only placed anew need not be read.
      !state.baseContains(bits)
    else { return false }
    return member.reference(inverse) != referenceBits
  }

  /// Whether something belongs to the relationship could not be read: the save finds out, and does what is to be done.
  private final func postponeChange(
    _ relationship: RelationshipSchema, of member: ManagedObject,
    _ change: @escaping (ManagedObject) -> Void
  ) {
    context?.willChange(self)
    noteRelationChange()
    context?.postpone(self) { [unowned self] in
      guard member.context === context, !member.isMarkedDeleted, !isMarkedDeleted else { return }
      change(self)
    }
  }

  /// Makes `objects` the members, in their order when the relationship has one.
  final func setMembers(_ relationship: RelationshipSchema, _ objects: [ManagedObject]) {
    if isMergedBySave { return }
    let objects = Self.keptBySave(objects)
    _ = contextForLinking(relationship)
    for object in objects { _ = contextForLinking(relationship, to: object) }
    // One of the objects may have brought its context.
    let context = contextForLinking(relationship)
    var wanted = Set<ObjectIdentifier>(minimumCapacity: objects.count)
    let distinct = objects.filter { wanted.insert(ObjectIdentifier($0)).inserted }
    // Followers are told once, not member by member.
    let isFollowed = relations?.isFollowed == true
    if isFollowed { relations?.isFollowed = false }
    defer {
      if isFollowed {
        relations?.isFollowed = true
        tellFollowers()
      }
    }
    // One of another store that was set before is among `objects` or taken back.
    dropForeign(relationship)
    relatePrimitiveMembers(relationship)
    var old: [ManagedObject] = []
    if !context.readsAll({ old = members(relationship) }) {
      // A present member that was neither added nor removed since must be removed.
      let kept = Set(distinct.map(\.referenceBits))
      context.willChange(self)
      noteRelationChange()
      context.postpone(self) { [unowned self] in
        if !isMarkedDeleted { removeOthers(relationship, than: kept) }
      }
    }
    var present = Set<ObjectIdentifier>(minimumCapacity: old.count)
    for object in old {
      if wanted.contains(ObjectIdentifier(object)) {
        if !isAddedHereAlone(relationship, object) { present.insert(ObjectIdentifier(object)) }
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

  /// The rest of `setMembers`, which could not read the members.
  private final func removeOthers(_ relationship: RelationshipSchema, than kept: Set<UInt64>) {
    let state = relationState(relationship)
    for member in members(relationship) {
      let bits = member.referenceBits
      if !kept.contains(bits), state.lastChange(bits) == nil { removeMember(relationship, member) }
    }
  }
}

// MARK: Order

extension ManagedObject {
  /// Brings the members into the order given; those that are not named follow behind.
  final func reorder(_ relationship: RelationshipSchema, _ order: [UInt64]) {
    guard let state = orderedState(relationship, { $0.reorder(relationship, order) }) else { return }
    let now = state.members().map(\.member)
    if now.elementsEqual(order) || visibleMembers(state).map(\.member).elementsEqual(order) { return }
    claim()
    context?.willChange(self)
    let named = Set(order)
    state.placeAll(order + now.filter { !named.contains($0) })
    noteRelationChange()
  }

  /// The state with all members known; nil when they cannot be read: then the save does what is to be done.
  private final func orderedState(
    _ relationship: RelationshipSchema, _ change: @escaping (ManagedObject) -> Void
  ) -> RelationState? {
    guard let context else { return loadedState(relationship) }
    var state: RelationState?
    if context.readsAll({ state = loadedState(relationship) }) { return state }
    context.willChange(self)
    noteRelationChange()
    context.postpone(self) { [unowned self] in if !isMarkedDeleted { change(self) } }
    return nil
  }

  /// Adds a member so that it comes to stand at `index`; one that is there moves, at most to the end.
  final func placeMember(_ relationship: RelationshipSchema, _ member: ManagedObject, at index: Int) {
    if isMergedBySave { return }
    if member.contextReference == nil, let kept = member.keptBySave() {
      // As a set does that is given what it has.
      if !hasMember(relationship, kept) { placeMember(relationship, kept, at: index) }
      return
    }
    let isThere = hasMember(relationship, member)
    if !isThere { addMember(relationship, member) }
    guard member.home.storeIndex == home.storeIndex else { return }
    claim()
    context?.willChange(self)
    guard let state = orderedState(relationship, { $0.placeMember(relationship, member, at: index) }) else {
      return
    }
    let bits = member.referenceBits
    let others = Self.members(state.members(), without: bits)
    let shown = Self.members(visibleMembers(state), without: bits)
    // The number of members counts the one that moves.
    guard index >= 0, index <= shown.count + (isThere ? 1 : 0) else {
      trap("index \(index) is out of range: \(relationship.qualifiedName) has \(shown.count) other members.")
    }
    // What is deleted and not shown any more still has a place.
    let next = index < shown.count ? shown[index] : nil
    let place =
      shown.count == others.count
      ? min(index, others.count) : next.flatMap { others.firstIndex(of: $0) } ?? others.count
    if !Self.isToBePlacedElsewhere(next, state),
      let position = Self.position(between: place > 0 ? others[place - 1] : nil, and: next)
    {
      state.place(bits, at: position)
      noteRelationChange()
    } else {
      // No room between the two, or none that lasts: all of them get new positions.
      var order = others.map(\.member)
      order.insert(bits, at: place)
      reorder(relationship, order)
    }
  }

  private static func members(
    _ members: ContiguousArray<PlacedMember>, without member: UInt64
  ) -> ContiguousArray<PlacedMember> {
    var others = members
    // One that has just been added is the last.
    if let place = others.lastIndex(where: { $0.member == member }) { others.remove(at: place) }
    return others
  }

  /// Whether a member has been appended by a context below, or by a save under way: it gets its position before this context saves, and what
  /// stood before the position of now would not stand before that one.
  private static func isToBePlacedElsewhere(_ member: PlacedMember?, _ state: RelationState) -> Bool {
    guard let member, member.position >= EdgePosition.firstProvisional else { return false }
    return !state.isPlacedHere(member.member)
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
