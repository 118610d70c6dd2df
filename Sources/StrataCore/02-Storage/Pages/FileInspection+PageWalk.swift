import Foundation

/// The walk over every page that an anchor reaches.
///
/// It recurses as deep as the trees, whose depth is checked to be at most 32, with one page buffer per level.
final class PageWalk {
  /// LMDB's own limit (CURSOR_STACK).
  static let depthLimit = 32

  let inspection: FileInspection
  let anchor: MetaPage
  let pageSize: Int
  let fileSize: Int
  /// Which pages inside the file are used, by a tree or by the free list.
  var used: PageSet

  /// One buffer per level of a tree, and one for the levels' node tiling.
  private var buffers: [UnsafeMutableRawBufferPointer] = []
  private let tiles: UnsafeMutablePointer<UInt16>

  init(_ inspection: FileInspection, _ anchor: MetaPage, fileSize: Int) {
    self.inspection = inspection
    self.anchor = anchor
    self.fileSize = fileSize
    pageSize = anchor.pageSize
    // No page beyond the last one is ever put in, however long a sparse file says it is.
    used = PageSet(filePages: min(fileSize / anchor.pageSize, Int(anchor.lastPage) + 1))
    tiles = .allocate(capacity: anchor.pageSize / 2)
  }

  deinit {
    for buffer in buffers { buffer.deallocate() }
    tiles.deallocate()
  }

  /// Which tree is walked: what its leaves may hold depends on it.
  enum Tree {
    case free
    case main
    case keyspace
  }

  /// Walks the tree of keyspaces, and with `everyPage` all keyspaces and the free list as well.
  func run(everyPage: Bool) throws {
    var keyspaces: [(name: String, record: TreeRecord, page: UInt64)] = []
    var isEmpty = true
    try walk(anchor.mainTree, .main, namedIn: nil) { node, page in
      isEmpty = false
      guard node.flags & NodeFlags.keyspace != 0 else { return }
      let name = String(decoding: node.key, as: UTF8.self)
      keyspaces.append((name, TreeRecord(node.value.baseAddress!), page))  // Checked to be 48 bytes.
    }
    if let required = inspection.requiredKeyspace, !isEmpty,
      !keyspaces.contains(where: { $0.name == required })
    {
      throw StorageError.foreign(inspection.file.path)
    }
    for (name, record, page) in keyspaces {
      if record.flags != 0 {
        throw StorageError(
          .unsupportedFormat, operation: "inspection", path: inspection.file.path, page: page,
          detail: "The keyspace “\(name)” has the flags \(record.flags), which Strata never sets.")
      }
      if everyPage {
        try walk(record, .keyspace, namedIn: page) { _, _ in }
      } else {
        try checkRoot(record, .keyspace, namedIn: page)
      }
    }
    if everyPage {
      try walkFreeList()
    } else {
      try checkRoot(anchor.freeTree, .free, namedIn: nil)
    }
  }

  // MARK: Trees

  /// One entry of a leaf, in the level's buffer.
  struct Node {
    var flags: UInt16
    var key: UnsafeRawBufferPointer
    /// The bytes in the page; with `NodeFlags.overflow` the number of the first overflow page.
    var value: UnsafeRawBufferPointer
    /// The length of the value, wherever it is.
    var valueCount: Int
  }

  /// Walks all of a tree. `namedIn` is the page that holds its record.
  func walk(
    _ record: TreeRecord, _ tree: Tree, namedIn: UInt64?, _ visit: (Node, UInt64) throws -> Void
  ) throws {
    guard try checkRoot(record, tree, namedIn: namedIn) else { return }
    var entries: UInt64 = 0
    try walkPage(
      record.root, level: 0, depth: Int(record.depth), tree, low: nil, high: nil,
      visit: { node, page in
        entries += 1
        try visit(node, page)
      })
    if entries != record.entries {
      throw damage(namedIn ?? record.root, "a tree of \(entries) entries is said to have \(record.entries)")
    }
  }

  /// Checks a tree's record and the kind of its root; false for an empty tree.
  @discardableResult
  private func checkRoot(_ record: TreeRecord, _ tree: Tree, namedIn: UInt64?) throws -> Bool {
    if record.root == TreeRecord.noPage {
      guard record.depth == 0, record.entries == 0 else {
        throw damage(namedIn, "a tree without pages is said to have \(record.entries) entries")
      }
      return false
    }
    guard (1...PageWalk.depthLimit).contains(Int(record.depth)) else {
      throw damage(namedIn, "a tree cannot be \(record.depth) pages deep")
    }
    try checkInside(record.root, referredBy: namedIn)
    let page = try load(record.root, level: 0)
    try checkKind(page, record.root, isLeaf: record.depth == 1)
    return true
  }

