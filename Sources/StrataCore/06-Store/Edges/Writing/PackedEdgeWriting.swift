/// Changes the packed members of one owner after the other.
///
/// Costs a look-up for the head and one for each chunk that changes, whatever the number of members.
struct PackedEdgeWriting {
  private let parts: StoreParts
  /// What is being written, used again and again.
  private var bytes: ContiguousArray<UInt8> = []
  private var members: ContiguousArray<UInt64> = []
  private var merge = PackedMerge()
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
    guard let packed = PackedMembers(head: stored.value, count: &count) else {
      throw parts.damaged(membersOf: prefix)
    }
    var (removal, addition) = (removals.startIndex, additions.startIndex)
    // All of them are in the head, mostly; each takes a byte at least.
    if count <= packed.rest.count,
      merge.run(packed.rest, removals, &removal, additions, &addition, below: .max),
      merge.storedCount == count
    {
      if merge.isChanged { try writeHead(prefix, count: count + merge.difference, &cursor) }
      return
    }
    (removal, addition) = (removals.startIndex, additions.startIndex)
    // A number that is damaged reserves nothing.
    head.removeAll(keepingCapacity: true)
    head.append(contentsOf: packed.rest)
    var (storedCount, isHeadChanged) = (count, false)
    while removal < removals.endIndex || addition < additions.endIndex {
      let next = min(
        removal < removals.endIndex ? removals[removal].member : .max,
        addition < additions.endIndex ? additions[addition].member : .max)
      guard let place = try PackedPlace.find(next, prefix, &cursor), let packed = place.members(),
        merge.run(packed.rest, removals, &removal, additions, &addition, below: place.end)
      else { throw parts.damaged(membersOf: prefix) }
      if !merge.isChanged { continue }
      count += merge.difference
      guard count >= 0 else { throw parts.damaged(membersOf: prefix) }
      if let bound = place.bound {
        try writeChunk(prefix, bound, &cursor)
      } else {
        (storedCount, isHeadChanged) = (count, true)
        try writeHead(prefix, count: count, &cursor)
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
      return try EdgeKey.withCount(prefix) {
        if try cursor.seek(exactly: $0) != nil { try cursor.delete($0) }
      }
    }
    bytes.removeAll(keepingCapacity: true)
    bytes.append(varint: UInt64(count))
    bytes += head
    try EdgeKey.withCount(prefix) { key in try bytes.withUnsafeBytes { try cursor.put(key, $0) } }
  }

  /// Writes what was merged as the head of an owner that has `count` members.
  private mutating func writeHead(_ prefix: UInt64, count: Int, _ cursor: inout Cursor) throws {
    if count == 0 {
      return try EdgeKey.withCount(prefix) {
        if try cursor.seek(exactly: $0) != nil { try cursor.delete($0) }
      }
    }
    if merge.bytes.count > Self.mostPacked {
      return try writeMergedParts(prefix, bound: nil, count: count, &cursor)
    }
    bytes.removeAll(keepingCapacity: true)
    bytes.append(varint: UInt64(count))
    bytes += merge.bytes
    try EdgeKey.withCount(prefix) { key in try bytes.withUnsafeBytes { try cursor.put(key, $0) } }
  }

  /// Writes what was merged as a chunk.
  private mutating func writeChunk(_ prefix: UInt64, _ bound: UInt64, _ cursor: inout Cursor) throws {
    if merge.bytes.count > Self.mostPacked {
      return try writeMergedParts(prefix, bound: bound, count: 0, &cursor)
    }
    try EdgeKey.withEdge(prefix, bound) { key in
      if merge.bytes.isEmpty {
        if try cursor.seek(exactly: key) != nil { try cursor.delete(key) }
      } else {
        try merge.bytes.withUnsafeBytes { try cursor.put(key, $0) }
      }
    }
  }

  /// Writes what was merged and has become too long for one entry.
  private mutating func writeMergedParts(
    _ prefix: UInt64, bound: UInt64?, count: Int, _ cursor: inout Cursor
  ) throws {
    guard merge.unpack(into: &members) else { throw parts.damaged(membersOf: prefix) }
    try writeParts(
      prefix, bound: bound, count: count, isGrowing: merge.isGrowing, append: false, &cursor)
  }

  /// The number in the head takes up to seven bytes; one that begins a part takes more than one inside a part.
  private static let mostPacked = PackedEdges.mostBytes - 16

  /// Writes `members`, of which there are some, under the head's or a chunk's key, and what does not fit there as chunks behind it.
  private mutating func writeParts(
    _ prefix: UInt64, bound: UInt64?, count: Int, isGrowing: Bool, append: Bool, _ cursor: inout Cursor
  ) throws {
    var target = Self.mostPacked
    if !isGrowing {
      let length = PackedEdges.length(members)
      if length > target { target = length / (length / PackedEdges.bytesInPart + 1) + 16 }
    }
    var (start, key) = (0, bound)
    repeat {
      bytes.removeAll(keepingCapacity: true)
      if key == nil { bytes.append(varint: UInt64(count)) }
      start = PackedEdges.append(members, start..<members.count, most: target, to: &bytes)
      try bytes.withUnsafeBytes { value in
        if let key {
          try EdgeKey.withEdge(prefix, key) { try cursor.put($0, value, append: append) }
        } else {
          try EdgeKey.withCount(prefix) { try cursor.put($0, value, append: append) }
        }
      }
      if start < members.count { key = members[start] }
    } while start < members.count
  }
}
