import CLMDBShim

/// Which objects of a context have unsaved changes, and which changes the next did-change notification reports.
///
/// Each list only grows until a save: an object that leaves a state leaves its entry behind, and readers skip entries whose
/// object is no longer in the state. So every change of state is constant time, whatever the number of changed objects.
/// Lives on the context's queue.
struct ChangeTracker: ~Copyable {
  private var insertedList: [ManagedObject] = []
  private var updatedList: [ManagedObject] = []
  private var deletedList: [ManagedObject] = []
  /// Objects whose state has a `noted…` bit, but for those at the end of `insertedList`.
  private var notedList: [ManagedObject] = []
  /// From here on `insertedList` holds what was inserted in this event.
  private var eventStart = 0
  /// From here on the two lists hold what is noted and not finished for children.
  private var firstUnflushedNote = 0
  private var firstUnflushedInsert = 0
  /// Noted objects that have changed since they were finished for children.
  private var retouched: [ManagedObject] = []
  private(set) var insertedCount = 0
  private(set) var updatedCount = 0
  private(set) var deletedCount = 0
  /// How many of the deleted objects are so only because their rows are gone, and have no edits.
  private(set) var missingCount = 0
  /// Whose changes these are. Unmanaged: the context owns the tracker. An object that was inserted here, deleted and inserted
  /// into another context stays in a list until the next save: it is not this context's any more.
  var owner: Unmanaged<ManagedObjectContext>?
  /// Grows with everything that can change what a save would write, but for further edits of an object whose edit is noted
  /// and not told yet.
  private(set) var editCount = 0
  /// Objects that have lost members to a deletion under the rule *no action*, and count as unchanged all the same.
  private(set) var silentlyUntied: [ManagedObject] = []
  /// New records that have gone since the last save, deleted by a child or, where there are children, here: other contexts may still lead something to them,
  /// not knowing.
  private(set) var gone: [StratumLayer.Place: BoundEntity] = [:]
  /// Those of earlier saves: a child that lives since then may lead something to one of them only now.
  private var goneEarlier: Set<StratumLayer.Place> = []
  /// Objects for which `detectConflicts(for:)` was called.
  var locked: [ManagedObject] = []
  /// Told of each object that begins to have changes, but for one that is new for the first time. Must not look at the tracker, nor let go of objects.
  var whenChanged: ((ManagedObject) -> Void)?

  /// Whether there is anything to save.
  var hasChanges: Bool { insertedCount + updatedCount + deletedCount > 0 }
  /// Whether there is anything to notify of.
  var hasNoted: Bool { !notedList.isEmpty || eventStart < insertedList.count }

  /// New objects, in the order of their insertion.
  var inserted: [ManagedObject] {
    insertedList.count == insertedCount
      ? insertedList
      : insertedList.filter { isInserted($0) }
  }
  /// Edited objects, in the order of their first edit.
  var updated: [ManagedObject] {
    updatedList.count == updatedCount
      ? updatedList
      : updatedList.filter { isUpdated($0) }
  }
  /// Deleted objects, in the order of their deletion.
  var deleted: [ManagedObject] {
    deletedList.count == deletedCount ? deletedList : deletedList.filter { isDeleted($0) }
  }

  /// Whether all there is to save are deletions of objects whose rows are gone.
  var hasOnlyMissing: Bool {
    missingCount > 0 && missingCount == deletedCount && insertedCount + updatedCount == 0
  }

  /// New objects that have left the context since the last save.
  var withdrawn: [ManagedObject] {
    insertedList.count == insertedCount
      ? [] : insertedList.filter { !$0.state.contains(.inserted) && $0.contextReference == nil }
  }

  // MARK: State changes

  /// The context leaves its coordinator: places mean other records from now on.
  mutating func forgetGone() {
    gone = [:]
    goneEarlier = []
  }

  /// `object` is about to change, or has: if it was finished for children as it was, it is not any more.
  mutating func touch(_ object: ManagedObject) {
    guard object.state.contains(.flushed) else { return }
    object.state.touch()
    retouched.append(object)
  }

