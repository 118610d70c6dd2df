import Foundation
import Testing

@testable import StrataCore

/// The commit journal: which rows the last commits have changed, as others read it.
struct JournalTests {
  private func fixture(_ change: (inout JournalFormat.Limits) -> Void = { _ in }) throws -> StoreFixture {
    var options = LMDBStoreOptions.scratch
    change(&options.journalLimits)
    return try StoreFixture(options: options)
  }

  private func insert(_ fixture: StoreFixture, _ count: Int = 1) throws -> [RowChange] {
    let rows = try (0..<count).map { try fixture.insert("Item", ["s": .string("\($0)")]) }
    try fixture.commit(inserts: rows)
    return rows
  }

  @Test("a commit names its rows by kind; the writer itself knows them for its own")
  func kinds() throws {
    let fixture = try fixture()
    let rows = try insert(fixture, 3)
    let entity = rows[0].entity
    let keys = rows.map(\.primaryKey)
    let stored = try fixture.store.rows(
      hierarchy: fixture.entity("Item").hierarchyNumber, primaryKeys: keys
    ).compactMap { $0 }
    try fixture.commit(
      updates: [try fixture.update(stored[0], ["s": .string("x")])], deletes: [fixture.delete(stored[2])])
    let reading = try fixture.secondStore().journal(after: 0)
    #expect(reading.newest == 2)
    #expect(reading.commits.map(\.number) == [1, 2])
    #expect(reading.commits.map(\.isOwn) == [false, false])
    #expect(Array(reading.commits[0].changes.inserted.lists[entity]) == keys)
    #expect(Array(reading.commits[1].changes.updated.lists[entity]) == [keys[0]])
    #expect(Array(reading.commits[1].changes.deleted.lists[entity]) == [keys[2]])
    #expect(reading.commits[1].changes.count == 2)
    #expect(try fixture.store.journal(after: 0).commits.map(\.isOwn) == [true, true])
    #expect(try fixture.store.journal(after: 2).commits.isEmpty)
    #expect(try fixture.store.check().problems == [])
  }

  @Test("rows side by side cost nothing, scattered ones two bytes at most")
  func size() {
    let recorder = JournalRecorder(writer: 1, limits: JournalFormat.Limits())
    for key in 1...100_000 as ClosedRange<UInt64> { recorder.note(key, of: 0, .inserted) }
    #expect(recorder.entry(codes: [7]).count < 24)
    let scattered = JournalRecorder(writer: 1, limits: JournalFormat.Limits())
    for key in stride(from: 3, to: 30_000, by: 30) { scattered.note(UInt64(key), of: 0, .updated) }
    #expect(scattered.entry(codes: [7]).count < 2_100)
  }

  @Test("what is written is read back, in whichever order rows come")
  func randomEntries() throws {
    let seed =
      ProcessInfo.processInfo.environment["STRATA_SEED"].flatMap(UInt64.init) ?? .random(in: 0 ... .max)
    print("seed \(seed)")
    var random = SeededGenerator(seed: seed)
    for _ in 0..<300 {
      let recorder = JournalRecorder(writer: 42, limits: JournalFormat.Limits())
      var expected: [Int: Set<UInt64>] = [:]
      var key: UInt64 = 1
      for _ in 0..<Int.random(in: 0...200, using: &random) {
        key = Bool.random(using: &random) ? key + 1 : .random(in: 1..<(1 << 40), using: &random)
        let entity = Int.random(in: 0..<3, using: &random)
        let kind =
          [JournalFormat.Kind.inserted, .updated, .deleted, .related].randomElement(using: &random)
          ?? .updated
        recorder.note(key, of: entity, kind)
        expected[entity << 3 | Int(kind.rawValue), default: []].insert(key)
      }
      let bytes = recorder.entry(codes: [100, 200, 300])
      let entry = try #require(bytes.withUnsafeBytes { JournalEntry($0) })
      #expect(entry.writer == 42)
      var found: [Int: Set<UInt64>] = [:]
      for list in entry.lists {
        let place = (Int(list.entityCode) / 100 - 1) << 3 | Int(list.kind.rawValue)
        for run in list.runs { found[place, default: []].formUnion(run) }
      }
      #expect(found == expected)
    }
  }

