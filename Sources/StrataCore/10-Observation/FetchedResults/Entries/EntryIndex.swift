/// The list of a controller with what it takes to change it: where each object's entry is, and how many entries each section has.
///
/// Changing one entry makes new versions of one leaf and of the nodes above it. On the controller's queue.
struct EntryIndex {
  private(set) var list: EntryList
  /// The newest version of each leaf by its number.
  private var leaves: ContiguousArray<EntryNode?>
  private var freeNumbers: [Int] = []
  /// Made when so many entries have been searched for that making it costs no more.
  private var table: LeafTable?
  private var searches = 0
  /// Searching through all leaves takes about a sixth of the time that making a table takes.
  private static let mostSearches = 6
  /// By the number of the section's name.
  private(set) var sectionCounts: ContiguousArray<Int>
  /// How many sections have entries.
  private(set) var sectionCount: Int
  private var edit = 1

  /// An empty one.
  init() { self = Builder().finish() }

  /// Of leaves in order.
  init(leaves packed: [PackedEntries]) {
    var sectionCounts: ContiguousArray<Int> = []
    leaves = []
    leaves.reserveCapacity(max(packed.count, 1))
    for entries in packed {
      leaves.append(EntryNode(edit: 0, leaf: leaves.count, entries))
      entries.forEachSection { section, count in
        while sectionCounts.count <= Int(section) { sectionCounts.append(0) }
        sectionCounts[Int(section)] += count
      }
    }
    if leaves.isEmpty { leaves.append(EntryNode(edit: 0, leaf: 0)) }
    var level = ContiguousArray(leaves.lazy.compactMap { $0 })
    while level.count > 1 {
      let width = EntryNode.mostChildren * 3 / 4
      level = ContiguousArray(
        stride(from: 0, to: level.count, by: width).lazy.map { start in
          EntryNode(edit: 0, children: level[start..<min(start + width, level.count)])
        })
    }
    list = EntryList(root: level[0])
    sectionCount = sectionCounts.count { $0 > 0 }
    self.sectionCounts = sectionCounts
  }

  /// The same list again, with its own nodes.
  init(copying list: EntryList) {
    var builder = Builder()
    list.forEach { leaf, place in
      builder.append(leaf.entries, place)
      return true
    }
    self = builder.finish()
  }

  /// Whether all entries of each section stand together.
  var isGrouped: Bool { list.runCount == sectionCount }

  // MARK: Making one

  /// Takes entries in order.
  struct Builder {
    private var leaves: [PackedEntries] = []
    private var draft = EntryDraft()

    mutating func append(
      _ identity: UInt64, _ code: UInt16, _ section: UInt32, _ key: UnsafeRawBufferPointer
    ) {
      makeRoom()
      draft.append(identity, code, section, key)
    }

    mutating func append(_ entry: ResultEntry) {
      entry.key.withUnsafeBytes { append(entry.identity, entry.code, entry.section, $0) }
    }

    /// One of another list.
    mutating func append(_ entries: PackedEntries, _ place: Int) {
      makeRoom()
      draft.append(entries, place)
    }

    private mutating func makeRoom() {
      if draft.count < EntryNode.usualEntries { return }
      leaves.append(PackedEntries(draft))
      draft.removeAll()
    }

    consuming func finish() -> EntryIndex {
      leaves.append(PackedEntries(draft))
      return EntryIndex(leaves: leaves)
    }
  }

  // MARK: Looking

  /// What is not as it must be, in sentences: order, sums, sections, and where entries are looked up.
  func brokenInvariants() -> [String] {
    var broken: [String] = []
    var count = 0
    var counts: [UInt32: Int] = [:]
    var last: ResultEntry?
    list.forEach { leaf, place in
      let entry = leaf.entry(place)
      if let last, entry.isBefore(last) { broken.append("entry \(count) is before the one in front of it") }
      if let table, table[entry.identity] != leaf.number {
        broken.append("entry \(count) is looked up elsewhere")
      }
      if leaves[leaf.number] !== leaf { broken.append("entry \(count) is in an old version of its leaf") }
      last = entry
      count += 1
      counts[entry.section, default: 0] += 1
      return true
    }
    if !list.root.sumsUp { broken.append("a node sums up other entries than its children have") }
    if count != list.count { broken.append("there are \(count) entries, and \(list.count) are counted") }
    let counted = sectionCounts.enumerated().filter { $0.element != 0 }
    if Dictionary(uniqueKeysWithValues: counted.map { (UInt32($0.offset), $0.element) }) != counts {
      broken.append("sections have other numbers of entries than are counted")
    }
    if sectionCount != counts.count {
      broken.append("\(counts.count) sections have entries, and \(sectionCount) are counted")
    }
    return broken
  }

  /// In debug builds, for lists that are not long: that the list is what it must be.
  @inline(__always)
  func assertInvariants() {
    #if DEBUG
      if list.count > 500 { return }
      let broken = brokenInvariants()
      if !broken.isEmpty {
        trap("the state of a list is broken: \(broken.prefix(5).joined(separator: "; ")).")
      }
    #endif
  }

  /// The entry of an object as it was reported last.
  mutating func entry(_ identity: UInt64) -> ResultEntry? {
    if table == nil, searches < Self.mostSearches {
      searches += 1
      return list.search(identity)
    }
    prepareLookups()
    guard let number = table?[identity], let leaf = leaves[number],
      let place = leaf.entries.place(of: identity)
    else { return nil }
    return leaf.entry(place)
  }

