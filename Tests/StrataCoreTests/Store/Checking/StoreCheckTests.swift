import Foundation
import Testing

@testable import StrataCore

/// Each kind of damage, planted in a sound store below the store's back, is found and named.
@Suite struct StoreCheckTests {
  private typealias Kind = StoreCheck.Problem.Kind

  /// A sound store of five items, one of them with a large value; `damage` changes it.
  private func problems(
    _ damage: @escaping @Sendable (StoreParts, borrowing WriteTransaction) throws -> Void
  ) throws -> Set<Kind> {
    let fixture = try StoreFixture()
    try fixture.commit(
      inserts: (1...4).map {
        try fixture.insert("Item", ["i64": .integer($0), "code": .string("c\($0)"), "s": "text"])
      }
        + [fixture.insert("Special", ["blob": .data(Data(repeating: 7, count: 5000)), "extra": 5])])
    let check = try fixture.store.check()
    #expect(check.problems == [])
    #expect(check.rowCount == 5 && check.largeValueCount == 1)
    let parts = fixture.store.parts
    try parts.environment.write { try damage(parts, $0) }
    let found = try fixture.store.check()
    #expect(!found.isSound)
    #expect(found.problems.allSatisfy { !$0.place.isEmpty })
    return Set(found.problems.map(\.kind))
  }

  /// Changes the bytes of the row with this key; `isSealed` makes the checksum right again.
  private static func change(
    _ key: UInt64, isSealed: Bool, _ parts: StoreParts, _ transaction: borrowing WriteTransaction,
    _ body: (inout [UInt8]) -> Void
  ) throws {
    let hierarchy = try #require(parts.schema.entity(named: "Item")).hierarchyNumber
    let rows = try #require(parts.rows[hierarchy])
    try PrimaryKeyBytes.with(key) { keyBytes in
      var bytes = Array(try #require(try transaction.get(rows, keyBytes)))
      body(&bytes)
      if isSealed && bytes.count >= 16 {
        let sum = bytes.withUnsafeBytes {
          RowChecksum.checksum($0.baseAddress.unsafelyUnwrapped, count: $0.count, primaryKey: key)
        }
        withUnsafeBytes(of: sum.littleEndian) { bytes.replaceSubrange(0..<4, with: $0) }
      }
      try bytes.withUnsafeBytes { try transaction.put(rows, keyBytes, $0) }
    }
  }

  private static func keyspace(_ index: String, _ parts: StoreParts) throws -> Keyspace {
    let index = try #require(parts.schema.indexes.first { $0.name == index })
    return try #require(parts.indexes[index.number])
  }

  @Test func flippedBitBreaksTheChecksum() throws {
    #expect(
      try problems { parts, transaction in
        try Self.change(1, isSealed: false, parts, transaction) { $0[$0.count - 1] ^= 1 }
      }.isSuperset(of: [.checksumWrong]))
  }

