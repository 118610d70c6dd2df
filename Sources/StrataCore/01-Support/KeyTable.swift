/// Values by numbers that are not 0: a hash table with open addressing, without an allocation for each entry.
///
/// An entry lies at the first free place from the one its key names. At most five eighths of the places are taken.
struct KeyTable<Value: BitwiseCopyable> {
  private var keys: ContiguousArray<UInt64>
  private var values: ContiguousArray<Value>
  private let blank: Value
  private(set) var count = 0

  /// `blank` fills free places.
  init(capacity: Int = 640, blank: Value) {
    var size = 64
    while size * 5 < capacity * 8 { size *= 2 }
    keys = ContiguousArray(repeating: 0, count: size)
    values = ContiguousArray(repeating: blank, count: size)
    self.blank = blank
  }

  @inline(__always)
  private var mask: Int { keys.count &- 1 }

  @inline(__always)
  private func home(_ key: UInt64) -> Int {
    Int(truncatingIfNeeded: (key &* 0x9E37_79B9_7F4A_7C15) >> 24) & mask
  }

  /// Where the key is, or the free place where it would go.
  @inline(__always)
  private func place(of key: UInt64) -> Int {
    var place = home(key)
    while keys[place] != 0, keys[place] != key { place = (place &+ 1) & mask }
    return place
  }

  subscript(key: UInt64) -> Value? {
    @inline(__always) get {
      let place = place(of: key)
      return keys[place] == 0 ? nil : values[place]
    }
  }

  /// Changes the value of a key; that of a new one is blank.
  @inline(__always)
  mutating func update(_ key: UInt64, _ body: (inout Value) -> Void) {
    if (count + 1) * 8 > keys.count * 5 { grow() }
    let place = place(of: key)
    if keys[place] == 0 {
      keys[place] = key
      count += 1
    }
    body(&values[place])
  }

  @inline(__always)
  mutating func set(_ key: UInt64, _ value: Value) { update(key) { $0 = value } }

  mutating func remove(_ key: UInt64) {
    var hole = place(of: key)
    if keys[hole] == 0 { return }
    count -= 1
    // What lies behind must be found without a gap before it.
    var next = (hole + 1) & mask
    while keys[next] != 0 {
      if (next &- home(keys[next])) & mask >= (next &- hole) & mask {
        keys[hole] = keys[next]
        values[hole] = values[next]
        hole = next
      }
      next = (next + 1) & mask
    }
    keys[hole] = 0
    values[hole] = blank
  }

  private mutating func grow() {
    let old = self
    keys = ContiguousArray(repeating: 0, count: old.keys.count * 2)
    values = ContiguousArray(repeating: blank, count: old.keys.count * 2)
    count = 0
    for place in old.keys.indices where old.keys[place] != 0 { set(old.keys[place], old.values[place]) }
  }
}
