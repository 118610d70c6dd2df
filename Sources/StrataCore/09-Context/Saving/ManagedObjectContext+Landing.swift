import Dispatch
import Foundation

extension ManagedObjectContext {
  /// A save that is under way comes first: waits for its writing, and brings what came of it into the objects.
  func joinFlight() {
    guard let flight = saving.flight else { return }
    flight.wait()
    _ = land(flight, all: true)
  }

  /// Brings what came of `flight` into the objects; on the main queue in slices unless `all`. True when that is done.
  func land(_ flight: SaveFlight, all: Bool) -> Bool {
    if flight.isLanded { return true }
    switch flight.ending {
    case .saved:
      // What is written is there for whoever looks between the slices, and in hooks.
      if parent == nil, flight.landedCount == 0, flight.calledCount == 0 { generation.advance() }
      let end =
        all || queue.type != .mainQueue ? nil : DispatchTime.now().uptimeNanoseconds + Self.sliceLength
      guard adopt(flight, until: end), callDidSave(flight, until: end) else { return false }
      // A hook may have saved, and brought it home.
      if flight.isLanded { return true }
      finish(flight)
    case .refused(let refusal, let store):
      putBack(flight)
      // A save that has come in between settles conflicts by itself.
      if flight.isForgotten {
        flight.fail(describe(wasForgotten, in: flight))
      } else if !all {
        settle(flight) { try settle(conflicts(of: refusal, in: store), runsHooks: false) }
      }
    case .disputed(let conflict):
      putBack(flight)
      if flight.isForgotten {
        flight.fail(describe(wasForgotten, in: flight))
      } else if !all {
        settle(flight) { try settle(conflict, runsHooks: false) }
      }
    case .failed(let error):
      flight.fail(describe(error, in: flight))
      putBack(flight)
    case nil: trap("a save was brought home before it had ended")
    }
    flight.markLanded()
    return true
  }

  /// There is nothing that a merge policy could settle.
  private var wasForgotten: CoreDataError {
    CoreDataError(
      .persistentStoreSaveConflicts,
      "Others had changed what was being saved, and the context was reset meanwhile: nothing of it was saved."
    )
  }

  private func settle(_ flight: SaveFlight, _ ask: () throws -> Void) {
    saving.begin()
    defer { saving.endHooks() }
    do { try throwingFailures(ask) } catch { flight.fail(describe(error, in: flight)) }
  }

  private func describe(_ error: any Error, in flight: SaveFlight) -> any Error {
    let error: any Error = (error as? UnencodableValue)?.error ?? error
    let isPartlySaved = saving.hasCarried || flight.parts.contains { $0.notice?.hasWritten == true }
    return isPartlySaved ? CoreDataError.incompleteSave(error) : error
  }

  // MARK: Saved

  /// The objects take over what was saved. False when the time is up before all have.
  private func adopt(_ flight: SaveFlight, until end: UInt64?) -> Bool {
    var start = 0
    var released: [RowDraft] = []
    defer { Garbage.release(Released(drafts: released), count: released.count) }
    for part in flight.parts {
      let count = part.entries.count
      let first = min(max(flight.landedCount - start, 0), count)
      // Entries are looked at where they lie: copying one counts five references.
      let isDone = part.entries.withUnsafeBufferPointer { entries in
        for place in first..<count {
          if let end, place % 128 == 127, DispatchTime.now().uptimeNanoseconds >= end {
            flight.isSliced = true
            return false
          }
          flight.landedCount = start + place + 1
          adopt(
            entries[place], part.rows[place], of: flight,
            isDropped: flight.dropped.contains(start + place), &released)
        }
        return true
      }
      if !isDone { return false }
      start += count
    }
    return true
  }

  /// Drafts on their way to be freed. Unchecked: they are used nowhere else.
  private struct Released: @unchecked Sendable { let drafts: [RowDraft] }

