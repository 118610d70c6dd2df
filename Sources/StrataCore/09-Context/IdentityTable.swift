/// One object per primary key, for one entity hierarchy of one store in one context: the uniquing of rule 40.
///
///     keys     [ 0 | 17 | 0 | 4 | 9 | 0 | … ]   open addressing, linear probing, 0 = free (keys start at 1)
///     objects  [ – |  ● | – | ● | ● | – | … ]   strong references
///
/// References are strong because weak ones cost a side allocation each. What nobody else holds and has no changes is let go
/// when the table fills up, so a loop over a million rows runs in bounded memory; and such an object counts as gone even
/// before that: a look-up drops it and answers nil (contexts.md, rule 9).
///
/// Lives on the context's queue.
final class IdentityTable {
  // `@exclusivity(unchecked)`: each access is one load or store on the context's queue.
  @exclusivity(unchecked) private var keys: UnsafeMutablePointer<UInt64>
  @exclusivity(unchecked) private var objects: UnsafeMutablePointer<ManagedObject?>
  @exclusivity(unchecked) private var capacity: Int
  @exclusivity(unchecked) private(set) var count = 0
  /// When true, objects are kept although nobody else holds them (`retainsRegisteredObjects`).
  @exclusivity(unchecked) var retainsObjects = false

  init() {
    capacity = 16
    (keys, objects) = Self.allocate(16)
  }

  deinit { Self.release(keys, objects, capacity) }

  /// The live object for `key`, or nil when there is none or only the table still holds it.
  func object(for key: UInt64) -> ManagedObject? {
    let index = slot(of: key)
    guard keys[index] == key else { return nil }
    if isGone(index) {
      remove(at: index)
      return nil
    }
    return objects[index]
  }

  /// Whether `key` is in the table, gone or not.
  func contains(_ key: UInt64) -> Bool { keys[slot(of: key)] == key }

  /// Puts in an object whose key is not in the table.
  func insert(_ object: ManagedObject, for key: UInt64) {
    if (count + 1) * 2 > capacity { makeRoom(for: 1) }
    let index = slot(of: key)
    if keys[index] != key {
      keys[index] = key
      count += 1
    }
    objects[index] = object
  }

  /// Takes `key` out, if it is in.
  func remove(_ key: UInt64) {
    let index = slot(of: key)
    if keys[index] == key { remove(at: index) }
  }

  /// Makes room for `additional` more objects at once.
  func reserve(_ additional: Int) {
    if (count + additional) * 2 > capacity { makeRoom(for: additional) }
  }

  /// Takes everything out.
  func removeAll() {
    Self.release(keys, objects, capacity)
    capacity = 16
    (keys, objects) = Self.allocate(16)
    count = 0
  }

  /// Calls `body` with every object that somebody outside holds or that has changes.
  func forEachLive(_ body: (ManagedObject) throws -> Void) rethrows {
    for index in 0..<capacity where keys[index] != 0 && !isGone(index) {
      if let object = objects[index] { try body(object) }
    }
  }

  /// Calls `body` with every object in the table.
  func forEach(_ body: (ManagedObject) throws -> Void) rethrows {
    for index in 0..<capacity where keys[index] != 0 {
      if let object = objects[index] { try body(object) }
    }
  }

  /// Only the table holds the object and it has no changes.
  @inline(__always)
  private func isGone(_ index: Int) -> Bool {
    // The state first: it is one load, and most objects of a large save are in it.
    if retainsObjects || objects[index]?.hasPendingState == true { return false }
    return isKnownUniquelyReferenced(&objects[index])
  }

  /// The place where the search for `key` begins. Eight neighbouring keys are eight neighbouring places, which is one cache
  /// line: keys come in runs, and so do look-ups.
  @inline(__always)
  private func home(of key: UInt64) -> Int {
    let run = Int(truncatingIfNeeded: ((key >> 3) &* 0x9E37_79B9_7F4A_7C15) >> 24)
    return (run &<< 3 | Int(truncatingIfNeeded: key & 7)) & (capacity &- 1)
  }

  /// Where `key` is, or the free place where it would go.
  @inline(__always)
  private func slot(of key: UInt64) -> Int {
    let mask = capacity &- 1
    var index = home(of: key)
    while keys[index] != 0 && keys[index] != key { index = (index &+ 1) & mask }
    return index
  }

  /// Takes out one place and closes the gap, so that no probe sequence is broken.
  private func remove(at place: Int) {
    let mask = capacity &- 1
    var hole = place
    var next = (hole &+ 1) & mask
    let doomed = objects[hole]
    objects[hole] = nil
    keys[hole] = 0
    count -= 1
    while keys[next] != 0 {
      let home = home(of: keys[next])
      if (next &- home) & mask >= (next &- hole) & mask {
        keys[hole] = keys[next]
        keys[next] = 0
        swap(&objects[hole], &objects[next])
        hole = next
      }
      next = (next &+ 1) & mask
    }
    // The object may die here, and with it whatever its subclass holds: the table is whole again by now.
    withExtendedLifetime(doomed) {}
  }

  /// Lets go of what is gone; grows when that did not free half the places.
  private func makeRoom(for additional: Int) {
    var live = 0
    var gone = 0
    for index in 0..<capacity where keys[index] != 0 {
      if isGone(index) { gone += 1 } else { live += 1 }
    }
    var target = capacity
    while (live + additional) * 2 > target { target *= 2 }
    // A table that is nearly all live would sweep again and again: leave it room to breathe.
    if gone * 4 < count && (live + additional) * 3 > target { target *= 2 }
    let (oldKeys, oldObjects, oldCapacity) = (keys, objects, capacity)
    (keys, objects) = Self.allocate(target)
    capacity = target
    count = 0
    for index in 0..<oldCapacity where oldKeys[index] != 0 {
      let isKept = retainsObjects || oldObjects[index]?.hasPendingState == true
      if !isKept && isKnownUniquelyReferenced(&oldObjects[index]) { continue }
      let place = slot(of: oldKeys[index])
      keys[place] = oldKeys[index]
      swap(&objects[place], &oldObjects[index])
      count += 1
    }
    Self.release(oldKeys, oldObjects, oldCapacity)
  }

  private static func allocate(_ capacity: Int) -> (
    UnsafeMutablePointer<UInt64>, UnsafeMutablePointer<ManagedObject?>
  ) {
    let keys = UnsafeMutablePointer<UInt64>.allocate(capacity: capacity)
    keys.initialize(repeating: 0, count: capacity)
    let objects = UnsafeMutablePointer<ManagedObject?>.allocate(capacity: capacity)
    objects.initialize(repeating: nil, count: capacity)
    return (keys, objects)
  }

  private static func release(
    _ keys: UnsafeMutablePointer<UInt64>, _ objects: UnsafeMutablePointer<ManagedObject?>, _ capacity: Int
  ) {
    objects.deinitialize(count: capacity)
    objects.deallocate()
    keys.deallocate()
  }
}
