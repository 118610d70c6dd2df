/// What a managed object is to its context.
///
/// Other files ask for flags, and change them by the transitions below only.
@usableFromInline struct ObjectState: Sendable {
  @usableFromInline private(set) var flags: Flags = []

  /// One bit each.
  @usableFromInline struct Flags: OptionSet, Sendable {
    @usableFromInline let rawValue: UInt32

    @usableFromInline init(rawValue: UInt32) { self.rawValue = rawValue }

    /// New, never saved.
    static let inserted = Flags(rawValue: 1 << 0)
    /// Edited since it was read or saved.
    static let updated = Flags(rawValue: 1 << 1)
    /// To be deleted by the next save.
    static let deleted = Flags(rawValue: 1 << 2)
    /// Values not looked at yet.
    static let fault = Flags(rawValue: 1 << 3)
    /// `awakeFromFetch` is running: edits are not tracked.
    static let awaking = Flags(rawValue: 1 << 4)
    /// The row is gone from the store: deleted and saved, deleted elsewhere, or never there.
    static let rowGone = Flags(rawValue: 1 << 5)
    /// Noted for the next did-change notification.
    static let notedInsert = Flags(rawValue: 1 << 6)
    static let notedUpdate = Flags(rawValue: 1 << 7)
    static let notedDelete = Flags(rawValue: 1 << 8)
    static let notedRefresh = Flags(rawValue: 1 << 9)
    /// Has an entry in the tracker's list of that name; entries of objects that left the state are skipped.
    static let listedInserted = Flags(rawValue: 1 << 10)
    static let listedUpdated = Flags(rawValue: 1 << 11)
    static let listedDeleted = Flags(rawValue: 1 << 12)
    /// `detectConflicts(for:)` was asked for: the next save checks the row although it is not changed.
    static let locked = Flags(rawValue: 1 << 13)
    /// What a child has saved to the context and the context not handed down yet, until it is edited here: the row is
    /// the child's, and the context's strata know what lies beneath.
    static let receivedInsert = Flags(rawValue: 1 << 14)
    static let receivedUpdate = Flags(rawValue: 1 << 15)
    static let receivedDelete = Flags(rawValue: 1 << 16)
    /// The row is one that another context has not saved yet.
    static let unsavedRow = Flags(rawValue: 1 << 17)
    /// The record was in no store when the row was read or saved.
    static let unstored = Flags(rawValue: 1 << 18)
    /// Part of a save that is under way off the context's queue.
    static let inFlight = Flags(rawValue: 1 << 19)
    /// The draft is that save's: it is copied before the object is edited.
    static let draftFrozen = Flags(rawValue: 1 << 20)
    /// That save deletes the object.
    static let flyingDelete = Flags(rawValue: 1 << 21)
    /// A probe: a fault in no context that never fires, on which key paths are followed (see `ProbeRecording`).
    static let probe = Flags(rawValue: 1 << 22)
    /// Deleted here because a batch has deleted its row, not by this context.
    static let batchDeleted = Flags(rawValue: 1 << 24)
    /// Deleted here only because its row was found gone, or it was deleted elsewhere: comes back when a merge tells that it is there again.
    static let missing = Flags(rawValue: 1 << 25)
    /// An observer is to be notified when a property changes that it has read.
    static let observed = Flags(rawValue: observedBit)
    @inlinable static var observedBit: UInt32 { 1 << 23 }
    /// An object that is being deleted: while its `prepareForDeletion()` runs, and a new one until it has gone. Only while `delete(_:)` runs.
    static let leaving = Flags(rawValue: 1 << 26)
    /// A new object that was deleted, until a did-change notification has reported it.
    static let departed = Flags(rawValue: 1 << 27)
    /// In no context, but related to others in none: see `LooseObjects`.
    static let loose = Flags(rawValue: looseBit)
    @inlinable static var looseBit: UInt32 { 1 << 28 }

    /// The draft belongs to what children may see of an event that is over: it is copied before the object is edited.
    static let draftShared = Flags(rawValue: 1 << 29)
    /// Noted for the next did-change notification, and finished for children as it is.
    static let flushed = Flags(rawValue: 1 << 30)
    /// Setters call the class before and after each change: see `ChangeOverrides`. From birth on, of all objects whose entity asks for it.
    static let announcing = Flags(rawValue: 1 << 31)
    /// A setter has somebody to tell.
    static let observedOrAnnouncing: Flags = [.observed, .announcing]

