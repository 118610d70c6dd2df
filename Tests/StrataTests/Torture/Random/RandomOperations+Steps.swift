import Foundation
import Strata

// The steps, one of which is taken at a time.

extension RandomOperations {
  func takeStep() throws {
    if random.below(400) == 0 { return try reopen() }
    let tested = random.pick(tested)
    try tested.context.performAndWait {
      forgetUnheld(tested)
      try takeStep(tested)
      forgetUnheld(tested)
      try checkRegistered(tested)
      try checkCounts(tested)
    }
    if random.below(60) == 0 || TortureSettings.checksAlways { try checkContent() }
  }

  private func takeStep(_ tested: Tested) throws {
    switch random.below(100) {
    case ..<(store.rows.count > 30 ? 5 : 15): try insert(tested)
    case ..<40: try edit(tested)
    case ..<47: try delete(tested)
    case ..<62: try fetch(tested)
    case ..<67: try count(tested)
    case ..<77: try save(tested)
    case ..<78: try rollback(tested)
    case ..<79: if random.chance(30) { reset(tested) }
    case ..<84: try refresh(tested)
    case ..<85: try refreshAll(tested)
    case ..<90: try findByID(tested)
    case ..<93: try makeFaultByID(tested)
    case ..<96: letGo(tested)
    case ..<98: mergeWaiting(tested)
    default: try askForChanges(tested)
    }
  }

  /// One of the context's objects.
  func pickObject(_ tested: Tested) -> ReferenceObject? {
    random.pickAny(tested.reference.objects.keys.sorted()).flatMap { tested.reference.objects[$0] }
  }

  // MARK: Editing

  private func insert(_ tested: Tested) throws {
    let entity = random.pick(["Thing", "Thing", "SpecialThing", "Note"])
    guard let description = container.managedObjectModel.entitiesByName[entity] else { return }
    let object: ManagedObject
    switch entity {
    case "Thing": object = Thing(context: tested.context)
    case "SpecialThing": object = SpecialThing(context: tested.context)
    default: object = ManagedObject(entity: description, insertInto: tested.context)
    }
    let reference = ReferenceObject(object.objectID, object)
    note("\(tested.name): insert \(reference.key)")
    try expect(store.usedKeys.insert(reference.key).inserted, "the key of \(reference.key) was given before")
    ids[reference.key] = reference.id
    tested.reference.insert(reference)
    try check(reference, in: tested)
    for slot in reference.attributes.indices where random.chance(60) { set(object, reference, slot, tested) }
    try check(reference, in: tested)
  }

  private func edit(_ tested: Tested) throws {
    guard let reference = pickObject(tested) else { return try fetch(tested) }
    let object = try real(reference, in: tested)
    note("\(tested.name): edit \(reference.key)")
    for _ in 0...random.below(3) { set(object, reference, random.below(reference.attributes.count), tested) }
    try check(reference, in: tested)
  }

  private func set(_ object: ManagedObject, _ reference: ReferenceObject, _ slot: Int, _ tested: Tested) {
    let attribute = reference.attributes[slot]
    let value = random.value(for: attribute)
    if let thing = object as? Thing, random.chance(50) {
      thing.setTypedValue(value, slot, attribute.type)
    } else {
      object.setValue(value.anyValue, forKey: attribute.name)
    }
    tested.reference.edit(reference, slot, value)
  }

  private func delete(_ tested: Tested) throws {
    guard let reference = pickObject(tested) else { return try fetch(tested) }
    let object = try real(reference, in: tested)
    note("\(tested.name): delete \(reference.key)")
    tested.context.delete(object)
    tested.reference.delete(reference)
    if tested.reference.objects[reference.key] == nil {
      try expect(object.managedObjectContext == nil, "\(reference.key), never saved, is still in its context")
    } else {
      try check(reference, in: tested)
    }
  }

  // MARK: Taking back

  private func rollback(_ tested: Tested) throws {
    note("\(tested.name): rollback")
    tested.context.rollback()
    tested.reference.rollback()
    forgetUnheld(tested)
    for key in tested.reference.objects.keys.sorted() {
      if let object = tested.reference.objects[key] { try check(object, in: tested) }
    }
  }

  private func reset(_ tested: Tested) {
    note("\(tested.name): reset")
    tested.context.reset()
    tested.reference.objects = [:]
  }

  private func refresh(_ tested: Tested) throws {
    guard let reference = pickObject(tested) else { return }
    let object = try real(reference, in: tested)
    // `NewFaultTests` show what happens to a new object that is refreshed without its edits.
    let mergeChanges = random.chance(50) || reference.isInserted
    note("\(tested.name): refresh \(reference.key) mergeChanges \(mergeChanges)")
    tested.context.refresh(object, mergeChanges: mergeChanges)
    tested.reference.refresh(reference, mergeChanges: mergeChanges)
    try check(reference, in: tested)
    if random.chance(50), reference.isFault {
      object.willAccessValue(forKey: nil)
      tested.reference.fire(reference)
      try check(reference, in: tested)
    }
    forgetUnheld(tested)
  }

  private func refreshAll(_ tested: Tested) throws {
    note("\(tested.name): refreshAllObjects")
    tested.context.refreshAllObjects()
    tested.reference.refreshAllObjects()
    for key in tested.reference.objects.keys.sorted() {
      if let object = tested.reference.objects[key] { try check(object, in: tested) }
    }
  }

