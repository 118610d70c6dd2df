/// A list of fetched results in order, as it was at one moment: a value. Copying it costs nothing.
///
/// Finding a position, an entry, or a section takes a few steps down a tree, whatever the number of entries.
struct EntryList: Sendable {
  let root: EntryNode

  static let empty = EntryList(root: EntryNode(edit: 0, leaf: 0))

  var count: Int { root.summary.count }
  /// How many runs of entries with the same section there are.
  var runCount: Int { root.summary.runs }

  /// How many entries come before the key.
  func position(of key: [UInt8], _ identity: UInt64) -> Int {
    key.withUnsafeBytes { position(of: $0, identity) }
  }

  func position(of key: UnsafeRawBufferPointer, _ identity: UInt64) -> Int {
    var node = root
    var position = 0
    while !node.isLeaf {
      let place = node.child(for: key, identity)
      for earlier in 0..<place { position += node.sums[earlier].count }
      node = node.children[place]
    }
    return position + node.entries.lowerBound(key, identity)
  }

  /// The leaf with the entry at a position below `count`, and its place there.
  func find(_ position: Int) -> (leaf: EntryNode, place: Int) {
    var node = root
    var left = position
    while !node.isLeaf {
      var place = 0
      while left >= node.sums[place].count {
        left -= node.sums[place].count
        place += 1
      }
      node = node.children[place]
    }
    return (node, left)
  }

  /// The entry of an object, looked for in all leaves.
  func search(_ identity: UInt64) -> ResultEntry? { Self.search(identity, below: root) }

  private static func search(_ identity: UInt64, below node: EntryNode) -> ResultEntry? {
    if node.isLeaf { return node.entries.place(of: identity).map { node.entry($0) } }
    for child in node.children {
      if let found = search(identity, below: child) { return found }
    }
    return nil
  }

  /// Which run the entry at a position belongs to.
  func run(at position: Int) -> Int {
    var node = root
    var sum = EntrySummary()
    while !node.isLeaf {
      var place = 0
      while sum.count + node.sums[place].count <= position {
        sum.append(node.sums[place])
        place += 1
      }
      node = node.children[place]
    }
    for place in 0...(position - sum.count) { sum.append(section: node.entries.section(place)) }
    return sum.runs - 1
  }

  /// The position of the first entry of a run; `count` for the one behind the last.
  func start(ofRun run: Int) -> Int {
    if run >= runCount { return count }
    var node = root
    var sum = EntrySummary()
    while !node.isLeaf {
      var place = 0
      while true {
        var next = sum
        next.append(node.sums[place])
        if next.runs > run { break }
        sum = next
        place += 1
      }
      node = node.children[place]
    }
    for place in 0..<node.entries.count {
      var next = sum
      next.append(section: node.entries.section(place))
      if next.runs > run { break }
      sum = next
    }
    return sum.count
  }

  /// The entries from a position on, until `body` answers false.
  func forEach(from position: Int = 0, _ body: (EntryNode, Int) -> Bool) {
    if position >= count { return }
    _ = Self.walk(root, position, body)
  }

  /// Calls `body` with the leaves, in order.
  func forEachLeaf(_ body: (EntryNode) -> Void) { Self.walkLeaves(root, body) }

  private static func walkLeaves(_ node: EntryNode, _ body: (EntryNode) -> Void) {
    if node.isLeaf { return body(node) }
    for child in node.children { walkLeaves(child, body) }
  }

  private static func walk(_ node: EntryNode, _ skip: Int, _ body: (EntryNode, Int) -> Bool) -> Bool {
    if node.isLeaf {
      for place in min(skip, node.entries.count)..<node.entries.count where !body(node, place) {
        return false
      }
      return true
    }
    var skip = skip
    for child in node.children {
      if skip >= child.summary.count {
        skip -= child.summary.count
        continue
      }
      if !walk(child, skip, body) { return false }
      skip = 0
    }
    return true
  }
}
