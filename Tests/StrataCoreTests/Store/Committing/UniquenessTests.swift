import Foundation
import Testing

@testable import StrataCore

@Suite struct UniquenessTests {
  /// Rule 202, at database level.
  @Test func sameValueAsAStoredRowIsRefused() throws {
    let fixture = try StoreFixture()
    let first = try fixture.insert("Item", ["code": "a"])
    try fixture.commit(inserts: [first])
    let second = try fixture.insert("Special", ["code": "a"])
    let error = #expect(throws: UniquenessViolation.self) { try fixture.commit(inserts: [second]) }
    #expect(
      error?.violations == [
        ConstraintViolation(
          entity: fixture.entity("Special").number,
          index: try #require(fixture.entity("Item").indexes.first { $0.isUnique }).number,
          entityName: "Item",
          constraint: ["code"],
          primaryKey: second.primaryKey, otherPrimaryKey: first.primaryKey, isInStore: true)
      ])
    #expect(try fixture.fetch("Item", mode: .count).count == 1)
  }

  /// Rule 202, at context level.
  @Test func sameValueTwiceInOneSaveIsRefused() throws {
    let fixture = try StoreFixture()
    let rows = [
      try fixture.insert("Item", ["code": "a"]), try fixture.insert("Item", ["code": "b"]),
      try fixture.insert("Item", ["code": "a"]), try fixture.insert("Item", ["code": "a"]),
    ]
    let error = #expect(throws: UniquenessViolation.self) { try fixture.commit(inserts: rows) }
    #expect(error?.violations.count == 2)
    #expect(
      error?.violations.allSatisfy { !$0.isInStore && $0.otherPrimaryKey == rows[0].primaryKey } == true)
  }

  @Test func nilIsNeverADuplicate() throws {
    let fixture = try StoreFixture()
    try fixture.commit(inserts: [fixture.insert("Item", [:]), fixture.insert("Item", [:])])
    try fixture.commit(inserts: [
      fixture.insert("Place", ["name": "a", "x": 1]), fixture.insert("Place", ["name": "b", "x": 1]),
      fixture.insert("Place", ["name": "c", "y": 1]), fixture.insert("Place", ["name": "d", "y": 1]),
    ])
    #expect(try fixture.fetch("Place", mode: .count).count == 4)
    #expect(try fixture.store.check().problems == [])
  }

  @Test func compoundConstraintLooksAtAllParts() throws {
    let fixture = try StoreFixture()
    try fixture.commit(inserts: [
      fixture.insert("Place", ["x": 1, "y": 1]), fixture.insert("Place", ["x": 1, "y": 2]),
      fixture.insert("Place", ["x": 2, "y": 1]),
    ])
    let error = #expect(throws: UniquenessViolation.self) {
      try fixture.commit(inserts: [fixture.insert("Place", ["x": 2, "y": 1])])
    }
    #expect(error?.violations.first?.constraint == ["x", "y"])
  }

  @Test func valuesCanBeSwappedInOneSave() throws {
    let fixture = try StoreFixture()
    let changes = try ["a", "b", "c"].map { try fixture.insert("Item", ["code": .string($0)]) }
    try fixture.commit(inserts: changes)
    let rows = try changes.map { try #require(try fixture.row("Item", $0.primaryKey)) }
    try fixture.commit(updates: [
      fixture.update(rows[0], ["code": "b"]), fixture.update(rows[1], ["code": "c"]),
      fixture.update(rows[2], ["code": "a"]),
    ])
    #expect(try fixture.store.check().problems == [])
    let again = try changes.map { try #require(try fixture.row("Item", $0.primaryKey)) }
    // The value of a deleted row is free in the same save, that of a changed one as well.
    try fixture.commit(
      inserts: [fixture.insert("Item", ["code": "b"])], updates: [fixture.update(again[1], ["code": "d"])],
      deletes: [fixture.delete(again[0])])
    #expect(try fixture.store.check().problems == [])
  }

  @Test func onlyOneOfASwapIsRefused() throws {
    let fixture = try StoreFixture()
    let changes = try ["a", "b"].map { try fixture.insert("Item", ["code": .string($0)]) }
    try fixture.commit(inserts: changes)
    let row = try #require(try fixture.row("Item", changes[0].primaryKey))
    #expect(throws: UniquenessViolation.self) {
      try fixture.commit(updates: [fixture.update(row, ["code": "b"])])
    }
    // Writing the same value again is no violation.
    try fixture.commit(updates: [fixture.update(row, ["code": "a"])])
  }

  /// Keys are cut, values are compared in full; also where they lie outside the rows.
  @Test(arguments: [254, 255, 256, 300, 1024, 1025, 5000])
  func longValuesAreComparedInFull(length: Int) throws {
    let fixture = try StoreFixture()
    let prefix = String(repeating: "x", count: length)
    let first = try fixture.insert("Item", ["code": .string(prefix + "a")])
    try fixture.commit(inserts: [first, fixture.insert("Item", ["code": .string(prefix + "b")])])
    try fixture.commit(inserts: [fixture.insert("Item", ["code": .string(prefix)])])
    #expect(throws: UniquenessViolation.self) {
      try fixture.commit(inserts: [fixture.insert("Item", ["code": .string(prefix + "a")])])
    }
    #expect(throws: UniquenessViolation.self) {
      try fixture.commit(inserts: [
        fixture.insert("Item", ["code": .string(prefix + "c")]),
        fixture.insert("Item", ["code": .string(prefix + "c")]),
      ])
    }
    let row = try #require(try fixture.row("Item", first.primaryKey))
    #expect(throws: UniquenessViolation.self) {
      try fixture.commit(updates: [fixture.update(row, ["code": .string(prefix + "b")])])
    }
    try fixture.commit(updates: [fixture.update(row, ["code": .string(prefix + "d")])])
    try fixture.commit(inserts: [fixture.insert("Item", ["code": .string(prefix + "a")])])
    #expect(try fixture.store.check().problems == [])
    #expect(try fixture.fetch("Item", Attribute("code") == prefix, mode: .count).count == 1)
    #expect(try fixture.fetch("Item", Attribute("code").beginsWith(prefix), mode: .count).count == 4)
  }
}
