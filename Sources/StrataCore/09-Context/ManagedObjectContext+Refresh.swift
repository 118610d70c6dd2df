import Foundation

extension ManagedObjectContext {
  /// Brings `object` in line with its store.
  ///
  /// - Parameter mergeChanges: true reads the newest row and keeps the object's edits on top of it (rule 60); false drops
  ///   edits and transient values and makes the object a fault, which reads the newest row when it is next used (rule 59).
  ///   A new object has no row: its edits stay in both cases.
  public func refresh(_ object: ManagedObject, mergeChanges: Bool) {
    checkAccess(object.home.token.entityName)
    drainReceived()
    guard object.context === self, !object.isInserted else { return }
    if object.state.contains(.inFlight), !mergeChanges {
      changes.undelete(object)
      object.discardEdits(takingRow: nil)
      changes.note(object, .notedRefresh)
      return
    }
    if mergeChanges {
      object.claim()
      refreshKeepingChanges(object)
    } else {
      changes.undelete(object)
      changes.unupdate(object)
      // Whether there is a row, the fault will find out.
      object.state.subtract([.notedUpdate, .notedDelete, .rowGone, .receivedUpdate, .receivedDelete])
      object.state.subtract([.unsavedRow, .unstored])
      if !strata.isEmpty { forgetUnsaved(object) }
      object.noteWhetherStored()
      object.withdrawDeletion()
      object.turnIntoFault()
      changes.note(object, .notedRefresh)
    }
  }

  /// Refreshes every object in the context and keeps all edits: unchanged objects become faults (rules 62, 63).
  public func refreshAllObjects() {
    checkAccess()
    tellChanges()
    forgetAllMembers()
    var objects: [ManagedObject] = []
    stores.forEachLive { objects.append($0) }
    for object in objects where !object.isInserted {
      if object.hasChanges || object.state.contains(.inFlight) {
        refreshKeepingChanges(object)
      } else {
        object.turnIntoFault()
        changes.note(object, .notedRefresh)
      }
    }
    if observation.isObserved { observation.pending.isAllRefreshed = true }
    tellChanges()
  }

  /// The newest row comes under the object's edits. A row that is gone leaves the object as it is: its save will tell.
  func refreshKeepingChanges(_ object: ManagedObject) {
    object.relations?.dropBases()
    if object.isFault {
      object.snapshot = nil
      return
    }
    guard !object.state.contains(.inFlight), object.loadRow() else { return }
    object.settleFastRow()
    changes.note(object, .notedRefresh)
    object.awake(fromSnapshotEvents: .refresh)
  }

  /// Forgets every object and every change, and what could be undone. Objects still held keep their last values but belong to no context (rule 18).
  public func reset() {
    checkAccess()
    var identifiers: [ManagedObjectID] = []
    stores.forEachLive { identifiers.append($0.objectID) }
    stores.forEach { $0.context = nil }
    changes.forEachListed { $0.context = nil }
    for object in changes.takeNoted() { object.state.remove(.departed) }
    changes.removeAllPending()
    deletionsToPropagate = []
    vanished = []
    lostVersions = [:]
    hasBatchDeletions = false
    outlivedDeletions = []
    absorbed = []
    successors = [:]
    lastInserted = nil
    prefetched = []
    stores.removeAll()
    forgetStrata()
    if parent == nil { generation.advance() }
    undoRecorder?.removeAll()
    observation.pending = ContextChange()
    if observation.isObserved { observation.pending.isEverythingInvalidated = true }
    post(Self.didChangeObjectsNotification, [NotificationKey.invalidatedAllObjects.rawValue: identifiers])
    tellObservers()
  }

  /// Takes back everything since the last save: new objects go, deleted ones return, edited ones have their saved values
  /// (rules 19, 20). Needs no undo manager; one there is forgets everything (rule 237).
  public func rollback() {
    checkAccess()
    tellChanges()
    deletionsToPropagate = []
    vanished = []
    for objects in [changes.inserted, changes.updated, changes.deleted] {
      for object in objects { object.relations?.dropChanges() }
    }
    if !strata.isEmpty { forgetAllMembers() }
    var sets = ObjectSets()
    for object in changes.inserted {
      changes.uninsert(object)
      letGo(object, of: .rowGone)
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
    for object in changes.takeNoted() { object.state.subtract(ObjectState.noted.union(.departed)) }
    changes.removeAllPending()
    lostVersions = [:]
    hasBatchDeletions = false
    outlivedDeletions = []
    absorbed = []
    lastInserted = nil
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

  /// The row of an edited object is gone, and the object is to be written anew under its old key (rule 199).
  ///
  /// - Parameter newestVersion: the row counts on from here, see `CommitConflict`.
  func reinsert(_ object: ManagedObject, newestVersion: UInt32) {
    if object.isDeleted {
      object.state.insert(.rowGone)
      return
    }
    object.keepEveryValue()
    object.take(nil)
    lostVersions[object.objectID] = newestVersion
    changes.reinsert(object)
    object.rejoinOwners()
  }

  /// An object that was to be written anew finds that somebody else has done so: an edited object, as before.
  func unreinsert(_ object: ManagedObject) {
    lostVersions[object.objectID] = nil
    changes.unreinsert(object)
  }

  /// The row of an object is gone, and so is the object (rule 199).
  func dropVanished(_ object: ManagedObject) {
    changes.undelete(object)
    changes.unupdate(object)
    object.state.remove(.locked)
    object.withdrawMemberships()
    withdrawSaved(object)
    letGo(object, of: .rowGone)
    changes.note(object, .notedDelete)
  }

  /// The object is not deleted after all.
  func undelete(_ object: ManagedObject) { changes.undelete(object) }
}
