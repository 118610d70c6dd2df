import Foundation

extension ManagedObjectContext {
  /// Applies the delete rules of everything deleted since the last time (rules 212, 214).
  ///
  /// Works through a list, not down a recursion: cycles end, and a chain of a million objects takes memory for the objects,
  /// not for their rows, which are released as soon as their ties are known.
  func propagateDeletions() {
    var place = 0
    var unread: [ManagedObject] = []
    deletions.leavers = nil
    defer {
      deletions.leavers = nil
      deletions.toPropagate = unread
      undoRecorder?.noteUnread(unread)
    }
    while place < deletions.toPropagate.count {
      let end = min(place + Self.propagationStep, deletions.toPropagate.count)
      let batch = Array(deletions.toPropagate[place..<end])
      let faults = batch.filter { $0.context === self && $0.isFault && $0.snapshot == nil && !$0.hasDraft }
      fulfil(faults.filter { !$0.home.entity.relationships.isEmpty })
      let isFar = isAnyFar(batch)
      for (number, object) in batch.enumerated()
      where object.context === self && object.state.contains(.deleted) {
        // Now and then, since what they lead to is noted, too, and takes the place of what was noted before.
        if isFar, number % Self.notingStep == 0 { noteDeletedTogether(batch[number...]) }
        // What follows from the deletion of one that cannot be read must wait: the save tries again, or fails.
        if !readsAllPropagating(object) { unread.append(object) }
      }
      // These rows were never looked at, and the save needs none of them.
      for object in faults where object.isFault && !object.hasDraft && parent == nil {
        object.snapshot = nil
        // What was done to them here before may be what forbids the deletion.
        if object.relations?.hasChanges == false { object.relations = nil }
      }
      place = end
      if place >= 16 * Self.propagationStep {
        deletions.toPropagate.removeFirst(place)
        place = 0
      }
    }
    if unread.isEmpty { deletions.vanished = [] }
  }

  private static let propagationStep = 1_024
  private static let notingStep = 64

  /// Applies the delete rules of one object. What an earlier event could not read belongs to that event when it is undone.
  private func readsAllPropagating(_ object: ManagedObject) -> Bool {
    guard let undoRecorder, let event = undoRecorder.lateEvent(of: object) else {
      return readsAll { propagateDeletion(of: object) }
    }
    let count = deletions.toPropagate.count
    var isRead = false
    undoRecorder.adding(to: event, in: self) { isRead = readsAll { propagateDeletion(of: object) } }
    for next in deletions.toPropagate.dropFirst(count) { undoRecorder.note(next, deletedLateIn: event) }
    return isRead
  }

  /// Applies what is left of the delete rules before a save, until nothing more is deleted by it.
  func settleDeletions() {
    if deletions.toPropagate.isEmpty, !deletions.followInPolicy { return }
    deletions.followInPolicy = false
    propagateDeletions()
    processPendingChanges()
  }

  /// Applies the delete rules of what a merge policy has deleted, while it is asked. It is told when the policy has returned.
  func propagateDeletionsOfPolicy() {
    if deletions.toPropagate.isEmpty { return }
    deletions.followInPolicy = true
    propagateDeletions()
  }

  /// New objects that were deleted while the save that was to write them was under way go when it is refused. Cuts the ties of those whose
  /// deletion has not been propagated by then, while they are there.
  func propagateDeletions(ofUnsaved flight: SaveFlight) {
    while !deletions.toPropagate.isEmpty {
      var unsaved: Set<ObjectIdentifier> = []
      flight.forEachObject { object, kind in
        if kind == .insert, object.context === self, object.state.contains(.deleted) {
          unsaved.insert(ObjectIdentifier(object))
        }
      }
      for part in flight.parts where !part.isWritten {
        for row in part.received where row.kind == .insert {
          if let object = knownObject(of: row), object.state.contains(.deleted) {
            unsaved.insert(ObjectIdentifier(object))
          }
        }
      }
      let vanishing = deletions.toPropagate.filter { unsaved.contains(ObjectIdentifier($0)) }
      if vanishing.isEmpty { return }
      deletions.toPropagate.removeAll { unsaved.contains(ObjectIdentifier($0)) }
      // May take others of the save along.
      for object in vanishing { propagateDeletion(of: object) }
    }
  }

