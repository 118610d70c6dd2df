import Foundation

/// The new rows of a batch insert, encoded, on their way into the store. All of one entity.
///
/// ```
///   append ─▶ block being filled ─▶ a few full blocks in memory ─▶ the others in a file without a name
///                   └─▶ index entries, on another thread (`BatchEntries`), where the store makes them ahead
/// ```
///
/// All rows are here before the store's transaction begins: what makes them is the user's code, which no writer may wait for
/// while he holds the writer; and the transaction may have to begin again, when the file has to grow. Memory for two blocks and
/// what lies in memory, 32 MB at most, however many rows there are; large values count.
///
/// Who may have to give only some of a row's values to a record that is there already asks to keep which slots were given any.
///
/// Filled by one thread, read afterwards by another, more than once if need be.
package final class BatchRows: @unchecked Sendable {
  // Unchecked: `append` is called by one thread, before the batch is handed over; afterwards nothing changes.

  /// The entity's number in the schema.
  package let entity: Int
  // `@exclusivity(unchecked)`: used by one frame at a time, and there are no calls back.
  /// How many rows there are.
  @exclusivity(unchecked) package private(set) var count = 0
  /// The entity's stored slots.
  let slots: SlotBitmap
  /// Whether it is kept which slots of each row were given values.
  let keepsGiven: Bool
  /// The rows' index entries, where the store makes them ahead. Only after `end`.
  let entries: BatchEntries?
  private let step: Int
  private let memoryLength: Int
  private let spill: BatchFile
  @exclusivity(unchecked) private var full: [RowBlock] = []
  @exclusivity(unchecked) private var fullBytes = 0
  /// Where the blocks in the file begin, and how many rows each has.
  @exclusivity(unchecked) private var places: [(offset: Int, length: Int, count: Int)] = []
  @exclusivity(unchecked) private var block = RowBlock(start: 0)
  /// How many rows of the block have been handed over to who makes their index entries, and how many bytes they have.
  @exclusivity(unchecked) private var handedOver = 0
  @exclusivity(unchecked) private var handedOverBytes = 0

  /// The most rows written at once.
  static let chunkCount = 65_536
  /// A block is full with that many bytes.
  static let chunkLength = 4 << 20
  /// What may stay in memory.
  static let memoryLength = 24 << 20
  /// So many rows, or so many bytes of them, are handed over at a time to who makes their index entries.
  private static let pieceCount = 4_096
  private static let pieceLength = 1 << 20

  /// For rows of `entity`, whose stored slots are `slots`. `folder` is where a file is made when memory does not do.
  init(
    entity: Int, slots: SlotBitmap, folder: String, keepsGiven: Bool = false,
    step: Int = BatchRows.chunkCount, memoryLength: Int = BatchRows.memoryLength,
    entries: BatchEntries? = nil,
    system: FileSystem = .system
  ) {
    self.keepsGiven = keepsGiven
    self.step = step
    self.memoryLength = memoryLength
    self.entity = entity
    self.slots = slots
    self.entries = entries
    spill = BatchFile(folder: folder, system: system)
  }

  /// Adds a row; `given` are the slots that were given values, where that is kept.
  /// - Throws: `StorageError` when the file cannot be made or written.
  @inline(__always)
  func append(
    _ row: RowSnapshot, key: UInt64, externals: [ExternalValue],
    given: @autoclosure () -> SlotBitmap = SlotBitmap()
  ) throws {
    block.append(row, key: key, externals: externals)
    if keepsGiven { block.given.append(given()) }
    count += 1
    if block.count - handedOver >= Self.pieceCount || block.byteCount - handedOverBytes >= Self.pieceLength {
      handOver()
    }
    if block.byteCount >= Self.chunkLength || block.count >= step { try seal() }
  }

  /// All rows have been added.
  func end() {
    handOver()
    entries?.end()
  }

  /// All rows, unless some of them lie in a file.
  var blocksInMemory: [RowBlock]? { places.isEmpty ? full + [block] : nil }

  private func handOver() {
    if let entries, handedOver < block.count { entries.add(block.piece(from: handedOver)) }
    handedOver = block.count
    handedOverBytes = block.byteCount
  }

  private func seal() throws {
    handOver()
    (handedOver, handedOverBytes) = (0, 0)
    if places.isEmpty, fullBytes + block.byteCount <= memoryLength {
      full.append(block)
      fullBytes += block.byteCount
    } else {
      let place = try RowBytesCoding.write(block, hasGiven: keepsGiven, to: spill)
      places.append((place.offset, place.length, block.count))
    }
    // The next one has about as many rows.
    block = RowBlock(start: count, expecting: block.count + block.count / 32)
  }

  /// Calls `body` with all rows, in their order.
  /// - Throws: `StorageError` when the file cannot be read; what `body` throws.
  package func forEachChunk(_ body: (BatchChunk) throws -> Void) throws {
    try forEachBlock { try body($0.chunk(entity: entity, slots: slots)) }
  }

  /// The same, as they are encoded.
  func forEachBlock(_ body: (RowBlock) throws -> Void) throws {
    for block in full { try body(block) }
    var start = full.reduce(0) { $0 + $1.count }
    for place in places {
      let slab = RowSlab.make(length: place.length)
      try spill.read(place.offset, into: UnsafeMutableRawBufferPointer(start: slab.base, count: place.length))
      let coding = RowBytesCoding(hasGiven: keepsGiven, file: spill)
      try body(try coding.block(slab, length: place.length, start: start, count: place.count))
      start += place.count
    }
    if block.count > 0 { try body(block) }
  }
}

