import Synchronization

/// What has been done to the members of one to-many relationship of one object, oldest first; for each member the last entry
/// counts.
///
///     members beneath ──(entries)──▶ members now          an entry: member │ 0 added · position placed · removed
///
/// Adding costs an append, whatever the number of members. Entries say what shall be, not what was: adding a member that is
/// there, or removing one that is not, does nothing.
struct MemberChanges {
  /// One change.
  struct Entry {
    /// The member, see `Reference`.
    let member: UInt64
    /// `unplaced`, `removed`, or the position of a member of an ordered relationship.
    let position: UInt64

    var isRemoval: Bool { position == MemberChanges.removed }
  }

  /// The member belongs to a relationship without an order.
  static let unplaced: UInt64 = 0
  /// The member does not belong to the relationship.
  static let removed = UInt64.max

  private(set) var entries: ContiguousArray<Entry> = []
  /// The place of the last entry of each member; made when it is asked for.
  private var places: [UInt64: Int]?

  var isEmpty: Bool { entries.isEmpty }

  mutating func add(_ member: UInt64, position: UInt64 = unplaced) {
    append(Entry(member: member, position: position))
  }

  mutating func remove(_ member: UInt64) { append(Entry(member: member, position: Self.removed)) }

  private mutating func append(_ entry: Entry) {
    if places != nil { places?[entry.member] = entries.count }
    entries.append(entry)
  }

  /// Nothing has been done to `member` after all.
  mutating func forget(_ member: UInt64) {
    entries.removeAll { $0.member == member }
    places = nil
  }

  /// The same changes of members that have other references; nil for those that are left out.
  func replacing(_ reference: (UInt64) -> UInt64?) -> MemberChanges {
    var result = MemberChanges()
    for entry in entries {
      if let member = reference(entry.member) {
        result.append(Entry(member: member, position: entry.position))
      }
    }
    return result
  }

  /// `later` came after these.
  mutating func append(_ later: MemberChanges) {
    if entries.isEmpty { self = later } else { for entry in later.entries { append(entry) } }
  }

  /// What was last done to `member`; nil for nothing.
  mutating func last(_ member: UInt64) -> Entry? {
    if entries.isEmpty { return nil }
    if places == nil { places = Dictionary(entries.enumerated().map { ($1.member, $0) }) { $1 } }
    return places?[member].map { entries[$0] }
  }

  /// The last entry of each member, in the order of those entries.
  var effective: ContiguousArray<Entry> {
    // An import adds members as their keys grow: then each has one entry.
    if zip(entries, entries.dropFirst()).allSatisfy({ $0.member < $1.member }) { return entries }
    var seen = Set<UInt64>(minimumCapacity: entries.count)
    var result = ContiguousArray(entries.reversed().filter { seen.insert($0.member).inserted })
    result.reverse()
    return result
  }
}

/// Where members of ordered relationships go that are appended before the store has placed them.
///
/// Such positions lie behind all stored ones and grow with time, in all contexts of the process together, so that what is
/// appended by several contexts keeps its order on the way down. The store replaces them (`EdgePosition`).
enum ProvisionalPosition {
  private static let counter = Atomic<UInt64>(0)

  static func next() -> UInt64 {
    EdgePosition.firstProvisional + counter.wrappingAdd(1, ordering: .relaxed).newValue << 20
  }
}
