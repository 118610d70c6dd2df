import CoreData

extension GraphRun {
  func save(_ place: Place) throws {
    try sync(place)
    let refused = place.layer.keys.sorted().flatMap { view(place).violations($0) }
    if !refused.isEmpty, dice.chance(30), areOwn(refused, place) {
      try refuse(place, refused)
    }
    guard try repair(place) else { return }
    if place.parent == nil, let disk, dice.chance(30) { try failWriting(place, disk) }
    try carryOut(place)
  }

  /// Whether all these rules are broken by what the context itself has changed: whatever else there is need not be looked at.
  private func areOwn(_ violations: [PlainViolation], _ place: Place) -> Bool {
    let (here, below) = (view(place), below(place))
    return violations.allSatisfy { violation in
      guard let old = below[violation.number] else { return true }
      return old.values[violation.key] != here[violation.number]?.values[violation.key]
        || old.ends[violation.key] != here[violation.number]?.ends[violation.key]
    }
  }

  /// The save fails, names every rule that is broken, and changes nothing.
  private func refuse(_ place: Place, _ violations: [PlainViolation]) throws {
    note("\(place.name): save, to be refused for \(violations)")
    let error = try inside(place) { Self.failure { try place.context.save() } }
    guard let error = error as? NSError else {
      throw Disagreement("\(place.name): saved in spite of \(violations)")
    }
    let details = error.userInfo[NSDetailedErrorsKey] as? [NSError] ?? [error]
    let found = try details.map { one in
      PlainViolation(
        number: try number(one.userInfo[NSValidationObjectErrorKey] as? NSManagedObject) ?? 0,
        key: one.userInfo[NSValidationKeyErrorKey] as? String ?? "", code: one.code)
    }
    try expect(
      (error.code == NSValidationMultipleErrorsError) == (violations.count > 1),
      "\(place.name): \(error.code), of \(found), for \(violations)")
    try expect(Set(found) == Set(violations), "\(place.name): refused for \(found), not for \(violations)")
    place.forgetUndo()
    try checkChanges(place)
    try compare(place, place.layer.keys.sorted())
    count("refused save")
  }

  static func failure(_ body: () throws -> Void) -> (any Error)? {
    do {
      try body()
      return nil
    } catch { return error }
  }

  // MARK: Making it valid

  /// Edits what breaks rules until nothing does. False when that is not possible: then everything is taken back.
  func repair(_ place: Place) throws -> Bool {
    for round in 0..<8 {
      let graph = view(place)
      let broken = place.layer.keys.sorted().flatMap { graph.violations($0) }
      if broken.isEmpty { return true }
      try enter(place) {
        for violation in broken where view(place)[violation.number] != nil {
          try repair(place, violation, round)
        }
      }
    }
    guard !places.contains(where: { $0.isAbove(place) && !$0.claims.isEmpty }) else { return false }
    note("\(place.name): rollback of what cannot be saved")
    try inside(place) { place.context.rollback() }
    drain()
    place.layer = [:]
    place.everTouched = []
    place.forgetUndo()
    for other in places where other.isAbove(place) {
      other.isBehind = true
      other.unheard = nil
    }
    place.held = [:]
    return false
  }

  private func repair(_ place: Place, _ violation: PlainViolation, _ round: Int) throws {
    let number = violation.number
    var graph = view(place)
    guard graph.violations(number).contains(violation) else { return }
    if round > 4 { return try delete(place, graph, number) }
    if let attribute = graph.attributes(number).first(where: { $0.name == violation.key }) {
      guard mayTouch([number], place) else { return }
      let value = valid(attribute)
      note("\(place.name): #\(number).\(attribute.name) = \(value), valid")
      set(try object(number, place), number, attribute.name, value, &graph)
      adopt(graph, place)
      return
    }
    guard let end = model.relationship[violation.key] else { return }
    var members = graph.members(number, end.name)
    if !end.isToMany {
      let owners = graph.numbers(end.destination).filter { mayTouch([$0], place) }
      guard let owner = try dice.pick(owners) ?? insert(place, end.destination) else { return }
      members = [owner]
    } else if end.most > 0, members.count > end.most {
      members = Array(members.prefix(end.most))
    } else {
      members = []
    }
    guard let planned = plan(place, { $0.setMembers(number, end, members) }) else { return }
    note("\(place.name): #\(number).\(end.name) = [\(label(members))], valid")
    let objects = try members.map { try object($0, place) }
    let value: Any? =
      end.isToMany ? (end.isOrdered ? NSOrderedSet(array: objects) : NSSet(array: objects)) : objects.first
    try object(number, place).setValue(value, forKey: end.name)
    adopt(planned, place)
  }

