import CLMDBShim
import Foundation

/// The tree of a keyspace whose keys are eight bytes each, big-endian, walked in place in a read transaction.
///
/// LMDB looks up one key at a time, comparing keys through a function pointer and waiting for the memory of each. Here many
/// descents go on side by side: what one needs next is asked for while the others move on.
private struct NumberedTree {
  private let tree: PageTree

  /// A place in a leaf page where a key lies if it exists; `guess` is its number when no key is missing before it, and where it does not say 0, it is no later one.
  struct Place {
    var page: UnsafeRawPointer
    var guess: Int
  }

  enum Found {
    case entry(UnsafeRawBufferPointer)
    case missing
    /// LMDB has to look.
    case unclear
  }

  /// Nil when the tree cannot be walked in place, see `PageTree`.
  init?(_ keyspace: Keyspace, _ transaction: borrowing ReadTransaction, isUnchanged: Bool) {
    guard let tree = PageTree(keyspace, transaction, isUnchanged: isUnchanged) else { return nil }
    self.tree = tree
  }

  private var pageSize: Int { tree.pageSize }

  /// How many entries are looked at one after the other before the rest is searched by halves.
  private static let steps = 4

  /// The number of entries on a page; nil when it is not of the kind `flags`.
  @inline(__always)
  private func count(_ page: UnsafeRawPointer, _ flags: UInt16) -> Int? {
    PageHeader.entryCount(page, flags, pageSize: pageSize)
  }

  /// The entry with this number; nil when it does not lie inside the page or has another kind of key.
  @inline(__always)
  private func node(_ page: UnsafeRawPointer, _ number: Int) -> UnsafeRawPointer? {
    let offset = PageHeader.offset(page, number)
    guard offset + NodeHeader.size + 8 <= pageSize else { return nil }
    return NodeHeader(page + offset).keyCount == 8 ? page + offset : nil
  }

  @inline(__always)
  private static func key(_ node: UnsafeRawPointer) -> UInt64 {
    UInt64(bigEndian: node.loadUnaligned(fromByteOffset: NodeHeader.size, as: UInt64.self))
  }

  /// The last branch page of a descent, and where it went on: keys that are looked up in order mostly lie on the same leaf page, or on the next one.
  struct Branch {
    fileprivate var page: UnsafeRawPointer
    fileprivate var count: Int
    fileprivate var number: Int
    /// The keys on the leaf page are not below the one and below the other.
    fileprivate var lowest: UInt64
    fileprivate var end: UInt64
  }

  /// The leaf page on which `key` lies if it exists, asked for ahead of its use.
  ///
  /// - Parameter branch: that of the descent before, or nil; that of this one is left there.
  @inline(__always)
  func place(of key: UInt64, _ branch: inout Branch?) -> Place? {
    if var known = branch, key >= known.lowest {
      // No more than a few steps: keys may also lie in no order.
      for _ in 0..<Self.steps {
        if key < known.end {
          branch = known
          let place = place(of: key, number: known.number, on: known.page, from: known.lowest)
          if let place { strata_prefetch(place.page) }
          return place
        }
        // Where the last one ends is said in the page above.
        guard known.number + 2 < known.count, let next = node(known.page, known.number + 2) else { break }
        known.number += 1
        (known.lowest, known.end) = (known.end, Self.key(next))
      }
    }
    branch = nil
    return descend(to: key, &branch)
  }

  @inline(__always)
  private func descend(to key: UInt64, _ branch: inout Branch?) -> Place? {
    var last: Branch?
    var page = tree.map + Int(tree.root) * pageSize
    var lowest: UInt64 = 0
    var place = Place(page: page, guess: Self.guess(key, from: lowest, pageSize))
    for _ in 1..<tree.depth {
      guard let count = count(page, PageFlags.branch), count > 0 else { return nil }
      // The first entry has no key: it leads to everything below the second.
      var isOdd = false
      let low = (1..<count).partitioningIndex { number in
        guard let node = node(page, number) else {
          isOdd = true
          return true
        }
        return Self.key(node) > key
      }
      if isOdd { return nil }
      if low > 1 {
        guard let exact = node(page, low - 1) else { return nil }
        lowest = Self.key(exact)
      }
      guard let next = self.place(of: key, number: low - 1, on: page, from: lowest) else { return nil }
      let end = low < count ? node(page, low).map(Self.key) : nil
      last = end.map { Branch(page: page, count: count, number: low - 1, lowest: lowest, end: $0) }
      (page, place) = (next.page, next)
    }
    strata_prefetch(page)
    branch = last
    return place
  }

