import CoreData

extension GraphRun {
  /// Runs the whole story; a disagreement names the step.
  func run() throws {
    for number in 1...max(settings.operations, 1) where !settings.skipped.contains(number) {
      step = number
      dice = Dice(seed: seed, step: number)
      do { try perform() } catch { throw told(error) }
    }
    step = settings.operations + 1
    dice = Dice(seed: seed, step: step)
    do { try finish() } catch { throw told(error) }
  }

  private func told(_ error: any Error) -> Disagreement {
    let complaint = (error as? Disagreement)?.description ?? "an error: \(words(error))"
    let named = Set(complaint.split { !"#0123456789".contains($0) }.filter { $0.hasPrefix("#") })
    let about = log.filter { line in
      !named.isDisjoint(with: Set(line.split { !"#0123456789".contains($0) }))
        || [" save", " rollback", " reset", " sync", " undo", " redo", " opens", " child"].contains {
          line.contains($0)
        }
    }
    return Disagreement(
      "seed \(seed), step \(step): \(complaint)\n  what named them:\n    "
        + about.suffix(60).joined(separator: "\n    ") + "\n  the last steps:\n    "
        + log.suffix(15).joined(separator: "\n    "))
  }

  /// An error; of conflicts the records and the versions of their rows.
  private func words(_ error: any Error) -> String {
    let list = (error as NSError).userInfo[NSPersistentStoreSaveConflictsErrorKey] as? [NSMergeConflict] ?? []
    let conflicts = list.map { conflict in
      "#\(numbers[conflict.sourceObject.objectID] ?? 0) of version \(conflict.oldVersionNumber) is stored as "
        + "\(conflict.newVersionNumber)"
    }
    return conflicts.isEmpty
      ? "\(error)" : "\((error as NSError).code): \(conflicts.joined(separator: ", "))"
  }

  private func perform() throws {
    guard let place = dice.pick(places) else { return }
    switch dice.roll(100) {
    case ..<58: try editEvent(place)
    case ..<70: try look(place)
    case ..<82: try save(place)
    case ..<85: try takeBack(place)
    case ..<87: try undo(place)
    case ..<91: try addPlace(place)
    case ..<93: try leave(place)
    case ..<95: try batch(place)
    case 95: try conflict()
    case 96: try duplicate()
    case 97: try forget(place)
    case 98: try reopen()
    default: try compareStore()
    }
    if step % 25 == 0, let place = dice.pick(places) { try compare(place) }
  }

  // MARK: One event of edits

  func editEvent(_ place: Place) throws {
    try sync(place)
    try enter(place) {
      for _ in 0..<(1 + dice.roll(3)) { try edit(place) }
    }
    try checkChanges(place)
  }

  private func edit(_ place: Place) throws {
    let graph = view(place)
    if graph.records.count > 90, dice.chance(60) { return try delete(place, graph) }
    switch dice.roll(20) {
    case ..<4: try insert(place)
    case ..<9: try setValues(place, graph)
    case ..<18: try editRelationship(place, graph)
    default: try delete(place, graph)
    }
  }

  @discardableResult
  func insert(_ place: Place, _ wanted: Int? = nil) throws -> Int? {
    let kinds =
      wanted.map { model.concrete[$0] } ?? model.entities.indices.filter { !model.entities[$0].isAbstract }
    guard let kind = dice.pick(kinds) else { return nil }
    let number = nextNumber
    nextNumber += 1
    var graph = view(place)
    graph.insert(number, kind)
    let name = model.entities[kind].name
    note("\(place.name): insert \(name) #\(number)")
    let object: NSManagedObject
    if dice.chance(50), let entity = NSEntityDescription.entity(forEntityName: name, in: place.context) {
      object = NSManagedObject(entity: entity, insertInto: place.context)
    } else {
      object = NSEntityDescription.insertNewObject(forEntityName: name, into: place.context)
    }
    ids[number] = object.objectID
    numbers[object.objectID] = number
    if dice.chance(10) {
      try place.context.obtainPermanentIDs(for: [object])
      try expect(object.objectID == ids[number], "\(place.name): #\(number) has got another ID")
    }
    try compareValues(object, number, graph, place)
    set(object, number, "number", .integer(Int64(number)), &graph)
    for attribute in model.attributes[kind] where attribute.name != "number" {
      if attribute.isUnique {
        set(object, number, attribute.name, unique(attribute), &graph)
      } else if dice.chance(attribute.isOptional ? 50 : 90) {
        set(object, number, attribute.name, valid(attribute), &graph)
      }
    }
    adopt(graph, place)
    if dice.chance(40) { place.held[number] = object }
    count("insert")
    return number
  }

