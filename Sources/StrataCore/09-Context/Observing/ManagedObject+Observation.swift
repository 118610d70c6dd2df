import Observation

/// What of an object is observed, made when somebody who tracks what he reads reads it first.
final class ObjectObservation {
  /// What a property was when it was read.
  enum Seen {
    /// Nil for a value that is not in the row.
    case value(AttributeValue?)
    case members(epoch: UInt32)
    case state(UInt32)
  }

  let registrar: ObservationRegistrar
  /// By slot: what somebody has read and not been told of since.
  var seen: [Int: Seen] = [:]

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
    guard let contextReference, contextReference._withUnsafeGuaranteedRef({ $0.observesObjects }) else {
      return
    }
    trackRead(slot)
  }

  @inline(never)
  private final func trackRead(_ slot: Int) {
    guard let context, state.isDisjoint(with: [.awaking, .probe]) else { return }
    let path = ObservedSlot.keyPath(slot)
    let scope = ThreadScope.current
    scope.hasHashedSlot = false
    // Taken by the first object that is tracked: no object needs one before.
    let registrar = observation?.registrar ?? context.spareRegistrar
    registrar.access(self, keyPath: path)
    guard scope.hasHashedSlot else { return }
    if observation == nil {
      observation = ObjectObservation(registrar)
      context.spareRegistrar = ObservationRegistrar()
    }
    state.insert(.observed)
    edits = draft?.pointers
    observation?.seen[slot] = seen(slot)
  }

  private final func seen(_ slot: Int) -> ObjectObservation.Seen {
    if slot == ObservedSlot.state {
      let context = contextReference == nil ? 0 : UInt32(1) << 31
      return .state(state.intersection([.unsaved, .anyDeleted, .anyInserted]).rawValue | context)
    }
    if let relationship = home.entity.relationship(slot: slot), relationship.isToMany {
      return .members(epoch: self.context?.epoch(of: relationship) ?? 0)
    }
    return .value(seenValue(slot))
  }

  /// The value without reading anything.
  private final func seenValue(_ slot: Int) -> AttributeValue? {
    if let draft, draft.isChanged(slot) { return draft[slot] }
    let attribute = home.entity.attributes[slot]
    if attribute.isTransient {
      return transients?[slot].flatMap { AttributeValue($0, type: attribute.type) } ?? .null
    }
    return snapshot.flatMap { $0.value(slot, home.entity.layout) }
  }

  // MARK: Changing

  /// A property is about to be changed by a setter.
  @inline(__always)
  final func observedWillChange(_ slot: Int) {
    if state.contains(.observed) { tellSetting(slot) }
  }

  @inline(never)
  private final func tellSetting(_ slot: Int) {
    tell(slot)
    // Whoever has read the whole of a composite attribute has read its elements.
    if let composite = home.entity.attributes[slot].composite { tell(composite) }
    if state.isDisjoint(with: .unsaved) { tell(ObservedSlot.state) }
  }

  /// At the end of an event, or of a save: tells of what is not as it was read.
  final func tellObserved() { tell(observedChanges) }

  /// The slots that are not as they were read.
  final var observedChanges: [Int] {
    observation?.seen.filter { hasChanged($0.key, since: $0.value) }.map(\.key) ?? []
  }

  final func tell(_ slots: [Int]) { for slot in slots { tell(slot) } }

  /// Whoever has read members is told.
  final func tellMembers() {
    for (slot, seen) in observation?.seen ?? [:] {
      if case .members = seen { tell(slot) }
    }
  }

  /// The object is, or was, about to lose its values: whoever has read one must read it again.
  final func tellAllObserved() {
    guard let observation else { return }
    for slot in observation.seen.keys { tell(slot) }
  }

  private final func hasChanged(_ slot: Int, since seen: ObjectObservation.Seen) -> Bool {
    switch (seen, self.seen(slot)) {
    case (.state(let old), .state(let new)): return old != new
    case (.members(let old), .members(let new)):
      if old != new { return true }
      guard let relationship = home.entity.relationship(slot: slot) else { return false }
      return relations?.known(relationship)?.isChangedInEvent == true
    case (.value(let old), .value(let new)):
      if home.entity.attributes[slot].composite == nil, isComposite(slot) { return true }
      return !Self.isSame(old, new)
    default: return true
    }
  }

  /// Composite attributes have no value of their own that could be compared.
  private final func isComposite(_ slot: Int) -> Bool {
    home.entity.attributes.contains { $0.composite == slot }
  }

  private final func tell(_ slot: Int) {
    guard let observation, observation.seen.removeValue(forKey: slot) != nil else { return }
    if observation.seen.isEmpty { state.remove(.observed) }
    let path = ObservedSlot.keyPath(slot)
    observation.registrar.willSet(self, keyPath: path)
    observation.registrar.didSet(self, keyPath: path)
  }
}

extension ManagedObjectContext {
  /// Whether `withObservationTracking` sees what is read of this context's objects (see ``ManagedObject``). Default false: reading an
  /// attribute then costs a nanosecond; with it, some ten. For contexts whose objects are shown.
  public var observesObjects: Bool {
    get { storedObservesObjects }
    set {
      checkAccess()
      storedObservesObjects = newValue
      stores.forEach { $0.settleFastRow() }
    }
  }

  /// After a save, or a rollback, which puts back members without saying which.
  func tellObserved(_ objects: @autoclosure () -> [ManagedObject], includingMembers: Bool = false) {
    if !storedObservesObjects { return }
    for object in objects() where object.state.contains(.observed) {
      if includingMembers { object.tellMembers() }
      object.tellObserved()
    }
  }
}
