import Foundation
import Synchronization
import Testing

@testable import StrataCore

/// Batch inserts whose index entries are made ahead, and batch updates that are put as they are found, against the way a save goes.
struct SortedInsertTests {
  /// A store with a history, where a batch is carried out and looked at.
  private struct Stand {
    let fixture: StoreFixture

    init(seed: UInt64, stored: Int) throws {
      var options = LMDBStoreOptions.scratch
      options.recordsHistory = true
      fixture = try StoreFixture(options: options)
      var random = RandomValues(seed: seed)
      var inserts: [RowChange] = []
      for number in 0..<stored {
        inserts.append(
          try fixture.insert(
            "Item", Self.values(&random, fixture.entity("Item"), code: "stored \(number)")))
      }
      try fixture.commit(inserts: inserts)
    }

    static func values(_ random: inout RandomValues, _ entity: EntitySchema, code: String?) -> [String:
      AttributeValue]
    {
      var values: [String: AttributeValue] = [:]
      for attribute in entity.attributes where !attribute.isTransient {
        values[attribute.name] = random.value(attribute.type)
      }
      values["code"] = code.map { .string($0) } ?? .null
      return values
    }

    func execute(
      _ operation: StoreBatch.Operation, step: Int = 64, heldLength: Int = BatchWriting.heldLength
    ) throws -> BatchOutcome {
      let done = DispatchSemaphore(value: 0)
      let result = Mutex<Result<BatchOutcome, any Error>?>(nil)
      var batch = StoreBatch(operation, progress: BatchProgress(), step: step)
      batch.heldLength = heldLength
      fixture.store.execute(batch, deadline: nil) { found in
        result.withLock { $0 = found }
        done.signal()
      }
      done.wait()
      return try #require(result.withLock { $0 }).get()
    }

    func entries(_ name: String = "Item", mostBytes: Int = BatchEntries.mostBytes) -> BatchEntries? {
      let store = fixture.store
      return BatchEntries(
        entity: fixture.entity(name).number,
        reader: RowReader(parts: store.parts, catalogue: store.catalogue), folder: fixture.directory.path,
        mostBytes: mostBytes)
    }

    /// Rows on their way, with their entries when there are some.
    func rows(
      _ changes: [RowChange], _ entries: BatchEntries?, _ name: String = "Item", step: Int = 64,
      memoryLength: Int = 1 << 20
    ) throws -> BatchRows {
      let entity = fixture.entity(name)
      var slots = SlotBitmap()
      for attribute in entity.attributes where !attribute.isTransient { slots.insert(attribute.slot) }
      let rows = BatchRows(
        entity: entity.number, slots: slots, folder: fixture.directory.path, step: step,
        memoryLength: memoryLength, entries: entries)
      for change in changes {
        try rows.append(change.row, key: change.primaryKey, externals: change.externals)
      }
      rows.end()
      return rows
    }

    /// What is stored: rows, entries, large values, and the history but for its times.
    func dump() throws -> [String] {
      try fixture.store.read { reader, transaction in
        try StoreDump.text(reader, transaction).split(separator: "\n").map(String.init).filter {
          $0.hasPrefix("rows") || $0.hasPrefix("index") || $0.hasPrefix("large")
        }
      }
    }
  }

  private func changes(
    _ stand: Stand, _ random: inout RandomValues, count: Int, large: Bool = false
  ) throws -> [RowChange] {
    try (0..<count).map { number in
      var values = Stand.values(
        &random, stand.fixture.entity("Item"), code: number.isMultiple(of: 7) ? nil : "code \(count - number)"
      )
      if !large {
        for name in ["s", "t"] where random.chance(50) { values[name] = .string("text \(random.below(20))") }
        if case .string(let text)? = values["s"], text.utf8.count > 900 { values["s"] = "short" }
      }
      return try stand.fixture.insert("Item", values)
    }
  }

