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
  static let names: MDB_dbi = 1

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

  /// The keyspace's record in that tree, as the transaction shows it.
  static func record(_ keyspace: Keyspace, _ transaction: borrowing ReadTransaction)
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

    /// Asks for the whole page.
    @inline(__always)
    func prefetch() { for line in 0..<pageSize / 64 { strata_prefetch(page + 64 * line) } }

    /// The key of an entry of a page on which all keys lie inside: see `keyLengths`.
    @inline(__always)
    func knownKey(_ number: Int) -> UnsafeRawBufferPointer {
      let node = page + PageHeader.offset(page, number)
      return UnsafeRawBufferPointer(start: node + NodeHeader.size, count: NodeHeader(node).keyCount)
    }
  }

  /// The entries from `lower` on and below `upper`, page by page; nil when a page does not look as expected.
  ///
  /// Reads the pages above the leaves, of each leaf its head, and of those at the borders some keys.
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
      if level == 2 { prefetchChild(of: page, entry + Self.headsAhead, count) }
      // What an entry leads to is not below its key, and below that of the next. The first one has no key: it leads to everything below the second.
      var (below, above) = (lower, upper)
      if entry > 0, !lower.isEmpty || upper != nil {
        guard let key = keys.key(entry) else { return false }
        if let upper, KeyOrder.order(key, upper) >= 0 { return true }
        if KeyOrder.order(key, lower) >= 0 { below = Self.noBound }
      }
      if entry + 1 < count, !lower.isEmpty || upper != nil {
        guard let next = keys.key(entry + 1) else { return false }
        if KeyOrder.order(next, lower) <= 0 { continue }
        if let upper, KeyOrder.order(next, upper) <= 0 { above = nil }
      }
      let offset = PageHeader.offset(page, entry)
      guard offset + NodeHeader.size <= pageSize else { return false }
      let child = NodeHeader(page + offset).child
      guard addRuns(child, level - 1, below, above, to: &runs, &visits) else { return false }
    }
    return true
  }

  private static var noBound: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: nil, count: 0) }
  /// So many heads of leaves are waited for together.
  private static let headsAhead = 8

  /// Asks for the head of the page that an entry leads to, if there is such an entry.
  private func prefetchChild(of page: UnsafeRawPointer, _ entry: Int, _ count: Int) {
    guard entry < count else { return }
    let offset = PageHeader.offset(page, entry)
    guard offset + NodeHeader.size <= pageSize else { return }
    let child = NodeHeader(page + offset).child
    if child <= lastPage { strata_prefetch(map + Int(child) * pageSize) }
  }

  private func addLeaf(
    _ page: UnsafeRawPointer, _ lower: UnsafeRawBufferPointer, _ upper: UnsafeRawBufferPointer?,
    to runs: inout [Run]
  ) -> Bool {
    guard let count = PageHeader.entryCount(page, PageFlags.leaf, pageSize: pageSize), count > 0 else {
      return false
    }
    let all = Run(page: page, pageSize: pageSize, entries: 0..<count)
    var range = 0..<count
    var isOdd = false
    func firstPlace(notBelow bound: UnsafeRawBufferPointer) -> Int {
      (0..<count).partitioningIndex { number in
        guard let key = all.key(number) else {
          isOdd = true
          return true
        }
        return KeyOrder.order(key, bound) >= 0
      }
    }
    if !lower.isEmpty { range = firstPlace(notBelow: lower)..<count }
    if let upper { range = range.lowerBound..<max(range.lowerBound, firstPlace(notBelow: upper)) }
    if isOdd { return false }
    if range.isEmpty { return true }
    runs.append(Run(page: page, pageSize: pageSize, entries: range))
    return true
  }
}
