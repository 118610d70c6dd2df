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

  /// One more entry, between neighbours of the sections `left` and `right`; nil where there is none.
  mutating func insert(_ section: UInt32, between left: UInt32?, and right: UInt32?) {
    count += 1
    runs += Self.breaks(left, section) + Self.breaks(section, right) - Self.breaks(left, right)
    if count == 1 { runs = 1 }
    if left == nil { first = section }
    if right == nil { last = section }
  }

  /// One entry less.
  mutating func remove(_ section: UInt32, between left: UInt32?, and right: UInt32?) {
    count -= 1
    runs -= Self.breaks(left, section) + Self.breaks(section, right) - Self.breaks(left, right)
    if count == 0 { runs = 0 }
    if left == nil { first = right ?? 0 }
    if right == nil { last = left ?? 0 }
  }

  private static func breaks(_ left: UInt32?, _ right: UInt32?) -> Int {
    left != nil && right != nil && left != right ? 1 : 0
  }
}

/// A node of the tree that holds a list of fetched results in order.
///
/// ```
///   inner   children, and from the second one on a key that is not above any of the child's and above all before it
///   leaf    per entry: identity, entity code, section, and its sort key, one behind the other in `bytes`
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

  // Leaves
  private(set) var identities: ContiguousArray<UInt64> = []
  private(set) var codes: ContiguousArray<UInt16> = []
  private(set) var sections: ContiguousArray<UInt32> = []
  /// Where each entry's key ends in `bytes`.
  private var ends: ContiguousArray<UInt32> = []
  private var bytes: ContiguousArray<UInt8> = []

  // Inner nodes
  private(set) var children: ContiguousArray<EntryNode> = []
  private(set) var bounds: ContiguousArray<[UInt8]> = []
  private(set) var boundIdentities: ContiguousArray<UInt64> = []

  static let mostEntries = 192
  static let mostChildren = 32

  var isLeaf: Bool { number >= 0 }

  init(edit: Int, leaf number: Int) {
    self.edit = edit
    self.number = number
  }

  init(edit: Int, children: [EntryNode]) {
    self.edit = edit
    number = -1
    for child in children { append(child) }
  }

  /// A version of `node` that `edit` may change.
  init(_ node: EntryNode, edit: Int) {
    self.edit = edit
    number = node.number
    summary = node.summary
    identities = node.identities
    codes = node.codes
    sections = node.sections
    ends = node.ends
    bytes = node.bytes
    children = node.children
    bounds = node.bounds
    boundIdentities = node.boundIdentities
  }

  // MARK: Keys

  /// Calls `body` with the bytes of an entry's key.
  @inline(__always)
  func withKey<R>(_ place: Int, _ body: (UnsafeRawBufferPointer) -> R) -> R {
    let start = place == 0 ? 0 : Int(ends[place - 1])
    let end = Int(ends[place])
    return bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[start..<end])) }
  }

  func key(_ place: Int) -> [UInt8] { withKey(place) { Array($0) } }

  func entry(_ place: Int) -> ResultEntry {
    ResultEntry(
      identity: identities[place], code: codes[place], section: sections[place], key: key(place))
  }

  /// The order of two entries: by their sort keys, then by primary key, then by store.
  @inline(__always)
  static func order(
    _ left: UnsafeRawBufferPointer, _ leftIdentity: UInt64, _ right: UnsafeRawBufferPointer,
    _ rightIdentity: UInt64
  ) -> Int {
    let order = IndexEntries.order(left, right)
    if order != 0 { return order }
    return leftIdentity < rightIdentity ? -1 : leftIdentity > rightIdentity ? 1 : 0
  }

  /// How many of the leaf's entries come before the key.
  func lowerBound(_ key: UnsafeRawBufferPointer, _ identity: UInt64) -> Int {
    identities.indices.partitioningIndex { place in
      withKey(place) { Self.order($0, identities[place], key, identity) >= 0 }
    }
  }

  /// The child in which an entry with the key is, or belongs.
  func child(for key: UnsafeRawBufferPointer, _ identity: UInt64) -> Int {
    (1..<children.count).partitioningIndex { place in
      bounds[place].withUnsafeBytes { Self.order($0, boundIdentities[place], key, identity) > 0 }
    } - 1
  }

  // MARK: Changing leaves

  /// Adds an entry at the end. The key's bytes are copied.
  func append(_ identity: UInt64, _ code: UInt16, _ section: UInt32, _ key: UnsafeRawBufferPointer) {
    identities.append(identity)
    codes.append(code)
    sections.append(section)
    bytes.append(contentsOf: key)
    ends.append(UInt32(bytes.count))
    summary.append(section: section)
  }

  func insert(_ entry: ResultEntry, at place: Int) {
    identities.insert(entry.identity, at: place)
    codes.insert(entry.code, at: place)
    summary.insert(
      entry.section, between: place > 0 ? sections[place - 1] : nil,
      and: place < sections.count ? sections[place] : nil)
    sections.insert(entry.section, at: place)
    let start = place == 0 ? 0 : Int(ends[place - 1])
    bytes.insert(contentsOf: entry.key, at: start)
    ends.insert(UInt32(start), at: place)
    for index in place..<ends.count { ends[index] += UInt32(entry.key.count) }
  }

  func remove(at place: Int) {
    let start = place == 0 ? 0 : Int(ends[place - 1])
    let end = Int(ends[place])
    bytes.removeSubrange(start..<end)
    ends.remove(at: place)
    for index in place..<ends.count { ends[index] -= UInt32(end - start) }
    identities.remove(at: place)
    codes.remove(at: place)
    let section = sections.remove(at: place)
    summary.remove(
      section, between: place > 0 ? sections[place - 1] : nil,
      and: place < sections.count ? sections[place] : nil)
  }

  /// Moves the entries from `place` on to the end of `other`.
  func moveEntries(from place: Int, to other: EntryNode) {
    for index in place..<identities.count {
      withKey(index) { other.append(identities[index], codes[index], sections[index], $0) }
    }
    let start = place == 0 ? 0 : Int(ends[place - 1])
    bytes.removeSubrange(start...)
    ends.removeSubrange(place...)
    identities.removeSubrange(place...)
    codes.removeSubrange(place...)
    sections.removeSubrange(place...)
    settle()
  }

  // MARK: Changing inner nodes

  func append(_ child: EntryNode) { insert(child, at: children.count) }

  func insert(_ child: EntryNode, at place: Int) {
    let (key, identity) = child.firstKey
    children.insert(child, at: place)
    bounds.insert(key, at: place)
    boundIdentities.insert(identity, at: place)
    settle()
  }

  /// The child has other entries now, or is another version of the same.
  func replace(_ place: Int, by child: EntryNode) {
    children[place] = child
    settle()
  }

  func removeChild(_ place: Int) {
    children.remove(at: place)
    bounds.remove(at: place)
    boundIdentities.remove(at: place)
    settle()
  }

  /// Moves the children from `place` on to the end of `other`, bounds and all.
  func moveChildren(from place: Int, to other: EntryNode) {
    other.children += children[place...]
    other.bounds += bounds[place...]
    other.boundIdentities += boundIdentities[place...]
    children.removeSubrange(place...)
    bounds.removeSubrange(place...)
    boundIdentities.removeSubrange(place...)
    settle()
    other.settle()
  }

  private var firstKey: (key: [UInt8], identity: UInt64) {
    var node = self
    while !node.isLeaf { node = node.children[0] }
    return node.identities.isEmpty ? ([], 0) : (node.key(0), node.identities[0])
  }

  private func settle() {
    var sum = EntrySummary()
    if isLeaf {
      for section in sections { sum.append(section: section) }
    } else {
      for child in children { sum.append(child.summary) }
    }
    summary = sum
  }
}