    /// An object in one of these states is kept by its context.
    static let pending: Flags = [
      .inserted, .updated, .deleted, .notedInsert, .notedUpdate, .notedDelete, .notedRefresh, .locked,
      .inFlight, .loose,
    ]
    /// What the context itself has changed and not saved, a save that is under way included.
    static let ownChange: Flags = [.inserted, .updated, .deleted, .inFlight]
    static let received: Flags = [.receivedInsert, .receivedUpdate, .receivedDelete]
    /// There is something to save, by whomever.
    static let unsaved = Flags(rawValue: unsavedBits)
    /// `inserted`, `updated`, `deleted`, and the three that are received.
    @inlinable static var unsavedBits: UInt32 { 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15 | 1 << 16 }
    static let anyInserted: Flags = [.inserted, .receivedInsert]
    static let anyDeleted: Flags = [.deleted, .receivedDelete, .flyingDelete, .departed]
    /// As what hooks and everyone else sees an object.
    static let shownDeleted = anyDeleted.union(.leaving)
    static let shownChanged = unsaved.union(.leaving)
    static let noted: Flags = [.notedInsert, .notedUpdate, .notedDelete, .notedRefresh]
    static let notedOrFlushed = noted.union(.flushed)
    /// Changes, and that lists have entries for them.
    static let listedChange: Flags = [
      .inserted, .updated, .deleted, .listedInserted, .listedUpdated, .listedDeleted,
    ]
  }

  // MARK: Questions

  @inline(__always)
  func contains(_ flag: Flags) -> Bool { flags.contains(flag) }
  @inline(__always)
  func isDisjoint(with others: Flags) -> Bool { flags.isDisjoint(with: others) }
  func isSuperset(of others: Flags) -> Bool { flags.isSuperset(of: others) }

  /// Whether an edit changes nothing but the value: the object counts as changed and as noted in this event.
  var isBeingEdited: Bool {
    flags.rawValue & (Flags.notedInsert.rawValue | Flags.notedUpdate.rawValue) != 0
      && flags.rawValue & (Flags.inserted.rawValue | Flags.updated.rawValue) != 0
      && flags.rawValue
        & (Flags.fault.rawValue | Flags.awaking.rawValue | Flags.deleted.rawValue | Flags.observed.rawValue
          | Flags.draftShared.rawValue | Flags.flushed.rawValue | Flags.announcing.rawValue) == 0
  }

  /// Whether nothing leads to the object any more, although references to it may be pending.
  var isDeletedByBatch: Bool { isSuperset(of: [.deleted, .rowGone, .batchDeleted]) }

  // MARK: Objects that begin

  /// A fault of a record that is in a store. `announces` where setters call the class.
  @inline(__always)
  static func newFault(announces: Bool) -> ObjectState {
    ObjectState(
      flags: Flags(rawValue: Flags.fault.rawValue | (announces ? Flags.announcing.rawValue : 0)))
  }

  /// Nothing is known of the object but its class: whoever forgets all else keeps this.
  mutating func forgetAll() { flags.formIntersection(.announcing) }

  /// A fault in no context that never fires.
  mutating func becomeProbe() {
    forgetAll()
    flags.formUnion([.fault, .probe])
  }

  /// The object is about to be new once more.
  /// - Parameter isListed: the tracker's list of inserted objects still has an entry for it.
  mutating func beginAnew(isListed: Bool, keeping kept: Flags = []) {
    flags.formIntersection(kept.union(.announcing))
    if isListed { flags.insert(.listedInserted) }
  }

  // MARK: Faults

  mutating func becomeFault() { flags.insert(.fault) }
  mutating func endFault() { flags.remove(.fault) }
  mutating func beginAwaking() { flags.insert(.awaking) }
  mutating func endAwaking() { flags.remove(.awaking) }

  // MARK: Changes and their lists; only the tracker counts them

  mutating func insert() { flags.formUnion([.inserted, .listedInserted]) }
  mutating func update() { flags.formUnion([.updated, .listedUpdated]) }
  mutating func delete() { flags.formUnion([.deleted, .listedDeleted]) }
  /// New, and reported as new.
  mutating func insertNoted() { flags.formUnion([.inserted, .listedInserted, .notedInsert]) }
  mutating func uninsert() { flags.remove(.inserted) }
  mutating func unupdate() { flags.remove(.updated) }
  mutating func undelete() { flags.subtract([.deleted, .missing]) }

  /// The list of such changes loses its entry.
  mutating func unlist(_ kind: StratumRow.Kind) {
    switch kind {
    case .insert: flags.remove(.listedInserted)
    case .update: flags.remove(.listedUpdated)
    case .delete: flags.remove(.listedDeleted)
    }
  }

  /// The change is saved or given up.
  mutating func settle(_ kind: StratumRow.Kind) {
    switch kind {
    case .insert: flags.subtract([.inserted, .listedInserted])
    case .update: flags.subtract([.updated, .listedUpdated])
    case .delete: flags.subtract([.deleted, .listedDeleted])
    }
  }

  mutating func settleAll() { flags.subtract(.listedChange) }
  mutating func lock() { flags.insert(.locked) }
  mutating func unlock() { flags.remove(.locked) }

  // MARK: Notes for the next did-change notification

