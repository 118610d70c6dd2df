import Foundation

extension ManagedObject {
  /// Takes an unsaved row as what the object looks like: one that a child of this context has saved (`isOwn`), or one that a
  /// context below has not saved yet.
  final func take(_ unsaved: StratumRow, isOwn: Bool) {
    if isOwn { state.receive(unsaved.kind) } else { state.endReceived() }
    guard let row = unsaved.row ?? unsaved.base else { return }
    take(row)
    state.standOnUnsavedRow()
    state.becomeStored()
    if context?.isUnstored(unsaved) == true { state.becomeUnstored() }
    keepUnsavedValues(of: unsaved)
    // Those of a context below stay there (rule 165).
    if let values = unsaved.transients?.values, isOwn || context?.strata.holds(unsaved) == true {
      // What was set here lies above.
      let isBeneath = !state.isDisjoint(with: .ownChange)
      transients = (transients ?? [:]).merging(values) { isBeneath ? $0 : $1 }
    }
    settleFastRow()
  }

  /// Whether a child has changed the record again after `unsaved`, and the object shows it.
  final func shows(aLaterSaveThan unsaved: StratumRow) -> Bool {
    if state.isDisjoint(with: .received) { return false }
    // A child may take a deletion back by undoing it.
    if unsaved.kind == .delete { return !state.contains(.receivedDelete) }
    return state.contains(.receivedDelete) || snapshot?.base != unsaved.row?.base
  }

  /// Large values that are in no store are kept with the object.
  final func keepUnsavedValues(of unsaved: StratumRow) {
    for value in unsaved.externals {
      guard let found = unsaved.unsavedValue(value.slot) else { continue }
      transients = (transients ?? [:]).merging([~value.slot: found]) { $1 }
    }
  }

  /// A context below has saved the object's record since, or not.
  final var isStillUnstored: Bool {
    guard let context else { return true }
    if state.contains(.inFlight), snapshot == nil { return true }
    if context.isUnstored(self) { return true }
    state.becomeStored()
    return false
  }

  /// What a child has saved becomes an edit of this context's own, because it is about to be edited, or settled.
  final func claim() {
    guard !state.isDisjoint(with: .received), let context else { return }
    // Whatever children have saved before comes first.
    context.drainReceived()
    guard !state.isDisjoint(with: .received) else { return }
    let table = home.layerTable
    guard let unsaved = context.strata.row(table, primaryKey),
      let binding = context.coordinator.binding(home.storeIndex)
    else {
      state.endReceived()
      return
    }
    claim(unsaved, from: binding)
  }

  /// The same, for a row that is known. An object that was claimed together with another one, to which it is related, stays as it is.
  final func claim(_ unsaved: StratumRow, from binding: StoreBinding) {
    fire()
    if !state.isDisjoint(with: .received) { makeEdit(of: unsaved, from: binding) }
  }

  private final func makeEdit(of unsaved: StratumRow, from binding: StoreBinding) {
    guard let context else { return }
    state.endReceived()
    fastRow = nil
    if unsaved.kind == .delete {
      takeBase(of: unsaved)
      context.changes.adopt(self, as: .delete)
      for relationship in home.entity.relationships where unsaved.changesReference(relationship) {
        adoptMembership(relationship, from: unsaved.base?.reference(relationship, home) ?? 0, to: 0)
      }
      leaveEnds(before: unsaved)
      return
    }
    let draft = draftAsRead(unsaved, from: binding)
    takeBase(of: unsaved)
    self.draft = draft
    context.changes.adopt(self, as: unsaved.kind == .insert ? .insert : .update)
    if unsaved.kind == .update, unsaved.changedSlots == home.persistentSlots, slotsThatDiffer.isEmpty {
      // Of `wholeIfOnlyLinked`: no value differs, and still it has to meet the absence of its row.
      context.detectConflicts(for: self)
    }
    adoptEdges(unsaved.edges)
    for relationship in home.entity.relationships where unsaved.changesReference(relationship) {
      adoptMembership(
        relationship, from: unsaved.base?.reference(relationship, home) ?? 0,
        to: unsaved.row?.reference(relationship, home) ?? 0)
    }
  }

  /// What a child had saved is in a save without stopping: from now on it is beneath what is edited. The row may have been put onto another one since the object took it.
  final func takeOff(with flown: StratumRow) {
    state.takeOffReceived()
    guard let row = flown.row, let snapshot, snapshot.base != row.base else { return }
    take(row)
    settleFastRow()
  }

