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
        base: nil, draft: .of([text, .integer(Int64(number))]), into: &writer)
      rows.append((row, text, Int64(number)))
    }
    for (row, text, number) in rows {
      #expect(row.value(0, layout) == text && row.integer(1, layout) == number)
    }
  }

  @Test("A snapshot holds the memory it reads")
  func snapshotsHoldTheirMemory() throws {
    let layout = try RowLayout.of([.string])
    var row: RowSnapshot? = try encode(layout, .of(["held"])).snapshot
    let copy = try #require(row).withBytes { RowSnapshot(copying: $0) }
    row = nil
    #expect(copy.string(0, layout) == "held")
  }

  @Test("A draft knows what was set; copies are independent")
  func draftsTrackChanges() {
    let draft = RowDraft.make(defaults: ["a", 1, .null])
    #expect(draft.changed.isEmpty && draft[0] == "a" && draft[1] == 1)
    draft[2] = "c"
    let copy = draft.copy()
    copy[0] = "b"
    #expect(draft[0] == "a" && copy[0] == "b" && copy[2] == "c")
    #expect(draft.isChanged(2) && !draft.isChanged(0) && copy.isChanged(0))
    draft.clear(2)
    #expect(draft.changed.isEmpty && draft[2].isNull)
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
