import Foundation

extension ManagedObjectContext {
  /// The manager that records how to take back changes of this context. Default nil: nothing is remembered, and it costs nothing
  /// (rule 22).
  ///
  /// With a manager, what changes from one did-change notification to the next becomes one action: `undo()` makes every object that
  /// was inserted, edited or deleted what it was before, transient attributes included (rules 235–239). Actions of one event
  /// (a `perform` block, what comes before `processPendingChanges()` or a save, one turn of the main queue) are one group, unless the
  /// manager's `groupsByEvent` is off.
  ///
  /// - A save forgets nothing: what is undone afterwards is a change to be saved again (rule 240). `rollback()` and `reset()` forget
  ///   everything.
  /// - Changes are registered when they are processed: to keep some out of undo, call `processPendingChanges()`, disable the
  ///   manager's registration, make them, process again, enable it (rule 236).
  /// - What a child saves here can be undone here, as one event; for that, every record in it becomes an object of this context. What
  ///   other contexts save, and is merged, cannot be undone.
  /// - The manager belongs to this context's queue; `manager.undo()` is called there, and does the same as `undo()` here.
  ///
  /// May be read and set from any thread (rule 7); set elsewhere, it is in use by the time anything enqueued on this context's queue
  /// afterwards runs. Another manager, or nil, ends what could be undone in the old one.
  public var undoManager: UndoManager? {
    get { shared.withLock { $0.undoManager }?.manager }
    set {
      let new = newValue.map { SharedUndoManager(manager: $0) }
      shared.withLock { $0.undoManager = new }
      if isAccessible {
        adoptUndoManager()
      } else if let queue = queue.queue {
        queue.async { ThreadScope.current.run(in: self) { self.adoptUndoManager() } }
      } else {
        checkAccessAlways()
      }
    }
  }

  /// Takes back the last group of changes. Does nothing without an undo manager, or when there is nothing to undo (rule 234).
  public func undo() {
    checkAccess()
    guard let undoRecorder else { return }
    processPendingChanges()
    undoRecorder.manager.messages.undo()
  }

  /// Does again what the last `undo()` has taken back. Does nothing without an undo manager, or when there is nothing to redo:
  /// any change after an undo ends what can be redone.
  public func redo() {
    checkAccess()
    guard let undoRecorder else { return }
    processPendingChanges()
    undoRecorder.manager.messages.redo()
  }

  /// On its way between threads. Unchecked: only references pass the lock, the manager is used on the context's queue.
  struct SharedUndoManager: @unchecked Sendable { let manager: UndoManager }

  private func adoptUndoManager() {
    let new = undoManager
    if undoRecorder?.manager === new { return }
    // What was changed so far is the old one's.
    processPendingChanges()
    undoRecorder?.manager.messages.removeAllActions(withTarget: self)
    undoRecorder = nil
    guard let new else { return }
    // From now on what children save is an edit here; what they have saved before is made one.
    if !strata.isEmpty {
      tellReceived(all: true)
      for object in [.insert, .update, .delete].flatMap(receivedObjects) { object.claim() }
    }
    undoRecorder = UndoRecorder(new, for: self)
  }

  // MARK: During an event

  /// `object`, which is here, is about to be edited or deleted.
  @inline(__always)
  func willChange(_ object: ManagedObject) {
    if undoRecorder != nil { noteBefore(object) }
  }

  private func noteBefore(_ object: ManagedObject) {
    object.claim()
    undoRecorder?.note(object) { ObjectUndoState(before: object, in: self, saveCount: $0) }
  }

  /// `object` is about to be inserted: it has its entity, and nothing of it is noted.
  @inline(__always)
  func willInsert(_ object: ManagedObject) {
    if undoRecorder != nil { noteNew(object) }
  }

  private func noteNew(_ object: ManagedObject) {
    undoRecorder?.note(object) { ObjectUndoState(absent: object, saveCount: $0) }
  }

