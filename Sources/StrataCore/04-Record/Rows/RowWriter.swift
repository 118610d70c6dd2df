import Foundation

/// A value without its type, as engines have it that keep rows in another form.
package enum RawValue {
  case null
  /// An integer with its sign in the word's highest bit, a boolean as 0 or 1, a reference, or the bits of a floating-point number.
  case word(UInt64)
  /// A text in UTF-8, data, or the sixteen bytes of a UUID. Somebody else holds them.
  case bytes(UnsafeRawBufferPointer)

  /// How many bytes the value takes behind a row's fixed part.
  @inline(__always)
  var variableLength: Int { if case .bytes(let bytes) = self { bytes.count } else { 0 } }
}

/// Writes the values of one row, in slot order, into memory that holds the whole row.
struct RowWriter {
  private let row: UnsafeMutableRawPointer
  private let table: UnsafePointer<UInt32>
  private let fixedEnd: Int
  private let version: UInt32
  /// Where the next variable value goes.
  private var tail: Int
  private var flags: UInt8 = 0
  /// The values that went outside the row.
  private(set) var externals: [ExternalValue] = []

  /// Begins a row: with the fixed part of `base`, a row of the same layout, or with zeros.
  @inline(__always)
  init(_ row: UnsafeMutableRawPointer, layout: RowLayout, version: UInt32, base: UnsafeRawPointer?) {
    self.row = row
    table = layout.table
    fixedEnd = layout.fixedEnd
    self.version = version
    tail = layout.fixedEnd
    if let base {
      row.copyMemory(from: base, byteCount: layout.fixedEnd)
    } else {
      row.initializeMemory(as: UInt8.self, repeating: 0, count: layout.fixedEnd)
    }
  }

  /// Keeps the base row's value, whose fixed bytes are in place already.
  @inline(__always)
  mutating func keep(_ slot: Int, of base: UnsafeRawPointer, isSpilled: Bool) {
    let entry = table[slot]
    guard RowBytes.kind(entry).isVariable, !RowBytes.isNil(base, slot) else { return }
    if let reference = RowBytes.externalReference(base, entry) {
      writeReference(reference, entry)
    } else if isSpilled {
      writeExternal(Data(RowBytes.variable(base, entry)), slot, entry)
    } else {
      writeVariable(RowBytes.variable(base, entry), entry)
    }
  }

  /// Copies a value from a row of another layout, where `source` is its entry. The kinds are convertible.
  mutating func copy(_ source: UInt32, of base: UnsafeRawPointer, to slot: Int) {
    let entry = table[slot]
    switch RowBytes.kind(entry) {
    case .string, .data, .url, .decimal:
      if let reference = RowBytes.externalReference(base, source) {
        writeReference(reference, entry)
      } else {
        writeVariable(RowBytes.variable(base, source), entry)
      }
    case .double where RowBytes.kind(source) == .float:
      _ = write(.double(Double(RowBytes.float(base, source))), slot)
    case .int32, .int64:
      _ = write(.integer(RowBytes.integer(base, source)), slot)
    case let kind:
      (row + RowBytes.offset(entry)).copyMemory(from: base + RowBytes.offset(source), byteCount: kind.width)
    }
  }

  /// Writes the draft's value; `false` when it is out of the slot's range.
  @inline(__always)
  mutating func write(_ draft: RowDraft.Pointers, _ slot: Int, isSpilled: Bool) -> Bool {
    let entry = table[slot]
    let kind = RowBytes.kind(entry)
    let place = row + RowBytes.offset(entry)
    guard draft.header.pointee.present.contains(slot) else {
      // Rows begin with zeros, or with the base's values.
      zero(place, kind.width)
      setNil(slot, true)
      return true
    }
    setNil(slot, false)
    let cell = draft.cell(slot)
    switch kind {
    case .int64, .double, .date, .reference:
      place.storeBytes(of: cell.load(as: UInt64.self).littleEndian, as: UInt64.self)
    case .string:
      if isSpilled {
        writeExternal(Data(cell.assumingMemoryBound(to: String.self).pointee.utf8), slot, entry)
      } else {
        writeString(cell.assumingMemoryBound(to: String.self), entry)
      }
    case .int32, .int16:
      return writeInteger(cell.load(as: Int64.self), kind, place)
    case .boolean:
      place.storeBytes(of: cell.load(as: UInt8.self), as: UInt8.self)
    case .float:
      place.storeBytes(
        of: UInt32(truncatingIfNeeded: cell.load(as: UInt64.self)).littleEndian, as: UInt32.self)
    case .uuid:
      place.copyMemory(from: cell, byteCount: 16)
    case .data:
      let data = cell.assumingMemoryBound(to: Data.self)
      if isSpilled {
        writeExternal(data.pointee, slot, entry)
      } else {
        data.pointee.withUnsafeBytes { writeVariable($0, entry) }
      }
    case .url, .decimal:
      return writeBoxed(draft.value(slot), slot, entry, isSpilled: isSpilled)
    case .transient:
      setNil(slot, true)
    }
    return true
  }

