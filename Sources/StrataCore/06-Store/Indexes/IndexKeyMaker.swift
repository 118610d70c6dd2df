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
  /// Which rows have a key; nil when all have one.
  private let filter: CompiledPredicate?
  /// Whether the last row has one. If not, there are no bytes, and nothing to be added.
  private var isMember = true
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
    filter = reader.catalogue.indexes.filters[index.number]
    self.reader = reader
  }

  /// Makes the key of `row`, if it has one.
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
    if let filter {
      isMember = try Self.isMember(row, primaryKey, externals, filter, reader, transaction)
      if !isMember { return }
    }
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

  /// Whether a partial index has an entry for a row.
  @inline(never)
  private static func isMember(
    _ row: StoredRow, _ primaryKey: UInt64, _ externals: [ExternalValue], _ filter: CompiledPredicate,
    _ reader: RowReader, _ transaction: borrowing ReadTransaction
  ) throws -> Bool {
    try filter.evaluate(
      row: row.base, table: reader.layout(of: row).table, primaryKey: primaryKey,
      large: { try reader.value(row, $0, primaryKey: primaryKey, externals: externals, transaction) },
      other: { instruction in
        // Beside tests of values there are only texts in it: see `IndexFilter`.
        let value = try reader.value(
          row, Int(instruction.slot), primaryKey: primaryKey, externals: externals, transaction)
        return try filter.texts[Int(instruction.firstOperand)].matches(value)
      })
  }

  /// Makes the key of a row with the entity's own layout; false when a value lies outside the row, or the index is a partial one. Counts no
  /// references.
  @inline(__always)
  mutating func makeInline(_ row: UnsafeRawPointer, _ entity: Int, _ primaryKey: UInt64) throws -> Bool {
    if filter != nil { return false }
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

  /// Adds the last key to `entries`, if the row has one.
  @inline(__always)
  func append(to entries: inout IndexEntries) {
    if !isMember { return }
    entries.append(builder.bytes, isTruncated: isTruncated, isConstrained: isConstrained)
  }

  /// Calls `body` with the last key, if the row has one.
  @inline(__always)
  func withKey(_ body: (UnsafeRawBufferPointer) -> Void) {
    if isMember { body(builder.bytes) }
  }

  /// Whether the last keys of both are the same bytes, or there are none.
  func hasSameKey(as other: borrowing IndexKeyMaker) -> Bool {
    isMember == other.isMember && KeyOrder.order(builder.bytes, other.builder.bytes) == 0
  }
}