  private func adopt(
    _ entry: SaveFlight.Entry, _ change: RowChange?, of flight: SaveFlight, isDropped: Bool,
    _ released: inout [RowDraft]
  ) {
    let object = entry.object
    // Reset meanwhile, and perhaps inserted again as another record.
    guard object.context === self, object.primaryKey == entry.primaryKey else { return }
    let isFrozen = object.state.contains(.draftFrozen)
    object.state.land()
    if entry.kind == .delete {
      changes.undelete(object)
      letGo(object, rowIsGone: true)
      flight.note(landed: object, entry.kind)
      return
    }
    if isDropped {
      if isFrozen { object.draft = nil }
      dropVanished(object)
      return
    }
    if isFrozen {
      if let draft = object.draft { released.append(draft) }
      object.draft = nil
    }
    object.relations?.land()
    // A merge may have brought a newer row since it was written.
    if let change, object.isBehind(change.row, from: entry.base) {
      object.take(change.row)
      if parent != nil {
        object.state.standOnUnsavedRow()
        if entry.kind == .insert { object.state.becomeUnstored() }
        object.keep(change.externals)
      } else {
        object.state.standOnStoredRow()
      }
    }
    // Edited since: what is the same as it was saved is no change, also where a merge has brought something else.
    if object.hasDraft {
      if let change, object.snapshot?.base != change.row.base { object.dropSavedEdits(of: entry) }
      object.editableDraft().changed = object.slotsThatDiffer
    }
    object.settleFastRow()
    flight.note(landed: object, entry.kind)
  }

  private func finish(_ flight: SaveFlight) {
    saving.flight = nil
    saving.unsettled = [:]
    undoRecorder?.noteSave(ofEverything: !changes.hasChanges)
    deletions.outlived.subtract(flight.outlivedDeletions)
    // Others may have been inserted again since.
    if !saving.lostVersions.isEmpty {
      flight.forEachObject { object, _ in saving.lostVersions[object.objectID] = nil }
    }
    var outcome = SaveOutcome()
    outcome.received = flight.parts.flatMap(\.receivedRows)
    outcome.dropped = flight.droppedRows
    let hasReceived = !outcome.received.isEmpty
    settleReceived(&outcome)
    letGo(deleted: outcome.deleted)
    if parent == nil { standOnStoredRows(flight) }
    captureAnew()
    // Nothing that is deleted is left for relationships to lead to.
    if changes.deletedCount == 0, strata.isEmpty { deletions.linked = [] }
    if changes.deletedCount == 0 { deletions.takenOut = [:] }
    outcome.notices = parent == nil ? flight.parts.compactMap(\.notice) : notices(of: flight.unsavedRows)
    for notice in outcome.notices {
      if parent == nil { saving.noteOwn(notice) }
      if notice.hasMoreThanWasSaid { takeDerived(notice) }
    }
    forgetMembers(left: outcome.notices)
    if !outcome.notices.isEmpty { statistics.saves += 1 }
    assertInvariants()
    if !DebugOutput.current.isEmpty {
      for notice in outcome.notices { tellAsynchronous(notice.changes) }
    }
    let carried = saving.takeCarried()
    outcome.notices = carried.notices + outcome.notices
    tellMerged()
    let isAfterMerging = duplicates.hasFates
    if isAfterMerging { ThreadScope.current.beginSettling(self) }
    defer { if isAfterMerging { ThreadScope.current.endSettling() } }
    callDidSave(
      ToldSave(
        context: self, inserted: outcome.inserted, updated: outcome.updated, deleted: outcome.deleted))
    if hasReceived || !carried.isEmpty {
      outcome.inserted += carried.inserted
      outcome.updated += carried.updated
      outcome.deleted += carried.deleted
      flight.forEachObject { object, kind in
        switch kind {
        case .insert: outcome.inserted.append(object)
        case .update: outcome.updated.append(object)
        case .delete: outcome.deleted.append(object)
        }
      }
      outcome.earlier.deletedCount = outcome.deleted.count
      if !carried.isEmpty { outcome.nameEachOnce() }
    } else {
      outcome.sets = flight.sets
    }
    outcome.resaved = flight.parts.compactMap(\.toldResaved)
    postDidSave(outcome)
    tellChildren(outcome.notices + outcome.resaved)
    readAgainWhatWasMerged()
    if outcome.notices.contains(where: \.hasMoreThanWasSaid) || !observation.pending.isEmpty { tellChanges() }
  }

