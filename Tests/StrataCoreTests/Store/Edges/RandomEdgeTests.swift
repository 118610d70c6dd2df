import Foundation
import Testing

@testable import StrataCore

/// Random change sets run against the store and plain dictionaries alike; some are spoilt and must be refused for the
/// reasons the dictionaries foresee.
@Suite struct RandomEdgeTests {
  @Test(arguments: 0..<4) func storeAndDictionariesAgree(part: Int) throws {
    let seed = testSeed() &+ UInt64(part)
    let steps = Int(ProcessInfo.processInfo.environment["STRATA_STEPS"] ?? "") ?? 60
    print("edges seed \(seed), \(steps) steps")
    var run = try EdgeRun(seed: seed)
    for step in 0..<steps {
      do {
        try run.step()
        if step % 25 == 24 { try run.reopenAndCompare() }
      } catch {
        Issue.record("seed \(seed), step \(step): \(error)")
        return
      }
    }
    try run.reopenAndCompare()
    #expect(run.refusals > 0 && run.commits > run.refusals, "seed \(seed): \(run.refusals) of \(run.commits)")
  }
}

private struct EdgeRun {
  struct Difference: Error, CustomStringConvertible { let description: String }

  let fixture: EdgeFixture
  var random: RandomValues
  var world = EdgeWorld()
  var nextKey: UInt64 = 2
  var commits = 0
  var refusals = 0
  /// Every key there ever was, by root.
  var known: [String: Set<UInt64>] = [:]

  init(seed: UInt64) throws {
    fixture = try EdgeFixture()
    random = RandomValues(seed: seed)
  }

  /// One change set under way.
  private struct Draft {
    var world: EdgeWorld
    var inserted: [EdgeWorld.Node] = []
    /// In the order in which they were changed first, with the relationships that were.
    var updated: [EdgeWorld.Node: Set<String>] = [:]
    var updateOrder: [EdgeWorld.Node] = []
    var deleted: [EdgeWorld.Node: EdgeWorld.Row] = [:]
    var edges: [EdgeChange] = []

    mutating func set(_ node: EdgeWorld.Node, _ name: String, _ target: UInt64?) {
      world.rows[node]?.references[name] = target
      if inserted.contains(node) || world.rows[node] == nil { return }
      if updated[node] == nil { updateOrder.append(node) }
      updated[node, default: []].insert(name)
    }
  }

  mutating func step() throws {
    var draft = Draft(world: world)
    for _ in 0..<1 + random.below(8) {
      switch random.below(10) {
      case 0..<4: insert(&draft)
      case 4..<6: refer(&draft)
      case 6..<9: link(&draft)
      default: delete(&draft)
      }
    }
    let isSpoilt = random.chance(20) && spoil(&draft)
    try commit(draft, isSpoilt: isSpoilt)
  }

  // MARK: What a context would do

  private mutating func insert(_ draft: inout Draft) {
    let entity = random.pick(["Person", "Student", "Person", "Company", "Address", "Tag"])
    // Not in ascending order everywhere.
    let key = nextKey ^ (random.chance(30) ? 1 : 0)
    let node = EdgeWorld.Node(root: EdgeWorld.root(entity), key: key)
    if draft.world.rows[node] != nil || draft.deleted[node] != nil
      || known[node.root, default: []].contains(key)
    {
      return nextKey += 2
    }
    nextKey += 1
    draft.world.rows[node] = EdgeWorld.Row(entity: entity)
    draft.inserted.append(node)
    known[node.root, default: []].insert(key)
    for _ in 0..<random.below(4) { refer(&draft, from: node) }
  }

  private mutating func refer(_ draft: inout Draft, from given: EdgeWorld.Node? = nil) {
    let nodes = draft.world.rows.keys.sorted().filter { ["Person", "Address"].contains($0.root) }
    guard let node = given ?? (nodes.isEmpty ? nil : random.pick(nodes)), let row = draft.world.rows[node]
    else { return }
    let toOnes = draft.world.toOnes(of: row)
    if toOnes.isEmpty { return }
    let toOne = random.pick(toOnes)
    let targets = draft.world.nodes(toOne.destination)
    let target = targets.isEmpty || random.chance(20) ? nil : random.pick(targets).key
    setReference(toOne, node, target, &draft)
  }