  /// `object` has lost a member to a deletion under the rule *no action*: only a rollback asks.
  mutating func noteSilentlyUntied(_ object: ManagedObject) { silentlyUntied.append(object) }

  /// A new record has gone, and no store will ever hold it.
  mutating func noteGone(_ home: BoundEntity, _ primaryKey: UInt64) { gone[home.place(primaryKey)] = home }

  /// The record is a new one again.
  mutating func noteBack(_ place: StratumLayer.Place) {
    if !gone.isEmpty { gone[place] = nil }
    if !goneEarlier.isEmpty { goneEarlier.remove(place) }
  }

  /// Whether new records had gone before the last save.
  var remembersGone: Bool { !goneEarlier.isEmpty }

  /// A child leads something to a record that may have gone before the last save: then it counts as one that has gone since, which the next save lets go of.
  mutating func recallGone(_ home: BoundEntity, _ primaryKey: UInt64) {
    if goneEarlier.remove(home.place(primaryKey)) != nil { noteGone(home, primaryKey) }
  }

  /// The records that have gone are remembered beyond the save, as far as `mostGoneEarlier` permits. Which of them went first is not known: all earlier ones are forgotten at once.
  private mutating func rememberGone() {
    if goneEarlier.count + gone.count > Self.mostGoneEarlier { goneEarlier = [] }
    goneEarlier.formUnion(gone.keys.prefix(Self.mostGoneEarlier))
    gone = [:]
  }

  /// Some hundred kilobytes.
  private static var mostGoneEarlier: Int { 16_384 }

  /// Something a save writes has changed although it is not reported.
  mutating func countEdit() { editCount &+= 1 }

  /// `object` is new.
  mutating func insert(_ object: ManagedObject) {
    editCount &+= 1
    insertedCount += 1
    if object.state.contains(.listedInserted) {
      object.state.insert()
      note(object, .insert)
      whenChanged?(object)
    } else {
      object.state.insertNoted()
      insertedList.append(object)
    }
  }

  /// `object`, whose row is gone, is to be written again. It is not reported: it was here all the time.
  mutating func reinsert(_ object: ManagedObject) {
    editCount &+= 1
    touch(object)
    unupdate(object)
    countInserted(object)
  }

  /// `object` was to be written again, but its row is back: it counts as edited.
  mutating func unreinsert(_ object: ManagedObject) {
    editCount &+= 1
    touch(object)
    object.state.uninsert()
    insertedCount -= 1
    countUpdated(object)
  }

  /// What a child did to `object` counts as done here. It is not reported again.
  mutating func adopt(_ object: ManagedObject, as kind: StratumRow.Kind) {
    editCount &+= 1
    touch(object)
    switch kind {
    case .insert:
      countInserted(object)
      // The end of the list is for what was inserted in this event.
      if !object.state.contains(.notedInsert), eventStart == insertedList.count - 1 {
        eventStart = insertedList.count
      }
    case .update: countUpdated(object)
    case .delete: countDeleted(object)
    }
  }

  @inline(__always)
  private mutating func countInserted(_ object: ManagedObject) {
    insertedCount += 1
    if !object.state.contains(.listedInserted) { insertedList.append(object) }
    object.state.insert()
    whenChanged?(object)
  }

  @inline(__always)
  private mutating func countUpdated(_ object: ManagedObject) {
    updatedCount += 1
    if !object.state.contains(.listedUpdated) { updatedList.append(object) }
    object.state.update()
    whenChanged?(object)
  }

  @inline(__always)
  private mutating func countDeleted(_ object: ManagedObject) {
    deletedCount += 1
    if isMissing(object) { missingCount += 1 }
    if !object.state.contains(.listedDeleted) { deletedList.append(object) }
    object.state.delete()
    whenChanged?(object)
  }

