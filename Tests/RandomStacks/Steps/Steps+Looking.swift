import CoreData

extension GraphRun {
  /// Asks a context for something and compares the answer.
  func look(_ place: Place) throws {
    try sync(place)
    let graph = view(place)
    switch dice.roll(8) {
    case 0:
      let all = graph.records.keys.sorted()
      try compare(place, (0..<5).compactMap { _ in dice.pick(all) })
    case 1: try lookForOne(place, graph)
    case 2: try changedValues(place, graph)
    case 3:
      guard let disk else { return }
      try failReading(place, graph, disk)
    default: try inside(place) { try fetch(place, graph) }
    }
    count("look")
  }

  /// Records that are there and records that are not, by their IDs.
  private func lookForOne(_ place: Place, _ graph: PlainGraph) throws {
    guard let number = dice.pick(ids.keys.sorted()), let id = ids[number] else { return }
    try inside(place) {
      let found = Result { try place.context.existingObject(with: id) }
      switch (found, graph[number]) {
      case (.success(let object), .some):
        try expect(!object.isFault, "\(place.name): #\(number) is a fault")
        try compareObject(object, number, graph, place)
      case (.success(let object), nil):
        // One that is in use, and deleted until the next save.
        try expect(object.isDeleted, "\(place.name): #\(number) exists")
      case (.failure(let error), nil):
        try expect(
          (error as NSError).code == NSManagedObjectReferentialIntegrityError,
          "\(place.name): #\(number) is gone: \(error)")
      case (.failure(let error), .some):
        throw Disagreement("\(place.name): #\(number) does not exist: \(error)")
      }
    }
  }

  /// `changedValues` names what differs from below, `committedValues` what is below.
  private func changedValues(_ place: Place, _ graph: PlainGraph) throws {
    let below = below(place)
    let edited = place.layer.keys.filter { graph[$0] != nil && below[$0] != nil }.sorted()
    guard let number = dice.pick(edited) else { return }
    try inside(place) {
      let object = try object(number, place)
      let changed = object.changedValues()
      for attribute in graph.attributes(number) where !attribute.isTransient {
        let (new, old) = (graph[number]?.values[attribute.name], below[number]?.values[attribute.name])
        guard new != old else { continue }
        try expect(
          changed[attribute.name] != nil, "\(place.name): #\(number).\(attribute.name) counts as unchanged")
        let before = PlainValue(
          object.committedValues(forKeys: [attribute.name])[attribute.name], attribute.type)
        try expect(
          before == old,
          "\(place.name): #\(number).\(attribute.name) was \(before.map { "\($0)" } ?? "?"), not \(old ?? .none)"
        )
      }
      try expect(
        Set(changed.keys).isSubset(
          of: graph.attributes(number).map(\.name) + graph.relationships(number).map(\.name)),
        "\(place.name): #\(number) has changed \(changed.keys)")
    }
  }

  /// A fetch that cannot read throws, or returns the right result; nothing is changed by it.
  private func failReading(_ place: Place, _ graph: PlainGraph, _ disk: any FailingDisk) throws {
    let nth = 1 + dice.roll(3)
    note("\(place.name): fetch, with read \(nth) failing")
    let error = try inside(place) { () -> (any Error)? in
      disk.failReads(nth: nth)
      let error = Self.failure { try fetch(place, graph) }
      let count = disk.heal()
      if let error, count == 0 { throw error }
      return error
    }
    if let error {
      if error is Disagreement { throw error }
      try expect(error is CocoaError, "\(place.name): no error of Core Data's: \(error)")
      note("\(place.name): \((error as NSError).code)")
      count("failed read")
    }
    try checkChanges(place)
    try compare(place)
  }

  // MARK: Fetches

