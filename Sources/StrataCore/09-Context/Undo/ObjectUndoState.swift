/// What one object was before an event changed it: what undo puts back.
///
///     first change ──▶ init: the whole state (drafts are copied, rows are shared)
///     end of event ──▶ seal: what has become of it; of an object that stayed, only the values that differ are kept
///     undo, redo   ──▶ putBack
///
/// An object is *present* when it is in its context and not deleted. An event takes it from present or gone to present or gone,
/// and undo brings it back there, whatever a save has made of it meanwhile. Lives on the context's queue; keeps its object.
struct ObjectUndoState {
  let object: ManagedObject
  private let wasPresent: Bool
  /// Nothing of it was unsaved.
  private let wasClean: Bool
  /// How many saves the context had made.
  private let saveCount: Int
  /// Where the record belongs.
  private let home: BoundEntity
  private let primaryKey: UInt64
  /// Until the end of the event, and afterwards if the object has gone.
  private var whole: Whole?
  /// The values that an object that stayed had before.
  private var values: [Value] = []
  private var transients: [(slot: Int, value: Any?)] = []
  private var relations: RelationUndoState

  private struct Whole {
    var draft: RowDraft?
    var snapshot: RowSnapshot?
    var transients: [Int: Any]?
    /// Values too large for the row: the store forgets them when the deletion is saved.
    var largeValues: [Int: AttributeValue] = [:]
    /// Of a record that was to be written again: what its versions count on from.
    var lostVersion: UInt32?
  }

  private struct Value {
    let slot: Int
    let value: AttributeValue
    /// Where a large value was: while the row says the same, the slot need not be written again.
    let reference: ExternalReference?
    let wasPrimitive: Bool
  }

  // MARK: Capturing

  /// `object`, which has nothing of a child's that it has not made its own, is about to change.
  init(before object: ManagedObject, in context: ManagedObjectContext, saveCount: Int) {
    self.init(
      object, wasPresent: object.isPresent(in: context), saveCount: saveCount,
      wasClean: object.state.isDisjoint(with: [.inserted, .updated]),
      Whole(
        draft: object.draft?.copy(object.home.layout), snapshot: object.snapshot,
        transients: object.transients,
        lostVersion: context.saving.lostVersions.isEmpty ? nil : context.saving.lostVersions[object.objectID])
    )
  }

  /// `object` is about to be inserted.
  init(absent object: ManagedObject, saveCount: Int) {
    self.init(object, wasPresent: false, saveCount: saveCount, wasClean: false, nil)
  }

  /// `object` shows what a child has done to it: before that it was like `row`, without edits, or did not exist.
  init(_ object: ManagedObject, unedited row: RowSnapshot?, saveCount: Int) {
    self.init(
      object, wasPresent: row != nil, saveCount: saveCount, wasClean: true, Whole(draft: nil, snapshot: row))
  }

  private init(
    _ object: ManagedObject, wasPresent: Bool, saveCount: Int, wasClean: Bool, _ whole: Whole?
  ) {
    self.object = object
    self.wasPresent = wasPresent
    self.saveCount = saveCount
    self.wasClean = wasClean
    self.whole = whole
    relations = whole == nil ? RelationUndoState() : RelationUndoState(before: object)
    home = object.home
    primaryKey = object.primaryKey
  }

  /// A newer stored row has come beneath the object. Undo does not bring back what that has changed, unless it was edited here.
  mutating func moveBase(to row: RowSnapshot) {
    if whole?.draft?.isSilent ?? true, whole?.snapshot != nil { whole?.snapshot = row }
  }

  /// What had been done to a member, or to all for nil, was dropped. Undo is not asked to bring it back.
  mutating func forget(_ member: UInt64?, _ relationship: RelationshipSchema) {
    relations.forget(member, relationship)
  }

  /// The same of an edited reference. Answers what that led to, 0 for nothing.
  func forgetReference(_ slot: Int, isKept: Bool) -> UInt64 {
    guard let draft = whole?.draft, draft.isChanged(slot) else { return 0 }
    let bits = draft[slot].referenceBits
    if !isKept { draft.clear(slot) }
    return bits
  }

  /// The object went, and is to return.
  var returns: Bool { wasPresent && whole != nil }

  /// Nothing of the object itself has changed, but who refers to it: undone together with those.
  var isAlongside: Bool {
    wasPresent && whole == nil && values.isEmpty && transients.isEmpty && relations.isEmpty
  }

