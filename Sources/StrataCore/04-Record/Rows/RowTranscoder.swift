/// Rewrites rows of an older layout in another one: slots are matched by name, then by renaming identifier.
///
/// Prepared once per pair of layouts. Attributes the old row lacks get their default; attributes the new
/// layout lacks are dropped; integers and floating-point numbers may become wider.
struct RowTranscoder: Sendable {
  private let old: RowLayout
  private let new: RowLayout
  private let defaults: [AttributeValue]
  /// Per slot the bytes the default takes in the tail.
  private let defaultLengths: [Int]
  /// Per new slot the old one, -1 without.
  private let sources: [Int]

  /// - Parameter middle: The layout by way of which slots are matched; nil when they are matched directly.
  /// - Throws: `RowError.incompatibleLayouts` when a value would have to change its type.
  init(
    from old: RowLayout, by middle: RowLayout? = nil, to new: RowLayout, defaults: [AttributeValue]
  ) throws(RowError) {
    precondition(defaults.count == new.slotCount, "there is a default for every slot")
    self.old = old
    self.new = new
    self.defaults = defaults
    defaultLengths = defaults.map(RowEncoder.variableLength)
    if let middle {
      let first = Self.sources(from: old, to: middle)
      sources = Self.sources(from: middle, to: new).map { $0 < 0 ? -1 : first[$0] }
    } else {
      sources = Self.sources(from: old, to: new)
    }
    for (slot, source) in sources.enumerated() where source >= 0 {
      guard Self.isConvertible(old.slots[source].kind, new.slots[slot].kind) else {
        throw .incompatibleLayouts(slot: slot)
      }
    }
  }

  private static func sources(from old: RowLayout, to new: RowLayout) -> [Int] {
    let byName = Dictionary(uniqueKeysWithValues: old.slots.enumerated().map { ($1.name, $0) })
    let byCanonicalName = Dictionary(
      old.slots.enumerated().map { ($1.canonicalName, $0) }, uniquingKeysWith: { first, _ in first })
    return new.slots.map { slot -> Int in
      let source = byName[slot.name] ?? byName[slot.canonicalName] ?? byCanonicalName[slot.canonicalName]
      guard let source, old.slots[source].kind != .transient else { return -1 }
      return source
    }
  }

  /// The slot of the old row whose value goes to `slot`; references to external values move along with it.
  func source(of slot: Int) -> Int? { sources[slot] < 0 ? nil : sources[slot] }

  /// Writes the row in the new layout, with the same version and references to the same external values.
  ///
  /// It may be longer than a stored row: whoever writes it encodes it anew, which moves values out of it.
  ///
  /// - Throws: `RowError` when `bytes` are no row of the old layout, or defaults do not fit into the row.
  func transcode(
    _ bytes: UnsafeRawBufferPointer, primaryKey: UInt64, stamp: RowStamp, into writer: inout RowSlabWriter
  ) throws(RowError) -> RowSnapshot {
    try RowDecoder.checkBounds(bytes, old)
    // `checkBounds` refuses what is shorter than a header.
    let base = bytes.baseAddress.unsafelyUnwrapped
    let length = try newLength(of: base)
    var row = RowWriter(
      writer.reserve(length), layout: new, version: RowBytes.version(base), base: nil)
    for slot in 0..<new.slotCount {
      let source = sources[slot]
      if source < 0 {
        // Defaults are of their attribute's type: the schema has coerced them.
        guard row.write(defaults[slot], slot) else { throw .wrongType(slot: slot) }
      } else if RowBytes.isNil(base, source) || new.kind(of: slot) == .transient {
        _ = row.write(.null, slot)
      } else {
        row.copy(old.table[source], of: base, to: slot)
      }
    }
    row.finish(length, stamp: stamp, primaryKey: primaryKey)
    return writer.commit(length)
  }

  private func newLength(of base: UnsafeRawPointer) throws(RowError) -> Int {
    var length = new.fixedEnd
    for slot in new.variableSlots.lazy.map({ Int($0) }) {
      let source = sources[slot]
      if source < 0 {
        guard defaultLengths[slot] <= RowFormat.maximumInlineLength else {
          throw .valueTooLong(
            slot: slot, byteCount: defaultLengths[slot], limit: RowFormat.maximumInlineLength)
        }
        length += defaultLengths[slot]
      } else if !RowBytes.isNil(base, source) {
        let entry = old.table[source]
        length +=
          RowBytes.isExternal(base, entry)
          ? RowFormat.externalReferenceLength : RowBytes.variable(base, entry).count
      }
    }
    guard length <= RowFormat.longestInMemory else { throw .tooLong(byteCount: length) }
    return length
  }

  private static func isConvertible(_ old: SlotKind, _ new: SlotKind) -> Bool {
    switch (old, new) {
    case (.int16, .int32), (.int16, .int64), (.int32, .int64), (.float, .double), (_, .transient): true
    default: old == new
    }
  }
}
