import Observation

/// What of an object is observed, made when it is first read inside an observation.
final class ObjectObservation {
  /// What a property was when it was read.
  enum Seen {
    /// Nil for a value that is not in the row.
    case value(AttributeValue?)
    /// The elements of a composite attribute.
    case elements([AttributeValue?])
    /// Nil when only some of the members were looked at.
    case members(ContiguousArray<PlacedMember>?, epoch: UInt32)
    case state(Bool)
  }

  let registrar: ObservationRegistrar
  /// By slot: what was read by an observer that was not notified since.
  var seen: [Int: Seen] = [:]
  /// Who is told of every change.
  var watched = WatchedProperties()
  /// By slot, how many setters, one inside of the other, have announced a change that is not over.
  var announced: [Int: Int] = [:]

  var isInUse: Bool { !seen.isEmpty || !watched.isEmpty }

  init(_ registrar: ObservationRegistrar) { self.registrar = registrar }
}

/// `withObservationTracking`, and whatever is built on it, sees which properties of which objects are read, and is told once when one
/// of them changes: by a setter before it does; by a merge, refresh, undo, rollback, delete or child's save at the end of the event
/// that brings it, when the object shows it.
///
/// Only objects of contexts with ``ManagedObjectContext/observesObjects`` take part. `onChange` is called on the context's queue.
extension ManagedObject: Observation.Observable {}

extension ManagedObject {
  // MARK: Reading

  /// A property is being read.
  @inline(__always)
  final func noteRead(_ slot: Int) {
    guard let contextReference,
      contextReference._withUnsafeGuaranteedRef({ $0.observation.notesReads })
    else { return }
    trackRead(slot)
  }

  /// An accessor is about to read an attribute in `slot`. For contexts with ``ManagedObjectContext/accessorsNoteReads``.
  @inline(__always)
  package final func noteReadByAccessor(_ slot: Int) {
    // Where the attribute is not read in place, reading it notes it.
    if fastRow != nil || state.contains(.fault), state.contains(.observed) || ThreadScope.observes {
      trackRead(slot)
    }
  }

  /// Whether the calling thread runs inside `withObservationTracking`. Some nanoseconds. For accessors that have something of their own to tell observers.
  package static var isReadObserved: Bool { ThreadScope.observes }

  /// The object's context, as ``managedObjectContext``, without noting that it was asked for.
  package final var contextUnobserved: ManagedObjectContext? { state.contains(.loose) ? nil : context }

  /// Whether the object has a context, without noting that this was asked for.
  package final var isInContext: Bool { contextReference != nil && !state.contains(.loose) }

  /// Whether the context has something to save of the object, without noting that this was asked for. One load, in the caller.
  @inlinable @inline(__always)
  package final var isUnsaved: Bool { state.flags.rawValue & ObjectState.Flags.unsavedBits != 0 }

  /// Whether ``readiness`` is `ready` because attributes are read in place, as those of most objects are. Four loads, in the caller.
  @inlinable @inline(__always)
  package final var isReadInPlace: Bool {
    fastRow != nil && contextReference != nil
      && state.flags.rawValue & (ObjectState.Flags.observedBit | ObjectState.Flags.looseBit) == 0
  }

  /// What an accessor of a module above has to know before it reads by slot.
  package enum Readiness { case ready, observed, unreadable, withoutContext }

  /// Whether a slot can be read now, and nobody has observed the object. Fires a fault; one that cannot be read is reported, once, and the read that follows reports nothing.
  package final var readiness: Readiness {
    if !isInContext { return .withoutContext }
    if state.contains(.fault) {
      _ = realizedRow()
      if state.contains(.fault) { return .unreadable }
    }
    return state.contains(.observed) ? .observed : .ready
  }

