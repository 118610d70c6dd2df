import Synchronization

/// The to-many relationships of one object, as far as they were looked at or changed. Lives on the context's
/// queue.
final class Relations {
  // `@exclusivity(unchecked)`, here and below: used on the context's queue by one frame at a time, and nothing that changes them calls out meanwhile. An import or a deletion
  // comes here for each link.
  /// By the relationship's number.
  @exclusivity(unchecked) private(set) var states: [(relationship: Int, state: RelationState)] = []
  /// Objects of other stores that were set: they are refused at save (rule 146).
  @exclusivity(unchecked) var foreign = ForeignLinks()
  /// Objects of other stores that lead here, or once did.
  @exclusivity(unchecked) private(set) var foreignOwners: [ManagedObjectID] = []
  private var knownForeignOwners: Set<ManagedObjectID> = []
  /// What relationships held when `willChangeValue(forKey:)` was called, until `didChangeValue(forKey:)` is.
  var announced: [Int: [ManagedObject]] = [:]
  /// Of an object in no context: what it and those it is related to live in.
  var looseObjects: ManagedObjectContext?
  /// What fetched properties have found, by their names.
  var fetched: [String: [ManagedObjectID]] = [:]
  /// Whether somebody may follow the members, see `MembersFollower`.
  @exclusivity(unchecked) var isFollowed = false

  /// What is known of one relationship; made on first use.
  func state(of relationship: RelationshipSchema) -> RelationState {
    let number = relationship.number
    for place in states.indices where states[place].relationship == number { return states[place].state }
    let state = RelationState(relationship)
    // Most objects are asked for one: an array that grows costs more to begin.
    if states.isEmpty { states = [(number, state)] } else { states.append((number, state)) }
    return state
  }

  /// Calls `body`, which asks for no other relationship, with what is known of one, without counting references.
  @inline(__always)
  func withState(of relationship: RelationshipSchema, _ body: (RelationState) -> Void) {
    let number = relationship.number
    for place in states.indices where states[place].relationship == number {
      // Kept by `states`, which nothing changes meanwhile.
      return Unmanaged.passUnretained(states[place].state)._withUnsafeGuaranteedRef(body)
    }
    body(state(of: relationship))
  }

  /// What is known of one relationship, if anything.
  func known(_ relationship: RelationshipSchema) -> RelationState? {
    for entry in states where entry.relationship == relationship.number { return entry.state }
    return nil
  }

  /// What was done here is taken back.
  func dropChanges() {
    for entry in states { entry.state.restore(MemberChanges()) }
    foreign = ForeignLinks()
  }

  /// Whether a relationship may lead to another store, or from there to here.
  var crossesStores: Bool { !foreign.isEmpty || !foreignOwners.isEmpty }

  /// An object of another store leads here.
  func noteForeign(owner: ManagedObjectID) {
    if knownForeignOwners.insert(owner).inserted { foreignOwners.append(owner) }
  }

  /// The object is about to go to another store, and is related to nothing: no key of the old one stays behind.
  func moveToOtherStore() {
    dropChanges()
    for entry in states { entry.state.dropBase() }
    foreignOwners = []
    knownForeignOwners = []
  }

  /// Members are loaded again when they are next asked for, fetched properties fetched again.
  func dropBases() {
    for entry in states { entry.state.dropBase() }
    fetched = [:]
  }

  /// The same, but what was known is shown until the members can be read.
  func expireBases() {
    for entry in states { entry.state.expireBase() }
    fetched = [:]
  }

  /// The did-change notification reports what was changed.
  func endEvent() { for entry in states { entry.state.endEvent() } }

  func takeOff() { for entry in states { entry.state.takeOff() } }
  func land() { for entry in states { entry.state.land() } }
  func comeBack() { for entry in states { entry.state.comeBack() } }

  /// What was done is saved.
  func settle() { for entry in states { entry.state.settle() } }

  /// Whether something was done to any of them.
  var hasChanges: Bool { states.contains { $0.state.hasChanges } }
}

