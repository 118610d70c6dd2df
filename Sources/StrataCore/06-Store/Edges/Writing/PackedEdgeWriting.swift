/// Changes the packed members of one owner after the other.
///
/// Costs a look-up for the head and one for each chunk that changes, whatever the number of members.
struct PackedEdgeWriting {
  private let parts: StoreParts
  /// What is being written, used again and again.
  private var bytes: ContiguousArray<UInt8> = []
  private var members: ContiguousArray<UInt64> = []
  private var merged: ContiguousArray<UInt64> = []
  private var head: ContiguousArray<UInt8> = []

  init(_ parts: StoreParts) { self.parts = parts }

  /// Writes the members of an owner that has none. Behind everything else pages are filled.
  mutating func write(
    _ prefix: UInt64, _ additions: ArraySlice<Edge>, append: Bool, _ cursor: inout Cursor
  ) throws {
    members.removeAll(keepingCapacity: true)
    for edge in additions { members.append(edge.member) }
    try writeParts(prefix, bound: nil, count: members.count, isGrowing: true, append: append, &cursor)
  }

  /// Takes members out and puts others in. Adding a present member or removing an absent one changes nothing.
  mutating func change(
    _ prefix: UInt64, _ removals: ArraySlice<Edge>, _ additions: ArraySlice<Edge>, _ cursor: inout Cursor
  ) throws {
    guard let stored = try EdgeKey.withCount(prefix, { try cursor.seek(exactly: $0) }) else {
      if !additions.isEmpty { try write(prefix, additions, append: false, &cursor) }
      return
    }
    var count = 0
    guard var packed = PackedMembers(head: stored.value, count: &count) else {
      throw parts.damaged(membersOf: prefix)
    }
    // A number that is damaged reserves nothing.
    head.removeAll(keepingCapacity: true)
    head.append(contentsOf: packed.rest)
    var (storedCount, isHeadChanged) = (count, false)
    var (removal, addition) = (removals.startIndex, additions.startIndex)
    members.removeAll(keepingCapacity: true)
    let isWhole = packed.append(to: &members) && members.count == count
    while removal < removals.endIndex || addition < additions.endIndex {
      let next = min(
        removal < removals.endIndex ? removals[removal].member : .max,
        addition < additions.endIndex ? additions[addition].member : .max)
      var (bound, end): (UInt64?, UInt64) = (nil, .max)
      if !isWhole {
        guard let place = try PackedPlace.find(next, prefix, &cursor), var packed = place.members() else {
          throw parts.damaged(membersOf: prefix)
        }
        (bound, end) = (place.bound, place.end)
        members.removeAll(keepingCapacity: true)
        guard packed.append(to: &members) else { throw parts.damaged(membersOf: prefix) }
      }
      let (difference, isGrowing) = merge(removals, &removal, additions, &addition, below: end)
      guard let difference else { continue }
      count += difference
      guard count >= 0 else { throw parts.damaged(membersOf: prefix) }
      if bound == nil {
        (storedCount, isHeadChanged) = (count, true)
        try writeHead(prefix, count: count, isGrowing: isGrowing, &cursor)
      } else {
        try writeParts(prefix, bound: bound, count: 0, isGrowing: isGrowing, append: false, &cursor)
      }
    }
    if count == storedCount { return }
    if isHeadChanged { try readHead(prefix, &cursor) }
    try writeNumber(prefix, count, &cursor)
  }

  /// What the head holds besides the number.
  private mutating func readHead(_ prefix: UInt64, _ cursor: inout Cursor) throws {
    var ignored = 0
    guard let stored = try EdgeKey.withCount(prefix, { try cursor.seek(exactly: $0) }),
      let packed = PackedMembers(head: stored.value, count: &ignored)
    else { throw parts.damaged(membersOf: prefix) }
    head.removeAll(keepingCapacity: true)
    head.append(contentsOf: packed.rest)
  }