  func fetch(_ place: Place, _ graph: PlainGraph) throws {
    let entity = dice.roll(model.entities.count)
    let name = model.entities[entity].name
    let predicate = dice.chance(75) ? randomPredicate(entity, graph, 2) : nil
    var matching = graph.numbers(entity).filter { predicate?.holds($0, graph) ?? true }
    var arguments: [Any] = []
    let format = predicate?.format(&arguments, { [self] in objectOrID($0, place) })
    func request<T>(_ type: T.Type) -> NSFetchRequest<T> {
      let request = NSFetchRequest<T>(entityName: name)
      request.predicate = format.map { NSPredicate(format: $0, argumentArray: arguments) }
      return request
    }
    let words = "\(place.name): fetch \(name) where \(format ?? "anything") \(arguments)"
    func numbers(_ objects: [NSManagedObject]) throws -> [Int] { try objects.compactMap { try number($0) } }
    switch dice.roll(6) {
    case 0:
      let count = try place.context.count(for: request(NSManagedObject.self))
      try expect(count == matching.count, "\(words): counted \(count), not \(matching.count)")
    case 1:
      let wanted = request(NSManagedObjectID.self)
      wanted.resultType = .managedObjectIDResultType
      let found = try place.context.fetch(wanted).compactMap { self.numbers[$0] }.sorted()
      try expect(found == matching, "\(words): found \(label(found)), not \(label(matching))")
    case 2:
      let found = try numbers(try place.context.fetch(request(NSManagedObject.self))).sorted()
      try expect(found == matching, "\(words): found \(label(found)), not \(label(matching))")
    case 3: try fetchRows(entity, place)
    default:
      let wanted = request(NSManagedObject.self)
      var sorts: [NSSortDescriptor] = []
      if let attribute = sortable(entity) {
        let isAscending = dice.chance(50)
        sorts.append(NSSortDescriptor(key: attribute.name, ascending: isAscending))
        matching = sorted(matching, by: attribute.name, isAscending, graph)
      }
      sorts.append(NSSortDescriptor(key: "number", ascending: true))
      wanted.sortDescriptors = sorts
      if dice.chance(50) { wanted.fetchOffset = dice.roll(5) }
      if dice.chance(50) { wanted.fetchLimit = 1 + dice.roll(8) }
      if dice.chance(30) { wanted.fetchBatchSize = 1 + dice.roll(4) }
      wanted.returnsObjectsAsFaults = dice.chance(50)
      var window = Array(matching.dropFirst(wanted.fetchOffset))
      if wanted.fetchLimit > 0 { window = Array(window.prefix(wanted.fetchLimit)) }
      let found = try numbers(try place.context.fetch(wanted))
      try expect(
        found == window,
        "\(words) sorted by \(sorts.compactMap(\.key)), \(wanted.fetchOffset) + \(wanted.fetchLimit): "
          + "found \(label(found)), not \(label(window))")
    }
  }

  private func objectOrID(_ number: Int, _ place: Place) -> Any {
    guard let id = ids[number] else { return NSNull() }
    return dice.chance(50) ? id : place.context.object(with: id)
  }

  /// An attribute that records can be sorted by.
  private func sortable(_ entity: Int) -> AttributePlan? {
    let order: Set<NSAttributeType> = [.binaryDataAttributeType, .UUIDAttributeType, .URIAttributeType]
    return dice.pick(model.attributes[entity].filter { !$0.isTransient && !order.contains($0.type) })
  }

  private func sorted(_ numbers: [Int], by key: String, _ isAscending: Bool, _ graph: PlainGraph) -> [Int] {
    func value(_ number: Int) -> PlainValue { graph[number]?.values[key] ?? .none }
    return numbers.sorted { a, b in
      let (left, right) = (value(a), value(b))
      if left == right { return a < b }
      return isAscending ? left.precedes(right) ?? false : right.precedes(left) ?? false
    }
  }