  /// What the deletion of one object does to those it is related to.
  private func propagateDeletion(of object: ManagedObject) {
    if object.state.contains(.rowGone) { return }
    if deletions.takenOut[ObjectIdentifier(object)] != nil { return propagateUndo(of: object) }
    for relationship in object.home.entity.relationships {
      if relationship.deleteRule == .cascade {
        for member in cascadeTargets(of: object, relationship) { delete(member) }
      }
      untie(object, relationship)
    }
  }

  /// Tells `object` that it is going to be deleted, and marks one that has a row as deleted.
  ///
  /// - Returns: whether the object is new and therefore goes at once, with its ties: `deleteInserted(_:)` is for the caller.
  func beginDeletion(of object: ManagedObject) -> Bool {
    // A cycle of cascades, or a hook, leads back to an object that is being deleted already.
    if object.state.contains(.leaving) { return false }
    willChange(object)
    // The hook asks `isDeleted`, of this object and of others that are on their way.
    object.state.beginLeaving()
    deletions.hooks += 1
    object.prepareForDeletion()
    deletions.hooks -= 1
    guard object.context === self, !object.isMarkedDeleted else {
      object.state.endLeaving()
      return false
    }
    object.claim()
    if object.isMarkedInserted { return true }
    // Perhaps the hook has saved it.
    object.state.endLeaving()
    takeOut(object)
    return false
  }

  /// Lets a new object go for which a deletion has begun, and the new ones that the rule cascade takes along (rules 24, 212).
  ///
  /// Through a list, not down a recursion: cycles end, and a chain may be as long as memory permits. All ties are cut while
  /// all objects are still there.
  func deleteInserted(_ object: ManagedObject) {
    var leaving = [object]
    var place = 0
    while place < leaving.count {
      let next = leaving[place]
      place += 1
      guard isStillLeaving(next) else { continue }
      for relationship in next.home.entity.relationships where relationship.deleteRule == .cascade {
        for member in cascadeTargets(of: next, relationship) where beginDeletion(of: member) {
          leaving.append(member)
        }
      }
    }
    for next in leaving where isStillLeaving(next) {
      for relationship in next.home.entity.relationships { untie(next, relationship) }
    }
    // Last those with which it began: what the cascade took along is deleted before them.
    for next in leaving.reversed() {
      if isStillLeaving(next) {
        // What the cascade has marked as deleted still refers to it.
        if !deletions.toPropagate.isEmpty { deletions.vanished.insert(next.objectID) }
        takeOut(next)
      }
      next.state.endLeaving()
    }
  }

  /// Whether the object was neither released nor saved meanwhile: hooks may do either.
  private func isStillLeaving(_ object: ManagedObject) -> Bool {
    object.context === self && object.isMarkedInserted && object.state.contains(.leaving)
  }

  /// What the deletion of `object` deletes through a relationship with the rule cascade.
  private func cascadeTargets(
    of object: ManagedObject, _ relationship: RelationshipSchema
  ) -> [ManagedObject] {
    if relationship.isToMany {
      return object.members(relationship, isKept: false).filter { !$0.isMarkedDeleted }
    }
    guard !hasVanished(from: object, relationship), let other = object.relatedObject(relationship),
      !other.isMarkedDeleted
    else { return [] }
    return [other]
  }

  /// Whether a deleted object refers to a new one that has gone already: there must be no fault of it.
  private func hasVanished(from object: ManagedObject, _ relationship: RelationshipSchema) -> Bool {
    if deletions.vanished.isEmpty && changes.gone.isEmpty { return false }
    let (bits, index) = (object.reference(relationship), object.home.storeIndex)
    guard let end = identifier(bits, inStore: index) else { return false }
    return deletions.vanished.contains(end) || isGone(bits, inStore: index)
  }

  /// What it does when undo or redo has taken the object out.
  private func propagateUndo(of object: ManagedObject) {
    for relationship in object.home.entity.relationships {
      guard let inverse = schema.inverse(of: relationship) else { continue }
      if !relationship.isToMany, inverse.isToMany {
        untieOne(of: object, relationship)
        continue
      }
      let others = relatedSince(to: object, relationship)
      if relationship.deleteRule == .cascade { for other in others { delete(other) } }
      if others.isEmpty { continue }
      untie(object, relationship)
    }
  }