  /// A merge that came while a save handed down what an object stands on was passed over: now there is a newer row beneath it.
  private func readAgainWhatWasMerged() {
    if saving.mergedMeanwhile.isEmpty { return }
    let objects = saving.mergedMeanwhile
    saving.mergedMeanwhile = []
    for object in objects where object.context === self { refreshKeepingChanges(object) }
  }

  /// Objects that were edited above rows on their way to the store stand on the stored rows now, as their layers do.
  private func standOnStoredRows(_ flight: SaveFlight) {
    // Those that had landed, and were read again before all had.
    for part in flight.parts where flight.isSliced && strata.publishes {
      for place in part.entries.indices {
        let object = part.entries[place].object
        guard object.state.contains(.unsavedRow), let change = part.rows[place], object.context === self,
          !object.isMarkedChanged
        else { continue }
        if object.isBehind(change.row, from: part.entries[place].base) { object.take(change.row) }
        object.state.standOnStoredRow()
      }
    }
    if strata.isEmpty { return }
    for object in changes.updated + changes.deleted where object.state.contains(.unsavedRow) {
      let table = object.home.layerTable
      guard let unsaved = strata.row(table, object.primaryKey), unsaved.isBaseStored else { continue }
      object.take(unsaved.base)
      object.state.standOnStoredRow()
    }
  }

  // MARK: Not saved

  /// The changes are pending again, but for those of stores that were written.
  private func putBack(_ flight: SaveFlight) {
    propagateDeletions(ofUnsaved: flight)
    saving.flight = nil
    let notices = flight.parts.compactMap(\.notice)
    if !notices.isEmpty {
      generation.advance()
      undoRecorder?.noteSave(ofEverything: false)
    }
    var released: [RowDraft] = []
    var settled = SettledRows()
    for part in flight.parts {
      for (place, entry) in part.entries.enumerated() {
        if part.isWritten {
          adopt(entry, part.rows[place], of: flight, isDropped: false, &released)
        } else {
          putBack(entry)
        }
      }
      guard part.isWritten else { continue }
      settled.own += part.entries.map(\.place)
      settled.received += part.receivedRows
      saving.carry(part)
    }
    if !flight.isForgotten { lockAgain(flight) }
    var told = SaveOutcome()
    if saving.isFrozen {
      saving.thaw()
      // What was forgotten meanwhile is not pending again.
      for part in flight.parts where !part.isWritten && flight.isForgotten {
        settled.own += part.entries.map(\.place)
        settled.own += part.received.map(\.place)
      }
      let outcome = thawStrata(without: settled)
      saving.carry(outcome)
      told = outcome
      for part in flight.parts where !part.isWritten && !flight.isForgotten {
        for row in part.received { receiveAgain(row) }
      }
      // What was published of edits that a store has taken is no edit any more; a later save would hand it on as a child's. What was published of those that
      // a merge has put onto a newer row meanwhile is based on the former one.
      for part in flight.parts {
        unpublished.objects += part.entries.lazy.filter { [self] entry in
          entry.object.context === self && (part.isWritten || entry.object.snapshot?.base != entry.base?.base)
        }.map(\.object)
      }
      captureAnew()
      publishEdits()
    }
    for notice in notices where notice.hasMoreThanWasSaid { takeDerived(notice) }
    forgetMembers(left: notices)
    readAgainWhatWasMerged()
    var save = flight.told(0..<flight.landed.count, self)
    save.add(told)
    callDidSave(save)
  }