  @inline(never)
  private final func trackRead(_ slot: Int) {
    guard let context, state.isDisjoint(with: [.awaking, .probe]) else { return }
    if let recording = context.observation.recording {
      if recording.object === self { recording.slots.insert(slot) }
      if recording.objects.last !== self { recording.objects.append(self) }
      if !context.observation.includesObjects { return }
    }
    let path = ObservedSlot.keyPath(slot)
    let scope = ThreadScope.current
    scope.hasHashedSlot = false
    // Taken by the first object that is tracked: no object needs one before.
    let registrar = observation?.registrar ?? context.observation.spareRegistrar
    registrar.access(self, keyPath: path)
    guard scope.hasHashedSlot else { return }
    let observation = ensureObservation()
    state.beginObserved()
    context.observation.noteObservedObject()
    edits = draft?.pointers
    // What is read is the value, not that the object was a fault.
    if slot >= 0, home.entity.relationship(slot: slot)?.isToMany != true { fire() }
    observation.seen[slot] = seen(slot)
  }

  final func ensureObservation() -> ObjectObservation {
    if let observation { return observation }
    let new = ObjectObservation(context?.observation.spareRegistrar ?? ObservationRegistrar())
    context?.observation.spareRegistrar = ObservationRegistrar()
    observation = new
    return new
  }

  final func seen(_ slot: Int) -> ObjectObservation.Seen {
    switch slot {
    case ObservedSlot.hasChanges: return .state(!state.isDisjoint(with: .unsaved))
    case ObservedSlot.isDeleted: return .state(!state.isDisjoint(with: .anyDeleted))
    case ObservedSlot.managedObjectContext: return .state(contextReference != nil && !state.contains(.loose))
    default: break
    }
    if let relationship = home.entity.relationship(slot: slot), relationship.isToMany {
      let epoch = self.context?.epoch(of: relationship) ?? 0
      guard let known = relations?.known(relationship), !known.isFault(epoch: epoch) else {
        return .members(nil, epoch: epoch)
      }
      return .members(visibleMembers(known), epoch: epoch)
    }
    let elements = home.entity.attributes.indices.filter { home.entity.attributes[$0].composite == slot }
    return elements.isEmpty ? .value(seenValue(slot)) : .elements(elements.map(seenValue))
  }

  /// The value without reading anything.
  private final func seenValue(_ slot: Int) -> AttributeValue? {
    if let draft, draft.isChanged(slot) { return draft[slot] }
    let attribute = home.entity.attributes[slot]
    if attribute.isTransient {
      return transientValue(slot).flatMap { AttributeValue($0, type: attribute.type) } ?? .null
    }
    return snapshot.flatMap { $0.value(slot, home.entity.layout) }
  }

  // MARK: Changing

  /// A property is about to be changed by a setter.
  @inline(__always)
  final func observedWillChange(_ slot: Int) {
    if state.contains(.observed) { tellSetting(slot) }
  }

  /// An attribute, or a reference, is about to be set: a value that it has already is no news.
  @inline(__always)
  final func observedWillChange(_ slot: Int, to value: AttributeValue) {
    if state.contains(.observed) { tellSetting(slot, to: value) }
  }

  @inline(never)
  private final func tellSetting(_ slot: Int, to value: AttributeValue? = nil) {
    tellWatchersOfSetting(slot)
    if state.isDisjoint(with: .unsaved) { tell(ObservedSlot.hasChanges) }
    if let value, Self.isSame(seenValue(slot), value) { return }
    tell(slot)
    // An observer that has read the whole of a composite attribute has read its elements.
    if let composite = home.entity.attributes[slot].composite { tell(composite) }
  }

  /// At the end of an event, or of a save: reports what differs from what was read.
  final func tellObserved() { for slot in seenChanges(isAnyMember: false) { tell(slot) } }

  /// The slots that are not as they were read, and those that are not as watchers know them.
  struct ObservedChanges {
    let seen: [Int]
    let watched: [Int]
  }

  /// What observers and watchers do not know yet. `isAnyMember` when members may have changed without having been noted.
  final func observedChanges(isAnyMember: Bool = false) -> ObservedChanges {
    ObservedChanges(
      seen: seenChanges(isAnyMember: isAnyMember), watched: watchedChanges(isAnyMember: isAnyMember))
  }

  private final func seenChanges(isAnyMember: Bool) -> [Int] {
    observation?.seen.filter { hasChanged($0.key, since: $0.value, isAnyMember) }.map(\.key) ?? []
  }

