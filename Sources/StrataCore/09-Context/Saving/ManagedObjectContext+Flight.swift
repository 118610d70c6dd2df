import Dispatch
import Foundation

extension ManagedObjectContext {
  /// Saves without stopping: writes what is pending now while the context stays in use (contexts 15), and returns
  /// when that is as durable as the store promises, or, with a parent, when the parent has it.
  ///
  ///     try await context.saveAsynchronously()
  ///
  /// Hooks and validation run first, on the context's queue, as in `save()`. Then the pending changes are frozen: they are not
  /// pending any more (`hasChanges` is false, the objects keep their values), and edits made from then on are changes above
  /// them, saved by the next save. Encoding, writing and syncing happen elsewhere. At the end the objects take over what was
  /// saved, on the main queue in slices, and the did-save notifications are posted.
  ///
  /// A save, synchronous or not, that comes while one is under way waits for it first. `rollback()` and
  /// `refresh(_:mergeChanges:)` take back only what was edited since. After `reset()` the objects are gone and what is under
  /// way is saved all the same. What children had saved goes along, and lies beneath what is done meanwhile, too. May be called
  /// from any task.
  ///
  /// - Throws: what `save()` throws; the changes, those of children among them, are pending again then, beneath the edits made
  ///   since, unless the context was reset meanwhile: then they are gone, and the error says so. `CoreDataError` 134060
  ///   for a confinement context, which has no queue to come back to.
  public func saveAsynchronously() async throws {
    guard queue.queue != nil else {
      throw CoreDataError(
        .coreData,
        "\(description) has no queue to come back to, so it cannot save asynchronously; make it with .privateQueue or "
          + ".mainQueue.")
    }
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      onQueue { self.request(continuation) }
    }
  }

  /// Runs `job` inside the context: at once if the caller is there already.
  private func onQueue(_ job: @escaping @Sendable () -> Void) {
    if ThreadScope.current.holds(self) {
      ThreadScope.current.run(in: self, job)
      for rider in saving.takeDeparting() { rider.goOn() }
    } else {
      queue.queue?.async(execute: queued(job))
    }
  }

  /// What the queue is to be given to run `job` as an event. Those whose save is over then go on when nothing holds context or save for it any more.
  private func queued(_ job: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
    let departing = ErrandAnswer<[SavingState.Rider]>()
    let errand = Errand {
      self.runAsEvent(job)
      departing.give(self.saving.takeDeparting())
    }
    return {
      errand.run()
      for rider in departing.take() { rider.goOn() }
    }
  }

  // MARK: On the context's queue

  /// A caller that asks while a save is under way shares the next one with the other waiting callers: it saves what is pending then.
  private func request(_ continuation: CheckedContinuation<Void, any Error>) {
    if parent == nil, coordinator.bindings.contains(where: { $0.contextual != nil }) {
      // Such a store is told of the save's objects by the context itself, which cannot go on meanwhile.
      let result = Result { try saveChanges() }
      return saving.depart([continuation], result)
    }
    saving.waiting.append(continuation)
    if saving.flight == nil { begin() }
  }

  private func begin() {
    attempt(saving.takeWaiting(), 1)
  }

  private func attempt(
    _ riders: [CheckedContinuation<Void, any Error>], _ number: Int,
    _ watched: SaveFlight.Watched? = nil
  ) {
    if number == 1 { saving.unsettled = [:] }
    var watched =
      watched ?? (Watching.concerns(.saves) ? SaveFlight.Watched(since: ContinuousClock.now) : nil)
    do {
      let flight = try takeOff()
      // Its entries are gone when it has landed.
      if watched != nil { watched?.counts = flight.counts }
      flight.watched = watched
      statistics.saveAttempts += 1
      let (queue, landing) = (queue.queue, queued { self.bringHome(flight, riders, number) })
      flight.start(self, coordinator) { queue?.async(execute: landing) }
    } catch {
      // An earlier attempt may have written to a store. What was written before the first is another request's.
      let isPartlySaved = number > 1 && saving.hasCarried
      let error: any Error = isPartlySaved ? CoreDataError.incompleteSave(error) : error
      if let watched { tellNotStarted(error, watched, attempts: number - 1) }
      if number > 1 { tellCarried() }
      saving.depart(riders, .failure(error))
    }
  }

  /// Lands `flight`, on the main queue slice by slice, tells those who wait for it, and begins the next one.
  private func bringHome(
    _ flight: SaveFlight, _ riders: [CheckedContinuation<Void, any Error>], _ number: Int
  ) {
    guard land(flight, all: false) else {
      queue.queue?.async(execute: queued { self.bringHome(flight, riders, number) })
      return
    }
    if let watched = flight.watched, flight.isOver(after: number, of: Self.mostAttempts) {
      tellLanded(flight, watched, attempts: number)
    }
    switch flight.ending {
    case .saved, nil: saving.depart(riders, .success(()))
    case .failed(let error):
      tellCarried()
      saving.depart(riders, .failure(error))
    case .refused, .disputed:
      guard number < Self.mostAttempts else {
        let error = saving.hasCarried ? CoreDataError.incompleteSave(conflictsGoOn) : conflictsGoOn
        tellCarried()
        saving.depart(riders, .failure(error))
        break
      }
      // The merge policy has spoken. Another save may be under way by now.
      if saving.flight == nil {
        var watched = flight.watched
        for part in flight.parts { watched?.timeInStore += part.timeRefused }
        return attempt(riders + saving.takeWaiting(), number + 1, watched)
      }
      saving.waiting = riders + saving.waiting
    }
    if saving.flight == nil, !saving.waiting.isEmpty { begin() }
  }

  /// A save has failed: children are told what stores have written of it all the same.
  private func tellCarried() {
    let written = saving.takeCarried().notices
    if !written.isEmpty { tellChildren(written) }
  }

  // MARK: Taking off

  private func takeOff() throws -> SaveFlight {
    if saving.isRunning {
      throw CoreDataError(
        .recursiveSave, "saveAsynchronously() was called inside a save of the same context.")
    }
    flushAncestors()
    drainReceived()
    tellChanges()
    defer { saving.endHooks() }
    try throwingFailures {
      try prepareToSave()
      if parent != nil, checksUniquenessAtParent { try checkUniqueness() }
      try readRowsToFreeze()
    }
    return try freeze()
  }

  /// Rows that the save needs and that were never looked at: before anything is frozen, since they may not be there to be read.
  private func readRowsToFreeze() throws {
    for object in changes.deleted
    where !object.state.contains(.rowGone) && object.snapshot == nil
      && (parent != nil || object.home.entity.relationships.isEmpty)
    {
      _ = try object.requireRow()
    }
    guard parent != nil else { return }
    for object in changes.updated where object.relations?.hasChanges == true { _ = try object.requireRow() }
  }

  /// Takes the pending changes out of the context's hands.
  private func freeze() throws -> SaveFlight {
    forgetObjectsOfRemovedStores()
    try requireWritableStores()
    // What hooks have deleted again is not saved. The queue goes on before the save is over: all of it is captured.
    publishEdits()
    let layer = freezeStrata()
    let parts = Parts(self)
    do {
      // First, while nothing can have gone wrong: from the first object on all of it is in flight.
      if parent == nil { try parts.addMetadata() }
      try parts.add(changes.inserted, .insert)
      try parts.add(changes.updated, .update)
      try parts.add(changes.deleted, .delete)
      let received = receivedRows(in: layer)
      if parent == nil { try parts.addChecks(lockedBeside(received)) }
      for row in received { try parts.add(row) }
    } catch {
      saving.thaw()
      strata.thaw()
      throw error
    }
    for part in parts.list {
      for row in part.received { knownObject(of: row)?.takeOff(with: row) }
    }
    let new = SaveFlight(parts.list, isForParent: parent != nil, known: saving.lastInserted)
    saving.lastInserted = nil
    new.locked = changes.locked
    changes.handOver()
    saving.flight = new
    return new
  }

  /// Before anything is frozen: nothing may go wrong in the middle. Most contexts have one store, which is writable.
  private func requireWritableStores() throws {
    let bindings = coordinator.bindings
    if bindings.count == 1, bindings[0].index == 0, !bindings[0].store.isReadOnly { return }
    for object in changes.inserted + changes.updated + changes.deleted {
      _ = try writableStore(object.home.storeIndex)
    }
    // Only where there are several stores can an object be related to one of another store.
    for object in changes.inserted + changes.updated { try object.requireNoForeignRelationship() }
    for row in receivedRows(in: strata.top) { _ = try writableStore(row.bound.storeIndex) }
  }

  /// The pending changes, store by store.
  private final class Parts {
    private let context: ManagedObjectContext
    private(set) var list: [SaveFlight.Part] = []

    init(_ context: ManagedObjectContext) { self.context = context }

    private func part(_ index: Int) throws -> SaveFlight.Part {
      if let known = list.first(where: { $0.store.index == index }) { return known }
      let new = SaveFlight.Part(try context.writableStore(index))
      list.append(new)
      return new
    }

    func add(_ objects: [ManagedObject], _ kind: StratumRow.Kind) throws {
      guard let first = objects.first else { return }
      var part = try part(first.home.storeIndex)
      if list.count == 1 { part.entries.reserveCapacity(part.entries.count + objects.count) }
      let lost = context.saving.lostVersions
      var place = 0
      try ManagedObject.forEach(objects) { object in
        // Its draft is kept as well, which means looking at it.
        if place + 6 < objects.count {
          Unmanaged.passUnretained(objects[place + 6])._withUnsafeGuaranteedRef { $0.prefetchDraftHead() }
        }
        place += 1
        guard let home = object.boundReference else { return }
        let index = home._withUnsafeGuaranteedRef { $0.storeIndex }
        if index != part.store.index { part = try self.part(index) }
        let isGone = object.state.contains(.rowGone)
        part.entries.append(
          SaveFlight.Entry(
            kind: kind, object: object, home: home, primaryKey: object.primaryKey,
            draft: kind == .delete ? nil : object.draft,
            base: kind == .insert || (kind == .delete && isGone) ? nil : object.snapshot,
            isBaseStored: !object.state.contains(.unsavedRow), isStoredDeletion: kind == .delete && !isGone,
            transients: object.transients == nil ? nil : TransientValues(object.transients),
            lostVersion: lost.isEmpty ? 0 : lost[object.objectID] ?? 0,
            edges: object.relations == nil ? [:] : object.stratumEdges,
            leftReferences: kind == .delete ? object.leftReferences : SlotBitmap(),
            hasRelations: object.relations?.hasChanges ?? false))
        object.relations?.takeOff()
        // While the object is at hand: from here on it is in flight and in no list.
        object.state.takeOff(kind, hasDraft: object.hasDraft)
      }
    }

    func addChecks(_ locked: [ManagedObject]) throws {
      for object in locked {
        guard let base = object.snapshot else { continue }
        try part(object.home.storeIndex).checks.append(
          RowCheck(
            hierarchy: object.home.hierarchyNumber, primaryKey: object.primaryKey, baseVersion: base.version))
      }
    }

    func add(_ received: StratumRow) throws {
      try part(received.bound.storeIndex).received.append(received)
    }

    func addMetadata() throws {
      for index in context.coordinator.storesWithPendingMetadata {
        try part(index).hasMetadata = true
      }
    }
  }
}
