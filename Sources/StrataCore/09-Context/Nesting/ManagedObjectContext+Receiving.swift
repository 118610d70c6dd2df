import Dispatch
import Foundation

extension ManagedObjectContext {
  // MARK: On the child's thread

  /// A child has saved: makes this context's objects show it. Inline when the caller is on this context's
  /// queue already, and then all of it is reported before the child's `save()` returns; else as a job there (contexts 6); a
  /// confinement context has no queue and finds it when it is used next.
  func scheduleMerge() {
    if isAtHand { return showReceived() }
    inbox?.noteReceived()
    queue.queue?.async { [weak self] in
      guard let self else { return }
      self.runAsEvent {}
    }
  }

  // MARK: On this context's queue

  /// Brings what children have saved into the objects here, and reports all of it at once.
  func showReceived() {
    drainReceived()
    tellReceived(all: true)
    // Records of which there is no object here are edits nevertheless.
    if event.whenEdited != nil { noteFirstEdit() }
  }

  /// Brings what children have saved into the objects here, and reports it.
  func mergeReceived() {
    drainReceived()
    tellReceived()
  }

  /// Brings what children have saved into the objects that are registered here; the others stay rows of the strata. Whether
  /// there is anything costs one load to find out.
  @inline(__always)
  func drainReceived() {
    if strata.mustMerge { drainNow() }
  }

  private func drainNow() {
    // What children have changed of new objects comes into these.
    saving.encodingAhead?.wait()
    for save in strata.takeReceived() {
      if changes.remembersGone { recallGone(linkedBy: save) }
      let lost = goneForGood(among: save)
      deletions.vanished.formUnion(lost)
      defer { deletions.vanished.subtract(lost) }
      // All of them first: making one record's changes an edit here touches those it is related to.
      if undoRecorder?.isEnabled == true { for change in save { noteForUndo(change) } }
      let deletedBefore = objectsDeletedHere(among: save)
      for change in save {
        forgetMembers(changedBy: change)
        if change.kind == .delete, lost.contains(change.identifier) {
          changes.noteGone(change.bound, change.primaryKey)
        } else if change.kind == .insert {
          changes.noteBack(change.place)
        }
        if undoRecorder?.isEnabled == true {
          applyUndoably(change, deletedBefore)
        } else if !apply(change, deletedBefore) {
          untold.append(change)
        }
      }
      noteLinksToDeleted(save)
    }
  }

  // MARK: Links to what is deleted

  /// A child may lead others to what is deleted here, by itself or by another child, without knowing. The next save lets go of it; until then relationships do not
  /// show it (rule 216).
  private func noteLinksToDeleted(_ save: [StratumRow]) {
    let deletesItself = changes.deletedCount > 0 || !changes.gone.isEmpty
    for change in save {
      if change.kind != .delete {
        if deletesItself { noteLinksToDeleted(change) }
      } else if !change.bound.entity.inbound.isEmpty {
        deletions.linked.insert(change.bound.hierarchyNumber)
      }
    }
  }

  private func noteLinksToDeleted(_ change: StratumRow) {
    let (bound, index) = (change.bound, change.bound.storeIndex)
    func note(_ bits: UInt64, _ hierarchy: Int) {
      if bits != 0, isDeletedHere(bits, inStore: index) { deletions.linked.insert(hierarchy) }
    }
    // Both ends of a link may be told by one of them alone.
    note(Reference.bits(change.primaryKey, entityCode: bound.stamp.entityCode), bound.hierarchyNumber)
    for relationship in bound.entity.relationships where change.changesReference(relationship) {
      note(change.row?.reference(relationship, bound) ?? 0, relationship.destinationHierarchy)
    }
    for (number, members) in change.edges {
      let hierarchy = schema.relationships[number].destinationHierarchy
      for (member, position) in members where position != MemberChanges.removed { note(member, hierarchy) }
    }
  }