/// The objects of other stores that one object was related to, by slot: none or one of a to-one relationship, any number of others.
struct ForeignLinks: Equatable {
  private var ends: [Int: [ManagedObjectID]] = [:]

  var isEmpty: Bool { ends.isEmpty }
  var slots: [Int] { ends.keys.sorted() }
  /// All of them, slot by slot, each in the order in which they were set.
  var all: [(slot: Int, end: ManagedObjectID)] {
    slots.flatMap { slot in ends[slot, default: []].map { (slot: slot, end: $0) } }
  }

  /// The first one in that slot.
  subscript(slot: Int) -> ManagedObjectID? { ends[slot]?.first }

  func leads(to end: ManagedObjectID, slot: Int) -> Bool { ends[slot]?.contains(end) == true }

  mutating func add(_ end: ManagedObjectID, slot: Int) {
    if !leads(to: end, slot: slot) { ends[slot, default: []].append(end) }
  }

  /// Takes out `end`, or all of the slot for nil.
  mutating func remove(_ end: ManagedObjectID?, slot: Int) {
    guard var left = ends[slot] else { return }
    left.removeAll { end == nil || $0 == end }
    ends[slot] = left.isEmpty ? nil : left
  }
}

/// One to-many relationship of one object.
///
///     base       as the store and the contexts below have it     loaded with one range scan
///     flying     what a save under way is writing
///     changes    what has been done here since
///
/// The relationship is a fault as long as `base` is nil.
final class RelationState {
  let relationship: RelationshipSchema
  // `@exclusivity(unchecked)`, here and below: see `Relations`.
  @exclusivity(unchecked) private(set) var base: ContiguousArray<PlacedMember>?
  /// Which state of the other end `base` is true for; see `ManagedObjectContext.relationEpochs`.
  @exclusivity(unchecked) private var baseEpoch: UInt32 = 0
  /// `base` is what was known last, and to be read again.
  @exclusivity(unchecked) private var isExpired = false
  /// Where the members of an ordered base stand, for those who look for one.
  @exclusivity(unchecked) private var basePlaces: [UInt64: UInt64]?
  @exclusivity(unchecked) private(set) var flying = MemberChanges()
  @exclusivity(unchecked) private(set) var changes = MemberChanges()
  /// All three together, in order.
  @exclusivity(unchecked) private var merged = MergedMembers()
  /// The owner has been asked for its members: while it is held, it holds them.
  @exclusivity(unchecked) private(set) var keepsMembers = false
  /// All of them know so.
  @exclusivity(unchecked) private(set) var isKeeping = false
  /// The members have been read, and only their identifiers were asked for: to the program the relationship is a fault.
  @exclusivity(unchecked) var isReadForIdentifiers = false
  /// Whether a primitive setter has changed the members: the other ends need not say so, nor the owner that it has changed.
  @exclusivity(unchecked) var isSetPrimitively = false
  /// Whether `changes` has grown since the last did-change notification.
  @exclusivity(unchecked) private(set) var isChangedInEvent = false
  /// Whether that was so when the last event with a change of the object ended.
  @exclusivity(unchecked) private(set) var wasChangedInEvent = false

  init(_ relationship: RelationshipSchema) { self.relationship = relationship }

  var hasChanges: Bool { !changes.isEmpty }

  /// Whether the members are not known.
  func isFault(epoch: UInt32) -> Bool { base == nil || baseEpoch != epoch || isExpired }

  // MARK: Changing

  func add(_ member: UInt64) {
    place(member, at: relationship.isOrdered ? ProvisionalPosition.next() : MemberChanges.unplaced)
  }

  func place(_ member: UInt64, at position: UInt64) {
    append(MemberChanges.Entry(member: member, position: position))
  }

  /// Brings the members, which are known and all among `order`, into that order.
  func arrange(_ order: [UInt64]) {
    if members().lazy.map(\.member).elementsEqual(order) { return }
    placeAll(order)
  }

