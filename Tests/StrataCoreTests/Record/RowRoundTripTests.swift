import Foundation
import Testing

@testable import StrataCore

/// What is written to a row is read from it, for every type and at every boundary.
@Suite struct RowRoundTripTests {
  @Test("Every type, at every boundary of the nil bitmap", arguments: ValueGenerator.storedTypes)
  func everyTypeRoundTrips(type: AttributeType) throws {
    var random = ValueGenerator.printed("everyTypeRoundTrips(\(type))")
    for slotCount in [1, 2, 7, 8, 9, 15, 16, 17, 63, 64, 65, 129] {
      let layout = try RowLayout.of(Array(repeating: SlotKind(type)!, count: slotCount))
      for round in 0..<20 {
        var values = (0..<slotCount).map { _ in random.value(type, longest: 3_000) }
        if round == 0 { values = values.map { _ in .null } }
        try check(layout, values)
      }
    }
  }

  @Test("Mixed layouts of up to 200 slots")
  func mixedLayoutsRoundTrip() throws {
    var random = ValueGenerator.printed()
    for _ in 0..<300 {
      let types = (0..<Int.random(in: 1...200, using: &random)).map { _ in
        ValueGenerator.storedTypes.randomElement(using: &random)!
      }
      let layout = try RowLayout.of(types.map { SlotKind($0)! })
      try check(layout, types.map { random.value($0, longest: 2_000) })
    }
  }