  @Test func truncatedRowIsUnreadable() throws {
    #expect(
      try problems { parts, transaction in
        try Self.change(1, isSealed: true, parts, transaction) { $0.removeLast(3) }
      }.contains(.rowUnreadable))
    #expect(
      try problems { parts, transaction in
        try Self.change(1, isSealed: false, parts, transaction) { $0 = [1, 2, 3] }
      }.contains(.rowUnreadable))
  }

  @Test func unknownEntityAndLayoutAreNamed() throws {
    #expect(
      try problems { parts, transaction in
        try Self.change(1, isSealed: true, parts, transaction) { $0[8] = 99 }
      }.contains(.entityUnknown))
    #expect(
      try problems { parts, transaction in
        try Self.change(1, isSealed: true, parts, transaction) { $0[6] = 99 }
      }.contains(.layoutUnknown))
  }

  @Test func malformedKeyAndKeyBeyondTheCounterAreFound() throws {
    #expect(
      try problems { parts, transaction in
        let rows = try #require(parts.rows[0])
        try [UInt8]("abc".utf8).withUnsafeBytes { try transaction.put(rows, $0, $0) }
      } == [.keyMalformed])
    #expect(
      try problems { parts, transaction in try parts.setCounter(0, 3, transaction) } == [.keyBeyondCounter])
  }

  @Test func missingAndStrayIndexEntriesAreFound() throws {
    #expect(
      try problems { parts, transaction in
        try transaction.withCursor(Self.keyspace("Item.byI64", parts)) { cursor in
          _ = try cursor.last()
          try cursor.delete()
        }
      } == [.indexEntryMissing])
    #expect(
      try problems { parts, transaction in
        let keyspace = try Self.keyspace("Item.byI64", parts)
        try [UInt8](repeating: 9, count: 17).withUnsafeBytes {
          try transaction.put(keyspace, $0, .init(start: nil, count: 0))
        }
      } == [.indexEntryStray])
    #expect(
      try problems { parts, transaction in
        try transaction.clear(Self.keyspace("Special.byExtra", parts))
      } == [.indexEntryMissing])
  }

  @Test func asManyIndexEntriesAsRowsButNotTheirsAreFound() throws {
    #expect(
      try problems { parts, transaction in
        let keyspace = try Self.keyspace("Item.byI64", parts)
        var key = try transaction.withCursor(keyspace) { cursor in
          let key = Array(try #require(try cursor.last()).key)
          try cursor.delete()
          return key
        }
        key[key.count - 9] ^= 1
        try key.withUnsafeBytes { try transaction.put(keyspace, $0, .init(start: nil, count: 0)) }
      } == [.indexEntryMissing, .indexEntryStray])
  }

  @Test func duplicateOfAConstraintIsFound() throws {
    #expect(
      try problems { parts, transaction in
        try Self.change(1, isSealed: true, parts, transaction) { bytes in
          // "c1" becomes "c2".
          for place in bytes.indices.dropLast() where bytes[place] == 99 && bytes[place + 1] == 49 {
            bytes[place + 1] = 50
          }
        }
      } == [.notUnique, .indexEntryMissing, .indexEntryStray])
  }

  @Test func missingAndStrayLargeValuesAreFound() throws {
    #expect(
      try problems { parts, transaction in try transaction.clear(#require(parts.large)) } == [
        .largeValueMissing
      ])
    #expect(
      try problems { parts, transaction in
        let large = try #require(parts.large)
        let key = LargeValueKey(hierarchyCode: 1, primaryKey: 3, attributeCode: 2, version: 9)
        try key.withBytes { try transaction.put(large, $0, $0) }
      } == [.largeValueStray])
    #expect(
      try problems { parts, transaction in
        let large = try #require(parts.large)
        try transaction.withCursor(large) { cursor in
          let key = Array(try #require(try cursor.first()).key)
          try key.withUnsafeBytes { try cursor.put($0, $0) }
        }
      } == [.largeValueMissing])
  }

  @Test func lostCodeIsFound() throws {
    #expect(
      try problems { parts, transaction in
        try parts.meta.delete("entity/Special", transaction)
      }.isSuperset(of: [.metadataDamaged, .entityUnknown]))
  }

  /// Reading damaged rows throws, whatever the bytes are; it never stops the process.
  @Test(arguments: [UInt64(1), 2])
  func arbitraryRowBytesThrow(seed: UInt64) throws {
    print("damage seed \(seed)")
    let fixture = try StoreFixture(inMemory: true)
    try fixture.commit(
      inserts: (1...3).map { try fixture.insert("Item", ["i64": .integer($0), "s": "text", "t": "more"]) })
    let parts = fixture.store.parts
    var random = RandomValues(seed: seed)
    let original = try #require(try fixture.row("Item", 2)?.snapshot).withBytes { Array($0) }
    for _ in 0..<rounds(400, long: 5_000) {
      var bytes = original
      for _ in 0...random.below(4) { bytes[4 + random.below(bytes.count - 4)] = UInt8(random.below(256)) }
      if random.chance(30) { bytes.removeLast(random.below(bytes.count)) }
      let damaged = bytes
      try parts.environment.write { transaction in
        try Self.change(2, isSealed: false, parts, transaction) { $0 = damaged }
      }
      _ = try? fixture.fetch(
        "Item", Attribute("t").contains("m") && Attribute("dec") != 2, sort: [FetchSort("s")])
      _ = try? fixture.row("Item", 2)
      #expect(try !fixture.store.check().isSound || damaged == original)
    }
  }
}
