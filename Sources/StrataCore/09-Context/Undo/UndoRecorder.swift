import Foundation

/// What a context with an undo manager notes during an event: each object's state before its first change.
///
/// Lives on the context's queue. Costs one look-up for each object's first change in an event, and a copy of its draft if it has
/// one; a context without an undo manager has no recorder.
final class UndoRecorder {
  let manager: UndoManager
  /// In the order of their first changes.
  private var states: [ObjectUndoState] = []
  /// The place of each object's state, counted from `start`; what lies before is noted outside of `adding(to:in:_:)`.
  private var known: [ObjectIdentifier: Int] = [:]
  private var start = 0
  /// Edits of this event that wait for something to be read.
  var postponed: [UnfinishedEdit] = []
  /// Edits that waited and have been taken back in this event.
  var withdrawn: [UnfinishedEdit] = []
  /// Deletions of this event of which something could not be read.
  private var unread: [ManagedObject] = []
  /// Deletions of earlier events of which something could not be read: what follows from them is taken back with them.
  private var late: [ObjectIdentifier: UndoEvent] = [:]
  /// Why a merge policy has settled something in this event.
  private(set) var causes = Causes()
  /// Where somebody follows duplicates: the events since the last save, oldest first, as long as they can be undone.
  private var recent: [RecentEvent] = []
  /// The events since the last save that have deleted something, as long as they can be undone.
  private var deleting: [RecentEvent] = []
  /// The last of these for each record; nil until somebody asks.
  private var deleters: [BatchFaulting.RowAddress: RecentEvent]?
  private struct RecentEvent { weak var event: UndoEvent? }
  /// How many saves the context has made since it has the recorder.
  private(set) var saveCount = 0
  private var observation: (any NSObjectProtocol)?

  init(_ manager: UndoManager, for context: ManagedObjectContext) {
    self.manager = manager
    // The manager is about to begin or end a group, or to undo: what was changed so far is registered before that.
    observation = NotificationCenter.default.addObserver(
      forName: .NSUndoManagerCheckpoint, object: manager, queue: nil
    ) { [weak context] _ in
      // The manager may serve contexts of other queues as well.
      if let context, context.isAccessible { context.tellChanges() }
    }
  }

  deinit { if let observation { NotificationCenter.default.removeObserver(observation) } }

  /// Whether what is noted will be registered.
  var isEnabled: Bool { manager.messages.isUndoRegistrationEnabled }

  /// Notes the state of `object`, unless its first change in this event is noted.
  func note(_ object: ManagedObject, _ state: (Int) -> ObjectUndoState) {
    let place = start + states.count
    if known[ObjectIdentifier(object)] != nil { return }
    known[ObjectIdentifier(object)] = place
    states.append(state(saveCount))
  }

  /// A newer stored row has come beneath `object`, of which no value was edited: what was noted of it in this event stands on that row, too.
  func moveBase(of object: ManagedObject, to row: RowSnapshot) {
    if let place = index(of: object) { states[place].moveBase(to: row) }
  }

  /// What was done to a member of a relationship of `object`, or to all of them, for nil, is dropped: undo does not bring it back either.
  func forget(_ member: UInt64?, _ relationship: RelationshipSchema, of object: ManagedObject) {
    if let place = index(of: object) { states[place].forget(member, relationship) }
  }

  /// The same of what `object` refers to. Answers what an edit before this event had made of that, 0 for nothing.
  ///
  /// - Parameter isKept: Only answers that.
  func forgetReference(
    _ relationship: RelationshipSchema, of object: ManagedObject, isKept: Bool = false
  ) -> UInt64 {
    index(of: object).map { states[$0].forgetReference(relationship.slot, isKept: isKept) } ?? 0
  }

  private func index(of object: ManagedObject) -> Int? {
    guard let place = known[ObjectIdentifier(object)], place >= start else { return nil }
    return place - start
  }

  /// What the event has changed; forgets it.
  func takeEvent() -> UndoEvent {
    defer {
      states = []
      known = [:]
      postponed = []
      withdrawn = []
      causes = Causes()
    }
    return UndoEvent(states: states, postponed: postponed, withdrawn: withdrawn)
  }

  // MARK: Deletions that wait

  /// All that could be read of deletions has been: `objects` are those of which something could not.
  func noteUnread(_ objects: [ManagedObject]) {
    if objects.isEmpty && late.isEmpty { return }
    let waiting = Set(objects.map(ObjectIdentifier.init))
    late = late.filter { waiting.contains($0.key) }
    unread = objects.filter { late[ObjectIdentifier($0)] == nil }
  }

  /// `event` has been registered: what is still to follow from its deletions belongs to it. Nil when it cannot be undone.
  func endDeletions(of event: UndoEvent?) {
    if let event { for object in unread { late[ObjectIdentifier(object)] = event } }
    unread = []
  }

  /// The event that a deletion belongs to which could not be followed then.
  func lateEvent(of object: ManagedObject) -> UndoEvent? {
    late.isEmpty ? nil : late[ObjectIdentifier(object)]
  }