  /// The object is the record that it was: it has not been inserted anew, nor been given to another store.
  private var isInPlace: Bool {
    object.primaryKey == primaryKey && object.home.storeIndex == home.storeIndex
  }

  /// Whether the object was there before the event, and has left its place.
  func hasLeft(_ context: ManagedObjectContext) -> Bool {
    wasPresent && !(object.isPresent(in: context) && isInPlace)
  }

  /// The event is over: keeps what undo needs. False when there is nothing to undo.
  ///
  /// - Parameter ahead: Who leads to objects that went, as far as that has been asked together.
  mutating func seal(in context: ManagedObjectContext, _ ahead: HiddenOwners? = nil) -> Bool {
    let isPresent = object.isPresent(in: context)
    guard wasPresent else {
      whole = nil
      return isPresent
    }
    // It was a fault: the row that has been read since is what it was.
    if whole?.draft == nil, whole?.snapshot == nil { whole?.snapshot = object.snapshot }
    if isPresent, isInPlace { return keepDifferences() }
    completeRow(ahead)
    return true
  }

  /// The object stayed.
  private mutating func keepDifferences() -> Bool {
    guard let before = whole else { return false }
    whole = nil
    // Refreshed since: its edits are gone, and undo is not asked to bring them back. Relationships of a fault may have changed.
    if object.isFault {
      relations.keepDifferences(of: object)
      return relations.hasChanged
    }
    let (old, new) = (before.draft, object.draft)
    var slots = old?.changed ?? SlotBitmap()
    if let new { slots.formUnion(new.changed) }
    slots.forEach { slot in
      let value = value(slot, of: before)
      let wasPrimitive = old?.primitive.contains(slot) == true
      if wasPrimitive == (new?.primitive.contains(slot) == true),
        ManagedObject.isSame(value, object.storedValue(slot))
      {
        return
      }
      let isEdit = old?.isChanged(slot) == true
      values.append(
        Value(
          slot: slot, value: value,
          reference: isEdit ? nil : before.snapshot?.externalReference(slot, home.layout),
          wasPrimitive: wasPrimitive))
    }
    let slotsOfTransients = Set((before.transients ?? [:]).keys).union((object.transients ?? [:]).keys)
    for slot in slotsOfTransients where slot >= 0 {
      let value = before.transients?[slot]
      if !isSame(value, object.transients?[slot], slot) { transients.append((slot, value)) }
    }
    relations.keepDifferences(of: object)
    return !values.isEmpty || !transients.isEmpty || relations.hasChanged
  }

  /// The object went: everything it was made of is kept, because its row may go as well.
  private mutating func completeRow(_ ahead: HiddenOwners?) {
    guard var before = whole else { return }
    relations.keepAll(of: object, ahead)
    let (state, transients) = (object.state, object.transients)
    let isUnread = object.isFault && object.snapshot == nil && before.draft == nil && before.snapshot == nil
    if isUnread {
      switch object.loadRow() {
      case .found: before.snapshot = object.snapshot
      case .gone: break
      case .unreadable(let error): object.context?.report(error, reading: object)
      }
    }
    if let row = before.snapshot {
      home.persistentSlots.forEach { slot in
        if before.draft?.isChanged(slot) != true, row.value(slot, home.layout) == nil {
          before.largeValues[slot] = object.storedValue(slot, in: row)
        }
      }
    }
    whole = before
    // A deletion of an unread object is not affected by what others save: it stays unread.
    if isUnread, object.context != nil {
      object.snapshot = nil
      object.state = state
      object.transients = transients
    }
  }

  private func value(_ slot: Int, of state: Whole) -> AttributeValue {
    if let draft = state.draft, draft.isChanged(slot) { return draft[slot] }
    return state.snapshot.map { object.storedValue(slot, in: $0) } ?? .null
  }

  /// Whether two values of a transient attribute are known to be the same.
  private func isSame(_ left: Any?, _ right: Any?, _ slot: Int) -> Bool {
    guard let left, let right else { return left == nil && right == nil }
    if left is ExplicitNil || right is ExplicitNil { return left is ExplicitNil && right is ExplicitNil }
    // What is remembered of values that cannot be stored is known nowhere else.
    if object.isRefused(slot) || object.isObjectedTo(slot) { return false }
    let type = home.entity.attributes[slot].type
    if type != .undefined, type != .transformable {
      return ManagedObject.isSame(AttributeValue(left, type: type), AttributeValue(right, type: type))
    }
    if let left = left as? AnyHashable, let right = right as? AnyHashable { return left == right }
    return false
  }

