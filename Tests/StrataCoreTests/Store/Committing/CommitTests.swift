import Foundation
import Testing

@testable import StrataCore

@Suite struct CommitTests {
  @Test func insertedRowsAreReadBackWithTheirValues() throws {
    let fixture = try StoreFixture()
    let date = Date(timeIntervalSinceReferenceDate: 12.5)
    let change = try fixture.insert(
      "Item", ["i64": 7, "s": "JFK", "d": .double(-0.5), "date": .date(date), "flag": true])
    let result = try fixture.commit(inserts: [change])
    #expect(result.commitNumber == 1)
    let row = try #require(try fixture.row("Item", change.primaryKey))
    #expect(row.snapshot?.version == 1)
    #expect(
      try fixture.values(row) == [
        "i64": 7, "s": "JFK", "d": .double(-0.5), "date": .date(date), "flag": true,
      ])
    #expect(try fixture.row("Item", change.primaryKey + 1) == nil)
    #expect(try fixture.store.check().problems == [])
  }

  @Test func updateAndDeleteFollowVersions() throws {
    let fixture = try StoreFixture()
    let change = try fixture.insert("Special", ["s": "a", "extra": 1])
    try fixture.commit(inserts: [change])
    let first = try #require(try fixture.row("Special", change.primaryKey))
    try fixture.commit(updates: [fixture.update(first, ["s": "b"])])
    let second = try #require(try fixture.row("Special", change.primaryKey))
    #expect(second.snapshot?.version == 2)
    #expect(try fixture.values(second) == ["s": "b", "extra": 1])
    #expect(try fixture.fetch("Item", Attribute("s") == "a", mode: .count).count == 0)
    #expect(try fixture.fetch("Item", Attribute("s") == "b", mode: .count).count == 1)
    try fixture.commit(deletes: [fixture.delete(second)])
    #expect(try fixture.row("Special", change.primaryKey) == nil)
    #expect(try fixture.fetch("Item", Attribute("s") == "b", mode: .count).count == 0)
    let check = try fixture.store.check()
    #expect(check.problems == [])
    #expect(check.rowCount == 0 && check.indexEntryCount == 0)
  }

  /// Rules 189, 192: the stored row comes with the conflict and nothing is written.
  @Test func staleUpdateIsAConflictWithTheStoredRow() throws {
    let fixture = try StoreFixture()
    let change = try fixture.insert("Item", ["s": "a"])
    let other = try fixture.insert("Item", ["s": "z"])
    try fixture.commit(inserts: [change, other])
    let stale = try #require(try fixture.row("Item", change.primaryKey))
    let untouched = try #require(try fixture.row("Item", other.primaryKey))
    try fixture.commit(updates: [fixture.update(stale, ["s": "b"])])
    let dump = try fixture.store.textDump()
    let error = #expect(throws: CommitConflict.self) {
      try fixture.commit(updates: [
        fixture.update(untouched, ["s": "y"]), fixture.update(stale, ["s": "c"]),
      ])
    }
    let conflict = try #require(error?.conflicts.first)
    #expect(error?.conflicts.count == 1)
    #expect(conflict.primaryKey == change.primaryKey)
    let stored = try #require(conflict.stored)
    #expect(stored.snapshot?.version == 2)
    #expect(try fixture.value(stored, "s") == "b")
    #expect(try fixture.store.textDump() == dump)
  }

  /// Rule 199: the row is gone.
  @Test func changeOfADeletedRowIsAConflictWithoutStoredRow() throws {
    let fixture = try StoreFixture()
    let change = try fixture.insert("Item", ["s": "a"])
    try fixture.commit(inserts: [change])
    let row = try #require(try fixture.row("Item", change.primaryKey))
    try fixture.commit(deletes: [fixture.delete(row)])
    let update = #expect(throws: CommitConflict.self) {
      try fixture.commit(updates: [fixture.update(row, ["s": "b"])])
    }
    #expect(update?.conflicts.first?.stored == nil)
    #expect(throws: CommitConflict.self) { try fixture.commit(deletes: [fixture.delete(row)]) }
  }

  /// Rule 189, `detectConflicts(for:)`: a row that is only checked.
  @Test func checkOfAnUnchangedRowSeesOtherChanges() throws {
    let fixture = try StoreFixture()
    let change = try fixture.insert("Item", ["s": "a"])
    try fixture.commit(inserts: [change])
    let hierarchy = fixture.entity("Item").hierarchyNumber
    let check = RowCheck(hierarchy: hierarchy, primaryKey: change.primaryKey, baseVersion: 1)
    try fixture.commit(checks: [check])
    let row = try #require(try fixture.row("Item", change.primaryKey))
    try fixture.commit(updates: [fixture.update(row, ["s": "b"])])
    #expect(throws: CommitConflict.self) { try fixture.commit(checks: [check]) }
  }

  @Test func insertOverAnExistingKeyIsAConflict() throws {
    let fixture = try StoreFixture()
    let change = try fixture.insert("Item", ["s": "a"])
    try fixture.commit(inserts: [change])
    #expect(throws: CommitConflict.self) { try fixture.commit(inserts: [change]) }
  }

  /// Rule 198.
  @Test func changesOfDifferentRowsDoNotConflict() throws {
    let fixture = try StoreFixture()
    let changes = [try fixture.insert("Item", ["s": "a"]), try fixture.insert("Item", ["s": "b"])]
    try fixture.commit(inserts: changes)
    let rows = try changes.map { try #require(try fixture.row("Item", $0.primaryKey)) }
    try fixture.commit(updates: [fixture.update(rows[0], ["s": "c"])])
    try fixture.commit(updates: [fixture.update(rows[1], ["s": "d"])])
    #expect(try fixture.store.check().problems == [])
  }

  /// contexts 13: each change set of a group succeeds or fails alone, in one commit.
  @Test func inAGroupOneFailsAndTheOthersSucceed() throws {
    let fixture = try StoreFixture()
    let change = try fixture.insert("Item", ["s": "a", "code": "one"])
    try fixture.commit(inserts: [change])
    let row = try #require(try fixture.row("Item", change.primaryKey))
    let results = fixture.commit([
      ChangeSet(inserts: [try fixture.insert("Item", ["s": "first"])]),
      ChangeSet(updates: [try fixture.update(row, ["s": "b"])]),
      ChangeSet(updates: [try fixture.update(row, ["s": "c"])]),
      ChangeSet(inserts: [try fixture.insert("Item", ["code": "one"])]),
      ChangeSet(inserts: [try fixture.insert("Item", ["s": "last"])]),
    ])
    #expect(try results[0].get().commitNumber == 2)
    #expect(try results[1].get().commitNumber == 2)
    #expect(throws: CommitConflict.self) { try results[2].get() }
    #expect(throws: UniquenessViolation.self) { try results[3].get() }
    #expect(try results[4].get().commitNumber == 2)
    #expect(try fixture.store.commitNumber() == 2)
    let names = try fixture.fetch("Item", sort: [FetchSort("s")]).rows.map { try fixture.value($0, "s") }
    #expect(names == ["b", "first", "last"])
    #expect(try fixture.store.check().problems == [])
  }

  /// Many rows are compared at a time only while nothing of the group is written: what comes behind sees what came before.
  @Test(arguments: [false, true]) func inAGroupManyRowsAreComparedWithThoseWrittenBefore(hasHistory: Bool)
    throws
  {
    var options = LMDBStoreOptions.scratch
    options.recordsHistory = hasHistory
    let fixture = try StoreFixture(options: options)
    let inserts = try (0..<300).map { try fixture.insert("Item", ["s": .string("\($0)")]) }
    try fixture.commit(inserts: inserts)
    let rows = try inserts.map { try #require(try fixture.row("Item", $0.primaryKey)) }
    let (first, second) = (rows[..<100], rows[80..<180].reversed())
    let results = fixture.commit([
      ChangeSet(updates: try first.map { try fixture.update($0, ["s": "first"]) }),
      ChangeSet(updates: try second.map { try fixture.update($0, ["s": "second"]) }),
      ChangeSet(deletes: rows[90..<200].map(fixture.delete)),
      ChangeSet(deletes: rows[100..<200].map(fixture.delete)),
      ChangeSet(updates: try rows[190...].map { try fixture.update($0, ["s": "last"]) }),
    ])
    _ = try results[0].get()
    let refused = #expect(throws: CommitConflict.self) { try results[1].get() }
    // In the order of the changes.
    #expect(refused?.conflicts.map(\.primaryKey) == rows[80..<100].reversed().map(\.primaryKey))
    #expect(refused?.conflicts.allSatisfy { $0.stored?.snapshot?.version == 2 } == true)
    let kept = #expect(throws: CommitConflict.self) { try results[2].get() }
    #expect(kept?.conflicts.map(\.primaryKey) == rows[90..<100].map(\.primaryKey))
    _ = try results[3].get()
    let gone = #expect(throws: CommitConflict.self) { try results[4].get() }
    #expect(gone?.conflicts.map(\.primaryKey) == rows[190..<200].map(\.primaryKey))
    #expect(gone?.conflicts.allSatisfy { $0.stored == nil } == true)
    #expect(try fixture.fetch("Item", Attribute("s") == "first", mode: .count).count == 100)
    #expect(try fixture.fetch("Item", mode: .count).count == 200)
    #expect(try fixture.store.check().problems == [])
  }

  /// A change set that cannot be written at all: the group is written without it.
  @Test func failureInTheWritePhaseDoesNotTakeTheGroupAlong() throws {
    let fixture = try StoreFixture()
    var metadata = StoreMetadata()
    metadata["ratio"] = .double(.infinity)  // JSON has no infinity
    let results = fixture.commit([
      ChangeSet(inserts: [try fixture.insert("Item", ["s": "first"])]), ChangeSet(metadata: metadata),
      ChangeSet(inserts: [try fixture.insert("Item", ["s": "last"])]),
    ])
    #expect((try? results[0].get()) != nil)
    #expect((try? results[1].get()) == nil)
    #expect((try? results[2].get()) != nil)
    #expect(try fixture.fetch("Item", mode: .count).count == 2)
  }

  /// Rule 324.
  @Test func readOnlyStoreRefusesToSave() throws {
    let fixture = try StoreFixture()
    try fixture.commit(inserts: [fixture.insert("Item", ["s": "a"])])
    var options = LMDBStoreOptions.scratch
    options.isReadOnly = true
    try fixture.reopen(options: options)
    #expect(fixture.store.isReadOnly)
    #expect(try fixture.fetch("Item", Attribute("s") == "a").count == 1)
    let change = try fixture.insert("Item", ["s": "b"], key: 77)
    #expect(throws: CoreDataError.self) { try fixture.commit(inserts: [change]) }
  }

  @Test func closedStoreThrows() throws {
    let fixture = try StoreFixture()
    fixture.store.close()
    fixture.store.close()
    let error = #expect(throws: StorageError.self) { try fixture.fetch("Item") }
    #expect(error?.kind == .closed)
    #expect(throws: StorageError.self) { try fixture.store.makePrimaryKey(hierarchy: 0) }
    #expect(throws: StorageError.self) { try fixture.commit() }
  }
}