  /// `object` was deleted because of a deletion in `event`.
  func note(_ object: ManagedObject, deletedLateIn event: UndoEvent) {
    late[ObjectIdentifier(object)] = event
  }

  /// `old` is being taken back, and `new` is what is left of it.
  func moveLate(from old: UndoEvent, to new: UndoEvent) { late = late.mapValues { $0 === old ? new : $0 } }

  /// Runs `body`, which does what an earlier event had to leave, and adds it to that event; for nil it cannot be undone. What this event has noted already stays
  /// noted here.
  func adding(
    to event: UndoEvent?, in context: ManagedObjectContext, _ body: () throws -> Void
  ) rethrows {
    let outer = (states: states, known: known, start: start, postponed: postponed, withdrawn: withdrawn)
    start += states.count
    (states, postponed, withdrawn) = ([], [], [])
    defer {
      let later = UndoEvent(states: states, postponed: postponed, withdrawn: [])
      event?.add(later, in: context)
      if later.states.contains(where: \.returns) { deleters = nil }
      (states, known, start, postponed, withdrawn) = outer
    }
    try body()
  }

  // MARK: Deletions that a save finds something about

  /// `event` was registered.
  func noteDeleting(_ event: UndoEvent) {
    if event.lists.contains(where: { $0.contains(where: \.returns) }) {
      deleting.append(RecentEvent(event: event))
      deleters = nil
    }
  }

  /// The event since the last save that has deleted the record with that key, the last one of several. Nil when there is none, or it cannot be undone any more.
  func event(deleting key: UInt64, _ table: StratumLayer.Table) -> UndoEvent? {
    if deleting.isEmpty { return nil }
    if deleters == nil {
      var found: [BatchFaulting.RowAddress: RecentEvent] = [:]
      for one in deleting { one.event?.forEachDeleted { found[$0] = one } }
      deleters = found
    }
    return deleters?[BatchFaulting.RowAddress(table: table, key: key)]?.event
  }

  // MARK: What merge policies do

  /// Objects whose insertion or edit a merge policy has settled.
  struct Causes {
    var objects: Set<ObjectIdentifier> = []
    /// Some of them may have been inserted or edited in the event itself, by observers of the save.
    var mayBeOwn = false
  }

  /// That `object` was inserted or edited is why a merge policy settles something in this event.
  func noteCause(_ object: ManagedObject) {
    causes.objects.insert(ObjectIdentifier(object))
    if known[ObjectIdentifier(object)] != nil { causes.mayBeOwn = true }
  }

  /// What becomes of an event in which a merge policy has settled something.
  enum Settling {
    /// It is an event like others.
    case event
    /// It has become a part of this event.
    case part(of: UndoEvent)
    /// It cannot be undone, as what has caused it cannot.
    case dropped
  }

  /// Makes `action`, in which a merge policy has settled what was done to `causes`, a part of the last event since the last save that is about the same objects. That takes
  /// over the first one that has inserted or edited a cause, and what lies between them and belongs together: taken back one by one, they would leave duplicates that the
  /// next save merges again.
  func settle(_ action: UndoEvent, _ causes: Causes) -> Settling {
    if causes.objects.isEmpty || manager.messages.isUndoing || manager.messages.isRedoing { return .event }
    let events = recent.compactMap(\.event)
    guard let first = events.firstIndex(where: { $0.concerns(causes.objects) }) else {
      return causes.mayBeOwn ? .event : .dropped
    }
    let objects = action.objects
    let last = max(first, events.lastIndex { $0.concerns(objects) } ?? first)
    let event = events[last]
    let taken = first == last ? [] : connected(Array(events[first..<last]), objects.union(event.objects))
    // What cannot be read yet is known to its own event only.
    guard action.isComplete, event.isComplete, taken.allSatisfy(\.isComplete) else { return .event }
    for earlier in taken.reversed() {
      event.takeOver(earlier)
      moveLate(from: earlier, to: event)
    }
    event.extend(by: action)
    recent.removeAll { $0.event?.isTakenOver ?? true }
    manager.messages.endRedo()
    return .part(of: event)
  }

  /// The first of `events`, and those that are about `objects`, or about objects of others of them. What is about none of these can be taken back before or after them.
  private func connected(_ events: [UndoEvent], _ objects: Set<ObjectIdentifier>) -> [UndoEvent] {
    var objects = objects.union(events[0].objects)
    var others = Array(events.indices.dropFirst())
    var found = [0]
    while let next = others.firstIndex(where: { events[$0].concerns(objects) }) {
      let place = others.remove(at: next)
      found.append(place)
      objects.formUnion(events[place].objects)
    }
    return found.sorted().map { events[$0] }
  }

  /// `event` was registered, in a context whose duplicates somebody follows.
  func noteRecent(_ event: UndoEvent) {
    // What an undo registers is for redo, which later changes end.
    if !manager.messages.isUndoing { recent.append(RecentEvent(event: event)) }
  }

  // MARK: Saves

