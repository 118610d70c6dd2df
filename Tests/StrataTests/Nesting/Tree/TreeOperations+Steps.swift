import Foundation
import Strata

// The steps, each done to the real context and to the reference.

extension TreeOperations {
  func takeStep() throws {
    let node = random.pick(nodes)
    switch random.below(100) {
    case 0..<2:
      if nodes.count < Self.mostNodes { return grow(on: node) }
      if node.parent != nil, node.children == 0 { try letGo(node) }
      return
    case 2..<10: try inside(node) { try save(node) }
    default:
      try inside(node) {
        try takeStep(in: node)
        node.context.processPendingChanges()
        try undoAndRedo(node)
      }
    }
    forgetUndo()
    try node.context.performAndWait { try checkChanges(node) }
  }

  private func takeStep(in node: Node) throws {
    switch random.below(90) {
    case 0..<12: try insert(node)
    case 12..<42: try edit(node)
    case 42..<50: try delete(node)
    case 50..<62: try fetch(node)
    case 62..<66: try count(node)
    case 66..<74: try look(node)
    case 74..<77: try existing(node)
    case 77..<79: try rollback(node)
    case 79: reset(node)
    case 80..<84: try refresh(node)
    case 84: refreshAll(node)
    default: release(node)
    }
    forgetUnheld(node)
  }

  // MARK: Objects

  /// Some object of `node`, found in some way, and its reference.
  private func anyLeaf(_ node: Node, where condition: (Int) -> Bool = { _ in true }) throws -> ReferenceLeaf?
  {
    let reference = node.reference
    let choice = Set(reference.visibleNumbers).union(reference.leaves.keys).filter { number in
      (reference.leaves[number].map { reference.kind($0) } ?? reference.received[number]?.kind) != .delete
        && condition(number)
    }
    guard let number = random.pickAny(choice.sorted()) else { return nil }
    return try leaf(number, node)
  }

  /// The object for `number` and its reference, which holds it for now.
  private func leaf(_ number: Int, _ node: Node) throws -> ReferenceLeaf? {
    guard let id = ids[number] else { return nil }
    let isKnown = node.reference.leaves[number] != nil
    let leaf = node.reference.leaf(number)
    if leaf.object != nil { return leaf }
    if isKnown {
      leaf.object = node.context.registeredObject(for: id)
      try expect(leaf.object != nil, "\(node.name): #\(number) has changes and is not registered")
    } else if random.chance(50) {
      leaf.object = node.context.object(with: id)
    } else {
      let request = FetchRequest<ManagedObject>(
        entityName: "Leaf", predicate: Attribute("number") == number)
      let found = try node.context.fetch(request)
      try expect(found.count == 1, "\(node.name): found #\(number) \(found.count) times")
      leaf.object = found.first
      node.reference.fetched(leaf, includesPendingChanges: true)
    }
    return leaf
  }

  /// Releases objects that are held nowhere, and half of those that were held for this step.
  func forgetUnheld(_ node: Node) {
    for number in node.reference.leaves.keys.sorted() {
      guard let leaf = node.reference.leaves[number] else { continue }
      if leaf.object != nil, random.chance(15) { leaf.object = nil }
      if leaf.object == nil, !leaf.isListed { node.reference.leaves[number] = nil }
    }
  }

  private func release(_ node: Node) {
    note("\(node.name): release")
    for leaf in node.reference.leaves.values { leaf.object = nil }
  }

  // MARK: Edits

  private func insert(_ node: Node) throws {
    let number = numbers.count + 1
    let object = ManagedObject(
      entity: try entity(random.chance(25) ? "Bud" : "Leaf"), insertInto: node.context)
    object["number"] = number
    ids[number] = object.objectID
    numbers[object.objectID] = number
    let leaf = node.reference.insert(number)
    if random.chance(50) { leaf.object = object }
    note("\(node.name): insert #\(number)")
  }

  private func entity(_ name: String) throws -> EntityDescription {
    guard let entity = container.persistentStoreCoordinator.managedObjectModel.entitiesByName[name] else {
      throw Mismatch(description: "no entity \(name)")
    }
    return entity
  }

  private func edit(_ node: Node) throws {
    guard let leaf = try anyLeaf(node), let object = leaf.object else { return try insert(node) }
    for _ in 0..<random.pick([1, 1, 2]) {
      let slot = random.pick(TreeModel.editable)
      let value = anyValue(slot)
      note("\(node.name): edit #\(leaf.number) \(TreeModel.names[slot]) = \(value)")
      node.reference.edit(leaf, slot, value)
      // Gone when it was looked at: a deleted object, which takes edits and forgets them.
      if leaf.isRowGone {
        object.willAccessValue(forKey: nil)
        return
      }
      object.setValue(value.any, forKey: TreeModel.names[slot])
    }
    try check(leaf, node)
  }