  /// What has changed since the last did-change notification can be undone from now on.
  func registerUndo() {
    guard let undoRecorder else { return }
    // Observers of the manager's groups may edit the objects, which counts as no further edit before the event has ended: rows of before are not used.
    saving.encodingAhead?.wait()
    saving.encodingAhead = nil
    let causes = undoRecorder.causes
    let action = undoRecorder.takeEvent()
    guard undoRecorder.isEnabled else { return undoRecorder.endDeletions(of: nil) }
    action.seal(in: self)
    let isIdle =
      action.states.allSatisfy(\.isAlongside) && action.postponed.isEmpty && action.withdrawn.isEmpty
    if isIdle { return undoRecorder.endDeletions(of: nil) }
    switch undoRecorder.settle(action, causes) {
    case .event: break
    case .part(let event):
      undoRecorder.noteDeleting(event)
      return undoRecorder.endDeletions(of: event)
    case .dropped: return undoRecorder.endDeletions(of: nil)
    }
    action.waitForSeal(in: self)
    undoRecorder.postponed = []
    undoRecorder.endDeletions(of: action)
    undoRecorder.noteDeleting(action)
    if duplicates.follower != nil { undoRecorder.noteRecent(action) }
    undoRecorder.manager.messages.registerUndo(withTarget: self, unless: { action.isTakenOver }) {
      [weak self] _ in self?.takeBack(action)
    }
  }

  // MARK: Undo and redo

  /// Makes the objects of an event what they were. What that changes is noted as in every event: for redo, while an undo is running.
  private func takeBack(_ action: UndoEvent) {
    checkAccess()
    drainReceived()
    withdraw(action.postponed)
    for edit in action.withdrawn { postpone(edit.object, edit.finish) }
    action.sealRest(in: self)
    // What an object was is unknown as long as it cannot be read: the next save finds out and takes it back, or fails.
    let waiting = action.takeUnsealed()
    if let first = waiting.first {
      let rest = UndoEvent(unsealed: waiting)
      undoRecorder?.moveLate(from: action, to: rest)
      postpone(first.object) { [weak self] in self?.takeBackSealed(rest) }
    }
    takeBack(action.lists)
  }

  /// Seals an action and takes it back, or fails and does nothing.
  private func takeBackSealed(_ action: UndoEvent) {
    action.sealRest(in: self)
    guard action.unsealed.isEmpty else { return }
    withdraw(action.postponed)
    takeBack(action.lists)
  }

  /// Edits that wait for something to be read are not made.
  private func withdraw(_ edits: [UnfinishedEdit]) {
    if edits.isEmpty { return }
    let numbers = Set(edits.map(\.number))
    undoRecorder?.withdrawn += failures.unfinished.filter { numbers.contains($0.number) }
    failures.unfinished.removeAll { numbers.contains($0.number) }
  }

  /// Takes back what was changed one after the other, the last of it first: as so many actions of one group.
  private func takeBack(_ lists: [[ObjectUndoState]]) {
    for states in lists { takeBack(states) }
    event.whenTakenBack?()
  }

  private func takeBack(_ states: [ObjectUndoState]) {
    if states.contains(where: \.waitsForSave) { joinFlight() }
    duplicates.forgetMerged(states)
    if let willTakeOut = event.willTakeOut {
      let leaving = states.filter { $0.takesOut(in: self) }.map(\.object)
      if !leaving.isEmpty { willTakeOut(leaving) }
    }
    var listed = ListedInserted()
    var woken: [(object: ManagedObject, flags: SnapshotEventType)] = []
    // Who returns comes first: the others refer to them.
    for state in states.reversed() where state.returns {
      if let flags = state.putBack(in: self, &listed) { woken.append((state.object, flags)) }
    }
    for state in states where state.returns { state.putBackOwners(in: self) }
    for (object, _) in woken { object.tellOwners(isMember: true) }
    for state in states.reversed() where !state.returns {
      if let flags = state.putBack(in: self, &listed) { woken.append((state.object, flags)) }
    }
    // What was published of these objects is no edit any more, and not what a child has saved either.
    flushEdits()
    for state in states { state.settleRelations(in: self) }
    for (object, flags) in woken { object.awake(fromSnapshotEvents: flags) }
    tellChanges()
  }