  /// - Parameter ofEverything: Whether nothing of what was changed before is unsaved.
  func noteSave(ofEverything: Bool = true) {
    saveCount += 1
    if ofEverything { (recent, deleting, deleters) = ([], [], nil) }
  }

  /// Ends the manager's group of this event.
  func endEvent() { manager.messages.endEvent() }

  /// Forgets what could be undone or redone (rules 18, 237).
  func removeAll() {
    _ = takeEvent()
    (unread, late, recent, deleting, deleters) = ([], [:], [], [], nil)
    manager.messages.removeAllActions()
  }
}

/// What one event has changed, to be taken back as a whole.
///
/// An object whose row or members could not be read when the event was over is not sealed then: the next save seals it first, or fails;
/// an undo before that seals it. Lives on the context's queue.
final class UndoEvent {
  private(set) var states: [ObjectUndoState]
  /// The places of states that are not sealed.
  private(set) var unsealed: [Int] = []
  /// Edits that wait for something to be read: taken back by not being made.
  private(set) var postponed: [UnfinishedEdit]
  /// Edits that waited and were withdrawn by an undo: done again by waiting again.
  let withdrawn: [UnfinishedEdit]
  /// What merge policies have done because of the event: taken back before it, the last of it first.
  private var settled: [[ObjectUndoState]] = []
  /// What other events have changed before: taken back after it, in this order.
  private var earlier: [[ObjectUndoState]] = []
  /// The event is a part of a later one, and nothing is left to be taken back of it by itself.
  private(set) var isTakenOver = false

  init(states: [ObjectUndoState], postponed: [UnfinishedEdit], withdrawn: [UnfinishedEdit]) {
    (self.states, self.postponed, self.withdrawn) = (states, postponed, withdrawn)
  }

  /// States of an event that is over, none of which is sealed.
  convenience init(unsealed states: [ObjectUndoState]) {
    self.init(states: states, postponed: [], withdrawn: [])
    unsealed = Array(states.indices)
  }

  /// The event is over.
  func seal(in context: ManagedObjectContext) {
    var sealed: [ObjectUndoState] = []
    let leaving = states.filter { $0.object.context != nil && $0.hasLeft(context) }
    let ahead = leaving.count > 1 ? HiddenOwners(of: leaving.map(\.object), in: context) : nil
    for state in states {
      var new = state
      var isNeeded = false
      if context.readsAll({ isNeeded = new.seal(in: context, ahead) }) {
        if isNeeded { sealed.append(new) }
      } else {
        unsealed.append(sealed.count)
        sealed.append(state)
      }
    }
    states = sealed
  }

  /// Seals what could not be sealed, as far as it can be read now; what cannot is reported.
  func sealRest(in context: ManagedObjectContext) {
    unsealed.removeAll { place in
      var new = states[place]
      guard context.readsAll({ _ = new.seal(in: context) }) else { return false }
      states[place] = new
      return true
    }
  }

  /// Takes in what has followed from this event only now.
  fileprivate func add(_ later: UndoEvent, in context: ManagedObjectContext) {
    later.seal(in: context)
    for place in later.unsealed { unsealed.append(states.count + place) }
    states += later.states
    postponed += later.postponed
    if !later.unsealed.isEmpty { waitForSeal(in: context) }
  }

  /// All that is taken back, list by list.
  var lists: [[ObjectUndoState]] { Array(settled.reversed()) + [states] + earlier }

  /// The objects that were changed.
  var objects: Set<ObjectIdentifier> { Set(lists.joined().map { ObjectIdentifier($0.object) }) }

  /// Whether all that is taken back is known.
  var isComplete: Bool { unsealed.isEmpty && postponed.isEmpty && withdrawn.isEmpty }

  /// Calls `body` with each record that was deleted.
  func forEachDeleted(_ body: (BatchFaulting.RowAddress) -> Void) {
    for state in lists.joined() {
      if let address = state.deleted { body(address) }
    }
  }

  /// Whether one of `objects` was changed.
  func concerns(_ objects: Set<ObjectIdentifier>) -> Bool {
    lists.contains { $0.contains { objects.contains(ObjectIdentifier($0.object)) } }
  }

  /// A merge policy has done what `action` has noted, which is complete, because of this event or of those that it has taken over.
  fileprivate func extend(by action: UndoEvent) { settled.append(action.states) }

  /// `event`, the last one before those of which this event consists, becomes a part of it.
  fileprivate func takeOver(_ event: UndoEvent) {
    earlier += event.lists
    (event.states, event.settled, event.earlier) = ([], [], [])
    event.isTakenOver = true
  }

  /// A save may write over what is to come back: it seals first what is not sealed.
  func waitForSeal(in context: ManagedObjectContext) {
    for place in unsealed {
      context.postpone(states[place].object) { [weak context, weak self] in
        if let context { self?.sealRest(in: context) }
      }
    }
  }

  /// Takes out the states that are not sealed.
  func takeUnsealed() -> [ObjectUndoState] {
    let taken = unsealed.map { states[$0] }
    for place in unsealed.reversed() { states.remove(at: place) }
    unsealed = []
    return taken
  }
}
