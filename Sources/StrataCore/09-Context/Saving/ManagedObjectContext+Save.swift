import Dispatch
import Foundation

extension ManagedObjectContext {
  /// What `save()` does, with the library's own errors.
  func saveChanges() throws {
    if Watching.concerns(.saves) { try saveWatched() } else { try runSave() }
  }

  /// Saves for a module that adds a will-save notification of its own, and lists what was saved in its did-save notification.
  ///
  /// - Parameter prepare: Called when the changes have been told, and nothing else has been done: what it changes is saved as well. A save inside of it throws 132001.
  /// - Returns: What was saved. Observers of the did-save notifications may have deleted some of it since.
  /// - Throws: As `save()`, the library's own errors.
  package final func saveListing(preparedBy prepare: @escaping () -> Void) throws -> SavedObjects {
    // Observers of the did-save notifications may save as well.
    let outer = saving.listing
    saving.listing = SavingState.Listing(prepare: prepare)
    defer { saving.listing = outer }
    try saveChanges()
    return saving.listing?.saved ?? SavedObjects()
  }

  /// Whether hooks or observers of a save run.
  package final var isSaving: Bool { saving.isRunning }

  func runSave() throws {
    checkAccess()
    if saving.isRunning {
      throw CoreDataError(
        .recursiveSave,
        "save() was called inside a save of the same context (from willSave, an observer of the will-save notification, "
          + "validation or a merge policy); observers of the did-save notification may save.")
    }
    saving.announce()
    defer { saving.end() }
    let outcome: SaveOutcome
    do {
      outcome = try write()
    } catch {
      // What was not saved is finished all the same.
      saving.stopWriting()
      flushEdits()
      assertInvariants()
      let written = saving.takeWritten()
      if !written.isEmpty { tellChildren(written) }
      throw error
    }
    // It is done: an observer may save again.
    saving.end()
    finish(outcome)
  }

  private func write() throws -> SaveOutcome {
    settleProvisional()
    flushAncestors()
    drainReceived()
    joinFlight()
    finishMergeBacklog()
    if let ahead = startEncodingAhead() { saving.encodingAhead = ahead }
    // An observer of the changes may save them: then there is nothing left to do.
    tellChanges()
    saving.encodingAhead?.wait()
    if let prepare = saving.listing?.takePrepare() {
      // What has been edited is one group of undo, what `prepare` edits another.
      undoRecorder?.endEvent()
      saving.begin()
      prepare()
    }
    try throwingFailures { try prepareToSave() }
    let outcome = try saveFrozen { try parent == nil ? writePendingChanges() : handToParent() }
    saving.listing?.noteInserted(outcome)
    if parent != nil { saving.watch?.note(handedOver: outcome) }
    return outcome
  }

  // MARK: Before the store

  /// What comes between the end of the event and the store: hooks, will-save, validation. `saving.isRunning` afterwards.
  func prepareToSave() throws {
    if duplicates.hasFates { duplicates.limitFates() }
    if !untold.isEmpty { tellReceived(all: true) }
    try finishEdits()
    settleDeletions()
    clearReferencesToWithdrawn()
    saving.begin()
    try runWillSave()
    postWillSave()
    settleDeletions()
    clearReferencesToWithdrawn()
    // What didSave() changes is undone by itself (rule 241).
    defer { undoRecorder?.endEvent() }
    try validatePendingChanges()
    try finishEdits()
  }

  /// Calls `willSave()` on every changed object, again on those that changed meanwhile, until nothing changes any more.
  private func runWillSave() throws {
    var pending = changes.inserted
    if changes.updatedCount > 0 {
      if pending.isEmpty { pending = changes.updated } else { pending += changes.updated }
    }
    if changes.deletedCount > 0 { pending += changes.deleted }
    try runWillSave(on: pending)
  }

  /// Calls `willSave()` on `objects`, and on those that change meanwhile, until nothing changes any more; returns the latter.
  @discardableResult
  func runWillSave(on objects: [ManagedObject]) throws -> [ManagedObject] {
    var pending = objects
    var changed: [ManagedObject] = []
    for _ in 0..<Self.mostWillSaveRounds {
      ManagedObject.forEach(pending) { $0.willSave() }
      // What the hooks changed, and what they inserted or deleted, gets another call (rule 138).
      pending = changes.noted
      if pending.isEmpty { return changed }
      changed += pending
      tellChanges()
    }
    throw CoreDataError(
      .coreData,
      "willSave() of \(pending.first?.home.token.entityName ?? "an object") changes its object every time it is "
        + "called; \(Self.mostWillSaveRounds) rounds were made. Change a property there only when its value differs."
    )
  }

  private static let mostWillSaveRounds = 100

  // MARK: The store

