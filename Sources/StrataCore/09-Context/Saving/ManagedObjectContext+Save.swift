import Dispatch
import Foundation

extension ManagedObjectContext {
  /// What `save()` does, with the library's own errors.
  func saveChanges() throws {
    if Watching.concerns(.saves) { try saveWatched() } else { try runSave() }
  }

  /// Saves for a module that adds a will-save notification of its own, and lists what is new in its did-save notification.
  ///
  /// - Parameter prepare: Called when the changes have been told, and nothing else has been done: what it changes is saved as well. A save inside of it throws 132001.
  /// - Returns: The IDs of the objects that this context has inserted and saved: store by store, each in the order of the insertions. Observers of the did-save
  ///   notifications may have deleted some since.
  /// - Throws: As `save()`, the library's own errors.
  package final func saveListing(preparedBy prepare: @escaping () -> Void) throws -> [ManagedObjectID] {
    // Observers of the did-save notifications may save as well.
    let outer = saving.listing
    saving.listing = SavingState.Listing(prepare: prepare)
    defer { saving.listing = outer }
    try saveChanges()
    return saving.listing?.saved ?? []
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
    saving.listing?.end(outcome)
    if parent != nil { saving.watch?.note(handedOver: outcome) }
    return outcome
  }

  // MARK: Before the store

  /// What comes between the end of the event and the store: hooks, will-save, validation. `saving.isRunning` afterwards.
  func prepareToSave() throws {
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
    if changes.updatedCount + changes.deletedCount > 0 { pending += changes.updated + changes.deleted }
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
    /// The IDs of the new objects of stores that were listed while they wrote.
    var insertedIDs: [ManagedObjectID] = []
    /// What children had saved before, with the rows as they are saved now.
    var received: [(unsaved: StratumRow, row: RowSnapshot?)] = []
    /// What the did-save notifications carry, when it could be made while the store was writing.
    var sets: DidSaveSets?

    var isEmpty: Bool { inserted.isEmpty && updated.isEmpty && deleted.isEmpty && notices.isEmpty }
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
    var written: [Int: PendingSave] = [:]
    var outcome = SaveOutcome()
    saving.unsettled = [:]
    forgetObjectsOfRemovedStores()
    do {
      for attempt in 0..<Self.mostAttempts {
        // What was settled has become an edit of this context's own.
        if attempt > 0, !saving.frozenRows.isEmpty { saving.frozenRows.removeAll(where: isOwnEdit) }
        guard let conflicts = try writeOnce(&written, &outcome) else {
          for save in written.values.sorted(by: { $0.store.index < $1.store.index }) {
            save.adopt(into: &outcome)
          }
          if written.count > 1 || !outcome.received.isEmpty { outcome.sets = nil }
          return outcome
        }
        try throwingFailures {
          try settle(conflicts)
          try finishEdits()
        }
      }
      throw conflictsGoOn
    } catch {
      throw written.isEmpty ? error : incomplete(error, having: written)
    }
  }

  /// Writes to the stores that have not been written; returns what the merge policy is to be asked when one refuses, else nil.
  private func writeOnce(_ written: inout [Int: PendingSave], _ outcome: inout SaveOutcome) throws -> [Any]? {
    var conflicts: [Any] = []
    var isRefused = false
    var isHandedOver = false
    outcome.sets = nil
    for save in try throwingFailures({ try makePendingSaves(except: Set(written.keys)) }) {
      do {
        if !save.changes.isEmpty || save.hasMetadata {
          outcome.sets = nil
          if !isHandedOver { saving.watch?.attempts += 1 }
          isHandedOver = true
          let notice = try commit(save, &outcome)
          save.notice = notice
          outcome.notices.append(notice)
        }
        written[save.store.index] = save
      } catch {
        guard let refusal = SaveRefusal(error) else { throw error }
        isRefused = true
        conflicts += try throwingFailures { try self.conflicts(of: refusal, in: save.store) }
        // Perhaps the policy refuses: then as little as possible has been written (rule 136).
        if case .violation = refusal { break }
      }
    }
    return isRefused ? conflicts : nil
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

  /// Some stores have been written, one refused (rule 145). What is written stays written and is adopted.
  private func incomplete(_ error: any Error, having written: [Int: PendingSave]) -> CoreDataError {
    var outcome = SaveOutcome()
    for save in written.values {
      save.adopt(into: &outcome)
      if let notice = save.notice { takeDerived(notice) }
    }
    saving.settled.received = outcome.received
    saving.settled.own = (outcome.inserted + outcome.updated + outcome.deleted).map(\.place)
    // What was published of their edits goes as well.
    unpublished.objects += outcome.inserted + outcome.updated + outcome.deleted
    changes.forgetSaved(outcome.inserted + outcome.updated + outcome.deleted)
    for object in outcome.deleted { letGo(object, rowIsGone: true) }
    return .incompleteSave(error)
  }

  // MARK: After the store

  private func finish(_ outcome: SaveOutcome) {
    var outcome = outcome
    if parent == nil { generation.advance() }
    settleReceived(&outcome)
    for notice in outcome.notices where notice.hasMoreThanWasSaid { takeDerived(notice) }
    undoRecorder?.noteSave()
    forgetPending()
    letGo(deleted: outcome.deleted)
    forgetMembers(left: outcome.notices)
    if !outcome.notices.isEmpty { statistics.saves += 1 }
    assertInvariants()
    ManagedObject.forEach(outcome.inserted) { $0.didSave() }
    ManagedObject.forEach(outcome.updated) { $0.didSave() }
    ManagedObject.forEach(outcome.deleted) { $0.didSave() }
    postDidSave(outcome)
    tellChildren(outcome.notices)
    // Objects that were not saved, and show other derived values now.
    if outcome.notices.contains(where: \.hasMoreThanWasSaid) || !observation.pending.isEmpty { tellChanges() }
  }
}