  /// New records that had gone before this context's last save, and which a child leads something to only now, count as gone since.
  private func recallGone(linkedBy save: [StratumRow]) {
    for change in save where change.kind != .delete {
      // In a store of the program's own a reference names a record again: one that had gone may be there by now.
      guard let binding = coordinator.binding(change.bound.storeIndex), binding.contextual == nil else {
        continue
      }
      func recall(_ bits: UInt64) {
        guard bits != 0, let bound = binding.entity(code: Reference.entityCode(bits)) else { return }
        changes.recallGone(bound, Reference.primaryKey(bits))
      }
      if change.kind == .update { changes.recallGone(change.bound, change.primaryKey) }
      for relationship in change.bound.entity.relationships where change.changesReference(relationship) {
        recall(change.row?.reference(relationship, change.bound) ?? 0)
      }
      for members in change.edges.values {
        for (member, position) in members where position != MemberChanges.removed { recall(member) }
      }
    }
  }

  /// Whether a relationship of `owner` does not show deleted objects that it leads to. What is deleted itself shows what it led to, for its hooks.
  func hidesDeleted(_ relationship: RelationshipSchema, of owner: ManagedObject) -> Bool {
    guard deletions.linked.contains(relationship.destinationHierarchy),
      owner.state.isDisjoint(with: .anyDeleted), let inverse = schema.inverse(of: relationship)
    else { return false }
    return inverse.deleteRule != .noAction
  }

  /// Whether a to-one relationship of `owner` does not show `object`, to which it leads.
  func hides(_ object: ManagedObject, from relationship: RelationshipSchema, of owner: ManagedObject) -> Bool
  {
    if deletions.includeBatches, isHidden(object, from: relationship) { return true }
    return !object.state.isDisjoint(with: .anyDeleted) && hidesDeleted(relationship, of: owner)
  }

  /// New records that a child has deleted: nothing is left of them, here or anywhere below.
  private func goneForGood(among save: [StratumRow]) -> Set<ManagedObjectID> {
    var gone: Set<ManagedObjectID> = []
    for change in save where change.kind == .delete {
      guard let binding = coordinator.binding(change.bound.storeIndex) else { continue }
      let table = stores.tables(for: binding).tables[change.bound.hierarchyNumber]
      let known = known(change.primaryKey, as: change.bound, in: table)
      if known?.isMarkedInserted ?? (strata.row(change.table, change.primaryKey) == nil) {
        gone.insert(change.identifier)
      }
    }
    return gone
  }

  /// Those of the objects that a child has deleted which are deleted here already. Others become so when what they are related
  /// to is brought in line, before it is their turn: that is news.
  private func objectsDeletedHere(among save: [StratumRow]) -> Set<ObjectIdentifier> {
    var deleted: Set<ObjectIdentifier> = []
    for change in save where change.kind == .delete {
      guard let binding = coordinator.binding(change.bound.storeIndex) else { continue }
      let table = stores.tables(for: binding).tables[change.bound.hierarchyNumber]
      if let known = known(change.primaryKey, as: change.bound, in: table), known.state.contains(.deleted) {
        deleted.insert(ObjectIdentifier(known))
      }
    }
    return deleted
  }

  /// Notes what a record was before a child changed it.
  private func noteForUndo(_ change: StratumRow) {
    guard let binding = coordinator.binding(change.bound.storeIndex) else { return }
    let table = stores.tables(for: binding).tables[change.bound.hierarchyNumber]
    let known = known(change.primaryKey, as: change.bound, in: table)
    if let known, !known.state.isDisjoint(with: .ownChange) { return willChange(known) }
    // Nothing is left of what one child inserted and another deleted.
    guard let row = strata.row(change.table, change.primaryKey),
      let object = known ?? object(for: row, isOwn: true)
    else { return }
    undoRecorder?.note(object) {
      ObjectUndoState(object, unedited: row.kind == .insert ? nil : row.base, saveCount: $0)
    }
  }

