import Foundation

/// One page of a damaged file, read entry by entry: those that lie inside it are given, the others left out.
struct DamagedPage {
  let bytes: [UInt8]
  /// Where the page lies.
  let place: UInt64

  /// One entry of a leaf, copied.
  struct Entry {
    var key: [UInt8]
    /// The bytes in the page; empty with an overflow page.
    var value: [UInt8]
    /// Where the value lies when it is not in the page.
    var overflowPage: UInt64?
    var valueCount: Int
    /// Whether the value is the record of a keyspace.
    var isKeyspace: Bool
  }

  private let header: PageHeader

  init(bytes: [UInt8], place: UInt64) {
    self.bytes = bytes
    self.place = place
    header = bytes.withUnsafeBytes { PageHeader($0.baseAddress!) }  // Never nil: a whole page.
  }

  var isLeaf: Bool { isWhole(PageFlags.leaf) }
  var isBranch: Bool { isWhole(PageFlags.branch) }

  /// Whether enough of the header is right to look for entries.
  var mayBeLeaf: Bool {
    header.flags == PageFlags.leaf || (header.number == place && header.flags & 0x0D == 0)
  }

  private func isWhole(_ flags: UInt16) -> Bool {
    header.number == place && header.flags == flags && header.entryCount > 0
      && header.hasPlausibleBounds(bytes.count)
  }

  /// How many entries the page says it has; as many as there may be when it says nothing sensible.
  var count: Int {
    if header.lower >= PageHeader.size && header.lower <= bytes.count { return header.entryCount }
    return (bytes.count - PageHeader.size) / (2 + NodeHeader.size)
  }

  /// The entry of a leaf; nil when it does not lie inside the page.
  func entry(_ index: Int) -> Entry? {
    guard let offset = nodeOffset(index) else { return nil }
    let node = node(offset)
    let (keyCount, flags, valueCount) = (node.keyCount, node.flags, node.valueCount)
    let isOverflow = flags == NodeFlags.overflow
    let start = offset + NodeHeader.size
    let inPage = isOverflow ? 8 : valueCount
    guard (1...511).contains(keyCount), flags == 0 || isOverflow || flags == NodeFlags.keyspace,
      flags != NodeFlags.keyspace || valueCount == TreeRecord.size, start + keyCount + inPage <= bytes.count
    else { return nil }
    return Entry(
      key: Array(bytes[start..<(start + keyCount)]),
      value: isOverflow ? [] : Array(bytes[(start + keyCount)..<(start + keyCount + inPage)]),
      overflowPage: isOverflow ? load(start + keyCount, as: UInt64.self) : nil, valueCount: valueCount,
      isKeyspace: flags == NodeFlags.keyspace)
  }

  /// A branch's key and the page it leads to; nil when they do not lie inside the page.
  func branch(_ index: Int) -> (key: [UInt8], child: UInt64)? {
    guard let offset = nodeOffset(index) else { return nil }
    let node = node(offset)
    let (keyCount, start) = (node.keyCount, offset + NodeHeader.size)
    guard keyCount <= 511, keyCount > 0 || index == 0, start + keyCount <= bytes.count else { return nil }
    return (Array(bytes[start..<(start + keyCount)]), node.child)
  }

  private func nodeOffset(_ index: Int) -> Int? {
    let place = PageHeader.size + 2 * index
    guard place + 2 <= bytes.count else { return nil }
    let offset = Int(load(place, as: UInt16.self))
    guard offset > place, offset & 1 == 0, offset + NodeHeader.size <= bytes.count else { return nil }
    return offset
  }

  private func node(_ offset: Int) -> NodeHeader {
    // Inside the page, see `nodeOffset`, hence never nil.
    bytes.withUnsafeBytes { NodeHeader($0.baseAddress! + offset) }
  }

  private func load<Number: FixedWidthInteger>(_ offset: Int, as type: Number.Type) -> Number {
    bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: type) }
  }
}

/// A stretch of keys of which nothing is known, because a page or an entry is unreadable.
struct LostRange {
  /// The first key that may be lost; nil for the beginning.
  var low: [UInt8]?
  /// The first key that is not lost; nil for the end.
  var high: [UInt8]?

