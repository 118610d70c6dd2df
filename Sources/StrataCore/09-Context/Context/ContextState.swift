// What a context keeps beside its objects and its changes, by concern. All of it belongs to the context's queue. What must change together
// does so in one method.

/// The save that is prepared, runs or is under way off the context's queue.
struct SavingState {
  /// A save that is under way off the context's queue.
  var flight: SaveFlight?
  /// What is noted of a save that blocks the queue, while somebody asks for saves.
  var watch: SaveWatch?
  /// Those who asked for a save while one was under way.
  var waiting: [CheckedContinuation<Void, any Error>] = []
  /// Those whose save is over, who go on when the event is.
  private var departing: [Rider] = []
  /// Guards against hooks and observers that call back into a save.
  private(set) var isRunning = false
  /// A save is about to write what is edited: that need not be captured for a first child.
  private(set) var isAboutToWrite = false
  /// A save has frozen the strata.
  private(set) var isFrozen = false
  /// The save under way writes what was not captured: a first child that comes meanwhile does not see it.
  private(set) var leavesUncaptured = false
  /// What children have saved and the save that is under way hands down.
  var frozenRows: [StratumRow] = []
  /// What a save that failed as a whole has written all the same.
  var settled = ManagedObjectContext.SettledRows()
  /// What stores have written of a save that failed: children are told when it is over.
  var written: [CommitNotice] = []
  /// What earlier attempts of the save without stopping that is under way have written.
  private var carried = ManagedObjectContext.SaveOutcome()
  /// Objects that a merge was about while a save without stopping handed down what they stand on: they are read again when it is over.
  var mergedMeanwhile: [ManagedObject] = []
  /// For a module that lists what a save has inserted.
  var listing: Listing?
  /// Rows of new objects that another thread encodes while a save reports the objects.
  var encodingAhead: EncodingAhead?
  /// Violated constraints the merge policy was last asked about, by store, while a save is being tried again.
  var unsettled: [Int: [ConstraintViolation]] = [:]
  /// While validation runs: the changes reported meanwhile, which it made.
  var toldInValidation: [ManagedObject]?
  /// The inserted objects that the last did-change notification reported, until the save or rollback that ends it.
  var lastInserted: Set<ManagedObject>?
  /// For objects whose row is gone and that are to be written again: the version their rows count on from.
  var lostVersions: [ManagedObjectID: UInt32] = [:]
  /// The context's own last commit, by store.
  private var commits: [Int: UInt64] = [:]
  /// The context has saved to its parent.
  private(set) var hasHandedDown = false
  /// A pinned context reads the newest commits for the moment: see `ManagedObjectContext.readingNewest(_:)`.
  var readsNewest = false

  /// What a module adds to one save.
  struct Listing {
    private var prepare: (() -> Void)?
    private(set) var saved = SavedObjects()

    init(prepare: @escaping () -> Void) { self.prepare = prepare }

    mutating func takePrepare() -> (() -> Void)? {
      defer { prepare = nil }
      return prepare
    }
    /// The stores have written what the context has changed itself.
    mutating func noteInserted(_ outcome: ManagedObjectContext.SaveOutcome) {
      // Stores that wrote without calling back have listed nothing.
      let isListed = outcome.insertedIDs.count == outcome.inserted.count
      saved.inserted =
        isListed ? outcome.insertedIDs : outcome.inserted.map { $0.objectID.with(isTemporary: false) }
    }
    /// All that the save has written is known, and no hook or observer has been told of it.
    ///
    /// - Parameter merged: What new objects have become.
    mutating func end(_ outcome: ManagedObjectContext.SaveOutcome, merged: [ManagedObject]) {
      // Behind this context's own is what children had inserted.
      for object in outcome.inserted.dropFirst(saved.inserted.count) {
        saved.inserted.append(object.objectID.with(isTemporary: false))
      }
      saved.updated = outcome.updated
      saved.deleted = outcome.deleted.map { $0.objectID.with(isTemporary: false) }
      saved.merged = merged
    }
  }

  /// A flight that has not landed, or a save that blocks the queue, has frozen the strata.
  var holdsStrata: Bool { flight != nil || isFrozen }
  /// A save that blocks this queue has frozen what it saves.
  var blocksWhileFrozen: Bool { isFrozen && flight == nil }