  private func anyValue(_ slot: Int) -> TreeValue {
    switch slot {
    case 1: .number(Int64(random.below(12)))
    case 2: random.chance(20) ? .none : .number(Int64(random.below(12)))
    case 3: random.chance(20) ? .none : .text(random.pick(["ash", "birch", "cedar", "elm"]))
    default:
      random.chance(30)
        ? .text(
          String(repeating: random.pick(["x", "yy", "z"]), count: TreeModel.large + random.below(3_000)))
        : .text("\(random.below(1_000))")
    }
  }

  private func delete(_ node: Node) throws {
    guard let leaf = try anyLeaf(node), let object = leaf.object else { return }
    note("\(node.name): delete #\(leaf.number)")
    node.context.delete(object)
    if node.reference.delete(leaf) {
      try expect(object.managedObjectContext == nil, "\(node.name): #\(leaf.number) is still there")
    }
  }

  // MARK: Looking

  private func look(_ node: Node) throws {
    guard let leaf = try anyLeaf(node), let object = leaf.object else { return }
    note("\(node.name): look at #\(leaf.number)")
    node.reference.fire(leaf)
    object.willAccessValue(forKey: nil)
    try check(leaf, node)
  }

  private func existing(_ node: Node) throws {
    guard let number = random.pickAny(ids.keys.sorted()), let id = ids[number] else { return }
    note("\(node.name): existing #\(number)")
    let reference = node.reference
    let known = reference.leaves[number]
    var isThere = reference.visible(number) != nil
    // What is deleted here, as an object, is there until that is saved.
    if let known, reference.kind(known) == .delete { isThere = reference.beneath(number) != nil }
    if let known {
      if known.isRowGone { isThere = false } else if !known.isFault || known.row != nil { isThere = true }
    }
    let object = try? node.context.existingObject(with: id)
    try expect((object != nil) == isThere, "\(node.name): #\(number) exists: \(object != nil)")
    guard let object else { return }
    let leaf = reference.leaf(number)
    leaf.object = object
    if leaf.isFault, leaf.row == nil { leaf.row = reference.visible(number) }
    reference.fire(leaf)
    try check(leaf, node)
  }

  // MARK: Whole contexts

  func save(_ node: Node) throws {
    note("\(node.name): save")
    let caught = Log<Notification>()
    let token = NotificationCenter.default.addObserver(
      forName: random.pick([.didSave, .didSaveIDs]), object: node.context, queue: nil
    ) { caught.add($0) }
    defer { NotificationCenter.default.removeObserver(token) }
    let objects = node.reference.leaves.mapValues(\.object)
    let below = node.parent?.reference.leaves.mapValues(\.object) ?? [:]
    try node.context.save()
    let saved = node.reference.save()
    for number in saved.gone {
      try expect(
        objects[number]??.managedObjectContext == nil,
        "\(node.name): #\(number) is still there after the save")
    }
    drain()
    for number in saved.goneBelow {
      try expect(below[number]??.managedObjectContext == nil, "below \(node.name): #\(number) is still there")
    }
    forgetUnheld(node)
    if let parent = node.parent { forgetUnheld(parent) }
    try spread(saved, from: node, caught.list.last)
  }

  /// Siblings and children that ask for it are told of the save.
  private func spread(_ saved: ReferenceSave, from node: Node, _ notification: Notification?) throws {
    for other in nodes where other !== node && (other.parent === node || other.parent === node.parent) {
      switch other.merging {
      case .never: continue
      case .automatic:
        // Notices come from the parent, or the coordinator.
        guard other.parent === node || node.parent == nil, saved.hasRows else { continue }
        other.reference.merge(saved, hasRows: true)
      case .atOnce:
        guard let notification else { continue }
        other.context.performAndWait { other.context.mergeChanges(fromContextDidSave: notification) }
        other.reference.merge(saved, hasRows: node.parent == nil && saved.hasRows)
      }
      note("\(other.name): merge")
      forgetUnheld(other)
    }
  }

  private func rollback(_ node: Node) throws {
    note("\(node.name): rollback")
    let objects = node.reference.leaves.mapValues(\.object)
    node.context.rollback()
    for number in node.reference.rollback() {
      try expect(
        objects[number]??.managedObjectContext == nil, "\(node.name): #\(number) is there after rollback")
    }
  }

  private func reset(_ node: Node) {
    note("\(node.name): reset")
    node.context.reset()
    node.reference.reset()
  }

  private func refresh(_ node: Node) throws {
    let choice = random.chance(50)
    let gone = { (number: Int) in node.reference.leaves[number]?.isRowGone == true }
    guard let leaf = try anyLeaf(node, where: { !gone($0) }), let object = leaf.object else { return }
    // `NewFaultTests` show what happens to a new object that is refreshed without its edits.
    let merge = choice || node.reference.kind(leaf) == .insert
    note("\(node.name): refresh #\(leaf.number)\(merge ? ", keeping edits" : "")")
    node.context.refresh(object, mergeChanges: merge)
    node.reference.refresh(leaf, mergeChanges: merge)
  }

  private func refreshAll(_ node: Node) {
    note("\(node.name): refresh all")
    node.context.refreshAllObjects()
    node.reference.refreshAll()
  }
}
