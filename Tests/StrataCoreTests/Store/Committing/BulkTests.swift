import Foundation
import Synchronization
import Testing

@testable import StrataCore

/// Enough rows for the ways that are taken for many: appending, sorting by radix, keeping the best.
@Suite struct BulkTests {
  @Test(arguments: [UInt64(21), 22])
  func thousandsOfRowsAreIndexedSortedAndWindowed(seed: UInt64) throws {
    print("bulk seed \(seed)")
    let fixture = try StoreFixture(inMemory: true)
    var random = RandomValues(seed: seed)
    var expected: [(key: UInt64, i64: AttributeValue, d: AttributeValue, t: AttributeValue)] = []
    for round in 0..<3 {
      var changes: [RowChange] = []
      for _ in 0..<3000 {
        let (i64, d) = (random.value(.integer64), random.value(.double))
        let t =
          random.chance(round == 2 ? 100 : 95)
          ? AttributeValue.string("t\(random.below(400))") : random.value(.string)
        let change = try fixture.insert("Item", ["i64": i64, "d": d, "t": t, "s": t])
        expected.append((change.primaryKey, i64, d, t))
        changes.append(change)
      }
      changes.shuffle(using: &random.generator)
      try fixture.commit(inserts: changes)
    }
    #expect(try fixture.store.check().problems == [])
    for isAscending in [true, false] {
      let sorts = [
        [FetchSort("d", ascending: isAscending)], [FetchSort("i64", ascending: isAscending)],
        [FetchSort("t", ascending: isAscending), FetchSort("i64", ascending: !isAscending)],
      ]
      for sort in sorts {
        let all = sorted(expected, sort)
        for (limit, offset) in [(0, 0), (1, 0), (50, 0), (50, 700), (3000, 10)] {
          let keys = try fixture.fetch("Item", sort: sort, limit: limit, offset: offset).rows.map(
            \.primaryKey)
          let window = all.dropFirst(offset).prefix(limit == 0 ? Int.max : limit)
          #expect(keys == Array(window), "seed \(seed), \(sort), \(offset)+\(limit)")
        }
      }
    }
  }

  private func sorted(
    _ rows: [(key: UInt64, i64: AttributeValue, d: AttributeValue, t: AttributeValue)], _ sort: [FetchSort]
  ) -> [UInt64] {
    rows.sorted { left, right in
      for part in sort {
        let order =
          switch part.key {
          case "d": AttributeValue.compare(left.d, right.d)
          case "t": AttributeValue.compare(left.t, right.t)
          default: AttributeValue.compare(left.i64, right.i64)
          }
        if order != 0 { return (order < 0) == part.ascending }
      }
      return left.key < right.key
    }.map(\.key)
  }

