/// Members of relationships without order, packed: what the values of their entries hold.
///
/// ```
///   head    count, varint │ members below the first chunk's bound
///   chunk   members from its bound on, below the bound of the next chunk
///
///   member  varint of 2 · (primary key − that of the member before), + 1 when its entity differs from that one's;
///           then its entity code, u16 little-endian
///   varint  seven bits a byte, the lowest first; the highest bit says that more follow
/// ```
///
/// Before the first member of an entry stands primary key 0, entity code 0. Members ascend. A flight of a plane takes one to
/// three bytes.
enum PackedEdges {
  /// No entry is longer once it is written: four fill a page of 4,096 bytes.
  static let mostBytes = 960
  /// Of an entry that has grown too long in its midst, parts of about this length are made.
  static let bytesInPart = 600

  /// How many bytes `member` takes behind `previous`.
  @inline(__always)
  static func length(_ member: UInt64, after previous: UInt64) -> Int {
    let change = (Reference.primaryKey(member) &- Reference.primaryKey(previous)) << 1
    let bits = 64 - (change | 1).leadingZeroBitCount
    return (bits + 6) / 7 + (Reference.entityCode(member) == Reference.entityCode(previous) ? 0 : 2)
  }

  static func length(_ members: ContiguousArray<UInt64>) -> Int {
    var (length, previous) = (0, UInt64(0))
    for member in members {
      length += Self.length(member, after: previous)
      previous = member
    }
    return length
  }

  /// Packs the members in `range`, which ascend, behind what `bytes` holds.
  static func append(
    _ members: ContiguousArray<UInt64>, _ range: Range<Int>, to bytes: inout ContiguousArray<UInt8>
  ) {
    _ = append(members, range, most: .max, to: &bytes)
  }

  /// Packs of the members in `range`, which ascend, as many as take no more than `most` bytes behind what `bytes` holds; the place of the first one that is left.
  static func append(
    _ members: ContiguousArray<UInt64>, _ range: Range<Int>, most: Int, to bytes: inout ContiguousArray<UInt8>
  ) -> Int {
    var (room, previous) = (most, UInt64(0))
    for place in range {
      let member = members[place]
      room -= length(member, after: previous)
      if room < 0 { return place }
      append(member, after: previous, to: &bytes)
      previous = member
    }
    return range.upperBound
  }

  /// Packs `member`, which lies behind `previous`.
  @inline(__always)
  static func append(_ member: UInt64, after previous: UInt64, to bytes: inout ContiguousArray<UInt8>) {
    let change = (Reference.primaryKey(member) &- Reference.primaryKey(previous)) << 1
    let code = Reference.entityCode(member)
    if code == Reference.entityCode(previous) {
      bytes.append(varint: change)
    } else {
      bytes.append(varint: change | 1)
      bytes.append(littleEndian: code)
    }
  }
}

/// Steps through packed members.
struct PackedMembers {
  private var reader: ByteReader
  /// The member that was read last.
  private(set) var previous: UInt64 = 0
  /// Whether the bytes are no packed members; then there are no more of them.
  private(set) var isDamaged = false

  /// The members of a chunk.
  init(chunk bytes: UnsafeRawBufferPointer) { reader = ByteReader(bytes) }

  /// The members of a head, and how many its owner has in all; nil for damaged ones.
  init?(head bytes: UnsafeRawBufferPointer, count: inout Int) {
    reader = ByteReader(bytes)
    guard let found = reader.varint(), found > 0, found <= PrimaryKeyAllocator.limit else { return nil }
    count = Int(found)
  }

  /// What has not been read yet.
  var rest: UnsafeRawBufferPointer { reader.rest }
  /// How many bytes have been read.
  var place: Int { reader.place }

  @inline(__always)
  mutating func next() -> UInt64? {
    if reader.isAtEnd { return nil }
    guard let change = reader.varint() else { return damaged() }
    let key = Reference.primaryKey(previous) &+ change >> 1
    var code = Reference.entityCode(previous)
    if change & 1 == 1 {
      guard let other = reader.number(UInt16.self) else { return damaged() }
      code = other
    }
    let member = Reference.bits(key, entityCode: code)
    guard key < PrimaryKeyAllocator.limit, member > previous else { return damaged() }
    previous = member
    return member
  }