  /// What a save did, for finishing and reporting it.
  struct SaveOutcome {
    var inserted: [ManagedObject] = []
    var updated: [ManagedObject] = []
    var deleted: [ManagedObject] = []
    var notices: [CommitNotice] = []
    /// What was told of stores that had nothing to write.
    var resaved: [CommitNotice] = []
    /// The IDs of the new objects of stores that were listed while they wrote.
    var insertedIDs: [ManagedObjectID] = []
    /// What children had saved before, with the rows as they are saved now.
    var received: [(unsaved: StratumRow, row: RowSnapshot?)] = []
    /// Those of them that the parent has deleted, and dropped.
    var dropped: [StratumRow] = []
    /// What the did-save notifications carry, when it could be made while the store was writing.
    var sets: DidSaveSets?

    /// What earlier attempts of the save have written, which is among the rest.
    var earlier = EarlierAttempts()

    var isEmpty: Bool { inserted.isEmpty && updated.isEmpty && deleted.isEmpty && notices.isEmpty }

    /// The deleted objects that have not left the context.
    var deletedLast: [ManagedObject] {
      earlier.deletedCount == 0 ? deleted : Array(deleted.dropFirst(earlier.deletedCount))
    }

    /// What several attempts have written of an object is told once, as what has come of it in the end.
    mutating func nameEachOnce() {
      // Hooks may have inserted some again, as new records that are saved as well. Those that are not saved yet stay deleted.
      let new = Set(inserted)
      let gone = deleted.prefix(earlier.deletedCount).filter { $0.context == nil || !new.contains($0) }
      deleted = gone + deletedLast
      earlier.deletedCount = gone.count
      var seen = Set(deleted)
      inserted = inserted.filter { seen.insert($0).inserted }
      updated = updated.filter { seen.insert($0).inserted }
    }
  }

  /// What stores have written of a save before another store has refused.
  struct EarlierAttempts {
    var stores: Set<Int> = []
    /// How many of the deleted objects, the first ones, have left the context.
    var deletedCount = 0
    /// How many of the notices, the first ones, have brought what the stores have derived.
    var noticeCount = 0
  }

  /// What a save that failed as a whole has written all the same.
  struct SettledRows {
    /// Of this context's own changes.
    var own: [StratumLayer.Place] = []
    /// What children had saved before, with the rows as they are saved now.
    var received: [(unsaved: StratumRow, row: RowSnapshot?)] = []
  }

  /// Encodes and commits, store by store; lets the merge policy settle conflicts and tries again.
  private func writePendingChanges() throws -> SaveOutcome {
    var outcome = SaveOutcome()
    saving.unsettled = [:]
    forgetObjectsOfRemovedStores()
    do {
      for attempt in 0..<Self.mostAttempts {
        // What was settled has become an edit of this context's own.
        if attempt > 0, !saving.frozenRows.isEmpty { saving.frozenRows.removeAll(where: isOwnEdit) }
        guard let conflicts = try writeOnce(&outcome) else {
          _ = saving.takeSettled()
          if !outcome.earlier.stores.isEmpty { outcome.nameEachOnce() }
          return outcome
        }
        try throwingFailures {
          try settle(conflicts)
          // What the policy has deleted.
          settleDeletions()
          try finishEdits()
        }
      }
      throw conflictsGoOn
    } catch {
      // Some stores have been written, one refused (rule 145). What is written stays written and is adopted.
      guard outcome.notices.contains(where: \.hasWritten) else { throw error }
      saving.written = outcome.notices
      throw CoreDataError.incompleteSave(error)
    }
  }

  /// Writes what is pending, until a store refuses; returns what the merge policy is to be asked then, else nil.
  private func writeOnce(_ outcome: inout SaveOutcome) throws -> [Any]? {
    outcome.sets = nil
    let saves = try throwingFailures { try makePendingSaves(beside: outcome.earlier.stores) }
    var written: [PendingSave] = []
    var isHandedOver = false
    for save in saves { strata.noteRowsLeft(by: save.changes, in: save.store) }
    for save in saves where save.concernsStore {
      do {
        outcome.sets = nil
        if !isHandedOver { saving.watch?.attempts += 1 }
        isHandedOver = true
        let notice = try commit(save, &outcome)
        save.notice = notice
        outcome.notices.append(notice)
        saving.noteOwn(notice)
        if notice.hasWritten { written.append(save) }
      } catch {
        // What the merge policy, hooks and validation change of it from now on is to be saved as well.
        adopt(written, into: &outcome)
        guard let refusal = SaveRefusal(error) else { throw error }
        // Perhaps the policy refuses: then as little as possible has been written (rule 136).
        return try throwingFailures { try self.conflicts(of: refusal, in: save.store) }
      }
    }
    for save in saves { save.adopt(into: &outcome) }
    let origin = ObjectIdentifier(self)
    // What a store was handed has been told with it.
    for save in saves where save.notice == nil {
      if let told = coordinator.tell(resaved: save.changes.resaved, in: save.store, origin: origin) {
        outcome.resaved.append(told)
      }
    }
    if saves.count > 1 || !outcome.received.isEmpty || !outcome.earlier.stores.isEmpty { outcome.sets = nil }
    return nil
  }

