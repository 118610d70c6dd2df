import Foundation
import Strata

// Fetching, and comparing what is with what must be.

extension TreeOperations {
  // MARK: Fetching

  /// A request and what it asks for, in plain words.
  private struct Question {
    var request: FetchRequest<ManagedObject>
    var matches: (ReferenceTreeRow) -> Bool
    /// Before another one; nil when any order will do.
    var isBefore: ((ReferenceTreeRow, ReferenceTreeRow) -> Bool)?
    var words: String
  }

  private func anyQuestion() -> Question {
    var request = FetchRequest<ManagedObject>(entityName: "Leaf")
    var question = Question(request: request, matches: { _ in true }, isBefore: nil, words: "all")
    let wanted = TreeValue.number(Int64(random.below(12)))
    switch random.below(4) {
    case 0:
      request.predicate = .comparison(key: "a", .equal, .integer(limit(wanted)))
      question.matches = { $0.values[1] == wanted }
      question.words = "a == \(wanted)"
    case 1:
      request.predicate = .comparison(key: "a", .less, .integer(limit(wanted)))
      question.matches = { [limit] in limit($0.values[1]) < limit(wanted) }
      question.words = "a < \(wanted)"
    case 2:
      let name = random.pick(["ash", "birch", "cedar", "elm"])
      request.predicate = .comparison(key: "name", .equal, .string(name))
      question.matches = { $0.values[3] == .text(name) }
      question.words = "name == \(name)"
    default: break
    }
    if random.chance(60) {
      let ascending = random.chance(50)
      request.sortDescriptors = [FetchSort("a", ascending: ascending), FetchSort("number")]
      question.isBefore = { [limit] left, right in
        let (mine, theirs) = (limit(left.values[1]), limit(right.values[1]))
        if mine != theirs { return (mine < theirs) == ascending }
        return limit(left.values[0]) < limit(right.values[0])
      }
      if random.chance(50) { request.fetchLimit = random.pick([1, 3, 10]) }
      if random.chance(30) { request.fetchOffset = random.pick([1, 4, 40]) }
      question.words += ", by a \(ascending ? "up" : "down"), \(request.fetchOffset)+\(request.fetchLimit)"
    }
    request.includesPendingChanges = random.chance(85)
    request.returnsObjectsAsFaults = random.chance(70)
    if !request.includesPendingChanges { question.words += ", saved only" }
    question.request = request
    return question
  }

  private func limit(_ value: TreeValue) -> Int64 {
    if case .number(let number) = value { return number }
    return .min
  }

  /// The numbers the reference finds.
  private func answer(_ question: Question, _ node: Node) -> [Int] {
    let reference = node.reference
    let isPending = question.request.includesPendingChanges
    var found = Set(reference.visibleNumbers).union(ids.keys).sorted().compactMap { number in
      (isPending ? reference.visible(number) : reference.beneath(number)).map { (number: number, row: $0) }
    }
    found.removeAll { !question.matches($0.row) }
    if let isBefore = question.isBefore {
      found.sort { isBefore($0.row, $1.row) }
      found = Array(found.dropFirst(question.request.fetchOffset))
      if question.request.fetchLimit > 0 { found = Array(found.prefix(question.request.fetchLimit)) }
    }
    return found.map(\.number)
  }

  func fetch(_ node: Node) throws {
    let question = anyQuestion()
    note("\(node.name): fetch \(question.words)")
    let expected = answer(question, node)
    if random.chance(25) {
      var request = FetchRequest<ManagedObjectID>(entityName: "Leaf")
      request.predicate = question.request.predicate
      request.sortDescriptors = question.request.sortDescriptors
      request.fetchLimit = question.request.fetchLimit
      request.fetchOffset = question.request.fetchOffset
      request.includesPendingChanges = question.request.includesPendingChanges
      let found = try node.context.fetch(request)
      try compare(found.map { numbers[$0] ?? 0 }, expected, question, node)
      for id in found {
        let number = numbers[id] ?? 0
        try expect(
          id.isTemporaryID != store.everStored.contains(number) || !node.reference.isNew(number),
          "\(node.name): #\(number) was fetched as an ID that is \(id.isTemporaryID ? "" : "not ")temporary")
      }
      return
    }
    let objects = try node.context.fetch(question.request)
    try compare(objects.map { numbers[$0.objectID] ?? 0 }, expected, question, node)
    for object in objects {
      guard let number = numbers[object.objectID] else { continue }
      let leaf = node.reference.leaf(number)
      try expect(leaf.object == nil || leaf.object === object, "\(node.name): #\(number) is there twice")
      leaf.object = object
      node.reference.fetched(leaf, includesPendingChanges: question.request.includesPendingChanges)
      if !question.request.returnsObjectsAsFaults { node.reference.fire(leaf) }
      try check(leaf, node)
    }
  }

