/// Lays changes over the packed members of one entry. Those that stay are copied as they lie: only a member that follows a change is packed anew.
///
/// ```
///   stored    a b c d e f g h        removed: d        added: x, behind f
///   result    a b c·e f·x·g h        · packed anew behind another member than before
/// ```
struct PackedMerge {
  /// The members as they are then, packed.
  private(set) var bytes: ContiguousArray<UInt8> = []
  /// How many members the entry had.
  private(set) var storedCount = 0
  /// By how much their number has changed.
  private(set) var difference = 0
  private(set) var isChanged = false
  /// Whether members have come at the end only.
  private(set) var isGrowing = true
  /// The last member of the result so far.
  private var last: UInt64 = 0

  /// Takes from `removals` and `additions`, which ascend, what lies below `end`; the places are then those of the first ones that do not. Adding a present member or removing an
  /// absent one changes nothing; what is put in is in, whether it is taken out as well or not.
  ///
  /// - Returns: false for damaged members; then nothing else here means anything.
  mutating func run(
    _ packed: UnsafeRawBufferPointer, _ removals: ArraySlice<Edge>, _ removal: inout Int,
    _ additions: ArraySlice<Edge>, _ addition: inout Int, below end: UInt64
  ) -> Bool {
    bytes.removeAll(keepingCapacity: true)
    (storedCount, difference, isChanged, isGrowing, last) = (0, 0, false, true, 0)
    var members = PackedMembers(chunk: packed)
    // What is copied as it lies begins here.
    var start = 0
    // Whether the next stored member follows the same one as before.
    var isJoined = true
    var (gone, new) = (
      Self.member(removals, removal, below: end), Self.member(additions, addition, below: end)
    )
    while true {
      if isJoined {
        storedCount += members.pass(below: min(gone, new))
        last = members.previous
      }
      let place = members.place
      guard let member = members.next() else { break }
      storedCount += 1
      if new < member {
        copy(packed, start..<place)
        (start, isJoined, isGrowing) = (place, false, false)
        while new < member { add(&new, additions, &addition, below: end) }
      }
      while gone < member {
        removal += 1
        gone = Self.member(removals, removal, below: end)
      }
      let isRemoved = gone == member
      if isRemoved {
        removal += 1
        gone = Self.member(removals, removal, below: end)
      }
      let isAdded = new == member
      if isAdded {
        addition += 1
        new = Self.member(additions, addition, below: end)
      }
      if isRemoved, !isAdded {
        copy(packed, start..<place)
        (start, isJoined, isChanged) = (members.place, false, true)
        difference -= 1
        continue
      }
      if !isJoined {
        PackedEdges.append(member, after: last, to: &bytes)
        (start, isJoined) = (members.place, true)
      }
      last = member
    }
    if members.isDamaged { return false }
    copy(packed, start..<packed.count)
    while new != .max { add(&new, additions, &addition, below: end) }
    while gone != .max {
      removal += 1
      gone = Self.member(removals, removal, below: end)
    }
    return true
  }

  /// The members, unpacked.
  func unpack(into members: inout ContiguousArray<UInt64>) -> Bool {
    members.removeAll(keepingCapacity: true)
    return bytes.withUnsafeBytes { bytes in
      var packed = PackedMembers(chunk: bytes)
      return packed.append(to: &members)
    }
  }

  /// The member at `place` among the changes; nothing is larger than what stands for none.
  @inline(__always)
  private static func member(_ edges: ArraySlice<Edge>, _ place: Int, below end: UInt64) -> UInt64 {
    guard place < edges.endIndex else { return .max }
    let member = edges[place].member
    return member < end ? member : .max
  }

  /// Puts in `new`, which is not there, and goes on to the next addition.
  @inline(__always)
  private mutating func add(
    _ new: inout UInt64, _ additions: ArraySlice<Edge>, _ addition: inout Int, below end: UInt64
  ) {
    PackedEdges.append(new, after: last, to: &bytes)
    last = new
    difference += 1
    isChanged = true
    addition += 1
    new = Self.member(additions, addition, below: end)
  }

  @inline(__always)
  private mutating func copy(_ packed: UnsafeRawBufferPointer, _ range: Range<Int>) {
    if range.isEmpty { return }
    bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: packed[range]))
  }
}