/// A block in the file of a batch, in the machine's own order: it is not read elsewhere. Each part begins at a multiple of eight bytes:
///
/// ```
///   0  u64  primary key
///   8  u32  bytes of the row
///  12  u32  large values
///  16       the row
///           for each large value: u64 slot, u64 bytes, the bytes
///           where it is kept which slots were given values: u64 how many, u64 for each
/// ```
private struct RowBytesCoding {
  let hasGiven: Bool
  let file: BatchFile

  /// So many bytes are collected before they are written: a block need not be in memory twice.
  private static let bufferLength = 256 << 10

  /// Adds a block to the file; where it lies.
  static func write(_ block: RowBlock, hasGiven: Bool, to file: BatchFile) throws -> (
    offset: Int, length: Int
  ) {
    let start = file.length
    var bytes = Data(capacity: min(bufferLength, block.byteCount + block.count * 24) + 4_096)
    for (number, row) in block.rows.enumerated() {
      if bytes.count >= bufferLength {
        _ = try file.append(bytes)
        bytes.removeAll(keepingCapacity: true)
      }
      let externals = block.externals.isEmpty ? [] : block.externals[number] ?? []
      put(row.key, &bytes)
      put(UInt64(row.count) | UInt64(externals.count) << 32, &bytes)
      put(row.bytes, &bytes)
      for value in externals {
        put(UInt64(value.slot), &bytes)
        put(UInt64(value.bytes.count), &bytes)
        value.bytes.withUnsafeBytes { put($0, &bytes) }
      }
      guard hasGiven else { continue }
      put(UInt64(block.given[number].count), &bytes)
      block.given[number].forEach { put(UInt64($0), &bytes) }
    }
    _ = try file.append(bytes)
    return (start, file.length - start)
  }

  private static func put(_ number: UInt64, _ bytes: inout Data) {
    withUnsafeBytes(of: number) { bytes.append(contentsOf: $0) }
  }

  private static func put(_ part: UnsafeRawBufferPointer, _ bytes: inout Data) {
    bytes.append(contentsOf: part)
    if part.count & 7 != 0 { bytes.append(contentsOf: repeatElement(0, count: 8 - part.count & 7)) }
  }

  /// The block whose bytes have been read into `slab`, where its rows stay.
  func block(_ slab: RowSlab, length: Int, start: Int, count: Int) throws -> RowBlock {
    var block = RowBlock(start: start, expecting: count)
    let bytes = UnsafeRawBufferPointer(start: slab.base, count: length)
    var place = 0
    func take(_ length: Int) throws -> UnsafeRawBufferPointer {
      guard length >= 0, length <= bytes.count - place else { throw file.isShort }
      defer { place = min(place + (length + 7) & ~7, bytes.count) }
      return UnsafeRawBufferPointer(rebasing: bytes[place..<place + length])
    }
    func number() throws -> UInt64 { try take(8).load(as: UInt64.self) }
    for _ in 0..<count {
      let key = try number()
      let lengths = try number()
      let row = try take(Int(lengths & 0xFFFF_FFFF))
      guard row.count >= RowFormat.headerLength, let base = row.baseAddress else { throw file.isShort }
      var externals: [ExternalValue] = []
      for _ in 0..<lengths >> 32 {
        let slot = Int(clamping: try number())
        externals.append(ExternalValue(slot: slot, bytes: Data(try take(Int(clamping: try number())))))
      }
      block.append(
        RowSnapshot(owner: slab, base: base, count: Int32(row.count)), key: key, externals: externals)
      guard hasGiven else { continue }
      var given = SlotBitmap()
      for _ in 0..<(try number()) { given.insert(Int(clamping: try number())) }
      block.given.append(given)
    }
    return block
  }
}