  private func setReference(
    _ toOne: EdgeWorld.ToOne, _ node: EdgeWorld.Node, _ target: UInt64?, _ draft: inout Draft
  ) {
    if toOne.isOneToOne, let inverse = toOne.inverse {
      // The old partner loses this, the new one its own.
      if let old = draft.world.rows[node]?.references[toOne.name] {
        let partner = EdgeWorld.Node(root: toOne.destination, key: old)
        if draft.world.rows[partner]?.references[inverse] == node.key { draft.set(partner, inverse, nil) }
      }
      if let target {
        let partner = EdgeWorld.Node(root: toOne.destination, key: target)
        if let rival = draft.world.rows[partner]?.references[inverse], rival != node.key {
          let rivalNode = EdgeWorld.Node(root: node.root, key: rival)
          if draft.world.rows[rivalNode]?.references[toOne.name] == target {
            draft.set(rivalNode, toOne.name, nil)
          }
        }
        draft.set(partner, inverse, node.key)
      }
    }
    draft.set(node, toOne.name, target)
    // A context may say where the new member stands.
  }

  private mutating func link(_ draft: inout Draft) {
    let toMany = random.pick(EdgeWorld.toManys)
    let (sources, targets) = (draft.world.nodes(toMany.source), draft.world.nodes(toMany.destination))
    if sources.isEmpty || targets.isEmpty { return }
    let (owner, member) = (random.pick(sources).key, random.pick(targets).key)
    let isRemoval = random.chance(35)
    change(toMany.name, owner, toMany.destination, member, isRemoval, &draft)
    if let inverse = toMany.inverse, inverse != toMany.name || owner != member {
      change(inverse, member, toMany.source, owner, isRemoval, &draft)
    }
    // Now and then an order among members that are stored as rows.
    let companies = draft.world.nodes("Company")
    if random.chance(30), !companies.isEmpty {
      let company = random.pick(companies).key
      let people = draft.world.nodes("Person")
      if people.isEmpty { return }
      let person = random.pick(people)
      draft.edges.append(
        fixture.add(
          "visitors", company, (draft.world.rows[person]?.entity ?? "Person", person.key),
          at: UInt64(random.below(50))))
    }
  }

  private mutating func change(
    _ name: String, _ owner: UInt64, _ root: String, _ member: UInt64, _ isRemoval: Bool, _ draft: inout Draft
  ) {
    let entity = draft.world.rows[EdgeWorld.Node(root: root, key: member)]?.entity ?? root
    if isRemoval { return draft.edges.append(fixture.remove(name, owner, (entity, member))) }
    let position = random.chance(40) ? UInt64(random.below(100)) : nil
    draft.edges.append(fixture.add(name, owner, (entity, member), at: position))
  }

  /// Deletes a row as a context does: no reference is left.
  private mutating func delete(_ draft: inout Draft) {
    let root = random.pick(EdgeWorld.roots)
    let nodes = draft.world.nodes(root).filter { !draft.inserted.contains($0) }
    guard !nodes.isEmpty else { return }
    let node = random.pick(nodes)
    guard let row = world.rows[node] else { return }
    for toOne in EdgeWorld.toOnes where toOne.destination == root && !toOne.mayDangle {
      for key in draft.world.referrers(toOne.name, node.key) {
        let source = EdgeWorld.Node(root: EdgeWorld.root(toOne.owner), key: key)
        if source != node { draft.set(source, toOne.name, nil) }
      }
    }
    draft.world.rows[node] = nil
    draft.updated[node] = nil
    draft.updateOrder.removeAll { $0 == node }
    draft.deleted[node] = row
    // What was said of its edges before is taken back; so is a reference made to it by a noAction relationship.
    draft.edges.removeAll { edge in
      let relationship = fixture.schema.relationships[edge.relationship]
      let owner = fixture.schema.entities[fixture.schema.entities[relationship.owner].number].name
      let destination = fixture.schema.entities[relationship.destination].name
      return EdgeWorld.root(owner) == root && edge.owner == node.key
        || destination == root && Reference.primaryKey(edge.member) == node.key
    }
    for toOne in EdgeWorld.toOnes where toOne.destination == root && toOne.mayDangle {
      for key in draft.world.referrers(toOne.name, node.key) {
        let source = EdgeWorld.Node(root: EdgeWorld.root(toOne.owner), key: key)
        if draft.inserted.contains(source) || draft.updated[source]?.contains(toOne.name) == true {
          draft.set(source, toOne.name, nil)
        }
      }
    }
  }

