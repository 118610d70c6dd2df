import Foundation

/// Stands for nil that was set on a transient attribute with another default.
struct ExplicitNil: Sendable {}

extension ManagedObject {
  /// The property `name`, as `value(forKey:)` and `setValue(_:forKey:)`.
  public final subscript(name: String) -> Any? {
    get { value(forKey: name) }
    set { setValue(newValue, forKey: name) }
  }

  /// The stored value, without notifying observers of the access; nil while the object is a fault.
  public final func primitiveValue(forKey key: String) -> Any? {
    guard let slot = home.entity.slot(named: key) else {
      trap("entity \(home.token.entityName) has no property “\(key)”.")
    }
    context?.checkAccess(home.token.entityName)
    if let relationship = home.entity.relationship(slot: slot) {
      return isFault && !relationship.isToMany ? nil : relatedValue(relationship)
    }
    return keyedValue(slot)
  }

  /// Sets the stored value without marking the object as changed: it is saved only if something else makes the object
  /// change, and does not appear in `changedValues()` (rule 76). What `awakeFromInsert()` sets is part of the new object's changed values.
  public final func setPrimitiveValue(_ value: Any?, forKey key: String) {
    guard let slot = home.entity.slot(named: key) else {
      trap("entity \(home.token.entityName) has no property “\(key)”.")
    }
    willAccess(slot)
    if let relationship = home.entity.relationship(slot: slot) {
      setPrimitiveRelated(value, relationship)
      return
    }
    setKeyedValue(value, slot, isPrimitive: true)
  }

  final func setPrimitive(_ slot: Int, _ value: AttributeValue) {
    editableDraft()[slot] = value
    forgetRefusal(slot)
    noteSilentEdit(slot)
  }

  /// Fires the fault if there is one; `key` nil fires it explicitly (rule 41).
  public final func willAccessValue(forKey key: String?) {
    context?.checkAccess(home.token.entityName)
    fire()
  }

  /// Here for code written for Core Data: accessors need no bracket.
  public final func didAccessValue(forKey key: String?) {}

  /// What `willChangeValue(forKey:)` does; `remembersRelated` is false where what comes and goes is told afterwards.
  package final func willChangeValue(forKey key: String, remembersRelated: Bool) {
    context?.checkAccess(home.token.entityName)
    fire()
    context?.willChange(self)
    guard let slot = home.entity.slot(named: key) else { return }
    if state.contains(.observed) { tellWatchersOfSetting(slot) }
    if remembersRelated { rememberRelated(slot) }
  }

  /// What `didChangeValue(forKey:)` does.
  package final func endChange(ofKey key: String) {
    guard let slot = home.entity.slot(named: key), !home.entity.derivedSlots.contains(slot) else { return }
    context?.willChange(self)
    relateAnnounced(slot)
    let draft = editableDraft()
    if !home.entity.attributes[slot].isTransient, home.entity.relationship(slot: slot)?.isToMany != true {
      if !draft.isChanged(slot) { draft[slot] = storedValue(slot) }
      draft.primitive.remove(slot)
      if state.isDisjoint(with: [.notedInsert, .notedUpdate]) { draft.eventChanged = SlotBitmap() }
      draft.eventChanged.insert(slot)
    }
    noteChange()
    observedDidChange(slot)
  }

  // MARK: Changes

  /// The persistent attributes whose value differs from the one last fetched or saved, with their new values; `NSNull` for
  /// nil. Fires nothing (rule 73).
  public final func changedValues() -> [String: Any] {
    context?.checkAccess(home.token.entityName)
    if let received { return dictionary(received.changedSlots) { storedValue($0) } }
    var result: [String: Any] = [:]
    if let draft, !state.contains(.draftFrozen) {
      var slots = slotsThatDiffer
      draft.primitive.forEach { slots.remove($0) }
      result = dictionary(slots) { storedValue($0) }
    }
    for relationship in changedRelationships {
      result[relationship.name] = relatedValue(relationship) ?? NSNull()
    }
    return result
  }

