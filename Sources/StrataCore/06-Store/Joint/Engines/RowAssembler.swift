import Foundation

/// A value that a row does not hold itself: the row says of which of its versions the value is, and how long it is.
package struct OutsideValue: Sendable, Hashable {
  /// The version of the row that wrote the value.
  package var version: UInt32
  /// How many bytes the value takes.
  package var byteCount: UInt64

  package init(version: UInt32, byteCount: UInt64) {
    self.version = version
    self.byteCount = byteCount
  }
}

/// Makes rows of values, for engines that keep them in another form than rows. Used by one thread.
///
/// Rows lie side by side in memory that they share, as those do that LMDB's engine copies out of its file.
package struct RowAssembler: ~Copyable {
  private var writer: RowSlabWriter

  /// `expectedLength` is about how many bytes of rows there will be, if known.
  package init(expectedLength: Int = 1_024) { writer = RowSlabWriter(expectedLength: expectedLength) }

  /// The row with these values, by slot. Values of `outside` are referred to. What is too long for a row and not among them is referred to as
  /// a value of this very version.
  ///
  /// - Throws: ``StorageError`` `.damaged` when a value is of another type than its slot.
  package mutating func row(
    of entity: EntitySchema, stamp: RowStamp, primaryKey: UInt64, version: UInt32, values: [AttributeValue],
    outside: [Int: OutsideValue] = [:]
  ) throws -> RowSnapshot {
    let layout = entity.layout
    precondition(values.count == layout.slotCount, "there is a value for every slot")
    var outside = outside
    var length = layout.fixedEnd
    for slot in layout.variableSlots.lazy.map({ Int($0) }) {
      if outside[slot] == nil {
        let count = RowEncoder.variableLength(of: values[slot])
        if count <= RowFormat.maximumInlineLength {
          length += count
          continue
        }
        outside[slot] = OutsideValue(version: version, byteCount: UInt64(count))
      }
      length += RowFormat.externalReferenceLength
    }
    if length > RowFormat.maximumRowLength { length = Self.spill(values, layout, version, &outside, length) }
    var row = RowWriter(writer.reserve(length), layout: layout, version: version, base: nil)
    for slot in 0..<layout.slotCount {
      if !outside.isEmpty, let value = outside[slot] {
        row.writeOutside(ExternalReference(version: value.version, byteCount: value.byteCount), slot)
      } else if !row.write(values[slot], slot) {
        throw StorageError(
          .damaged, operation: "read row", path: "",
          detail:
            "The value of \(entity.name).\(layout.slots[slot].name) of p\(primaryKey) is of another type.")
      }
    }
    row.finish(length, stamp: stamp, primaryKey: primaryKey)
    return writer.commit(length)
  }

  /// The row with these values, by slot; nil when they are too long for it, or one is not of its slot's kind. URLs and decimals have a form of their own in
  /// rows: they are never taken.
  ///
  /// Nothing is allocated for a row but its share of the memory for rows.
  @inline(__always)
  package mutating func row(
    of entity: EntitySchema, stamp: RowStamp, primaryKey: UInt64, version: UInt32,
    raw: UnsafeBufferPointer<RawValue>
  ) -> RowSnapshot? {
    let layout = entity.layout
    precondition(raw.count == layout.slotCount, "there is a value for every slot")
    var length = layout.fixedEnd
    for slot in layout.variableSlots {
      let count = raw[Int(slot)].variableLength
      if count > RowFormat.maximumInlineLength { return nil }
      length += count
    }
    if length > RowFormat.maximumRowLength { return nil }
    var row = RowWriter(writer.reserve(length), layout: layout, version: version, base: nil)
    for slot in 0..<raw.count where !row.write(raw: raw[slot], slot) { return nil }
    row.finish(length, stamp: stamp, primaryKey: primaryKey)
    return writer.commit(length)
  }

  /// The row with the values that `value` gives for each stored slot, and the values that are too large for it: the engine must answer for them in
  /// `externalValue`.
  ///
  /// - Throws: what `value` throws; `CoreDataError` 134070 for a value of another type than the slot's, or one that is too long.
  package mutating func row(
    of entity: EntitySchema, stamp: RowStamp, primaryKey: UInt64, version: UInt32,
    value: (_ slot: Int) throws -> AttributeValue
  ) throws -> (row: RowSnapshot, externals: [ExternalValue]) {
    let draft = RowDraft.make(entity.layout)
    for attribute in entity.attributes where !attribute.isTransient && attribute.slot != entity.baselineSlot {
      draft[attribute.slot] = try value(attribute.slot)
    }
    do {
      let (row, externals) = try RowEncoder.encode(
        layout: entity.layout, stamp: stamp, primaryKey: primaryKey, version: version, base: nil,
        draft: draft, into: &writer)
      return (row, externals)
    } catch {
      throw CoreDataError(
        .persistentStoreOperation,
        "A record of \(entity.name) cannot be taken from the store: \(error.words(in: entity))",
        userInfo: [NSUnderlyingErrorKey: error])
    }
  }

  /// Refers to the longest values until the rest fits; the row's length then.
  private static func spill(
    _ values: [AttributeValue], _ layout: RowLayout, _ version: UInt32, _ outside: inout [Int: OutsideValue],
    _ length: Int
  ) -> Int {
    var candidates: [(slot: Int, count: Int)] = []
    for slot in layout.variableSlots.lazy.map({ Int($0) })
    where outside[slot] == nil && layout.kind(of: slot) != .decimal {
      candidates.append((slot, RowEncoder.variableLength(of: values[slot])))
    }
    return RowFormat.shorten(length, candidates) { value in
      outside[value.slot] = OutsideValue(version: version, byteCount: UInt64(value.count))
    }
  }
}

