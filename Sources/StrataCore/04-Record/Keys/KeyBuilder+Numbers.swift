/// Values of eight bytes and fewer as numbers without a sign, which are in the order of the values.
extension KeyBuilder {
  /// Whether values of this kind are such numbers.
  static func isNumber(_ kind: SlotKind) -> Bool {
    switch kind {
    case .int16, .int32, .int64, .boolean, .float, .double, .date: true
    case .uuid, .reference, .decimal, .string, .data, .url, .transient: false
    }
  }

  /// A slot's value in a row of that layout, which has passed `RowDecoder.checkBounds`; nil for nil, and for kinds that are no
  /// numbers.
  @inline(__always)
  static func number(fromRow base: UnsafeRawPointer, slot: Int, layout: RowLayout) -> UInt64? {
    if RowBytes.isNil(base, slot) { return nil }
    let entry = layout.entry(of: slot)
    switch RowBytes.kind(entry) {
    case .int16, .int32, .int64: return sortable(RowBytes.integer(base, entry))
    case .boolean: return RowBytes.boolean(base, entry) ? 1 : 0
    case .float: return UInt64(sortable(RowBytes.float(base, entry)))
    case .double, .date: return sortable(RowBytes.double(base, entry))
    case .uuid, .reference, .decimal, .string, .data, .url, .transient: return nil
    }
  }

  @inline(__always)
  static func sortable(_ value: Int64) -> UInt64 { UInt64(bitPattern: value) ^ 1 << 63 }

  /// -0.0 as 0.0, every NaN as the positive quiet one.
  @inline(__always)
  static func sortable(_ value: Double) -> UInt64 {
    let bits = value.isNaN ? 0x7FF8_0000_0000_0000 : value == 0 ? 0 : value.bitPattern
    return bits >> 63 == 1 ? ~bits : bits ^ 1 << 63
  }

  @inline(__always)
  static func sortable(_ value: Float) -> UInt32 {
    let bits = value.isNaN ? 0x7FC0_0000 : value == 0 ? 0 : value.bitPattern
    return bits >> 31 == 1 ? ~bits : bits ^ 1 << 31
  }
}