  private func walkPage(
    _ number: UInt64, level: Int, depth: Int, _ tree: Tree, low: UnsafeRawBufferPointer?,
    high: UnsafeRawBufferPointer?, visit: (Node, UInt64) throws -> Void
  ) throws {
    guard used.insert(number) else { throw damage(number, "it is used twice") }
    let page = try load(number, level: level)
    let isLeaf = level == depth - 1
    try checkKind(page, number, isLeaf: isLeaf)
    let count = try checkNodes(page, number, isLeaf: isLeaf, tree)
    var previous = low
    for index in 0..<count {
      let offset = PageHeader.offset(page, index)
      let key = nodeKey(page, offset)
      // The first key of a branch stands for everything below the second and is not looked at.
      if isLeaf || index > 0 {
        try checkOrder(previous, key, high, number, tree, isFirst: index == 0, isLeaf: isLeaf)
        previous = key
      }
      if isLeaf {
        let node = node(page, offset, key)
        if node.flags & NodeFlags.overflow != 0 { try checkOverflow(node, number) }
        try visit(node, number)
      } else {
        let child = NodeHeader(page + offset).child
        try checkInside(child, referredBy: number)
        let next =
          index + 1 < count
          ? nodeKey(page, PageHeader.offset(page, index + 1)) : high
        try walkPage(
          child, level: level + 1, depth: depth, tree, low: index == 0 ? low : key, high: next, visit: visit)
      }
    }
  }

  // MARK: One page

  private func checkKind(_ page: UnsafeRawPointer, _ number: UInt64, isLeaf: Bool) throws {
    let header = PageHeader(page)
    if header.number != number { throw damage(number, "it is numbered \(header.number)") }
    if header.flags != (isLeaf ? PageFlags.leaf : PageFlags.branch) {
      throw damage(number, "a \(isLeaf ? "leaf" : "branch") page is marked \(header.flags)")
    }
  }

  /// Checks that the nodes lie inside the page and fill it from `upper` to the end without gap or overlap;
  /// how many there are.
  private func checkNodes(
    _ page: UnsafeRawPointer, _ number: UInt64, isLeaf: Bool, _ tree: Tree
  ) throws -> Int {
    let header = PageHeader(page)
    let (count, upper) = (header.entryCount, header.upper)
    guard header.hasPlausibleBounds(pageSize), upper & 1 == 0 else {
      throw damage(number, "its free space cannot reach from \(header.lower) to \(upper)")
    }
    // LMDB itself insists on two branches, except in the free list while it changes.
    guard count >= (isLeaf || tree == .free ? 1 : 2) else {
      throw damage(number, "a \(isLeaf ? "leaf" : "branch") page has \(count) entries")
    }
    tiles.update(repeating: 0, count: pageSize / 2)
    for index in 0..<count {
      let offset = PageHeader.offset(page, index)
      guard offset >= upper, offset & 1 == 0, offset + NodeHeader.size <= pageSize else {
        throw damage(number, "entry \(index) cannot begin at \(offset)")
      }
      let size = try checkNode(page, offset, number, index, isLeaf: isLeaf, tree)
      guard tiles[offset / 2] == 0 else { throw damage(number, "two entries begin at \(offset)") }
      tiles[offset / 2] = UInt16(size)
    }
    var offset = upper
    for _ in 0..<count {
      guard offset < pageSize, tiles[offset / 2] != 0 else {
        throw damage(number, "its entries overlap or leave a gap at \(offset)")
      }
      offset += Int(tiles[offset / 2])
    }
    guard offset == pageSize else { throw damage(number, "its entries end at \(offset)") }
    return count
  }

  /// Checks one node's lengths and flags; the bytes it takes in the page.
  private func checkNode(
    _ page: UnsafeRawPointer, _ offset: Int, _ number: UInt64, _ index: Int, isLeaf: Bool, _ tree: Tree
  ) throws -> Int {
    let node = NodeHeader(page + offset)
    let keyCount = node.keyCount
    let isNamed = isLeaf || index > 0
    guard keyCount <= 511, keyCount > 0 || !isNamed, tree != .free || keyCount == 8 || !isNamed else {
      throw damage(number, "entry \(index) has a key of \(keyCount) bytes")
    }
    var size = NodeHeader.size + keyCount
    if isLeaf {
      switch node.flags {
      case 0: size += node.valueCount
      case NodeFlags.overflow: size += 8
      case NodeFlags.keyspace where tree == .main && node.valueCount == TreeRecord.size:
        size += node.valueCount
      default: throw damage(number, "entry \(index) is marked \(node.flags)")
      }
    }
    size += size & 1
    guard offset + size <= pageSize else { throw damage(number, "entry \(index) ends outside the page") }
    return size
  }

