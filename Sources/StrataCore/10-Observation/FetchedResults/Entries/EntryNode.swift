/// One object in a list of fetched results.
struct ResultEntry: Equatable {
  /// Primary key and place of the store among the list's stores: `key << 16 | store`. Never 0.
  let identity: UInt64
  /// The store's code of the concrete entity.
  let code: UInt16
  /// The number of its section's name.
  let section: UInt32
  /// The sort keys as of the last report, in bytes that sort as the values do. Of equal length or no prefix of each other.
  let key: [UInt8]

  static func identity(_ primaryKey: UInt64, store: Int) -> UInt64 { primaryKey << 16 | UInt64(store) }
  static func primaryKey(_ identity: UInt64) -> UInt64 { identity >> 16 }
  static func store(_ identity: UInt64) -> Int { Int(identity & 0xFFFF) }
}

/// How many entries a part of a list has, and how many sections.
///
/// Sections are runs of equal numbers. Two parts next to each other add up, but for a run that goes on from one to the next.
struct EntrySummary: Equatable {
  var count = 0
  var runs = 0
  var first: UInt32 = 0
  var last: UInt32 = 0

  init() {}

  /// Of entries of one section.
  init(count: Int, section: UInt32) {
    if count == 0 { return }
    self.count = count
    runs = 1
    first = section
    last = section
  }

  mutating func append(_ next: EntrySummary) {
    if next.count == 0 { return }
    if count == 0 {
      self = next
      return
    }
    count += next.count
    runs += next.runs - (last == next.first ? 1 : 0)
    last = next.last
  }

  mutating func append(section: UInt32) {
    if count == 0 { first = section }
    if count == 0 || last != section { runs += 1 }
    count += 1
    last = section
  }
}

/// A node of the tree that holds a list of fetched results in order.
///
/// ```
///   inner   children, and from the second one on a key that is not above any of the child's and above all before it
///   leaf    per entry: identity, entity code, section, and its sort key, see ``PackedEntries``
/// ```
///
/// A node is changed only in the edit in which it was made (`edit`), and an edit ends before other code sees the tree: what
/// has been handed out stays what it is, and shares with its successors all that has not changed.
final class EntryNode: @unchecked Sendable {
  // Unchecked: immutable as soon as it is shared, see above.

  /// The edit that may change it.
  let edit: Int
  /// The leaf's number, which it keeps in all of its versions; -1 for inner nodes.
  let number: Int
  private(set) var summary = EntrySummary()

  /// Those of a leaf.
  private(set) var entries = PackedEntries.empty

  // Inner nodes
  private(set) var children: ContiguousArray<EntryNode> = []
  /// What each child sums up: children lie all over memory.
  private(set) var sums: ContiguousArray<EntrySummary> = []
  private(set) var bounds: ContiguousArray<[UInt8]> = []
  private(set) var boundIdentities: ContiguousArray<UInt64> = []

  static let mostEntries = 192
  /// A leaf that is built is not filled up: the next insertion should not have to split it.
  static let usualEntries = mostEntries * 3 / 4
  /// One that is built of an index is longer: there are many, and few are ever changed. The first insertion splits it.
  static let indexedEntries = mostEntries * 2
  static let mostChildren = 32

  var isLeaf: Bool { number >= 0 }

  /// A leaf.
  init(edit: Int, leaf number: Int, _ entries: PackedEntries = .empty) {
    self.edit = edit
    self.number = number
    self.entries = entries
    settle()
  }

  init(edit: Int, children: some Collection<EntryNode>) {
    self.edit = edit
    number = -1
    self.children = ContiguousArray(children)
    sums = ContiguousArray(children.map(\.summary))
    bounds.reserveCapacity(children.count)
    boundIdentities.reserveCapacity(children.count)
    for child in children {
      let (key, identity) = child.firstKey
      bounds.append(key)
      boundIdentities.append(identity)
    }
    settle()
  }

