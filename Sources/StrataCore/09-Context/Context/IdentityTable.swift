import CLMDBShim

/// One object per primary key, for one entity hierarchy of one store in one context: the uniquing of rule 40.
///
///     [ 0 – | 17 ● | 0 – | 4 ● | 9 ● | 0 – | … ]   key and strong reference side by side
///     open addressing, linear probing, 0 = free (keys start at 1)
///
/// References are strong because weak ones cost a side allocation each. What is held nowhere else and has no changes is released
/// when the table fills up, so a loop over a million rows runs in bounded memory; and such an object counts as gone even
/// before that: a look-up drops it and answers nil (contexts 9). What a relationship has handed out is held while its owner is
/// held (rule 220, see `MemberKeeper` and `ReferenceKeepers`).
///
/// Lives on the context's queue.
final class IdentityTable {
  // `@exclusivity(unchecked)`: each access is one load or store on the context's queue.
  @exclusivity(unchecked) private var entries: UnsafeMutablePointer<Entry>
  @exclusivity(unchecked) private var capacity: Int {
    didSet { shift = Self.shift(capacity) }
  }
  /// Leaves as many high bits of a product as there are runs of eight places.
  @exclusivity(unchecked) private var shift: UInt64
  @exclusivity(unchecked) private(set) var count = 0
  /// When true, objects are kept although they are held nowhere else (`retainsRegisteredObjects`).
  @exclusivity(unchecked) var retainsObjects = false
  /// Whether one of the context's objects keeps its members.
  @exclusivity(unchecked) var keepsMembers = false
  /// The context's objects.
  // Unsafe: it holds this table, or is gone together with it.
  @exclusivity(unchecked) unowned(unsafe) var stores: RegisteredStores?
  /// Who holds objects at the other end of to-one relationships.
  var references: ReferenceKeepers? {
    get { uncountedReferences?.takeUnretainedValue() }
    set { uncountedReferences = newValue.map { Unmanaged.passUnretained($0) } }
  }
  /// The same, for look-ups: they count no reference to it.
  // Unsafe: held by the one that holds this table.
  @exclusivity(unchecked) private var uncountedReferences: Unmanaged<ReferenceKeepers>?
  /// Which of the store's hierarchies it is for.
  let hierarchy: Int
  /// Who keeps objects that do not say so themselves. What is in here may keep them no more.
  @exclusivity(unchecked) private var keepers: [UInt64: Set<MemberKeeper>] = [:]

  private struct Entry {
    var key: UInt64
    var object: ManagedObject?
  }

  init(hierarchy: Int) {
    self.hierarchy = hierarchy
    capacity = 16
    shift = Self.shift(16)
    entries = Self.allocate(16)
  }

  deinit { Self.release(entries, capacity) }

  /// The live object for `key`, or nil when there is none or only the table still holds it.
  func object(for key: UInt64) -> ManagedObject? {
    let index = slot(of: key)
    guard entries[index].key == key else { return nil }
    if isGone(index) {
      remove(at: index)
      return nil
    }
    return entries[index].object
  }

  /// Says that `key` will be looked up soon. For keys in no order: each look-up would wait for its own memory.
  @inline(__always)
  func prefetch(_ key: UInt64) { strata_prefetch(entries + home(of: key)) }

  /// Whether `key` is in the table, gone or not.
  func contains(_ key: UInt64) -> Bool { entries[slot(of: key)].key == key }

  /// Puts in an object whose key is not in the table.
  func insert(_ object: ManagedObject, for key: UInt64) {
    if (count + 1) * 2 > capacity { makeRoom(for: 1) }
    let index = slot(of: key)
    if entries[index].key != key {
      entries[index].key = key
      count += 1
    }
    entries[index].object = object
  }

  /// Takes `key` out, if it is in.
  func remove(_ key: UInt64) {
    let index = slot(of: key)
    if entries[index].key == key { remove(at: index) }
  }

  /// Makes room for `additional` more objects at once.
  func reserve(_ additional: Int) {
    if (count + additional) * 2 > capacity { makeRoom(for: additional) }
  }

  /// Takes everything out.
  func removeAll() {
    Self.release(entries, capacity)
    capacity = 16
    entries = Self.allocate(16)
    count = 0
    keepers = [:]
  }