  @Test("bytes that are no entry are refused, and never read beyond")
  func damagedEntries() {
    let recorder = JournalRecorder(writer: 42, limits: JournalFormat.Limits())
    for key in [1, 2, 3, 9, 1 << 40] as [UInt64] { recorder.note(key, of: 0, .deleted) }
    let bytes = Array(recorder.entry(codes: [7]))
    var refused = 0
    for length in 0..<bytes.count where bytes[..<length].withUnsafeBytes({ JournalEntry($0) }) == nil {
      refused += 1
    }
    // All but the header alone.
    #expect(refused == bytes.count - 1)
    var random = SeededGenerator(seed: 7)
    for _ in 0..<20_000 {
      var mutated = bytes
      mutated[.random(in: 0..<bytes.count, using: &random)] = .random(in: 0...255, using: &random)
      _ = mutated.withUnsafeBytes { JournalEntry($0) }
    }
  }

  @Test("too many rows to list: the entity is named")
  func tooLong() throws {
    let fixture = try fixture { $0.entryBytes = 64 }
    let rows = try insert(fixture, 400)
    let stored = try fixture.store.rows(
      hierarchy: fixture.entity("Item").hierarchyNumber, primaryKeys: rows.map(\.primaryKey)
    ).compactMap { $0 }
    let some = stored.enumerated().filter { $0.offset % 3 == 0 }.map(\.element)
    try fixture.commit(updates: try some.map { try fixture.update($0, ["s": .string("x")]) })
    let commits = try fixture.secondStore().journal(after: 1).commits
    #expect(commits.count == 1)
    #expect(commits.first?.changes.uncertain == [rows[0].entity])
    #expect(commits.first?.changes.count == 0)
    #expect(commits.first?.isUnknown == false)
  }

  @Test("the journal keeps so many commits; of those before, anything may have happened")
  func trimming() throws {
    let fixture = try fixture {
      $0.commits = 10
      $0.slack = 4
    }
    for _ in 0..<40 { _ = try insert(fixture) }
    let other = try fixture.secondStore()
    let kept = try fixture.store.statistics().entryCounts["journal"] ?? 0
    #expect((10...14).contains(kept))
    let reading = try other.journal(after: 0)
    #expect(reading.commits.first?.isUnknown == true)
    #expect(reading.commits.first?.number == UInt64(40 - kept))
    #expect(reading.commits.dropFirst().map(\.number) == Array(UInt64(41 - kept)...40))
    #expect(try other.journal(after: 35).commits.map(\.isUnknown) == Array(repeating: false, count: 5))
    #expect(try fixture.store.check().problems == [])
  }

  @Test("the journal keeps so many bytes")
  func trimmingBytes() throws {
    let fixture = try fixture { $0.bytes = 64 << 10 }
    let rows = try insert(fixture, 2_000)
    for round in 0..<60 {
      let stored = try fixture.store.rows(
        hierarchy: fixture.entity("Item").hierarchyNumber, primaryKeys: rows.map(\.primaryKey)
      ).compactMap { $0 }
      let some = stored.enumerated().filter { $0.offset % 2 == 0 }.map(\.element)
      try fixture.commit(updates: try some.map { try fixture.update($0, ["s": .string("\(round)")]) })
    }
    // Each of these takes a thousand bytes.
    let kept = try fixture.store.statistics().entryCounts["journal"] ?? 0
    #expect((20...64).contains(kept))
  }

  @Test("a writer that knows no journal leaves a gap, which is reported")
  func gap() throws {
    let fixture = try fixture()
    for _ in 0..<5 { _ = try insert(fixture) }
    // As if commits 3 and 5 were an older version's.
    let journal = try #require(fixture.store.parts.journal)
    try fixture.store.parts.environment.write { transaction in
      for number in [3, 5] as [UInt64] {
        _ = try PrimaryKeyBytes.with(number) { try transaction.delete(journal.keyspace, $0) }
      }
    }
    let commits = try fixture.secondStore().journal(after: 1).commits
    #expect(commits.map(\.number) == [2, 3, 4, 5])
    #expect(commits.map(\.isUnknown) == [false, true, false, true])
  }

  @Test("a check reports entries that cannot be read, and of commits that never were")
  func check() throws {
    let fixture = try fixture()
    _ = try insert(fixture)
    let journal = try #require(fixture.store.parts.journal)
    try fixture.store.parts.environment.write { transaction in
      for (number, bytes) in [(1, [9, 9]), (77, [1, 0, 0, 0, 0, 0, 0, 0, 0])] as [(UInt64, [UInt8])] {
        try PrimaryKeyBytes.with(number) { key in
          try bytes.withUnsafeBytes { try transaction.put(journal.keyspace, key, $0) }
        }
      }
    }
    #expect(try fixture.store.check().problems.map(\.kind) == [.journalDamaged, .journalDamaged])
    #expect(try fixture.secondStore().journal(after: 0).commits.map(\.isUnknown) == [true])
  }
}
