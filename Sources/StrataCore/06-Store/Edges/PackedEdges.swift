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

  @inline(__always)
  static func append(varint: UInt64, to bytes: inout ContiguousArray<UInt8>) {
    var rest = varint
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(truncatingIfNeeded: rest))
  }

  /// A run of keys from `first` to `last`, told from `end`, the key after the run before it.
  static func append(
    runFrom first: UInt64, to last: UInt64, after end: UInt64, to bytes: inout ContiguousArray<UInt8>
  ) {
    let change = (first - end) << 1
    if last == first {
      append(varint: change, to: &bytes)
    } else {
      append(varint: change | 1, to: &bytes)
      append(varint: last - first - 1, to: &bytes)
    }
  }

  /// Packs the members in `range`, which ascend, behind what `bytes` holds.
  static func append(
    _ members: ContiguousArray<UInt64>, _ range: Range<Int>, to bytes: inout ContiguousArray<UInt8>
  ) {
    var previous: UInt64 = 0
    for member in members[range] {
      let change = (Reference.primaryKey(member) &- Reference.primaryKey(previous)) << 1
      let code = Reference.entityCode(member)
      if code == Reference.entityCode(previous) {
        append(varint: change, to: &bytes)
      } else {
        append(varint: change | 1, to: &bytes)
        bytes.append(UInt8(truncatingIfNeeded: code))
        bytes.append(UInt8(truncatingIfNeeded: code >> 8))
      }
      previous = member
    }
  }
}

/// Steps through packed members.
struct PackedMembers {
  private let bytes: UnsafeRawBufferPointer
  private var place: Int
  private var previous: UInt64 = 0
  /// Whether the bytes are no packed members; then there are no more of them.
  private(set) var isDamaged = false

  /// The members of a chunk.
  init(chunk bytes: UnsafeRawBufferPointer) {
    self.bytes = bytes
    place = 0
  }

  /// The members of a head, and how many its owner has in all; nil for damaged ones.
  init?(head bytes: UnsafeRawBufferPointer, count: inout Int) {
    self.bytes = bytes
    place = 0
    guard let found = varint(), found > 0, let number = Int(exactly: found) else { return nil }
    count = number
  }

  /// What has not been read yet.
  var rest: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: bytes[place...]) }

  @inline(__always)
  mutating func next() -> UInt64? {
    if place == bytes.count { return nil }
    guard let change = varint() else { return damaged() }
    let key = Reference.primaryKey(previous) &+ change >> 1
    var code = Reference.entityCode(previous)
    if change & 1 == 1 {
      guard place + 2 <= bytes.count else { return damaged() }
      code = UInt16(bytes[place]) | UInt16(bytes[place + 1]) << 8
      place += 2
    }
    let member = Reference.bits(key, entityCode: code)
    guard key < PrimaryKeyAllocator.limit, member > previous else { return damaged() }
    previous = member
    return member
  }

  /// At most 49 bits: twice a primary key.
  @inline(__always)
  private mutating func varint() -> UInt64? {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while place < bytes.count, shift < 49 {
      let byte = bytes[place]
      place += 1
      value |= UInt64(byte & 0x7F) << shift
      if byte < 0x80 { return value }
      shift += 7
    }
    return nil
  }

  @inline(never)
  private mutating func damaged() -> UInt64? {
    isDamaged = true
    place = bytes.count
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
