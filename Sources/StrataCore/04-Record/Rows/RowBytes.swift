import Foundation

/// Reads a row's values in place. Nothing is parsed, nothing allocated but what a returned value needs.
///
/// `base` is the row's first byte, `entry` the slot's word in the layout's table (kind in the high 8 bits,
/// offset in the low 24). The caller vouches that the row has passed `RowDecoder.checkBounds` with that layout
/// and that the entry's kind is the one the function is named after; then no read leaves the row. The bytes
/// of nil values are 0, so scalars of nil read as 0 and false (rule 345).
@usableFromInline enum RowBytes {
  // MARK: Header

  @inlinable @inline(__always) static func layoutNumber(_ base: UnsafeRawPointer) -> UInt16 {
    UInt16(littleEndian: base.loadUnaligned(fromByteOffset: 6, as: UInt16.self))
  }
  @inlinable @inline(__always) static func entityCode(_ base: UnsafeRawPointer) -> UInt16 {
    UInt16(littleEndian: base.loadUnaligned(fromByteOffset: 8, as: UInt16.self))
  }
  @inlinable @inline(__always) static func fixedLength(_ base: UnsafeRawPointer) -> Int {
    Int(UInt16(littleEndian: base.loadUnaligned(fromByteOffset: 10, as: UInt16.self)))
  }
  @inlinable @inline(__always) static func version(_ base: UnsafeRawPointer) -> UInt32 {
    UInt32(littleEndian: base.loadUnaligned(fromByteOffset: 12, as: UInt32.self))
  }
  @inlinable @inline(__always) static func hasExternalValues(_ base: UnsafeRawPointer) -> Bool {
    base.load(fromByteOffset: 5, as: UInt8.self) & 1 != 0
  }

  // MARK: Scalars

  @inlinable @inline(__always) static func offset(_ entry: UInt32) -> Int { Int(entry & 0xFF_FFFF) }

  @inlinable @inline(__always) static func kind(_ entry: UInt32) -> SlotKind {
    // Entries are made from `SlotKind` values only.
    unsafeBitCast(UInt8(truncatingIfNeeded: entry >> 24), to: SlotKind.self)
  }

  @inlinable @inline(__always) static func isNil(_ base: UnsafeRawPointer, _ slot: Int) -> Bool {
    base.load(fromByteOffset: 16 + slot >> 3, as: UInt8.self) & (1 << UInt8(truncatingIfNeeded: slot & 7))
      != 0
  }
  @inlinable @inline(__always) static func int16(_ base: UnsafeRawPointer, _ entry: UInt32) -> Int16 {
    Int16(littleEndian: base.loadUnaligned(fromByteOffset: offset(entry), as: Int16.self))
  }
  @inlinable @inline(__always) static func int32(_ base: UnsafeRawPointer, _ entry: UInt32) -> Int32 {
    Int32(littleEndian: base.loadUnaligned(fromByteOffset: offset(entry), as: Int32.self))
  }
  @inlinable @inline(__always) static func int64(_ base: UnsafeRawPointer, _ entry: UInt32) -> Int64 {
    Int64(littleEndian: base.loadUnaligned(fromByteOffset: offset(entry), as: Int64.self))
  }
  @inlinable @inline(__always) static func boolean(_ base: UnsafeRawPointer, _ entry: UInt32) -> Bool {
    base.load(fromByteOffset: offset(entry), as: UInt8.self) != 0
  }
  @inlinable @inline(__always) static func float(_ base: UnsafeRawPointer, _ entry: UInt32) -> Float {
    Float(bitPattern: UInt32(bitPattern: int32(base, entry)))
  }
  @inlinable @inline(__always) static func double(_ base: UnsafeRawPointer, _ entry: UInt32) -> Double {
    Double(bitPattern: UInt64(bitPattern: int64(base, entry)))
  }
  @inlinable @inline(__always) static func date(_ base: UnsafeRawPointer, _ entry: UInt32) -> Date {
    Date(timeIntervalSinceReferenceDate: double(base, entry))
  }
  @inlinable @inline(__always) static func uuid(_ base: UnsafeRawPointer, _ entry: UInt32) -> UUID {
    UUID(uuid: base.loadUnaligned(fromByteOffset: offset(entry), as: uuid_t.self))
  }

  /// The other end of a to-one relationship, 0 for none.
  @inlinable @inline(__always) static func reference(_ base: UnsafeRawPointer, _ entry: UInt32) -> UInt64 {
    UInt64(bitPattern: int64(base, entry))
  }