  /// How entries are kept: nil is the way of a save.
  @Test(
    "a batch insert leaves the same rows and entries, however its entries are made",
    arguments: [nil, BatchEntries.mostBytes, 0], [0, 50])
  func sameEntries(mostBytes: Int?, stored: Int) throws {
    let seed = testSeed()
    var dumps: [[String]] = []
    for isReference in [true, false] {
      let stand = try Stand(seed: seed, stored: stored)
      var random = RandomValues(seed: seed &+ 1)
      let changes = try changes(stand, &random, count: 1_000)
      let entries = isReference ? nil : mostBytes.flatMap { stand.entries(mostBytes: $0) }
      let rows = try stand.rows(changes, entries, memoryLength: isReference ? 1 << 30 : 10_000)
      if let entries { #expect(entries.areMade() && entries.hasConstraints) }
      // Pages that have changed are handed over all the time, or not at all.
      let outcome = try stand.execute(.insert(rows), heldLength: isReference ? 1 << 30 : 10_000)
      #expect(outcome.changes.inserted.count == 1_000)
      #expect(try stand.fixture.store.check().problems == [], "seed \(seed)")
      dumps.append(try stand.dump())
    }
    #expect(dumps[0] == dumps[1], "seed \(seed)")
  }

  @Test("values that are there already, or come twice, are refused as ever, and nothing is written")
  func duplicates() throws {
    for codes in [["new", "stored 3"], ["new", "other", "new"]] {
      var errors: [String] = []
      for isReference in [true, false] {
        let stand = try Stand(seed: 1, stored: 10)
        let before = try stand.dump()
        let changes = try codes.map { try stand.fixture.insert("Item", ["code": .string($0)]) }
        let rows = try stand.rows(changes, isReference ? nil : stand.entries())
        let error = #expect(throws: BatchDuplicates.self) { try stand.execute(.insert(rows)) }
        errors.append("\(error.map { "\($0)" } ?? "none")")
        #expect(try stand.dump() == before)
        #expect(try stand.fixture.store.check().problems == [])
      }
      #expect(errors[0] == errors[1])
    }
  }

  @Test("an entry that needs a large value is left to the writer")
  func largeValues() throws {
    let stand = try Stand(seed: 2, stored: 5)
    let text = String(repeating: "long ", count: 1_000)
    let changes = try (0..<100).map {
      try stand.fixture.insert(
        "Item", ["s": .string($0 == 50 ? text : "\($0)"), "blob": .data(Data(count: 2_000))])
    }
    let entries = try #require(stand.entries())
    let rows = try stand.rows(changes, entries)
    #expect(!entries.areMade())
    #expect(try stand.execute(.insert(rows)).changes.inserted.count == 100)
    #expect(try stand.fixture.store.check().problems == [])
    let found = try stand.fixture.fetch("Item", Attribute("s") == text)
    #expect(found.rows.map(\.primaryKey) == [changes[50].primaryKey])
  }

  @Test("entries that were made for other indexes than the store has by now are made again")
  func otherIndexes() async throws {
    let stand = try Stand(seed: 3, stored: 5)
    var random = RandomValues(seed: 4)
    let changes = try changes(stand, &random, count: 300)
    let entries = try #require(stand.entries())
    let rows = try stand.rows(changes, entries)
    try await stand.fixture.store.addIndex(
      AddedIndex(
        entity: "Item", name: "byT", elements: [AddedIndex.Element(property: "t", isAscending: true)]))
    #expect(stand.fixture.store.catalogue.generation != entries.generation)
    _ = try stand.execute(.insert(rows))
    #expect(try stand.fixture.store.check().problems == [])
  }

  @Test("rows that others have saved meanwhile stay, also those behind the batch's keys")
  func keysOfOthers() throws {
    let stand = try Stand(seed: 5, stored: 5)
    let changes = try (0..<200).map { try stand.fixture.insert("Item", ["i64": .integer(Int64($0))]) }
    let rows = try stand.rows(changes, stand.entries())
    let later = try stand.fixture.insert("Item", ["i64": 1_000])
    try stand.fixture.commit(inserts: [later])
    #expect(later.primaryKey > changes[199].primaryKey)
    _ = try stand.execute(.insert(rows))
    #expect(try stand.fixture.store.check().problems == [])
    #expect(try stand.fixture.fetch("Item", mode: .count).count == 206)
    // Under the same key there is one already.
    let again = try stand.rows([changes[3]], stand.entries())
    let before = try stand.dump()
    let conflict = #expect(throws: CommitConflict.self) { try stand.execute(.insert(again)) }
    #expect(conflict?.conflicts.map(\.primaryKey) == [changes[3].primaryKey])
    #expect(try stand.dump() == before)
  }

  @Test("a batch of no rows is none")
  func nothing() throws {
    let stand = try Stand(seed: 6, stored: 2)
    let before = try stand.dump()
    let outcome = try stand.execute(.insert(try stand.rows([], stand.entries())))
    #expect(outcome.changes.inserted.count == 0)
    #expect(try stand.dump() == before)
  }
}
