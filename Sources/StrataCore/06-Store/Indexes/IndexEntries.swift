import CLMDBShim
import Foundation

/// Index keys on their way into an index: one flat buffer of bytes and small entries that are sorted.
///
/// ```
///   entries  [prefix u64 | offset | length, flags] …     sorted by prefix, then by bytes
///   bytes    key key key …
/// ```
///
/// No key is an object of its own. The prefix is the eight bytes after those that all keys share, so that
/// most comparisons are of two integers.
struct IndexEntries: ~Copyable {
  struct Entry: PrefixSortable {
    /// The eight bytes after the common ones, as a big-endian number. Set by `sort`.
    var prefix: UInt64
    var offset: Int
    /// The length of the key with its primary key, which takes the last eight bytes.
    var length: UInt16
    /// Whether values were cut, so that equal bytes need not mean equal values.
    var isTruncated: Bool
    /// Whether a uniqueness constraint applies: no part is nil.
    var isConstrained: Bool
  }

  private(set) var entries: ContiguousArray<Entry> = []
  private var base: UnsafeMutableRawPointer
  private var capacity: Int
  private var used = 0

  /// No memory before there is a key: most changes of an index put something in, or take something out, but not both.
  init() {
    // An address that is not zero makes a pointer. Nothing is read or written there.
    base = UnsafeMutableRawPointer(bitPattern: 8)!
    capacity = 0
  }

  init(capacity: Int) {
    self.init()
    grow(capacity)
  }

  deinit { giveBack() }

  var count: Int { entries.count }
  var isEmpty: Bool { entries.isEmpty }
  /// How many bytes the keys have.
  var byteCount: Int { used }

  mutating func reserve(_ count: Int) { entries.reserveCapacity(count) }

  /// Drops all entries, and keeps their memory for others.
  mutating func removeAll() {
    entries.removeAll(keepingCapacity: true)
    used = 0
  }

  /// Adds a key.
  @inline(__always)
  mutating func append(_ key: UnsafeRawBufferPointer, isTruncated: Bool, isConstrained: Bool) {
    if used + key.count > capacity { grow(key.count) }
    // Keys end in a primary key: never empty.
    if let source = key.baseAddress { memcpy(base + used, source, key.count) }
    entries.append(
      Entry(
        prefix: 0, offset: used, length: UInt16(key.count), isTruncated: isTruncated,
        isConstrained: isConstrained))
    used += key.count
  }

  /// The bytes of a key, valid until the next `append`.
  @inline(__always)
  func key(_ place: Int) -> UnsafeRawBufferPointer {
    let entry = entries[place]
    return UnsafeRawBufferPointer(start: base + entry.offset, count: Int(entry.length))
  }

  /// Says that the bytes of a key, if there is one, are needed soon.
  @inline(__always)
  func prefetch(_ place: Int) {
    if place < entries.count { strata_prefetch(base + entries[place].offset) }
  }

  /// The bytes of a key without its primary key.
  @inline(__always)
  func value(_ place: Int) -> UnsafeRawBufferPointer {
    let entry = entries[place]
    return UnsafeRawBufferPointer(start: base + entry.offset, count: Int(entry.length) - 8)
  }

  /// The primary key at the end of a key.
  @inline(__always)
  func primaryKey(_ place: Int) -> UInt64 { PrimaryKeyBytes.last(of: key(place)) }

  /// Whether a key is among those here. Only after `sort`.
  func contains(_ key: UnsafeRawBufferPointer) -> Bool {
    let place = (0..<count).partitioningIndex { KeyOrder.order(self.key($0), key) >= 0 }
    return place < count && KeyOrder.order(self.key(place), key) == 0
  }

  /// Sorts the entries by their bytes.
  mutating func sort() { sort {} }

  /// Sorts, and asks `mayGoOn` before and from time to time, every few ten thousand keys; what that throws ends it, and leaves the
  /// keys in no order.
  mutating func sort(_ mayGoOn: () throws -> Void) rethrows {
    try mayGoOn()
    guard count > 1 else { return }
    let base = UnsafeRawPointer(base)
    let shared = sharedPrefix()
    try entries.withUnsafeMutableBufferPointer { entries in
      var isSorted = true
      for place in entries.indices {
        entries[place].prefix = Self.prefix(base, entries[place], skipping: shared)
        if isSorted && place > 0 && !Self.precedes(base, entries[place - 1], entries[place], shared) {
          isSorted = false
        }
      }
      if !isSorted { try Self.sort(entries, base, shared, mayGoOn) }
    }
  }

  /// How many keys, or comparisons, are between two questions.
  private static var stride: Int { 65_536 }

