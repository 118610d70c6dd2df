import Foundation

/// The new rows of a batch insert, encoded, on their way into the store. All of one entity.
///
/// ```
///   append ─▶ chunk being filled ─▶ a few sealed chunks in memory ─▶ the others in a file without a name
/// ```
///
/// All rows are here before the store's transaction begins: what makes them is the user's code, which no writer may wait for
/// while he holds the writer; and the transaction may have to begin again, when the file has to grow. Memory for two chunks and
/// what lies in memory, 24 MB at most, however many rows there are; large values count.
///
/// Who may have to give only some of a row's values to a record that is there already asks to keep which slots were given any.
///
/// Filled by one thread, read afterwards by another, more than once if need be.
package final class BatchRows: @unchecked Sendable {
  // Unchecked: `append` is called by one thread, before the batch is handed over; afterwards nothing changes.

  /// The entity's number in the schema.
  package let entity: Int
  /// How many rows there are.
  package private(set) var count = 0
  /// The entity's stored slots.
  let slots: SlotBitmap
  /// Whether it is kept which slots of each row were given values.
  let keepsGiven: Bool
  private let step: Int
  private let memoryLength: Int
  private let spill: BatchFile
  private var sealed: [BatchChunk] = []
  private var sealedBytes = 0
  /// Where the chunks in the file begin, and how many rows each has.
  private var places: [(offset: Int, length: Int, count: Int)] = []
  private var chunk = BatchChunk(start: 0)
  private var chunkBytes = 0

  /// The most rows written at once: their index entries are sorted together.
  static let chunkCount = 65_536
  /// A chunk is full with that many bytes.
  static let chunkLength = 8 << 20
  /// What may stay in memory.
  static let memoryLength = 16 << 20

  /// For rows of `entity`, whose stored slots are `slots`. `folder` is where a file is made when memory does not do.
  init(
    entity: Int, slots: SlotBitmap, folder: String, keepsGiven: Bool = false,
    step: Int = BatchRows.chunkCount, memoryLength: Int = BatchRows.memoryLength, system: FileSystem = .system
  ) {
    self.keepsGiven = keepsGiven
    self.step = step
    self.memoryLength = memoryLength
    self.entity = entity
    self.slots = slots
    spill = BatchFile(folder: folder, system: system)
  }

  /// Adds a row; `given` are the slots that were given values, where that is kept.
  /// - Throws: `StorageError` when the file cannot be made or written.
  func append(_ row: RowChange, given: SlotBitmap = SlotBitmap()) throws {
    chunk.rows.append(row)
    if keepsGiven { chunk.given.append(given) }
    count += 1
    chunkBytes += Int(row.row.count)
    for value in row.externals { chunkBytes += value.bytes.count }
    if chunkBytes >= Self.chunkLength || chunk.rows.count >= step { try seal() }
  }

  private func seal() throws {
    if places.isEmpty, sealedBytes + chunkBytes <= memoryLength {
      sealed.append(chunk)
      sealedBytes += chunkBytes
    } else {
      var bytes = Data(capacity: chunkBytes + chunk.rows.count * 24)
      for (place, row) in chunk.rows.enumerated() {
        RowBytesCoding.append(row, given: keepsGiven ? chunk.given[place] : nil, to: &bytes)
      }
      let offset = try spill.append(bytes)
      places.append((offset, bytes.count, chunk.rows.count))
    }
    chunk = BatchChunk(start: count)
    chunkBytes = 0
  }

  /// Calls `body` with all rows, some at a time, in the order in which they were added.
  package func forEachChunk(_ body: (BatchChunk) throws -> Void) throws {
    for chunk in sealed { try body(chunk) }
    var start = sealed.reduce(0) { $0 + $1.rows.count }
    for place in places {
      let bytes = try spill.read(place.offset, place.length)
      let coding = RowBytesCoding(entity: entity, slots: slots, hasGiven: keepsGiven, file: spill)
      try body(try coding.chunk(bytes, start: start, count: place.count))
      start += place.count
    }
    if !chunk.rows.isEmpty { try body(chunk) }
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

/// Rows in the file of a batch:
///
/// ```
///   0  u64  primary key          in the machine's own order: it is not read elsewhere
///   8  u32  bytes of the row
///  12  u32  large values
///  16       the row
///           for each large value: u32 slot, u64 bytes, the bytes
///           where it is kept which slots were given values: u16 how many, u16 for each
/// ```
private struct RowBytesCoding {
  let entity: Int
  let slots: SlotBitmap
  let hasGiven: Bool
  let file: BatchFile

  static func append(_ row: RowChange, given: SlotBitmap?, to bytes: inout Data) {
    put(row.primaryKey, &bytes)
    put(UInt32(row.row.count), &bytes)
    put(UInt32(row.externals.count), &bytes)
    row.row.withBytes { bytes.append(contentsOf: $0) }
    for value in row.externals {
      put(UInt32(value.slot), &bytes)
      put(UInt64(value.bytes.count), &bytes)
      bytes.append(value.bytes)
    }
    guard let given else { return }
    put(UInt16(given.count), &bytes)
    given.forEach { put(UInt16($0), &bytes) }
  }

  private static func put<Number: FixedWidthInteger>(_ number: Number, _ bytes: inout Data) {
    withUnsafeBytes(of: number) { bytes.append(contentsOf: $0) }
  }

  func chunk(_ data: Data, start: Int, count: Int) throws -> BatchChunk {
    var chunk = BatchChunk(start: start)
    chunk.rows.reserveCapacity(count)
    if hasGiven { chunk.given.reserveCapacity(count) }
    var slab = RowSlabWriter(expectedLength: data.count)
    try data.withUnsafeBytes { bytes in
      var place = 0
      func take(_ length: Int) throws -> UnsafeRawBufferPointer {
        guard length >= 0, length <= bytes.count - place else { throw file.isShort }
        defer { place += length }
        return UnsafeRawBufferPointer(rebasing: bytes[place..<place + length])
      }
      func number<Number: FixedWidthInteger>(_ type: Number.Type) throws -> Number {
        try take(MemoryLayout<Number>.size).loadUnaligned(as: type)
      }
      for _ in 0..<count {
        let key = try number(UInt64.self)
        let length = try Int(number(UInt32.self))
        let externalCount = try Int(number(UInt32.self))
        guard length >= RowFormat.headerLength else { throw file.isShort }
        let row = slab.append(copying: try take(length))
        var externals: [ExternalValue] = []
        for _ in 0..<externalCount {
          let slot = try Int(number(UInt32.self))
          let length = try Int(clamping: number(UInt64.self))
          externals.append(ExternalValue(slot: slot, bytes: Data(try take(length))))
        }
        chunk.rows.append(
          RowChange(
            entity: entity, primaryKey: key, baseVersion: 0, row: row, externals: externals,
            changedSlots: slots))
        guard hasGiven else { continue }
        var given = SlotBitmap()
        for _ in 0..<(try number(UInt16.self)) { given.insert(Int(try number(UInt16.self))) }
        chunk.given.append(given)
      }
    }
    return chunk
  }
}

/// A file of one batch: it loses its name as soon as it is made, so that nothing is left of it whatever happens.
final class BatchFile: @unchecked Sendable {
  // Unchecked: as `BatchRows`, which alone uses it.
  private let folder: String
  private let system: FileSystem
  private var descriptor: Int32 = -1
  private var length = 0

  init(folder: String, system: FileSystem) {
    self.folder = folder
    self.system = system
  }

  deinit { if descriptor >= 0 { _ = system.close(descriptor) } }

  /// What a file says that has lost its end.
  var isShort: StorageError {
    StorageError(
      .damaged, operation: "pread", path: folder,
      detail: "The file of a batch insert is not what was written."
    )
  }

  /// Adds bytes; where they begin.
  func append(_ bytes: Data) throws -> Int {
    if descriptor < 0 { try make() }
    let start = length
    try bytes.withUnsafeBytes { try system.writeAll(descriptor, $0, at: start, path: folder) }
    length += bytes.count
    return start
  }

  func read(_ offset: Int, _ count: Int) throws -> Data {
    var data = Data(count: count)
    try data.withUnsafeMutableBytes { buffer in
      var done = 0
      while done < count {
        let part = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
        let read = system.read(descriptor, part, offset + done)
        if read < 0 { throw StorageError(Int32(-read), "pread", path: folder) }
        if read == 0 { throw isShort }
        done += read
      }
    }
    return data
  }

  private func make() throws {
    let path = "\(folder)/.strata-batch-\(UUID().uuidString)"
    let opened = system.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    if opened < 0 { throw StorageError(-opened, "open", path: path) }
    descriptor = opened
    let code = system.unlink(path)
    if code < 0 { throw StorageError(-code, "unlink", path: path) }
  }
}
