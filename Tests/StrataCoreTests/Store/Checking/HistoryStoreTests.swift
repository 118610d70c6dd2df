import Foundation
import Synchronization
import Testing

@testable import StrataCore

/// The history as the store keeps it: how long, in which bytes, and what a check says of it.
struct HistoryStoreTests {
  /// A clock that the test moves.
  private final class Clock: Sendable {
    private let time = Mutex(Date(timeIntervalSinceReferenceDate: 1_000))
    var now: Date { time.withLock { $0 } }
    func advance(days: Double) { time.withLock { $0 += days * 86_400 } }
  }

  private let clock = Clock()

  private func options(_ retention: HistoryRetention = HistoryRetention()) -> LMDBStoreOptions {
    var options = LMDBStoreOptions.scratch
    options.recordsHistory = true
    options.historyRetention = retention
    options.historyClock = { [clock] in clock.now }
    return options
  }

  private func save(_ fixture: StoreFixture, _ count: Int = 1) throws {
    for _ in 0..<count { try fixture.commit(inserts: [fixture.insert("Special", ["s": .string("x")])]) }
  }

  private func numbers(_ store: LMDBStore) throws -> [UInt64] {
    try store.history(HistoryQuestion(after: 0)).transactions.map(\.number)
  }

  @Test("by default a later save deletes what is older than 30 days")
  func age() throws {
    let fixture = try StoreFixture(options: options())
    try save(fixture, 3)
    clock.advance(days: 20)
    try save(fixture)
    clock.advance(days: 11)
    try save(fixture)
    #expect(try numbers(fixture.store) == [4, 5])
    #expect(try fixture.store.historyBounds().map { [$0.purged, $0.newest] } == [3, 5])
    clock.advance(days: 40)
    try save(fixture)
    #expect(try numbers(fixture.store) == [6])
    #expect(try fixture.store.check().problems == [])
  }

  @Test("history kept without limit does not expire")
  func forever() throws {
    let fixture = try StoreFixture(options: options(.forever))
    for _ in 0..<3 {
      try save(fixture)
      clock.advance(days: 10_000)
    }
    #expect(try numbers(fixture.store) == [1, 2, 3])
  }

  @Test("dropsConsumed: what all consumers have seen is deleted, while there are any")
  func consumed() throws {
    let fixture = try StoreFixture(options: options(HistoryRetention(maximumAge: nil, dropsConsumed: true)))
    try save(fixture, 3)
    clock.advance(days: 1)
    try save(fixture)
    #expect(try numbers(fixture.store) == [1, 2, 3, 4])
    try fixture.store.setHistoryConsumer(named: "a", to: 3)
    try fixture.store.setHistoryConsumer(named: "b", to: 2)
    clock.advance(days: 1)
    try save(fixture)
    #expect(try numbers(fixture.store) == [3, 4, 5])
    try fixture.store.setHistoryConsumer(named: "b", to: nil)
    clock.advance(days: 1)
    try save(fixture)
    #expect(try numbers(fixture.store) == [4, 5, 6])
  }

  @Test("without a history the store has neither keyspace nor mark, with one a save costs one entry")
  func cost() throws {
    let plain = try StoreFixture()
    try save(plain)
    #expect(try plain.store.statistics().entryCounts["history"] == nil)
    let fixture = try StoreFixture(options: options())
    try save(fixture, 2)
    #expect(try fixture.store.statistics().entryCounts["history"] == 2)
    #expect(try fixture.store.textDump().contains("history 1.0 inserted Special p1"))
  }

  @Test("a check finds parts that cannot be read, are missing, or are of commits that never were")
  func checks() throws {
    let fixture = try StoreFixture(options: options())
    try save(fixture, 3)
    #expect(try fixture.store.check().isSound)
    let parts = fixture.store.parts
    let keyspace = try #require(fixture.store.catalogue.history)
    func put(_ key: HistoryFormat.Key, _ bytes: [UInt8]) throws {
      try parts.environment.write { transaction in
        try key.withBytes { key in try bytes.withUnsafeBytes { try transaction.put(keyspace, key, $0) } }
      }
    }
    func kinds() throws -> [StoreCheck.Problem.Kind] { try fixture.store.check().problems.map(\.kind) }
    try put(HistoryFormat.Key(9), [1])
    #expect(try kinds() == [.historyDamaged])
    try put(HistoryFormat.Key(2, part: 2), [1])
    #expect(try kinds().count == 2)
    try put(HistoryFormat.Key(1), [7, 7])
    #expect(try kinds().count == 3)
    #expect(throws: StorageError.self) { try fixture.store.history(HistoryQuestion(after: 0)) }
    #expect(throws: StorageError.self) { try fixture.store.history(HistoryQuestion(after: 1)) }
  }

  @Test("a run of keys that were never given out is damage and no memory")
  func endlessRun() throws {
    let fixture = try StoreFixture(options: options())
    try save(fixture)
    let parts = fixture.store.parts
    let keyspace = try #require(fixture.store.catalogue.history)
    var writer = HistoryByteWriter()
    writer.append(parts.history.header(ChangeOrigin(), at: clock.now))
    writer.bytes.append(HistoryFormat.Kind.inserted.rawValue)
    writer.append(fixture.store.catalogue.entityCodes[fixture.entity("Special").number])
    writer.bytes += [1, 1]
    writer.bytes.append(varint: (1 << 48) - 9)
    let bytes = writer.bytes
    try parts.environment.write { transaction in
      try HistoryFormat.Key(1).withBytes { key in
        try bytes.withUnsafeBytes { try transaction.put(keyspace, key, $0) }
      }
    }
    #expect(throws: StorageError.self) { try fixture.store.history(HistoryQuestion(after: 0)) }
    #expect(try fixture.store.check().problems.map(\.kind) == [.historyDamaged])
  }