  // MARK: Putting back

  /// Whether this needs what a save that is under way is about to decide.
  var waitsForSave: Bool { wasPresent && object.state.contains(.flyingDelete) }

  /// Whether that takes the object out of the context, or deletes it.
  func takesOut(in context: ManagedObjectContext) -> Bool { !wasPresent && object.isPresent(in: context) }

  /// Makes the object what it was. Answers what `awake(fromSnapshotEvents:)` is to be told; nil when there is nothing to do, or
  /// no place for the object any more.
  func putBack(in context: ManagedObjectContext, _ listed: inout ListedInserted) -> SnapshotEventType? {
    guard context.coordinator.binding(home.storeIndex) != nil else { return nil }
    guard object.context == nil || object.context === context else { return nil }
    if object.context === context { context.willChange(object) } else { context.willInsert(object) }
    let isPresent = object.isPresent(in: context)
    if !wasPresent {
      if !isPresent { return nil }
      object.tellOwners(isMember: false)
      context.takeOut(object, by: context.undoStep)
      return .undoInsertion
    }
    if let whole {
      if isPresent, isInPlace { return nil }
      if isPresent {
        object.tellOwners(isMember: false)
        context.takeOut(object, by: context.undoStep)
      }
      return bringBack(whole, in: context, &listed) ? .undoDeletion : nil
    }
    return isPresent && putBackValues(in: context) ? .undoUpdate : nil
  }

  /// Everything that returns is back: the object, if it is written again, belongs to those that led to it without its knowing.
  func putBackOwners(in context: ManagedObjectContext) {
    if object.context === context, object.isMarkedInserted {
      relations.putBackOwners(of: object, in: context)
    }
  }

  /// The record that went, and that undo of this brings back.
  var deleted: BatchFaulting.RowAddress? {
    guard returns else { return nil }
    let table = StratumLayer.Table(storeIndex: home.storeIndex, hierarchy: home.hierarchyNumber)
    return BatchFaulting.RowAddress(table: table, key: primaryKey)
  }

  /// The object has gone, and returns.
  private func bringBack(_ whole: Whole, in context: ManagedObjectContext, _ listed: inout ListedInserted)
    -> Bool
  {
    if object.context === context, object.state.contains(.deleted), isInPlace {
      context.changes.undelete(object)
      if !object.state.contains(.rowGone) {
        putBackEdits(whole, in: context)
        // Members that were deleted with it have left, and may have stood in an order.
        relations.putBack(object)
        context.changes.note(object, .insert)
        context.noteFirstEdit()
        return true
      }
      context.changes.unupdate(object)
      context.letGo(object)
    }
    guard whole.draft != nil || whole.snapshot != nil else { return false }
    let isBack = context.insertAgain(
      object, home, primaryKey, draft: completeDraft(whole),
      transients: whole.transients?.filter { $0.key >= 0 },
      lostVersion: [whole.snapshot?.version, object.snapshot?.version, whole.lostVersion].compactMap(\.self)
        .max(), &listed)
    guard isBack else { return false }
    object.relations = nil
    relations.putBack(object)
    return true
  }

  /// The deletion was not saved: the row is there, only the edits of the same event have to be taken back.
  private func putBackEdits(_ whole: Whole, in context: ManagedObjectContext) {
    var transients = object.transients?.filter { $0.key < 0 } ?? [:]
    transients.merge(whole.transients?.filter { $0.key >= 0 } ?? [:]) { $1 }
    object.transients = transients.isEmpty ? nil : transients
    // What is being saved has not been edited since, or it would not be frozen.
    if object.state.contains(.draftFrozen) { return }
    object.draft = whole.draft?.copy(home.layout)
    if object.draft?.primitive.isEmpty == false { object.edits = nil }
    if wasClean { context.changes.unupdate(object) }
    object.settleFastRow()
  }

  /// Every value, for a record that is written again.
  private func completeDraft(_ whole: Whole) -> RowDraft {
    if whole.snapshot == nil, let draft = whole.draft { return draft.copy(home.layout) }
    let draft = home.makeDraft()
    home.persistentSlots.forEach { slot in
      if let edited = whole.draft, edited.isChanged(slot) {
        draft[slot] = edited[slot]
      } else {
        draft[slot] = whole.largeValues[slot] ?? whole.snapshot?.value(slot, home.layout) ?? .null
      }
    }
    return draft
  }

