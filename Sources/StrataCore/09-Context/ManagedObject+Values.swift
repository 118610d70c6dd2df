import Foundation

extension ManagedObject {
  /// The property `name`, as `value(forKey:)` and `setValue(_:forKey:)`.
  public final subscript(name: String) -> Any? {
    get { value(forKey: name) }
    set { setValue(newValue, forKey: name) }
  }

  /// The stored value, without notifying anybody of the access; nil while the object is a fault.
  public final func primitiveValue(forKey key: String) -> Any? {
    guard let slot = home.entity.slot(named: key) else {
      trap("entity \(home.token.entityName) has no property “\(key)”.")
    }
    context?.checkAccess(home.token.entityName)
    return home.entity.attributes[slot].isTransient ? transients?[slot] : storedValue(slot).anyValue
  }

  /// Sets the stored value without marking the object as changed: it is saved only if something else makes the object
  /// change, and does not appear in `changedValues()` (rule 76).
  public final func setPrimitiveValue(_ value: Any?, forKey key: String) {
    guard let slot = home.entity.slot(named: key) else {
      trap("entity \(home.token.entityName) has no property “\(key)”.")
    }
    willAccess(slot)
    let attribute = home.entity.attributes[slot]
    if attribute.isTransient {
      storeTransient(value, slot)
      return
    }
    guard let converted = AttributeValue(value, type: attribute.type) else {
      trap("\(home.token.entityName).\(key) is of type \(attribute.type) and cannot take \(value ?? "nil").")
    }
    editableDraft()[slot] = converted
    noteSilentEdit(slot)
  }

  /// Fires the fault if there is one; `key` nil fires it explicitly (rule 41).
  public final func willAccessValue(forKey key: String?) {
    context?.checkAccess(home.token.entityName)
    fire()
  }

  /// Here for code written for Core Data: accessors need no bracket.
  public final func didAccessValue(forKey key: String?) {}

  /// Says that `key` is about to change: the object counts as changed.
  public final func willChangeValue(forKey key: String) {
    context?.checkAccess(home.token.entityName)
    fire()
  }

  /// Says that `key` has been changed through `setPrimitiveValue`: the change is noticed from here on.
  public final func didChangeValue(forKey key: String) {
    guard let slot = home.entity.slot(named: key) else { return }
    let draft = editableDraft()
    if !home.entity.attributes[slot].isTransient {
      if !draft.isChanged(slot) { draft[slot] = storedValue(slot) }
      draft.primitive.remove(slot)
      if state.isDisjoint(with: [.notedInsert, .notedUpdate]) { draft.eventChanged = SlotBitmap() }
      draft.eventChanged.insert(slot)
    }
    noteChange()
  }

  // MARK: Changes

  /// The persistent attributes whose value differs from the one last fetched or saved, with their new values; `NSNull` for
  /// nil. Fires nothing (rule 73).
  public final func changedValues() -> [String: Any] {
    context?.checkAccess(home.token.entityName)
    if let received { return dictionary(received.changedSlots) { storedValue($0) } }
    guard let draft, !state.contains(.draftFrozen) else { return [:] }
    var slots = slotsThatDiffer
    draft.primitive.forEach { slots.remove($0) }
    return dictionary(slots) { draft[$0] }
  }

  /// The attributes changed since the last did-change notification, with their values now (rule 74).
  public final func changedValuesForCurrentEvent() -> [String: Any] {
    context?.checkAccess(home.token.entityName)
    guard let draft, !state.isDisjoint(with: [.notedInsert, .notedUpdate]) else { return [:] }
    return dictionary(draft.eventChanged) { draft[$0] }
  }

  /// Values as last fetched or saved, `NSNull` for nil; of all persistent attributes when `keys` is nil. A new object has
  /// none (rule 72). Fires a fault.
  public final func committedValues(forKeys keys: [String]?) -> [String: Any] {
    context?.checkAccess(home.token.entityName)
    fire()
    let received = received
    guard let snapshot = received == nil ? snapshot : received?.base else { return [:] }
    let all = dictionary(of: snapshot)
    guard let keys else { return all }
    return all.filter { keys.contains($0.key) }
  }

  /// Whether saving would write anything: some persistent attribute differs from its saved value, or the object is new or
  /// deleted. Setting a value back makes it false again, unlike `hasChanges` (rule 75).
  public final var hasPersistentChangedValues: Bool {
    context?.checkAccess(home.token.entityName)
    if let received { return received.kind != .update || !received.changedSlots.isEmpty }
    return isInserted || isDeleted || (isUpdated && !slotsThatDiffer.isEmpty)
  }

  /// What a child has saved of the object, as long as nobody edits it here.
  private final var received: StratumRow? {
    state.isDisjoint(with: .received) ? nil : context?.unsavedRow(for: self)?.row
  }

  // MARK: Shared steps

  /// All persistent attributes of a row, by name.
  final func dictionary(of row: RowSnapshot) -> [String: Any] {
    dictionary(home.persistentSlots) { storedValue($0, in: row) }
  }