  /// The attributes and relationships changed since the last did-change notification, with their values now (rule 74). While an event is told, in observers of
  /// that notification and in delegates of fetched results controllers, those that the notification is about; what such an observer edits begins the next event,
  /// and only that is there then.
  public final func changedValuesForCurrentEvent() -> [String: Any] {
    context?.checkAccess(home.token.entityName)
    let isTold = state.isDisjoint(with: [.notedInsert, .notedUpdate])
    if isTold, context?.event.told.contains(self) != true { return [:] }
    var result = draft.map { dictionary($0.eventChanged) { storedValue($0) } } ?? [:]
    for (_, state) in relations?.states ?? []
    where isTold ? state.wasChangedInEvent : state.isChangedInEvent {
      result[state.relationship.name] = relatedValue(state.relationship) ?? NSNull()
    }
    return result
  }

  /// Values as last fetched or saved, `NSNull` for nil; of all persistent attributes when `keys` is nil. A new object has
  /// none (rule 72). Fires a fault.
  public final func committedValues(forKeys keys: [String]?) -> [String: Any] {
    context?.checkAccess(home.token.entityName)
    fire()
    let received = received
    guard let snapshot = received == nil ? snapshot : received?.base else { return [:] }
    var all = dictionary(home.storedSlots, isCurrent: false) { storedValue($0, in: snapshot) }
    addCommittedMembers(to: &all, keys)
    guard let keys else { return all }
    return all.filter { keys.contains($0.key) }
  }

  /// Whether saving would write anything: some persistent attribute differs from its saved value, or the object is new or
  /// deleted. Setting a value back makes it false again, unlike `hasChanges` (rule 75).
  public final var hasPersistentChangedValues: Bool {
    context?.checkAccess(home.token.entityName)
    if let received { return received.kind != .update || !received.changedSlots.isEmpty }
    return isMarkedInserted || isMarkedDeleted
      || (isMarkedUpdated && (!slotsThatDiffer.isEmpty || !changedRelationships.isEmpty))
  }

  /// What a child has saved of the object, until it is edited here.
  final var received: StratumRow? {
    state.isDisjoint(with: .received) ? nil : context?.unsavedRow(for: self)?.row
  }

  // MARK: Shared steps

  /// All persistent attributes of a row, by name.
  ///
  /// Relationships are IDs in it, as in the snapshots of conflicts (rule 191).
  final func dictionary(of row: RowSnapshot) -> [String: Any] {
    var result = dictionary(home.entity.attributeSlots.intersection(home.storedSlots), isCurrent: false) {
      storedValue($0, in: row)
    }
    for relationship in home.entity.relationships where !relationship.isToMany && !relationship.isTransient {
      result[relationship.name] =
        context?.identifier(row.reference(relationship, home), inStore: home.storeIndex) ?? NSNull()
    }
    return result
  }

  /// Values by name; those of a composite attribute's elements as its whole value. `isCurrent` when they are what the object has.
  private final func dictionary(
    _ slots: SlotBitmap, isCurrent: Bool = true, _ value: (Int) -> AttributeValue
  ) -> [String: Any] {
    var result: [String: Any] = [:]
    let attributes = home.entity.attributes
    func keyed(_ slot: Int) -> Any? {
      if attributes[slot].type == .transformable {
        return isCurrent && isRefused(slot) ? keyedValue(slot) : decodedOrReported(value(slot), slot)
      }
      if isCurrent, isRefused(slot) { return refusedValue(slot) }
      let value = value(slot)
      if case .reference(let bits) = value { return context?.object(bits, inStore: home.storeIndex) }
      return handedOut(value)
    }
    slots.forEach { slot in
      if let composite = attributes[slot].composite {
        let name = attributes[composite].name
        if result[name] == nil { result[name] = compositeValue(attributes[composite], keyed) ?? NSNull() }
      } else {
        result[attributes[slot].name] = keyed(slot) ?? NSNull()
      }
    }
    return result
  }

