import Foundation
import Testing

@testable import StrataCore

@Suite struct LargeValueTests {
  private func largeCount(_ fixture: StoreFixture) throws -> Int { try fixture.store.check().largeValueCount }

  @Test(arguments: [1024, 1025, 70_000, 3_000_000])
  func largeValuesComeBack(size: Int) throws {
    let fixture = try StoreFixture()
    let data = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    let text = String(repeating: "é", count: size / 2)
    let change = try fixture.insert("Item", ["blob": .data(data), "s": .string(text), "t": "small"])
    try fixture.commit(inserts: [change])
    try fixture.reopen()
    let row = try #require(try fixture.row("Item", change.primaryKey))
    #expect(try fixture.value(row, "blob") == .data(data))
    #expect(try fixture.value(row, "s") == .string(text))
    #expect(try fixture.value(row, "t") == "small")
    #expect(row.snapshot?.hasExternalValues == (size > 1024))
    #expect(try fixture.store.check().problems == [])
  }

  @Test func oldVersionsGoWithTheirRows() throws {
    let fixture = try StoreFixture()
    let change = try fixture.insert(
      "Item", ["blob": .data(Data(count: 2000)), "s": .string(String(repeating: "x", count: 5000))])
    try fixture.commit(inserts: [change])
    #expect(try largeCount(fixture) == 2)
    let first = try #require(try fixture.row("Item", change.primaryKey))
    // Another attribute changes: the large values stay where they are.
    try fixture.commit(updates: [fixture.update(first, ["i64": 1])])
    let second = try #require(try fixture.row("Item", change.primaryKey))
    #expect(try fixture.value(second, "blob") == .data(Data(count: 2000)))
    #expect(try fixture.value(first, "blob") == .data(Data(count: 2000)))
    // One is replaced, the other removed.
    try fixture.commit(updates: [fixture.update(second, ["blob": .data(Data(count: 3000)), "s": .null])])
    #expect(try largeCount(fixture) == 1)
    let third = try #require(try fixture.row("Item", change.primaryKey))
    #expect(try fixture.value(third, "blob") == .data(Data(count: 3000)))
    // What an old snapshot refers to is gone: nil, not the new value.
    #expect(try fixture.value(first, "blob") == .null)
    #expect(try fixture.store.check().problems == [])
    // It becomes small again.
    try fixture.commit(updates: [fixture.update(third, ["blob": .data(Data([1]))])])
    #expect(try largeCount(fixture) == 0)
    let fourth = try #require(try fixture.row("Item", change.primaryKey))
    try fixture.commit(updates: [fixture.update(fourth, ["blob": .data(Data(count: 4000))])])
    let fifth = try #require(try fixture.row("Item", change.primaryKey))
    try fixture.commit(deletes: [fixture.delete(fifth)])
    #expect(try largeCount(fixture) == 0)
  }

  @Test func largeValuesAreComparedSortedAndIndexed() throws {
    let fixture = try StoreFixture()
    let long = String(repeating: "y", count: 3000)
    let texts = [long + "b", long, "a", long + "a", "z"]
    try fixture.commit(
      inserts: texts.map { try fixture.insert("Item", ["s": .string($0), "t": .string($0)]) })
    for key in ["s", "t"] {
      let sorted = try fixture.fetch("Item", sort: [FetchSort(key)]).rows.map { try fixture.value($0, key) }
      #expect(sorted == texts.sorted().map { .string($0) })
      let last = try fixture.fetch("Item", sort: [FetchSort(key, ascending: false)], limit: 2, offset: 1)
      #expect(try last.rows.map { try fixture.value($0, key) } == [.string(long + "b"), .string(long + "a")])
      #expect(try fixture.fetch("Item", Attribute(key) == long, mode: .count).count == 1)
      #expect(try fixture.fetch("Item", Attribute(key).endsWith("ya"), mode: .count).count == 1)
      #expect(try fixture.fetch("Item", Attribute(key) > long, mode: .count).count == 3)
      #expect(
        try fixture.fetch("Item", Attribute(key).isIn([long + "a", "z", "q"]), mode: .count).count == 2)
    }
  }

  @Test func emptyLargeValueDoesNotExist() throws {
    let fixture = try StoreFixture()
    let change = try fixture.insert("Item", ["blob": .data(Data()), "s": ""])
    try fixture.commit(inserts: [change])
    let row = try #require(try fixture.row("Item", change.primaryKey))
    #expect(try fixture.value(row, "blob") == .data(Data()))
    #expect(try fixture.value(row, "s") == "")
    #expect(
      try fixture.store.externalValue(entity: row.entity, primaryKey: row.primaryKey, slot: 10, version: 1)
        == nil)
  }
}