  /// What leads to `object`, which undo or redo has taken out, by its own end of `relationship`, and stays: the states of the event are put back, so that others have
  /// related it. What `object` alone leads to is none of these, nor is its owner.
  private func relatedSince(to object: ManagedObject, _ relationship: RelationshipSchema) -> [ManagedObject] {
    guard let inverse = schema.inverse(of: relationship), relationship.isToMany || !inverse.isToMany else {
      return []
    }
    var others: [ManagedObject] = []
    if relationship.isToMany {
      others = object.members(relationship, isAsked: false)
    } else if !hasVanished(from: object, relationship), let other = object.relatedObject(relationship) {
      others = [other]
    }
    others.removeAll { $0 === object || $0.isMarkedDeleted }
    if inverse.isToMany { return others.filter { $0.hasMember(inverse, object) } }
    fulfil(others.filter { $0.isFault && $0.snapshot == nil })
    let bits = object.referenceBits
    return others.filter { $0.reference(inverse) == bits }
  }

  /// Cuts the ties of one relationship of an object that is deleted, as its rule says.
  private func untie(_ object: ManagedObject, _ relationship: RelationshipSchema) {
    if relationship.isToMany {
      untieMembers(of: object, relationship)
    } else {
      untieOne(of: object, relationship)
    }
  }

  /// The object leaves the one it refers to.
  private func untieOne(of object: ManagedObject, _ relationship: RelationshipSchema) {
    guard let inverse = schema.inverse(of: relationship) else { return }
    let end = object.reference(relationship)
    guard end != 0, !hasVanished(from: object, relationship),
      let other = self.object(end, inStore: object.withHome { $0.storeIndex }), other !== object
    else {
      return
    }
    if inverse.isToMany {
      if relationship.deleteRule == .noAction, other.relations == nil { return }
      guard other.isThere(under: inverse) else { return }
      other.loseMember(inverse, object.referenceBits)
      noteLostMember(of: other, relationship)
    } else if relationship.deleteRule == .nullify || relationship.deleteRule == .deny,
      !other.isMarkedDeleted
    {
      other.leave(inverse, object)
    }
  }

  /// The members lose the object.
  private func untieMembers(of object: ManagedObject, _ relationship: RelationshipSchema) {
    guard let inverse = schema.inverse(of: relationship) else { return }
    let bits = object.referenceBits
    if inverse.isToMany {
      for member in object.members(relationship, isKept: false) where member !== object {
        if relationship.deleteRule == .noAction, member.relations == nil { continue }
        guard member.isThere(under: inverse) else { continue }
        member.loseMember(inverse, bits)
        noteLostMember(of: member, relationship)
      }
      return
    }
    // Cascaded members go anyway, and a denied deletion must leave everything as it is.
    guard relationship.deleteRule == .nullify else { return }
    let members = object.members(relationship, isKept: false).filter { !$0.isMarkedDeleted }
    let faults = members.filter { $0.isFault && $0.snapshot == nil }
    if !faults.isEmpty { fulfil(faults + faultsBehind(object, relationship, most: faults.count)) }
    for member in members {
      member.leave(inverse, object)
    }
  }

  /// `owner` has lost a member by the deletion of one that is related to it by `relationship`.
  private func noteLostMember(of owner: ManagedObject, _ relationship: RelationshipSchema) {
    if relationship.deleteRule == .noAction {
      changes.noteSilentlyUntied(owner)
    } else {
      owner.noteRelationChange()
    }
  }

  // MARK: Denied deletions

  /// The relationships that forbid the deletion of `object`: those with the rule deny that still lead to an object that stays
  /// (rule 213).
  func relationshipsDenyingDeletion(of object: ManagedObject) -> [RelationshipSchema] {
    object.home.entity.relationships.filter { relationship in
      guard relationship.deleteRule == .deny else { return false }
      // What an insertion has led to was there before it.
      if deletions.takenOut[ObjectIdentifier(object)] == .undo {
        return !relatedSince(to: object, relationship).isEmpty
      }
      if relationship.isToMany {
        return object.members(relationship, isKept: false).contains { !$0.isMarkedDeleted }
      }
      guard let other = object.relatedObject(relationship) else { return false }
      return !other.isMarkedDeleted
    }
  }