  /// A save that blocks the queue begins.
  mutating func announce() { isAboutToWrite = true }
  /// It does not go on: what is edited counts as such again.
  mutating func stopWriting() { isAboutToWrite = false }
  /// Hooks and merge policies may run.
  mutating func begin() { isRunning = true }
  mutating func endHooks() { isRunning = false }
  /// The save that blocked the queue is over.
  mutating func end() {
    isRunning = false
    isAboutToWrite = false
    encodingAhead = nil
  }

  /// Does something else in the middle of a save, which it may outlast.
  mutating func pauseWriting() -> Bool {
    defer { isAboutToWrite = false }
    return isAboutToWrite
  }
  mutating func resumeWriting(_ wasAboutToWrite: Bool) { isAboutToWrite = wasAboutToWrite }

  mutating func freeze() { isFrozen = true }
  mutating func thaw() { isFrozen = false }
  /// The strata are frozen, and what is saved has not been captured.
  mutating func leaveUncaptured() { leavesUncaptured = true }
  /// What was frozen is saved.
  mutating func settle() {
    isFrozen = false
    leavesUncaptured = false
  }

  mutating func takeWaiting() -> [CheckedContinuation<Void, any Error>] {
    defer { waiting = [] }
    return waiting
  }

  /// Somebody who has asked for a save, and what came of it.
  struct Rider: Sendable {
    fileprivate let continuation: CheckedContinuation<Void, any Error>
    fileprivate let result: Result<Void, any Error>

    func goOn() { continuation.resume(with: result) }
  }

  /// The save of these is over.
  mutating func depart(
    _ riders: [CheckedContinuation<Void, any Error>], _ result: Result<Void, any Error>
  ) {
    for rider in riders { departing.append(Rider(continuation: rider, result: result)) }
  }

  mutating func takeDeparting() -> [Rider] {
    defer { departing = [] }
    return departing
  }

  mutating func takeSettled() -> ManagedObjectContext.SettledRows {
    defer { settled = ManagedObjectContext.SettledRows() }
    return settled
  }

  mutating func takeWritten() -> [CommitNotice] {
    defer { written = [] }
    return written
  }

  mutating func noteOwn(_ notice: CommitNotice) {
    if notice.hasWritten { commits[notice.storeIndex] = notice.commitNumber }
  }

  mutating func noteHandingDown() { hasHandedDown = true }

  /// Whether the context has itself written to the store after that commit.
  func hasWritten(after notice: CommitNotice) -> Bool {
    commits[notice.storeIndex].map { $0 > notice.commitNumber } ?? false
  }

  /// A store has written its part of a save that another store has refused: the attempt that ends the save tells of it.
  mutating func carry(_ part: SaveFlight.Part) {
    if let notice = part.notice {
      carried.notices.append(notice)
      noteOwn(notice)
    }
    for entry in part.entries {
      switch entry.kind {
      case .insert: carried.inserted.append(entry.object)
      case .update: carried.updated.append(entry.object)
      case .delete: carried.deleted.append(entry.object)
      }
    }
  }

  mutating func carry(_ outcome: ManagedObjectContext.SaveOutcome) {
    carried.inserted += outcome.inserted
    carried.updated += outcome.updated
    carried.deleted += outcome.deleted
  }

  /// Whether a store has written its part of the save without stopping that goes on.
  var hasCarried: Bool { carried.notices.contains(where: \.hasWritten) }

  mutating func takeCarried() -> ManagedObjectContext.SaveOutcome {
    defer { carried = ManagedObjectContext.SaveOutcome() }
    return carried
  }

  /// Nothing is pending any more.
  mutating func forgetPending() {
    lostVersions = [:]
    lastInserted = nil
  }
}

/// What takes back an event.
enum UndoStep {
  /// An insertion goes.
  case undo
  /// A deletion is made again.
  case redo
}

