import Foundation

extension ManagedObject {
  // MARK: From fault to object

  /// Fulfils a fault: takes the row in memory, or reads it, and calls `awakeFromFetch()`.
  ///
  /// A row that is gone makes the object a deleted one with nil values (rule 48); with
  /// `shouldDeleteInaccessibleFaults` off that traps. One that cannot be read leaves it a fault, which shows what it showed.
  @inline(__always)
  final func fire() {
    if state.contains(.fault) { fireFault() }
  }

  @inline(never)
  private final func fireFault() {
    // A fault holds nothing.
    keeperHead = 0
    if hasFreshRow {
      // What happens after a fetch, object by object: nothing is read.
      state.endFault()
      settleFastRow()
      wakeFromFetch()
    } else {
      fireSlowly()
    }
  }

  /// Whether the row in memory is all that the fault needs. Counts no references.
  @inline(__always)
  private final var hasFreshRow: Bool {
    guard let contextReference, snapshot != nil, !hasDraft, state.isDisjoint(with: [.inserted, .probe]) else {
      return false
    }
    return contextReference._withUnsafeGuaranteedRef { $0.stalenessInterval < 0 }
  }

  @inline(__always)
  private final func wakeFromFetch() {
    state.beginAwaking()
    awakeFromFetch()
    state.endAwaking()
  }

  private final func fireSlowly() {
    if context == nil, !state.contains(.probe) {
      // It is not read for any more: what it shows is the last that was known.
      if snapshot == nil { noteReadWithoutContext() }
      return
    }
    if state.contains(.inserted) {
      // Refreshed before it was ever saved: nothing was read, and nothing is.
      state.endFault()
      return
    }
    if snapshot == nil || isStale {
      if state.contains(.probe) { return }
      do {
        guard try findRow() else { return becomeInaccessible() }
      } catch {
        context?.report(error, reading: self)
        return
      }
    }
    state.endFault()
    if hasDraft { settleUnreadEdits() }
    settleFastRow()
    wakeFromFetch()
  }

  /// Reads the object's row from its store. Leaves the object as it is when there is none, or it cannot be read.
  final func loadRow() -> RowReading {
    do { return try findRow() ? .found : .gone } catch { return .unreadable(error) }
  }

  /// The same; whether there is one. Its answer has no room for an error, which would be destroyed each time.
  /// - Throws: why it cannot be read.
  @inline(__always)
  private final func findRow() throws -> Bool {
    switch try loadStoredRow() {
    case .found: true
    case .gone: false
    case .elsewhere: try searchRow()
    }
  }

  /// What a near store has of an object.
  private enum StoredRow { case found, gone, elsewhere }

  /// Reads the row where only a near store has to be asked. `elsewhere` where it takes more than that: nothing was done then.
  /// - Throws: why it cannot be read.
  @inline(__always)
  private final func loadStoredRow() throws -> StoredRow {
    guard let contextReference else { return .elsewhere }
    return try contextReference._withUnsafeGuaranteedRef { try loadStoredRow(of: $0) }
  }

  /// Reads the row wherever it is: as a change that is not saved, in the generation that the context is at, in a far store. Whether there is one.
  /// - Throws: why it cannot be read.
  @inline(never)
  private final func searchRow() throws -> Bool {
    guard let context else { return false }
    guard let place = context.locate(objectID) else { throw Self.storeIsRemoved(objectID) }
    context.flushAncestors()
    if let found = context.unsavedRow(for: self) {
      // What a child has deleted, and the context not handed down yet, looks as it did.
      let isLeaving =
        !found.isOwn && found.row.kind == .delete && context.isFlying(found.row)
        && context.saving.flight?.isReceived(found.row) == true
      guard found.row.row != nil || (found.isOwn || isLeaving) && found.row.base != nil else { return false }
      take(found.row, isOwn: found.isOwn)
      if isLeaving { state.beginFlyingDelete() }
      return true
    }
    context.statistics.faultsFired += 1
    context.tellFault("\(home.token.entityName)/p\(primaryKey)")
    let row =
      if place.store.isFar {
        try context.readTogether(self, place.store)
      } else if context.generation.isSet || place.store.contextual != nil {
        try context.reading(place.store).row(
          hierarchy: place.bound.hierarchyNumber, primaryKey: primaryKey)
      } else {
        try place.store.store.row(hierarchy: place.bound.hierarchyNumber, primaryKey: primaryKey)
      }
    guard let row else { return false }
    guard row.entity == home.entity.number else {
      // Made for an ID with another entity's name: the row is not this object's, there is none that is.
      context.letGo(self, rowIsGone: true)
      return false
    }
    takeStored(row.snapshot, readAt: SnapshotClock.now)
    if !place.store.isFar { context.tellRowRead(self, isAlone: true) }
    return true
  }