  /// `object` has been edited.
  mutating func update(_ object: ManagedObject) {
    editCount &+= 1
    touch(object)
    // An object that goes stays one that goes, and so does one whose deletion is being saved.
    if object.state.contains(.flyingDelete) { return }
    if object.state.isDisjoint(with: [.inserted, .updated, .deleted]) {
      countUpdated(object)
    } else if object.state.contains(.deleted), !object.state.contains(.updated) {
      keepEdit(ofDeleted: object)
    }
    // An object inserted in this event is only in the inserted set (rule 123).
    if object.state.isDisjoint(with: [.notedInsert, .notedUpdate, .deleted]) { note(object, .update) }
  }

  /// An edit of an object that is to be deleted is no change of its own. It becomes one when the object stays after all.
  private mutating func keepEdit(ofDeleted object: ManagedObject) {
    if isMissing(object) { missingCount -= 1 }
    if !object.state.contains(.listedUpdated) { updatedList.append(object) }
    object.state.update()
  }

  /// `object`, which is not new, is to be deleted.
  mutating func delete(_ object: ManagedObject) {
    editCount &+= 1
    touch(object)
    if object.state.contains(.deleted) { return }
    if object.state.contains(.updated) { updatedCount -= 1 }
    countDeleted(object)
    object.state.forgetNotes()
    note(object, .delete)
  }

  /// `object` is no longer to be deleted. Its edits, if any, count again.
  mutating func undelete(_ object: ManagedObject) {
    editCount &+= 1
    touch(object)
    guard object.state.contains(.deleted) else { return }
    if isMissing(object) { missingCount -= 1 }
    object.state.undelete()
    deletedCount -= 1
    if object.state.contains(.updated) { updatedCount += 1 }
  }

  @inline(__always)
  private func isMissing(_ object: ManagedObject) -> Bool {
    object.state.contains(.missing) && !object.state.contains(.updated)
  }

  /// These objects, which are all that are deleted, are missing: nothing is left to be saved of them.
  mutating func forget(missing gone: [ManagedObject]) {
    editCount &+= 1
    for object in gone {
      touch(object)
      object.state.undelete()
      object.state.unlist(.delete)
      object.state.unlist(.update)
    }
    deletedList.removeAll { !$0.state.contains(.listedDeleted) }
    updatedList.removeAll { !$0.state.contains(.listedUpdated) }
    (deletedCount, missingCount) = (0, 0)
  }

  /// `object` is no longer new: its insertion was taken back.
  mutating func uninsert(_ object: ManagedObject) {
    editCount &+= 1
    touch(object)
    guard object.state.contains(.inserted) else { return }
    object.state.uninsert()
    insertedCount -= 1
    // Its end is reported, also when its insertion was not.
    object.state.forgetNotes()
    note(object, .delete)
    object.state.depart()
  }

  /// `object` has no edits left.
  mutating func unupdate(_ object: ManagedObject) {
    editCount &+= 1
    touch(object)
    guard object.state.contains(.updated) else { return }
    object.state.unupdate()
    if !object.state.contains(.deleted) { updatedCount -= 1 } else if isMissing(object) { missingCount += 1 }
  }

  /// The next did-change notification reports `object`.
  mutating func note(_ object: ManagedObject, _ what: ObjectState.Note) {
    editCount &+= 1
    touch(object)
    if object.state.isDisjoint(with: .noted) { notedList.append(object) }
    object.state.note(what)
  }

  // MARK: Taking stock

  /// The objects that the next did-change notification reports as inserted, updated or deleted, but for new ones that are gone.
  var noted: [ManagedObject] {
    (notedList + insertedList[eventStart...]).filter {
      !$0.state.isDisjoint(with: [.notedInsert, .notedUpdate, .notedDelete]) && !$0.state.contains(.departed)
    }
  }

  /// What the next did-change notification tells; forgets it.
  mutating func takeNoted() -> [ManagedObject] {
    defer {
      notedList = []
      eventStart = insertedList.count
      firstUnflushedNote = 0
      firstUnflushedInsert = 0
      retouched = []
    }
    if eventStart == insertedList.count { return notedList }
    // The common case of a large import: everything in the context was inserted in one event.
    if notedList.isEmpty && eventStart == 0 { return insertedList }
    return notedList + insertedList[eventStart...]
  }

