import CoreData

extension GraphRun {
  private static let kinds: [NSManagedObjectContextConcurrencyType] = [
    .privateQueueConcurrencyType, .privateQueueConcurrencyType, .mainQueueConcurrencyType,
    .confinementConcurrencyType,
  ]

  // MARK: New contexts

  func addRoot() {
    let kind = dice.pick(Self.kinds) ?? .privateQueueConcurrencyType
    let context = NSManagedObjectContext(concurrencyType: kind)
    context.persistentStoreCoordinator = coordinator
    add(context, nil, kind)
  }

  @discardableResult
  private func add(
    _ context: NSManagedObjectContext, _ parent: Place?, _ kind: NSManagedObjectContextConcurrencyType
  ) -> Place {
    let place = Place("c\(nextName)", context, parent: parent)
    nextName += 1
    if kind != .confinementConcurrencyType, dice.chance(50) {
      context.automaticallyMergesChangesFromParent = true
    }
    if dice.chance(30) { context.undoManager = CoreData.UndoManager() }
    context.mergePolicy = NSErrorMergePolicy
    places.append(place)
    let words =
      kind == .mainQueueConcurrencyType
      ? "main" : kind == .confinementConcurrencyType ? "confined" : "private"
    note(
      "\(place.name) opens: \(words)" + (parent.map { ", child of \($0.name)" } ?? "")
        + (context.automaticallyMergesChangesFromParent ? ", merges" : "")
        + (context.undoManager == nil ? "" : ", undoes"))
    return place
  }

  /// Makes another context now, beside or above the existing ones.
  func addPlace(_ near: Place) throws {
    guard places.count < 7 else { return }
    if dice.chance(35) || near.undoManager != nil || near.depth > 3 { return addRoot() }
    let kind = dice.pick(Self.kinds) ?? .privateQueueConcurrencyType
    let make = { () -> NSManagedObjectContext in
      let child = NSManagedObjectContext(concurrencyType: kind)
      child.parent = near.context
      return child
    }
    let child: NSManagedObjectContext
    if kind == .confinementConcurrencyType {
      child = make()
    } else {
      switch dice.roll(4) {
      case 0: child = try hands[dice.roll(hands.count)].run(make)
      case 1: child = try inside(near, make)
      case 2:
        // An edit, and the child at once.
        try editEvent(near)
        child = try hands[dice.roll(hands.count)].run(make)
      default: child = make()
      }
    }
    let place = add(child, near, kind)
    // It sees what its parent has done, from the first moment.
    try look(place)
    if dice.chance(50) { try compare(place) }
    count("child")
  }

  /// A context goes, with those above it and all that was not saved.
  func leave(_ place: Place) throws {
    guard places.count > 2, !places.contains(where: { $0.parent == nil && $0 === place && roots == 1 }) else {
      return
    }
    note("\(place.name) child goes")
    places.removeAll { $0 === place || $0.isAbove(place) }
    count("leave")
  }

  private var roots: Int { places.filter { $0.parent == nil }.count }

  // MARK: Looking again

  /// Brings the context up to what lies below, when that has changed.
  func sync(_ place: Place) throws {
    guard place.isBehind else { return }
    let context = place.context
    if let unheard = place.unheard, !unheard.isEmpty, dice.chance(30),
      context.concurrencyType != .confinementConcurrencyType
    {
      note("\(place.name): sync by IDs of \(unheard.count) saves")
      for saved in unheard {
        NSManagedObjectContext.mergeChanges(fromRemoteContextSave: identifiers(saved), into: [context])
      }
      try enter(place) {}
    } else if let unheard = place.unheard, !unheard.isEmpty, dice.chance(65) {
      note("\(place.name): sync by \(unheard.count) notifications")
      try enter(place) {
        for saved in unheard { context.mergeChanges(fromContextDidSave: saved) }
      }
    } else {
      note("\(place.name): sync by refreshing")
      try enter(place) { context.refreshAllObjects() }
    }
    place.isBehind = false
    place.unheard = []
    place.mayHaveMissing = true
    let graph = view(place)
    place.held = place.held.filter { graph[$0.key] != nil }
    count("sync")
  }

  /// What a save reported, by IDs alone.
  private func identifiers(_ saved: Notification) -> [String: [NSManagedObjectID]] {
    var result: [String: [NSManagedObjectID]] = [:]
    for key in [NSInsertedObjectsKey, NSUpdatedObjectsKey, NSDeletedObjectsKey] {
      result[key] = (saved.userInfo?[key] as? Set<NSManagedObject>)?.map(\.objectID)
    }
    return result
  }