  /// The same for an object of `context`. Nothing is told of it, so no code of the application can let go of the context meanwhile, and no references are counted.
  @inline(__always)
  private final func loadStoredRow(of context: ManagedObjectContext) throws -> StoredRow {
    guard context.readsRowsPlainly, let kept = context.locate(objectID) else { return .elsewhere }
    defer { withExtendedLifetime(kept) {} }
    return try Unmanaged.passUnretained(kept)._withUnsafeGuaranteedRef { place in
      // Transient values may be objects of the application, whose end would run in the store's transaction.
      if !place.store.answersPlainly || transients != nil { return .elsewhere }
      var isOfEntity = true
      let isThere: Bool
      do {
        // As `existingObject(with:)` reads: nothing has to be made for it.
        isThere = try place.store.store.readRow(
          hierarchy: place.bound.hierarchyNumber, primaryKey: primaryKey
        ) { entity, row in
          isOfEntity = entity == home.entity.number
          if isOfEntity { takeStored(row, readAt: SnapshotClock.now) }
        }
      } catch {
        context.statistics.faultsFired += 1
        throw error
      }
      if !isOfEntity { return .elsewhere }
      context.statistics.faultsFired += 1
      if !isThere { return .gone }
      return .found
    }
  }

  static func storeIsRemoved(_ id: ManagedObjectID) -> CoreDataError {
    CoreDataError(
      .persistentStoreOperation, "The store of \(id) is not attached to the context's coordinator any more.")
  }

  /// Ensures that the object has its row in memory. False when the row is gone.
  /// - Throws: why it cannot be read.
  final func requireRow() throws -> Bool { try snapshot != nil || findRow() }

  /// The row as it is in the store, or in the parent, now, whatever generation is pinned; the object keeps the one it has. Nil when the row is
  /// gone, or the object in no context.
  /// - Throws: why it cannot be read.
  final func newestRow() throws -> RowSnapshot? {
    guard let context else { return nil }
    let (row, time, state) = (snapshot, readAt, state)
    defer {
      take(row)
      readAt = time
      self.state = state
    }
    return try context.readingNewest { try findRow() } ? snapshot : nil
  }

  private final var isStale: Bool {
    guard let interval = context?.stalenessInterval, interval >= 0 else { return false }
    return Double(SnapshotClock.now &- readAt) / SnapshotClock.ticksPerSecond >= interval
  }

  private final func becomeInaccessible() {
    guard let context else { return }
    guard context.shouldHandleInaccessibleFault(self, for: objectID, triggeredByProperty: nil) else {
      trap(
        "could not fulfil a fault: the row of \(home.token.entityName)/p\(primaryKey) is gone, and "
          + "shouldDeleteInaccessibleFaults is off in \(context), or its class does not handle it.")
    }
    state.endFault()
    state.loseRow()
    if !isMarkedDeleted { state.becomeMissing(byBatch: state.contains(.batchDeleted)) }
    context.noteFirstEdit()
    context.changes.delete(self)
  }

  // MARK: Snapshots

  /// Takes a row as the saved state; large values loaded for an older one are forgotten.
  final func take(_ row: RowSnapshot?) {
    if transients != nil, row?.base != snapshot?.base { forgetLoadedValues() }
    snapshot = row
    readAt = SnapshotClock.now
  }

  /// Takes a row of the store, which was read at `readAt`.
  @inline(__always)
  final func takeStored(_ row: RowSnapshot?, readAt: UInt32) {
    if transients != nil { forgetLoadedValues() }
    state.standOnStoredRow()
    snapshot = row
    self.readAt = readAt
  }

  /// Decides whether attributes may be read without further questions.
  @inline(__always)
  final func settleFastRow() {
    if !hasDraft, !state.contains(.fault), !ManagedObjectContext.checksEveryAccess, let contextReference,
      contextReference._withUnsafeGuaranteedRef({ !$0.observation.notesFastReads })
    {
      fastRow = snapshot?.base
    } else {
      fastRow = nil
    }
  }