  /// The value an attribute has now, edits included. Fires a fault.
  final func currentValue(_ slot: Int) -> AttributeValue {
    fire()
    return storedValue(slot)
  }

  /// The value in memory, edits included; null while the object is a fault.
  final func storedValue(_ slot: Int) -> AttributeValue {
    if let draft, draft.isChanged(slot) { return draft[slot] }
    if home.entity.attributes[slot].isTransient {
      return transientValue(slot).flatMap { AttributeValue($0, type: home.entity.attributes[slot].type) }
        ?? .null
    }
    guard let snapshot else {
      return state.contains(.probe)
        ? ProbeRecording.current?.value(slot, of: self) ?? .null : .null
    }
    return storedValue(slot, in: snapshot)
  }

  /// An attribute of a row, large values read from the store and kept until the row is replaced.
  final func storedValue(_ slot: Int, in row: RowSnapshot) -> AttributeValue {
    if let value = row.value(slot, home.entity.layout) { return value }
    // What is kept belongs to the object's own row, not to a stored one that a conflict shows.
    let isOwn = row.base == snapshot?.base
    if isOwn, let loaded = transients?[~slot] as? AttributeValue { return loaded }
    guard let context else { return .null }
    guard let place = context.locate(objectID) else {
      context.report(
        Self.storeIsRemoved(objectID), reading: self, property: home.entity.attributes[slot].name)
      return .null
    }
    let value: AttributeValue
    if let unsaved = context.unsavedValue(of: row, slot, self) {
      value = unsaved
    } else {
      do {
        let (view, newest) = try context.readingsOfLargeValues(place.store)
        value = try place.store.value(of: row, slot, home, primaryKey, in: view, newest: newest)
      } catch {
        context.report(error, reading: self, property: home.entity.attributes[slot].name)
        return .null
      }
    }
    if isOwn, !value.isNull { transients = (transients ?? [:]).merging([~slot: value]) { $1 } }
    return value
  }

  /// Drops large values that were read for a row that has been replaced.
  final func forgetLoadedValues() { transients = transients?.filter { $0.key >= 0 } }

  /// Before a read: right queue, fault fulfilled.
  @inline(__always)
  final func willAccess(_ slot: Int) {
    checkConfinementHere()
    fire()
  }

  /// Sets a property by its slot; traps for a value of another type.
  final func setModeledValue(_ value: Any?, _ slot: Int) {
    if let relationship = home.entity.relationship(slot: slot) {
      if relationship.isToMany { fireForMembers() }
      setRelatedValue(value, relationship)
      return
    }
    setKeyedValue(value, slot, isPrimitive: false)
  }

  /// The one way an attribute is edited.
  final func edit(_ slot: Int, _ value: AttributeValue, isFired: Bool = false) {
    if isFired { checkConfinementHere() } else { willAccess(slot) }
    announceChange(slot)
    observedWillChange(slot, to: value)
    if !state.contains(.awaking), recordsUndo { context?.willChange(self) }
    ensureEditableDraft()
    let beginsEvent = state.isDisjoint(with: [.notedInsert, .notedUpdate])
    let isEvent = !state.contains(.awaking)
    withDraft { $0.pointers.edit(slot, value, isEvent: isEvent, beginsEvent: beginsEvent) }
    forgetRefusal(slot)
    if isEvent {
      noteChange()
    } else {
      // awakeFromFetch may set values without dirtying the object (rule 55).
      noteSilentEdit(slot)
    }
    // Whoever sets a reference has its other end to set yet.
    if isFired { return }
    observedDidChange(slot)
    announceChanged(slot)
  }

  /// Whether an undo manager is to know what the object was. Counts no references.
  @inline(__always)
  private final var recordsUndo: Bool {
    contextReference?._withUnsafeGuaranteedRef { $0.undoRecorder != nil } ?? false
  }

