import Foundation

/// Decides whether bytes are a row. Arbitrary bytes throw; nothing traps and nothing outside is read.
enum RowDecoder {
  /// Checks what reading in place relies on: header, lengths, every value inside the row.
  ///
  /// Costs a few loads per string attribute; every row that comes from a store passes through here before
  /// anything else looks at it.
  @inline(__always)
  static func checkBounds(_ bytes: UnsafeRawBufferPointer, _ layout: RowLayout) throws(RowError) {
    guard let base = bytes.baseAddress, bytes.count >= layout.fixedEnd else {
      throw .tooShort(byteCount: bytes.count)
    }
    guard bytes.count <= RowFormat.maximumRowLength else { throw .tooLong(byteCount: bytes.count) }
    let format = base.load(fromByteOffset: 4, as: UInt8.self)
    guard format == RowFormat.format else { throw .unknownFormat(format) }
    guard RowBytes.fixedLength(base) == layout.fixedEnd else {
      throw .wrongFixedLength(found: RowBytes.fixedLength(base), expected: layout.fixedEnd)
    }
    for slot in layout.variableSlots {
      let word = base.loadUnaligned(
        fromByteOffset: RowBytes.offset(layout.table[Int(slot)]), as: UInt32.self
      ).littleEndian
      let length = Int(word >> 16)
      let end = Int(word & 0xFFFF) + (length == 0xFFFF ? RowFormat.externalReferenceLength : length)
      guard end <= bytes.count else { throw .valueOutsideRow(slot: Int(slot)) }
    }
  }

  /// Checks that the bytes are exactly what the encoder makes of some values.
  ///
  /// - Throws: `RowError` with what is wrong first.
  static func validate(
    _ bytes: UnsafeRawBufferPointer, primaryKey: UInt64, layout: RowLayout, verifyChecksum: Bool = true
  ) throws(RowError) {
    guard let base = bytes.baseAddress, bytes.count >= RowFormat.headerLength else {
      throw .tooShort(byteCount: bytes.count)
    }
    guard bytes.count <= RowFormat.maximumRowLength else { throw .tooLong(byteCount: bytes.count) }
    if verifyChecksum {
      let stored = UInt32(littleEndian: base.loadUnaligned(as: UInt32.self))
      guard stored == RowChecksum.checksum(base, count: bytes.count, primaryKey: primaryKey) else {
        throw .wrongChecksum
      }
    }
    try checkBounds(bytes, layout)
    let flags = base.load(fromByteOffset: 5, as: UInt8.self)
    guard flags & ~RowFormat.hasExternalValues == 0 else { throw .unknownFlags(flags) }
    try checkUnusedBits(base, layout)

    var tail = layout.fixedEnd
    var externals = 0
    for slot in 0..<layout.slotCount {
      let entry = layout.table[slot]
      let kind = RowBytes.kind(entry)
      if RowBytes.isNil(base, slot) {
        for offset in 0..<kind.width
        where base.load(fromByteOffset: RowBytes.offset(entry) + offset, as: UInt8.self) != 0 {
          throw .damagedValue(slot: slot)
        }
        continue
      }
      switch kind {
      case .transient:
        throw .damagedNilBitmap
      case .boolean:
        guard base.load(fromByteOffset: RowBytes.offset(entry), as: UInt8.self) <= 1 else {
          throw .damagedValue(slot: slot)
        }
      case .string, .data, .url, .decimal:
        // Without gaps and in order: rows of equal values have equal bytes.
        let range = RowBytes.variable(base, entry)
        guard range.baseAddress == base + tail else { throw .damagedValue(slot: slot) }
        if RowBytes.isExternal(base, entry) {
          guard kind != .decimal else { throw .damagedValue(slot: slot) }
          tail += RowFormat.externalReferenceLength
          externals += 1
        } else {
          guard isValue(range, kind) else { throw .damagedValue(slot: slot) }
          tail += range.count
        }
      case .reference:
        guard RowBytes.reference(base, entry) != 0 else { throw .damagedValue(slot: slot) }
      case .int16, .int32, .int64, .float, .double, .date, .uuid:
        break
      }
    }
    guard tail == bytes.count else { throw .tooLong(byteCount: bytes.count) }
    guard (flags & RowFormat.hasExternalValues != 0) == (externals > 0) else { throw .unknownFlags(flags) }
  }

  private static func checkUnusedBits(_ base: UnsafeRawPointer, _ layout: RowLayout) throws(RowError) {
    let used = layout.slotCount & 7
    guard used > 0 else { return }
    let last = base.load(fromByteOffset: RowFormat.headerLength + layout.bitmapLength - 1, as: UInt8.self)
    guard last >> UInt8(used) == 0 else { throw .damagedNilBitmap }
  }

  private static func isValue(_ bytes: UnsafeRawBufferPointer, _ kind: SlotKind) -> Bool {
    guard bytes.count <= RowFormat.maximumInlineLength else { return false }
    switch kind {
    case .string: return isUTF8(bytes)
    case .url: return String(validating: bytes, as: UTF8.self).map { URL(string: $0) != nil } ?? false
    case .decimal:
      guard let digits = DecimalBytes.decode(bytes) else { return false }
      return digits.isDecimal
    default: return true
    }
  }

  /// Most strings are ASCII: eight bytes a step, and no string is made.
  private static func isUTF8(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let base = bytes.baseAddress else { return true }
    var union: UInt64 = 0
    var offset = 0
    while offset + 8 <= bytes.count {
      union |= base.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      offset += 8
    }
    while offset < bytes.count {
      union |= UInt64(base.load(fromByteOffset: offset, as: UInt8.self))
      offset += 1
    }
    return union & 0x8080_8080_8080_8080 == 0 || String(validating: bytes, as: UTF8.self) != nil
  }
}
