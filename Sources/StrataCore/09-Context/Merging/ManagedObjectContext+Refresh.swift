import Foundation

extension ManagedObjectContext {
  /// Reads the newest row of `object`, or makes it a fault that does; in a context that is pinned to a query generation the row of that generation.
  ///
  /// A new object has no row and stays new: its edits stay when they are to be merged, otherwise it becomes a fault with the values it
  /// was made with.
  ///
  /// - Parameters:
  ///   - object: An object of this context.
  ///   - mergeChanges: true reads the newest row and keeps the object's edits on top of it (rule 60); false drops edits and transient
  ///     values and makes the object a fault, which reads the newest row when it is next used (rule 59).
  public func refresh(_ object: ManagedObject, mergeChanges: Bool) {
    checkAccess(object.home.token.entityName)
    drainReceived()
    guard object.context === self else { return }
    if object.isMarkedInserted {
      if !mergeChanges { refreshNew(object) }
      return
    }
    if object.state.contains(.inFlight), !mergeChanges {
      if object.state.contains(.deleted) { takeBackDeletion(of: object) }
      knowingLeavers(after: object) {
        object.discardEdits(takingRow: object.snapshot)
        object.adoptLostMembers()
        changes.note(object, .refresh)
      }
      hideDeletedEnds(of: object)
      return
    }
    if mergeChanges {
      object.claim()
      refreshKeepingChanges(object)
    } else {
      if !failures.unfinished.isEmpty { failures.unfinished.removeAll { $0.object === object } }
      let wasDeleted = object.state.contains(.deleted)
      knowingLeavers(after: object) {
        changes.undelete(object)
        changes.unupdate(object)
        // Whether there is a row, the fault will find out.
        object.state.refresh()
        if strata.holdsEdits { forgetUnsaved(object) }
        object.noteWhetherStored()
        object.withdrawDeletion(fromMembers: wasDeleted)
      }
      object.turnIntoFault()
      knowingLeavers(after: object) { changes.note(object, .refresh) }
      hideDeletedEnds(of: object)
    }
  }

  /// The object's row may name what is deleted here, which it has left for that reason only: that edit is dropped, and the deletion stays.
  private func hideDeletedEnds(of object: ManagedObject) {
    if changes.deletedCount == 0 { return }
    for relationship in object.home.entity.relationships where !relationship.isToMany {
      deletions.linked.insert(relationship.destinationHierarchy)
    }
  }

  /// What has been set on a new object goes, and with it what that did to others.
  private func refreshNew(_ object: ManagedObject) {
    object.claim()
    // What a save under way writes is not taken back.
    guard object.state.contains(.inserted) else { return }
    willChange(object)
    object.becomeNewFault()
    failures.unfinished.removeAll { $0.object === object }
    changes.countEdit()
    changes.note(object, .refresh)
    noteFirstEdit()
  }

  /// Refreshes every object in the context and keeps all edits, those that children have saved as well: unchanged objects become faults
  /// (rules 62, 63).
  public func refreshAllObjects() {
    checkAccess()
    tellChanges()
    forgetAllMembers()
    claimOutdated()
    var objects: [ManagedObject] = []
    stores.forEachLive { objects.append($0) }
    let live = Set(objects.map(ObjectIdentifier.init))
    // Those that are not held at this moment may be kept again by an owner whose members are asked for: not with an old row.
    stores.forEach { if !live.contains(ObjectIdentifier($0)) { $0.forgetRow() } }
    for object in objects where !object.isMarkedInserted {
      if object.isMarkedChanged || object.state.contains(.inFlight) {
        refreshKeepingChanges(object)
      } else {
        object.turnIntoFault()
        changes.note(object, .refresh)
      }
    }
    if observation.isObserved { observation.pending.isAllRefreshed = true }
    tellChanges()
  }

