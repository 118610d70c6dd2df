import Dispatch
import Foundation

/// The index entries of a batch insert, made and sorted by a second thread while the first one still makes the rows, and while the writer puts them.
///
/// ```
///   context's thread   rows ─────▶ rows ─────▶ rows ─▶ end
///   this               └─▶ keys    └─▶ keys    └─▶ keys ─▶ sort ──┐
///   writer                                            rows ─────▶ entries, each index in one ascending pass
/// ```
///
/// So every index is gone through once for the whole batch: entries behind its last one are appended, as all are in an empty one. Memory for
/// `mostBytes` of entries: what is more lies in sorted runs in a file without a name, which are merged.
///
/// Only where a key takes no more than the row's own bytes: there are none for partial indexes and large values in keys. Then the writer makes them.
final class BatchEntries: @unchecked Sendable {
  // Unchecked: all that changes is used on `queue` until `lists` has waited for it, and not changed afterwards.

  /// The catalogue the entries were made with: with another one, which indexes are kept may have changed.
  let generation: UInt64
  private let queue = DispatchQueue(label: "strata.entries")
  /// So many pieces may wait: the rows in them cannot be let go.
  private let room = DispatchSemaphore(value: 8)
  private let entity: Int
  private let mostBytes: Int
  private let all: [SortedEntries]
  private let file: BatchFile
  private var failure: (any Error)?
  private var isComplete = true
  /// Signalled when the entries of all rows have been made, or cannot be.
  private let made = DispatchSemaphore(value: 0)
  /// Set by the thread that makes the rows, before the batch is handed over.
  private var hasEnded = false

  /// What entries may take in memory.
  static let mostBytes = 10 << 20

  /// For new rows of `entity`. Nil when there is an index whose entries the writer has to make.
  init?(entity: Int, reader: RowReader, folder: String, mostBytes: Int = BatchEntries.mostBytes) {
    let catalogue = reader.catalogue
    var lists: [SortedEntries] = []
    for index in catalogue.indexes.maintained
    where reader.parts.schema.entities[index.owner].subtree.contains(entity) {
      if catalogue.indexes.filters[index.number] != nil { return nil }
      lists.append(SortedEntries(index, reader))
    }
    generation = catalogue.generation
    self.entity = entity
    self.mostBytes = mostBytes
    all = lists
    file = BatchFile(folder: folder, system: .system)
  }

  /// Takes rows. Waits when many are waiting.
  func add(_ piece: RowBlock.Piece) {
    if all.isEmpty { return }
    room.wait()
    queue.async {
      self.make(piece)
      self.room.signal()
    }
  }

  /// All rows have been added.
  func end() {
    hasEnded = true
    queue.async {
      self.made.signal()
      self.finish()
    }
  }

  /// Whether there are uniqueness constraints among the indexes.
  var hasConstraints: Bool { all.contains { $0.index.isUnique } }

  /// Whether the entries of all rows could be made. Waits for that, and not for their order.
  func areMade() -> Bool {
    if !hasEnded { return false }
    made.wait()
    made.signal()
    return isComplete
  }

  /// The entries of each index, in order. Only when they could be made. Waits for them.
  /// - Throws: `StorageError` when the file of runs could not be made or written.
  func lists() throws -> [SortedEntries] {
    queue.sync {}
    if let failure { throw failure }
    return all
  }

  private func make(_ piece: RowBlock.Piece) {
    guard isComplete, failure == nil else { return }
    do {
      for list in all where try !list.add(piece, entity) {
        isComplete = false
        return
      }
      if all.reduce(0, { $0 + $1.byteCount }) > mostBytes { for list in all { try list.spill(to: file) } }
    } catch {
      failure = error
    }
  }

  private func finish() {
    guard isComplete, failure == nil else { return }
    do {
      for list in all { try list.finish(file) }
    } catch {
      failure = error
    }
  }
}

/// The entries of one index.
final class SortedEntries {
  let index: IndexSchema
  // `@exclusivity(unchecked)`: one thread after the other uses them, see `BatchEntries`, and there are no calls back.
  @exclusivity(unchecked) private var keys: IndexKeyMaker
  @exclusivity(unchecked) private var changes = IndexChanges()
  @exclusivity(unchecked) private var runs: [Range<Int>] = []
  @exclusivity(unchecked) private var file: BatchFile?
  /// How many entries there are.
  @exclusivity(unchecked) private var count = 0

  init(_ index: IndexSchema, _ reader: RowReader) {
    self.index = index
    keys = IndexKeyMaker(index: index, reader: reader)
  }

  /// What lies in memory.
  var byteCount: Int {
    changes.insertions.byteCount + changes.insertions.count * MemoryLayout<IndexEntries.Entry>.stride
  }

  /// Makes the entries of these rows; false when one takes more than the row's bytes.
  func add(_ piece: RowBlock.Piece, _ entity: Int) throws -> Bool {
    for row in piece.rows {
      if try !keys.makeInline(row.base, entity, row.key) { return false }
      keys.append(to: &changes.insertions)
    }
    count += piece.rows.count
    return true
  }

  /// Puts what lies in memory into a file, as a sorted run.
  func spill(to file: BatchFile) throws {
    if changes.insertions.isEmpty { return }
    changes.insertions.sort()
    let start = file.length
    var bytes = Data(capacity: SortedRun.bufferLength)
    for place in 0..<changes.insertions.count {
      SortedRun.append(changes.insertions.key(place), changes.insertions.entries[place], to: &bytes)
      if bytes.count >= SortedRun.bufferLength {
        _ = try file.append(bytes)
        bytes.removeAll(keepingCapacity: true)
      }
    }
    _ = try file.append(bytes)
    runs.append(start..<file.length)
    self.file = file
    // Its memory is that of the next run, which needs as much: it need not grow step by step again, with the old and the new one beside each other.
    changes.insertions.removeAll()
  }