  /// Whether something noted was finished for children before it was reported.
  var hasFlushed: Bool { firstUnflushedNote > 0 || firstUnflushedInsert > 0 || !retouched.isEmpty }

  /// What is noted and not finished for children; from now on it is.
  mutating func takeUnflushed() -> [ManagedObject] {
    let inserted = insertedList[min(max(eventStart, firstUnflushedInsert), insertedList.count)...]
    let noted = notedList[min(firstUnflushedNote, notedList.count)...]
    firstUnflushedNote = notedList.count
    firstUnflushedInsert = insertedList.count
    if noted.isEmpty, inserted.isEmpty, retouched.isEmpty { return [] }
    // The common cases count no references.
    let objects =
      if retouched.isEmpty, inserted.isEmpty, noted.count == notedList.count {
        notedList
      } else if retouched.isEmpty, noted.isEmpty, inserted.count == insertedList.count { insertedList } else {
        retouched + noted + inserted
      }
    retouched = []
    ManagedObject.forEach(objects) { $0.state.flush() }
    return objects
  }

  /// Everything in the lists is saved or gone: forgets it all.
  mutating func removeAllPending() {
    editCount &+= 1
    keepNotes()
    ManagedObject.forEach(insertedList) { object in
      if !isElsewhere(object) { object.state.settle(.insert) }
    }
    ManagedObject.forEach(updatedList) { $0.state.settle(.update) }
    ManagedObject.forEach(deletedList) { $0.state.settle(.delete) }
    clearLists()
  }

  /// Everything in the lists belongs to a save that is under way, and its states say so already; but for what had left its state before,
  /// by an undo or a refresh, say: it must be able to come into a list again.
  mutating func handOver() {
    editCount &+= 1
    keepNotes()
    if insertedList.count != insertedCount {
      for object in insertedList where !isElsewhere(object) { object.state.unlist(.insert) }
    }
    if updatedList.count != updatedCount { for object in updatedList { object.state.unlist(.update) } }
    if deletedList.count != deletedCount { for object in deletedList { object.state.unlist(.delete) } }
    clearLists()
  }

  private mutating func clearLists() {
    for object in locked { object.state.unlock() }
    insertedList = []
    updatedList = []
    deletedList = []
    locked = []
    silentlyUntied = []
    if !gone.isEmpty { rememberGone() }
    eventStart = 0
    insertedCount = 0
    updatedCount = 0
    deletedCount = 0
    missingCount = 0
  }

  /// These objects are saved, others are not: takes them out of the lists.
  mutating func forgetSaved(_ objects: [ManagedObject]) {
    editCount &+= 1
    keepNotes()
    for object in objects { object.state.settleAll() }
    insertedList.removeAll { !$0.state.contains(.listedInserted) }
    eventStart = insertedList.count
    updatedList.removeAll { !$0.state.contains(.listedUpdated) }
    deletedList.removeAll { !$0.state.contains(.listedDeleted) }
    // The counts are those of before: the lists without entries that are skipped cannot be asked for yet.
    insertedCount = insertedList.count { isInserted($0) }
    updatedCount = updatedList.count { isUpdated($0) }
    deletedCount = deletedList.count { isDeleted($0) }
    missingCount = deletedList.count { isDeleted($0) && isMissing($0) }
  }

  /// What was inserted in this event and not told yet stays to be told when `insertedList` goes.
  private mutating func keepNotes() {
    if eventStart < insertedList.count {
      for place in eventStart..<insertedList.count
      where Unmanaged.passUnretained(insertedList[place])._withUnsafeGuaranteedRef({
        $0.state.contains(.notedInsert)
      }) {
        notedList.append(insertedList[place])
      }
    }
    eventStart = insertedList.count
    firstUnflushedInsert = 0
  }

  /// Every object in any list that is still the context's.
  func forEachListed(_ body: (ManagedObject) -> Void) {
    for list in [insertedList, updatedList, deletedList, notedList, retouched] {
      for object in list where object.contextReference?.toOpaque() == owner?.toOpaque() { body(object) }
    }
  }