  /// What a child has saved becomes an edit of an object here, which can be undone.
  private func applyUndoably(_ change: StratumRow, _ deletedBefore: Set<ObjectIdentifier>) {
    guard let binding = coordinator.binding(change.bound.storeIndex) else { return }
    let table = stores.tables(for: binding).tables[change.bound.hierarchyNumber]
    let known = known(change.primaryKey, as: change.bound, in: table)
    if let known, showsOwnValues(known, beside: change) {
      return applyToEdited(change, known, binding, deletedBefore)
    }
    guard let row = strata.row(change.table, change.primaryKey),
      let object = known ?? object(for: row, isOwn: true)
    else { return }
    if known != nil { object.take(row, isOwn: true) }
    object.claim(row, from: binding)
    noteFirstEdit()
    switch row.kind {
    case .insert: changes.note(object, .insert)
    case .update: changes.note(object, .update)
    case .delete: changes.note(object, .delete)
    }
  }

  /// True when the record's object is here; then it shows the change.
  private func apply(_ change: StratumRow, _ deletedBefore: Set<ObjectIdentifier>) -> Bool {
    guard let binding = coordinator.binding(change.bound.storeIndex) else { return true }
    let table = stores.tables(for: binding).tables[change.bound.hierarchyNumber]
    guard let known = known(change.primaryKey, as: change.bound, in: table) else { return false }
    if showsOwnValues(known, beside: change) {
      applyToEdited(change, known, binding, deletedBefore)
    } else {
      applyToClean(change, known)
    }
    return true
  }

  /// Whether something of `object` is edited here. Values that were set beneath the accessors take precedence over a row, too.
  private func showsOwnValues(_ object: ManagedObject, beside change: StratumRow) -> Bool {
    !object.state.isDisjoint(with: .ownChange) || object.hasDraft && change.kind != .insert
  }

  private func applyToClean(_ change: StratumRow, _ object: ManagedObject) {
    let wasInserted = object.isMarkedInserted
    guard let row = strata.row(change.table, change.primaryKey) else {
      // Inserted by one child, deleted by another; or rolled back here since.
      if change.kind == .delete { letGo(object, rowIsGone: true) }
      if wasInserted { changes.note(object, .delete) }
      return
    }
    // Deleted once more while that is being saved.
    if row.kind == .delete, isFlying(row) { return }
    if row.kind == .delete {
      if object.isFault, object.snapshot != nil { object.fire() }
      object.state.receive(.delete)
      changes.note(object, .delete)
      return
    }
    if let old = object.snapshot, row.isBaseStored, let base = row.base, old.version < base.version {
      // The child has read it anew: others may be members of its owners, and it of others.
      forgetMembers(referredToBy: object.home.entity, nil)
    }
    object.take(row, isOwn: true)
    changes.note(object, change.kind == .insert ? .insert : .update)
  }

  private func applyToEdited(
    _ change: StratumRow, _ object: ManagedObject, _ binding: StoreBinding,
    _ deletedBefore: Set<ObjectIdentifier>
  ) {
    willChange(object)
    // What leads to it may have been brought in line before: that is no edit of what was shown here. A deletion is one.
    let isDeletedHere =
      object.state.contains(.deleted)
      && (change.kind != .delete || deletedBefore.contains(ObjectIdentifier(object)))
    if !isDeletedHere, let row = strata.row(change.table, change.primaryKey) {
      object.adoptNewerBase(of: row)
    }
    switch change.kind {
    case .insert:
      // It became an edit here when what leads to it was brought in line: that it is new is still to be told.
      if object.state.contains(.inserted) { return changes.note(object, .insert) }
      // The child had deleted it before, and has taken that back.
      guard object.state.contains(.deleted), !object.state.contains(.rowGone) else { return }
      changes.undelete(object)
      take(change, object, binding)
    case .delete:
      for relationship in object.home.entity.relationships where change.changesReference(relationship) {
        object.adoptMembership(relationship, from: object.reference(relationship), to: 0)
      }
      if object.state.contains(.inserted) {
        changes.uninsert(object)
        letGo(object, rowIsGone: true)
      } else if object.state.contains(.deleted) {
        if !deletedBefore.contains(ObjectIdentifier(object)) { changes.note(object, .delete) }
      } else {
        object.leaveEnds(before: change)
        changes.delete(object)
      }
    case .update:
      if object.state.isDeletedByBatch {
        // It was not deleted here: the save finds out that the row is gone (rule 199).
        object.state.regainRow()
        changes.undelete(object)
        detectConflicts(for: object)
      }
      if !object.state.isDisjoint(with: [.deleted, .flyingDelete]) { return }
      take(change, object, binding)
    }
  }

