import Foundation

/// A free list written anew: the lowest pages first, and without those at the end of the file, which is shorter then.
///
/// ```
///   before   1: 900 30 7 · 2: 12 4 · 3: 899 898 · 9: 5     last page 900
///   after    8: 30 12 7 4 · 9: 5 and the old list's pages  last page 897
/// ```
///
/// Records that a reader may still need stay as they are. All others become one list in ascending order: LMDB takes records by their
/// numbers, and of a record the lowest page first. So from then on pages are used from the beginning of the file. The new list lies on pages that were free. The pages
/// of the old one become free with the newest transaction, so that whoever goes back to the old anchor finds it whole.
struct FreeListDraft {
  /// What is to be written: numbers of pages, and the bytes from the beginning of each on.
  private(set) var writes: [(page: UInt64, bytes: [UInt8])] = []
  /// The bytes of the new anchor, with the number of the same transaction.
  private(set) var anchor: [UInt8]
  /// How many pages the file has then.
  let pageCount: Int
  /// The pages that the next commits may use, in ascending order.
  let usable: [UInt64]
  /// How many more become free when readers have gone on.
  let heldCount: Int

  /// - Parameters:
  ///   - anchor: The newest anchor's bytes.
  ///   - oldest: What is free since an earlier transaction than this one may be used again.
  /// - Returns: nil when there are too few free pages for a list, or no numbers for it.
  init?(_ list: FreeList, anchor: [UInt8], oldest: UInt64) {
    let meta = MetaPage(anchor)
    guard oldest >= 2, oldest <= meta.transactionID else { return nil }
    var parts = Parts(list, newest: meta.transactionID, oldest: oldest)
    var free = PageBits(count: Int(meta.lastPage) + 1)
    for page in parts.reusable { free.insert(Int(page)) }
    guard var room = Room(parts, &free, keys: Int(clamping: oldest - 1), pageSize: meta.pageSize) else {
      return nil
    }
    let end = free.endWithoutTail
    let usable = free.members(below: end)
    let lists = stride(from: 0, to: usable.count, by: room.capacity).map {
      usable[$0..<min($0 + room.capacity, usable.count)]
    }
    guard lists.count <= room.runs.count else { return nil }
    // What was taken and is not needed becomes free when the old list does.
    parts.recent += room.giveBack(lists: lists.count, parts.retained)
    guard parts.recent.count <= room.recentCapacity else { return nil }

    self.anchor = anchor
    self.usable = usable
    pageCount = end
    heldCount = parts.heldCount
    var entries: [FreeListEntry] = []
    for (index, pages) in lists.enumerated() {
      let number = oldest - UInt64(lists.count - index)
      entries.append(write(pages.reversed(), freeSince: number, on: room.runs[index], meta.pageSize))
    }
    entries += parts.retained
    let recent = parts.recent.sorted(by: >)
    entries.append(write(recent[...], freeSince: meta.transactionID, on: room.recentRun, meta.pageSize))
    let tree = FreeListTree(entries, on: room.treePages, pageSize: meta.pageSize)
    writes += tree.writes
    let overflowPages =
      parts.retainedOverflow + room.recentRun.count + room.runs.reduce(0) { $0 + $1.count }
    setAnchor(tree, overflowPages: overflowPages, entries: entries.count)
  }

  private mutating func write(
    _ pages: some Collection<UInt64>, freeSince number: UInt64, on run: Range<UInt64>, _ pageSize: Int
  ) -> FreeListEntry {
    let size = 8 * (pages.count + 1)
    var bytes = [UInt8](repeating: 0, count: PageHeader.size + size)
    bytes.withUnsafeMutableBytes { buffer in
      buffer.storeBytes(of: run.lowerBound, as: UInt64.self)
      buffer.storeBytes(of: PageFlags.overflow, toByteOffset: 10, as: UInt16.self)
      buffer.storeBytes(of: UInt32(run.count), toByteOffset: 12, as: UInt32.self)
      buffer.storeBytes(of: UInt64(pages.count), toByteOffset: PageHeader.size, as: UInt64.self)
      for (index, page) in pages.enumerated() {
        buffer.storeBytes(of: page, toByteOffset: PageHeader.size + 8 * (index + 1), as: UInt64.self)
      }
    }
    writes.append((run.lowerBound, bytes))
    return FreeListEntry(
      transactionID: number, flags: NodeFlags.overflow, valueCount: size,
      stored: withUnsafeBytes(of: run.lowerBound) { Array($0) })
  }