  /// A value that no record has had.
  func unique(_ attribute: AttributePlan) -> PlainValue {
    nextUnique += 1
    return attribute.type == .stringAttributeType ? .text("key \(nextUnique)") : .integer(nextUnique)
  }

  /// A value the rules allow.
  func valid(_ attribute: AttributePlan) -> PlainValue {
    if attribute.isUnique { return unique(attribute) }
    let value = PlainValue.random(attribute.type, isLarge: attribute.isLarge, &dice)
    switch (attribute.least, value) {
    case (let least?, .integer(let number)) where number < least: return .integer(least)
    case (let least?, .double(let number)) where number < Double(least): return .double(Double(least))
    default: return value
    }
  }

  /// Sets a value the one way or the other.
  func set(
    _ object: NSManagedObject, _ number: Int, _ key: String, _ value: PlainValue, _ graph: inout PlainGraph
  ) {
    graph.set(number, key, value)
    if dice.chance(15) {
      // What a hand-written accessor does.
      object.willChangeValue(forKey: key)
      object.setPrimitiveValue(value.object, forKey: key)
      object.didChangeValue(forKey: key)
    } else {
      object.setValue(value.object, forKey: key)
    }
  }

  private func setValues(_ place: Place, _ graph: PlainGraph) throws {
    guard let number = dice.pick(graph.records.keys.sorted()), mayTouch([number], place) else { return }
    var graph = graph
    let object = try object(number, place)
    for _ in 0..<(1 + dice.roll(2)) {
      guard let attribute = dice.pick(graph.attributes(number)), attribute.name != "number" else { continue }
      var value = valid(attribute)
      if attribute.isOptional, dice.chance(15) { value = .none }
      if !attribute.isOptional, !attribute.isUnique, dice.chance(3) { value = .none }
      if let least = attribute.least, dice.chance(8) {
        value = attribute.type == .doubleAttributeType ? .double(Double(least - 1)) : .integer(least - 1)
      }
      note("\(place.name): #\(number).\(attribute.name) = \(value)")
      set(object, number, attribute.name, value, &graph)
    }
    try compareValues(object, number, graph, place)
    adopt(graph, place)
    count("set")
  }

  // MARK: Deleting

  /// Whether a context that is neither above nor below has edited a record that refers to one of these.
  private func isReferredElsewhere(_ doomed: Set<Int>, _ place: Place) -> Bool {
    places.contains { other in
      if other === place || place.isAbove(other) { return false }
      return ([other.layer] + other.undoable + other.redoable).contains { layer in
        layer.values.contains { $0?.ends.values.contains { !doomed.isDisjoint(with: $0) } ?? false }
      }
    }
  }

  func delete(_ place: Place, _ graph: PlainGraph, _ wanted: Int? = nil) throws {
    guard let number = wanted ?? dice.pick(graph.records.keys.sorted()) else { return }
    let doomed = graph.doomed(by: number)
    if doomed.count > 12, wanted == nil { return }
    if graph.isDenied(doomed) {
      return
    }
    guard !isReferredElsewhere(doomed, place), let planned = plan(place, { $0.delete(number) }) else {
      return
    }
    note("\(place.name): delete \(label(doomed.sorted()))")
    place.context.delete(try object(number, place))
    adopt(planned, place)
    try endEvent(place)
    for gone in doomed { place.held[gone] = nil }
    count("delete")
  }
}