  /// For many entries that are looked up.
  mutating func prepareLookups() {
    if table == nil { table = LeafTable(list) }
  }

  /// The position of an object's entry.
  mutating func position(_ identity: UInt64) -> Int? {
    entry(identity).map { list.position(of: $0.key, identity) }
  }

  // MARK: Changing

  /// What was handed out before stays as it is from here on.
  mutating func beginEdit() { edit += 1 }

  mutating func insert(_ entry: ResultEntry) {
    let root = editable(list.root)
    let right = insert(entry, into: root)
    list = EntryList(root: right.map { EntryNode(edit: edit, children: [root, $0]) } ?? root)
    let section = Int(entry.section)
    while sectionCounts.count <= section { sectionCounts.append(0) }
    if sectionCounts[section] == 0 { sectionCount += 1 }
    sectionCounts[section] += 1
  }

  mutating func remove(_ entry: ResultEntry) {
    let root = editable(list.root)
    entry.key.withUnsafeBytes { remove(entry.identity, $0, from: root) }
    list = EntryList(root: root)
    // A root with one child is a step for nothing.
    while !list.root.isLeaf, list.root.children.count == 1 { list = EntryList(root: list.root.children[0]) }
    table?.remove(entry.identity)
    sectionCounts[Int(entry.section)] -= 1
    if sectionCounts[Int(entry.section)] == 0 { sectionCount -= 1 }
  }

  /// Takes out and puts in many entries in one walk over the whole list, which is cheaper than one by one when they are a good part of it.
  /// What was handed out before stays as it is.
  mutating func replace(_ old: [ResultEntry], by new: [ResultEntry]) {
    let removed = Set(old.map(\.identity))
    let inserted = new.sorted { $0.isBefore($1) }
    var builder = Builder()
    var next = 0
    list.forEach { leaf, place in
      let identity = leaf.entries.identity(place)
      if removed.contains(identity) { return true }
      if next < inserted.count {
        let kept = leaf.entry(place)
        while next < inserted.count, inserted[next].isBefore(kept) {
          builder.append(inserted[next])
          next += 1
        }
      }
      builder.append(leaf.entries, place)
      return true
    }
    for entry in inserted[next...] { builder.append(entry) }
    self = builder.finish()
  }

  private mutating func editable(_ node: EntryNode) -> EntryNode {
    if node.edit == edit { return node }
    let copy = EntryNode(node, edit: edit)
    if copy.isLeaf { leaves[copy.number] = copy }
    return copy
  }

  private mutating func makeLeaf() -> EntryNode {
    let number = freeNumbers.popLast() ?? leaves.count
    let leaf = EntryNode(edit: edit, leaf: number)
    if number == leaves.count { leaves.append(leaf) } else { leaves[number] = leaf }
    return leaf
  }

  /// Adds an entry below a node of this edit. Returns what has become too much for it.
  private mutating func insert(_ entry: ResultEntry, into node: EntryNode) -> EntryNode? {
    if node.isLeaf {
      let place = entry.key.withUnsafeBytes { node.entries.lowerBound($0, entry.identity) }
      node.insert(entry, at: place)
      table?.set(entry.identity, node.number)
      if node.entries.count <= EntryNode.mostEntries { return nil }
      let right = makeLeaf()
      node.moveEntries(from: node.entries.count / 2, to: right)
      right.entries.forEachIdentity { table?.set($0, right.number) }
      return right
    }
    let place = entry.key.withUnsafeBytes { node.child(for: $0, entry.identity) }
    let child = editable(node.children[place])
    let right = insert(entry, into: child)
    node.replace(place, by: child)
    if let right { node.insert(right, at: place + 1) }
    if node.children.count <= EntryNode.mostChildren { return nil }
    let other = EntryNode(edit: edit, children: EmptyCollection())
    node.moveChildren(from: node.children.count / 2, to: other)
    return other
  }

  private mutating func remove(_ identity: UInt64, _ key: UnsafeRawBufferPointer, from node: EntryNode) {
    if node.isLeaf {
      if let place = node.entries.place(of: identity) { node.remove(at: place) }
      return
    }
    let place = node.child(for: key, identity)
    let child = editable(node.children[place])
    remove(identity, key, from: child)
    node.replace(place, by: child)
    if child.summary.count == 0, node.children.count > 1 {
      if child.isLeaf { giveBack(child) }
      node.removeChild(place)
    } else if child.isLeaf, child.entries.count < EntryNode.mostEntries / 4 {
      join(place, of: node)
    }
  }

  /// Brings a leaf that has become small together with a neighbour, if both fit into one.
  private mutating func join(_ place: Int, of node: EntryNode) {
    let left = place + 1 < node.children.count ? place : place - 1
    guard left >= 0,
      node.children[left].entries.count + node.children[left + 1].entries.count
        <= EntryNode.mostEntries / 2
    else { return }
    let target = editable(node.children[left])
    let source = editable(node.children[left + 1])
    let moved = source.entries
    source.moveEntries(from: 0, to: target)
    moved.forEachIdentity { table?.set($0, target.number) }
    giveBack(source)
    node.replace(left, by: target)
    node.removeChild(left + 1)
  }

  private mutating func giveBack(_ leaf: EntryNode) {
    leaves[leaf.number] = nil
    freeNumbers.append(leaf.number)
  }
}