  /// A save wrote `row`: it is what the object looks like now.
  final func adoptSaved(_ row: RowSnapshot?, isFast: Bool) {
    draft = nil
    take(row)
    // Asked where it lies: what the context knows of observers is not copied for each object.
    let isInPlace =
      isFast && !state.contains(.fault)
      && contextReference?._withUnsafeGuaranteedRef { !$0.observation.notesFastReads } == true
    fastRow = isInPlace ? row?.base : nil
  }

  /// The row that was taken over for saved was not: the object is new, with the values the row has.
  final func takeBack(_ change: RowChange) {
    let layout = home.layout
    let draft = RowDraft.make(layout, changed: home.persistentSlots)
    home.persistentSlots.forEach { slot in
      if let large = change.externals.first(where: { $0.slot == slot }) {
        draft[slot] = RowBytes.externalValue(large.bytes, kind: layout.kind(of: slot)) ?? .null
      } else {
        draft[slot] = change.row.value(slot, layout) ?? .null
      }
    }
    fastRow = nil
    snapshot = nil
    self.draft = draft
  }

  /// Turns the object into a fault: edits, transient values and the row go (rules 59, 61). Its observers are notified of what is different at
  /// the end of the event.
  final func turnIntoFault() {
    relations?.dropBases()
    if state.contains(.fault), !hasDraft {
      snapshot = nil
      return
    }
    willTurnIntoFault()
    withdrawRelationships()
    draft = nil
    transients = nil
    snapshot = nil
    fastRow = nil
    state.becomeFault()
    didTurnIntoFault()
  }

  /// Makes a new object, which has no row to be read again, a fault: what was set goes, and it has the values a new object is made with.
  final func becomeNewFault() {
    relations?.dropBases()
    willTurnIntoFault()
    withdrawRelationships()
    draft = home.makeDraft()
    transients = home.hasTransientDefaults ? home.transientDefaults : nil
    fastRow = nil
    state.becomeFault()
    didTurnIntoFault()
  }

  /// The object is neither held nor kept: if an owner keeps it again, it reads its row again.
  final func forgetRow() {
    snapshot = nil
    fastRow = nil
    state.becomeFault()
    relations?.dropBases()
  }

  /// The context has forgotten the object: a fault, which goes on showing the last values that were known.
  final func becomeForgotten() {
    context = nil
    state.becomeFault()
    fastRow = nil
    transients = transients?.filter { $0.key < 0 }
  }

  // MARK: For merging and merge policies

  /// A newer row comes under the object's edits; the edits stay (rules 60, 173).
  final func rebase(onto row: RowSnapshot) {
    context?.forgetMembers(referredToBy: home.entity, nil)
    take(row)
    settleFastRow()
  }

  /// A newer row is about to come under the object's edits: an attribute that is back at what the row of now says is no edit, and shows what
  /// the newer row says.
  final func dropSettledEdits() {
    guard hasDraft, let snapshot, !state.contains(.draftFrozen), let draft else { return }
    var settled = draft.changed
    Self.slotsThatDiffer(draft, from: snapshot, home).union(draft.primitive).forEach { settled.remove($0) }
    if settled.isEmpty { return }
    settled.forEach { slot in
      if let relationship = home.entity.relationship(slot: slot) {
        withdrawReference(relationship, keepsPlace: true)
      }
    }
    let edited = editableDraft()
    settled.forEach { edited.clear($0) }
  }

  /// The object takes the stored row and loses its edits.
  final func discardEdits(takingRow row: RowSnapshot?) {
    withdrawRelationships()
    context?.changes.unupdate(self)
    if transients != nil { forgetRefusedValues() }
    if state.contains(.inFlight), let frozen = context?.saving.flight?.draft(of: self) {
      // What is being saved stays as it is.
      draft = frozen
      state.freezeDraft()
      return
    }
    draft = nil
    context?.withdrawSaved(self)
    take(row)
    settleFastRow()
  }

  /// Makes every attribute count as edited, with the value it has now.
  ///
  /// - Parameter exceptPartners: Leaves out unedited references of one-to-one relationships: the other end has its own, and
  ///   only setting one takes care of both.
  /// - Throws: why a value cannot be read; nothing has changed then.
  final func keepEveryValue(exceptPartners: Bool = false) throws {
    var values: [(slot: Int, value: AttributeValue)] = []
    func read() {
      home.persistentSlots.forEach { slot in
        if draft?.isChanged(slot) == true { return }
        if exceptPartners, home.entity.relationship(slot: slot)?.isInverseToOne == true { return }
        values.append((slot, storedValue(slot)))
      }
    }
    if let context { try context.throwingFailures(read) } else { read() }
    let edited = editableDraft()
    for (slot, value) in values { edited[slot] = value }
  }