  private func take(_ change: StratumRow, _ object: ManagedObject, _ binding: StoreBinding) {
    // Of a fault only relationships have been edited: its values come first.
    object.fire()
    let draft = object.editableDraft()
    if object.state.isDisjoint(with: [.notedInsert, .notedUpdate]) { draft.eventChanged = SlotBitmap() }
    for relationship in object.home.entity.relationships where change.changesReference(relationship) {
      object.adoptMembership(
        relationship, from: object.reference(relationship),
        to: change.row?.reference(relationship, object.home) ?? 0)
    }
    object.adoptEdges(change.edges)
    change.changedSlots.forEach { slot in
      object.takeChild(change, slot, from: binding, into: draft)
      draft.primitive.remove(slot)
      draft.eventChanged.insert(slot)
    }
    if let values = change.transients?.values {
      object.transients = (object.transients ?? [:]).merging(values) { $1 }
    }
    changes.update(object)
    changes.note(object, .update)
  }

  // MARK: Telling of it

  /// Tells, in did-change notifications, of records that children have saved and that are no objects here yet (rule 152). On
  /// the main queue in slices, so that a hundred thousand of them never hold it for long.
  func tellReceived(all: Bool = false) {
    let isSliced = !all && queue.type == .mainQueue
    let end = DispatchTime.now().uptimeNanoseconds + Self.sliceLength
    repeat {
      while !untold.isEmpty {
        if isSliced, DispatchTime.now().uptimeNanoseconds >= end { break }
        for row in untold.take(Self.sliceStep) { tell(row) }
      }
      // Children may save meanwhile, and observers look: then there is more to tell.
      tellChanges()
    } while !isSliced && !untold.isEmpty
    if untold.isEmpty {
      let old = untold.removeAll()
      Garbage.release(old, count: old.count)
    } else {
      DispatchQueue.main.async { [weak self] in
        guard let self else { return }
        ThreadScope.current.run(in: self) { self.tellReceived() }
      }
    }
  }

  /// How long a slice may hold the main queue, in nanoseconds.
  static let sliceLength: UInt64 = 4_000_000
  /// How many records between two looks at the clock.
  static let sliceStep = 256

  private func tell(_ change: StratumRow) {
    guard let object = objectToTell(change) else {
      return noteRow(change.primaryKey, change.bound, \.refreshed)
    }
    if !object.state.isDisjoint(with: .ownChange) { willChange(object) }
    switch change.kind {
    case .insert: changes.note(object, .insert)
    case .update: changes.note(object, .update)
    case .delete: changes.note(object, .delete)
    }
  }

  private func objectToTell(_ change: StratumRow) -> ManagedObject? {
    if let unsaved = unsavedRow(change.table, change.primaryKey) {
      if unsaved.row.kind == .delete, !unsaved.isOwn || change.kind != .delete { return nil }
      return object(for: unsaved.row, isOwn: unsaved.isOwn)
    }
    // Saved further down meanwhile. The row of `change` is the record as that child saw it: this context, another child or
    // a context below may have changed it since, or had before.
    guard change.kind != .delete, let binding = coordinator.binding(change.bound.storeIndex)
    else { return nil }
    let store = stores.tables(for: binding)
    let table = store.tables[change.bound.hierarchyNumber]
    if let known = known(change.primaryKey, as: change.bound, in: table) { return known }
    do {
      let row = try reading(binding).row(
        hierarchy: change.bound.hierarchyNumber, primaryKey: change.primaryKey)
      return row.flatMap { object(for: $0, in: store, [], readAt: SnapshotClock.now) }
    } catch {
      report(ReadFailure(error, [change.identifier]))
      return nil
    }
  }
}