  /// Calls `body` with every object that is held outside or has changes.
  func forEachLive(_ body: (ManagedObject) throws -> Void) rethrows {
    guard let stores, keepsAny else {
      for index in 0..<capacity where entries[index].key != 0 && !isUnheld(index) {
        if let object = entries[index].object { try body(object) }
      }
      return
    }
    // One search for all objects: they may be kept along long chains.
    var search = KeeperSearch(stores)
    var live: [ManagedObject] = []
    for index in 0..<capacity where entries[index].key != 0 {
      let isHeld = !isUnheld(index)
      guard let object = entries[index].object else { continue }
      if isHeld || mayBeKept(index) && search.isKept(object, in: self) { live.append(object) }
    }
    for object in live { try body(object) }
  }

  /// Whether owners may keep objects.
  private var keepsAny: Bool { keepsMembers || references?.isEmpty == false }

  /// Calls `body` with every object in the table.
  func forEach(_ body: (ManagedObject) throws -> Void) rethrows {
    for index in 0..<capacity where entries[index].key != 0 {
      if let object = entries[index].object { try body(object) }
    }
  }

  /// Only the table holds the object, it has no changes, and no owner keeps it as a member.
  @inline(__always)
  private func isGone(_ index: Int) -> Bool {
    isUnheld(index) && !isKept(index)
  }

  /// Only the table holds the object and it has no changes.
  @inline(__always)
  private func isUnheld(_ index: Int) -> Bool {
    // The state first: it is one load, and most objects of a large save are in it.
    if retainsObjects || entries[index].object?.hasPendingState == true { return false }
    return isKnownUniquelyReferenced(&entries[index].object)
  }

  @inline(__always)
  private func isKept(_ index: Int) -> Bool {
    mayBeKept(index) && searchKeepers(of: index)
  }

  /// Whether any owner may keep the object.
  @inline(__always)
  private func mayBeKept(_ index: Int) -> Bool {
    if keepsMembers { return true }
    guard let uncountedReferences else { return false }
    return uncountedReferences._withUnsafeGuaranteedRef { $0.hasKeepers(of: entries[index].key, hierarchy) }
  }

  @inline(never)
  private func searchKeepers(of index: Int) -> Bool {
    // Mostly it is the owner of a to-one relationship.
    if references?.isHeldByOwner(entries[index].key, hierarchy) == true { return true }
    guard let stores, let object = entries[index].object else { return false }
    var search = KeeperSearch(stores)
    return search.isKept(object, in: self)
  }

  // MARK: For those who look for keepers

  /// Calls `body` with the object for `key`, gone or not.
  func withObject<R>(_ key: UInt64, _ body: (ManagedObject) -> R) -> R? {
    let index = slot(of: key)
    guard entries[index].key == key, let object = entries[index].object else { return nil }
    return body(object)
  }

  func identity(of key: UInt64) -> ObjectIdentifier? { withObject(key, ObjectIdentifier.init) }

  /// The object for `key`, which is known to be kept.
  @inline(__always)
  func keptObject(_ key: UInt64) -> ManagedObject? {
    let index = slot(of: key)
    return entries[index].key == key ? entries[index].object : nil
  }

  /// Whether code outside holds the object for `key`, or it has changes.
  func isHeld(_ key: UInt64) -> Bool {
    let index = slot(of: key)
    return entries[index].key == key && !isUnheld(index)
  }

  func keepers(of key: UInt64) -> Set<MemberKeeper> { keepers.isEmpty ? [] : keepers[key] ?? [] }

  func add(_ keeper: MemberKeeper, of key: UInt64) { keepers[key, default: []].insert(keeper) }

  /// The place where the search for `key` begins. Eight neighbouring keys are eight neighbouring places, which is one cache
  /// line: keys come in runs, and so do look-ups. The high bits of the product keep runs that follow one another apart; its
  /// middle bits would put them side by side.
  @inline(__always)
  private func home(of key: UInt64) -> Int {
    let run = Int(truncatingIfNeeded: ((key >> 3) &* 0x9E37_79B9_7F4A_7C15) &>> shift)
    return run &<< 3 | Int(truncatingIfNeeded: key & 7)
  }

  private static func shift(_ capacity: Int) -> UInt64 { UInt64(64 + 3 - capacity.trailingZeroBitCount) }

  /// Where `key` is, or the free place where it would go.
  @inline(__always)
  private func slot(of key: UInt64) -> Int {
    let mask = capacity &- 1
    var index = home(of: key)
    while entries[index].key != 0 && entries[index].key != key { index = (index &+ 1) & mask }
    return index
  }