  /// Passes over members below `limit` as long as each takes one or two bytes; how many there were.
  @inline(__always)
  mutating func pass(below limit: UInt64) -> Int {
    var passed = 0
    while let byte = reader.peek(), byte & 1 == 0 {
      var (change, length) = (UInt64(byte & 0x7F), 1)
      if byte >= 0x80 {
        guard let next = reader.peek(1), next < 0x80 else { break }
        change |= UInt64(next) << 7
        length = 2
      }
      let member = previous &+ Reference.bits(change >> 1, entityCode: 0)
      // What is damaged is for `next`. A key that is too large comes out as a smaller one.
      guard member > previous, member < limit else { break }
      previous = member
      reader.skip(length)
      passed += 1
    }
    return passed
  }

  @inline(never)
  private mutating func damaged() -> UInt64? {
    isDamaged = true
    reader.end()
    return nil
  }

  /// Appends all members; false for damaged ones.
  mutating func append(to members: inout ContiguousArray<UInt64>) -> Bool {
    while let member = next() { members.append(member) }
    return !isDamaged
  }

  /// Whether `member` is among them.
  mutating func contains(_ member: UInt64) -> Bool {
    while let found = next(), found <= member {
      if found == member { return true }
    }
    return false
  }
}

/// The entry of an owner's members in which one of them is, or would be.
struct PackedPlace {
  /// The bound in the key of a chunk; nil for the head.
  let bound: UInt64?
  /// The bound of the chunk that follows.
  let end: UInt64
  let value: UnsafeRawBufferPointer

  private init(bound: UInt64?, end: UInt64, value: UnsafeRawBufferPointer) {
    self.bound = bound
    self.end = end
    self.value = value
  }

  /// The entry by itself; nil when its key is none of members.
  init?(_ entry: Cursor.Entry) {
    guard entry.key.count == EdgeKey.countLength || entry.key.count == EdgeKey.edgeLength else { return nil }
    self.init(
      bound: entry.key.count == EdgeKey.edgeLength ? EdgeKey.word(entry.key, 1) : nil, end: .max,
      value: entry.value)
  }

  /// Finds the entry; nil when the owner has no members. The cursor then stands on one of the owner's entries.
  static func find(_ member: UInt64, _ prefix: UInt64, _ cursor: inout Cursor) throws -> PackedPlace? {
    let behind = try EdgeKey.withEdge(prefix, member) { try cursor.seek(atLeast: $0) }
    var end = UInt64.max
    if let behind, behind.key.count == EdgeKey.edgeLength, EdgeKey.word(behind.key, 0) == prefix {
      let bound = EdgeKey.word(behind.key, 1)
      if bound == member {
        let following = try cursor.next()
        return PackedPlace(
          bound: bound, end: following.flatMap { Self.bound($0, prefix) } ?? .max, value: behind.value)
      }
      end = bound
    }
    guard let found = behind == nil ? try cursor.last() : try cursor.previous(),
      found.key.count == EdgeKey.countLength || found.key.count == EdgeKey.edgeLength,
      EdgeKey.word(found.key, 0) == prefix
    else { return nil }
    return PackedPlace(bound: Self.bound(found, prefix), end: end, value: found.value)
  }

  /// The bound of a chunk of the owner; nil for every other entry.
  private static func bound(_ entry: Cursor.Entry, _ prefix: UInt64) -> UInt64? {
    guard entry.key.count == EdgeKey.edgeLength, EdgeKey.word(entry.key, 0) == prefix else { return nil }
    return EdgeKey.word(entry.key, 1)
  }

  /// The members of the entry; nil for damaged ones.
  func members() -> PackedMembers? {
    if bound != nil { return PackedMembers(chunk: value) }
    var count = 0
    return PackedMembers(head: value, count: &count)
  }
}