  func finish(_ file: BatchFile) throws {
    if runs.isEmpty {
      changes.insertions.sort()
    } else {
      try spill(to: file)
      changes = IndexChanges()
    }
  }

  // MARK: Afterwards

  /// Puts all entries into the index.
  func write(_ keyspace: Keyspace, _ transaction: borrowing WriteTransaction, _ writing: BatchWriting) throws
  {
    if count == 0 { return }
    let statistics = try transaction.read.statistics(keyspace)
    // Of those that go between others, as many lie on a page as there are for each.
    let pages = Int(statistics.ms_leaf_pages) * Int(statistics.ms_psize)
    let share = min(pages / count, Int(statistics.ms_psize))
    try transaction.withCursor(keyspace) { cursor in
      let last = try cursor.last().map { Array($0.key) }
      var isBehind = last == nil
      let none = UnsafeRawBufferPointer(start: nil, count: 0)
      try forEach { key, _ in
        try writing.look()
        if !isBehind, let last { isBehind = last.withUnsafeBytes { KeyOrder.order(key, $0) > 0 } }
        try writing.hold(key.count + BatchWriting.entryHeader + (isBehind ? 0 : share), transaction)
        try cursor.put(key, none, append: isBehind)
        return true
      }
    }
  }

  /// Whether two of the rows, or one of them and a stored one, may have the same values of the uniqueness constraint. Also when only the beginnings of
  /// values are the same that are cut in keys.
  func mayRepeatValues(
    _ keyspace: Keyspace, _ transaction: borrowing ReadTransaction, _ look: () throws -> Void
  ) throws -> Bool {
    try transaction.withCursor(keyspace) { cursor in
      var stored = try cursor.first()
      var last: [UInt8] = []
      var isFound = false
      try forEach { key, isConstrained in
        try look()
        if !isConstrained { return true }
        let value = UnsafeRawBufferPointer(rebasing: key.dropLast(8))
        isFound = last.withUnsafeBytes { KeyOrder.order($0, value) == 0 }
        if isFound { return false }
        last.removeAll(keepingCapacity: true)
        last.append(contentsOf: value)
        if let entry = stored, KeyOrder.order(entry.key, value) < 0 {
          stored = try cursor.seek(atLeast: value)
        }
        isFound = stored.map { IndexEntries.isEntry($0.key, of: value) } ?? false
        return !isFound
      }
      return isFound
    }
  }

  /// Calls `body` with every entry, in order, and with whether the constraint applies to it, until it answers false.
  private func forEach(_ body: (UnsafeRawBufferPointer, Bool) throws -> Bool) throws {
    guard let file else {
      for place in 0..<changes.insertions.count {
        changes.insertions.prefetch(place + 8)
        let isConstrained = changes.insertions.entries[place].isConstrained
        if try !body(changes.insertions.key(place), isConstrained) { return }
      }
      return
    }
    var open: [SortedRun] = []
    for range in runs {
      let run = SortedRun(file, range)
      if try run.advance() { open.append(run) }
    }
    open.sort { KeyOrder.order($0.key, $1.key) < 0 }
    while let first = open.first {
      if try !body(first.key, first.isConstrained) { return }
      guard try first.advance() else {
        open.removeFirst()
        continue
      }
      // Behind those that now come before it.
      let place = (1..<open.count).partitioningIndex { KeyOrder.order(open[$0].key, first.key) > 0 }
      for number in 1..<place { open[number - 1] = open[number] }
      open[place - 1] = first
    }
  }
}

/// Sorted entries in a file, one after another: two bytes of length, whose highest bit says whether the constraint applies, and the key.
private final class SortedRun {
  static let bufferLength = 65_536
  private static let constrained: UInt16 = 0x8000

  private let file: BatchFile
  private var rest: Range<Int>
  private let buffer: UnsafeMutableRawBufferPointer
  private var filled = 0
  private var place = 0
  /// The entry at hand, after `advance`.
  private(set) var key = UnsafeRawBufferPointer(start: nil, count: 0)
  private(set) var isConstrained = false

  init(_ file: BatchFile, _ range: Range<Int>) {
    self.file = file
    rest = range
    buffer = .allocate(byteCount: Self.bufferLength, alignment: 8)
  }

  deinit { buffer.deallocate() }

  static func append(_ key: UnsafeRawBufferPointer, _ entry: IndexEntries.Entry, to bytes: inout Data) {
    let word = entry.length | (entry.isConstrained ? constrained : 0)
    withUnsafeBytes(of: word) { bytes.append(contentsOf: $0) }
    bytes.append(contentsOf: key)
  }

  /// Goes to the next entry; false when there is none.
  func advance() throws -> Bool {
    guard try has(2) else { return false }
    let word = buffer.loadUnaligned(fromByteOffset: place, as: UInt16.self)
    let length = Int(word & ~Self.constrained)
    guard try has(2 + length) else { throw file.isShort }
    isConstrained = word & Self.constrained != 0
    key = UnsafeRawBufferPointer(rebasing: buffer[place + 2..<place + 2 + length])
    place += 2 + length
    return true
  }

  /// Whether so many bytes are at hand, or can be read.
  private func has(_ count: Int) throws -> Bool {
    if filled - place >= count { return true }
    if rest.isEmpty { return false }
    buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: buffer[place..<filled]))
    filled -= place
    place = 0
    let length = min(buffer.count - filled, rest.count)
    try file.read(
      rest.lowerBound, into: UnsafeMutableRawBufferPointer(rebasing: buffer[filled..<filled + length]))
    filled += length
    rest = rest.lowerBound + length..<rest.upperBound
    return filled >= count
  }
}