  private mutating func setAnchor(_ tree: FreeListTree, overflowPages: Int, entries: Int) {
    let lastPage = UInt64(pageCount - 1)
    anchor.withUnsafeMutableBytes { bytes in
      // Page size and flags, the first six bytes of the record, stay.
      let record = UnsafeMutableRawBufferPointer(
        rebasing: bytes[MetaPage.freeTreeOffset..<MetaPage.freeTreeOffset + TreeRecord.size])
      record.storeBytes(of: UInt16(tree.depth), toByteOffset: 6, as: UInt16.self)
      record.storeBytes(of: UInt64(tree.branchCount), toByteOffset: 8, as: UInt64.self)
      record.storeBytes(of: UInt64(tree.leafCount), toByteOffset: 16, as: UInt64.self)
      record.storeBytes(of: UInt64(overflowPages), toByteOffset: 24, as: UInt64.self)
      record.storeBytes(of: UInt64(entries), toByteOffset: 32, as: UInt64.self)
      record.storeBytes(of: tree.root, toByteOffset: 40, as: UInt64.self)
      bytes.storeBytes(of: lastPage, toByteOffset: MetaPage.lastPageOffset, as: UInt64.self)
    }
  }
}

/// What becomes of the records of a list.
private struct Parts {
  /// Those that stay as they are.
  var retained: [FreeListEntry] = []
  var retainedOverflow = 0
  /// What may be used again now.
  var reusable: [UInt64] = []
  /// What is free since the newest transaction: its own record, and the old list.
  var recent: [UInt64]
  /// The pages of all records that stay, and of the newest one.
  var heldCount = 0

  init(_ list: FreeList, newest: UInt64, oldest: UInt64) {
    recent = list.treePages
    for record in list.records {
      if record.transactionID < oldest {
        reusable += record.pages
        recent += record.run
      } else if record.transactionID == newest {
        recent += record.pages
        recent += record.run
        heldCount += record.pages.count
      } else {
        retained.append(
          FreeListEntry(
            transactionID: record.transactionID, flags: record.flags, valueCount: record.valueCount,
            stored: record.stored))
        retainedOverflow += record.run.count
        heldCount += record.pages.count
      }
    }
  }
}

/// The pages that a new list gets: enough for what it may have at most. They are taken before it is known, since what is taken is not in the list.
private struct Room {
  /// How many pages a record lists.
  let capacity: Int
  let recentCapacity: Int
  private(set) var runs: [Range<UInt64>] = []
  let recentRun: Range<UInt64>
  private(set) var treePages: [UInt64] = []
  private let pageSize: Int

  /// Nil when the free pages do not suffice.
  init?(_ parts: Parts, _ free: inout PageBits, keys: Int, pageSize: Int) {
    self.pageSize = pageSize
    let count = free.count(below: free.endWithoutTail)
    let slack = 32 + count / 128
    var runSize = 1
    while (count + slack) / Self.capacity(runSize, pageSize) + 1 > keys {
      runSize *= 2
      if runSize > 1 << 16 { return nil }
    }
    capacity = Self.capacity(runSize, pageSize)
    recentCapacity = parts.recent.count + slack
    let recentSize = (PageHeader.size + 8 * (recentCapacity + 1) + pageSize - 1) / pageSize
    guard let recent = free.take(recentSize) else { return nil }
    recentRun = Self.range(recent, recentSize)
    let lists = count == 0 ? 0 : (count - 1) / capacity + 1
    for _ in 0..<lists {
      guard let first = free.take(runSize) else { return nil }
      runs.append(Self.range(first, runSize))
    }
    for _ in 0..<Self.treeSize(lists, parts.retained, pageSize) {
      guard let page = free.take(1) else { return nil }
      treePages.append(UInt64(page))
    }
  }

  /// How many pages a list on so many pages has room for.
  private static func capacity(_ runSize: Int, _ pageSize: Int) -> Int {
    (runSize * pageSize - PageHeader.size) / 8 - 1
  }

  private static func range(_ first: Int, _ count: Int) -> Range<UInt64> {
    UInt64(first)..<UInt64(first + count)
  }

  private static func treeSize(_ lists: Int, _ retained: [FreeListEntry], _ pageSize: Int) -> Int {
    let sizes =
      [Int](repeating: FreeListEntry.longSize, count: lists) + retained.map(\.size) + [FreeListEntry.longSize]
    return FreeListTree.pageCount(sizes, pageSize: pageSize)
  }

  /// Keeps what so many lists need, which are no more than there is room for, and returns the other pages.
  mutating func giveBack(lists: Int, _ retained: [FreeListEntry]) -> [UInt64] {
    let needed = Self.treeSize(lists, retained, pageSize)
    let spare = runs[lists...].flatMap { Array($0) } + treePages[needed...]
    runs.removeSubrange(lists...)
    treePages.removeSubrange(needed...)
    return spare
  }
}

/// An entry of the free list's tree, as it lies in a leaf.
struct FreeListEntry {
  var transactionID: UInt64
  var flags: UInt16
  var valueCount: Int
  var stored: [UInt8]