  @Test("Least and greatest numbers, and values out of range")
  func integersKeepTheirRange() throws {
    let layout = try RowLayout.of([.int16, .int32, .int64, .boolean, .date])
    let instant = AttributeValue.date(Date(timeIntervalSinceReferenceDate: 0.123456789))
    try check(layout, [.integer(-32_768), .integer(-2_147_483_648), .integer(.min), false, instant])
    try check(layout, [32_767, 2_147_483_647, .integer(.max), true, instant])
    for (slot, value) in [(0, 32_768), (0, -32_769), (1, 2_147_483_648)] as [(Int, Int64)] {
      var values: [AttributeValue] = [.null, .null, .null, .null, .null]
      values[slot] = .integer(value)
      #expect(throws: RowError.wrongType(slot: slot)) { try encode(layout, .of(layout, values)) }
    }
    #expect(throws: RowError.wrongType(slot: 2)) {
      try encode(layout, .of(layout, [1, 1, "1", true, .null]))
    }
  }

  @Test(
    "Sizes around the limit for values in the row", arguments: [0, 1, 1_023, 1_024, 1_025, 65_535, 200_000])
  func sizesRoundTrip(size: Int) throws {
    let layout = try RowLayout.of([.string, .data, .string])
    let text = AttributeValue.string(String(repeating: "x", count: size))
    let data = AttributeValue.data(Data(repeating: 0, count: size))
    let (row, externals) = try encode(layout, .of(layout, [text, data, "end"]), version: 5)
    #expect(externals.map(\.slot) == (size > 1_024 ? [0, 1] : []))
    #expect(row.hasExternalValues == (size > 1_024))
    if size > 1_024 {
      #expect(row.externalReference(0, layout) == ExternalReference(version: 5, byteCount: UInt64(size)))
      #expect(row.value(0, layout) == nil)
    }
    try check(layout, [text, data, "end"])
  }

  @Test("A row that is too long gives away its longest values first, and never gets over 60,000 bytes")
  func longRowsSpill() throws {
    let layout = try RowLayout.of(Array(repeating: .string, count: 100))
    let values = (0..<100).map { AttributeValue.string(String(repeating: "y", count: 500 + $0 * 5)) }
    let (row, externals) = try encode(layout, .of(layout, values))
    #expect(row.count <= 60_000 && row.count > 58_000)
    let spilled = externals.map(\.slot)
    #expect(!spilled.isEmpty && spilled == Array((100 - spilled.count)..<100))
    try check(layout, values)
  }

  @Test("A row in which every value is outside fits; a layout that could not is refused")
  func layoutsThatCannotFitAreRefused() throws {
    let layout = try RowLayout.of(Array(repeating: .string, count: 3_000))
    let values = Array(repeating: AttributeValue.string(String(repeating: "z", count: 900)), count: 3_000)
    try check(layout, values)
    #expect(throws: ModelError.self) { try RowLayout.of(Array(repeating: .string, count: 4_000)) }
    #expect(throws: ModelError.self) { try RowLayout.of(Array(repeating: .decimal, count: 2_500)) }
    let decimals = try RowLayout.of(Array(repeating: .decimal, count: 2_000))
    try check(decimals, Array(repeating: .decimal(.greatestFiniteMagnitude), count: 2_000))
  }

  @Test("A value over the limit is an error that names slot and size")
  func valuesOverTheLimitAreRefused() throws {
    let layout = try RowLayout.of([.int16, .string])
    var writer = RowSlabWriter()
    #expect(throws: RowError.valueTooLong(slot: 1, byteCount: 2_000, limit: 1_999)) {
      try RowEncoder.encode(
        layout: layout, stamp: RowStamp(layoutNumber: 0, entityCode: 0), primaryKey: 1, version: 1, base: nil,
        draft: .of(layout, [1, .string(String(repeating: "x", count: 2_000))]), into: &writer,
        valueLimit: 1_999)
    }
  }

  @Test("Transient slots take no bytes and read as nil")
  func transientSlotsAreNotStored() throws {
    let layout = try RowLayout.of([.transient, .int16, .transient])
    let row = try encode(layout, .of(layout, ["kept in memory", 3, 4])).snapshot
    #expect(row.count == 16 + 1 + 2)
    #expect(row.value(0, layout) == .null && row.value(1, layout) == 3 && row.value(2, layout) == .null)
    try validate(row, layout)
  }

  @Test("Scalars of nil read as 0 and false (rule 345)")
  func nilScalarsReadAsZero() throws {
    let layout = try RowLayout.of([.int64, .double, .boolean, .float, .date])
    let row = try encode(layout, .make(layout)).snapshot
    row.withBytes { bytes in
      let base = bytes.baseAddress!  // A row is never empty.
      let entries = (0..<5).map { layout.entry(of: $0) }
      #expect(RowBytes.integer(base, entries[0]) == 0 && RowBytes.double(base, entries[1]) == 0)
      #expect(!RowBytes.boolean(base, entries[2]) && RowBytes.float(base, entries[3]) == 0)
    }
    #expect((0..<5).allSatisfy { row.isNil($0, layout) && row.value($0, layout) == .null })
  }

  @Test("The header carries stamp and version")
  func headerCarriesStampAndVersion() throws {
    let layout = try RowLayout.of([.int16])
    let row = try encode(layout, .of(layout, [1]), version: 77).snapshot
    #expect(row.version == 77 && row.layoutNumber == 7 && row.entityCode == 9 && !row.hasExternalValues)
  }

  @Test("An update changes the changed slots and keeps the others byte by byte")
  func updatesKeepTheRest() throws {
    var random = ValueGenerator.printed()
    for _ in 0..<2_000 {
      let types = (0..<Int.random(in: 1...70, using: &random)).map { _ in
        ValueGenerator.storedTypes.randomElement(using: &random)!
      }
      let layout = try RowLayout.of(types.map { SlotKind($0)! })
      var values = types.map { random.value($0, longest: 1_500) }
      let (base, baseExternals) = try encode(layout, .of(layout, values))
      let draft = RowDraft.make(layout)
      for slot in types.indices where random.chance(3) {
        values[slot] = random.value(types[slot], longest: 1_500)
        draft[slot] = values[slot]
      }
      let (row, externals) = try encode(layout, draft, over: base, version: 2)
      try validate(row, layout)
      try expect(row, layout, values, old: baseExternals, new: externals)
    }
  }

  @Test("A value of the base row that no longer fits is kept outside the row in the new version")
  func baseValuesCanSpill() throws {
    let layout = try RowLayout.of(Array(repeating: .string, count: 80))
    var values = (0..<80).map { _ in AttributeValue.string(String(repeating: "b", count: 700)) }
    let base = try encode(layout, .of(layout, values)).snapshot
    let draft = RowDraft.make(layout)
    for slot in 0..<40 {
      values[slot] = .string(String(repeating: "c", count: 1_000 - slot))
      draft[slot] = values[slot]
    }
    let (row, externals) = try encode(layout, draft, over: base, version: 2)
    #expect(!externals.isEmpty)
    #expect(externals.allSatisfy { row.externalReference($0.slot, layout)?.version == 2 })
    try expect(row, layout, values, old: [], new: externals)
  }

  // MARK: Checks

  private func validate(_ row: RowSnapshot, _ layout: RowLayout) throws {
    try row.withBytes { try RowDecoder.validate($0, primaryKey: 1, layout: layout) }
  }

  private func check(_ layout: RowLayout, _ values: [AttributeValue]) throws {
    let (row, externals) = try encode(layout, .of(layout, values))
    try validate(row, layout)
    try expect(row, layout, values, old: [], new: externals)
    // Equal values have equal bytes.
    let again = try encode(layout, .of(layout, values)).snapshot
    #expect(row.withBytes { a in again.withBytes { a.elementsEqual($0) } })
  }

  private func expect(
    _ row: RowSnapshot, _ layout: RowLayout, _ values: [AttributeValue], old: [ExternalValue],
    new: [ExternalValue]
  ) throws {
    for (slot, value) in values.enumerated() {
      var found = row.value(slot, layout)
      if found == nil {
        let reference = try #require(row.externalReference(slot, layout))
        let source = reference.version == row.version ? new : old
        let bytes = try #require(source.first { $0.slot == slot }?.bytes)
        #expect(reference.byteCount == UInt64(bytes.count))
        found = RowBytes.externalValue(bytes, kind: layout.kind(of: slot))
      }
      if !isIdentical(try #require(found), value) {
        Issue.record(
          "slot \(slot), \(layout.kind(of: slot)): \(value) came back as \(String(describing: found))")
      }
      #expect(row.isNil(slot, layout) == value.isNull)
    }
  }
}