  /// The object stayed, and has its values back. No setter is called (rule 238).
  private func putBackValues(in context: ManagedObjectContext) -> Bool {
    object.fire()
    guard object.isPresent(in: context) else { return false }
    let isInFlight = object.state.contains(.inFlight)
    if !values.isEmpty {
      let draft = object.editableDraft()
      if object.state.isDisjoint(with: [.notedInsert, .notedUpdate]) { draft.eventChanged = SlotBitmap() }
      for old in values {
        if let relationship = home.entity.relationship(slot: old.slot) {
          object.adoptMembership(
            relationship, from: object.reference(relationship), to: old.value.referenceBits)
        }
        draft[old.slot] = old.value
        draft.eventChanged.insert(old.slot)
        if old.wasPrimitive { draft.primitive.insert(old.slot) } else { draft.primitive.remove(old.slot) }
        // What lies beneath an edit of a record that is being saved is not what the record's row will say.
        if let reference = old.reference, !isInFlight,
          object.snapshot?.externalReference(old.slot, home.layout) == reference
        {
          draft.clear(old.slot)
        }
      }
      if !draft.primitive.isEmpty { object.edits = nil }
    }
    if !transients.isEmpty {
      var all = object.transients ?? [:]
      for old in transients {
        if let relationship = home.entity.relationship(slot: old.slot) {
          object.adoptMembership(
            relationship, from: object.reference(relationship), to: old.value as? UInt64 ?? 0)
        }
        all[old.slot] = old.value
      }
      object.transients = all
    }
    relations.putBack(object)
    if values.isEmpty { object.noteChangeBesideValues() } else { object.noteChange() }
    let wasSavedSince = context.undoRecorder?.saveCount != saveCount
    if wasClean, !isInFlight, transients.isEmpty || !wasSavedSince, !relations.hasChanged {
      becomeClean(in: context)
    }
    return true
  }

  /// The object was clean: it is again, if it looks as it was saved.
  func becomeClean(in context: ManagedObjectContext) {
    guard object.state.isDisjoint(with: [.inserted, .inFlight]), object.relations?.hasChanges != true else {
      return
    }
    if let draft = object.draft {
      var differing = object.slotsThatDiffer
      draft.primitive.forEach { differing.remove($0) }
      if !differing.isEmpty { return }
      if draft.primitive.isEmpty {
        object.draft = nil
      } else {
        let own = object.editableDraft()
        own.changed.forEach { if !own.primitive.contains($0) { own.clear($0) } }
        if own.changed.isEmpty { object.draft = nil }
      }
    }
    context.changes.unupdate(object)
    object.settleFastRow()
  }
}

extension ObjectUndoState {
  /// Everything of the event has been put back: relationships that are what they were are no change.
  func settleRelations(in context: ManagedObjectContext) {
    guard relations.hasChanged, object.isPresent(in: context) else { return }
    relations.putBackOrder(object, isSaved: context.undoRecorder?.saveCount != saveCount)
    object.forgetUndoneRelations()
    if object.relations?.hasChanges == true { object.noteRelationChange() }
    if wasClean, context.undoRecorder?.saveCount == saveCount || transients.isEmpty {
      becomeClean(in: context)
    }
  }
}

extension AttributeValue {
  /// What a reference leads to, 0 for nothing.
  fileprivate var referenceBits: UInt64 {
    if case .reference(let bits) = self { return bits }
    return 0
  }
}

/// The new objects that a context's tracker still lists, looked up when the first object that may be among them returns.
struct ListedInserted {
  private var identifiers: Set<ObjectIdentifier>?

  mutating func contains(_ object: ManagedObject, _ changes: borrowing ChangeTracker) -> Bool {
    guard object.state.contains(.listedInserted) else { return false }
    let known = identifiers ?? changes.identifiersOfListedInserted
    identifiers = known
    return known.contains(ObjectIdentifier(object))
  }
}

extension ManagedObject {
  /// In `context`, and not deleted.
  final func isPresent(in context: ManagedObjectContext) -> Bool {
    self.context === context && state.isDisjoint(with: .anyDeleted)
  }
}