  /// Writes a value that stays in the row; `false` when it is not of the slot's kind.
  mutating func write(_ value: AttributeValue, _ slot: Int) -> Bool {
    let entry = table[slot]
    let kind = RowBytes.kind(entry)
    let place = row + RowBytes.offset(entry)
    setNil(slot, false)
    switch (value, kind) {
    case (.null, _), (_, .transient):
      zero(place, kind.width)
      setNil(slot, true)
    case (.integer(let value), _): return writeInteger(value, kind, place)
    case (.double(let value), .double):
      place.storeBytes(of: value.bitPattern.littleEndian, as: UInt64.self)
    case (.reference(let value), .reference): place.storeBytes(of: value.littleEndian, as: UInt64.self)
    case (.date(let value), .date):
      let seconds = value.timeIntervalSinceReferenceDate
      place.storeBytes(of: seconds.bitPattern.littleEndian, as: UInt64.self)
    case (.boolean(let value), .boolean): place.storeBytes(of: value ? 1 : 0, as: UInt8.self)
    case (.float(let value), .float): place.storeBytes(of: value.bitPattern.littleEndian, as: UInt32.self)
    case (.uuid(let value), .uuid): place.storeBytes(of: value.uuid, as: uuid_t.self)
    case (.data(let data), .data): data.withUnsafeBytes { writeVariable($0, entry) }
    case (.string(let string), .string): withUnsafePointer(to: string) { writeString($0, entry) }
    default: return writeBoxed(value, slot, entry, isSpilled: false)
    }
    return true
  }

  /// Writes a value into a row that began with zeros; `false` when a slot of its kind takes no such value.
  @inline(__always)
  mutating func write(raw: RawValue, _ slot: Int) -> Bool {
    let entry = table[slot]
    let kind = RowBytes.kind(entry)
    let place = row + RowBytes.offset(entry)
    switch (raw, kind) {
    case (.null, _), (_, .transient): setNil(slot, true)
    case (.word(let word), .int64), (.word(let word), .double), (.word(let word), .date),
      (.word(let word), .reference):
      place.storeBytes(of: word.littleEndian, as: UInt64.self)
    case (.word(let word), .int32), (.word(let word), .float):
      place.storeBytes(of: UInt32(truncatingIfNeeded: word).littleEndian, as: UInt32.self)
    case (.word(let word), .int16):
      place.storeBytes(of: UInt16(truncatingIfNeeded: word).littleEndian, as: UInt16.self)
    case (.word(let word), .boolean): place.storeBytes(of: word == 0 ? 0 : 1, as: UInt8.self)
    case (.bytes(let bytes), .uuid):
      guard let source = bytes.baseAddress, bytes.count == 16 else { return false }
      place.copyMemory(from: source, byteCount: 16)
    case (.bytes(let bytes), .string), (.bytes(let bytes), .data): writeVariable(bytes, entry)
    case (.word, _), (.bytes, _): return false
    }
    return true
  }

  /// Refers to a value that lies outside the row.
  mutating func writeOutside(_ reference: ExternalReference, _ slot: Int) {
    setNil(slot, false)
    writeReference(reference, table[slot])
  }

  private mutating func writeBoxed(_ value: AttributeValue, _ slot: Int, _ entry: UInt32, isSpilled: Bool)
    -> Bool
  {
    switch (value, RowBytes.kind(entry)) {
    case (.url(let url), .url):
      let text = url.absoluteString
      if isSpilled {
        writeExternal(Data(text.utf8), slot, entry)
      } else {
        withUnsafePointer(to: text) { writeString($0, entry) }
      }
    case (.decimal(let value), .decimal):
      DecimalBytes.encode(DecimalDigits(value)).withUnsafeBytes { writeVariable($0, entry) }
    default: return false
    }
    return true
  }