  /// Gives all members their places anew, in that order.
  func placeAll(_ order: some Sequence<UInt64>) {
    // All of them at once are sorted faster than one by one.
    merged.drop()
    var position = EdgePosition.first
    for member in order {
      place(member, at: position)
      position += EdgePosition.gap
    }
  }

  func remove(_ member: UInt64) {
    append(MemberChanges.Entry(member: member, position: MemberChanges.removed))
  }

  /// Something is done to one member. What all changes make of the base is kept true while that is less work than making it again.
  private func append(_ entry: MemberChanges.Entry) {
    if merged.isMade {
      let beneath = basePlace(entry.member)
      let old = position(after: lastChange(entry.member), beneath)
      merged.move(
        entry.member, from: old, to: position(after: entry, beneath), isOrdered: relationship.isOrdered)
    } else if merged.isNumbered {
      merged.drop()
    }
    changes.append(entry)
    noteChange()
  }

  func forget(_ member: UInt64) {
    if changes.isEmpty { return }
    changes.forget(member)
    touch()
  }

  /// The members have other references now; nil for one that is no member any more.
  func replaceMembers(_ reference: (UInt64) -> UInt64?) {
    changes = changes.replacing(reference)
    base = nil
    basePlaces = nil
    merged.drop()
  }

  /// Puts back what an earlier state had.
  func restore(_ changes: MemberChanges) {
    self.changes = changes
    if changes.isEmpty { isSetPrimitively = false }
    touch()
  }

  func endEvent() {
    wasChangedInEvent = isChangedInEvent
    isChangedInEvent = false
  }

  private func touch() {
    merged.drop()
    noteChange()
  }

  private func noteChange() {
    isKeeping = false
    isChangedInEvent = true
  }

  // MARK: The base

  func setBase(_ members: ContiguousArray<PlacedMember>, epoch: UInt32) {
    base = members
    basePlaces = nil
    baseEpoch = epoch
    isExpired = false
    isKeeping = false
    isReadForIdentifiers = false
    merged.drop()
  }

  func keepMembers() {
    keepsMembers = true
    isKeeping = true
  }

  /// The members are asked for again when they are next needed; those that were known are shown if they cannot be read.
  func expireBase() { isExpired = true }

  /// The members are asked for again when they are next needed.
  func dropBase() {
    base = nil
    keepsMembers = false
    isKeeping = false
    merged.drop()
  }

  /// Whether the base, which is loaded, has the member. The base of a relationship without an order is sorted.
  func baseContains(_ member: UInt64) -> Bool { basePlace(member) != nil }

  /// Where a member of the base, which is loaded, stands; nil for one that is none there.
  func basePlace(_ member: UInt64) -> UInt64? {
    guard let base else { return nil }
    if relationship.isOrdered {
      if basePlaces == nil {
        basePlaces = Dictionary(base.lazy.map { ($0.member, $0.position) }) { first, _ in first }
      }
      return basePlaces?[member]
    }
    var low = 0
    var high = base.count
    while low < high {
      let middle = (low + high) / 2
      if base[middle].member == member { return base[middle].position }
      if base[middle].member < member { low = middle + 1 } else { high = middle }
    }
    return nil
  }

  /// The members as the base and all changes make them, in order. Only while there is a base.
  func members() -> ContiguousArray<PlacedMember> {
    if let made = merged.take() { return made }
    let made = Self.apply([flying, changes], to: base ?? [], relationship)
    merged.keep(made)
    return made
  }

  /// The state of ``members()``.
  func moment() -> MembersMoment { merged.moment() }

  /// Where a member stands after `entry`, the last that was done to it, as ``apply(_:to:_:)`` makes it of the place that it has beneath; nil for none.
  func position(after entry: MemberChanges.Entry?, _ beneath: UInt64?) -> UInt64? {
    guard let entry else { return beneath }
    if entry.isRemoval { return nil }
    guard relationship.isOrdered else { return beneath ?? entry.position }
    if entry.position != MemberChanges.unplaced { return entry.position }
    // No place was given: where it is, or at the end.
    return beneath ?? EdgePosition.firstProvisional
  }

