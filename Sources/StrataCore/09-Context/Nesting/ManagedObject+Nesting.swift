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
    if let values = unsaved.transients?.values {
      transients = (transients ?? [:]).merging(values) { $1 }
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
    let table = StratumLayer.Table(storeIndex: home.storeIndex, hierarchy: home.hierarchyNumber)
    guard let unsaved = context.strata.row(table, primaryKey),
      let binding = context.coordinator.binding(home.storeIndex)
    else {
      state.endReceived()
      return
    }
    claim(unsaved, from: binding)
  }

  /// The same, for a row that is known.
  final func claim(_ unsaved: StratumRow, from binding: StoreBinding) {
    guard let context else { return }
    fire()
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
