/// Ascending primary keys as runs, while they are being written, as the journal and the history have them.
///
/// ```
///   run     varint of 2 · (its first key − the key after the run before), + 1 when it has several keys;
///           then varint of their number − 2
/// ```
struct KeyRuns {
  /// The runs that have ended.
  private(set) var bytes = ContiguousArray<UInt8>()
  /// How many those are.
  private(set) var count: UInt64 = 0
  private var first: UInt64
  /// The last key.
  private(set) var last: UInt64
  /// The key after the run before.
  private var end: UInt64 = 0

  init(_ key: UInt64) { (first, last) = (key, key) }

  /// Appends the key if it follows the last one.
  @inline(__always)
  mutating func extend(to key: UInt64) -> Bool {
    if last &+ 1 != key { return false }
    last = key
    return true
  }

  /// Appends a key that is above the last one.
  mutating func append(_ key: UInt64) {
    if extend(to: key) { return }
    endRun()
    (first, last) = (key, key)
  }

  /// Ends the last run: then `bytes` has all.
  mutating func endRun() {
    let change = (first - end) << 1
    bytes.append(varint: last == first ? change : change | 1)
    if last != first { bytes.append(varint: last - first - 1) }
    count += 1
    end = last + 1
  }
}

extension ByteReader {
  /// The number of runs, and the runs.
  mutating func runs() -> [ClosedRange<UInt64>]? {
    guard let count = itemCount() else { return nil }
    var runs: [ClosedRange<UInt64>] = []
    runs.reserveCapacity(count)
    var next: UInt64 = 0
    for _ in 0..<count {
      guard let change = varint(), change >> 1 < ManagedObjectID.primaryKeyLimit else { return nil }
      let first = next + change >> 1
      var last = first
      if change & 1 != 0 {
        guard let more = varint(), more < ManagedObjectID.primaryKeyLimit else { return nil }
        last += more + 1
      }
      guard last < ManagedObjectID.primaryKeyLimit else { return nil }
      runs.append(first...last)
      next = last + 1
    }
    return runs
  }
}