  /// Takes out one place and closes the gap, so that no probe sequence is broken.
  private func remove(at place: Int) {
    let mask = capacity &- 1
    var hole = place
    var next = (hole &+ 1) & mask
    forgetKeepers(of: entries[hole].key)
    // Moved out, which counts no reference.
    var doomed: ManagedObject?
    swap(&doomed, &entries[hole].object)
    entries[hole].key = 0
    count -= 1
    while entries[next].key != 0 {
      let home = home(of: entries[next].key)
      if (next &- home) & mask >= (next &- hole) & mask {
        entries[hole].key = entries[next].key
        entries[next].key = 0
        swap(&entries[hole].object, &entries[next].object)
        hole = next
      }
      next = (next &+ 1) & mask
    }
    // The object may die here, and with it whatever its subclass holds: the table is whole again by now.
    withExtendedLifetime(doomed) {}
  }

  /// The object for `key` has left the table, or is about to.
  @inline(__always)
  private func forgetKeepers(of key: UInt64) {
    if !keepers.isEmpty { keepers[key] = nil }
    uncountedReferences?._withUnsafeGuaranteedRef { $0.forget(key, hierarchy) }
  }

  /// Releases what is gone; grows when that did not free half the places.
  private func makeRoom(for additional: Int) {
    // Looking at every object costs more than moving it. When a few that stand for all are in use, all are taken to be.
    let isSweeping = !retainsObjects && looksWorthSweeping()
    var live = count
    let keeps = keepsAny
    // A bit for each place, while some objects are kept.
    var doomed: [UInt64] = []
    if isSweeping {
      live = 0
      if keeps { doomed = Array(repeating: 0, count: capacity / 64 + 1) }
      var search = stores.map(KeeperSearch.init)
      for index in 0..<capacity where entries[index].key != 0 {
        guard isUnheld(index) else {
          live += 1
          continue
        }
        guard keeps else { continue }
        if mayBeKept(index), let object = entries[index].object, search?.isKept(object, in: self) == true {
          live += 1
        } else {
          doomed[index / 64] |= 1 << UInt64(index % 64)
        }
      }
    }
    var target = capacity
    while (live + additional) * 2 > target { target *= 2 }
    // A small one grows fast: it would be moved over and over.
    if !isSweeping && target <= 1 << 14 { target *= 2 }
    // A table that is nearly all live would sweep again and again: leave it room to breathe.
    if isSweeping && (count - live) * 4 < count && (live + additional) * 3 > target { target *= 2 }
    let (old, oldCapacity) = (entries, capacity)
    entries = Self.allocate(target)
    capacity = target
    count = 0
    for index in 0..<oldCapacity where old[index].key != 0 {
      if isSweeping {
        let isDoomed =
          keeps
          ? doomed[index / 64] & 1 << UInt64(index % 64) != 0
          : old[index].object?.hasPendingState != true && isKnownUniquelyReferenced(&old[index].object)
        if isDoomed {
          forgetKeepers(of: old[index].key)
          continue
        }
      }
      let place = slot(of: old[index].key)
      swap(&entries[place], &old[index])
      count += 1
    }
    Self.release(old, oldCapacity)
  }

  /// Whether some of about 64 objects spread over the table are gone.
  private func looksWorthSweeping() -> Bool {
    let step = max(capacity / 128, 1)
    for index in stride(from: 0, to: capacity, by: step) where entries[index].key != 0 {
      if isGone(index) { return true }
    }
    return false
  }

  private static func allocate(_ capacity: Int) -> UnsafeMutablePointer<Entry> {
    let entries = UnsafeMutablePointer<Entry>.allocate(capacity: capacity)
    entries.initialize(repeating: Entry(key: 0, object: nil), count: capacity)
    return entries
  }

  private static func release(_ entries: UnsafeMutablePointer<Entry>, _ capacity: Int) {
    for index in 0..<capacity {
      // Objects lie in the order they were made in, not in this one: each would wait for its own memory.
      if index + 12 < capacity {
        let next = UnsafeRawPointer(entries + index + 12)
          .load(fromByteOffset: MemoryLayout<Entry>.offset(of: \.object) ?? 8, as: UnsafeRawPointer?.self)
        if let next {
          strata_prefetch(next)
          strata_prefetch(next + 64)
        }
      }
      entries[index].object = nil
    }
    entries.deinitialize(count: capacity)
    entries.deallocate()
  }
}