  /// What children have saved lies over the rows that were there at that time. Where there are newer ones, it becomes edits of objects, which
  /// are refreshed.
  private func claimOutdated() {
    if strata.isEmpty { return }
    for change in receivedRows(in: strata.top) where change.kind != .insert && isOutdated(change) {
      object(for: change, isOwn: true)?.claim()
    }
  }

  /// Whether there is a newer row beneath a change, or one that cannot be read now.
  private func isOutdated(_ change: StratumRow) -> Bool {
    do {
      // What becomes of a change whose row is gone, the save finds out.
      guard let found = try rowBeneath(change) else { return false }
      if found.isStored, change.isBaseStored { return found.row.version != change.base?.version }
      return change.base.map { !change.isSame($0, found.row) } ?? true
    } catch {
      return true
    }
  }

  /// The newest row comes under the object's edits; an object that was deleted only because its row was gone is none any more when there is one
  /// again. A row that is gone leaves the object as it is: its save will tell. So does one that cannot be read, which is reported.
  func refreshKeepingChanges(_ object: ManagedObject) {
    object.relations?.expireBases()
    if object.isFault, !object.state.contains(.rowGone) {
      object.snapshot = nil
      // Its observers know what it has shown.
      if object.state.contains(.observed) { changes.note(object, .refresh) }
      // Children see its edits over the row of before.
      if !object.state.isDisjoint(with: .ownChange) { unpublished.objects.append(object) }
      return
    }
    if object.state.contains(.inFlight) { return }
    let old = object.snapshot
    object.dropSettledEdits()
    switch object.loadRow() {
    case .found: break
    case .gone: return
    case .unreadable(let error): return report(error, reading: object)
    }
    // It was gone, and is there again.
    if object.state.contains(.rowGone) { bringBack(object) }
    if let old, object.isMarkedUpdated || object.isMarkedDeleted { object.leaveOwnersOfOthers(since: old) }
    object.settleFastRow()
    changes.note(object, .refresh)
    object.awake(fromSnapshotEvents: .refresh)
  }

  /// Forgets every object and every change, and what could be undone. Objects still held belong to no context and are faults, which show their
  /// last values, but for transient ones (rules 18, 71).
  public func reset() {
    checkAccess()
    strata.dropCaptured()
    saving.flight?.isForgotten = true
    saving.mergedMeanwhile = []
    let gone = newRecordsForOthers()
    var identifiers: [ManagedObjectID] = []
    stores.forEachLive { identifiers.append($0.objectID) }
    stores.forEach { $0.becomeForgotten() }
    changes.forEachListed { $0.becomeForgotten() }
    for object in changes.takeNoted() {
      object.state.endDeparture()
      object.state.touch()
    }
    forgetPending()
    for (home, key) in gone { changes.noteGone(home, key) }
    deletions.stopPropagating()
    failures.unfinished = []
    duplicates.reset()
    event.prefetched = []
    event.looseReferrers = nil
    batchFaulting?.removeAll()
    stores.removeAll()
    forgetStrata()
    if parent == nil { generation.advance() }
    undoRecorder?.removeAll()
    letGoOfRemovedStores()
    observation.pending = ContextChange()
    if observation.isObserved { observation.pending.isEverythingInvalidated = true }
    post(Self.didChangeObjectsNotification, [NotificationKey.invalidatedAllObjects.rawValue: identifiers])
    tellObservers()
  }

  /// What is kept of stores that have been removed from the coordinator ends when the queue has done what it is doing.
  private func letGoOfRemovedStores() {
    let removed = RemovedStores(stores: stores.takeRemoved { coordinator.binding($0.index) === $0 })
    if !removed.stores.isEmpty { latest = LatestNew() }
    guard let queue = queue.queue else { return stores.retired = removed.stores }
    if removed.stores.isEmpty { return }
    Errand.hand(to: queue, isCounted: false, isForMainQueue: isOfMainQueue) {
      withExtendedLifetime(removed) {}
    }
  }

