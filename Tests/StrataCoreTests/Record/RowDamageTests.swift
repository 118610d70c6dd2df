import Foundation
import Testing

@testable import StrataCore

/// Bytes that are no rows are refused; reading what passes the bounds check never leaves it.
@Suite struct RowDamageTests {
  @Test("Mutated rows: each is refused by its checksum, none is read outside")
  func mutatedRowsAreRefused() throws {
    var random = ValueGenerator.printed()
    for _ in 0..<150 {
      let types = (0..<Int.random(in: 1...40, using: &random)).map { _ in
        ValueGenerator.storedTypes.randomElement(using: &random)!
      }
      let layout = try RowLayout.of(types.map { SlotKind($0)! })
      let row = try encode(layout, .of(layout, types.map { random.value($0, longest: 1_200) })).snapshot
      let original = row.withBytes { Array($0) }
      for _ in 0..<rounds(100, long: 1_000) {
        let bytes = mutate(original, &random)
        guard bytes != original else { continue }
        let isRow = withExactCopy(of: bytes) {
          (try? RowDecoder.validate($0, primaryKey: 1, layout: layout)) != nil
        }
        if isRow { Issue.record("\(bytes) is taken for a row") }
        readEverything(bytes, layout)
      }
    }
  }

  @Test("Arbitrary byte strings with a plausible header")
  func arbitraryBytesAreRefused() throws {
    var random = ValueGenerator.printed()
    let layout = try RowLayout.of([.string, .int16, .uuid, .decimal, .data, .url, .boolean, .date, .string])
    for _ in 0..<rounds(10_000, long: 100_000) {
      var bytes = (0..<Int.random(in: 0...120, using: &random)).map { _ in
        UInt8(truncatingIfNeeded: random.next())
      }
      if bytes.count > 12, !random.chance(4) {
        bytes[4] = 1
        bytes[5] &= 1
        bytes[10] = UInt8(layout.fixedEnd)
        bytes[11] = 0
        for index in stride(from: layout.fixedEnd - 4, to: 20, by: -1) where index < bytes.count {
          if random.chance(2) { bytes[index] = UInt8.random(in: 0...100, using: &random) }
        }
      }
      readEverything(bytes, layout)
    }
  }

  @Test("What passes the whole check is exactly what the encoder makes of the values")
  func validRowsAreCanonical() throws {
    var random = ValueGenerator.printed()
    var passed = 0
    // Foundation escapes what it finds in a URL's text, so that a changed one may come back as another text.
    let allTypes = ValueGenerator.storedTypes.filter { $0 != .uri }
    for _ in 0..<100 {
      let types = (0..<Int.random(in: 1...12, using: &random)).map { _ in
        allTypes.randomElement(using: &random)!
      }
      let layout = try RowLayout.of(types.map { SlotKind($0)! })
      let row = try encode(layout, .of(layout, types.map { random.value($0, longest: 40) })).snapshot
      guard !row.hasExternalValues else { continue }
      let original = row.withBytes { Array($0) }
      for _ in 0..<300 {
        let bytes = mutate(original, &random)
        let rebuilt: [UInt8]? = try withExactCopy(of: bytes) { copy in
          guard (try? RowDecoder.validate(copy, primaryKey: 1, layout: layout, verifyChecksum: false)) != nil,
            let base = copy.baseAddress, !RowBytes.hasExternalValues(base)
          else { return nil }
          let values = try types.indices.map { try #require(RowBytes.value(base, $0, layout)) }
          return try encode(layout, .of(layout, values)).snapshot.withBytes { Array($0) }
        }
        guard let rebuilt else { continue }
        passed += 1
        // From offset 16 on: what lies before are checksum, stamp and version.
        if rebuilt.dropFirst(16) != bytes.dropFirst(16) {
          let place = rebuilt.indices.first { $0 >= 16 && rebuilt[$0] != bytes[$0] } ?? -1
          Issue.record("\(layout.signature) differs at \(place)")
        }
      }
    }
    #expect(passed > 100)
  }

  @Test("A row that was cut off anywhere is refused before anything of it is read")
  func cutRowsAreRefused() throws {
    let layout = try RowLayout.of([.int64, .double, .string])
    let bytes = try encode(layout, .of(layout, [7, .double(1.5), "abc"])).snapshot.withBytes { Array($0) }
    for count in bytes.indices {
      // The value lies at the end, and nothing is missing between it and the fixed part.
      let expected: RowError =
        count < layout.fixedEnd ? .tooShort(byteCount: count) : .valueOutsideRow(slot: 2)
      #expect(throws: expected, "\(count) bytes") {
        try withExactCopy(of: Array(bytes[..<count])) { try RowDecoder.checkBounds($0, layout) }
      }
    }
  }

