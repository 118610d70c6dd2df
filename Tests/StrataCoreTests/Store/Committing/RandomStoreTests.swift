import Foundation
import Testing

@testable import StrataCore

/// Random changes and fetches run against the store and a dictionary alike.
@Suite struct RandomStoreTests {
  @Test(arguments: [UInt64(11), 12, 13])
  func storeAndDictionaryAgree(seed: UInt64) throws {
    let steps = Int(ProcessInfo.processInfo.environment["STRATA_STEPS"] ?? "") ?? 400
    print("store seed \(seed), \(steps) steps")
    var run = try RandomRun(seed: seed)
    for step in 0..<steps {
      do {
        try run.step()
        if step % 250 == 249 { try run.reopenAndCheck() }
      } catch {
        Issue.record("seed \(seed), step \(step): \(error)")
        return
      }
      if let failure = run.failure {
        Issue.record("seed \(seed), step \(step): \(failure)")
        return
      }
    }
    try run.reopenAndCheck()
    #expect(run.failure == nil, "seed \(seed)")
  }
}

private struct RandomRun {
  struct Row {
    var entity: String
    var version: UInt32
    var values: [String: AttributeValue]
  }

  let fixture: StoreFixture
  var random: RandomValues
  /// By hierarchy's root name and key.
  var model: [String: [UInt64: Row]] = ["Item": [:], "Place": [:]]
  var usedKeys: [String: Set<UInt64>] = ["Item": [], "Place": []]
  var failure: String?

  init(seed: UInt64) throws {
    fixture = try StoreFixture()
    random = RandomValues(seed: seed)
  }

  mutating func step() throws {
    switch random.below(10) {
    case 0..<5: try commit()
    case 5: try readOne()
    default: try fetch()
    }
  }

  mutating func reopenAndCheck() throws {
    try fixture.reopen()
    let check = try fixture.store.check()
    if !check.isSound { failure = "\(check.problems.prefix(5))" }
    for (root, rows) in model {
      let stored = try fixture.fetch(root)
      if stored.count != rows.count { failure = "\(root): \(stored.count) rows, \(rows.count) expected" }
      for row in stored.rows { try compare(row, root) }
    }
  }

  private mutating func compare(_ row: FetchedRow, _ root: String) throws {
    guard let expected = model[root]?[row.primaryKey] else {
      failure = "\(root) p\(row.primaryKey) should not exist"
      return
    }
    let values = try fixture.values(row)
    if values != expected.values || row.snapshot?.version != expected.version
      || fixture.schema.entities[row.entity].name != expected.entity
    {
      failure = "\(root) p\(row.primaryKey): \(values) instead of \(expected.values)"
    }
  }

  // MARK: Commits

  private mutating func commit() throws {
    let root = random.chance(75) ? "Item" : "Place"
    var changes = ChangeSet()
    var after = model[root] ?? [:]
    var touched: Set<UInt64> = []
    var hasConflict = false
    for _ in 0..<(random.chance(5) ? 60 : 1 + random.below(6)) {
      let key = random.chance(45) ? nil : after.keys.sorted().randomElement(using: &random.generator)
      guard let key, !touched.contains(key), let row = after[key] else {
        try insert(root, &changes, &after, &touched)
        continue
      }
      touched.insert(key)
      let isStale = random.chance(2)
      hasConflict = hasConflict || isStale
      if random.chance(35) {
        let number = fixture.entity(row.entity).number
        changes.deletes.append(
          RowDeletion(entity: number, primaryKey: key, baseVersion: isStale ? row.version + 1 : row.version))
        after[key] = nil
      } else {
        try update(root, key, row, isStale, &changes, &after)
      }
    }
    try finish(root, changes, after, touched, hasConflict)
  }

  private mutating func insert(
    _ root: String, _ changes: inout ChangeSet, _ after: inout [UInt64: Row], _ touched: inout Set<UInt64>
  ) throws {
    let name = root == "Item" ? random.pick(["Item", "Special"]) : root
    var values: [String: AttributeValue] = [:]
    for attribute in fixture.entity(name).attributes where !attribute.isTransient {
      let value = self.value(attribute)
      if !value.isNull { values[attribute.name] = value }
    }
    let change = try fixture.insert(name, values)
    if usedKeys[root]?.insert(change.primaryKey).inserted == false {
      failure = "p\(change.primaryKey) was given twice"
    }
    changes.inserts.append(change)
    after[change.primaryKey] = Row(entity: name, version: 1, values: values)
    touched.insert(change.primaryKey)
  }

  private mutating func update(
    _ root: String, _ key: UInt64, _ row: Row, _ isStale: Bool, _ changes: inout ChangeSet,
    _ after: inout [UInt64: Row]
  ) throws {
    guard let stored = try fixture.row(root, key) else {
      failure = "\(root) p\(key) is missing"
      return
    }
    var new: [String: AttributeValue] = [:]
    for attribute in fixture.entity(row.entity).attributes where !attribute.isTransient && random.chance(30) {
      new[attribute.name] = value(attribute)
    }
    let change = try fixture.update(stored, new)
    changes.updates.append(
      RowChange(
        entity: change.entity, primaryKey: key,
        baseVersion: isStale ? change.baseVersion + 1 : change.baseVersion,
        row: change.row, externals: change.externals, changedSlots: change.changedSlots))
    after[key]?.version += 1
    for (name, value) in new { after[key]?.values[name] = value.isNull ? nil : value }
  }