  /// Where an entry of a branch page leads. Nothing below it is below `lowest`.
  @inline(__always)
  private func place(of key: UInt64, number: Int, on page: UnsafeRawPointer, from lowest: UInt64) -> Place? {
    let offset = PageHeader.offset(page, number)
    guard offset + NodeHeader.size <= pageSize else { return nil }
    let child = NodeHeader(page + offset).child
    guard child <= tree.lastPage else { return nil }
    return Place(page: tree.map + Int(child) * pageSize, guess: Self.guess(key, from: lowest, pageSize))
  }

  /// Primary keys are given out in a row: mostly nothing is missing between the first one of the page and this.
  @inline(__always)
  private static func guess(_ key: UInt64, from lowest: UInt64, _ pageSize: Int) -> Int {
    key >= lowest && key - lowest < UInt64(pageSize) ? Int(key - lowest) : 0
  }

  /// Asks for the entry that probably is the one.
  @inline(__always)
  func prefetch(_ place: Place) {
    let offset = PageHeader.size + 2 * place.guess
    guard offset + 2 <= pageSize else { return }
    let node = PageHeader.offset(place.page, place.guess)
    guard node < pageSize else { return }
    // A row has some lines of a cache; those behind the page do no harm.
    for line in 0..<4 { strata_prefetch(place.page + node + 64 * line) }
  }

  @inline(__always)
  func value(of key: UInt64, at place: Place) -> Found {
    guard let count = count(place.page, PageFlags.leaf) else { return .unclear }
    var end = count
    if place.guess < count, let node = node(place.page, place.guess), Self.key(node) == key {
      return value(node, on: place.page)
    }
    if place.guess > 0 {
      // Mostly few are missing before it.
      end = min(place.guess, count)
      for _ in 0..<Self.steps {
        guard end > 0, let node = node(place.page, end - 1) else { break }
        let found = Self.key(node)
        if found == key { return value(node, on: place.page) }
        if found < key { return .missing }
        end -= 1
      }
    }
    var isOdd = false
    let number = (0..<end).partitioningIndex { number in
      guard let node = node(place.page, number) else {
        isOdd = true
        return true
      }
      return Self.key(node) >= key
    }
    if isOdd { return .unclear }
    guard number < count, let node = node(place.page, number), Self.key(node) == key else { return .missing }
    return value(node, on: place.page)
  }

  @inline(__always)
  private func value(_ node: UnsafeRawPointer, on page: UnsafeRawPointer) -> Found {
    let header = NodeHeader(node)
    let start = node + NodeHeader.size + 8
    // A value on pages of its own is LMDB's to find.
    guard header.flags == 0, start - page + header.valueCount <= pageSize else { return .unclear }
    return .entry(UnsafeRawBufferPointer(start: start, count: header.valueCount))
  }
}

extension ReadTransaction {
  /// Calls `body` with each of `keys`, in their order, and the value stored under it in `keyspace`, nil when there is none,
  /// until it answers false. Keys are numbers, stored as eight bytes, big-endian.
  ///
  /// Looks many up at a time: for keys that lie far apart, what one waits for comes while the others are looked up.
  ///
  /// - Parameter isUnchanged: this is a write transaction that has written nothing at all yet, in no keyspace: what lies in the file is what
  ///   it sees.
  @inline(__always)
  func forEachValue(
    of keys: [UInt64], in keyspace: Keyspace, isUnchanged: Bool = false,
    _ body: (UInt64, UnsafeRawBufferPointer?) throws -> Bool
  ) throws {
    guard keys.count > 1, let tree = NumberedTree(keyspace, self, isUnchanged: isUnchanged) else {
      for key in keys where try !body(key, get(keyspace, key)) { return }
      return
    }
    let width = 16
    try withUnsafeTemporaryAllocation(of: NumberedTree.Place?.self, capacity: width) { places in
      var start = 0
      var branch: NumberedTree.Branch?
      while start < keys.count {
        let count = min(width, keys.count - start)
        for number in 0..<count {
          (places.baseAddress.unsafelyUnwrapped + number).initialize(
            to: tree.place(of: keys[start + number], &branch))
        }
        for number in 0..<count { if let place = places[number] { tree.prefetch(place) } }
        for number in 0..<count {
          let key = keys[start + number]
          var found = NumberedTree.Found.unclear
          if let place = places[number] { found = tree.value(of: key, at: place) }
          let value: UnsafeRawBufferPointer?
          switch found {
          case .entry(let bytes): value = bytes
          case .missing: value = nil
          case .unclear: value = try get(keyspace, key)
          }
          if try !body(key, value) { return }
        }
        start += count
      }
    }
  }

  /// The value stored under a number, or nil.
  @inline(__always)
  func get(_ keyspace: Keyspace, _ key: UInt64) throws -> UnsafeRawBufferPointer? {
    try get(keyspace.handle, key)
  }

  @inline(__always)
  func get(_ keyspace: MDB_dbi, _ key: UInt64) throws -> UnsafeRawBufferPointer? {
    try withUnsafeBytes(of: key.bigEndian) { try get(keyspace, $0) }
  }
}