  func contains(_ key: [UInt8]) -> Bool {
    (low.map { !key.lexicographicallyPrecedes($0) } ?? true)
      && (high.map { key.lexicographicallyPrecedes($0) } ?? true)
  }
}

/// Walks what can be walked of a tree in a damaged file and notes which keys it could not see.
struct DamagedTree {
  let source: DamagedFile
  private(set) var lost: [LostRange] = []

  init(_ source: DamagedFile) { self.source = source }

  /// Calls `visit` with every entry that can be read; false from it means that the entry is damaged.
  mutating func walk(root: UInt64, _ visit: (DamagedPage.Entry) throws -> Bool) rethrows {
    if root == TreeRecord.noPage { return }
    try walkPage(root, level: 0, low: nil, high: nil, visit)
  }

  /// Nothing is known of this tree.
  mutating func loseEverything() { lost = [LostRange(low: nil, high: nil)] }

  private mutating func walkPage(
    _ number: UInt64, level: Int, low: [UInt8]?, high: [UInt8]?,
    _ visit: (DamagedPage.Entry) throws -> Bool
  ) rethrows {
    guard number >= 2, level < PageWalk.depthLimit, !source.visited.contains(number),
      let page = source.page(number), page.isLeaf || page.isBranch
    else {
      source.noteUnreadable(number)
      lost.append(LostRange(low: low, high: high))
      return
    }
    source.visited.insert(number)
    if page.isLeaf {
      try walkLeaf(page, low: low, high: high, visit)
    } else {
      try walkBranch(page, level: level, low: low, high: high, visit)
    }
  }

  private mutating func walkLeaf(
    _ page: DamagedPage, low: [UInt8]?, high: [UInt8]?, _ visit: (DamagedPage.Entry) throws -> Bool
  ) rethrows {
    var previous = low
    var isFirst = true
    var hasGap = false
    for index in 0..<page.count {
      if let entry = page.entry(index), Self.isInOrder(entry.key, after: previous, isFirst: isFirst, high),
        try visit(entry)
      {
        if let run = entry.overflowPage.flatMap({ source.overflowRun($0, byteCount: entry.valueCount) }) {
          for page in run { source.values.insert(page) }
        }
        if hasGap { lost.append(LostRange(low: previous, high: entry.key)) }
        hasGap = false
        isFirst = false
        previous = entry.key
      } else {
        hasGap = true
      }
    }
    if hasGap {
      source.noteUnreadable(page.place)
      lost.append(LostRange(low: previous, high: high))
    }
  }

  private mutating func walkBranch(
    _ page: DamagedPage, level: Int, low: [UInt8]?, high: [UInt8]?,
    _ visit: (DamagedPage.Entry) throws -> Bool
  ) rethrows {
    var children: [(low: [UInt8]?, child: UInt64?)] = []
    var previous = low
    for index in 0..<page.count {
      let branch = page.branch(index)
      if index == 0 {
        children.append((low, branch?.child))
      } else if let branch, Self.isInOrder(branch.key, after: previous, isFirst: previous == nil, high) {
        previous = branch.key
        children.append((branch.key, branch.child))
      } else {
        children.append((previous, nil))
      }
    }
    for (index, child) in children.enumerated() {
      // Up to the next boundary that is known.
      let end = children[(index + 1)...].first { $0.child != nil }?.low ?? high
      if let number = child.child {
        try walkPage(number, level: level + 1, low: child.low, high: end, visit)
      } else {
        source.noteUnreadable(page.place)
        lost.append(LostRange(low: child.low, high: end))
      }
    }
  }

  private static func isInOrder(
    _ key: [UInt8], after previous: [UInt8]?, isFirst: Bool, _ high: [UInt8]?
  ) -> Bool {
    if let high, !key.lexicographicallyPrecedes(high) { return false }
    guard let previous else { return true }
    // The first key of a leaf may equal the boundary in the branch above.
    return isFirst ? !key.lexicographicallyPrecedes(previous) : previous.lexicographicallyPrecedes(key)
  }
}