  /// Rows that the save was to check are for the next one to check, but for those of stores that were written.
  private func lockAgain(_ flight: SaveFlight) {
    if flight.locked.isEmpty { return }
    let written = flight.parts.filter(\.isWritten).map(\.store.index)
    for object in flight.locked
    where object.context === self && !object.isMarkedInserted && !object.state.contains(.locked)
      && !written.contains(object.home.storeIndex)
    {
      object.state.lock()
      changes.locked.append(object)
    }
  }

  /// What a child had saved, and was not saved further, is a change of this context again: of its own where the record was edited since, above it.
  private func receiveAgain(_ flown: StratumRow) {
    guard let binding = coordinator.binding(flown.bound.storeIndex), let object = knownObject(of: flown)
    else {
      return
    }
    object.state.endFlyingDelete()
    guard object.state.isDisjoint(with: .ownChange) else {
      object.claim(beneath: flown, from: binding)
      unpublished.objects.append(object)
      return
    }
    object.state.endReceived()
    guard let row = strata.row(flown.table, flown.primaryKey) else {
      // Children have inserted and deleted it.
      return letGo(object, rowIsGone: true)
    }
    object.take(row, isOwn: true)
  }

  private func putBack(_ entry: SaveFlight.Entry) {
    let object = entry.object
    guard object.context === self, object.primaryKey == entry.primaryKey else { return }
    object.state.comeBack()
    object.relations?.comeBack()
    switch entry.kind {
    case .insert:
      if object.state.contains(.deleted) {
        changes.undelete(object)
        changes.unupdate(object)
        if !strata.publishes { withdraw(object) }
        letGo(object, rowIsGone: true)
        return
      }
      changes.unupdate(object)
      changes.adopt(object, as: .insert)
    case .update:
      if object.state.contains(.deleted) {
        // It counts as edited when it stays after all.
        changes.update(object)
      } else if !object.state.contains(.updated) {
        changes.adopt(object, as: .update)
      }
    case .delete:
      if !object.state.contains(.deleted) { changes.adopt(object, as: .delete) }
      if let draft = object.draft, !draft.isSilent { changes.update(object) }
    }
  }
}

extension ManagedObject {
  /// Whether a row that was written of the object, whose changes lay over `base`, is newer than the one it has.
  final func isBehind(_ written: RowSnapshot, from base: RowSnapshot?) -> Bool {
    guard let snapshot else { return true }
    return snapshot.base == base?.base || snapshot.version <= written.version
  }

  /// Values and references that are as a save without stopping has written them were not edited since. A row that is newer than the one that was written lies beneath.
  final func dropSavedEdits(of entry: SaveFlight.Entry) {
    guard let saved = entry.draft else { return }
    let draft = editableDraft()
    saved.changed.forEach { slot in
      guard draft.isChanged(slot), Self.isSame(draft[slot], saved[slot]) else { return }
      if let relationship = home.entity.relationship(slot: slot) { withdrawReference(relationship) }
      draft.clear(slot)
    }
  }

  /// The draft is being saved, or children may see it, and the object is edited: from now on it has a draft of its own.
  final func thawedDraft(_ frozen: RowDraft) -> RowDraft {
    state.thawDraft()
    let copy = frozen.copy(home.layout)
    copy.eventChanged = frozen.eventChanged
    let isSlow = edits == nil
    draft = copy
    if isSlow { edits = nil }
    return copy
  }

  /// Large values that are in no store are kept with the object.
  final func keep(_ values: [ExternalValue]) {
    for value in values {
      guard let found = RowBytes.externalValue(value.bytes, kind: home.layout.kind(of: value.slot)) else {
        continue
      }
      transients = (transients ?? [:]).merging([~value.slot: found]) { $1 }
    }
  }
}