  private func compare(_ found: [Int], _ expected: [Int], _ question: Question, _ node: Node) throws {
    let isSame = question.isBefore == nil ? found.sorted() == expected.sorted() : found == expected
    try expect(
      isSame,
      "\(node.name): fetch \(question.words) found \(found.count), should be \(expected.count); "
        + "too many \(Set(found).subtracting(expected).sorted().map { "#\($0)" }), "
        + "too few \(Set(expected).subtracting(found).sorted().map { "#\($0)" })")
  }

  func count(_ node: Node) throws {
    let question = anyQuestion()
    note("\(node.name): count \(question.words)")
    let expected = answer(question, node).count
    let found = try node.context.count(for: question.request)
    try expect(found == expected, "\(node.name): count \(question.words) is \(found), should be \(expected)")
  }

  // MARK: Comparing

  /// What a context says of its changes.
  func checkChanges(_ node: Node) throws {
    let (context, reference) = (node.context, node.reference)
    try expect(
      context.hasChanges == reference.hasChanges, "\(node.name): hasChanges is \(context.hasChanges)")
    try compare(context.insertedObjects, reference.numbers(.insert), "inserted", node)
    try compare(context.updatedObjects, reference.numbers(.update), "updated", node)
    try compare(context.deletedObjects, reference.numbers(.delete), "deleted", node)
  }

  private func compare(_ found: Set<ManagedObject>, _ expected: [Int], _ what: String, _ node: Node) throws {
    let found = Set(found.map { numbers[$0.objectID] ?? 0 })
    let expected = Set(expected)
    try expect(
      found == expected,
      "\(node.name): \(what) objects: too many \(found.subtracting(expected).sorted().map { "#\($0)" }), "
        + "too few \(expected.subtracting(found).sorted().map { "#\($0)" })")
  }

  /// Every object, every change, and a fetch of all.
  func checkEverything(_ node: Node) throws {
    try node.context.performAndWait {
      try checkChanges(node)
      for number in node.reference.leaves.keys.sorted() {
        guard let leaf = node.reference.leaves[number], leaf.object != nil else { continue }
        try check(leaf, node)
      }
      var request = FetchRequest<ManagedObjectID>(entityName: "Leaf")
      request.sortDescriptors = [FetchSort("number")]
      let found = try node.context.fetch(request).map { numbers[$0] ?? 0 }
      let expected = node.reference.visibleNumbers
      try expect(
        found == expected,
        "\(node.name): sees too many \(Set(found).subtracting(expected).sorted().map { "#\($0)" }), "
          + "too few \(Set(expected).subtracting(found).sorted().map { "#\($0)" })")
    }
  }

  /// State and, unless it is a fault, all values of an object that is held.
  func check(_ leaf: ReferenceLeaf, _ node: Node) throws {
    guard let object = leaf.object, let id = ids[leaf.number] else { return }
    let place = "\(node.name): #\(leaf.number)"
    let kind = node.reference.kind(leaf)
    try expect(object.managedObjectContext === node.context, "\(place) is detached")
    try expect(object.objectID == id, "\(place) has the ID \(object.objectID)")
    try expect(node.context.registeredObject(for: id) === object, "\(place) is not unique")
    try expect(object.isInserted == (kind == .insert), "\(place): isInserted is \(object.isInserted)")
    try expect(object.isUpdated == (kind == .update), "\(place): isUpdated is \(object.isUpdated)")
    try expect(object.isDeleted == (kind == .delete), "\(place): isDeleted is \(object.isDeleted)")
    try expect(object.hasChanges == (kind != nil), "\(place): hasChanges is \(object.hasChanges)")
    // What is deleted shows its values if its row was in memory.
    if kind == .delete, leaf.isFault { leaf.isFault = object.isFault }
    try expect(object.isFault == leaf.isFault, "\(place): isFault is \(object.isFault)")
    if store.everStored.contains(leaf.number) {
      try expect(!object.objectID.isTemporaryID, "\(place): the ID is temporary")
    } else if node.reference.isNew(leaf.number) {
      try expect(object.objectID.isTemporaryID, "\(place): the ID is not temporary")
    }
    if leaf.isFault || leaf.row == nil && kind == .delete { return }
    for slot in TreeModel.names.indices {
      let found = TreeValue(object.value(forKey: TreeModel.names[slot]))
      let expected = leaf.value(slot)
      // A large value that was replaced, or rolled back below, is nowhere any more.
      if expected.isLarge, !node.reference.isSomewhere(expected, leaf.number, slot) { continue }
      try expect(
        found == expected, "\(place).\(TreeModel.names[slot]) is \(found) and should be \(expected)")
    }
  }

  /// The store against the reference, seen by a context that knows nothing, and by `StoreCheck`.
  func checkStore() throws {
    let context = ManagedObjectContext(.confinement, coordinator: container.persistentStoreCoordinator)
    let objects = try context.fetch(
      FetchRequest<ManagedObject>(entityName: "Leaf", sortDescriptors: [FetchSort("number")]))
    let found = objects.compactMap { numbers[$0.objectID] }
    try expect(
      found == store.rows.keys.sorted(), "the store holds \(found), should be \(store.rows.keys.sorted())")
    for object in objects {
      guard let number = numbers[object.objectID], let row = store.rows[number] else { continue }
      for slot in TreeModel.names.indices {
        let value = TreeValue(object.value(forKey: TreeModel.names[slot]))
        try expect(
          value == row.values[slot],
          "stored: #\(number).\(TreeModel.names[slot]) is \(value) and should be \(row.values[slot])")
      }
    }
    for case let store as LMDBStore in container.persistentStoreCoordinator.persistentStores {
      let check = try store.check()
      try expect(check.isSound, "StoreCheck says: \(check.problems.prefix(5))")
      try expect(check.rowCount == self.store.rows.count, "StoreCheck counts \(check.rowCount) rows")
      let large = self.store.rows.values.reduce(0) { $0 + ($1.values[4].isLarge ? 1 : 0) }
      try expect(
        check.largeValueCount == large,
        "StoreCheck counts \(check.largeValueCount) large values, not \(large)")
    }
  }
}
