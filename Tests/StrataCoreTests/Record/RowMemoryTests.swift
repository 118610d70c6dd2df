import Foundation
import Testing

@testable import StrataCore

@Suite struct RowMemoryTests {
  @Test("Rows written one after another keep their bytes")
  func slabsKeepRows() throws {
    var random = ValueGenerator.printed()
    let layout = try RowLayout.of([.string, .int64])
    var writer = RowSlabWriter()
    var rows: [(RowSnapshot, AttributeValue, Int64)] = []
    for number in 0..<5_000 {
      let text = AttributeValue.string(
        String(repeating: "r", count: Int.random(in: 0...1_024, using: &random)))
      let (row, _) = try RowEncoder.encode(
        layout: layout, stamp: RowStamp(layoutNumber: 0, entityCode: 0), primaryKey: UInt64(number),
        version: 1,
        base: nil, draft: .of(layout, [text, .integer(Int64(number))]), into: &writer)
      rows.append((row, text, Int64(number)))
    }
    for (row, text, number) in rows {
      #expect(row.value(0, layout) == text && row.value(1, layout) == .integer(number))
    }
  }

  @Test("A snapshot holds the memory it reads")
  func snapshotsHoldTheirMemory() throws {
    let layout = try RowLayout.of([.string])
    var row: RowSnapshot? = try encode(layout, .of(layout, ["held"])).snapshot
    let copy = try #require(row).withBytes { RowSnapshot(copying: $0) }
    row = nil
    #expect(copy.value(0, layout) == "held")
  }

  @Test("A draft knows what was set, and releases what it held")
  func draftsTrackChanges() throws {
    let layout = try RowLayout.of([.string, .int64, .string])
    let draft = RowDraft.make(layout, defaults: ["a", 1, .null])
    #expect(draft.changed.isEmpty && draft[0] == "a" && draft[1] == 1)
    #expect(draft.isNil(2) && !draft.isNil(0))
    draft[2] = "c"
    #expect(draft.isChanged(2) && !draft.isChanged(0))
    draft[2] = .string(String(repeating: "long", count: 10))
    draft[2] = "d"
    #expect(draft[2] == "d")
    draft.clear(2)
    #expect(draft.changed.isEmpty && draft[2].isNull)
  }

  @Test("Every kind of value is read from a draft as it was set, also in place of another one")
  func draftsKeepValues() throws {
    var random = ValueGenerator.printed()
    let types = (0..<80).map { ValueGenerator.storedTypes[$0 % ValueGenerator.storedTypes.count] }
    let draft = RowDraft.make(try RowLayout.of(types.map { SlotKind($0)! }))
    var values = [AttributeValue](repeating: .null, count: types.count)
    for _ in 0..<5_000 {
      let slot = Int.random(in: 0..<types.count, using: &random)
      values[slot] = random.chance(5) ? .null : random.value(types[slot], longest: 100)
      draft[slot] = values[slot]
      let other = Int.random(in: 0..<types.count, using: &random)
      #expect(isIdentical(draft[other], values[other]) && draft.isNil(other) == values[other].isNull)
    }
  }

  @Test("A key builder is used again without forgetting to forget")
  func keyBuildersAreReusable() {
    var builder = KeyBuilder(capacity: 64)
    for _ in 0..<3 {
      builder.reset()
      for _ in 0..<100 { builder.append("some text", isAscending: true) }
      #expect(builder.count == 1_200)
    }
    builder.truncate(to: 12)
    builder.appendPrimaryKey(0x0102_0304)
    #expect(builder.bytes.suffix(8).elementsEqual([0, 0, 0, 0, 1, 2, 3, 4]))
  }
}
