import CLMDBShim
import Foundation
import Synchronization
import Testing

@testable import StrataCore

/// contexts 8: keys are never given twice.
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

  // MARK: When the store cannot be written

  /// Objects can be made while saves fail; the first save that succeeds secures their keys.
  @Test func keysAreGivenWhileTheStoreCannotBeWritten() throws {
    let fixture = try StoreFixture()
    try fixture.commit(inserts: [fixture.insert("Place", [:])])
    let path = fixture.url.path
    #expect(rename(path, path + ".away") == 0)
    // More than was reserved, and more than one block that cannot be.
    let changes = try (0..<3_000).map { _ in try fixture.insert("Place", [:]) }
    #expect(Set(changes.map(\.primaryKey)).count == 3_000)
    #expect(throws: StorageError.self) { try fixture.commit(inserts: changes) }
    #expect(rename(path + ".away", path) == 0)
    // A later object of another context, saved first: its commit must not reserve what is in hand already.
    try fixture.commit(inserts: [fixture.insert("Place", [:])])
    let others = try (0..<3_000).map { _ in try fixture.insert("Place", [:]) }
    try fixture.commit(inserts: others)
    try fixture.commit(inserts: changes)
    #expect(try fixture.store.check().problems == [])
    #expect(try fixture.fetch("Place", mode: .count).count == 6_002)
    try fixture.reopen()
    var used = Set((changes + others).map(\.primaryKey))
    for _ in 0..<600 { #expect(used.insert(try fixture.store.makePrimaryKey(hierarchy: 1)).inserted) }
  }

  /// Threads that run dry together wait for the one that reserves.
  @Test func threadsThatRunDryTogetherReserveOnce() {
    let allocator = PrimaryKeyAllocator(counter: 1)
    let reservations = Atomic(0)
    let ended = DispatchSemaphore(value: 0)
    for _ in 0..<4 {
      Thread {
        _ = try? allocator.next { count in
          let number = UInt64(reservations.wrappingAdd(1, ordering: .relaxed).newValue)
          // Long enough for the others to come by.
          usleep(100_000)
          return number * 10_000..<number * 10_000 + count
        }
        ended.signal()
      }.start()
    }
    for _ in 0..<4 { ended.wait() }
    let count = reservations.load(ordering: .relaxed)
    #expect(count == 1)
  }

  /// A salvage brings rows back under their keys: closing must not give back what they lie in.
  @Test func keysThatCameFromElsewhereAreNotGivenBack() throws {
    let fixture = try StoreFixture()
    // This commit reserves more keys ahead, of which none is used.
    try fixture.commit(inserts: [fixture.insert("Place", [:])])
    try fixture.commit(inserts: [
      fixture.insert("Place", [:], key: 40), fixture.insert("Place", [:], key: 20),
    ])
    try fixture.reopen()
    #expect(try fixture.store.check().problems == [])
    #expect(try fixture.store.makePrimaryKey(hierarchy: 1) == 41)
  }

  /// Keys that were given without the store are not reserved again once it can be written.
  @Test func keysGivenWithoutTheStoreAreSteppedOver() throws {
    let fixture = try StoreFixture()
    let path = fixture.url.path
    #expect(rename(path, path + ".away") == 0)
    let early = try (0..<300).map { _ in try fixture.store.makePrimaryKey(hierarchy: 1) }
    #expect(rename(path + ".away", path) == 0)
    let late = try (0..<5_000).map { _ in try fixture.store.makePrimaryKey(hierarchy: 1) }
    #expect(try #require(early.max()) < #require(late.min()))
    #expect(Set(early + late).count == 5_300)
  }

  /// Where keys begin is known from the opening on, though nothing can be asked any more when the first one is needed.
  @Test func theFirstKeyDoesNotNeedTheStore() throws {
    let fixture = try StoreFixture()
    try fixture.commit(inserts: (0..<500).map { _ in try fixture.insert("Place", [:]) })
    try fixture.reopen()
    let path = fixture.url.path
    #expect(rename(path, path + ".away") == 0)
    let environment = fixture.store.parts.environment
    #expect(throws: StorageError.self) {
      // What is left when the file cannot be mapped again.
      try environment.pool.exclusively(until: .now.advanced(by: .seconds(30))) { mapped in
        if let mapped { environment.discard(mapped) }
        return .failure(StorageError(MDB_PANIC, "mdb_env_open", path: path))
      }
    }
    let changes = try (0..<300).map { _ in try fixture.insert("Place", [:]) }
    #expect(try #require(changes.map(\.primaryKey).min()) > 500)
    #expect(throws: StorageError.self) { try fixture.commit(inserts: changes) }
    #expect(rename(path + ".away", path) == 0)
    try fixture.commit(inserts: changes)
    #expect(try fixture.fetch("Place", mode: .count).count == 800)
    #expect(try fixture.store.check().problems == [])
  }

  /// A store that was closed gives no keys, nor does one that cannot be read.
  @Test func aClosedStoreGivesNoKeys() throws {
    let fixture = try StoreFixture()
    fixture.store.close()
    #expect(throws: StorageError.self) { _ = try fixture.store.makePrimaryKey(hierarchy: 1) }
  }

  @Test("A store that can be neither written nor read still gives keys, beyond all it has given")
  func keysWithoutTheStore() throws {
    struct Unreachable: Error {}
    #expect(!PrimaryKeyAllocator(counter: nil).addUnsecured(after: nil))
    let fresh = PrimaryKeyAllocator(counter: 5_000)
    #expect(fresh.addUnsecured(after: nil))
    #expect(try fresh.next { _ in throw Unreachable() } >= 5_000)
    let allocator = PrimaryKeyAllocator(counter: 1)
    allocator.add(1..<10)
    for expected in 1..<10 {
      #expect(try allocator.next { _ in throw Unreachable() } == UInt64(expected))
    }
    #expect(throws: Unreachable.self) { try allocator.next { _ in throw Unreachable() } }
    #expect(allocator.addUnsecured(after: nil))
    #expect(try allocator.next { _ in throw Unreachable() } >= 10)
  }
}