  // MARK: Taking back

  /// Rollback, reset, or single objects refreshed without their edits.
  func takeBack(_ place: Place) throws {
    if dice.chance(50) {
      try sync(place)
      try refresh(place)
      return
    }
    guard !places.contains(where: { $0.isAbove(place) && !$0.claims.isEmpty }), dice.chance(60) else {
      return
    }
    let isReset = dice.chance(30)
    note("\(place.name): \(isReset ? "reset" : "rollback")")
    try inside(place) {
      if isReset { place.context.reset() } else { place.context.rollback() }
      place.context.processPendingChanges()
    }
    drain()
    place.layer = [:]
    place.everTouched = []
    place.undoable = []
    place.redoable = []
    if isReset {
      place.held = [:]
      place.isBehind = false
      place.unheard = []
    }
    for other in places where other.isAbove(place) {
      other.isBehind = true
      other.unheard = nil
    }
    let graph = view(place)
    place.held = place.held.filter { graph[$0.key] != nil }
    if !place.isBehind { try compare(place) }
    count(isReset ? "reset" : "rollback")
  }

  /// One object is read again beneath its edits, or becomes a fault when it has none.
  private func refresh(_ place: Place) throws {
    let graph = view(place)
    guard let number = dice.pick(graph.records.keys.sorted()) else { return }
    let isEdited = place.claims.contains(number)
    note("\(place.name): refresh #\(number)")
    try enter(place) {
      let object = try object(number, place)
      place.context.refresh(object, mergeChanges: isEdited || dice.chance(50))
      try compareObject(object, number, view(place), place)
    }
    count("refresh")
  }

  /// Objects that are not needed any more are released.
  func forget(_ place: Place) throws {
    for number in place.held.keys.sorted() where dice.chance(60) { place.held[number] = nil }
    count("forget")
  }

  // MARK: Undo

  func noteUndo(_ place: Place, _ before: [Int: PlainRecord?]) throws {
    guard let manager = place.undoManager else { return }
    let (now, groups) = (manager.undoCount, place.undoable.count)
    if now > groups {
      try expect(now == groups + 1, "\(place.name): one event made \(now - groups) groups")
      place.undoable.append(before)
      place.redoable = []
    } else {
      try expect(now == groups, "\(place.name): \(groups) groups became \(now)")
      try expect(
        shown(before, place) == shown(place.layer, place), "\(place.name): the change cannot be undone")
    }
    if manager.redoCount == 0 { place.redoable = [] }
  }

  /// What a context with that layer shows, transient values aside. A reference to what is gone shows nothing: under the rule *no action* it stays,
  /// unless what it led to was never saved, so that setting it to nil may be no change.
  private func shown(_ layer: [Int: PlainRecord?], _ place: Place) -> [Int: PlainRecord] {
    var records = below(place).records
    for (number, record) in layer { records[number] = record }
    let there = Set(records.keys)
    return records.mapValues { record in
      var record = record
      record.ends = record.ends.mapValues { $0.filter(there.contains) }.filter { !$0.value.isEmpty }
      for attribute in model.attributes[record.kind] where attribute.isTransient {
        record.values[attribute.name] = nil
      }
      return record
    }
  }

  func undo(_ place: Place) throws {
    guard place.undoManager != nil else { return }
    try sync(place)
    let isRedo = dice.chance(40)
    guard let layer = isRedo ? place.redoable.popLast() : place.undoable.popLast() else { return }
    note("\(place.name): \(isRedo ? "redo" : "undo")")
    let old = place.layer
    if isRedo { place.undoable.append(old) } else { place.redoable.append(old) }
    try inside(place) { if isRedo { place.context.redo() } else { place.context.undo() } }
    drain()
    // Deletions under the rule *no action* leave the other ends alone; what comes back joins them again, and they count as changed.
    let (before, after) = (shown(old, place), shown(layer, place))
    for (number, record) in after where before[number] == nil {
      place.everTouched.formUnion(record.ends.values.flatMap(\.self))
    }
    place.layer = layer
    let graph = view(place)
    place.held = place.held.filter { graph[$0.key] != nil }
    try expect(
      place.undoManager?.undoCount == place.undoable.count
        && place.undoManager?.redoCount == place.redoable.count,
      "\(place.name): \(place.undoManager?.undoCount ?? -1) to undo and \(place.undoManager?.redoCount ?? -1) to redo, "
        + "not \(place.undoable.count) and \(place.redoable.count)")
    try compare(place)
    count("undo")
  }
}