  /// As what an object is reported.
  enum Note { case insert, update, delete, refresh }

  @inline(__always)
  mutating func note(_ what: Note) {
    switch what {
    case .insert: flags.insert(.notedInsert)
    case .update: flags.insert(.notedUpdate)
    case .delete: flags.insert(.notedDelete)
    case .refresh: flags.insert(.notedRefresh)
    }
  }

  /// What comes in the place of these notes is a deletion, noted next.
  mutating func forgetNotes() { flags.subtract([.notedInsert, .notedUpdate, .notedRefresh]) }
  mutating func forgetNoteOfDeletion() { flags.remove(.notedDelete) }
  /// The event is over; that a new object has gone is left to be reported.
  mutating func endEvent() { flags.subtract(.notedOrFlushed) }
  /// Noted, and finished for children as it is.
  mutating func flush() { if !flags.isDisjoint(with: .noted) { flags.insert(.flushed) } }
  mutating func touch() { flags.remove(.flushed) }
  /// An object that is being deleted.
  mutating func beginLeaving() { flags.insert(.leaving) }
  mutating func endLeaving() { flags.remove(.leaving) }
  /// It has been deleted.
  mutating func depart() { flags.insert(.departed) }
  /// That has been reported.
  mutating func endDeparture() { flags.remove(.departed) }

  // MARK: The row

  mutating func standOnStoredRow() { flags.subtract([.unsavedRow, .unstored]) }
  mutating func standOnUnsavedRow() { flags.insert(.unsavedRow) }
  mutating func becomeUnstored() { flags.insert(.unstored) }
  mutating func becomeStored() { flags.remove(.unstored) }
  mutating func loseRow() { flags.insert(.rowGone) }
  mutating func regainRow() { flags.subtract([.rowGone, .batchDeleted]) }
  /// The object is deleted here, too, only because its row is gone.
  mutating func becomeMissing(byBatch: Bool) {
    flags.insert(.missing)
    if byBatch { flags.insert(.batchDeleted) } else { flags.remove(.batchDeleted) }
  }

  /// The object is to be read again, whatever was done to it here or by children.
  mutating func refresh() {
    flags.subtract([.notedUpdate, .notedDelete, .rowGone, .receivedUpdate, .receivedDelete])
    standOnStoredRow()
  }

  // MARK: What children have saved

  mutating func receive(_ kind: StratumRow.Kind) {
    endReceived()
    switch kind {
    // One that a save under way deletes has come back.
    case .insert:
      flags.insert(.receivedInsert)
      flags.remove(.flyingDelete)
    case .update:
      flags.insert(.receivedUpdate)
      flags.remove(.flyingDelete)
    case .delete: flags.insert(.receivedDelete)
    }
  }

  /// It is the context's own, handed down, or given up.
  mutating func endReceived() { flags.subtract(.received) }

  // MARK: Saves that are under way

  /// From here on the object is in flight and in no list.
  mutating func takeOff(_ kind: StratumRow.Kind, hasDraft: Bool) {
    var next = flags.subtracting(.listedChange)
    next.insert(.inFlight)
    switch kind {
    case .insert: next.formUnion([.draftFrozen, .unstored])
    case .update: if hasDraft { next.insert(.draftFrozen) }
    case .delete: next.insert(.flyingDelete)
    }
    flags = next
  }

  /// What a child had saved of the object is in the save: it is beneath what is done from now on.
  mutating func takeOffReceived() {
    if flags.contains(.receivedDelete) { flags.insert(.flyingDelete) }
    endReceived()
  }

  mutating func beginFlyingDelete() { flags.insert(.flyingDelete) }
  mutating func endFlyingDelete() { flags.remove(.flyingDelete) }

  /// The save is over.
  mutating func land() { flags.subtract([.inFlight, .flyingDelete, .draftFrozen]) }

  /// The save has failed. What was captured of the object is pending again, and shares the draft.
  mutating func comeBack() {
    if flags.contains(.draftFrozen) { flags.insert(.draftShared) }
    land()
  }

  // MARK: Drafts

  mutating func shareDraft() { flags.insert(.draftShared) }
  mutating func freezeDraft() { flags.insert(.draftFrozen) }
  mutating func thawDraft() { flags.remove(.draftFrozen) }
  /// The draft is the object's alone.
  @inline(__always)
  mutating func ownDraft() { flags.remove(.draftShared) }

  // MARK: Observers, objects in no context

  mutating func beginObserved() { flags.insert(.observed) }
  mutating func endObserved() { flags.remove(.observed) }
  /// The object is of an entity from now on whose class is to be called, or not.
  mutating func announce(_ announces: Bool) {
    if announces { flags.insert(.announcing) } else { flags.remove(.announcing) }
  }
  mutating func becomeLoose() { flags.insert(.loose) }
  mutating func endLoose() { flags.remove(.loose) }
}
