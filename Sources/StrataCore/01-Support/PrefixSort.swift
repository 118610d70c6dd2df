/// Something that is sorted by a number first. A plain value: it holds no references.
protocol PrefixSortable {
  var prefix: UInt64 { get }
}

/// A radix sort by prefix, for large arrays.
enum PrefixSort {
  /// Sorts by prefix, stably: one pass for each of the eight bytes in which not all prefixes are the same.
  static func sort<Entry: PrefixSortable>(_ entries: UnsafeMutableBufferPointer<Entry>) {
    guard entries.count > 1 else { return }
    let scratch = UnsafeMutableBufferPointer<Entry>.allocate(capacity: entries.count)
    defer { scratch.deallocate() }
    withUnsafeTemporaryAllocation(of: Int.self, capacity: 8 * 256) { counts in
      counts.initialize(repeating: 0)
      for entry in entries {
        var prefix = entry.prefix
        for byte in 0..<8 {
          counts[byte << 8 | Int(prefix & 0xFF)] += 1
          prefix >>= 8
        }
      }
      var (source, target) = (entries, scratch)
      for byte in 0..<8 {
        let shift = UInt64(byte * 8)
        let first = Int((entries[0].prefix >> shift) & 0xFF)
        if counts[byte << 8 | first] == entries.count { continue }
        var place = 0
        for value in 0..<256 {
          let count = counts[byte << 8 | value]
          counts[byte << 8 | value] = place
          place += count
        }
        for index in source.indices {
          let value = byte << 8 | Int((source[index].prefix >> shift) & 0xFF)
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