  /// What a child had saved, and a save that failed was to hand down, becomes an edit of this context's own beneath those that were made above it since.
  final func claim(beneath flown: StratumRow, from binding: StoreBinding) {
    guard let context else { return }
    if flown.kind == .delete { return claimDeletion(beneath: flown, from: binding) }
    // A fault would read what is stored.
    if snapshot == nil { take(flown, isOwn: false) }
    fire()
    fastRow = nil
    // It stands on another row: what it lies above has been merged.
    guard snapshot?.base == flown.row?.base else { return }
    let isLeaving = state.contains(.deleted)
    if isLeaving, flown.kind == .insert {
      context.changes.undelete(self)
      context.changes.unupdate(self)
      context.withdraw(self)
      return context.letGo(self, rowIsGone: true)
    }
    let later = draft
    let draft = isLeaving ? nil : draftAsRead(flown, from: binding)
    if let draft, let later {
      later.changed.forEach {
        draft[$0] = later[$0]
        if later.primitive.contains($0) { draft.primitive.insert($0) }
      }
      draft.eventChanged = later.eventChanged
    }
    for relationship in home.entity.relationships where flown.changesReference(relationship) {
      let former = flown.base?.reference(relationship, home) ?? 0
      let isChangedAgain = isLeaving || later?.isChanged(relationship.slot) == true
      // Set back to what it was: its owner has it, and was told.
      if isChangedAgain, !isLeaving, reference(relationship) == former { continue }
      adoptMembership(
        relationship, from: former,
        to: isChangedAgain ? 0 : flown.row?.reference(relationship, home) ?? 0)
    }
    takeBase(of: flown)
    if let draft { self.draft = draft }
    if flown.kind == .insert {
      context.changes.unupdate(self)
      context.changes.adopt(self, as: .insert)
    }
    var edges = isLeaving ? flown.edges.removals : flown.edges
    for (number, members) in edges {
      let known = relations?.known(context.schema.relationships[number])
      edges[number] = members.filter { known?.lastChange($0.key) == nil }
    }
    adoptEdges(edges)
  }

  private final func claimDeletion(beneath flown: StratumRow, from binding: StoreBinding) {
    guard let context, !state.contains(.deleted) else { return }
    guard state.contains(.inserted) else {
      context.changes.unupdate(self)
      draft = nil
      fire()
      return makeEdit(of: flown, from: binding)
    }
    // A child has taken its deletion back, and the record was edited since: its row is still there.
    takeBase(of: flown)
    context.changes.unreinsert(self)
    editableDraft().changed = slotsThatDiffer
  }

  /// What a child has set. A large value that cannot be read now is put in by the save, unless it is set before.
  private final func draftAsRead(_ unsaved: StratumRow, from binding: StoreBinding) -> RowDraft {
    if let draft = try? unsaved.draft(from: binding) { return draft }
    let isInsert = unsaved.kind == .insert
    let draft = isInsert ? home.makeDraft() : RowDraft.make(home.layout)
    (isInsert ? home.persistentSlots : unsaved.changedSlots).forEach { slot in
      takeChild(unsaved, slot, from: binding, into: draft)
    }
    return draft
  }

  /// One value that a child has set.
  final func takeChild(
    _ unsaved: StratumRow, _ slot: Int, from binding: StoreBinding, into draft: RowDraft
  ) {
    do {
      draft[slot] = try unsaved.value(slot, in: binding)
    } catch {
      context?.report(error, reading: self, property: home.entity.attributes[slot].name)
      context?.postpone(self) { [unowned self] in
        let draft = editableDraft()
        if !draft.isChanged(slot) || unsaved.kind == .insert && draft[slot].isNull {
          draft[slot] = try unsaved.value(slot, in: binding)
        }
      }
    }
  }

  private final func takeBase(of unsaved: StratumRow) {
    take(unsaved.base)
    settleBase(isStored: unsaved.isBaseStored)
  }

  /// A child has saved the record over a newer row than this object shows, and no value was edited here: relationships that were lie above that row then, as they
  /// would above what the child has saved of a record that was not edited at all.
  final func adoptNewerBase(of unsaved: StratumRow) {
    guard let context, let snapshot, let base = unsaved.base, draft?.isSilent ?? true else { return }
    // Versions count stored rows. What lies beneath a row that is not stored was looked up when the child saved.
    let isStored = unsaved.isBaseStored && !state.contains(.unsavedRow)
    guard isStored ? base.version > snapshot.version : base.base != snapshot.base else { return }
    context.forgetMembers(referredToBy: home.entity, nil)
    context.undoRecorder?.moveBase(of: self, to: base)
    takeBase(of: unsaved)
    settleFastRow()
  }

  /// What lies beneath the context's own changes is the object's row again.
  final func settleBase(isStored: Bool) {
    state.standOnStoredRow()
    if isStored { return }
    state.standOnUnsavedRow()
    noteWhetherStored()
    guard let row = snapshot, let context else { return }
    // Other contexts that have them may be rolled back.
    home.persistentSlots.forEach { slot in
      guard row.externalReference(slot, home.layout) != nil, transients?[~slot] == nil,
        let found = context.unsavedValue(of: row, slot, self)
      else { return }
      transients = (transients ?? [:]).merging([~slot: found]) { $1 }
    }
  }

  /// A context below may have inserted the record and not saved it.
  final func noteWhetherStored() {
    // Whoever asks has the context.
    guard let contextReference,
      contextReference._withUnsafeGuaranteedRef({ !$0.ancestors.isEmpty && $0.isUnstored(self) })
    else { return }
    state.becomeUnstored()
  }
}

extension AttributeValue {
  /// The bytes that stand for a large value outside its row.
  var externalBytes: Data? {
    switch self {
    case .string(let text): Data(text.utf8)
    case .data(let bytes): bytes
    case .url(let url): Data(url.absoluteString.utf8)
    default: nil
    }
  }
}