  /// Has `body` called, on the context's queue, whenever undo or redo has changed objects, and observers were told. The context keeps it.
  package final func whenTakenBack(_ body: @escaping () -> Void) { event.whenTakenBack = body }

  /// Has `body` called, on the context's queue, with the objects that undo or redo is about to delete or to take out of the context: they can be asked for what they lead to, and
  /// must not be changed. Those that come back are told by `awake(fromSnapshotEvents:)`. The context keeps it.
  package final func beforeTakingOut(_ body: @escaping ([ManagedObject]) -> Void) { event.willTakeOut = body }

  /// Takes an object out, as a deletion does: for good when it is new, else it is to be deleted.
  ///
  /// - Parameter step: What undo or redo does by that; nil for a deletion. What the object itself leads to is put back then by the states of the event, and its delete rules
  ///   apply to what others have related to it since.
  func takeOut(_ object: ManagedObject, by step: UndoStep? = nil) {
    object.claim()
    noteFirstEdit()
    if object.isMarkedInserted {
      changes.uninsert(object)
      withdraw(object)
      if object.home.entity.inbound.contains(where: { $0.isToMany && $0.inverse == nil }) {
        deletions.withdrawn.append((object.home, object.referenceBits))
      }
      if strata.publishes, !object.home.entity.inbound.isEmpty {
        changes.noteGone(object.home, object.primaryKey)
      }
      letGo(object, rowIsGone: true)
    } else {
      changes.delete(object)
      if object.withHome({ $0.entity.relationships.isEmpty }) { return }
      deletions.toPropagate.append(object)
      if step != nil || !deletions.takenOut.isEmpty { deletions.takenOut[ObjectIdentifier(object)] = step }
    }
  }

  /// What undo or redo does when it takes out an object now; nil for what is like any deletion.
  var undoStep: UndoStep? {
    guard undoRecorder?.manager.messages.isRedoing == true else { return .undo }
    // Where the rules wait for the save, the event does not hold what they do.
    return propagatesDeletesAtEndOfEvent ? .redo : nil
  }

  /// Inserts an object that has left the context, as the record it was: with its ID, and without waking it up as a new one
  /// (rules 56, 235).
  ///
  /// - Parameter lostVersion: of a record whose deletion was saved, what its versions count on from.
  /// - Returns: false when there is such a record again, or no store for it any more.
  func insertAgain(
    _ object: ManagedObject, _ home: BoundEntity, _ primaryKey: UInt64, draft: RowDraft,
    transients: [Int: Any]?,
    lostVersion: UInt32?, _ listed: inout ListedInserted
  ) -> Bool {
    guard let binding = coordinator.binding(home.storeIndex) else { return false }
    let table = stores.tables(for: binding).tables[home.hierarchyNumber]
    if let other = table.object(for: primaryKey), other !== object {
      // Another context has inserted the record again, and there is an object of it; or one was made for the ID meanwhile.
      if !other.state.contains(.rowGone) {
        if !other.isFault { return false }
        switch other.loadRow() {
        case .found: return false
        case .gone: break
        case .unreadable(let error):
          // There may be such a record again.
          report(error, reading: other)
          return false
        }
      }
      changes.undelete(other)
      letGo(other, rowIsGone: true)
    }
    object.state.beginAnew(isListed: listed.contains(object, changes))
    if object.observation?.isInUse == true { object.state.beginObserved() }
    object.become(home)
    object.primaryKey = primaryKey
    object.context = self
    object.snapshot = nil
    object.fastRow = nil
    object.transients = transients
    object.draft = draft
    if !draft.primitive.isEmpty { object.edits = nil }
    table.insert(object, for: primaryKey)
    changes.noteBack(object.place)
    if let lostVersion { saving.lostVersions[object.objectID] = lostVersion }
    noteFirstEdit()
    changes.insert(object)
    return true
  }
}
