import Foundation

/// Some rows of a batch insert as they are encoded, in their order: 24 bytes for each beside its own, and no object.
///
/// ```
///   rows     [key | place | length, slab] …
///   slabs    ▒▒▒▒▒▒▒▒ ▒▒▒▒▒▒▒▒ …             the rows' bytes
/// ```
struct RowBlock {
  /// One of them.
  struct Row {
    let key: UInt64
    /// Valid as long as the block, or its slab, lives.
    let base: UnsafeRawPointer
    let count: Int32
    /// The number of the slab in which it lies.
    let slab: Int32

    @inline(__always)
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: Int(count)) }
  }

  /// The place of the first one among all rows of the batch.
  let start: Int
  private(set) var rows: ContiguousArray<Row> = []
  private(set) var slabs: ContiguousArray<RowSlab> = []
  /// Values too large for their rows, by the number of the row.
  private(set) var externals: [Int: [ExternalValue]] = [:]
  /// The slots that were given values, row by row; empty where that is not kept.
  var given: [SlotBitmap] = []
  /// How many bytes the rows and their large values have.
  private(set) var byteCount = 0

  /// - Parameter expecting: How many rows there will be, if that is known about: then there is no room for twice as many at last.
  init(start: Int, expecting: Int = 0) {
    self.start = start
    if expecting > 0 { rows.reserveCapacity(expecting) }
  }

  var count: Int { rows.count }

  @inline(__always)
  mutating func append(_ row: RowSnapshot, key: UInt64, externals: [ExternalValue]) {
    if slabs.last !== row.owner { slabs.append(row.owner) }
    rows.append(Row(key: key, base: row.base, count: row.count, slab: Int32(slabs.count - 1)))
    byteCount += Int(row.count)
    if !externals.isEmpty { append(externals) }
  }

  @inline(never)
  private mutating func append(_ externals: [ExternalValue]) {
    self.externals[rows.count - 1] = externals
    for value in externals { byteCount += value.bytes.count }
  }

  /// The row with this number, which keeps what it lies in.
  func snapshot(_ number: Int) -> RowSnapshot {
    let row = rows[number]
    return RowSnapshot(owner: slabs[Int(row.slab)], base: row.base, count: row.count)
  }

  /// The rows from `start` on and what they lie in, for another thread.
  func piece(from start: Int) -> Piece {
    let first = start < rows.count ? Int(rows[start].slab) : slabs.count
    // Copies, even of all of them: the block grows on while the other thread reads.
    var piece = (rows: ContiguousArray<Row>(), slabs: ContiguousArray<RowSlab>())
    piece.rows.reserveCapacity(rows.count - start)
    piece.rows.append(contentsOf: rows[start...])
    piece.slabs.reserveCapacity(slabs.count - first)
    piece.slabs.append(contentsOf: slabs[first...])
    return Piece(rows: piece.rows, slabs: piece.slabs)
  }

  /// Rows of a block. Unchecked: what lies in slabs does not change once it is written.
  struct Piece: @unchecked Sendable {
    let rows: ContiguousArray<Row>
    /// Keep the rows' bytes.
    let slabs: ContiguousArray<RowSlab>
  }

  /// The same, each row a change of its own.
  func chunk(entity: Int, slots: SlotBitmap) -> BatchChunk {
    var chunk = BatchChunk(start: start)
    chunk.given = given
    chunk.rows.reserveCapacity(rows.count)
    for (number, row) in rows.enumerated() {
      chunk.rows.append(
        RowChange(
          entity: entity, primaryKey: row.key, baseVersion: 0,
          row: snapshot(number),
          externals: externals.isEmpty ? [] : externals[number] ?? [], changedSlots: slots))
    }
    return chunk
  }
}

/// Some rows of a batch, in their order.
package struct BatchChunk {
  /// The place of the first one among all rows of the batch.
  package let start: Int
  package var rows: [RowChange] = []
  /// Parallel to `rows`: the slots that were given values; empty where that is not kept.
  package var given: [SlotBitmap] = []

  init(start: Int) { self.start = start }
}
