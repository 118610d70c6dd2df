import Foundation

/// Makes rows from drafts.
enum RowEncoder {
  /// Encodes one object's row into the writer's slab.
  ///
  /// Without `base` every value comes from the draft; with it the changed ones do, and the others are copied
  /// from `base` byte by byte (references to external values are kept, not read). `base` has the same layout.
  /// Allocates only when a value goes outside the row. Values too long for the row are returned beside it and
  /// belong to this `version`.
  ///
  /// - Throws: `RowError.wrongType`, `.valueTooLong`; nothing has been taken from the writer then.
  static func encode(
    layout: RowLayout, stamp: RowStamp, primaryKey: UInt64, version: UInt32, base: RowSnapshot?,
    draft: RowDraft, into writer: inout RowSlabWriter, valueLimit: Int = RowFormat.maximumValueLength
  ) throws(RowError) -> (snapshot: RowSnapshot, externals: [ExternalValue]) {
    precondition(draft.slotCount == layout.slotCount, "the draft belongs to another entity")
    let source = RowSource(layout: layout, base: base?.base, draft: draft.pointers)
    defer { withExtendedLifetime((base, draft)) {} }
    if let misfit = source.firstMisfit() { throw .wrongType(slot: misfit) }
    var spill = Spill()
    var length = try source.plainLength(valueLimit: valueLimit)
    let isSpilling = length < 0
    if isSpilling { length = try spill.plan(source, valueLimit: valueLimit) }

    var row = RowWriter(writer.reserve(length), layout: layout, version: version, base: source.base)
    for slot in 0..<layout.slotCount {
      if let base = source.base, !source.isFromDraft(slot) {
        row.keep(slot, of: base, isSpilled: isSpilling && spill.contains(slot))
      } else if !row.write(source.draft, slot, isSpilled: isSpilling && spill.contains(slot)) {
        throw .wrongType(slot: slot)
      }
    }
    row.finish(length, stamp: stamp, primaryKey: primaryKey)
    return (writer.commit(length), row.externals)
  }

  /// The bytes a value takes in the tail; 0 for fixed ones.
  static func variableLength(of value: AttributeValue) -> Int {
    switch value {
    case .string(let string): string.utf8.count
    case .data(let data): data.count
    case .url(let url): url.absoluteString.utf8.count
    case .decimal(let decimal): DecimalBytes.encode(DecimalDigits(decimal)).count
    default: 0
    }
  }
}

/// The values of a row that is to be written: from a draft, or from a draft over a base row.
///
/// Addresses only: counting references per slot took a third of the time of encoding.
private struct RowSource {
  let table: UnsafePointer<UInt32>
  let variableSlots: UnsafeBufferPointer<Int32>
  let fixedEnd: Int
  let base: UnsafeRawPointer?
  let draft: RowDraft.Pointers

  /// Layout, base and draft live, unchanged, as long as this is used.
  @inline(__always)
  init(layout: RowLayout, base: UnsafeRawPointer?, draft: RowDraft.Pointers) {
    table = layout.table
    variableSlots = layout.variableSlots
    fixedEnd = layout.fixedEnd
    self.base = base
    self.draft = draft
  }

  @inline(__always)
  func isFromDraft(_ slot: Int) -> Bool { base == nil || draft.header.pointee.changed.contains(slot) }

  /// A slot that is to be written and holds a value of another kind.
  @inline(__always)
  func firstMisfit() -> Int? {
    if draft.header.pointee.misfits.isEmpty { return nil }
    return (0..<draft.header.pointee.slotCount).first {
      draft.header.pointee.misfits.contains($0) && isFromDraft($0) && RowBytes.kind(table[$0]) != .transient
    }
  }

  /// The row's length when no further value goes outside it, else -1.
  @inline(__always)
  func plainLength(valueLimit: Int) throws(RowError) -> Int {
    var length = fixedEnd
    for slot in variableSlots {
      let count = try inlineLength(Int(slot), valueLimit: valueLimit)
      if count > RowFormat.maximumInlineLength { return -1 }
      length += count
    }
    return length <= RowFormat.maximumRowLength ? length : -1
  }

  /// The bytes the slot's value takes in the tail while it stays as it is.
  @inline(__always)
  func inlineLength(_ slot: Int, valueLimit: Int) throws(RowError) -> Int {
    if let base, !draft.header.pointee.changed.contains(slot) {
      let entry = table[slot]
      // In a damaged row a nil value may claim bytes; they are not copied.
      if RowBytes.isNil(base, slot) { return 0 }
      if RowBytes.isExternal(base, entry) { return RowFormat.externalReferenceLength }
      return RowBytes.variable(base, entry).count
    }
    let count = draft.variableLength(slot)
    if count > valueLimit { throw .valueTooLong(slot: slot, byteCount: count, limit: valueLimit) }
    return count
  }
}

// MARK: Values outside the row

/// Which values go outside the row, and what they are.
private struct Spill {
  private var slots = SlotBitmap()

  @inline(__always)
  func contains(_ slot: Int) -> Bool { slots.contains(slot) }

  /// Chooses the values: those over 1,024 bytes, then the longest others while the row is too long.
  ///
  /// Returns the row's length.
  mutating func plan(_ source: RowSource, valueLimit: Int) throws(RowError) -> Int {
    var length = source.fixedEnd
    var inline: [(slot: Int, count: Int)] = []
    for slot in source.variableSlots.map({ Int($0) }) {
      let count = try source.inlineLength(slot, valueLimit: valueLimit)
      if count > RowFormat.maximumInlineLength {
        slots.insert(slot)
        length += RowFormat.externalReferenceLength
      } else {
        length += count
        if canSpill(slot, source) { inline.append((slot, count)) }
      }
    }
    return RowFormat.shorten(length, inline) { slots.insert($0.slot) }
  }

  /// Not for decimals, which readers expect in the row, nor for what is outside already.
  private func canSpill(_ slot: Int, _ source: RowSource) -> Bool {
    let entry = source.table[slot]
    guard RowBytes.kind(entry) != .decimal else { return false }
    guard let base = source.base, !source.isFromDraft(slot) else { return true }
    return !RowBytes.isExternal(base, entry)
  }
}

extension RowFormat {
  /// Has the longest of these values lie outside a row until the rest fits, and returns the row's length then.
  static func shorten(
    _ length: Int, _ values: [(slot: Int, count: Int)], _ move: ((slot: Int, count: Int)) -> Void
  ) -> Int {
    var length = length
    // What is no longer than a reference saves nothing.
    let candidates = values.filter { $0.count > externalReferenceLength }.sorted {
      $0.count != $1.count ? $0.count > $1.count : $0.slot < $1.slot
    }
    for value in candidates where length > maximumRowLength {
      move(value)
      length += externalReferenceLength - value.count
    }
    // Holds for every layout: `RowLayout.init` refuses slots whose references alone would not fit.
    precondition(length <= maximumRowLength, "a row of references fits")
    return length
  }
}