  /// Rows of values: what is stored, whatever has not been saved (rule 88).
  private func fetchRows(_ entity: Int, _ place: Place) throws {
    let stored = PlainGraph(model, store)
    let request = NSFetchRequest<NSDictionary>(entityName: model.entities[entity].name)
    request.resultType = .dictionaryResultType
    request.sortDescriptors = [NSSortDescriptor(key: "number", ascending: true)]
    let attributes = model.attributes[entity].filter { !$0.isTransient }
    request.propertiesToFetch = attributes.map(\.name)
    let rows = try place.context.fetch(request)
    let expected = stored.numbers(entity)
    try expect(rows.count == expected.count, "\(place.name): \(rows.count) rows, not \(expected.count)")
    for (row, number) in zip(rows, expected) {
      for attribute in attributes {
        let found = PlainValue(row[attribute.name], attribute.type)
        let value = stored[number]?.values[attribute.name] ?? .none
        try expect(
          found == value,
          "\(place.name): in its row #\(number).\(attribute.name) is \(found.map { "\($0)" } ?? "?"), not \(value)"
        )
      }
    }
  }

  // MARK: Predicates

  private func randomPredicate(_ entity: Int, _ graph: PlainGraph, _ depth: Int) -> PlainPredicate? {
    switch dice.roll(depth > 0 ? 12 : 9) {
    case ..<5: return plainComparison(entity, graph)
    case ..<9:
      let ends = model.relationships[entity].filter { !model.mayDangle($0) }
      guard let end = dice.pick(ends) else { return plainComparison(entity, graph) }
      if end.isToMany {
        if dice.chance(50) { return .count(end.name, dice.pick(Self.signs) ?? .equalTo, dice.roll(4)) }
        return plainComparison(end.destination, graph).map { .any(end.name, $0) }
      }
      if dice.chance(50) {
        return .isOwner(end.name, dice.chance(80) ? dice.pick(graph.numbers(end.destination)) : nil)
      }
      return plainComparison(end.destination, graph).map { .through(end.name, $0) }
    case 9: return randomPredicate(entity, graph, depth - 1).map { .not($0) }
    default:
      guard let a = randomPredicate(entity, graph, depth - 1),
        let b = randomPredicate(entity, graph, depth - 1)
      else { return nil }
      return dice.chance(50) ? .both(a, b) : .either(a, b)
    }
  }

  private static let signs: [NSComparisonPredicate.Operator] = [
    .equalTo, .notEqualTo, .lessThan, .lessThanOrEqualTo, .greaterThan, .greaterThanOrEqualTo,
  ]

  private func plainComparison(_ entity: Int, _ graph: PlainGraph) -> PlainPredicate? {
    guard let attribute = dice.pick(model.attributes[entity].filter { !$0.isTransient && !$0.isLarge }) else {
      return nil
    }
    func value() -> PlainValue {
      // Mostly one that some object has.
      if dice.chance(60), let number = dice.pick(graph.numbers(entity)) {
        let value = graph[number]?.values[attribute.name] ?? .none
        if value != .none { return value }
      }
      return .random(attribute.type, isLarge: false, &dice)
    }
    let unordered: Set<NSAttributeType> = [
      .binaryDataAttributeType, .UUIDAttributeType, .URIAttributeType, .booleanAttributeType,
    ]
    let one = value()
    guard one != .none else { return nil }
    if dice.chance(10) { return .compare(attribute.name, dice.chance(50) ? .equalTo : .notEqualTo, .none) }
    if unordered.contains(attribute.type) {
      return .compare(attribute.name, dice.chance(50) ? .equalTo : .notEqualTo, one)
    }
    if dice.chance(15) { return .isIn(attribute.name, [one, value(), value()]) }
    if dice.chance(15) { return .isBetween(attribute.name, one, value()) }
    if attribute.type == .stringAttributeType, dice.chance(40) {
      return .compare(attribute.name, dice.pick([.beginsWith, .endsWith, .contains]) ?? .contains, one)
    }
    return .compare(attribute.name, dice.pick(Self.signs) ?? .equalTo, one)
  }
}
