import Foundation

/// Makes the keys of one index from rows, one after another, in a buffer that is used again.
///
/// ```
///   part · part · … · primary key (8 bytes)
/// ```
struct IndexKeyMaker: ~Copyable {
  let index: IndexSchema
  let reader: RowReader
  private var builder = KeyBuilder()
  private let parts: ContiguousArray<IndexSchema.Part>
  /// The entity of the last row and its layout. Set together.
  private var lastEntity = -1
  private var lastLayout: RowLayout?
  /// Whether the last key stands for other values too.
  private(set) var isTruncated = false
  /// Whether no part of the last key is nil: only then a uniqueness constraint applies.
  private(set) var isConstrained = true

  init(index: IndexSchema, reader: RowReader) {
    self.index = index
    parts = ContiguousArray(index.parts)
    self.reader = reader
  }

  /// Makes the key of `row`.
  ///
  /// - Parameter externals: Large values of the row that are not stored yet.
  @inline(__always)
  mutating func make(
    _ row: StoredRow, _ primaryKey: UInt64, externals: [ExternalValue],
    _ transaction: borrowing ReadTransaction
  ) throws {
    builder.reset()
    isTruncated = false
    isConstrained = true
    let layout = reader.layout(of: row)
    for part in index.parts {
      if RowBytes.isNil(row.base, part.slot) { isConstrained = false }
      var made = builder.append(
        fromRow: row.base, slot: part.slot, layout: layout, isAscending: part.isAscending,
        limit: part.keyLimit)
      if made == .external {
        let value = try reader.value(
          row, part.slot, primaryKey: primaryKey, externals: externals, transaction)
        made = builder.append(value, isAscending: part.isAscending, limit: part.keyLimit)
      }
      if made == .truncated { isTruncated = true }
    }
    builder.appendPrimaryKey(primaryKey)
  }

  /// Makes the key of a row with the entity's own layout; false when a value lies outside the row. Counts no references.
  @inline(__always)
  mutating func makeInline(_ row: UnsafeRawPointer, _ entity: Int, _ primaryKey: UInt64) throws -> Bool {
    if entity != lastEntity {
      lastEntity = entity
      lastLayout = reader.parts.schema.entities[entity].layout
    }
    builder.reset()
    isTruncated = false
    isConstrained = true
    // Kept by this.
    return Unmanaged.passUnretained(lastLayout.unsafelyUnwrapped)._withUnsafeGuaranteedRef { layout in
      for place in 0..<parts.count {
        let part = parts[place]
        if RowBytes.isNil(row, part.slot) { isConstrained = false }
        let made = builder.append(
          fromRow: row, slot: part.slot, layout: layout, isAscending: part.isAscending, limit: part.keyLimit)
        if made == .external { return false }
        if made == .truncated { isTruncated = true }
      }
      builder.appendPrimaryKey(primaryKey)
      return true
    }
  }

  /// Adds the last key to `entries`.
  @inline(__always)
  func append(to entries: inout IndexEntries) {
    entries.append(builder.bytes, isTruncated: isTruncated, isConstrained: isConstrained)
  }

  /// Whether the last keys of both are the same bytes.
  func hasSameKey(as other: borrowing IndexKeyMaker) -> Bool {
    IndexEntries.order(builder.bytes, other.builder.bytes) == 0
  }
}
