import CLMDBShim
import Foundation

/// The tree of a keyspace whose keys are eight bytes each, big-endian, walked in place in a read transaction.
///
/// LMDB looks up one key at a time, comparing keys through a function pointer and waiting for the memory of each. Here many
/// descents go on side by side: what one needs next is asked for while the others move on. Pages are as ``LeafPage`` has them;
/// in a branch page the size of a value is the low half of a page number, whose third part are the flags. The record of a
/// keyspace, 48 bytes in the tree of names, holds its flags at offset 4, its depth at 6 and its root at 40.
///
/// Nothing here trusts the file further than LMDB does: what looks odd is left to LMDB, which says what is wrong.
private struct NumberedTree {
  private let map: UnsafeRawPointer
  private let pageSize: Int
  private let lastPage: UInt64
  private let root: UInt64
  private let depth: Int

  /// A place in a leaf page where a key lies if it exists; `guess` is its number when no key is missing before it.
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

  /// LMDB's number for the tree of names: part of its format.
  private static let names: MDB_dbi = 1

  /// Nil in a write transaction that has changed something, whose pages lie anywhere, and when a page does not look as expected.
  init?(_ keyspace: Keyspace, _ transaction: borrowing ReadTransaction, isUnchanged: Bool) {
    var information = MDB_envinfo()
    guard let environment = mdb_txn_env(transaction.handle),
      mdb_env_info(environment, &information) == 0,
      transaction.id <= information.me_last_txnid + (isUnchanged ? 1 : 0),
      let record = Self.record(keyspace, transaction), let address = record.baseAddress
    else { return nil }
    var statistics = MDB_stat()
    guard mdb_stat(transaction.handle, keyspace.handle, &statistics) == 0 else { return nil }
    pageSize = Int(statistics.ms_psize)
    // Larger pages than the system's need not begin at a multiple of their size.
    guard pageSize <= Int(getpagesize()) else { return nil }
    let page = address - (Int(bitPattern: address) & (pageSize - 1))
    lastPage = UInt64(information.me_last_pgno)
    let number = page.load(as: UInt64.self)
    guard page.load(fromByteOffset: 10, as: UInt16.self) == PageFlags.leaf, number <= lastPage,
      address.loadUnaligned(fromByteOffset: 4, as: UInt16.self) == 0
    else { return nil }
    map = page - Int(number) * pageSize
    depth = Int(address.loadUnaligned(fromByteOffset: 6, as: UInt16.self))
    root = address.loadUnaligned(fromByteOffset: 40, as: UInt64.self)
    // An empty keyspace has no root.
    guard depth > 0, depth < 64, root <= lastPage else { return nil }
  }

  private static func record(_ keyspace: Keyspace, _ transaction: borrowing ReadTransaction)
    -> UnsafeRawBufferPointer?
  {
    var name = keyspace.name
    let found = name.withUTF8 { try? transaction.get(names, UnsafeRawBufferPointer($0)) }
    return found?.count == 48 ? found : nil
  }

  /// The number of entries on a page; nil when it is not of the kind `flags`.
  @inline(__always)
  private func count(_ page: UnsafeRawPointer, _ flags: UInt16) -> Int? {
    let lower = Int(page.load(fromByteOffset: 12, as: UInt16.self))
    let upper = Int(page.load(fromByteOffset: 14, as: UInt16.self))
    guard page.load(fromByteOffset: 10, as: UInt16.self) == flags, lower >= PageWalk.pageHeader,
      lower & 1 == 0, lower <= upper, upper <= pageSize
    else { return nil }
    return (lower - PageWalk.pageHeader) / 2
  }

  /// The entry with this number; nil when it does not lie inside the page or has another kind of key.
  @inline(__always)
  private func node(_ page: UnsafeRawPointer, _ number: Int) -> UnsafeRawPointer? {
    let offset = Int(page.load(fromByteOffset: PageWalk.pageHeader + 2 * number, as: UInt16.self))
    guard offset + PageWalk.nodeHeader + 8 <= pageSize else { return nil }
    let node = page + offset
    return node.loadUnaligned(fromByteOffset: 6, as: UInt16.self) == 8 ? node : nil
  }

  @inline(__always)
  private static func key(_ node: UnsafeRawPointer) -> UInt64 {
    UInt64(bigEndian: node.loadUnaligned(fromByteOffset: PageWalk.nodeHeader, as: UInt64.self))
  }

