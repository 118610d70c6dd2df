import Foundation
import Synchronization
import Testing

@testable import StrataCore

/// contexts.md, rule 8: keys are never given twice.
@Suite struct PrimaryKeyTests {
  @Test func keysAreNotReusedAfterDeletingEverythingAndReopening() throws {
    let fixture = try StoreFixture()
    var used: Set<UInt64> = []
    for _ in 0..<5 {
      let changes = try (0..<300).map { _ in try fixture.insert("Place", [:]) }
      for change in changes { #expect(used.insert(change.primaryKey).inserted) }
      try fixture.commit(inserts: changes)
      let rows = try fixture.fetch("Place").rows
      try fixture.commit(deletes: rows.map { fixture.delete($0) })
      #expect(try fixture.fetch("Place", mode: .count).count == 0)
      try fixture.reopen()
    }
    // Unused keys are given back on a clean close: numbers stay small.
    #expect(used.max() == 1500)
  }

  @Test func keysOfObjectsNeverSavedAreNotReused() throws {
    let fixture = try StoreFixture()
    let first = try fixture.store.makePrimaryKey(hierarchy: 0)
    try fixture.reopen()
    #expect(try fixture.store.makePrimaryKey(hierarchy: 0) > first)
  }

  @Test func twoStoresOfOneFileGiveDifferentKeys() throws {
    let fixture = try StoreFixture()
    let second = try fixture.secondStore()
    var used: Set<UInt64> = []
    for _ in 0..<3000 {
      #expect(used.insert(try fixture.store.makePrimaryKey(hierarchy: 0)).inserted)
      #expect(used.insert(try second.makePrimaryKey(hierarchy: 0)).inserted)
    }
    // The first to close gives back nothing that the second has got, and the other way round.
    second.close()
    #expect(used.insert(try fixture.store.makePrimaryKey(hierarchy: 0)).inserted)
    try fixture.reopen()
    for _ in 0..<3000 { #expect(used.insert(try fixture.store.makePrimaryKey(hierarchy: 0)).inserted) }
  }

  @Test func threadsNeverGetTheSameKey() throws {
    let fixture = try StoreFixture(inMemory: true)
    let store = fixture.store
    let all = Mutex<[UInt64]>([])
    DispatchQueue.concurrentPerform(iterations: 4) { _ in
      let keys = (0..<20_000).compactMap { _ in try? store.makePrimaryKey(hierarchy: 0) }
      all.withLock { $0 += keys }
    }
    let keys = all.withLock { $0 }
    #expect(keys.count == 80_000)
    #expect(Set(keys).count == 80_000)
    #expect(keys.min() == 1)
  }

  @Test func commitReservesAheadSoThatInsertsNeedNoWrite() throws {
    let fixture = try StoreFixture()
    _ = try fixture.store.makePrimaryKey(hierarchy: 1)
    var numbers: [Int] = []
    for _ in 0..<40 {
      let before = try fixture.store.parts.environment.statistics().transactionID
      let change = try fixture.insert("Place", [:])
      let other = try (0..<19).map { _ in try fixture.insert("Place", [:]) }
      numbers.append(try fixture.store.parts.environment.statistics().transactionID - before)
      try fixture.commit(inserts: [change] + other)
    }
    #expect(numbers.reduce(0, +) == 0, "no insert waited for a write")
  }

  /// A key from elsewhere moves the counter along.
  @Test func counterStaysAboveEveryStoredKey() throws {
    let fixture = try StoreFixture()
    try fixture.commit(inserts: [fixture.insert("Place", [:], key: 5000)])
    #expect(try fixture.store.check().problems == [])
    try fixture.reopen()
    var keys: Set<UInt64> = []
    for _ in 0..<600 { keys.insert(try fixture.store.makePrimaryKey(hierarchy: 1)) }
    #expect(!keys.contains(5000))
  }
}