  /// A version of `node` that `edit` may change.
  init(_ node: EntryNode, edit: Int) {
    self.edit = edit
    number = node.number
    summary = node.summary
    entries = node.entries
    children = node.children
    sums = node.sums
    bounds = node.bounds
    boundIdentities = node.boundIdentities
  }

  // MARK: Looking

  func entry(_ place: Int) -> ResultEntry {
    ResultEntry(
      identity: entries.identity(place), code: entries.code(place), section: entries.section(place),
      key: entries.key(place))
  }

  /// The order of two entries: by their sort keys, then by primary key, then by store.
  @inline(__always)
  static func order(
    _ left: UnsafeRawBufferPointer, _ leftIdentity: UInt64, _ right: UnsafeRawBufferPointer,
    _ rightIdentity: UInt64
  ) -> Int {
    let order = KeyOrder.order(left, right)
    if order != 0 { return order }
    return leftIdentity < rightIdentity ? -1 : leftIdentity > rightIdentity ? 1 : 0
  }

  /// The child in which an entry with the key is, or belongs.
  func child(for key: UnsafeRawBufferPointer, _ identity: UInt64) -> Int {
    (1..<children.count).partitioningIndex { place in
      bounds[place].withUnsafeBytes { Self.order($0, boundIdentities[place], key, identity) > 0 }
    } - 1
  }

  // MARK: Changing leaves

  func insert(_ entry: ResultEntry, at place: Int) { replaceEntries(by: entries.inserting(entry, at: place)) }

  func remove(at place: Int) { replaceEntries(by: entries.removing(at: place)) }

  /// Moves the entries from `place` on to the end of `other`.
  func moveEntries(from place: Int, to other: EntryNode) {
    if other.entries.count == 0 {
      other.replaceEntries(by: entries.part(place..<entries.count))
    } else {
      var draft = EntryDraft(other.entries)
      for moved in place..<entries.count { draft.append(entries, moved) }
      other.replaceEntries(by: PackedEntries(draft))
    }
    replaceEntries(by: entries.part(0..<place))
  }

  private func replaceEntries(by entries: PackedEntries) {
    self.entries = entries
    settle()
  }

  // MARK: Changing inner nodes

  func insert(_ child: EntryNode, at place: Int) {
    let (key, identity) = child.firstKey
    children.insert(child, at: place)
    sums.insert(child.summary, at: place)
    bounds.insert(key, at: place)
    boundIdentities.insert(identity, at: place)
    settle()
  }

  /// The child has other entries now, or is another version of the same.
  func replace(_ place: Int, by child: EntryNode) {
    children[place] = child
    sums[place] = child.summary
    settle()
  }

  func removeChild(_ place: Int) {
    children.remove(at: place)
    sums.remove(at: place)
    bounds.remove(at: place)
    boundIdentities.remove(at: place)
    settle()
  }

  /// Moves the children from `place` on to the end of `other`, bounds and all.
  func moveChildren(from place: Int, to other: EntryNode) {
    other.children += children[place...]
    other.sums += sums[place...]
    other.bounds += bounds[place...]
    other.boundIdentities += boundIdentities[place...]
    children.removeSubrange(place...)
    sums.removeSubrange(place...)
    bounds.removeSubrange(place...)
    boundIdentities.removeSubrange(place...)
    settle()
    other.settle()
  }

  /// Whether all sums below it are those of the children.
  var sumsUp: Bool {
    isLeaf
      ? summary == entries.summary
      : sums.elementsEqual(children.lazy.map(\.summary)) && children.allSatisfy(\.sumsUp)
  }

  private var firstKey: (key: [UInt8], identity: UInt64) {
    var node = self
    while !node.isLeaf { node = node.children[0] }
    return node.entries.count == 0 ? ([], 0) : (node.entries.key(0), node.entries.identity(0))
  }

  private func settle() {
    if isLeaf {
      summary = entries.summary
      return
    }
    var sum = EntrySummary()
    for child in sums { sum.append(child) }
    summary = sum
  }
}