  private final func dictionary(_ slots: SlotBitmap, _ value: (Int) -> AttributeValue) -> [String: Any] {
    var result: [String: Any] = [:]
    let attributes = home.entity.attributes
    slots.forEach { result[attributes[$0].name] = value($0).anyValue ?? NSNull() }
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
      return transients?[slot].flatMap { AttributeValue($0, type: home.entity.attributes[slot].type) }
        ?? .null
    }
    guard let snapshot else { return .null }
    return storedValue(slot, in: snapshot)
  }

  /// An attribute of a row, large values read from the store and kept until the row is replaced.
  private final func storedValue(_ slot: Int, in row: RowSnapshot) -> AttributeValue {
    if let value = row.value(slot, home.entity.layout) { return value }
    // What is kept belongs to the object's own row, not to a stored one that a conflict shows.
    let isOwn = row.base == snapshot?.base
    if isOwn, let loaded = transients?[~slot] as? AttributeValue { return loaded }
    guard let context, let place = context.locate(objectID) else { return .null }
    let value: AttributeValue
    if let unsaved = context.unsavedValue(of: row, slot, self) {
      value = unsaved
    } else {
      do {
        value = place.store.value(of: row, slot, home, primaryKey, in: try context.reading(place.store))
      } catch {
        // The generation has ended: the newest commit is not what was asked for.
        context.report(error, reading: self)
        return .null
      }
    }
    if isOwn, !value.isNull { transients = (transients ?? [:]).merging([~slot: value]) { $1 } }
    return value
  }

  /// Drops large values that were read for a row that has been replaced.
  final func forgetLoadedValues() { transients = transients?.filter { $0.key >= 0 } }

  /// Before a read: right queue, fault fulfilled.
  final func willAccess(_ slot: Int) {
    context?.checkAccess(home.token.entityName)
    fire()
  }

  /// The one way an attribute is edited.
  final func edit(_ slot: Int, _ value: AttributeValue) {
    willAccess(slot)
    let draft = editableDraft()
    draft[slot] = value
    if !state.contains(.awaking) {
      draft.primitive.remove(slot)
      if state.isDisjoint(with: [.notedInsert, .notedUpdate]) { draft.eventChanged = SlotBitmap() }
      draft.eventChanged.insert(slot)
      noteChange()
    } else {
      // awakeFromFetch may set values without dirtying the object (rule 55).
      noteSilentEdit(slot)
    }
  }

  /// `slot` was set without anybody being told. From now on setters take the slow half, which knows the difference.
  private final func noteSilentEdit(_ slot: Int) {
    draft?.primitive.insert(slot)
    edits = nil
    context?.changes.countEdit()
  }

  final func setTransient(_ value: Any?, _ slot: Int) {
    let attribute = home.entity.attributes[slot]
    guard attribute.type == .undefined || AttributeValue(value, type: attribute.type) != nil else {
      trap(
        "\(home.token.entityName).\(attribute.name) is of type \(attribute.type) and cannot take \(value ?? "nil")."
      )
    }
    willAccess(slot)
    storeTransient(value, slot)
    if !state.contains(.awaking) { noteChange() }
  }

  private final func storeTransient(_ value: Any?, _ slot: Int) {
    claim()
    transients = transients ?? [:]
    transients?[slot] = value
  }

  /// The object counts as changed.
  @inline(__always)
  final func noteChange() {
    guard let context else { return }
    if state.isDisjoint(with: [.notedInsert, .notedUpdate]) {
      context.noteFirstEdit()
      context.changes.update(self)
    } else if state.isDisjoint(with: [.inserted, .updated, .deleted]) {
      context.changes.update(self)
    }
  }
}

extension ManagedObject {
  /// Checks that no mandatory attribute is nil; all failures are collected (rules 226, 228).
  final func validateAttributes() throws {
    if !withHome({ home in home.hasRequiredSlots && hasNil(in: home.requiredSlots) }) { return }
    var failures: [CoreDataError] = []
    home.requiredSlots.forEach { slot in
      if isNil(slot) { failures.append(missingValue(slot)) }
    }
    if failures.count == 1 { throw failures[0] }
    if !failures.isEmpty {
      throw CoreDataError(.validationMultipleErrors, userInfo: [CoreDataError.Key.detailedErrors: failures])
    }
  }

  private final func hasNil(in slots: borrowing SlotBitmap) -> Bool {
    var found = false
    slots.forEach { if isNil($0) { found = true } }
    return found
  }

  private final func isNil(_ slot: Int) -> Bool {
    if let draft, draft.isChanged(slot) { return draft.isNil(slot) }
    return snapshot?.isNil(slot, home.entity.layout) ?? true
  }

  private final func missingValue(_ slot: Int) -> CoreDataError {
    let name = home.entity.attributes[slot].name
    return CoreDataError(
      .validationMissingMandatoryProperty, "\(home.token.entityName).\(name) is a required value.",
      userInfo: [CoreDataError.Key.validationObject: self, CoreDataError.Key.validationKey: name])
  }
}
