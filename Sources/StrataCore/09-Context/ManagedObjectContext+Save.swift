import Dispatch
import Foundation

extension ManagedObjectContext {
  /// Writes all unsaved changes to their stores, all or nothing per store, and returns when they are as durable as the
  /// store promises.
  ///
  /// Order (rules 125, 135): pending changes are processed → `willSave()` on changed objects until they rest → will-save
  /// notification → validation, all failures collected → the store's transaction; conflicting rows go to the merge policy,
  /// then it is tried again → `didSave()` → did-save notifications. A save with no changes posts its notifications with
  /// empty sets and writes nothing (rule 129).
  ///
  /// - Throws: `CoreDataError` for failed validation (1570, or 1560 with all failures in `NSDetailedErrorsKey`), for
  ///   unresolved conflicts (133020), violated uniqueness (133021) and read-only stores; `StorageError` for the disk and the
  ///   file; 134040 when several stores are concerned and only some could be written. The context keeps its changes.
  ///
  /// Traps inside a save of the same context: in `willSave()`, in observers of the will-save notification and of a did-change
  /// notification about what `willSave()` did, in validation and in merge policies. Observers of the did-change notification
  /// that begins a save, `didSave()` and observers of the did-save notifications may save.
  public func save() throws {
    checkAccess()
    if isSaving {
      trap(
        "save() was called inside a save of the same context (from willSave, an observer of the will-save notification, "
          + "validation or a merge policy); observers of the did-save notification may save.")
    }
    defer {
      isSaving = false
      encodingAhead = nil
    }
    flushAncestors()
    drainReceived()
    joinFlight()
    finishMergeBacklog()
    encodingAhead = startEncodingAhead()
    // Who hears of the changes may save them: then there is nothing left to do.
    tellChanges()
    encodingAhead?.wait()
    try prepareToSave()
    let outcome = try saveFrozen { try parent == nil ? writePendingChanges() : handToParent() }
    // It is done: who hears of it may save again.
    isSaving = false
    finish(outcome)
  }

  // MARK: Before the store

  /// What comes between the end of the event and the store: hooks, will-save, validation. `isSaving` is true afterwards.
  func prepareToSave() throws {
    if !untold.isEmpty { tellReceived(all: true) }
    settleDeletions()
    isSaving = true
    try runWillSave()
    postWillSave()
    settleDeletions()
    // What didSave() changes is undone by itself (rule 241).
    undoRecorder?.endEvent()
    try validatePendingChanges()
  }

  /// Calls `willSave()` on every changed object, again on those that changed meanwhile, until nothing changes any more.
  private func runWillSave() throws {
    var pending = changes.inserted
    if changes.updatedCount + changes.deletedCount > 0 { pending += changes.updated + changes.deleted }
    for _ in 0..<Self.mostWillSaveRounds {
      ManagedObject.forEach(pending) { $0.willSave() }
      // What the hooks changed, and what they inserted or deleted, gets another call (rule 138).
      pending = changes.noted
      if pending.isEmpty { return }
      tellChanges()
    }
    throw CoreDataError(
      .coreData,
      "willSave() of \(pending.first?.home.token.entityName ?? "an object") changes its object every time it is "
        + "called; \(Self.mostWillSaveRounds) rounds were made. Change a property there only when its value differs."
    )
  }

  private static let mostWillSaveRounds = 100

  /// Validates every changed object, collecting all failures (rules 136, 144).
  func validatePendingChanges() throws {
    var failures: [any Error] = []
    func collect(_ validate: () throws -> Void) {
      do { try validate() } catch let error as CoreDataError where error.code == .validationMultipleErrors {
        failures.append(
          contentsOf: error.userInfo[CoreDataError.Key.detailedErrors] as? [any Error] ?? [error])
      } catch { failures.append(error) }
    }
    ManagedObject.forEach(changes.inserted) { object in collect { try object.validateForInsert() } }
    ManagedObject.forEach(changes.updated) { object in collect { try object.validateForUpdate() } }
    for object in changes.deleted where !object.state.contains(.rowGone) { collect(object.validateForDelete) }
    switch failures.count {
    case 0: return
    case 1: throw failures[0]
    default:
      throw CoreDataError(.validationMultipleErrors, userInfo: [CoreDataError.Key.detailedErrors: failures])
    }
  }

  // MARK: The store

  /// What a save did, for those who finish it and hear of it.
  struct SaveOutcome {
    var inserted: [ManagedObject] = []
    var updated: [ManagedObject] = []
    var deleted: [ManagedObject] = []
    var notices: [CommitNotice] = []
    /// What children had saved before, with the rows as they are saved now.
    var received: [(unsaved: StratumRow, row: RowSnapshot?)] = []
    /// What the did-save notifications carry, when it could be made while the store was writing.
    var sets: DidSaveSets?
  }