  /// The leaf page on which `key` lies if it exists, asked for ahead of its use.
  @inline(__always)
  func place(of key: UInt64) -> Place? {
    var page = map + Int(root) * pageSize
    var lowest: UInt64 = 0
    for _ in 1..<depth {
      guard let count = count(page, PageFlags.branch), count > 0 else { return nil }
      // The first entry has no key: it leads to everything below the second.
      var low = 1
      var high = count
      while low < high {
        let middle = (low + high) / 2
        guard let node = node(page, middle) else { return nil }
        if Self.key(node) <= key { low = middle + 1 } else { high = middle }
      }
      let offset = Int(
        page.load(fromByteOffset: PageWalk.pageHeader + 2 * (low - 1), as: UInt16.self))
      guard offset + PageWalk.nodeHeader <= pageSize else { return nil }
      let node = page + offset
      if low > 1 {
        guard let exact = self.node(page, low - 1) else { return nil }
        lowest = Self.key(exact)
      }
      let number =
        UInt64(node.loadUnaligned(fromByteOffset: 0, as: UInt16.self))
        | UInt64(node.loadUnaligned(fromByteOffset: 2, as: UInt16.self)) << 16
        | UInt64(node.loadUnaligned(fromByteOffset: 4, as: UInt16.self)) << 32
      guard number <= lastPage else { return nil }
      page = map + Int(number) * pageSize
    }
    strata_prefetch(page)
    // Primary keys are given out in a row: mostly nothing is missing between the first one of the page and this.
    let guess = key >= lowest && key - lowest < UInt64(pageSize) ? Int(key - lowest) : 0
    return Place(page: page, guess: guess)
  }

  /// Asks for the entry that probably is the one.
  @inline(__always)
  func prefetch(_ place: Place) {
    let offset = PageWalk.pageHeader + 2 * place.guess
    guard offset + 2 <= pageSize else { return }
    let node = Int(place.page.load(fromByteOffset: offset, as: UInt16.self))
    guard node < pageSize else { return }
    // A row has some lines of a cache; those behind the page do no harm.
    for line in 0..<4 { strata_prefetch(place.page + node + 64 * line) }
  }

  @inline(__always)
  func value(of key: UInt64, at place: Place) -> Found {
    guard let count = count(place.page, PageFlags.leaf) else { return .unclear }
    if place.guess < count, let node = node(place.page, place.guess), Self.key(node) == key {
      return value(node, on: place.page)
    }
    var low = 0
    var high = count
    while low < high {
      let middle = (low + high) / 2
      guard let node = node(place.page, middle) else { return .unclear }
      let found = Self.key(node)
      if found == key { return value(node, on: place.page) }
      if found < key { low = middle + 1 } else { high = middle }
    }
    return .missing
  }

  @inline(__always)
  private func value(_ node: UnsafeRawPointer, on page: UnsafeRawPointer) -> Found {
    let size =
      Int(node.loadUnaligned(fromByteOffset: 0, as: UInt16.self))
      | Int(node.loadUnaligned(fromByteOffset: 2, as: UInt16.self)) << 16
    let start = node + PageWalk.nodeHeader + 8
    // A value on pages of its own is LMDB's to find.
    guard node.loadUnaligned(fromByteOffset: 4, as: UInt16.self) == 0, start - page + size <= pageSize else {
      return .unclear
    }
    return .entry(UnsafeRawBufferPointer(start: start, count: size))
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
      for key in keys where try !body(key, value(of: key, in: keyspace)) { return }
      return
    }
    let width = 16
    try withUnsafeTemporaryAllocation(of: NumberedTree.Place?.self, capacity: width) { places in
      var start = 0
      while start < keys.count {
        let count = min(width, keys.count - start)
        for number in 0..<count {
          (places.baseAddress.unsafelyUnwrapped + number).initialize(to: tree.place(of: keys[start + number]))
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
          case .unclear: value = try self.value(of: key, in: keyspace)
          }
          if try !body(key, value) { return }
        }
        start += count
      }
    }
  }

  /// By LMDB.
  @inline(never)
  private func value(of key: UInt64, in keyspace: Keyspace) throws -> UnsafeRawBufferPointer? {
    try withUnsafeBytes(of: key.bigEndian) { try get(keyspace, $0) }
  }
}