  // MARK: What others have done meanwhile

  /// A store has refused a save because references would lead nowhere: others have deleted what is referred to, or have
  /// referred to what is deleted here. Brings the objects in line, so that the save can be tried again (rule 221).
  ///
  /// What others have done is in the newest commits, which are read here whatever generation is pinned (rule 293): an object that got its older row
  /// back would be in conflict with the store again, however often that is settled.
  ///
  /// - Throws: `CoreDataError` 133000 under the error policy when something this context refers to has been deleted by another
  ///   context; what validation throws for the objects as they are then.
  func resolve(_ dangling: DanglingReferences, in binding: StoreBinding) throws {
    try readingNewest {
      try clear(dangling, in: binding)
      processPendingChanges()
      settleDeletions()
    }
    try validatePendingChanges()
  }

  private func clear(_ dangling: DanglingReferences, in binding: StoreBinding) throws {
    var lost: [ManagedObject] = []
    let references = try redirectToSuccessors(dangling.references, in: binding)
    for reference in references {
      let relationship = schema.relationships[reference.relationship]
      let hierarchy = schema.entities[relationship.owner].hierarchyNumber
      let isKnown = stores.tables(for: binding).tables[hierarchy].object(for: reference.source) != nil
      guard let source = try existingObject(reference.source, hierarchy, binding) else { continue }
      // A fault that was made just now has the newest row.
      let isToBeRead = isKnown || !source.isFault
      if reference.isOneSided, isToBeRead { readAgain(source) }
      takeOver(source)
      if reference.isOneSided {
        try following(reference.target, relationship, inStore: binding.index) {
          try drop(reference.target, from: source, relationship, binding)
        }
      } else if reference.isLeftBehind {
        if isToBeRead { readAgain(source) }
        try following(reference.target, relationship, inStore: binding.index) {
          try adoptReferrer(source, relationship, reference.target)
        }
      } else if !isDeletedHere(reference.target, relationship.destinationHierarchy, binding) {
        lost.append(source)
      }
    }
    if !lost.isEmpty, mergePolicy.mergeType == .error {
      throw CoreDataError(
        .managedObjectReferentialIntegrity,
        "Objects that are referred to have been deleted by another context: \(dangling)",
        userInfo: [CoreDataError.Key.affectedObjects: lost])
    }
    for reference in references where !reference.isLeftBehind && !reference.isOneSided {
      let relationship = schema.relationships[reference.relationship]
      let hierarchy = schema.entities[relationship.owner].hierarchyNumber
      guard let source = try existingObject(reference.source, hierarchy, binding) else { continue }
      try following(reference.target, relationship, inStore: binding.index) {
        try drop(reference.target, from: source, relationship, binding)
      }
    }
  }

  /// Runs `body`, which does what follows from the deletion of the record with that key, at the other end of `relationship`. It is undone together with the deletion; when that
  /// cannot be undone, or others have deleted the record, neither can this.
  func following(
    _ key: UInt64, _ relationship: RelationshipSchema, inStore index: Int, _ body: () throws -> Void
  ) rethrows {
    guard let undoRecorder else { return try body() }
    let table = StratumLayer.Table(storeIndex: index, hierarchy: relationship.destinationHierarchy)
    let event = undoRecorder.event(deleting: key, table)
    let count = deletions.toPropagate.count
    try undoRecorder.adding(to: event, in: self) {
      try body()
      // What follows from that cannot be undone either.
      if event == nil, deletions.toPropagate.count > count { propagateDeletions() }
    }
    guard let event else { return }
    for next in deletions.toPropagate.dropFirst(count) { undoRecorder.note(next, deletedLateIn: event) }
  }

  /// The newest row comes under the edits of an object, also of a fault: what that shows now is what is settled. Of a row that has gone meanwhile the save finds out.
  private func readAgain(_ object: ManagedObject) {
    let old = object.snapshot
    refreshKeepingChanges(object)
    guard object.isFault, object.snapshot == nil else { return }
    switch object.loadRow() {
    case .found: break
    case .gone: object.take(old)
    case .unreadable(let error):
      object.take(old)
      report(error, reading: object)
    }
  }