  /// Unchecked: they are used nowhere else.
  private struct RemovedStores: @unchecked Sendable { let stores: [RegisteredStores.Registered] }

  /// Nothing is pending any more: it is saved, or given up.
  func forgetPending() {
    changes.removeAllPending()
    deletions.forgetPending()
    saving.forgetPending()
  }

  /// Takes back everything since the last save: new objects go, deleted ones return, edited ones have their saved values
  /// (rules 19, 20). Needs no undo manager; one there is forgets everything (rule 237).
  public func rollback() {
    checkAccess()
    tellChanges()
    strata.dropCaptured()
    let gone = newRecordsForOthers()
    deletions.stopPropagating()
    let untied = changes.silentlyUntied
    for objects in [changes.inserted, changes.updated, changes.deleted, untied] {
      for object in objects { object.relations?.dropChanges() }
    }
    if !strata.isEmpty { forgetAllMembers() }
    var sets = ObjectSets()
    for object in untied where object.state.isDisjoint(with: .ownChange) { sets.refreshed.append(object) }
    for object in changes.inserted {
      changes.uninsert(object)
      letGo(object, rowIsGone: true)
      sets.deleted.append(object)
    }
    for object in changes.deleted {
      changes.undelete(object)
      if object.state.contains(.rowGone) {
        letGo(object)
      } else {
        revert(object)
        sets.inserted.append(object)
      }
    }
    for object in changes.updated {
      revert(object)
      sets.refreshed.append(object)
    }
    rollBackReceived(&sets)
    noteUnsavedRows()
    for object in changes.takeNoted() {
      object.state.endEvent()
      object.state.endDeparture()
    }
    forgetPending()
    // Children may lead something to what was new here.
    for (home, key) in gone { changes.noteGone(home, key) }
    failures.unfinished = []
    duplicates.forgetPending()
    if !strata.isEmpty { forgetAllMembers() }
    forgetStrata()
    undoRecorder?.removeAll()
    tellObserved(sets.deleted + sets.inserted + sets.refreshed, includingMembers: true)
    note(sets)
    if !sets.isEmpty { post(Self.didChangeObjectsNotification, sets.userInfo) }
    tellObservers()
  }

  private func revert(_ object: ManagedObject) {
    object.discardEdits(takingRow: object.snapshot)
    object.awake(fromSnapshotEvents: .rollback)
  }

  // MARK: For merge policies

  /// The row of an edited object is gone, and the object is to be written again under its old key (rule 199).
  ///
  /// - Parameter newestVersion: the row counts on from here, see `CommitConflict`.
  /// - Throws: why a value cannot be read; nothing has changed then.
  func reinsert(_ object: ManagedObject, newestVersion: UInt32) throws {
    if object.isMarkedDeleted {
      object.state.loseRow()
      return
    }
    try object.keepEveryValue()
    object.take(nil)
    saving.lostVersions[object.objectID] = newestVersion
    changes.reinsert(object)
    object.rejoinOwners()
  }

  /// An object that was to be written again finds that another context has done so: an edited object, as before.
  func unreinsert(_ object: ManagedObject) {
    saving.lostVersions[object.objectID] = nil
    changes.unreinsert(object)
  }

  /// The row of an object is gone, and so is the object (rule 199).
  func dropVanished(_ object: ManagedObject) {
    changes.undelete(object)
    changes.unupdate(object)
    object.state.unlock()
    object.withdrawMemberships()
    withdrawSaved(object)
    letGo(object, rowIsGone: true)
    changes.note(object, .delete)
  }

  /// Takes back the deletion of an object that is not saved. What delete rules have done meanwhile stays done, but that those that the object is
  /// related to have it back.
  package final func revive(_ object: ManagedObject) {
    checkAccess(object.home.token.entityName)
    guard object.context === self, object.isMarkedDeleted else { return }
    takeBackDeletion(of: object)
    knowingLeavers(after: object) {
      object.restoreMemberships()
      changes.note(object, .refresh)
    }
  }
}
