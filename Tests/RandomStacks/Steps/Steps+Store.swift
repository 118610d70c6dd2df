import CoreData

extension GraphRun {
  // MARK: Batches

  /// A batch goes straight to the store; no context is notified.
  func batch(_ near: Place) throws {
    guard let place = dice.pick(places.filter { $0.parent == nil }) else { return }
    let free = store.keys.sorted().filter { number in places.allSatisfy { !$0.claims.contains(number) } }
    switch dice.roll(3) {
    case 0: try batchInsert(place)
    case 1: try batchUpdate(place, free)
    default: try batchDelete(place, free)
    }
    for other in places {
      other.isBehind = true
      other.unheard = nil
    }
  }

  private func batchInsert(_ place: Place) throws {
    let entities = model.entities.indices.filter { number in
      !model.entities[number].isAbstract
        && !model.relationships[number].contains { !$0.isOptional && !$0.isToMany }
    }
    guard let entity = dice.pick(entities) else { return }
    var rows: [[String: Any]] = []
    var added: [Int] = []
    for _ in 0..<(1 + dice.roll(3)) {
      var graph = PlainGraph(model, store)
      graph.insert(nextNumber, entity)
      graph.set(nextNumber, "number", .integer(Int64(nextNumber)))
      for attribute in model.attributes[entity] where attribute.name != "number" && !attribute.isTransient {
        if !attribute.isOptional || dice.chance(50) {
          graph.set(nextNumber, attribute.name, valid(attribute))
        }
      }
      store = graph.records
      added.append(nextNumber)
      var row: [String: Any] = [:]
      for (key, value) in graph[nextNumber]?.values ?? [:] where value != .none { row[key] = value.object }
      for attribute in model.attributes[entity] where attribute.isTransient { row[attribute.name] = nil }
      rows.append(row)
      nextNumber += 1
    }
    note("\(place.name): batch insert \(label(added))")
    let request = NSBatchInsertRequest(entityName: model.entities[entity].name, objects: rows)
    request.resultType = .objectIDs
    let result = try inside(place) { try place.context.execute(request) as? NSBatchInsertResult }
    let found = result?.result as? [NSManagedObjectID] ?? []
    try expect(
      found.count == added.count, "\(place.name): a batch inserted \(found.count), not \(added.count)")
    for (number, id) in zip(added, found) {
      ids[number] = id
      numbers[id] = number
    }
    // Whether they came in order is seen by their numbers.
    count("batch insert")
    try compareStore()
  }

  private func batchUpdate(_ place: Place, _ free: [Int]) throws {
    guard let number = dice.pick(free), let kind = store[number]?.kind else { return }
    let plain = model.attributes[kind].filter { !$0.isTransient && !$0.isUnique && $0.name != "number" }
    guard let attribute = dice.pick(plain) else { return }
    let chosen = free.filter { store[$0]?.kind == kind && dice.chance(60) }
    let value = attribute.isOptional && dice.chance(20) ? .none : valid(attribute)
    note("\(place.name): batch update \(label(chosen)).\(attribute.name) = \(value)")
    let request = NSBatchUpdateRequest(entityName: model.entities[kind].name)
    request.predicate = NSPredicate(format: "number IN %@", chosen)
    request.propertiesToUpdate = [attribute.name: value.object ?? NSNull()]
    request.resultType = .updatedObjectsCountResultType
    let result = try inside(place) { try place.context.execute(request) as? NSBatchUpdateResult }
    try expect(
      result?.result as? Int == chosen.count,
      "\(place.name): a batch updated \(String(describing: result?.result)), not \(chosen.count)")
    for number in chosen { store[number]?.values[attribute.name] = value }
    count("batch update")
    if dice.chance(30) { try compareStore() }
  }

  private func batchDelete(_ place: Place, _ free: [Int]) throws {
    guard let number = dice.pick(free), let id = ids[number] else { return }
    var graph = PlainGraph(model, store)
    let doomed = graph.doomed(by: number)
    guard doomed.count < 8, !graph.isDenied(doomed) else { return }
    graph.delete(number)
    let isBusy = places.contains { !$0.claims.isDisjoint(with: graph.touched) }
    let isReferred = places.contains { other in
      ([other.layer] + other.undoable + other.redoable).contains { layer in
        layer.values.contains { $0?.ends.values.contains { !doomed.isDisjoint(with: $0) } ?? false }
      }
    }
    // Objects that stay must keep what they need: batches do not check that.
    let isBroken = graph.touched.contains { !graph.violations($0).isEmpty }
    guard !isBusy, !isReferred, !isBroken else { return }
    note("\(place.name): batch delete \(label(doomed.sorted()))")
    graph.settle()
    store = graph.records
    let request = NSBatchDeleteRequest(objectIDs: [id])
    request.resultType = .resultTypeObjectIDs
    _ = try inside(place) { try place.context.execute(request) }
    // Where a context merges it, objects that it holds of these records count as deleted there (rule 174).
    for other in places where other === place || other.context.automaticallyMergesChangesFromParent {
      other.mayHaveMissing = true
    }
    count("batch delete")
    try compareStore()
  }

  // MARK: Opening again

  /// The program ends in order and starts again: all contexts go, the IDs are those of before.
  func reopen() throws {
    try saveEverything()
    note("reopen")
    places = []
    // Those of records that are gone, too: references that take no action may still lead there.
    let uris = ids.mapValues { $0.uriRepresentation() }
    for opened in coordinator.persistentStores { try coordinator.remove(opened) }
    try open()
    ids = [:]
    numbers = [:]
    for (number, uri) in uris {
      guard let id = coordinator.managedObjectID(forURIRepresentation: uri) else {
        throw Disagreement("after opening again nobody knows \(uri), #\(number)")
      }
      ids[number] = id
      numbers[id] = number
    }
    addRoot()
    try compareStore()
    count("reopen")
  }

  /// Saves all contexts, those above first.
  func saveEverything() throws {
    for place in places.sorted(by: { $0.depth > $1.depth }) {
      try sync(place)
      guard try repair(place) else { continue }
      try carryOut(place)
      places.removeAll { $0 === place }
    }
  }

  func finish() throws {
    try reopen()
    if let place = places.first { try compare(place) }
    for opened in coordinator.persistentStores { try coordinator.remove(opened) }
    places = []
  }
}