  /// Whether `object`, which left the context as a new one, still has its entry in the list of inserted objects. Looks
  /// through the list, but only for objects that have an entry somewhere.
  func lists(inserted object: ManagedObject) -> Bool {
    object.state.contains(.listedInserted) && insertedList.contains { $0 === object }
  }

  /// Which objects have an entry in the list of inserted objects.
  var identifiersOfListedInserted: Set<ObjectIdentifier> { Set(insertedList.map(ObjectIdentifier.init)) }

  // Whether an entry of the list of that name counts.
  private func isInserted(_ object: ManagedObject) -> Bool {
    object.state.contains(.inserted) && object.contextReference?.toOpaque() == owner?.toOpaque()
  }
  private func isUpdated(_ object: ManagedObject) -> Bool {
    object.state.contains(.updated) && !object.state.contains(.deleted) && !isElsewhere(object)
  }
  private func isDeleted(_ object: ManagedObject) -> Bool {
    object.state.contains(.deleted) && !isElsewhere(object)
  }

  private func isElsewhere(_ object: ManagedObject) -> Bool {
    object.contextReference != nil && object.contextReference?.toOpaque() != owner?.toOpaque()
  }
}

extension ManagedObject {
  /// Calls `body` with each object, without counting references: the array holds them all the while.
  @inline(__always)
  static func forEach(_ objects: [ManagedObject], _ body: (ManagedObject) throws -> Void) rethrows {
    try objects.withUnsafeBufferPointer { try forEach($0[...], body) }
  }

  /// The same for a part of an array that is held elsewhere.
  @inline(__always)
  static func forEach(
    _ objects: Slice<UnsafeBufferPointer<ManagedObject>>, _ body: (ManagedObject) throws -> Void
  ) rethrows {
    for place in objects.startIndex..<objects.endIndex {
      // Each object lies somewhere of its own: by the time it is needed it has arrived.
      if place + 12 < objects.endIndex {
        let address = Unmanaged.passUnretained(objects[place + 12]).toOpaque()
        strata_prefetch(address)
        strata_prefetch(address + 64)
      }
      try Unmanaged.passUnretained(objects[place])._withUnsafeGuaranteedRef(body)
    }
  }

}

extension ChangeTracker {
  /// What is not as it must be, in sentences; empty when everything is. Looks at every changed object.
  func brokenInvariants() -> [String] {
    var broken: [String] = []
    func check(
      _ list: [ManagedObject], _ name: String, listed: ObjectState.Flags, state: ObjectState.Flags, count: Int
    ) {
      let own = list.filter { $0.contextReference?.toOpaque() == owner?.toOpaque() }
      if Set(own.map(ObjectIdentifier.init)).count != own.count {
        broken.append("an object is twice in the list of \(name) objects")
      }
      if own.contains(where: { !$0.state.contains(listed) }) {
        broken.append("an object in the list of \(name) objects does not know that it is there")
      }
      let inState = own.count {
        $0.state.contains(state) && (state != .updated || !$0.state.contains(.deleted))
      }
      if inState != count { broken.append("\(count) objects are counted as \(name), and \(inState) are") }
    }
    check(insertedList, "inserted", listed: .listedInserted, state: .inserted, count: insertedCount)
    check(updatedList, "updated", listed: .listedUpdated, state: .updated, count: updatedCount)
    check(deletedList, "deleted", listed: .listedDeleted, state: .deleted, count: deletedCount)
    if deleted.count(where: { isMissing($0) }) != missingCount {
      broken.append("\(missingCount) deleted objects are counted as missing, and others are")
    }
    if eventStart > insertedList.count {
      broken.append("the event begins behind the end of the list of inserted objects")
    }
    return broken
  }

  /// Every object that has an entry in a list, as the check of a context looks for it.
  var listedObjects: Set<ObjectIdentifier> {
    Set((insertedList + updatedList + deletedList).map(ObjectIdentifier.init))
  }
  var notedObjects: Set<ObjectIdentifier> {
    Set((notedList + insertedList[min(eventStart, insertedList.count)...]).map(ObjectIdentifier.init))
  }
}
