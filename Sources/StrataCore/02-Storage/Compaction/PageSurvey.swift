import Foundation

/// What lies in the last part of a file: the entries by which its pages can be moved.
///
/// LMDB never changes a page that a commit has: it writes a copy to a free page. So an entry that is put once more, as it is, moves the leaf on which it lies, all
/// branches above it, and the pages of its own value.
struct PageSurvey {
  /// A change that changes nothing, and moves pages.
  struct Move {
    enum Kind {
      /// The entry is put once more.
      case entry
      /// An entry behind it is put and deleted: its own value is too long to be moved for the sake of its leaf.
      case neighbour
      /// The keyspace, which is empty, is emptied: only the page on which it is noted moves.
      case emptyKeyspace
    }
    let kind: Kind
    /// Of `names`.
    let keyspace: Int
    /// Of `keys`.
    let key: Range<Int>
    /// The pages side by side that the value has.
    let run: Range<UInt64>
  }

  /// The keyspaces of the store.
  private(set) var names: [String] = []
  /// The keys, one after the other.
  private(set) var keys: [UInt8] = []
  /// Those that move a leaf or a branch.
  private(set) var single: [Move] = []
  /// Those that move a value of several pages.
  private(set) var long: [Move] = []

  private let source: PageSource
  private let anchor: MetaPage
  private let boundary: UInt64
  private let check: () throws -> Void
  private var visited = 0

  /// Walks over all trees of a snapshot, and notes what has pages from `boundary` on.
  ///
  /// - Parameter check: Called now and then; what it throws ends the walk.
  /// - Throws: ``StorageError``, `.damaged` also when the snapshot has ended meanwhile.
  init(_ anchor: MetaPage, _ source: PageSource, boundary: UInt64, check: @escaping () throws -> Void) throws
  {
    self.anchor = anchor
    self.source = source
    self.boundary = boundary
    self.check = check
    var trees: [TreeRecord] = []
    var mainIsHigh: [Bool] = []
    try walk(anchor.mainTree, isHigh: false) { survey, node, isHigh in
      guard node.header.flags & NodeFlags.keyspace != 0, node.value.count == TreeRecord.size else { return }
      survey.names.append(String(decoding: node.key, as: UTF8.self))
      trees.append(TreeRecord(node.value.baseAddress!))  // Not empty.
      mainIsHigh.append(isHigh)
    }
    for (index, tree) in trees.enumerated() where tree.flags == 0 {
      if tree.root == TreeRecord.noPage, mainIsHigh[index] {
        single.append(Move(kind: .emptyKeyspace, keyspace: index, key: 0..<0, run: 0..<0))
      }
      // The page on which the keyspace itself is noted moves with any of its entries.
      try walk(tree, isHigh: mainIsHigh[index]) { $0.note($1, of: index, isHigh: $2) }
    }
  }

  private struct Node {
    let header: NodeHeader
    let key: UnsafeRawBufferPointer
    let value: UnsafeRawBufferPointer
  }

  /// Calls `body` with every entry of a tree, and with whether it has to stand for its leaf, or a branch above it, which lies beyond the boundary.
  private mutating func walk(
    _ tree: TreeRecord, isHigh: Bool, _ body: (inout PageSurvey, Node, Bool) -> Void
  ) throws {
    if tree.root == TreeRecord.noPage { return }
    var isHigh = isHigh
    try walk(tree.root, depth: Int(tree.depth), &isHigh, body)
  }

  private mutating func walk(
    _ number: UInt64, depth: Int, _ isHigh: inout Bool, _ body: (inout PageSurvey, Node, Bool) -> Void
  ) throws {
    guard (1...PageWalk.depthLimit).contains(depth) else { throw damage(number) }
    visited += 1
    if visited & 1_023 == 0 { try check() }
    let page = try source.page(number, in: anchor)
    if number >= boundary { isHigh = true }
    try page.withUnsafeBytes { bytes in
      let base = bytes.baseAddress!  // A page is never empty.
      let kind = depth == 1 ? PageFlags.leaf : PageFlags.branch
      guard let count = PageHeader.entryCount(base, kind, pageSize: bytes.count) else { throw damage(number) }
      for index in 0..<count {
        let offset = PageHeader.offset(base, index)
        guard offset + NodeHeader.size <= bytes.count else { throw damage(number) }
        let header = NodeHeader(base + offset)
        if depth > 1 {
          try walk(header.child, depth: depth - 1, &isHigh, body)
          continue
        }
        let start = offset + NodeHeader.size
        let size = header.flags & NodeFlags.overflow != 0 ? 8 : header.valueCount
        guard start + header.keyCount + size <= bytes.count else { throw damage(number) }
        let node = Node(
          header: header,
          key: UnsafeRawBufferPointer(rebasing: bytes[start..<start + header.keyCount]),
          value: UnsafeRawBufferPointer(rebasing: bytes[(start + header.keyCount)...].prefix(size)))
        body(&self, node, isHigh)
        isHigh = false
      }
    }
  }

  private mutating func note(_ node: Node, of keyspace: Int, isHigh: Bool) {
    var run: Range<UInt64> = 0..<0
    if node.header.flags & NodeFlags.overflow != 0 {
      let first = node.value.loadUnaligned(as: UInt64.self)
      run =
        first..<first
        + UInt64((PageHeader.size + node.header.valueCount + anchor.pageSize - 1) / anchor.pageSize)
    }
    let isLong = run.upperBound > boundary
    if !isHigh && !isLong { return }
    let key = keys.count..<keys.count + node.key.count
    keys += node.key
    if isLong { long.append(Move(kind: .entry, keyspace: keyspace, key: key, run: run)) }
    if isHigh {
      let kind = run.count > Self.mostPagesForLeaf ? Move.Kind.neighbour : .entry
      single.append(Move(kind: kind, keyspace: keyspace, key: key, run: run))
    }
  }

  /// A value of more pages is not moved for the sake of its leaf.
  private static let mostPagesForLeaf = 4

  private func damage(_ page: UInt64) -> StorageError {
    source.damage(page, "it is not what the pages above it say")
  }
}