  /// Encodes and commits, store by store; lets the merge policy settle conflicts and tries again.
  private func writePendingChanges() throws -> SaveOutcome {
    var written: [Int: PendingSave] = [:]
    var outcome = SaveOutcome()
    forgetObjectsOfRemovedStores()
    for _ in 0..<Self.mostAttempts {
      var conflicts: [MergeConflict] = []
      var isRefused = false
      for save in try makePendingSaves(except: Set(written.keys)) {
        do {
          if !save.changes.isEmpty || save.hasMetadata {
            outcome.sets = nil
            outcome.notices.append(try commit(save, &outcome))
          }
          written[save.store.index] = save
        } catch let conflict as CommitConflict {
          isRefused = true
          conflicts.append(contentsOf: makeMergeConflicts(conflict, in: save.store))
        } catch let dangling as DanglingReferences {
          isRefused = true
          do {
            try resolve(dangling, in: save.store)
          } catch {
            throw written.isEmpty ? error : incomplete(error, having: written)
          }
        } catch {
          throw describe(error, of: save, having: written)
        }
      }
      if !isRefused {
        for save in written.values.sorted(by: { $0.store.index < $1.store.index }) {
          save.adopt(into: &outcome)
        }
        if written.count > 1 || !outcome.received.isEmpty { outcome.sets = nil }
        return outcome
      }
      do {
        if !conflicts.isEmpty { try mergePolicy.resolve(mergeConflicts: conflicts) }
      } catch {
        throw written.isEmpty ? error : incomplete(error, having: written)
      }
    }
    throw CoreDataError(
      .persistentStoreSaveConflicts,
      "Other writers changed the same rows \(Self.mostAttempts) times while this save was being merged.")
  }

  private func commit(_ save: PendingSave, _ outcome: inout SaveOutcome) throws -> CommitNotice {
    do {
      return try persistentStoreCoordinator.commit(
        save.changes, to: save.store, origin: ObjectIdentifier(self)
      ) {
        // This thread has nothing to do while the store writes, and nearly every save has one store.
        // What was inserted or taken back since the last event, by observers of the will-save notification, has been noted.
        if outcome.notices.isEmpty {
          outcome.sets = save.didSaveSets(known: changes.hasNoted ? nil : lastInserted)
        }
        save.adoptEarly()
      }
    } catch {
      save.takeBack()
      throw error
    }
  }

  static let mostAttempts = 100

  /// Objects found inaccessible whose store has been removed have nothing left to save (rule 48).
  func forgetObjectsOfRemovedStores() {
    for object in changes.deleted
    where object.state.contains(.rowGone) && persistentStoreCoordinator.binding(object.home.storeIndex) == nil
    {
      changes.undelete(object)
      changes.unupdate(object)
      letGo(object)
    }
  }

  func makeMergeConflicts(_ error: CommitConflict, in binding: StoreBinding) -> [MergeConflict] {
    let tables = stores.tables(for: binding).tables
    return error.conflicts.compactMap { row in
      guard let object = objectInConflict(row, binding, tables[row.hierarchy]) else { return nil }
      if row.stored == nil, object.isDeleted {
        // Both sides deleted the row: no conflict, nothing left to write.
        object.state.insert(.rowGone)
        return nil
      }
      return MergeConflict(object, stored: row.stored?.snapshot, newestVersion: error.newestVersion)
    }
  }

  /// The error a caller sees for a store's refusal.
  private func describe(_ error: any Error, of save: PendingSave, having written: [Int: PendingSave])
    -> any Error
  {
    var error = error
    if let violation = error as? UniquenessViolation { error = describe(violation, in: save.store) }
    return written.isEmpty ? error : incomplete(error, having: written)
  }

  func describe(_ violation: UniquenessViolation, in binding: StoreBinding) -> CoreDataError {
    let tables = stores.tables(for: binding).tables
    let objects = violation.violations.compactMap { found in
      tables[schema.entities[found.entity].hierarchyNumber].object(for: found.primaryKey)
    }
    return CoreDataError(
      .managedObjectConstraintMerge, "Uniqueness constraints are violated, nothing was saved: \(violation)",
      userInfo: [CoreDataError.Key.affectedObjects: objects, NSUnderlyingErrorKey: violation])
  }

  /// Some stores have been written, one refused (rule 145). What is written stays written and is adopted.
  private func incomplete(_ error: any Error, having written: [Int: PendingSave]) -> CoreDataError {
    var outcome = SaveOutcome()
    for save in written.values { save.adopt(into: &outcome) }
    settledRows = outcome.received.map(\.unsaved)
    changes.forgetSaved(outcome.inserted + outcome.updated + outcome.deleted)
    for object in outcome.deleted { letGo(object, of: .rowGone) }
    return CoreDataError(
      .persistentStoreIncompleteSave, "Only some of the stores could be saved: \(error)",
      userInfo: [NSUnderlyingErrorKey: error])
  }

  // MARK: After the store

  private func finish(_ outcome: SaveOutcome) {
    var outcome = outcome
    if parent == nil { generation.advance() }
    settleReceived(&outcome)
    undoRecorder?.noteSave()
    changes.removeAllPending()
    lostVersions = [:]
    lastInserted = nil
    for object in outcome.deleted { letGo(object, of: .rowGone) }
    if !outcome.notices.isEmpty { statistics.saves += 1 }
    ManagedObject.forEach(outcome.inserted) { $0.didSave() }
    ManagedObject.forEach(outcome.updated) { $0.didSave() }
    ManagedObject.forEach(outcome.deleted) { $0.didSave() }
    postDidSave(outcome)
    if !outcome.notices.isEmpty { children.tell(outcome.notices) }
  }
}