  private func checkOrder(
    _ previous: UnsafeRawBufferPointer?, _ key: UnsafeRawBufferPointer, _ high: UnsafeRawBufferPointer?,
    _ number: UInt64, _ tree: Tree, isFirst: Bool, isLeaf: Bool
  ) throws {
    if let previous {
      let order = compare(previous, key, tree)
      // The first key may equal the one in the branch above.
      guard order < 0 || (order == 0 && isFirst && isLeaf) else {
        throw damage(number, "its keys are out of order")
      }
    }
    if let high, compare(key, high, tree) >= 0 { throw damage(number, "its keys belong into another page") }
  }

  private func compare(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer, _ tree: Tree) -> Int {
    if tree == .free {
      let left = a.loadUnaligned(as: UInt64.self)
      let right = b.loadUnaligned(as: UInt64.self)
      return left < right ? -1 : left > right ? 1 : 0
    }
    return KeyOrder.order(a, b)
  }

  private func checkOverflow(_ node: Node, _ number: UInt64) throws {
    let first = node.value.loadUnaligned(as: UInt64.self)
    try checkInside(first, referredBy: number)
    var header = (UInt64(0), UInt64(0))
    let count = try withUnsafeMutableBytes(of: &header) { try inspection.read($0, at: Int(first) * pageSize) }
    guard count == 16 else { throw outside(first, referredBy: number) }
    let found = withUnsafeBytes(of: header) { PageHeader($0.baseAddress!) }  // Never nil: 16 bytes.
    if found.number != first { throw damage(first, "it is numbered \(found.number)") }
    if found.flags != PageFlags.overflow {
      throw damage(first, "an overflow page is marked \(found.flags)")
    }
    let pages = found.pageCount
    let needed = (PageHeader.size + node.valueCount + pageSize - 1) / pageSize
    guard pages >= UInt64(needed) else {
      throw damage(first, "a value of \(node.valueCount) bytes is said to fit into \(pages) pages")
    }
    // A run may be longer than its value, but never than the largest one: 4 GiB.
    guard pages <= UInt64(1 << 32 / pageSize + 1), pages - 1 <= anchor.lastPage - first else {
      throw damage(first, "its run of \(pages) pages ends after the last page")
    }
    guard Int(first) * pageSize + PageHeader.size + node.valueCount <= fileSize else {
      throw outside(first + UInt64(needed) - 1, referredBy: number)
    }
    for page in first..<(first + pages) {
      guard used.insert(page) else { throw damage(page, "it is used twice") }
    }
  }

  // MARK: Bytes

  private func nodeKey(_ page: UnsafeRawPointer, _ offset: Int) -> UnsafeRawBufferPointer {
    let node = page + offset
    return UnsafeRawBufferPointer(start: node + NodeHeader.size, count: NodeHeader(node).keyCount)
  }

  private func node(_ page: UnsafeRawPointer, _ offset: Int, _ key: UnsafeRawBufferPointer) -> Node {
    let header = NodeHeader(page + offset)
    let start = page + offset + NodeHeader.size + key.count
    let inPage = header.flags & NodeFlags.overflow != 0 ? 8 : header.valueCount
    return Node(
      flags: header.flags, key: key, value: UnsafeRawBufferPointer(start: start, count: inPage),
      valueCount: header.valueCount)
  }

  private func load(_ number: UInt64, level: Int) throws -> UnsafeRawPointer {
    while buffers.count <= level { buffers.append(.allocate(byteCount: pageSize, alignment: 16)) }
    guard try inspection.read(buffers[level], at: Int(number) * pageSize) == pageSize else {
      throw outside(number, referredBy: nil)
    }
    return UnsafeRawPointer(buffers[level].baseAddress!)  // A buffer of a page is never empty.
  }

  // MARK: Complaints

  func checkInside(_ number: UInt64, referredBy: UInt64?) throws {
    guard number >= 2, number <= anchor.lastPage else {
      throw damage(referredBy, "it refers to page \(number), and the last one is \(anchor.lastPage)")
    }
    guard (Int(number) + 1) * pageSize <= fileSize else { throw outside(number, referredBy: referredBy) }
  }

  func damage(_ page: UInt64?, _ reason: String) -> StorageError {
    // Without a page it is the anchor that speaks.
    inspection.damage(page ?? anchor.pageNumber, reason)
  }

  private func outside(_ number: UInt64, referredBy: UInt64?) -> StorageError {
    inspection.damage(
      referredBy ?? anchor.pageNumber, "it needs page \(number), and the file ends after \(fileSize) bytes",
      kind: .truncated)
  }
}