  @Test("A row under another primary key is refused")
  func rowsBelongToTheirKey() throws {
    let layout = try RowLayout.of([.string])
    let row = try encode(layout, .of(layout, ["a"]), primaryKey: 5).snapshot
    try row.withBytes { try RowDecoder.validate($0, primaryKey: 5, layout: layout) }
    #expect(throws: RowError.wrongChecksum) {
      try row.withBytes { try RowDecoder.validate($0, primaryKey: 6, layout: layout) }
    }
  }

  @Test("Invalid UTF-8 is an error of the check and repaired when read")
  func invalidUTF8IsRepaired() throws {
    let layout = try RowLayout.of([.string])
    var bytes = try encode(layout, .of(layout, ["abc"])).snapshot.withBytes { Array($0) }
    bytes[bytes.count - 2] = 0xFF
    try withExactCopy(of: bytes) { copy in
      #expect(throws: RowError.damagedValue(slot: 0)) {
        try RowDecoder.validate(copy, primaryKey: 1, layout: layout, verifyChecksum: false)
      }
      let base = try #require(copy.baseAddress)
      #expect(RowBytes.string(base, layout.entry(of: 0)) == "a\u{FFFD}c")
    }
  }

  @Test("A single changed bit anywhere changes the checksum")
  func checksumFindsEveryBit() throws {
    let layout = try RowLayout.of([.string, .int64])
    let bytes = try encode(layout, .of(layout, ["a text of some length", 99])).snapshot.withBytes {
      Array($0)
    }
    for bit in 0..<(bytes.count * 8) {
      var damaged = bytes
      damaged[bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(throws: RowError.self) {
        try withExactCopy(of: damaged) { try RowDecoder.validate($0, primaryKey: 1, layout: layout) }
      }
    }
  }

  // MARK: Tools

  private func mutate(_ original: [UInt8], _ random: inout ValueGenerator) -> [UInt8] {
    var bytes = original
    switch Int.random(in: 0..<8, using: &random) {
    case 0: bytes.removeLast(Int.random(in: 0...bytes.count, using: &random))
    case 1:
      bytes += (0..<Int.random(in: 1...9, using: &random)).map { _ in UInt8(truncatingIfNeeded: random.next())
      }
    case 2: bytes.insert(0, at: Int.random(in: 0...bytes.count, using: &random))
    case 3: bytes.remove(at: Int.random(in: 0..<bytes.count, using: &random))
    default:
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let edges: [UInt8] = [0, 1, 0x7F, 0x80, 0xFF, UInt8(truncatingIfNeeded: random.next())]
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = edges.randomElement(using: &random)!
      }
    }
    return bytes
  }

  /// In memory of exactly that size, so that the address sanitizer sees a read outside.
  private func withExactCopy<R>(of bytes: [UInt8], _ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R
  {
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
    defer { copy.deallocate() }
    copy.copyBytes(from: bytes)
    return try body(UnsafeRawBufferPointer(copy))
  }

  /// Everything that is done with a row that has passed the bounds check.
  private func readEverything(_ bytes: [UInt8], _ layout: RowLayout) {
    withExactCopy(of: bytes) { copy -> Void in
      _ = try? RowDecoder.validate(copy, primaryKey: 1, layout: layout, verifyChecksum: false)
      guard (try? RowDecoder.checkBounds(copy, layout)) != nil, let base = copy.baseAddress else { return }
      var key = KeyBuilder()
      for slot in 0..<layout.slotCount {
        let entry = layout.entry(of: slot)
        _ = RowBytes.value(base, slot, layout)
        if layout.kind(of: slot).isVariable { _ = RowBytes.externalReference(base, entry) }
        key.append(fromRow: base, slot: slot, layout: layout, isAscending: true)
      }
      _ = try? RowDecoder.transcode(
        copy, from: layout, to: layout, stamp: RowStamp(layoutNumber: 1, entityCode: 1), primaryKey: 1,
        defaults: Array(repeating: .null, count: layout.slotCount))
    }
  }
}
