import CoreData

extension GraphRun {
  private static var policies: [(name: String, policy: AnyObject)] {
    [
      ("error", NSErrorMergePolicy), ("store trump", NSMergeByPropertyStoreTrumpMergePolicy),
      ("object trump", NSMergeByPropertyObjectTrumpMergePolicy), ("overwrite", NSOverwriteMergePolicy),
      ("rollback", NSRollbackMergePolicy),
    ]
  }

  /// Two contexts edit one record; the one that saves last has a merge policy.
  func conflict() throws {
    let free = store.keys.sorted().filter { number in places.allSatisfy { !$0.claims.contains(number) } }
    guard let number = dice.pick(free), let old = store[number], let id = ids[number] else { return }
    let plain = model.attributes[old.kind].filter { !$0.isTransient && !$0.isUnique && $0.name != "number" }
    guard let (name, policy) = dice.pick(Self.policies), !plain.isEmpty else { return }
    func edits() -> [String: PlainValue] {
      var result: [String: PlainValue] = [:]
      for _ in 0..<(1 + dice.roll(2)) {
        guard let attribute = dice.pick(plain) else { continue }
        let value = valid(attribute)
        if value != old.values[attribute.name] { result[attribute.name] = value }
      }
      return result
    }
    let ours = edits()
    var theirs = edits()
    if name == "overwrite" {
      // A large value that was not read is not in memory, so it cannot replace theirs.
      for attribute in plain where attribute.isLarge { theirs[attribute.name] = nil }
    }
    guard !theirs.isEmpty, !ours.isEmpty else { return }
    note("conflict about #\(number), \(name): \(theirs) and then \(ours)")
    let (first, last) = (scratch(), scratch())
    last.mergePolicy = policy
    func edit(_ context: NSManagedObjectContext, _ values: [String: PlainValue]) throws {
      let object = try context.existingObject(with: id)
      for (key, value) in values.sorted(by: { $0.key < $1.key }) {
        object.setValue(value.object, forKey: key)
      }
    }
    // The object is held: it keeps what it has read.
    let object = try last.performAndWait { try last.existingObject(with: id) }
    try first.performAndWait {
      try edit(first, theirs)
      try first.save()
    }
    let isRefused = name == "error"
    let expected = resolved(name, old, theirs, ours)
    try last.performAndWait {
      try edit(last, ours)
      let error = Self.failure { try last.save() }
      if isRefused {
        try expect(
          (error as NSError?)?.code == NSManagedObjectMergeError,
          "a conflict under \(name): \(String(describing: error))")
        try expect(last.hasChanges, "the refused changes are gone")
        for (key, value) in ours {
          let type = plain.first { $0.name == key }?.type ?? .stringAttributeType
          try expect(PlainValue(object.value(forKey: key), type) == value, "#\(number).\(key) is lost")
        }
        last.refresh(object, mergeChanges: true)
        try last.save()
      } else if let error {
        throw Disagreement("a conflict under \(name): \(error)")
      }
      for attribute in plain {
        let found = PlainValue(object.value(forKey: attribute.name), attribute.type)
        let value = expected.values[attribute.name] ?? .none
        try expect(
          found == value,
          "after a conflict under \(name) #\(number).\(attribute.name) is \(found.map { "\($0)" } ?? "?"), not \(value)"
        )
      }
    }
    store[number] = expected
    for other in places {
      other.isBehind = true
      other.unheard = nil
    }
    count("conflict, \(name)")
    try compareStore()
  }

  /// What the record is after the last save: the error policy is followed by a refresh that keeps the edits.
  private func resolved(
    _ policy: String, _ old: PlainRecord, _ theirs: [String: PlainValue], _ ours: [String: PlainValue]
  ) -> PlainRecord {
    var result = old
    switch policy {
    case "rollback": result.values.merge(theirs) { $1 }
    case "store trump":
      result.values.merge(ours) { $1 }
      result.values.merge(theirs) { $1 }
    case "overwrite": result.values.merge(ours) { $1 }
    default:
      result.values.merge(theirs) { $1 }
      result.values.merge(ours) { $1 }
    }
    return result
  }

  // MARK: Duplicates

  /// A new object has the unique values of a stored record.
  func duplicate() throws {
    let free = store.keys.sorted().filter { number in
      guard let record = store[number] else { return false }
      return !constraints(record.kind).isEmpty && record.ends.values.allSatisfy(\.isEmpty)
        && !model.relationships[record.kind].contains { !$0.isOptional }
        && places.allSatisfy { !$0.claims.contains(number) }
        && !store.values.contains { $0.ends.values.contains { $0.contains(number) } }
    }
    guard let number = dice.pick(free), let old = store[number],
      let (name, policy) = dice.pick(Self.policies)
    else { return }
    var graph = PlainGraph(model, store)
    let new = nextNumber
    nextNumber += 1
    graph.insert(new, old.kind)
    let keys = Set(constraints(old.kind).flatMap { $0 })
    let context = scratch()
    context.mergePolicy = policy
    note("duplicate of #\(number), \(name)")
    var fresh = try context.performAndWait { () -> PlainRecord in
      let object = NSEntityDescription.insertNewObject(
        forEntityName: model.entities[old.kind].name, into: context)
      for attribute in model.attributes[old.kind] where !attribute.isTransient {
        let isSame = keys.contains(attribute.name) || attribute.name == "number"
        if !isSame, attribute.isOptional, dice.chance(50) { continue }
        let value = isSame ? old.values[attribute.name] ?? .none : valid(attribute)
        set(object, new, attribute.name, value, &graph)
      }
      let error = Self.failure { try context.save() }
      guard name == "error" else {
        try expect(error == nil, "a duplicate under \(name): \(String(describing: error))")
        return graph[new] ?? old
      }
      try expect(
        (error as NSError?)?.code == NSManagedObjectConstraintMergeError,
        "a duplicate under \(name): \(String(describing: error))")
      try expect(context.insertedObjects == [object], "the refused duplicate is gone")
      for attribute in model.attributes[old.kind] where keys.contains(attribute.name) {
        set(object, new, attribute.name, unique(attribute), &graph)
      }
      set(object, new, "number", .integer(Int64(new)), &graph)
      try context.save()
      ids[new] = object.objectID
      numbers[object.objectID] = new
      return graph[new] ?? old
    }
    for attribute in model.attributes[old.kind] {
      let isSet = fresh.values[attribute.name] != attribute.defaultValue
      let keepsOld = name == "object trump" && !isSet || name == "store trump" || name == "rollback"
      if keepsOld || attribute.isTransient {
        fresh.values[attribute.name] = old.values[attribute.name] ?? PlainValue.none
      }
    }
    store[name == "error" ? new : number] = fresh
    for other in places {
      other.isBehind = true
      other.unheard = nil
    }
    count("duplicate, \(name)")
    try compareStore()
  }

  private func constraints(_ kind: Int) -> [[String]] {
    model.entities.indices.filter { model.isKind[kind][$0] }.flatMap { model.entities[$0].constraints }
  }

  private func scratch() -> NSManagedObjectContext {
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    return context
  }
}