  /// The number of members together with the head's packed ones, which stay as they are.
  private mutating func writeNumber(_ prefix: UInt64, _ count: Int, _ cursor: inout Cursor) throws {
    if count == 0 {
      if try EdgeKey.withCount(prefix, { try cursor.seek(exactly: $0) }) != nil { try cursor.delete() }
      return
    }
    bytes.removeAll(keepingCapacity: true)
    bytes.append(varint: UInt64(count))
    bytes += head
    try EdgeKey.withCount(prefix) { key in try bytes.withUnsafeBytes { try cursor.put(key, $0) } }
  }

  /// Lays the changes below `end` over `members`.
  ///
  /// - Returns: by how much their number has changed, nil when they are the same; whether they have only grown at the end.
  private mutating func merge(
    _ removals: ArraySlice<Edge>, _ removal: inout Int, _ additions: ArraySlice<Edge>, _ addition: inout Int,
    below end: UInt64
  ) -> (difference: Int?, isGrowing: Bool) {
    let last = members.last ?? 0
    merged.removeAll(keepingCapacity: true)
    var (place, isChanged, isGrowing) = (0, false, true)
    func next(_ edges: ArraySlice<Edge>, _ place: Int) -> UInt64 {
      guard place < edges.endIndex else { return .max }
      let member = edges[place].member
      return member < end ? member : .max
    }
    while true {
      let old = place < members.count ? members[place] : .max
      let new = next(additions, addition)
      let gone = next(removals, removal)
      let member = min(old, new, gone)
      if member == .max { break }
      if old == member { place += 1 }
      if new == member { addition += 1 }
      if gone == member { removal += 1 }
      // Put in is put in, whatever was taken out.
      let (was, will) = (old == member, new == member || (old == member && gone != member))
      if will { merged.append(member) }
      if was == will { continue }
      isChanged = true
      if will, member < last { isGrowing = false }
    }
    let difference = merged.count - members.count
    swap(&members, &merged)
    return (isChanged ? difference : nil, isGrowing)
  }

  /// Writes `members` as the head of an owner that has `count` of them.
  private mutating func writeHead(
    _ prefix: UInt64, count: Int, isGrowing: Bool, _ cursor: inout Cursor
  ) throws {
    if count == 0 {
      if try EdgeKey.withCount(prefix, { try cursor.seek(exactly: $0) }) != nil { try cursor.delete() }
    } else {
      try writeParts(prefix, bound: nil, count: count, isGrowing: isGrowing, append: false, &cursor)
    }
  }

  /// Writes `members` under the head's or a chunk's key, and what does not fit there as chunks behind it.
  private mutating func writeParts(
    _ prefix: UInt64, bound: UInt64?, count: Int, isGrowing: Bool, append: Bool, _ cursor: inout Cursor
  ) throws {
    if members.isEmpty, let bound {
      if try EdgeKey.withEdge(prefix, bound, { try cursor.seek(exactly: $0) }) != nil { try cursor.delete() }
      return
    }
    let length = PackedEdges.length(members)
    // The number in the head takes up to seven bytes; one that begins a part takes more than one inside a part.
    let most = PackedEdges.mostBytes - 16
    let target =
      length <= most || isGrowing ? most : length / (length / PackedEdges.bytesInPart + 1) + 16
    var (start, key) = (0, bound)
    repeat {
      var (end, length, previous) = (start, 0, UInt64(0))
      while end < members.count {
        let more = PackedEdges.length(members[end], after: previous)
        if length + more > target { break }
        length += more
        previous = members[end]
        end += 1
      }
      try writePart(prefix, bound: key, count: count, start..<end, append: append, &cursor)
      start = end
      if start < members.count { key = members[start] }
    } while start < members.count
  }

  private mutating func writePart(
    _ prefix: UInt64, bound: UInt64?, count: Int, _ range: Range<Int>, append: Bool, _ cursor: inout Cursor
  ) throws {
    bytes.removeAll(keepingCapacity: true)
    if bound == nil { bytes.append(varint: UInt64(count)) }
    PackedEdges.append(members, range, to: &bytes)
    try bytes.withUnsafeBytes { value in
      if let bound {
        try EdgeKey.withEdge(prefix, bound) { try cursor.put($0, value, append: append) }
      } else {
        try EdgeKey.withCount(prefix) { try cursor.put($0, value, append: append) }
      }
    }
  }
}