  /// Values of constraints are mostly different, so that most commits succeed.
  private mutating func value(_ attribute: AttributeSchema) -> AttributeValue {
    if ["code", "name"].contains(attribute.name), random.chance(90) {
      return .string("n\(random.below(5000))")
    }
    if ["x", "y"].contains(attribute.name) {
      return random.chance(10) ? .null : .integer(Int64(random.below(200)))
    }
    return random.value(attribute.type)
  }

  private mutating func finish(
    _ root: String, _ changes: ChangeSet, _ after: [UInt64: Row], _ touched: Set<UInt64>, _ hasConflict: Bool
  ) throws {
    let isUnique = isUnique(root, after, touched)
    let result = fixture.commit([changes])[0]
    switch result {
    case .success:
      if hasConflict || !isUnique {
        failure = "commit succeeded, conflict \(hasConflict), unique \(isUnique)"
      }
      model[root] = after
    case .failure(let error):
      let isExpected =
        error is CommitConflict ? hasConflict : error is UniquenessViolation ? !isUnique : false
      if !isExpected { failure = "commit failed: \(error)" }
    }
  }

  private func isUnique(_ root: String, _ rows: [UInt64: Row], _ touched: Set<UInt64>) -> Bool {
    for constraint in root == "Item" ? [["code"]] : [["name"], ["x", "y"]] {
      var seen: [[AttributeValue]: UInt64] = [:]
      for (key, row) in rows {
        let values = constraint.compactMap { row.values[$0] }
        if values.count < constraint.count { continue }
        if seen.updateValue(key, forKey: values) != nil { return false }
      }
    }
    return true
  }

  // MARK: Reads

  private mutating func readOne() throws {
    let root = random.pick(["Item", "Place"])
    let keys = (0..<4).map { _ in UInt64(random.below((usedKeys[root]?.count ?? 0) + 5)) + 1 }
    let rows = try fixture.store.rows(hierarchy: fixture.entity(root).hierarchyNumber, primaryKeys: keys)
    for (key, row) in zip(keys, rows) {
      if let row {
        try compare(row, root)
      } else if model[root]?[key] != nil {
        failure = "\(root) p\(key) not found"
      }
    }
  }

  private mutating func fetch() throws {
    let name = random.pick(["Item", "Item", "Special", "Place"])
    let root = name == "Place" ? "Place" : "Item"
    let entity = fixture.entity(name)
    let rows = model[root] ?? [:]
    let identifiers = rows.keys.sorted().prefix(40).map { fixture.identifier(rows[$0]?.entity ?? root, $0) }
    let predicate = random.predicate(entity, identifiers: identifiers, depth: 2)
    let sort = (0..<random.below(3)).map { _ in
      FetchSort(random.pick(entity.attributes.filter { !$0.isTransient }).name, ascending: random.chance(60))
    }
    let limit = random.chance(50) ? 0 : 1 + random.below(20)
    let offset = random.chance(70) ? 0 : random.below(10)
    let includesSubentities = random.chance(70)
    let expected = expectedKeys(name, predicate, sort, includesSubentities)
    let window = expected.dropFirst(offset).prefix(limit == 0 ? Int.max : limit)

    var request = try fixture.resolve(
      name, predicate, sort: sort, limit: limit, offset: offset, includesSubentities: includesSubentities)
    let found = try fixture.store.fetch(request, mode: .rows)
    let keys = found.rows.map(\.primaryKey)
    let says = "\(name) \(predicate) by \(sort), \(offset)+\(limit), plan \(found.plan)"
    if sort.isEmpty {
      // Which rows a window shows is open then: it must be of matches, of the right size.
      if keys.count != window.count || !Set(keys).isSubset(of: expected) || Set(keys).count != keys.count {
        failure = "\(says): \(keys), expected \(expected)"
      }
    } else if keys != Array(window) {
      failure = "\(says): \(keys), expected \(Array(window))"
    }
    for row in found.rows.prefix(3) { try compare(row, root) }
    if try fixture.store.fetch(request, mode: .count).count != window.count { failure = "count of \(says)" }
    let identified = try fixture.store.fetch(request, mode: .identifiers).rows
    if !sort.isEmpty && identified.map(\.primaryKey) != keys { failure = "identifiers of \(says)" }
    request.limit = 0
    request.offset = 0
    let scanned = try scan(request)
    if Set(scanned) != Set(expected) { failure = "scan instead of \(says)" }
  }

  /// The result without any index.
  private func scan(_ request: ResolvedFetchRequest) throws -> [UInt64] {
    let plan = FetchPlanner.plan(request, storeIdentifier: fixture.store.identifier) { _ in false }
    return try fixture.store.read { reader, transaction in
      try FetchExecutor(
        request: request, plan: plan, mode: .rows, view: StoredView(reader, transaction)
      ).run(transaction)
        .rows.map(\.primaryKey)
    }
  }

  private func expectedKeys(
    _ name: String, _ predicate: FetchPredicate, _ sort: [FetchSort], _ includesSubentities: Bool
  ) -> [UInt64] {
    let rows = model[name == "Place" ? "Place" : "Item"] ?? [:]
    let matches = rows.filter { key, row in
      let isWanted = row.entity == name || (includesSubentities && name == "Item")
      return isWanted
        && ReferencePredicate.matches(predicate, identifier: fixture.identifier(row.entity, key)) {
          row.values[$0] ?? .null
        }
    }
    return matches.sorted { left, right in
      for part in sort {
        let order = AttributeValue.compare(
          left.value.values[part.key] ?? .null, right.value.values[part.key] ?? .null)
        if order != 0 { return (order < 0) == part.ascending }
      }
      return left.key < right.key
    }.map(\.key)
  }
}