  /// The bytes that it takes in a leaf, with its offset.
  var size: Int { NodeHeader.size + 8 + stored.count + 2 }
  /// Those of one whose value lies elsewhere.
  static let longSize = NodeHeader.size + 8 + 8 + 2
}

/// The tree of a new free list.
private struct FreeListTree {
  private(set) var writes: [(page: UInt64, bytes: [UInt8])] = []
  private(set) var root = TreeRecord.noPage
  private(set) var depth = 0
  private(set) var leafCount = 0
  private(set) var branchCount = 0

  /// How many pages a tree takes whose entries have these sizes, in this order.
  static func pageCount(_ sizes: [Int], pageSize: Int) -> Int {
    var (level, room) = (0, 0)
    for size in sizes {
      if size > room { (level, room) = (level + 1, pageSize - PageHeader.size) }
      room -= size
    }
    var count = level
    while level > 1 {
      level = (level - 1) / Self.branchCapacity(pageSize) + 1
      count += level
    }
    return count
  }

  private static func branchCapacity(_ pageSize: Int) -> Int {
    (pageSize - PageHeader.size) / (NodeHeader.size + 8 + 2)
  }

  /// - Parameter pages: As many as `pageCount` says.
  init(_ entries: [FreeListEntry], on pages: [UInt64], pageSize: Int) {
    var pages = pages[...]
    var level: [(key: UInt64, page: UInt64)] = []
    var rest = entries[...]
    while !rest.isEmpty {
      var room = pageSize - PageHeader.size
      let count = rest.prefix { entry in
        room -= entry.size
        return room >= 0
      }.count
      let number = pages.removeFirst()
      let nodes = rest.prefix(count).map(Self.node)
      writes.append((number, Self.page(number, PageFlags.leaf, nodes, pageSize)))
      level.append((rest[rest.startIndex].transactionID, number))
      rest = rest.dropFirst(count)
    }
    leafCount = level.count
    depth = 1
    while level.count > 1 {
      var above: [(key: UInt64, page: UInt64)] = []
      // No branch with a single child is left at the end.
      let pieces = (level.count - 1) / Self.branchCapacity(pageSize) + 1
      for piece in 0..<pieces {
        let children = level[level.count * piece / pieces..<level.count * (piece + 1) / pieces]
        let number = pages.removeFirst()
        let nodes = children.enumerated().map { Self.branchNode($1.key, $1.page, isFirst: $0 == 0) }
        writes.append((number, Self.page(number, PageFlags.branch, nodes, pageSize)))
        above.append((children[children.startIndex].key, number))
      }
      branchCount += above.count
      depth += 1
      level = above
    }
    root = level[0].page
  }

  private static func node(_ entry: FreeListEntry) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: NodeHeader.size)
    bytes.withUnsafeMutableBytes { buffer in
      buffer.storeBytes(of: UInt32(entry.valueCount), as: UInt32.self)
      buffer.storeBytes(of: entry.flags, toByteOffset: 4, as: UInt16.self)
      buffer.storeBytes(of: UInt16(8), toByteOffset: 6, as: UInt16.self)
    }
    return bytes + withUnsafeBytes(of: entry.transactionID) { Array($0) } + entry.stored
  }

  /// The first one of a page has no key.
  private static func branchNode(_ key: UInt64, _ page: UInt64, isFirst: Bool) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: NodeHeader.size)
    bytes.withUnsafeMutableBytes { buffer in
      buffer.storeBytes(of: UInt32(truncatingIfNeeded: page), as: UInt32.self)
      buffer.storeBytes(of: UInt16(truncatingIfNeeded: page >> 32), toByteOffset: 4, as: UInt16.self)
      buffer.storeBytes(of: isFirst ? 0 : UInt16(8), toByteOffset: 6, as: UInt16.self)
    }
    return isFirst ? bytes : bytes + withUnsafeBytes(of: key) { Array($0) }
  }

  private static func page(_ number: UInt64, _ flags: UInt16, _ nodes: [[UInt8]], _ pageSize: Int) -> [UInt8]
  {
    var bytes = [UInt8](repeating: 0, count: pageSize)
    bytes.withUnsafeMutableBytes { buffer in
      var upper = pageSize
      for (index, node) in nodes.enumerated() {
        upper -= node.count
        buffer.storeBytes(of: UInt16(upper), toByteOffset: PageHeader.size + 2 * index, as: UInt16.self)
        UnsafeMutableRawBufferPointer(rebasing: buffer[upper..<upper + node.count]).copyBytes(from: node)
      }
      buffer.storeBytes(of: number, as: UInt64.self)
      buffer.storeBytes(of: flags, toByteOffset: 10, as: UInt16.self)
      buffer.storeBytes(
        of: UInt16(PageHeader.size + 2 * nodes.count), toByteOffset: 12, as: UInt16.self)
      buffer.storeBytes(of: UInt16(upper), toByteOffset: 14, as: UInt16.self)
    }
    return bytes
  }
}
