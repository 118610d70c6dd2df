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
  struct Entry: Equatable {
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

  /// With those of members that were forgotten, until the next is added.
  private var kept: ContiguousArray<Entry> = []
  /// The place of the last entry of each member among the first `placed`; made when it is asked for. Members that were forgotten have none.
  private var places: [UInt64: Int]?
  /// How many entries `places` knows of: all, once it is asked.
  private var placed = 0
  private var hasForgotten = false

  var entries: ContiguousArray<Entry> {
    guard hasForgotten, let places else { return kept }
    return ContiguousArray(kept.filter { places[$0.member] != nil })
  }

  var isEmpty: Bool { hasForgotten ? places?.isEmpty ?? true : kept.isEmpty }

  mutating func add(_ member: UInt64, position: UInt64 = unplaced) {
    append(Entry(member: member, position: position))
  }

  mutating func remove(_ member: UInt64) { append(Entry(member: member, position: Self.removed)) }

  mutating func append(_ entry: Entry) {
    if hasForgotten {
      kept = entries
      places = nil
      hasForgotten = false
    }
    // Where one member comes or goes, others do.
    if kept.capacity == 0 { kept.reserveCapacity(Self.fewest) }
    kept.append(entry)
    if places != nil, kept.count > 2 * placed + 1_024 { place() }
  }

  /// How many entries there is room for from the first one on.
  private static let fewest = 4

  /// `places` comes to know of the entries that are new.
  private mutating func place() {
    if var known = places {
      if placed == kept.count { return }
      places = nil
      for place in placed..<kept.count { known[kept[place].member] = place }
      // Members that are placed again and again leave their old places behind.
      if kept.count <= 2 * known.count + 1_024 {
        (places, placed) = (known, kept.count)
        return
      }
      kept = effective
    }
    places = Dictionary(kept.enumerated().map { ($1.member, $0) }) { $1 }
    placed = kept.count
  }

  /// Nothing has been done to `member` after all. Many may be forgotten one after the other: the entries stay, and are passed over.
  mutating func forget(_ member: UInt64) {
    if last(member) == nil { return }
    places?[member] = nil
    hasForgotten = true
    if isEmpty { self = MemberChanges() }
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
    if isEmpty { self = later } else { for entry in later.entries { append(entry) } }
  }

  /// What was last done to `member`; nil for nothing.
  mutating func last(_ member: UInt64) -> Entry? {
    if kept.isEmpty { return nil }
    place()
    return places?[member].map { kept[$0] }
  }

  /// The last entry of each member, in the order of those entries.
  var effective: ContiguousArray<Entry> {
    let entries = entries
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
