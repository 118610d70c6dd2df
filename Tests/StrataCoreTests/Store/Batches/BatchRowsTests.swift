import Foundation
import Testing

@testable import StrataCore

/// The rows of a batch insert on their way through memory and file.
struct BatchRowsTests {
  let fixture: StoreFixture

  init() throws { fixture = try StoreFixture() }

  @Test(
    "what is added is read back, in order and more than once, however little memory there is",
    arguments: [0, 3_000, 1 << 20], [false, true])
  func rowsComeOutAsTheyWentIn(memory: Int, keepsGiven: Bool) throws {
    let entity = fixture.entity("Item")
    let rows = BatchRows(
      entity: entity.number, slots: SlotBitmap(allBelow: 15), folder: fixture.directory.path,
      keepsGiven: keepsGiven, step: 7, memoryLength: memory)
    var expected: [RowChange] = []
    func given(_ number: Int) -> SlotBitmap {
      [number % 7, 3, 70].reduce(into: SlotBitmap()) { $0.insert($1) }
    }
    for number in 0..<100 {
      let blob = Data(repeating: UInt8(number), count: number.isMultiple(of: 5) ? 5_000 : 10)
      let row = try fixture.insert(
        "Item", ["i64": .integer(Int64(number)), "s": .string("row \(number)"), "blob": .data(blob)])
      expected.append(row)
      try rows.append(row.row, key: row.primaryKey, externals: row.externals, given: given(number))
    }
    #expect(rows.count == 100)
    for _ in 0..<2 {
      var found: [RowChange] = []
      try rows.forEachChunk { chunk in
        #expect(chunk.rows.count <= 7 && chunk.start == found.count)
        let expected = keepsGiven ? chunk.rows.indices.map { given(chunk.start + $0) } : []
        #expect(chunk.given == expected)
        found += chunk.rows
      }
      try #require(found.count == 100)
      for (left, right) in zip(found, expected) {
        #expect(left.primaryKey == right.primaryKey)
        #expect(left.rowBytes.elementsEqual(right.rowBytes))
        #expect(left.externals.map(\.bytes) == right.externals.map(\.bytes))
        #expect(left.externals.map(\.slot) == right.externals.map(\.slot))
      }
    }
    // The file has lost its name.
    let names = try FileManager.default.contentsOfDirectory(atPath: fixture.directory.path)
    #expect(names.allSatisfy { !$0.hasPrefix(".strata-batch") })
  }

  @Test("a block that is longer than what is written at once is read back whole")
  func longBlocks() throws {
    let entity = fixture.entity("Item")
    let rows = BatchRows(
      entity: entity.number, slots: SlotBitmap(allBelow: 15), folder: fixture.directory.path, step: 300,
      memoryLength: 0)
    var expected: [RowChange] = []
    for number in 0..<700 {
      // Some are longer than all that is collected by themselves.
      let blob = Data(repeating: UInt8(number & 0xFF), count: number == 123 ? 600_000 : 3_000)
      let row = try fixture.insert("Item", ["i64": .integer(Int64(number)), "blob": .data(blob)])
      expected.append(row)
      try rows.append(row.row, key: row.primaryKey, externals: row.externals)
    }
    #expect(rows.blocksInMemory == nil)
    var found: [RowChange] = []
    try rows.forEachChunk { found += $0.rows }
    try #require(found.count == expected.count)
    for (left, right) in zip(found, expected) {
      #expect(left.primaryKey == right.primaryKey)
      #expect(left.rowBytes.elementsEqual(right.rowBytes))
      #expect(left.externals.map(\.bytes) == right.externals.map(\.bytes))
    }
  }

  @Test("a full disk is an error, not a loss")
  func fullDisk() throws {
    var system = FileSystem.system
    system.write = { _, _, _ in -Int(ENOSPC) }
    let rows = BatchRows(
      entity: 0, slots: SlotBitmap(), folder: fixture.directory.path, step: 2, memoryLength: 0,
      system: system)
    let row = try fixture.insert("Item", [:])
    let error = #expect(throws: StorageError.self) {
      for _ in 0..<2 { try rows.append(row.row, key: row.primaryKey, externals: []) }
    }
    #expect(error?.kind == .diskFull)
  }

  @Test("a set of references knows its members and hands them out in order")
  func references() {
    var plain: Set<UInt64> = []
    var set = ReferenceSet()
    set.begin(with: ContiguousArray((0..<5_000).map { Reference.bits(UInt64($0 * 3 + 1), entityCode: 2) }))
    for number in 0..<5_000 { plain.insert(UInt64(number * 3 + 1)) }
    for number in (0..<20_000).reversed() {
      let key = UInt64(number % 14_000 + 1)
      #expect(set.insert(Reference.bits(key, entityCode: 2)) == plain.insert(key).inserted)
    }
    #expect(set.count == plain.count)
    #expect(set.all().map(Reference.primaryKey) == plain.sorted())
    #expect(
      (0..<20_000).allSatisfy {
        set.contains(Reference.bits(UInt64($0), entityCode: 9)) == plain.contains(UInt64($0))
      })
  }
}