  /// Entries of an index, sorted as bytes: by prefix, behind a shared beginning, with many the same.
  @Test(arguments: [UInt64(1), 2, 3, 4])
  func entriesSortAsTheirBytes(seed: UInt64) {
    print("entries seed \(seed)")
    var random = RandomValues(seed: seed)
    let shared = [UInt8](repeating: 7, count: random.below(12))
    var entries = IndexEntries()
    var keys: [[UInt8]] = []
    for _ in 0..<(seed == 1 ? 100 : 5000) {
      let key = shared + (0..<(1 + random.below(14))).map { _ in UInt8(random.pick([0, 1, 255, 16])) }
      keys.append(key)
      key.withUnsafeBytes { entries.append($0, isTruncated: false, isConstrained: false) }
    }
    entries.sort()
    keys.sort { $0.lexicographicallyPrecedes($1) }
    #expect((0..<entries.count).map { Array(entries.key($0)) } == keys, "seed \(seed)")
    for key in keys.prefix(50) { #expect(key.withUnsafeBytes { entries.contains($0) }) }
    #expect(![UInt8](repeating: 9, count: 3).withUnsafeBytes { entries.contains($0) })
  }
}

@Suite struct StoreConcurrencyTests {
  /// Readers see whole commits, never parts of one; each commit keeps the sum of all rows.
  @Test func readersSeeWholeCommits() throws {
    let fixture = try StoreFixture()
    let changes = try (0..<50).map { _ in try fixture.insert("Item", ["i64": 100, "t": "x"]) }
    try fixture.commit(inserts: changes)
    let (store, schema) = (fixture.store, fixture.schema)
    let request = try fixture.resolve("Item", Attribute("t") == "x")
    let indexed = try fixture.resolve("Item", Attribute("i64") >= 0)
    let isDone = Atomic(false)
    let failures = Mutex<[String]>([])
    let entity = fixture.entity("Item")
    let slot = try #require(entity.slot(named: "i64"))
    let group = DispatchGroup()
    for request in [request, indexed] {
      DispatchQueue.global().async(group: group) {
        while !isDone.load(ordering: .relaxed) {
          do {
            let rows = try store.fetch(request, mode: .rows).rows
            let sum = rows.reduce(0) { $0 + $1.integer(slot, schema) }
            if rows.count != 50 || sum != 5000 {
              failures.withLock { $0.append("\(rows.count) rows, sum \(sum)") }
            }
          } catch {
            failures.withLock { $0.append("\(error)") }
          }
        }
      }
    }
    var random = RandomValues(seed: 3)
    for _ in 0..<300 {
      let keys = Array(Set((0..<2).map { _ in random.pick(changes).primaryKey }))
      let rows = try keys.map { try #require(try fixture.row("Item", $0)) }
      guard rows.count == 2 else { continue }
      let amount = Int64(random.below(2))
      let values = rows.map { $0.integer(slot, fixture.schema) }
      guard values[0] >= amount else { continue }
      try fixture.commit(updates: [
        fixture.update(rows[0], ["i64": .integer(values[0] - amount)]),
        fixture.update(rows[1], ["i64": .integer(values[1] + amount)]),
      ])
    }
    isDone.store(true, ordering: .relaxed)
    group.wait()
    #expect(failures.withLock { $0 } == [])
    #expect(try store.check().problems == [])
  }

  /// Commits from many threads: every success is there, conflicts and nothing else fail.
  @Test func commitsFromManyThreadsAllCount() throws {
    let fixture = try StoreFixture()
    let counter = try fixture.insert("Item", ["i64": 0])
    try fixture.commit(inserts: [counter])
    let box = Shared(fixture)
    let added = Atomic(0)
    DispatchQueue.concurrentPerform(iterations: 4) { _ in
      for _ in 0..<50 {
        let fixture = box.value
        guard let row = try? fixture.row("Item", counter.primaryKey),
          let old = try? fixture.value(row, "i64"),
          case .integer(let number) = old,
          let change = try? fixture.update(row, ["i64": .integer(number + 1)])
        else { return }
        if case .success = fixture.commit([ChangeSet(updates: [change])])[0] {
          added.add(1, ordering: .relaxed)
        }
      }
    }
    let row = try #require(try fixture.row("Item", counter.primaryKey))
    #expect(try fixture.value(row, "i64") == .integer(Int64(added.load(ordering: .relaxed))))
    #expect(added.load(ordering: .relaxed) > 0)
    #expect(Int(row.snapshot?.version ?? 0) == added.load(ordering: .relaxed) + 1)
  }

  /// The last reference to a store may be released on the thread that writes.
  @Test func storeDroppedInItsOwnCompletionClosesQuietly() throws {
    let fixture = try StoreFixture()
    fixture.store.close()
    let done = DispatchSemaphore(value: 0)
    for _ in 0..<20 {
      var store: LMDBStore? = try fixture.secondStore()
      let change = try fixture.insert("Place", [:], store: store)
      store?.commit([ChangeSet(inserts: [change])], deadline: nil) { _ in done.signal() }
      store = nil
      done.wait()
    }
    try fixture.reopen()
    #expect(try fixture.fetch("Place", mode: .count).count == 20)
    #expect(try fixture.store.check().problems == [])
  }

  @Test func outcomeOfACommitIsFoundByItsStamp() throws {
    let fixture = try StoreFixture()
    let attempt = CommitAttempt<CommitBatch.Outcome>(fixture.store.parts.nextNonce())
    let store = fixture.store
    let batch = CommitBatch(
      changeSets: [ChangeSet(inserts: [try fixture.insert("Place", [:])])], parts: store.parts,
      catalogue: store.catalogue, allocators: store.allocators, attempt: attempt)
    let meta = store.parts.meta
    func outcome() throws -> CommitBatch.Outcome? {
      try store.parts.environment.read { attempt.outcome(stamp: try meta.bytes("stamp", $0)) }
    }
    #expect(try outcome() == nil)
    _ = try store.parts.environment.write { try batch.run($0) }
    #expect(try outcome()?.value.count == 1)
    try fixture.commit(inserts: [fixture.insert("Place", [:])])
    #expect(try outcome() == nil)
  }

  @Test func twoChangesOfOneRowAreRefused() throws {
    let fixture = try StoreFixture()
    let change = try fixture.insert("Place", [:])
    try fixture.commit(inserts: [change])
    let row = try #require(try fixture.row("Place", change.primaryKey))
    #expect(throws: StorageError.self) {
      try fixture.commit(updates: [fixture.update(row, ["x": 1])], deletes: [fixture.delete(row)])
    }
    #expect(try fixture.fetch("Place", mode: .count).count == 1)
  }
}

extension FetchedRow {
  fileprivate func integer(_ slot: Int, _ schema: Schema) -> Int64 {
    guard case .integer(let number)? = snapshot?.value(slot, schema.entities[entity].layout) else { return 0 }
    return number
  }
}

/// Carries the fixture into threads; its store may be used from any of them.
private final class Shared: @unchecked Sendable {
  // Unchecked: the fixture is not changed while threads use it.
  let value: StoreFixture
  init(_ value: StoreFixture) { self.value = value }
}
