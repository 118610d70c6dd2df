import CLMDBShim
import Foundation

/// The tree of pages of a keyspace in a read transaction, walked in place. Valid as long as the transaction.
///
/// The bytes are those of `PageHeader`, `NodeHeader` and `TreeRecord`. Nothing here trusts the file further than LMDB does: what looks odd
/// is left to LMDB, which says what is wrong.
struct PageTree {
  let map: UnsafeRawPointer
  let pageSize: Int
  let lastPage: UInt64
  let root: UInt64
  let depth: Int
  let entryCount: Int

  /// LMDB's number for the tree of names: part of its format.
  private static let names: MDB_dbi = 1

  /// Nil when the keyspace is empty, in a write transaction that has changed something, whose pages lie anywhere, and when a page does not
  /// look as expected.
  init?(_ keyspace: Keyspace, _ transaction: borrowing ReadTransaction, isUnchanged: Bool = false) {
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
    let header = PageHeader(page)
    let tree = TreeRecord(address)
    guard header.flags == PageFlags.leaf, header.number <= lastPage, tree.flags == 0 else { return nil }
    map = page - Int(header.number) * pageSize
    depth = Int(tree.depth)
    entryCount = Int(clamping: tree.entries)
    root = tree.root
    // An empty keyspace has no root.
    guard depth > 0, depth < 64, root <= lastPage else { return nil }
  }

  private static func record(_ keyspace: Keyspace, _ transaction: borrowing ReadTransaction)
    -> UnsafeRawBufferPointer?
  {
    var name = keyspace.name
    let found = name.withUTF8 { try? transaction.get(names, UnsafeRawBufferPointer($0)) }
    return found?.count == TreeRecord.size ? found : nil
  }

  // MARK: Leaves in order

  /// Some entries of a leaf page, one behind the other.
  struct Run {
    let page: UnsafeRawPointer
    let pageSize: Int
    let entries: Range<Int>

    /// The key of an entry; nil when it does not lie inside the page.
    @inline(__always)
    func key(_ number: Int) -> UnsafeRawBufferPointer? {
      let offset = PageHeader.offset(page, number)
      guard offset >= PageHeader.size, offset + NodeHeader.size <= pageSize else { return nil }
      let count = NodeHeader(page + offset).keyCount
      guard offset + NodeHeader.size + count <= pageSize else { return nil }
      return UnsafeRawBufferPointer(start: page + offset + NodeHeader.size, count: count)
    }

    /// How long the shortest and the longest key are; nil when one does not lie inside the page.
    ///
    /// A short loop, so that what is far away is waited for together.
    func keyLengths() -> ClosedRange<Int>? {
      let last = pageSize - NodeHeader.size
      var (lowest, highestEnd, shortest, longest) = (Int.max, 0, Int.max, 0)
      for number in entries {
        let offset = PageHeader.offset(page, number)
        lowest = min(lowest, offset)
        highestEnd = max(highestEnd, offset + NodeHeader.size)
        let count = NodeHeader(page + min(offset, last)).keyCount
        highestEnd = max(highestEnd, offset + NodeHeader.size + count)
        shortest = min(shortest, count)
        longest = max(longest, count)
      }
      guard lowest >= PageHeader.size, highestEnd <= pageSize, shortest <= longest else { return nil }
      return shortest...longest
    }

    /// The key of an entry of a page on which all keys lie inside: see `keyLengths`.
    @inline(__always)
    func knownKey(_ number: Int) -> UnsafeRawBufferPointer {
      let node = page + PageHeader.offset(page, number)
      return UnsafeRawBufferPointer(start: node + NodeHeader.size, count: NodeHeader(node).keyCount)
    }
  }

  /// The entries from `lower` on and below `upper`, page by page; nil when a page does not look as expected.
  ///
  /// Reads the pages above the leaves, of each leaf its head, and of the first and last one some keys.
  func runs(from lower: UnsafeRawBufferPointer, below upper: UnsafeRawBufferPointer?) -> [Run]? {
    var runs: [Run] = []
    var visits: UInt64 = 0
    guard addRuns(root, depth, lower, upper, to: &runs, &visits) else { return nil }
    return runs.reduce(0) { $0 + $1.entries.count } <= entryCount ? runs : nil
  }

  private func addRuns(
    _ number: UInt64, _ level: Int, _ lower: UnsafeRawBufferPointer, _ upper: UnsafeRawBufferPointer?,
    to runs: inout [Run], _ visits: inout UInt64
  ) -> Bool {
    // A damaged tree may lead to a page again and again.
    visits += 1
    guard number <= lastPage, visits <= lastPage else { return false }
    let page = map + Int(number) * pageSize
    guard level > 1 else { return addLeaf(page, lower, upper, to: &runs) }
    guard let count = PageHeader.entryCount(page, PageFlags.branch, pageSize: pageSize), count > 0 else {
      return false
    }
    let keys = Run(page: page, pageSize: pageSize, entries: 0..<count)
    for entry in 0..<count {
      // The first entry has no key: it leads to everything below the second.
      if entry > 0, let upper {
        guard let key = keys.key(entry) else { return false }
        if Self.order(key, upper) >= 0 { return true }
      }
      if entry + 1 < count, !lower.isEmpty {
        guard let next = keys.key(entry + 1) else { return false }
        if Self.order(next, lower) <= 0 { continue }
      }
      let offset = PageHeader.offset(page, entry)
      guard offset + NodeHeader.size <= pageSize else { return false }
      let child = NodeHeader(page + offset).child
      guard addRuns(child, level - 1, lower, upper, to: &runs, &visits) else { return false }
    }
    return true
  }

  private func addLeaf(
    _ page: UnsafeRawPointer, _ lower: UnsafeRawBufferPointer, _ upper: UnsafeRawBufferPointer?,
    to runs: inout [Run]
  ) -> Bool {
    guard let count = PageHeader.entryCount(page, PageFlags.leaf, pageSize: pageSize), count > 0 else {
      return false
    }
    let all = Run(page: page, pageSize: pageSize, entries: 0..<count)
    guard let first = all.key(0), let last = all.key(count - 1) else { return false }
    var range = 0..<count
    var isOdd = false
    func firstPlace(notBelow bound: UnsafeRawBufferPointer) -> Int {
      (0..<count).partitioningIndex { number in
        guard let key = all.key(number) else {
          isOdd = true
          return true
        }
        return Self.order(key, bound) >= 0
      }
    }
    if !lower.isEmpty, Self.order(first, lower) < 0 {
      range = firstPlace(notBelow: lower)..<count
    }
    if let upper, Self.order(last, upper) >= 0 {
      range = range.lowerBound..<max(range.lowerBound, firstPlace(notBelow: upper))
    }
    if isOdd { return false }
    if range.isEmpty { return true }
    runs.append(Run(page: page, pageSize: pageSize, entries: range))
    return true
  }

  /// The order of two keys, as LMDB has it.
  private static func order(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Int {
    if let left = a.baseAddress, let right = b.baseAddress {
      let order = memcmp(left, right, min(a.count, b.count))
      if order != 0 { return Int(order) }
    }
    return a.count - b.count
  }
}