  @Test("numbers behind which there is no next one are damage, and a salvage leaves them behind")
  func largestNumbers() throws {
    let cases: [(number: UInt64, isStamp: Bool)] = [(.max, true), (1 << 62, true), (.max, false)]
    for (number, isStamp) in cases {
      let fixture = try StoreFixture(options: options())
      try save(fixture)
      let parts = fixture.store.parts
      try parts.environment.write { transaction in
        if isStamp {
          try parts.putStamp(number, nonce: 1, transaction)
        } else {
          try parts.meta.put("generation", number: number, transaction)
        }
      }
      // A store that is open sees it, too.
      if isStamp {
        let failure = #expect(throws: StorageError.self) { try save(fixture) }
        #expect(failure?.kind == .damaged)
      }
      let error = #expect(throws: StorageError.self) { try fixture.reopen(options: options()) }
      #expect(error?.kind == .damaged)
      let new = fixture.directory.appendingPathComponent("New.strata")
      _ = try LMDBStore.salvage(from: fixture.url, to: new)
      let store = try LMDBStore(url: new, schema: fixture.schema)
      defer {
        store.close()
        fixture.close()
      }
      #expect(try store.check().problems == [])
    }
  }

  @Test("a reader whose place is beyond the store's last commit deletes nothing")
  func largestPlace() throws {
    let fixture = try StoreFixture(options: options())
    try save(fixture)
    try fixture.store.setHistoryConsumer(named: "reader", to: .max)
    fixture.close()
    defer { fixture.close() }
    let coordinator = PersistentStoreCoordinator(managedObjectModel: StoreFixture.model())
    var description = PersistentStoreDescription(url: fixture.url)
    description.recordsHistory = true
    let store = try coordinator.addPersistentStore(description)
    let error = #expect(throws: CoreDataError.self) {
      try coordinator.history(.deleteHistory(before: .consumer("reader")))
    }
    #expect(error?.code == .persistentHistoryTokenExpired)
    #expect(try coordinator.history(.fetchHistory(after: .beginning)).count == 1)
    try coordinator.remove(store)
  }

  @Test("an age that no clock knows is for ever")
  func endlessAge() throws {
    let age = Duration.seconds(Int64.max) * 4
    let fixture = try StoreFixture(options: options(HistoryRetention(maximumAge: age)))
    try save(fixture)
    clock.advance(days: 10_000)
    try save(fixture)
    #expect(try numbers(fixture.store) == [1, 2])
  }

  @Test("the reader takes no bytes that are cut off, and traps at none that are mutated")
  func mutations() throws {
    var random = SeededGenerator(seed: testSeed())
    for sample in HistoryProbe.samples() {
      #expect(sample.withUnsafeBytes { HistoryProbe.run($0) })
      for _ in 0..<2_000 {
        var mutated = sample
        for _ in 0..<Int.random(in: 1...4, using: &random) {
          mutated[Int.random(in: 0..<mutated.count, using: &random)] = .random(in: 0...255, using: &random)
        }
        mutated.removeLast(Int.random(in: 0..<mutated.count, using: &random) / 2)
        _ = mutated.withUnsafeBytes { HistoryProbe.run($0) }
      }
    }
  }

  @Test("a salvaged store continues with an empty history, and tokens from before are expired")
  func salvage() throws {
    let fixture = try StoreFixture(options: options())
    try save(fixture, 4)
    fixture.close()
    let new = fixture.directory.appendingPathComponent("New.strata")
    let report = try LMDBStore.salvage(from: fixture.url, to: new)
    #expect(report.check.problems == [])
    let store = try LMDBStore(url: new, schema: fixture.schema)
    defer { store.close() }
    let bounds = try #require(try store.historyBounds())
    #expect(bounds.purged == bounds.newest && bounds.newest >= 4)
    #expect(try numbers(store).isEmpty)
  }

  @Test("the bytes are the documented ones")
  func documentedBytes() throws {
    let title = AttributeDescription("title", .string)
    title.preservesValueInHistoryOnDeletion = true
    let word = EntityDescription("Word", properties: [title, AttributeDescription("note", .string)])
    let fixture = try StoreFixture(model: ManagedObjectModel(entities: [word]), options: options())
    var first = ChangeSet(inserts: try ["a", "b"].map { try fixture.insert("Word", ["title": .string($0)]) })
    first.origin.author = "Anna"
    #expect(fixture.commit([first]).count == 1)
    let rows = try fixture.store.rows(hierarchy: 0, primaryKeys: [1, 2]).compactMap { $0 }
    var second = ChangeSet(
      updates: [try fixture.update(rows[0], ["note": .string("n")])], deletes: [fixture.delete(rows[1])])
    second.origin.contextName = "editor"
    #expect(fixture.commit([second]).count == 1)
    fixture.close()
    let entries = try #require(try RawStore(fixture.url).keyspaces["history"]?.entries)
    let document = try DocumentedBytes()
    let blocks = ["history of two new words", "history of a change"]
    #expect(entries.count == blocks.count)
    for (entry, block) in zip(entries, blocks) {
      let lines = try document.lines(block).map { $0.bytes ?? [] }
      #expect(entry.key == lines[0])
      let beginning = Array(lines[1...4].joined())
      let end = Array(lines[5...].joined())
      #expect(Array(entry.value.prefix(beginning.count)) == beginning, "\(block): \(entry.value)")
      // Texts of fewer than 127 bytes, with their lengths.
      let names = entry.value.dropFirst(beginning.count)
      let bundle = names.dropFirst(Int(names.first ?? 1))
      #expect(Array(bundle.dropFirst(Int(bundle.first ?? 1))) == end, "\(block): \(entry.value)")
    }
  }
}