  final func tell(_ changes: ObservedChanges) {
    for slot in changes.seen { tell(slot) }
    tellWatchers(changes.watched)
  }

  final func hasChanged(_ slot: Int, since seen: ObjectObservation.Seen, _ isAnyMember: Bool) -> Bool {
    if case .members(let old, let epoch) = seen {
      return haveMembersChanged(slot, old, epoch, isAnyMember)
    }
    switch (seen, self.seen(slot)) {
    case (.state(let old), .state(let new)): return old != new
    case (.value(let old), .value(let new)): return !Self.isSame(old, new)
    case (.elements(let old), .elements(let new)):
      return !old.elementsEqual(new) { Self.isSame($0, $1) }
    default: return true
    }
  }

  /// Members are compared only when something may have changed some of that relationship's; then they are read.
  private final func haveMembersChanged(
    _ slot: Int, _ old: ContiguousArray<PlacedMember>?, _ epoch: UInt32, _ isAnyMember: Bool
  ) -> Bool {
    guard let relationship = home.entity.relationship(slot: slot) else { return true }
    if let context, context.epoch(of: relationship) == epoch, !isAnyMember,
      relations?.known(relationship)?.isChangedInEvent != true
    {
      return false
    }
    guard let old, state.isDisjoint(with: .anyDeleted) else { return true }
    let new = visibleMembers(untrackedState(relationship))
    if relationship.isOrdered { return !old.elementsEqual(new) { $0.member == $1.member } }
    if old.count != new.count { return true }
    return Set(old.map(\.member)) != Set(new.map(\.member))
  }

  private final func tell(_ slot: Int) {
    guard let observation, observation.seen.removeValue(forKey: slot) != nil else { return }
    settleObserved()
    let path = ObservedSlot.keyPath(slot)
    observation.registrar.willSet(self, keyPath: path)
    observation.registrar.didSet(self, keyPath: path)
  }

  /// Without anybody to tell, setters take the fast half again.
  final func settleObserved() {
    if observation?.isInUse != true { state.endObserved() }
  }
}

extension ManagedObjectContext {
  /// Whether `withObservationTracking` sees what is read of this context's objects (see ``ManagedObject``). Default false: reading an
  /// attribute then costs a nanosecond; with it, some ten. For contexts whose objects are shown.
  public var observesObjects: Bool {
    get { observation.includesObjects }
    set {
      checkAccess()
      observation.includesObjects = newValue
      stores.forEach { $0.settleFastRow() }
    }
  }

  /// With ``observesObjects``: accessors of the objects' classes call `noteReadByAccessor` before they read an attribute, which may then be read in place where
  /// nobody observes. Default false.
  package var accessorsNoteReads: Bool {
    get { observation.isNotedByAccessors }
    set {
      checkAccess()
      observation.isNotedByAccessors = newValue
      stores.forEach { $0.settleFastRow() }
    }
  }

  /// After a save, or a rollback, which puts back members without saying which.
  func tellObserved(_ objects: @autoclosure () -> [ManagedObject], includingMembers: Bool = false) {
    if !observation.tellsObjects { return }
    let objects = objects()
    fulfilObserved(objects)
    for object in objects where object.state.contains(.observed) {
      object.tell(object.observedChanges(isAnyMember: includingMembers))
    }
  }

  /// After a batch, which does not say which owners have other members now.
  func tellObservedMembers() {
    if !observation.tellsObjects { return }
    var observed: [ManagedObject] = []
    stores.forEachLive { if $0.state.contains(.observed) { observed.append($0) } }
    tellObserved(observed)
  }

  /// Reads the rows of observed objects that have become faults: whether they are different cannot be told otherwise. They
  /// stay faults.
  func fulfilObserved(_ objects: [ManagedObject]) {
    if !observation.tellsObjects { return }
    let faults = objects.filter { $0.state.contains(.observed) && $0.isFault && $0.snapshot == nil }
    if faults.isEmpty { return }
    saving.encodingAhead?.wait()
    fulfil(faults)
  }
}