  /// These stores have been written, and another has refused: the objects show what is written as saved, and what is changed from now on is pending.
  private func adopt(_ written: [PendingSave], into outcome: inout SaveOutcome) {
    if written.isEmpty { return }
    var part = SaveOutcome()
    for save in written {
      save.adopt(into: &part)
      saving.unsettled[save.store.index] = nil
      outcome.earlier.stores.insert(save.store.index)
    }
    let own = part.inserted + part.updated + part.deleted
    saving.settled.own += own.map(\.place)
    // What was published of their edits goes as well.
    unpublished.objects += own
    if !saving.lostVersions.isEmpty {
      for object in part.inserted { saving.lostVersions[object.objectID] = nil }
    }
    saving.lastInserted = nil
    undoRecorder?.noteSave(ofEverything: false)
    changes.forgetSaved(own)
    generation.advance()
    settleWritten(own, into: &part)
    let notices = written.compactMap(\.notice)
    for notice in notices where notice.hasMoreThanWasSaid { takeDerived(notice) }
    letGo(deleted: part.deleted)
    forgetMembers(left: notices)
    outcome.inserted += part.inserted
    outcome.updated += part.updated
    outcome.deleted += part.deleted
    outcome.insertedIDs += part.insertedIDs
    outcome.earlier.deletedCount = outcome.deleted.count
    outcome.earlier.noticeCount = outcome.notices.count
  }

  private func commit(_ save: PendingSave, _ outcome: inout SaveOutcome) throws -> CommitNotice {
    statistics.saveAttempts += 1
    let start = ContinuousClock.now
    do {
      save.changes.origin = changeOrigin
      let notice = try strata.knowing(save.changes.updates, in: save.store) {
        try coordinator.commit(
          save.changes, to: save.store, origin: ObjectIdentifier(self), for: self
        ) {
          // This thread has nothing to do while the store writes, and nearly every save has one store.
          // What was inserted or taken back since the last event, by observers of the will-save notification, has been noted.
          if outcome.notices.isEmpty {
            outcome.sets = save.didSaveSets(known: changes.hasNoted ? nil : saving.lastInserted)
          }
          if saving.listing != nil { save.listInserted() }
          save.adoptEarly()
        }
      }
      noteTime(since: start, of: save.changes, failed: false)
      saving.watch?.note(notice, save.store)
      return notice
    } catch {
      noteTime(since: start, of: save.changes, failed: true)
      saving.watch?.timeInStore += ContinuousClock.now - start
      save.takeBack()
      throw error
    }
  }

  /// Objects found inaccessible whose store has been removed have nothing left to save (rule 48).
  func forgetObjectsOfRemovedStores() {
    for object in changes.deleted
    where object.state.contains(.rowGone) && coordinator.binding(object.home.storeIndex) == nil {
      changes.undelete(object)
      changes.unupdate(object)
      letGo(object)
    }
  }

  // MARK: After the store

  private func finish(_ outcome: consuming SaveOutcome) {
    if parent == nil { generation.advance() }
    settleReceived(&outcome)
    for notice in outcome.notices.dropFirst(outcome.earlier.noticeCount) where notice.hasMoreThanWasSaid {
      takeDerived(notice)
    }
    undoRecorder?.noteSave()
    forgetPending()
    letGo(deleted: outcome.deletedLast)
    forgetMembers(left: outcome.notices)
    if !outcome.notices.isEmpty { statistics.saves += 1 }
    assertInvariants()
    let merged = tellMerged()
    saving.listing?.end(outcome, merged: merged)
    let isAfterMerging = duplicates.hasFates
    if isAfterMerging { ThreadScope.current.beginSettling(self) }
    defer { if isAfterMerging { ThreadScope.current.endSettling() } }
    callDidSave(
      ToldSave(
        context: self, inserted: outcome.inserted, updated: outcome.updated, deleted: outcome.deleted))
    postDidSave(outcome)
    tellChildren(outcome.resaved.isEmpty ? outcome.notices : outcome.notices + outcome.resaved)
    // Objects that were not saved, and show other derived values now.
    if outcome.notices.contains(where: \.hasMoreThanWasSaid) || !observation.pending.isEmpty { tellChanges() }
  }
}

/// What a save has written, for a module that lists it.
package struct SavedObjects {
  /// The IDs of new objects: first of those that the context has inserted itself, store by store, each in the order of the insertions, then of those that children had.
  package var inserted: [ManagedObjectID] = []
  /// Objects that were there and were edited: here, by children, or by a merge policy. Of some no row was written, as their values are what they were.
  package var updated: [ManagedObject] = []
  /// The IDs of deleted objects, with those that a merge policy has deleted.
  package var deleted: [ManagedObjectID] = []
  /// Of whoever follows duplicates: what new objects were merged into. They are among the others when the save has written them.
  package var merged: [ManagedObject] = []
}