/// What deletions have left to be done, or to be known.
struct DeletionState {
  /// Deleted objects whose delete rules have not been applied yet.
  var toPropagate: [ManagedObject] = []
  /// Deleted objects that undo or redo has taken out, until the deletion is saved or given up. One that has come back since may be among them.
  var takenOut: [ObjectIdentifier: UndoStep] = [:]
  /// New objects that have gone in this event, and to which relationships without an inverse may lead.
  var withdrawn: [(home: BoundEntity, bits: UInt64)] = []
  /// A merge policy that is being asked has had delete rules applied: what follows from them has not been told.
  var followInPolicy = false
  /// New objects that went while there were such deletions, which may still refer to them.
  var vanished: Set<ManagedObjectID> = []
  /// Whether objects may be deleted here because a batch has deleted their rows, and others may refer to them in pending edits.
  var includeBatches = false { didSet { noteHiding() } }
  /// The hierarchies of records that are deleted here while children save: these may lead others to them, not knowing, until the next save lets go of them.
  var linked: Set<Int> = [] { didSet { noteHiding() } }
  /// Whether relationships may lead to what they must not show.
  private(set) var mayHide = false
  /// Whether objects that have been edited here go as well when a batch has deleted their rows, as they do when another context has.
  var takesEdited = false
  /// Edited objects whose rows a batch has deleted: that is for the next save to settle.
  var outlived: Set<StratumLayer.Place> = []
  /// Who may have had to leave whom, while deletions are taken back one after the other.
  var leavers: PossibleLeavers?
  /// How many hooks of deletions are running, one inside the other.
  var hooks = 0

  /// Delete rules that have not been applied are not any more.
  mutating func stopPropagating() {
    toPropagate = []
    vanished = []
    takenOut = [:]
    withdrawn = []
  }

  private mutating func noteHiding() { mayHide = includeBatches || !linked.isEmpty }

  /// Nothing is pending any more.
  mutating func forgetPending() {
    includeBatches = false
    linked = []
    outlived = []
    takenOut = [:]
    leavers = nil
  }
}

/// What children do not see yet of this context's edits.
struct UnpublishedEdits {
  /// Objects whose published edits are not those they have.
  var objects: [ManagedObject] = []
  /// New records that are deleted again and still published, until the event ends: no context may see half of an event.
  var withdrawn: Set<StratumLayer.Place> = []

  var isEmpty: Bool { objects.isEmpty && withdrawn.isEmpty }

  mutating func removeAll() { self = UnpublishedEdits() }
  mutating func take() -> UnpublishedEdits {
    defer { removeAll() }
    return self
  }
  mutating func remove(_ object: ManagedObject) { objects.removeAll { $0 === object } }
}

/// What children have saved that no did-change notification has reported yet.
struct UntoldRows {
  private var rows: [StratumRow] = []
  /// From here on.
  private var start = 0

  var isEmpty: Bool { start == rows.count }

  mutating func append(_ row: StratumRow) { rows.append(row) }
  /// At most `count` of them: they count as reported.
  mutating func take(_ count: Int) -> ArraySlice<StratumRow> {
    defer { start = min(start + count, rows.count) }
    return rows[start...].prefix(count)
  }
  /// Ends the list; returns what was in it.
  mutating func removeAll() -> [StratumRow] {
    defer { self = UntoldRows() }
    return rows
  }
}

/// The event that is running.
struct EventState {
  /// An end-of-event job is on its way to the main queue, or `whenEdited` was told of an edit.
  var isEndScheduled = false
  /// Told of the first edit of an event in a context without a queue: for modules that save by themselves.
  var whenEdited: (() -> Void)?
  /// A `perform` block is running, whose end processes pending changes.
  private(set) var isRunning = false
  /// What the last fetch with relationships to prefetch has brought in: without this they would not be held until they are asked for. Until the `perform` block ends, the next such fetch, or `reset()`.
  var prefetched: [ManagedObject] = []
  /// While new objects are assigned to stores.
  var looseReferrers: LooseReferrers?
  /// While the end of an event is told: whose changes that is about.
  var told = ToldChanges()
  /// The next did-change notification is of a merge.
  var isOfMerge = false
  /// Told when undo or redo has changed objects: for modules that save by themselves.
  var whenTakenBack: (() -> Void)?
  /// Told of objects that undo or redo is about to take out, before any of them leaves.
  var willTakeOut: (([ManagedObject]) -> Void)?

  mutating func begin() { isRunning = true }
  mutating func end() {
    prefetched = []
    isRunning = false
  }
}