  /// An integer of any width. Also reads booleans, as 0 and 1.
  @inlinable @inline(__always) static func integer(_ base: UnsafeRawPointer, _ entry: UInt32) -> Int64 {
    switch kind(entry) {
    case .int64: int64(base, entry)
    case .int32: Int64(int32(base, entry))
    case .int16: Int64(int16(base, entry))
    default: boolean(base, entry) ? 1 : 0
    }
  }

  // MARK: Variable values

  /// Whether the value lies outside the row.
  @inlinable @inline(__always) static func isExternal(_ base: UnsafeRawPointer, _ entry: UInt32) -> Bool {
    base.loadUnaligned(fromByteOffset: offset(entry) + 2, as: UInt16.self) == 0xFFFF
  }

  /// The bytes of a string, data, url or decimal value that is not external. Empty for nil.
  @inlinable @inline(__always)
  static func variable(_ base: UnsafeRawPointer, _ entry: UInt32) -> UnsafeRawBufferPointer {
    let word = UInt32(littleEndian: base.loadUnaligned(fromByteOffset: offset(entry), as: UInt32.self))
    return UnsafeRawBufferPointer(start: base + Int(word & 0xFFFF), count: Int(word >> 16))
  }

  /// The string; invalid UTF-8 is repaired. `nil` when the value is external.
  @inlinable @inline(__always) static func string(_ base: UnsafeRawPointer, _ entry: UInt32) -> String? {
    if isExternal(base, entry) { return nil }
    return String(decoding: variable(base, entry), as: UTF8.self)
  }

  /// The data. `nil` when the value is external.
  @inlinable static func data(_ base: UnsafeRawPointer, _ entry: UInt32) -> Data? {
    if isExternal(base, entry) { return nil }
    return Data(variable(base, entry))
  }

  /// The URL. `nil` when the value is external, or (never after `RowDecoder.validate`) not a URL.
  @usableFromInline static func url(_ base: UnsafeRawPointer, _ entry: UInt32) -> URL? {
    string(base, entry).flatMap { URL(string: $0) }
  }

  /// The decimal. `nil` when the value is external, or (never after `RowDecoder.validate`) damaged.
  @usableFromInline static func decimal(_ base: UnsafeRawPointer, _ entry: UInt32) -> Decimal? {
    if isExternal(base, entry) { return nil }
    return DecimalBytes.decode(variable(base, entry))?.decimal
  }

  /// Where the value is, when it is external.
  static func externalReference(_ base: UnsafeRawPointer, _ entry: UInt32) -> ExternalReference? {
    guard isExternal(base, entry) else { return nil }
    let start = Int(UInt16(littleEndian: base.loadUnaligned(fromByteOffset: offset(entry), as: UInt16.self)))
    return ExternalReference(
      version: UInt32(littleEndian: base.loadUnaligned(fromByteOffset: start, as: UInt32.self)),
      byteCount: UInt64(littleEndian: base.loadUnaligned(fromByteOffset: start + 4, as: UInt64.self)))
  }

  // MARK: Any value

  /// The slot's value; `nil` when it is external. Transient slots read as ``AttributeValue/null``.
  static func value(_ base: UnsafeRawPointer, _ slot: Int, _ layout: RowLayout) -> AttributeValue? {
    let entry = layout.entry(of: slot)
    if isNil(base, slot) { return .null }
    switch kind(entry) {
    case .transient: return .null
    case .int16, .int32, .int64: return .integer(integer(base, entry))
    case .boolean: return .boolean(boolean(base, entry))
    case .float: return .float(float(base, entry))
    case .double: return .double(double(base, entry))
    case .date: return .date(date(base, entry))
    case .uuid: return .uuid(uuid(base, entry))
    case .reference: return .reference(reference(base, entry))
    case .string: return string(base, entry).map { .string($0) }
    case .data: return data(base, entry).map { .data($0) }
    case .url: return isExternal(base, entry) ? nil : url(base, entry).map { .url($0) } ?? .null
    case .decimal: return isExternal(base, entry) ? nil : decimal(base, entry).map { .decimal($0) } ?? .null
    }
  }

  /// A value from the bytes that were stored outside the row; `nil` when they are no value of the kind.
  static func externalValue(_ bytes: Data, kind: SlotKind) -> AttributeValue? {
    switch kind {
    case .string: .string(String(decoding: bytes, as: UTF8.self))
    case .data: .data(bytes)
    case .url: URL(string: String(decoding: bytes, as: UTF8.self)).map { .url($0) }
    default: nil
    }
  }
}