  /// Drops the edits of attributes that the stored row has changed as well (store trump, rule 194).
  final func yieldSlotsChanged(in stored: RowSnapshot) {
    guard hasDraft else { return }
    let draft = editableDraft()
    guard let base = snapshot else {
      // Nothing tells what the store has changed: all of it may be.
      draft.changed.forEach { draft.clear($0) }
      return
    }
    draft.changed.forEach { slot in
      guard !isSame(slot, in: base, stored) else { return }
      if let relationship = home.entity.relationship(slot: slot) { withdrawReference(relationship) }
      draft.clear(slot)
    }
  }

  /// Whether two rows of the object are known to have the same value.
  private final func isSame(_ slot: Int, in base: RowSnapshot, _ stored: RowSnapshot) -> Bool {
    let layout = home.entity.layout
    // Values outside their rows are the same while both rows refer to the same writing of them.
    if let mine = base.externalReference(slot, layout) {
      return mine == stored.externalReference(slot, layout)
    }
    return Self.isSame(base.value(slot, layout), stored.value(slot, layout))
  }

  /// The persistent properties with a value in the row that two rows of the object do not have in common.
  final func slots(changedFrom base: RowSnapshot, to stored: RowSnapshot) -> SlotBitmap {
    var result = SlotBitmap()
    home.persistentSlots.forEach { if !isSame($0, in: base, stored) { result.insert($0) } }
    return result
  }

  /// The persistent attributes whose edited value is not the saved one; of a new object, not the default.
  final var slotsThatDiffer: SlotBitmap {
    draft.map { Self.slotsThatDiffer($0, from: snapshot, home) } ?? SlotBitmap()
  }

  /// The same for any draft and row.
  static func slotsThatDiffer(_ draft: RowDraft, from row: RowSnapshot?, _ home: BoundEntity) -> SlotBitmap {
    var result = SlotBitmap()
    draft.changed.forEach { slot in
      let saved = row.map { $0.value(slot, home.layout) } ?? home.defaults[slot]
      if !isSame(saved, draft[slot]) { result.insert(slot) }
    }
    return result
  }

  /// Whether two values are known to be the same; a value too large for its row (nil) is never known to be.
  static func isSame(_ left: AttributeValue?, _ right: AttributeValue?) -> Bool {
    guard let left, let right else { return false }
    // Bit for bit: the order of values calls 0.0 and -0.0 equal, but who sets one must read it back.
    if case .double(let a) = left, case .double(let b) = right { return a.bitPattern == b.bitPattern }
    if case .float(let a) = left, case .float(let b) = right { return a.bitPattern == b.bitPattern }
    return left == right
  }

  /// Makes the draft if there is none; counts no references where the object has one, or nothing but its row.
  @inline(__always)
  final func ensureEditableDraft() {
    if !hasDraft, state.isDisjoint(with: Self.editedSlowly) {
      draft = withHome { RowDraft.make($0.entity.layout) }
      fastRow = nil
    } else {
      _ = editableDraft()
    }
  }

  private static let editedSlowly: ObjectState.Flags = [.received, .fault]

  /// The draft, made if there is none. Does not say that the object changed.
  final func editableDraft() -> RowDraft {
    if let draft {
      if state.contains(.flushed) { context?.changes.touch(self) }
      return state.isDisjoint(with: [.draftFrozen, .draftShared]) ? draft : thawedDraft(draft)
    }
    if !state.isDisjoint(with: .received) {
      claim()
      if let draft { return draft }
    }
    let new = RowDraft.make(home.entity.layout)
    draft = new
    fastRow = nil
    if state.contains(.fault) { noteUnreadEdit() }
    return new
  }
}

/// A coarse clock for the age of rows: hundredths of a second since some moment, wrapping after more than a year.
enum SnapshotClock {
  static let ticksPerSecond = 100.0
  static var now: UInt32 {
    var time = timespec()
    clock_gettime(clock, &time)
    return UInt32(truncatingIfNeeded: time.tv_sec &* 100 &+ time.tv_nsec / 10_000_000)
  }
  #if os(Linux)
    private static let clock = CLOCK_MONOTONIC_COARSE
  #else
    private static let clock = CLOCK_MONOTONIC
  #endif
}