  /// Makes a reference to a row that is not there, or forgets a row that refers to a deleted one; whether it did.
  private mutating func spoil(_ draft: inout Draft) -> Bool {
    if let (node, _) = draft.deleted.sorted(by: { $0.key < $1.key }).first, random.chance(60) {
      for source in draft.updateOrder {
        for name in draft.updated[source] ?? []
        where world.rows[source]?.references[name] == node.key
          && EdgeWorld.toOnes.first(where: { $0.name == name })?.destination == node.root
        {
          draft.updated[source]?.remove(name)
          draft.world.rows[source]?.references[name] = node.key
          if draft.updated[source]?.isEmpty == true {
            draft.updated[source] = nil
            draft.updateOrder.removeAll { $0 == source }
          }
          return true
        }
      }
    }
    let people = draft.world.nodes("Person")
    guard !people.isEmpty else { return false }
    let toOne = random.pick(EdgeWorld.toOnes.filter { $0.owner == "Person" && !$0.isOneToOne })
    let gone = known[toOne.destination, default: []].subtracting(
      draft.world.nodes(toOne.destination).map(\.key))
    draft.set(random.pick(people), toOne.name, gone.isEmpty ? 900_000 : gone.min())
    return true
  }

  // MARK: Commit

  private mutating func commit(_ draft: Draft, isSpoilt: Bool) throws {
    let targets = EdgeWorld.toOnes
    func references(_ node: EdgeWorld.Node, _ names: Set<String>?) -> [String: (String, UInt64)?] {
      var result: [String: (String, UInt64)?] = [:]
      let row = draft.world.rows[node]
      for toOne in targets where names?.contains(toOne.name) ?? (row?.references[toOne.name] != nil) {
        let key = row?.references[toOne.name]
        result[toOne.name] = .some(
          key.map { key in
            let target = EdgeWorld.Node(root: toOne.destination, key: key)
            return ((draft.world.rows[target] ?? world.rows[target])?.entity ?? toOne.destination, key)
          })
      }
      return result
    }
    let inserts = try draft.inserted.map { node in
      try fixture.insert(
        draft.world.rows[node]?.entity ?? node.root, node.key, references(node, nil).compactMapValues { $0 })
    }
    let updates = try draft.updateOrder.map { node in
      try fixture.update(
        draft.world.rows[node]?.entity ?? node.root, node.key, references(node, draft.updated[node]))
    }
    let deletes = draft.deleted.sorted { $0.key < $1.key }.map { fixture.delete($0.value.entity, $0.key.key) }
    commits += 1
    let expected = dangling(draft)
    if expected.isEmpty == isSpoilt && isSpoilt {
      throw Difference(description: "a spoilt change set is sound")
    }
    do {
      try fixture.commit(inserts: inserts, updates: updates, deletes: deletes, edges: draft.edges)
      if !expected.isEmpty { throw Difference(description: "committed in spite of \(expected.sorted())") }
      adopt(draft)
    } catch let error as DanglingReferences {
      refusals += 1
      let found = Set(
        error.references.map {
          "\(fixture.schema.relationships[$0.relationship].name) \($0.source)→\($0.target) \($0.isLeftBehind)"
        })
      if found != expected {
        throw Difference(description: "refused for \(found.sorted()), not \(expected.sorted())")
      }
    }
  }

  /// What must be refused: each as relationship, source, target, whether it is left behind.
  private func dangling(_ draft: Draft) -> Set<String> {
    var result = Set<String>()
    for (node, row) in draft.world.rows {
      for toOne in draft.world.toOnes(of: row) {
        guard let target = row.references[toOne.name] else { continue }
        let targetNode = EdgeWorld.Node(root: toOne.destination, key: target)
        if draft.world.rows[targetNode] != nil { continue }
        let isMade =
          draft.inserted.contains(node)
          || draft.updated[node]?.contains(toOne.name) == true
            && world.rows[node]?.references[toOne.name] != target
        if isMade {
          result.insert("\(toOne.name) \(node.key)→\(target) false")
        } else if draft.deleted[targetNode] != nil && !toOne.mayDangle {
          // The store compares the changes that it gets.
          if draft.updated[node]?.contains(toOne.name) == true { continue }
          result.insert("\(toOne.name) \(node.key)→\(target) true")
        }
      }
    }
    return result
  }

