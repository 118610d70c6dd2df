import CoreData

extension GraphRun {
  // MARK: Objects

  /// Compares the values of an object; transient ones only where they have just been set.
  func compareValues(
    _ object: NSManagedObject, _ number: Int, _ graph: PlainGraph, _ place: Place, transient: Bool = false
  ) throws {
    for attribute in graph.attributes(number) where transient || !attribute.isTransient {
      let expected = graph[number]?.values[attribute.name] ?? .none
      let answer = object.value(forKey: attribute.name)
      guard let found = PlainValue(answer, attribute.type) else {
        throw Disagreement("\(place.name): #\(number).\(attribute.name) is a \(type(of: answer))")
      }
      try expect(
        found == expected, "\(place.name): #\(number).\(attribute.name) is \(found), not \(expected)")
    }
  }

  func compareObject(_ object: NSManagedObject, _ number: Int, _ graph: PlainGraph, _ place: Place) throws {
    guard let record = graph[number] else { throw Disagreement("\(place.name): #\(number) is there") }
    try expect(
      object.entity.name == model.entities[record.kind].name,
      "\(place.name): #\(number) is of \(object.entity.name ?? "?")")
    try compareValues(object, number, graph, place)
    for end in graph.relationships(number) {
      let expected = graph.members(number, end.name)
      let found = try members(object, end).filter { graph[$0] != nil }
      let isSame = end.isOrdered ? found == expected : found.sorted() == expected.sorted()
      try expect(
        isSame, "\(place.name): #\(number).\(end.name) is [\(label(found))], not [\(label(expected))]")
    }
  }

  /// The members an object shows, asked for in one way or another.
  private func members(_ object: NSManagedObject, _ end: RelationshipPlan) throws -> [Int] {
    if dice.chance(25) {
      return try object.objectIDs(forRelationshipNamed: end.name).map { id in
        guard let number = numbers[id] else { throw Disagreement("nobody knows \(id)") }
        return number
      }
    }
    let answer = object.value(forKey: end.name)
    if !end.isToMany { return try number(answer as? NSManagedObject).map { [$0] } ?? [] }
    let all: [Any]
    if end.isOrdered {
      guard let ordered = answer as? NSOrderedSet else { throw Disagreement("\(end.name) is no ordered set") }
      all = ordered.array
    } else {
      guard let set = answer as? NSSet else { throw Disagreement("\(end.name) is no set") }
      all = set.allObjects
    }
    return try all.compactMap { try number($0 as? NSManagedObject) }
  }

  // MARK: Contexts

  /// Compares everything a context shows, or the records of these numbers.
  func compare(_ place: Place, _ wanted: [Int]? = nil) throws {
    try sync(place)
    try inside(place) { try compareInside(place, view(place), wanted) }
    count("comparison")
  }

  func compareInside(_ place: Place, _ graph: PlainGraph, _ wanted: [Int]? = nil) throws {
    if let wanted {
      for number in wanted where graph[number] != nil {
        try compareObject(try object(number, place), number, graph, place)
      }
      return
    }
    for root in model.roots {
      let request = NSFetchRequest<NSManagedObject>(entityName: model.entities[root].name)
      request.returnsObjectsAsFaults = dice.chance(50)
      var found: [Int: NSManagedObject] = [:]
      for object in try place.context.fetch(request) {
        guard let number = try number(object) else { continue }
        try expect(found[number] == nil, "\(place.name): #\(number) is found twice")
        found[number] = object
      }
      let expected = graph.numbers(root)
      try expect(
        found.keys.sorted() == expected,
        "\(place.name): \(model.entities[root].name) has too many: "
          + "\(label(found.keys.filter { !expected.contains($0) }.sorted())), too few: "
          + "\(label(expected.filter { found[$0] == nil }))")
      for number in expected {
        guard let object = found[number] else { continue }
        try compareObject(object, number, graph, place)
      }
    }
  }

  /// Compares the sets of changed objects with what is edited.
  func checkChanges(_ place: Place) throws {
    guard dice.chance(50) else { return }
    let (here, below) = (view(place), below(place))
    let layer = place.layer
    try inside(place) {
      let context = place.context
      let inserted = try Set(context.insertedObjects.compactMap { try number($0) })
      let updated = try Set(context.updatedObjects.compactMap { try number($0) })
      let deleted = try Set(context.deletedObjects.compactMap { try number($0) })
      let mustInsert = Set(layer.keys.filter { here[$0] != nil && below[$0] == nil })
      try expect(
        inserted == mustInsert,
        "\(place.name): inserted \(label(inserted.sorted())), not \(label(mustInsert.sorted()))")
      let mustDelete = Set(layer.keys.filter { here[$0] == nil && below[$0] != nil })
      try expect(
        mustDelete.isSubset(of: deleted),
        "\(place.name): deleted \(label(deleted.sorted())), not \(label(mustDelete.sorted()))")
      // What was deleted below: merged here, or found at the end of a reference without inverse.
      let extra = deleted.subtracting(mustDelete)
      try expect(
        extra.allSatisfy { here[$0] == nil } && (extra.isEmpty || place.mayHaveMissing || model.canDangle),
        "\(place.name): deleted \(label(extra.sorted())) too")
      let mustUpdate = Set(layer.keys.filter { isChanged($0, here, below) })
      try expect(
        mustUpdate.isSubset(of: updated),
        "\(place.name): updated \(label(updated.sorted())), not \(label(mustUpdate.sorted()))")
      // References to what is deleted that nothing leads back from are cleared by a save, even if it fails then.
      let others = updated.subtracting(place.everTouched).subtracting(below.referring(to: mustDelete))
      try expect(others.isEmpty, "\(place.name): updated \(label(others.sorted())) too")
      let mustHave = !(mustInsert.isEmpty && mustDelete.isEmpty && mustUpdate.isEmpty)
      try expect(context.hasChanges || !mustHave, "\(place.name): has no changes")
      try expect(
        !context.hasChanges || !place.everTouched.isEmpty || place.mayHaveMissing,
        "\(place.name): has changes: inserted \(label(inserted.sorted())), updated \(label(updated.sorted())), "
          + "deleted \(label(deleted.sorted()))")
    }
  }

  /// Whether a record has other values, or another one at the end of a to-one relationship, than below.
  private func isChanged(_ number: Int, _ here: PlainGraph, _ below: PlainGraph) -> Bool {
    guard let new = here[number], let old = below[number] else { return false }
    return here.attributes(number).contains { !$0.isTransient && new.values[$0.name] != old.values[$0.name] }
      || here.relationships(number).contains {
        !$0.isToMany && !model.mayDangle($0)
          && here.members(number, $0.name) != below.members(number, $0.name)
      }
  }

  // MARK: The store

  /// Compares what the store holds with what has been saved, in a new context.
  func compareStore() throws {
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    let place = Place("a reader", context, parent: nil)
    try hands[dice.roll(hands.count)].run {
      try context.performAndWait { try compareInside(place, PlainGraph(model, store)) }
    }
    count("store")
  }
}