/// The new and edited objects that an event's did-change notification reports, while observers are told.
struct ToldChanges {
  private var inserted: [ManagedObject] = []
  private var updated: [ManagedObject] = []
  /// Made when somebody asks.
  private var known: Set<ObjectIdentifier>?

  mutating func add(_ sets: ObjectSets) {
    if inserted.isEmpty { inserted = sets.inserted } else { inserted += sets.inserted }
    if updated.isEmpty { updated = sets.updated } else { updated += sets.updated }
    known = nil
  }

  mutating func contains(_ object: ManagedObject) -> Bool {
    if inserted.isEmpty, updated.isEmpty { return false }
    if let known { return known.contains(ObjectIdentifier(object)) }
    var found: Set<ObjectIdentifier> = []
    ManagedObject.forEach(inserted) { found.insert(ObjectIdentifier($0)) }
    ManagedObject.forEach(updated) { found.insert(ObjectIdentifier($0)) }
    known = found
    return found.contains(ObjectIdentifier(object))
  }
}

/// Objects that were inserted before there was a store for them, and have provisional IDs.
struct ProvisionalState {
  private(set) var hasObjects = false
  /// For which of the coordinator's lists of stores those that could move have done so.
  private(set) var generation = -1

  mutating func noteObject() { hasObjects = true }
  mutating func settle(generation: Int, isWaiting: Bool) {
    hasObjects = isWaiting
    self.generation = generation
  }
}

/// Duplicates that a merge policy has merged into other records.
struct DuplicateState {
  /// Since the last save: children may know them.
  var absorbed: [(home: BoundEntity, primaryKey: UInt64)] = []
  /// What has taken the place of duplicates that children may know.
  var successors: [StratumLayer.Place: ManagedObjectID] = [:]
  /// A module whose instances show records. `reset()` leaves it there.
  var follower: DuplicateFollower?
  /// While somebody follows: new objects that were merged into others since the last save, in their order.
  private var merged: [MergedObject] = []
  /// What duplicates have become, for merge policies, hooks and observers that use them until the save ends, and for the errors of those who do so later: those of
  /// the last save, and some before.
  private var fates: [ManagedObjectID: ManagedObjectID] = [:]

  var hasFates: Bool { !fates.isEmpty }

  mutating func noteFate(of duplicate: ManagedObjectID, _ kept: ManagedObjectID) {
    fates[duplicate] = kept
    // It may have been a duplicate itself, which an undo has brought back.
    fates[kept] = nil
  }

  /// A save begins.
  mutating func limitFates() {
    if fates.count > 1_000 { fates = [:] }
  }

  /// What `duplicate` has become, in the end.
  func fate(of duplicate: ManagedObjectID) -> ManagedObjectID? {
    var found = fates[duplicate]
    var steps = 0
    while let id = found, let next = fates[id], steps < fates.count {
      found = next
      steps += 1
    }
    return found
  }

  mutating func takeAbsorbed() -> [(home: BoundEntity, primaryKey: UInt64)] {
    defer { absorbed = [] }
    return absorbed
  }

  mutating func noteMerged(_ duplicate: ManagedObject, _ kept: ManagedObject) {
    if follower != nil { merged.append(MergedObject(duplicate: duplicate, kept: kept)) }
  }

  mutating func takeMerged() -> [MergedObject] {
    if merged.isEmpty { return [] }
    defer { merged = [] }
    return merged
  }

  /// What has become of these objects was taken back before it was saved.
  mutating func forgetMerged(_ states: [ObjectUndoState]) {
    if merged.isEmpty { return }
    let objects = Set(states.map { ObjectIdentifier($0.object) })
    merged.removeAll { objects.contains(ObjectIdentifier($0.duplicate)) }
  }

  /// Nothing is pending any more.
  mutating func forgetPending() {
    absorbed = []
    merged = []
  }

  /// Every object has left the context.
  mutating func reset() {
    let kept = follower
    self = DuplicateState()
    follower = kept
  }
}

/// How the last new object was made: the next one probably likewise.
struct LatestNew {
  /// The class, and its entity.
  var type: (key: ObjectIdentifier, entity: EntityDescription)?
  /// Where it went, and the next of its entity goes while the coordinator's stores stay the same.
  var home: ManagedObjectContext.HomeForNew?
}
