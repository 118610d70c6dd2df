import Foundation
import Testing

@testable import StrataCore

/// Rows written with an older layout stay readable.
@Suite struct RowTranscodeTests {
  private let stamp = RowStamp(layoutNumber: 3, entityCode: 4)

  @Test("A layout is rebuilt from its signature")
  func layoutsAreRebuiltFromSignatures() throws {
    var random = ValueGenerator.printed()
    for _ in 0..<500 {
      let slots = (0..<Int.random(in: 0...70, using: &random)).map { number in
        let kind = SlotKind.allCases.randomElement(using: &random)!
        let canonical = random.chance(4) ? "old é \(number)" : "name \(number)"
        return RowLayout.Slot(name: "name \(number)", canonicalName: canonical, kind: kind)
      }
      let layout = try RowLayout(slots: slots)
      let rebuilt = try RowLayout(signature: layout.signature)
      #expect(rebuilt.slots == layout.slots && rebuilt.fixedEnd == layout.fixedEnd)
      #expect(slots.indices.allSatisfy { rebuilt.entry(of: $0) == layout.entry(of: $0) })
    }
  }

  @Test("A damaged signature throws")
  func damagedSignaturesThrow() throws {
    var random = ValueGenerator.printed()
    let good = try RowLayout(slots: [
      .init(name: "a", canonicalName: "a", kind: .int16), .init(name: "b", canonicalName: "c", kind: .string),
    ]).signature
    #expect(good == "sa\nSb\tc\n")
    for bad in ["x", "sa", "sa\nsa\n", "s\n", "?a\n", "sa\t\n", "sa\tb\tc\n", "\n", "sa\n\n", "sa\ta\n"] {
      #expect(throws: ModelError.self) { try RowLayout(signature: bad) }
    }
    for _ in 0..<10_000 {
      var bytes = Array(good.utf8)
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8(truncatingIfNeeded: random.next())
      }
      let text = String(decoding: bytes, as: UTF8.self)
      if let layout = try? RowLayout(signature: text) { #expect(layout.signature == text) }
    }
  }

  @Test("Added attributes get defaults, dropped ones go, renamed and moved ones are found")
  func attributesAreFoundByName() throws {
    let old = try RowLayout(slots: [
      .init(name: "gone", canonicalName: "gone", kind: .string),
      .init(name: "title", canonicalName: "title", kind: .string),
      .init(name: "count", canonicalName: "count", kind: .int16),
      .init(name: "ratio", canonicalName: "ratio", kind: .float),
      .init(name: "big", canonicalName: "big", kind: .data),
      .init(name: "empty", canonicalName: "empty", kind: .date),
    ])
    let new = try RowLayout(slots: [
      .init(name: "added", canonicalName: "added", kind: .string),
      .init(name: "ratio", canonicalName: "ratio", kind: .double),
      .init(name: "heading", canonicalName: "title", kind: .string),
      .init(name: "count", canonicalName: "count", kind: .int64),
      .init(name: "empty", canonicalName: "empty", kind: .date),
      .init(name: "big", canonicalName: "big", kind: .data),
      .init(name: "flag", canonicalName: "flag", kind: .boolean),
    ])
    let row = try encode(
      old, .of(old, ["x", "Titel", -5, .float(1.5), .data(Data(count: 5_000)), .null]), version: 8
    ).snapshot
    let result = try row.withBytes {
      try RowDecoder.transcode(
        $0, from: old, to: new, stamp: stamp, primaryKey: 1,
        defaults: ["default", .null, .null, .null, .null, .null, true])
    }
    try result.withBytes { try RowDecoder.validate($0, primaryKey: 1, layout: new) }
    let values = (0..<7).map { result.value($0, new) }
    let expected: [AttributeValue?] = ["default", 1.5, "Titel", -5, AttributeValue.null, nil, true]
    #expect(values == expected)
    #expect(result.externalReference(5, new) == ExternalReference(version: 8, byteCount: 5_000))
    #expect(result.version == 8 && result.layoutNumber == 3 && result.entityCode == 4)
  }

  @Test("Random permutations of a layout keep every value")
  func permutationsKeepValues() throws {
    var random = ValueGenerator.printed()
    for _ in 0..<1_000 {
      let types = (0..<Int.random(in: 1...40, using: &random)).map { _ in
        ValueGenerator.storedTypes.randomElement(using: &random)!
      }
      let old = try RowLayout.of(types.map { SlotKind($0)! })
      let order = Array(types.indices).shuffled(using: &random)
      let new = try RowLayout(slots: order.map { old.slots[$0] })
      let values = types.map { random.value($0, longest: 1_000) }
      let row = try encode(old, .of(old, values)).snapshot
      let result = try row.withBytes {
        try RowDecoder.transcode(
          $0, from: old, to: new, stamp: stamp, primaryKey: 1, defaults: order.map { _ in .null })
      }
      try result.withBytes { try RowDecoder.validate($0, primaryKey: 1, layout: new) }
      for (slot, source) in order.enumerated() where row.value(source, old) != nil {
        #expect(isIdentical(try #require(result.value(slot, new)), values[source]))
      }
    }
  }

  @Test("A row that defaults make longer than a stored one is read, and encoded anew it fits")
  func longRowsAreRead() throws {
    let old = try RowLayout.of([SlotKind](repeating: .string, count: 59))
    let new = try RowLayout.of([SlotKind](repeating: .string, count: 60))
    let text = AttributeValue.string(String(repeating: "x", count: 1_010))
    let extra = AttributeValue.string(String(repeating: "y", count: 400))
    let row = try encode(old, .of(old, [AttributeValue](repeating: text, count: 59))).snapshot
    let defaults = [AttributeValue](repeating: .null, count: 59) + [extra]
    let result = try row.withBytes {
      try RowDecoder.transcode($0, from: old, to: new, stamp: stamp, primaryKey: 1, defaults: defaults)
    }
    #expect(result.withBytes { $0.count } > 60_000)
    #expect((0..<60).allSatisfy { result.value($0, new) == ($0 < 59 ? text : extra) })
    let draft = RowDraft.make(new)
    draft[59] = .string(String(repeating: "z", count: 500))
    let written = try encode(new, draft, over: result, version: 2)
    #expect(written.snapshot.withBytes { $0.count } <= 60_000)
    #expect(!written.externals.isEmpty)
    try written.snapshot.withBytes { try RowDecoder.validate($0, primaryKey: 1, layout: new) }
  }

  @Test("A changed type is refused, not guessed")
  func changedTypesAreRefused() throws {
    let old = try RowLayout.of([.string])
    let new = try RowLayout.of([.int64])
    #expect(throws: RowError.incompatibleLayouts(slot: 0)) {
      try RowTranscoder(from: old, to: new, defaults: [.null])
    }
    #expect(throws: RowError.incompatibleLayouts(slot: 0)) {
      try RowTranscoder(from: try RowLayout.of([.int64]), to: try RowLayout.of([.int16]), defaults: [.null])
    }
  }
}

extension RowDecoder {
  /// Rewrites one row of an older layout in another one.
  static func transcode(
    _ bytes: UnsafeRawBufferPointer, from old: RowLayout, to new: RowLayout, stamp: RowStamp,
    primaryKey: UInt64, defaults: [AttributeValue]
  ) throws(RowError) -> RowSnapshot {
    var writer = RowSlabWriter(expectedLength: bytes.count + new.fixedEnd)
    return try RowTranscoder(from: old, to: new, defaults: defaults)
      .transcode(bytes, primaryKey: primaryKey, stamp: stamp, into: &writer)
  }
}