  // MARK: Carrying it out

  /// The save succeeds, and what was edited here is below.
  func carryOut(_ place: Place) throws {
    note("\(place.name): save")
    let heard = Heard()
    let context = place.context
    let token = NotificationCenter.default.addObserver(
      forName: .NSManagedObjectContextDidSave, object: context, queue: nil
    ) { heard.saved = $0 }
    defer { NotificationCenter.default.removeObserver(token) }
    try inside(place) {
      try context.save()
      try expect(!context.hasChanges, "\(place.name): changes are left after a save")
    }
    drain()
    let layer = place.layer
    // What counted as updated here does so there.
    place.parent?.everTouched.formUnion(place.everTouched)
    place.layer = [:]
    place.everTouched = []
    place.forgetUndo()
    place.mayHaveMissing = false
    if let parent = place.parent {
      handDown(layer, to: parent)
      for other in places where other !== place && !other.isAbove(place) && other.isAbove(parent) {
        other.isBehind = true
        other.unheard = nil
      }
    } else {
      takeIn(layer)
      for other in places where other !== place && !other.isAbove(place) { tell(other, heard.saved) }
    }
    count(place.parent == nil ? "save" : "child save")
    try checkChanges(place)
    if let parent = place.parent { try checkChanges(parent) }
    if dice.chance(15) {
      try compare(place)
      try compareStore()
    }
  }

  private func handDown(_ layer: [Int: PlainRecord?], to parent: Place) {
    let below = below(parent)
    for (number, record) in layer {
      if record == nil, below[number] == nil {
        parent.layer[number] = nil
      } else {
        parent.layer[number] = .some(record)
      }
      if record == nil { parent.held[number] = nil }
    }
  }

  /// The store has it now.
  func takeIn(_ layer: [Int: PlainRecord?]) {
    for (number, record) in layer { store[number] = record.map(withoutTransients) }
    var graph = PlainGraph(model, store)
    graph.settle()
    store = graph.records
  }

  private func withoutTransients(_ record: PlainRecord) -> PlainRecord {
    var record = record
    for attribute in model.attributes[record.kind] where attribute.isTransient {
      record.values[attribute.name] = attribute.defaultValue
    }
    return record
  }

  /// Another context has saved to the store.
  private func tell(_ other: Place, _ saved: Notification?) {
    if other.parent == nil, other.context.automaticallyMergesChangesFromParent {
      other.mayHaveMissing = true
      let graph = view(other)
      other.held = other.held.filter { graph[$0.key] != nil }
      return
    }
    other.isBehind = true
    if other.parent == nil, let saved { other.unheard?.append(saved) } else { other.unheard = nil }
  }

  // MARK: A disk that fails

  /// A save that cannot be written reports an error, keeps the changes and leaves the store as it was.
  private func failWriting(_ place: Place, _ disk: any FailingDisk) throws {
    guard !place.layer.isEmpty else { return }
    let codes: [Int32] = [EIO, ENOSPC]
    let (nth, code) = (1 + dice.roll(4), codes[dice.roll(2)])
    note("\(place.name): save, with write \(nth) failing with \(code)")
    let error = try inside(place) { () -> (any Error)? in
      disk.failWrites(nth: nth, code: code)
      let error = Self.failure { try place.context.save() }
      let count = disk.heal()
      if error != nil, count == 0 { throw Disagreement("\(place.name): failed without a fault: \(error!)") }
      return error
    }
    drain()
    guard let error else {
      // There were fewer writes than that, or the store found a way around it: the edits are saved.
      return try savedAfterAll(place)
    }
    note("\(place.name): \((error as NSError).code)")
    try expect((error as? CocoaError) != nil, "\(place.name): no error of Core Data's: \(error)")
    try checkChanges(place)
    try compare(place, place.layer.keys.sorted())
    try compareStore()
    count("failed write")
  }

  /// The save that was to fail did not; it is counted as one.
  private func savedAfterAll(_ place: Place) throws {
    let layer = place.layer
    place.layer = [:]
    place.everTouched = []
    place.forgetUndo()
    place.mayHaveMissing = false
    takeIn(layer)
    for other in places where other !== place && !other.isAbove(place) {
      tell(other, nil)
    }
    try checkChanges(place)
  }
}

/// What a context reported when it saved.
private final class Heard: @unchecked Sendable {
  // Written during a save that the story waits for, and read afterwards.
  var saved: Notification?
}