  /// Sorts by prefix with a radix sort where there are many, then each run of equal prefixes by the rest of the bytes.
  private static func sort(
    _ entries: UnsafeMutableBufferPointer<Entry>, _ base: UnsafeRawPointer, _ shared: Int,
    _ mayGoOn: () throws -> Void
  ) rethrows {
    var entries = entries
    guard entries.count >= 1_024 else {
      entries.sort { precedes(base, $0, $1, shared) }
      return
    }
    PrefixSort.sort(entries)
    try mayGoOn()
    var (start, left) = (0, stride)
    while start < entries.count {
      var end = start + 1
      var isSorted = true
      while end < entries.count, entries[end].prefix == entries[start].prefix {
        if isSorted && precedes(base, entries[end], entries[end - 1], shared) { isSorted = false }
        end += 1
      }
      if !isSorted {
        left -= end - start
        if end - start < stride {
          entries[start..<end].sort { precedes(base, $0, $1, shared) }
        } else {
          try entries[start..<end].sort {
            left -= 1
            if left <= 0 {
              left = stride
              try mayGoOn()
            }
            return precedes(base, $0, $1, shared)
          }
        }
        if left <= 0 {
          left = stride
          try mayGoOn()
        }
      }
      start = end
    }
  }

  /// How many bytes at the start all keys have in common.
  private func sharedPrefix() -> Int {
    var shared = Int(entries[0].length)
    let first = UnsafeRawPointer(base + entries[0].offset)
    for place in 1..<count where shared > 0 {
      let entry = entries[place]
      let other = UnsafeRawPointer(base + entry.offset)
      shared = min(shared, Int(entry.length))
      if memcmp(first, other, shared) == 0 { continue }
      var same = 0
      while first.load(fromByteOffset: same, as: UInt8.self)
        == other.load(fromByteOffset: same, as: UInt8.self)
      {
        same += 1
      }
      shared = same
    }
    return shared
  }

  @inline(__always)
  private static func prefix(_ base: UnsafeRawPointer, _ entry: Entry, skipping shared: Int) -> UInt64 {
    let left = Int(entry.length) - shared
    let start = base + entry.offset + shared
    if left >= 8 { return UInt64(bigEndian: start.loadUnaligned(as: UInt64.self)) }
    var prefix: UInt64 = 0
    for place in 0..<left {
      prefix |= UInt64(start.load(fromByteOffset: place, as: UInt8.self)) << UInt64(56 - 8 * place)
    }
    return prefix
  }

  @inline(__always)
  private static func precedes(_ base: UnsafeRawPointer, _ a: Entry, _ b: Entry, _ shared: Int) -> Bool {
    if a.prefix != b.prefix { return a.prefix < b.prefix }
    let common = Int(min(a.length, b.length)) - shared
    if common > 0 {
      let order = memcmp(base + a.offset + shared, base + b.offset + shared, common)
      if order != 0 { return order < 0 }
    }
    return a.length < b.length
  }

  /// Drops all entries but the first `count`.
  mutating func keep(first count: Int) {
    var kept = IndexEntries(capacity: max(count * 32, 4096))
    kept.reserve(count * 2)
    for place in 0..<min(count, self.count) {
      let entry = entries[place]
      kept.append(key(place), isTruncated: entry.isTruncated, isConstrained: entry.isConstrained)
    }
    self = kept
  }

  /// Whether `key` is `value` and a primary key.
  static func isEntry(_ key: UnsafeRawBufferPointer, of value: UnsafeRawBufferPointer) -> Bool {
    key.count == value.count + 8
      && KeyOrder.order(UnsafeRawBufferPointer(rebasing: key.dropLast(8)), value) == 0
  }

  private func giveBack() { if capacity > 0 { free(base) } }

  private mutating func grow(_ count: Int) {
    let capacity = max(self.capacity * 2, used + count, 512)
    // What is allocated with an alignment takes three times as long, and this has one that is larger. There is no pointer when there is no memory left.
    let base = malloc(capacity)!
    memcpy(base, self.base, used)
    giveBack()
    self.base = base
    self.capacity = capacity
  }
}

/// Primary keys as bytes of keys: eight, big-endian, so that they sort as numbers.
enum PrimaryKeyBytes {
  /// Calls `body` with the key's bytes.
  @inline(__always)
  static func with<R>(_ key: UInt64, _ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    try withUnsafeBytes(of: key.bigEndian, body)
  }

  /// The key that `bytes` are; nil when they are not eight.
  @inline(__always)
  static func whole(_ bytes: UnsafeRawBufferPointer) -> UInt64? {
    bytes.count == 8 ? UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)) : nil
  }

  /// The key in the last eight bytes; 0 when there are fewer.
  @inline(__always)
  static func last(of bytes: UnsafeRawBufferPointer) -> UInt64 {
    bytes.count >= 8
      ? UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: bytes.count - 8, as: UInt64.self)) : 0
  }
}