  /// What the store ought to hold now.
  private mutating func adopt(_ draft: Draft) {
    let old = world
    world = draft.world
    for (node, _) in draft.deleted {
      for toMany in EdgeWorld.toManys {
        if toMany.source == node.root { world.stored[toMany.name]?[node.key] = nil }
        if toMany.destination == node.root {
          for owner in Array((world.stored[toMany.name] ?? [:]).keys) {
            world.stored[toMany.name]?[owner]?.positions[node.key] = nil
          }
        }
      }
    }
    placeVisitors(draft, old)
    for toMany in EdgeWorld.toManys {
      let number = fixture.relationship(toMany.name).number
      let changes = draft.edges.filter { $0.relationship == number }
      for owner in Set(changes.map(\.owner)) {
        apply(changes.filter { $0.owner == owner }, toMany.name, owner)
      }
    }
  }

  private mutating func apply(_ changes: [EdgeChange], _ name: String, _ owner: UInt64) {
    let isOrdered = EdgeWorld.ordered.contains(name)
    var members = world.stored[name]?[owner]?.positions ?? [:]
    var largest = members.values.max()
    // The last word on each member, in the order of the last words.
    var last: [(member: UInt64, kind: EdgeChange.Kind)] = []
    for change in changes {
      let member = Reference.primaryKey(change.member)
      let earlier = last.firstIndex { $0.member == member }
      var kind = change.kind
      if let earlier, kind == .add(position: nil), case .add(.some) = last[earlier].kind {
        kind = last[earlier].kind
      }
      if let earlier { last.remove(at: earlier) }
      last.append((member, kind))
    }
    for case (let member, .remove) in last { members[member] = nil }
    for case (let member, .add(let position?)) in last {
      members[member] = isOrdered ? position : 0
      if isOrdered { largest = max(largest ?? 0, position) }
    }
    for case (let member, .add(nil)) in last where members[member] == nil {
      let position = isOrdered ? largest.map(EdgePosition.after) ?? EdgePosition.first : 0
      members[member] = position
      if isOrdered { largest = position }
    }
    world.stored[name, default: [:]][owner] = EdgeWorld.Members(positions: members)
  }

  /// Visitors follow from rows, in the order of the change set, unless they were placed.
  private mutating func placeVisitors(_ draft: Draft, _ old: EdgeWorld) {
    let number = fixture.relationship("visitors").number
    for company in known["Company", default: []] {
      let before = world.stored["visitors"]?[company]?.positions ?? [:]
      let members = Set(world.referrers("visited", company))
      var after = before.filter { members.contains($0.key) }
      var largest = before.values.max()
      var placed: [UInt64: UInt64] = [:]
      for edge in draft.edges where edge.relationship == number && edge.owner == company {
        if case .add(let position?) = edge.kind { placed[Reference.primaryKey(edge.member)] = position }
      }
      for (member, position) in placed where members.contains(member) {
        after[member] = position
        largest = max(largest ?? 0, position)
      }
      for node in draft.inserted + draft.updateOrder
      where node.root == "Person" && members.contains(node.key) && after[node.key] == nil {
        let position = largest.map(EdgePosition.after) ?? EdgePosition.first
        after[node.key] = position
        largest = position
      }
      world.stored["visitors", default: [:]][company] = EdgeWorld.Members(positions: after)
    }
  }

  // MARK: Compare

  mutating func reopenAndCompare() throws {
    try fixture.base.reopen()
    let check = try fixture.store.check()
    if !check.isSound { throw Difference(description: "\(check.problems.prefix(5))") }
    for relationship in fixture.schema.relationships where !relationship.isTransient {
      for hidden in [false, true] {
        let entity = hidden ? relationship.destination : relationship.owner
        let root = EdgeWorld.root(fixture.schema.entities[entity].name)
        for owner in known[root, default: []].sorted() {
          let expected = world.members(
            relationship.name, owner, hidden: hidden && relationship.hasHiddenInverse)
          let found = try fixture.members(
            relationship.name, owner, hidden: hidden && relationship.hasHiddenInverse)
          if found != expected {
            throw Difference(
              description: "\(relationship.name) of p\(owner), hidden \(hidden): \(found), not \(expected)")
          }
        }
      }
    }
  }
}