  // MARK: By ID

  /// The key of a row, or once in a while of one that is no more.
  private func pickKey() -> RecordKey? {
    random.chance(85) ? random.pickAny(store.rows.keys.sorted()) : random.pickAny(ids.keys.sorted())
  }

  private func findByID(_ tested: Tested) throws {
    guard let key = pickKey(), let id = ids[key] else { return }
    note("\(tested.name): existingObject \(key)")
    let known = tested.reference.objects[key]
    let row = store.rows[key]
    let exists =
      known.map { !$0.isRowGone && (!$0.isFault || $0.snapshot != nil || row != nil) } ?? (row != nil)
    let object: ManagedObject
    do {
      object = try tested.context.existingObject(with: id)
    } catch let error as CoreDataError {
      try expect(
        error.code == .managedObjectReferentialIntegrity && !exists, "\(key) was not found: \(error)")
      return
    }
    try expect(exists, "\(key) does not exist and was found")
    let reference = known ?? ReferenceObject(id, object)
    if known == nil || reference.isFault {
      if reference.snapshot == nil { reference.take(row) }
      reference.isFault = false
    }
    reference.object = object
    tested.reference.objects[key] = reference
    try check(reference, in: tested)
  }

  private func makeFaultByID(_ tested: Tested) throws {
    guard let key = pickKey(), let id = ids[key] else { return }
    note("\(tested.name): object(with:) \(key)")
    let isKnown = tested.reference.objects[key] != nil
    try expect(
      (tested.context.registeredObject(for: id) != nil) == isKnown, "\(key) is registered, or is not")
    let object = tested.context.object(with: id)
    let reference = tested.reference.objects[key] ?? ReferenceObject(id, object)
    if !isKnown { reference.isFault = true }
    reference.object = object
    tested.reference.objects[key] = reference
    try check(reference, in: tested)
    if random.chance(50) {
      object.willAccessValue(forKey: nil)
      tested.reference.fire(reference)
      try check(reference, in: tested)
    }
  }

  // MARK: Holding

  /// The test releases some objects. Those without changes are gone then, the others stay in the context.
  private func letGo(_ tested: Tested) {
    note("\(tested.name): let go")
    tested.context.processPendingChanges()
    for key in tested.reference.objects.keys.sorted() where random.chance(40) {
      tested.reference.objects[key]?.object = nil
    }
    forgetUnheld(tested)
  }

  /// Drops what neither the test nor the context holds any more. An object that had changes since the last save may
  /// stay in its context until the next one.
  func forgetUnheld(_ tested: Tested) {
    tested.context.processPendingChanges()
    for (key, object) in tested.reference.objects where object.object == nil && !object.hasChanges {
      let lingers = object.wasChanged && tested.context.registeredObject(for: object.id) != nil
      if lingers { store.count("lingering objects") } else { tested.reference.objects[key] = nil }
    }
  }

  /// What is held nowhere and has no changes is not registered (contexts 9).
  func checkRegistered(_ tested: Tested) throws {
    for (key, id) in ids {
      let isRegistered = tested.context.registeredObject(for: id) != nil
      try expect(
        isRegistered == (tested.reference.objects[key] != nil),
        "\(tested.name): \(key) is \(isRegistered ? "" : "not ")registered")
    }
  }

  private func mergeWaiting(_ tested: Tested) {
    for (notification, notice) in tested.waiting {
      note("\(tested.name): merge \(notice)")
      tested.context.mergeChanges(fromContextDidSave: notification)
      tested.reference.merge(notice)
    }
    tested.waiting = []
  }

  // MARK: Questions

  private func askForChanges(_ tested: Tested) throws {
    guard let reference = pickObject(tested), !reference.isFault else { return }
    let object = try real(reference, in: tested)
    note("\(tested.name): changedValues \(reference.key)")
    let changed = Set(object.changedValues().keys)
    let expected = Set(reference.slotsThatDiffer.map { reference.attributes[$0].name })
    try expect(changed == expected, "\(reference.key): changed are \(changed), should be \(expected)")
    try expect(
      object.hasPersistentChangedValues == (reference.isInserted || reference.isDeleted || !expected.isEmpty),
      "\(reference.key): hasPersistentChangedValues is \(object.hasPersistentChangedValues)")
    let committed = object.committedValues(forKeys: nil)
    try expect(
      committed.count == (reference.snapshot == nil ? 0 : reference.attributes.count),
      "\(reference.key) has \(committed.count) committed values")
    guard let snapshot = reference.snapshot else { return }
    for (slot, attribute) in reference.attributes.enumerated() where snapshot.large[slot] == nil {
      let any = committed[attribute.name].flatMap { $0 is NSNull ? nil : $0 }
      let value = AttributeValue(any, type: attribute.type) ?? .null
      try expect(
        ReferenceOrder.isIdentical(value, snapshot.values[slot]),
        "\(reference.key).\(attribute.name): committed is \(brief(value)), not \(brief(snapshot.values[slot]))"
      )
    }
    // Committed large values were read along.
    for slot in snapshot.large.keys where reference.edits[slot] == nil { try check(reference, in: tested) }
  }
}
