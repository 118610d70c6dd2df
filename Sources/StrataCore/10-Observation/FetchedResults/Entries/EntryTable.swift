/// In which leaf an entry is: identity → number of the leaf. Twelve bytes for a place, about half of the places in use.
///
/// Open addressing; an entry lies at the first free place from the one its identity names.
struct EntryTable {
  private var identities: ContiguousArray<UInt64>
  private var leaves: ContiguousArray<UInt32>
  private var mask: Int
  private(set) var count = 0

  init(capacity: Int) {
    var size = 64
    while size * 5 < capacity * 8 { size *= 2 }
    identities = ContiguousArray(repeating: 0, count: size)
    leaves = ContiguousArray(repeating: 0, count: size)
    mask = size - 1
  }

  @inline(__always)
  private func home(_ identity: UInt64) -> Int {
    Int(truncatingIfNeeded: (identity &* 0x9E37_79B9_7F4A_7C15) >> 24) & mask
  }

  subscript(identity: UInt64) -> Int? {
    var place = home(identity)
    while identities[place] != 0 {
      if identities[place] == identity { return Int(leaves[place]) }
      place = (place + 1) & mask
    }
    return nil
  }

  mutating func set(_ identity: UInt64, _ leaf: Int) {
    if (count + 1) * 4 > identities.count * 3 { grow() }
    var place = home(identity)
    while identities[place] != 0, identities[place] != identity { place = (place + 1) & mask }
    if identities[place] == 0 { count += 1 }
    identities[place] = identity
    leaves[place] = UInt32(leaf)
  }

  mutating func remove(_ identity: UInt64) {
    var place = home(identity)
    while identities[place] != identity {
      if identities[place] == 0 { return }
      place = (place + 1) & mask
    }
    count -= 1
    // What lies behind must be found without a gap before it.
    var hole = place
    var next = (hole + 1) & mask
    while identities[next] != 0 {
      let wanted = home(identities[next])
      if (next &- wanted) & mask >= (next &- hole) & mask {
        identities[hole] = identities[next]
        leaves[hole] = leaves[next]
        hole = next
      }
      next = (next + 1) & mask
    }
    identities[hole] = 0
  }

  private mutating func grow() {
    let (old, oldLeaves) = (identities, leaves)
    identities = ContiguousArray(repeating: 0, count: old.count * 2)
    leaves = ContiguousArray(repeating: 0, count: old.count * 2)
    mask = identities.count - 1
    count = 0
    for place in old.indices where old[place] != 0 { set(old[place], Int(oldLeaves[place])) }
  }
}