  /// Sets a reference without the other end and without notifying observers.
  final func storePrimitiveReference(_ bits: UInt64, _ relationship: RelationshipSchema) {
    context?.noteReference(from: self, relationship, bits)
    if relationship.isTransient {
      storeTransient(bits == 0 ? nil : bits, relationship.slot)
    } else {
      editableDraft()[relationship.slot] = bits == 0 ? .null : .reference(bits)
      noteSilentEdit(relationship.slot)
    }
  }

  /// `slot` was set without notifying observers. From now on setters take the slow half, which knows the difference.
  private final func noteSilentEdit(_ slot: Int) {
    draft?.primitive.insert(slot)
    edits = nil
    context?.changes.countEdit()
  }

  /// What was set in the draft without notifying observers still counts as changed.
  final func noticeSilentEdits() {
    guard let draft, !draft.primitive.isEmpty else { return }
    draft.primitive = SlotBitmap()
    // A value that cannot be stored keeps setters slow.
    if !ManagedObject.haveRefusedValues { edits = draft.pointers }
  }

  final func setTransient(_ value: Any?, _ slot: Int, isRelationship: Bool = false) {
    let attribute = home.entity.attributes[slot]
    if let new = AttributeValue(value, type: attribute.type) {
      observedWillChange(slot, to: new)
    } else {
      observedWillChange(slot)
    }
    if !isRelationship, attribute.relationship != nil {
      trap(
        "\(home.token.entityName).\(attribute.name) is a relationship and takes objects, not \(value ?? "nil")."
      )
    }
    var value = value
    var refusal: (() -> Void)?
    if !isRelationship, attribute.type != .undefined, attribute.type != .transformable,
      AttributeValue(value, type: attribute.type) == nil
    {
      let fitting = unfitting(value, attribute)
      value = handedOut(fitting.0)
      refusal = fitting.refusal
    }
    willAccess(slot)
    announceChange(slot)
    if !state.contains(.awaking) { context?.willChange(self) }
    storeTransient(value, slot)
    refusal?()
    if !state.contains(.awaking) { noteChangeBesideValues() }
    if isRelationship { return }
    observedDidChange(slot)
    announceChanged(slot)
  }

  /// Sets a transient value without notifying observers.
  final func storeTransient(_ value: Any?, _ slot: Int) {
    claim()
    transients = transients ?? [:]
    // In a child an absent value is one that it has not set: what lies below keeps its own.
    transients?[slot] =
      value
      ?? (home.transientDefaults[slot] == nil && context?.parent == nil ? nil : ExplicitNil())
  }

  /// The value of a transient attribute: its default until one is set.
  @inline(__always)
  final func transientValue(_ slot: Int) -> Any? {
    if let found = transients?[slot] { return found is ExplicitNil ? nil : found }
    return home.hasTransientDefaults ? home.transientDefaults[slot] : nil
  }

  /// The object counts as changed by something else than a value of its row: what an earlier event has set there is no change of this one.
  @inline(__always)
  final func noteChangeBesideValues() {
    if state.isDisjoint(with: [.notedInsert, .notedUpdate, .draftFrozen]), hasDraft { beginEventOfDraft() }
    noteChange()
  }

  @inline(never)
  private final func beginEventOfDraft() {
    if withDraft({ !$0.eventChanged.isEmpty }) { editableDraft().eventChanged = SlotBitmap() }
  }

  /// The object counts as changed.
  @inline(__always)
  final func noteChange() {
    guard let contextReference else { return }
    // Nothing in here calls code of the program, which could let go of the context.
    contextReference._withUnsafeGuaranteedRef { context in
      if state.isDisjoint(with: [.notedInsert, .notedUpdate]) {
        if state.contains(.loose) { return }
        context.noteFirstEdit()
        context.changes.update(self)
      } else if state.isDisjoint(with: [.inserted, .updated, .deleted]) || state.contains(.flushed) {
        context.changes.update(self)
      }
    }
  }
}
