/// The order of keys in a keyspace: by their bytes, and what is a beginning comes first. As LMDB has it.
enum KeyOrder {
  /// Below zero when `a` comes before `b`, zero when they are the same.
  ///
  /// Eight bytes at a time, in line: neighbours in an index differ in their last bytes mostly, and a call for each pair takes longer than what it does.
  @inline(__always)
  static func order(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Int {
    let common = min(a.count, b.count)
    guard common > 0, let left = a.baseAddress, let right = b.baseAddress else { return a.count - b.count }
    /// Compares eight bytes.
    @inline(__always)
    func difference(_ place: Int) -> Int {
      let x = left.loadUnaligned(fromByteOffset: place, as: UInt64.self)
      let y = right.loadUnaligned(fromByteOffset: place, as: UInt64.self)
      return x == y ? 0 : UInt64(bigEndian: x) < UInt64(bigEndian: y) ? -1 : 1
    }
    var place = 0
    while place + 8 <= common {
      let found = difference(place)
      if found != 0 { return found }
      place += 8
    }
    if common >= 8 {
      // The rest, with some bytes before it, which are the same.
      let found = difference(common - 8)
      return found != 0 ? found : a.count - b.count
    }
    while place < common {
      let x = left.load(fromByteOffset: place, as: UInt8.self)
      let y = right.load(fromByteOffset: place, as: UInt8.self)
      if x != y { return x < y ? -1 : 1 }
      place += 1
    }
    return a.count - b.count
  }
}