  /// Writes header and checksum.
  @inline(__always)
  func finish(_ length: Int, stamp: RowStamp, primaryKey: UInt64) {
    // What was measured is what was written, or a neighbour's memory would be damaged: worth a check per row.
    precondition(tail == length, "the row has the length it was measured to have")
    row.storeBytes(of: RowFormat.format, toByteOffset: 4, as: UInt8.self)
    row.storeBytes(of: flags, toByteOffset: 5, as: UInt8.self)
    row.storeBytes(of: stamp.layoutNumber.littleEndian, toByteOffset: 6, as: UInt16.self)
    row.storeBytes(of: stamp.entityCode.littleEndian, toByteOffset: 8, as: UInt16.self)
    row.storeBytes(of: UInt16(truncatingIfNeeded: fixedEnd).littleEndian, toByteOffset: 10, as: UInt16.self)
    row.storeBytes(of: version.littleEndian, toByteOffset: 12, as: UInt32.self)
    let checksum = RowChecksum.checksum(row, count: length, primaryKey: primaryKey)
    row.storeBytes(of: checksum.littleEndian, as: UInt32.self)
  }

  // MARK: Pieces

  @inline(__always)
  private func setNil(_ slot: Int, _ isNil: Bool) {
    let place = row + RowFormat.headerLength + slot >> 3
    let bit = UInt8(1) << UInt8(truncatingIfNeeded: slot & 7)
    let byte = place.load(as: UInt8.self)
    place.storeBytes(of: isNil ? byte | bit : byte & ~bit, as: UInt8.self)
  }

  @inline(__always)
  private func zero(_ place: UnsafeMutableRawPointer, _ width: Int) {
    place.initializeMemory(as: UInt8.self, repeating: 0, count: width)
  }

  @inline(__always)
  private func writeInteger(_ value: Int64, _ kind: SlotKind, _ place: UnsafeMutableRawPointer) -> Bool {
    switch kind {
    case .int64:
      place.storeBytes(of: value.littleEndian, as: Int64.self)
    case .int32:
      guard let narrow = Int32(exactly: value) else { return false }
      place.storeBytes(of: narrow.littleEndian, as: Int32.self)
    case .int16:
      guard let narrow = Int16(exactly: value) else { return false }
      place.storeBytes(of: narrow.littleEndian, as: Int16.self)
    default:
      return false
    }
    return true
  }

  @inline(__always)
  private mutating func writeString(_ string: UnsafePointer<String>, _ entry: UInt32) {
    let isWritten: Void? = string.pointee.utf8.withContiguousStorageIfAvailable {
      writeVariable(UnsafeRawBufferPointer($0), entry)
    }
    if isWritten == nil {
      var copy = string.pointee
      copy.withUTF8 { writeVariable(UnsafeRawBufferPointer($0), entry) }
    }
  }

  @inline(__always)
  private mutating func writeVariable(_ bytes: UnsafeRawBufferPointer, _ entry: UInt32) {
    if let source = bytes.baseAddress { (row + tail).copyMemory(from: source, byteCount: bytes.count) }
    point(entry, at: tail, length: UInt16(truncatingIfNeeded: bytes.count))
    tail += bytes.count
  }

  private mutating func writeReference(_ reference: ExternalReference, _ entry: UInt32) {
    row.storeBytes(of: reference.version.littleEndian, toByteOffset: tail, as: UInt32.self)
    row.storeBytes(of: reference.byteCount.littleEndian, toByteOffset: tail + 4, as: UInt64.self)
    point(entry, at: tail, length: RowFormat.externalLength)
    tail += RowFormat.externalReferenceLength
    flags |= RowFormat.hasExternalValues
  }

  private mutating func writeExternal(_ bytes: Data, _ slot: Int, _ entry: UInt32) {
    writeReference(ExternalReference(version: version, byteCount: UInt64(bytes.count)), entry)
    externals.append(ExternalValue(slot: slot, bytes: bytes))
  }

  @inline(__always)
  private func point(_ entry: UInt32, at offset: Int, length: UInt16) {
    let word = UInt32(truncatingIfNeeded: offset) | UInt32(length) << 16
    row.storeBytes(of: word.littleEndian, toByteOffset: RowBytes.offset(entry), as: UInt32.self)
  }
}
