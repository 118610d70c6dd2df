/// Something that is sorted by a number first. A plain value: it holds no references.
protocol PrefixSortable {
  var prefix: UInt64 { get }
}

/// A radix sort by prefix, for large arrays.
enum PrefixSort {
  /// Sorts by prefix, stably: one pass for each of the eight bytes in which not all prefixes are the same.
  static func sort<Entry: PrefixSortable>(_ entries: UnsafeMutableBufferPointer<Entry>) {
    guard entries.count > 1 else { return }
    let first = entries[0].prefix
    var differing: UInt64 = 0
    for index in entries.indices { differing |= entries[index].prefix ^ first }
    if differing == 0 { return }
    let scratch = UnsafeMutableBufferPointer<Entry>.allocate(capacity: entries.count)
    defer { scratch.deallocate() }
    withUnsafeTemporaryAllocation(of: Int.self, capacity: 256) { counts in
      var (source, target) = (entries, scratch)
      for byte in 0..<8 {
        let shift = UInt64(byte * 8)
        if (differing >> shift) & 0xFF == 0 { continue }
        counts.initialize(repeating: 0)
        for index in source.indices { counts[Int((source[index].prefix >> shift) & 0xFF)] += 1 }
        var place = 0
        for value in 0..<256 {
          let count = counts[value]
          counts[value] = place
          place += count
        }
        for index in source.indices {
          let value = Int((source[index].prefix >> shift) & 0xFF)
          // Entries are plain values: assigning to memory that was not initialised is no harm.
          target[counts[value]] = source[index]
          counts[value] += 1
        }
        swap(&source, &target)
      }
      if source.baseAddress != entries.baseAddress {
        for index in entries.indices { entries[index] = source[index] }
      }
    }
  }
}
