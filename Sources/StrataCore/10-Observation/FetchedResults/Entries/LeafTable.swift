/// In which leaf of a list an object's entry is.
///
/// ```
///   near   four bytes for each primary key from the first to behind the last one: 1 + the number of the leaf, 0 when there is none
///   far    all others, by identity
/// ```
///
/// Primary keys are given out in a row, so that most lists have most of those in between.
struct LeafTable {
  /// The store whose keys are near.
  private let store: Int
  private let first: UInt64
  private var near: ContiguousArray<UInt32>
  private var far: KeyTable<UInt32>

  /// So many keys in between take no more than the other table does for each entry.
  private static let mostKeysPerEntry: UInt64 = 6
  /// What the other table begins with where few keys are expected in it.
  private static let fewKeys = 640

  init(_ list: EntryList) {
    var lowest = UInt64.max
    var highest: UInt64 = 0
    list.forEachLeaf { leaf in
      leaf.entries.forEachIdentity {
        lowest = min(lowest, $0)
        highest = max(highest, $0)
      }
    }
    store = list.count == 0 ? 0 : ResultEntry.store(lowest)
    first = list.count == 0 ? 0 : ResultEntry.primaryKey(lowest)
    let count = list.count == 0 ? 0 : ResultEntry.primaryKey(highest) - first + 1
    let isNear = count <= Self.mostKeysPerEntry * UInt64(list.count)
    // Some more for objects that come: their keys follow.
    far = KeyTable(capacity: isNear ? Self.fewKeys : list.count, blank: 0)
    near = ContiguousArray(repeating: 0, count: isNear ? Int(count + count / 16) : 0)
    list.forEachLeaf { leaf in
      let number = leaf.number
      leaf.entries.forEachIdentity { set($0, number) }
    }
  }

  subscript(identity: UInt64) -> Int? {
    if let place = place(identity) { return near[place] == 0 ? nil : Int(near[place]) - 1 }
    return far[identity].map(Int.init)
  }

  @inline(__always)
  mutating func set(_ identity: UInt64, _ number: Int) {
    if let place = place(identity) {
      near[place] = UInt32(number) + 1
    } else {
      far.set(identity, UInt32(number))
    }
  }

  mutating func remove(_ identity: UInt64) {
    if let place = place(identity) { near[place] = 0 } else { far.remove(identity) }
  }

  @inline(__always)
  private func place(_ identity: UInt64) -> Int? {
    let place = ResultEntry.primaryKey(identity) &- first
    return ResultEntry.store(identity) == store && place < UInt64(near.count) ? Int(place) : nil
  }
}