  /// What a child has saved of the object and this save hands down becomes an edit of this context's own.
  private func takeOver(_ object: ManagedObject) {
    object.claim()
    let table = StratumLayer.Table(
      storeIndex: object.home.storeIndex, hierarchy: object.home.hierarchyNumber)
    saving.frozenRows.removeAll { $0.primaryKey == object.primaryKey && $0.table == table }
  }

  /// Whether this context itself deletes the object: what refers to it without an inverse is cleared.
  private func isDeletedHere(_ key: UInt64, _ hierarchy: Int, _ binding: StoreBinding) -> Bool {
    let table = StratumLayer.Table(storeIndex: binding.index, hierarchy: hierarchy)
    if isGone(StratumLayer.Place(table: table, primaryKey: key)) { return true }
    if let known = stores.tables(for: binding).tables[hierarchy].object(for: key), known.isMarkedDeleted {
      return !known.state.isDeletedByBatch
    }
    // A child has deleted it, and it is no object here.
    return strata.row(table, key)?.kind == .delete
  }

  /// Another context has referred to an object that is deleted here: its delete rule applies to the newcomer as well.
  private func adoptReferrer(
    _ source: ManagedObject, _ relationship: RelationshipSchema, _ target: UInt64
  ) throws {
    let rule = schema.inverse(of: relationship)?.deleteRule ?? .nullify
    switch rule {
    case .cascade: delete(source)
    case .nullify, .noAction:
      if Reference.primaryKey(source.reference(relationship)) == target {
        source.claim()
        source.storeReference(0, relationship)
      }
    case .deny:
      let entity = schema.entities[relationship.destination].name
      throw CoreDataError(
        .validationRelationshipDeniedDelete,
        "\(entity)/p\(target) cannot be deleted: another context has related \(source.objectID) to it.",
        userInfo: [
          CoreDataError.Key.validationObject: source,
          CoreDataError.Key.validationKey: schema.inverse(of: relationship)?.name ?? relationship.name,
        ])
    }
  }

  /// The object with that key is gone: `source` does not refer to it any more.
  private func drop(
    _ target: UInt64, from source: ManagedObject, _ relationship: RelationshipSchema,
    _ binding: StoreBinding
  ) throws {
    takeOver(source)
    if !relationship.isToMany {
      if Reference.primaryKey(source.reference(relationship)) == target {
        source.storeReference(0, relationship)
      }
      return
    }
    // The deleted end records the edge, too.
    if let inverse = schema.inverse(of: relationship),
      let gone = unsavedObject(target, relationship.destinationHierarchy, binding)
    {
      takeOver(gone)
      gone.relations?.known(inverse)?.forget(source.referenceBits)
    }
    let state = source.relationState(relationship)
    for entry in state.changes.effective where Reference.primaryKey(entry.member) == target {
      state.remove(entry.member)
    }
    source.noteRelationChange()
  }

  /// The object with that key that is here, or of which a child has saved something that this save hands down.
  private func unsavedObject(_ key: UInt64, _ hierarchy: Int, _ binding: StoreBinding) -> ManagedObject? {
    if let known = stores.tables(for: binding).tables[hierarchy].object(for: key) { return known }
    let table = StratumLayer.Table(storeIndex: binding.index, hierarchy: hierarchy)
    let row = saving.frozenRows.first { $0.primaryKey == key && $0.table == table } ?? strata.row(table, key)
    return row.flatMap { object(for: $0, isOwn: true) }
  }

  /// The same, or the object of a row in the store.
  private func existingObject(_ key: UInt64, _ hierarchy: Int, _ binding: StoreBinding) throws
    -> ManagedObject?
  {
    if let unsaved = unsavedObject(key, hierarchy, binding) { return unsaved }
    let store = stores.tables(for: binding)
    guard let row = try newest(binding).row(hierarchy: hierarchy, primaryKey: key) else { return nil }
    return object(for: row, in: store, strata.layers, readAt: SnapshotClock.now)
  }
}