  /// What was last done to `member` here.
  func lastChange(_ member: UInt64) -> MemberChanges.Entry? { changes.last(member) ?? flying.last(member) }

  /// Those of `members` that were added here last.
  func added(among members: Set<UInt64>) -> [UInt64] {
    if members.count < changes.entries.count {
      return members.filter { changes.last($0)?.isRemoval == false }
    }
    return changes.effective.filter { !$0.isRemoval && members.contains($0.member) }.map(\.member)
  }

  /// Whether the next save writes where `member` stands.
  func isPlacedHere(_ member: UInt64) -> Bool { changes.last(member) != nil }

  /// The last entries of everything that is not saved.
  var pending: ContiguousArray<MemberChanges.Entry> {
    if flying.isEmpty { return changes.effective }
    var all = flying
    all.append(changes)
    return all.effective
  }

  static func apply(
    _ changes: [MemberChanges], to base: ContiguousArray<PlacedMember>, _ relationship: RelationshipSchema
  ) -> ContiguousArray<PlacedMember> {
    if changes.allSatisfy(\.isEmpty) { return base }
    var all = MemberChanges()
    for change in changes { all.append(change) }
    var last: [UInt64: UInt64] = [:]
    let effective = all.effective
    for entry in effective { last[entry.member] = entry.position }
    var result = ContiguousArray<PlacedMember>()
    result.reserveCapacity(base.count + effective.count)
    for member in base {
      guard let position = last.removeValue(forKey: member.member) else {
        result.append(member)
        continue
      }
      if position == MemberChanges.removed { continue }
      // A member that is there already stays where it is unless it was placed.
      let isPlaced = relationship.isOrdered && position != MemberChanges.unplaced
      result.append(isPlaced ? PlacedMember(position: position, member: member.member) : member)
    }
    for entry in effective where !entry.isRemoval {
      guard var position = last[entry.member] else { continue }
      // No place was given: at the end.
      if relationship.isOrdered, position == MemberChanges.unplaced {
        position = EdgePosition.firstProvisional
      }
      result.append(PlacedMember(position: position, member: entry.member))
    }
    if relationship.isOrdered {
      result.sort { ($0.position, $0.member) < ($1.position, $1.member) }
    }
    return result
  }

  // MARK: Saving

  /// A save has begun to write the changes and leaves the queue.
  func takeOff() {
    flying.append(changes)
    changes = MemberChanges()
  }

  /// That save did not succeed: its changes are pending again, beneath those made since.
  func comeBack() {
    if flying.isEmpty { return }
    flying.append(changes)
    changes = flying
    flying = MemberChanges()
  }

  /// What was flying is saved.
  func land() {
    if flying.isEmpty { return }
    adopt(flying)
    flying = MemberChanges()
    merged.drop()
  }

  /// Everything done here is saved.
  func settle() {
    isSetPrimitively = false
    if changes.isEmpty { return }
    adopt(changes)
    changes = MemberChanges()
    merged.drop()
  }

  private func adopt(_ saved: MemberChanges) {
    guard let base else { return }
    var members = Self.apply([saved], to: base, relationship)
    if !relationship.isOrdered { members.sort { $0.member < $1.member } }
    self.base = members
    basePlaces = nil
    // The store has given the members other positions.
    if relationship.isOrdered && !relationship.isTransient { expireBase() }
  }
}

/// What all changes make of the base of one relationship, once it has been asked for.
///
/// A change of one member is made here, too, as long as that is less work than making everything again: so it is cheap to ask after each change, and who changes many
/// members before asking pays nothing for that.
struct MergedMembers {
  private var members: ContiguousArray<PlacedMember>?
  /// How many members have moved up or down since they were asked for last.
  private var work = 0
  /// The number of the present state in the life of all relationships; 0 when nobody has asked for it.
  private var number: UInt64 = 0
  /// What has led to the present state last, oldest first.
  private var steps: [MembersMoment.Step] = []