extension RowSnapshot {
  /// What a row says of a slot.
  package enum Content: Sendable {
    case value(AttributeValue)
    /// The value must be asked of the store, or comes beside the row.
    case outside(OutsideValue)
  }

  /// What the row says of a slot of its entity.
  package func content(_ slot: Int, of entity: EntitySchema) -> Content {
    if let value = value(slot, entity.layout) { return .value(value) }
    guard let reference = externalReference(slot, entity.layout) else { return .value(.null) }
    return .outside(OutsideValue(version: reference.version, byteCount: reference.byteCount))
  }

  /// How many bytes the row takes.
  package var byteCount: Int { Int(count) }

  /// The value of a slot, as it lies in the row; nil for one that is outside, a URL and a decimal.
  ///
  /// - Parameter body: Must not keep the bytes.
  @inline(__always)
  package func withRaw<R>(_ slot: Int, of entity: EntitySchema, _ body: (RawValue?) throws -> R) rethrows -> R
  {
    let entry = entity.layout.entry(of: slot)
    return try withExtendedLifetime(owner) {
      if RowBytes.isNil(base, slot) { return try body(.null) }
      switch RowBytes.kind(entry) {
      case .int64, .double, .date, .reference:
        return try body(.word(UInt64(bitPattern: RowBytes.int64(base, entry))))
      case .int32, .int16, .boolean:
        return try body(.word(UInt64(bitPattern: RowBytes.integer(base, entry))))
      case .float: return try body(.word(UInt64(RowBytes.float(base, entry).bitPattern)))
      case .uuid:
        return try body(.bytes(UnsafeRawBufferPointer(start: base + RowBytes.offset(entry), count: 16)))
      case .string, .data:
        return try body(RowBytes.isExternal(base, entry) ? nil : .bytes(RowBytes.variable(base, entry)))
      case .url, .decimal, .transient: return try body(nil)
      }
    }
  }

  /// What a to-one relationship of the row refers to, see ``StoreReference``; 0 for nothing.
  package func reference(_ slot: Int, of entity: EntitySchema) -> UInt64 {
    let entry = entity.layout.entry(of: slot)
    precondition(entity.layout.kind(of: slot) == .reference, "the slot holds references")
    return withExtendedLifetime(owner) { RowBytes.reference(base, entry) }
  }

  /// The store's code of the row's entity.
  package var code: UInt16 { entityCode }
}

/// The word that names an object in its store: its primary key and the store's code of its entity, which is never 0.
package enum StoreReference {
  /// Primary keys are below this, and above 0.
  package static let keyLimit = PrimaryKeyAllocator.limit
  /// The largest key with which an object is taken in from elsewhere: enough are left for new ones.
  package static let largestTaken = PrimaryKeyAllocator.largestTaken

  /// The word of an object.
  package static func bits(_ primaryKey: UInt64, entityCode: UInt16) -> UInt64 {
    Reference.bits(primaryKey, entityCode: entityCode)
  }

  /// The primary key, unique in the object's hierarchy.
  package static func primaryKey(_ bits: UInt64) -> UInt64 { Reference.primaryKey(bits) }

  /// The code of the object's entity.
  package static func entityCode(_ bits: UInt64) -> UInt16 { Reference.entityCode(bits) }
}
