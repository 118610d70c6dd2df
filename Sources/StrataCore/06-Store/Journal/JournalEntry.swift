/// Reads an entry of the journal; whatever the bytes are, it ends, and takes no more memory than they say.
struct JournalEntry {
  /// One list of an entry.
  struct List {
    let entityCode: UInt16
    let kind: JournalFormat.Kind
    /// Keys in ascending order; empty for `any`.
    var runs: [ClosedRange<UInt64>] = []
  }

  /// The process that has committed.
  let writer: UInt64
  let lists: [List]

  /// Nil for bytes that are no entry.
  init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count >= JournalFormat.headerLength, bytes[0] == JournalFormat.format else { return nil }
    writer = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 1, as: UInt64.self))
    var place = JournalFormat.headerLength
    var lists: [List] = []
    func varint() -> UInt64? {
      var (value, shift) = (UInt64(0), UInt64(0))
      while place < bytes.count, shift < 63 {
        let byte = bytes[place]
        place += 1
        value |= UInt64(byte & 0x7F) << shift
        if byte & 0x80 == 0 { return value }
        shift += 7
      }
      return nil
    }
    while place < bytes.count {
      guard place + 3 <= bytes.count, let kind = JournalFormat.Kind(rawValue: bytes[place + 2]) else {
        return nil
      }
      var list = List(
        entityCode: UInt16(littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt16.self)),
        kind: kind)
      place += 3
      if kind != .any {
        // A run takes a byte at least.
        guard let count = varint(), count <= UInt64(bytes.count - place) else { return nil }
        list.runs.reserveCapacity(Int(count))
        var next: UInt64 = 0
        for _ in 0..<count {
          guard let change = varint(), change >> 1 < PrimaryKeyAllocator.limit else { return nil }
          let first = next + change >> 1
          var last = first
          if change & 1 != 0 {
            guard let more = varint(), more < PrimaryKeyAllocator.limit else { return nil }
            last += more + 1
          }
          guard last < PrimaryKeyAllocator.limit else { return nil }
          list.runs.append(first...last)
          next = last + 1
        }
      }
      lists.append(list)
    }
    self.lists = lists
  }
}