  var isMade: Bool { members != nil }
  /// Whether somebody has asked for the present state.
  var isNumbered: Bool { number != 0 }

  /// They have to be made again.
  mutating func drop() {
    members = nil
    number = 0
    if !steps.isEmpty { steps = [] }
  }

  mutating func keep(_ made: ContiguousArray<PlacedMember>) {
    members = made
    work = 0
  }

  /// The members; nil when they have to be made.
  mutating func take() -> ContiguousArray<PlacedMember>? {
    work = 0
    return members
  }

  /// The present state.
  mutating func moment() -> MembersMoment {
    work = 0
    if number == 0 { number = MembersMoment.next() }
    return MembersMoment(number: number, steps: steps)
  }

  /// `member` stood at the position `old` and stands at `new`; nil for a place outside.
  mutating func move(_ member: UInt64, from old: UInt64?, to new: UInt64?, isOrdered: Bool) {
    if old == new || !isOrdered && (old == nil) == (new == nil) { return }
    let count = members?.count ?? 0
    var (removed, inserted): (Int?, Int?) = (nil, nil)
    if let old {
      let placed = PlacedMember(position: old, member: member)
      guard let place = ownPlace(placed, isOrdered) else { return drop() }
      members?.remove(at: place)
      removed = place
      // Without an order it was looked for from the front.
      work += isOrdered ? count - place : count
    }
    if let new {
      let placed = PlacedMember(position: new, member: member)
      let place = isOrdered ? nextPlace(placed) : members?.count ?? 0
      members?.insert(placed, at: place)
      inserted = place
      work += count - place + 1
    }
    if work > 4 * count + 64 { return drop() }
    if number == 0 { return }
    if steps.count == Self.mostSteps { steps.removeFirst() }
    steps.append(MembersMoment.Step(from: number, member: member, removed: removed, inserted: inserted))
    number = MembersMoment.next()
  }

  private static let mostSteps = 8

  /// Where `member` stands.
  private func ownPlace(_ member: PlacedMember, _ isOrdered: Bool) -> Int? {
    guard let members else { return nil }
    if !isOrdered { return members.firstIndex { $0.member == member.member } }
    let place = nextPlace(member)
    return place < members.count && members[place] == member ? place : nil
  }

  /// Where the first one stands that does not stand before `member` in an ordered relationship.
  private func nextPlace(_ member: PlacedMember) -> Int {
    guard let members else { return 0 }
    var (low, high) = (0, members.count)
    while low < high {
      let middle = (low + high) / 2
      let other = members[middle]
      if (other.position, other.member) < (member.position, member.member) {
        low = middle + 1
      } else {
        high = middle
      }
    }
    return low
  }
}

/// A state of the members of a to-many relationship. Two with the same number are the same: nothing has changed between them.
package struct MembersMoment {
  /// How a state came from the one before.
  package struct Step {
    /// The number of the state before.
    package let from: UInt64
    /// The member that has moved, see `Reference`.
    let member: UInt64
    /// Where it stood; nil when it was no member.
    package let removed: Int?
    /// Where it stands now; nil when it is no member any more.
    package let inserted: Int?
  }

  /// No other state of any relationship in this process has it.
  package let number: UInt64
  private let steps: [Step]

  init(number: UInt64, steps: [Step]) { (self.number, self.steps) = (number, steps) }

  /// How the state came from that of the number `earlier`, oldest first; nil when that is not known.
  package func steps(since earlier: UInt64) -> ArraySlice<Step>? {
    if earlier == number { return [] }
    return steps.firstIndex { $0.from == earlier }.map { steps[$0...] }
  }

  private static let counter = Atomic<UInt64>(0)

  static func next() -> UInt64 { counter.wrappingAdd(1, ordering: .relaxed).newValue }
}
