import Foundation

/// Makes the keys of one index from rows, one after another, in a buffer that is used again.
///
/// ```
///   part · part · … · primary key (8 bytes)
/// ```
struct IndexKeyMaker {
  let index: IndexSchema
  let reader: RowReader
  private var builder: KeyBuilder
  /// Whether the last key stands for other values too.
  private(set) var isTruncated = false
  /// Whether no part of the last key is nil: only then a uniqueness constraint applies.
  private(set) var isConstrained = true

  init(index: IndexSchema, reader: RowReader) {
    self.index = index
    self.reader = reader
    builder = KeyBuilder(partCount: index.parts.count)
  }

  /// Makes the key of `row`.
  ///
  /// - Parameter externals: Large values of the row that are not stored yet.
  @inline(__always)
  mutating func make(
    _ row: StoredRow, _ primaryKey: UInt64, externals: [ExternalValue], _ transaction: borrowing ReadTransaction
  ) throws {
    builder.removeAll()
    isTruncated = false
    isConstrained = true
    let layout = reader.layout(of: row)
    for part in index.parts {
      if RowBytes.isNil(row.base, part.slot) { isConstrained = false }
      if row.hasExternalValues, row.isExternal(part.slot, layout) {
        let value = try reader.value(
          row, part.slot, primaryKey: primaryKey, externals: externals, transaction)
        let type = reader.attribute(of: row, part.slot).type
        if builder.append(value, type: type, ascending: part.isAscending) { isTruncated = true }
      } else if builder.append(
        fromRow: row.base, slot: part.slot, layout: layout, ascending: part.isAscending)
      {
        isTruncated = true
      }
    }
    builder.appendPrimaryKey(primaryKey)
  }

  /// Adds the last key to `entries`.
  @inline(__always)
  func append(to entries: inout IndexEntries) {
    builder.withUnsafeBytes { entries.append($0, isTruncated: isTruncated, isConstrained: isConstrained) }
  }

  /// The last key.
  func withKey<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    try builder.withUnsafeBytes(body)
  }

  /// Whether the last keys of both are the same bytes.
  func hasSameKey(as other: IndexKeyMaker) -> Bool {
    builder.withUnsafeBytes { key in
      other.builder.withUnsafeBytes { IndexEntries.order(key, $0) == 0 }
    }
  }
}
