// A realised to-many relationship holds its members as long as its owner is held (rule 220): asked again, it fires no fault. So does a to-one
// relationship with the object at its other end, see `ReferenceKeepers`.
//
//     holder ──▶ owner ┄┄▶ member ┄┄▶ member's members …        ──▶ a reference that counts    ┄┄▶ known by key
//
// No object refers to another, so there are no cycles to break: whether an object that only the table holds is kept is looked up, from the
// member to the owners that may keep it, up to an owner that is held outside. Objects that are not held outside keep nothing, even if they keep each other.
//
// A member with a row names its owner itself, where the inverse is to-one; a fault without a row remembers the owner that it was made for. For all other
// relationships the table of the member lists the owners that were read.

/// A to-many relationship that has been walked, as the table of a member knows it.
struct MemberKeeper: Hashable {
  /// The owner, as references name it.
  let owner: UInt64
  let relationship: Int
}

extension ManagedObjectContext {
  /// `members`, which `owner` has just been asked for, are held by it from now on.
  @inline(__always)
  func keep(_ members: [ManagedObject], of owner: ManagedObject, _ state: RelationState) {
    if members.isEmpty || state.isKeeping { return }
    beginKeeping(members, of: owner, state)
  }

  private func beginKeeping(_ members: [ManagedObject], of owner: ManagedObject, _ state: RelationState) {
    state.keepMembers()
    stores.keepMembers()
    let relationship = state.relationship
    if relationship.isInverseToOne, !relationship.isTransient, let hint = UInt32(exactly: owner.primaryKey) {
      for member in members where member.snapshot == nil { member.keeperHint = hint }
      return
    }
    let keeper = MemberKeeper(owner: owner.referenceBits, relationship: relationship.number)
    for member in members { stores.table(for: member.home)?.add(keeper, of: member.primaryKey) }
  }
}

extension ManagedObjectContext {
  /// Of each of `objects`, which only the caller holds, whether the context would keep it without that: it has changes, or an owner that somebody else holds, or that
  /// has changes, leads to it by relationships that were walked.
  package final func keepsWithoutCaller(_ objects: [ManagedObject]) -> [Bool] {
    var search = KeeperSearch(stores)
    search.ignored = Set(objects.lazy.filter { !$0.hasPendingState }.map { ObjectIdentifier($0) })
    return objects.map { object in
      guard object.contextReference?.toOpaque() == Unmanaged.passUnretained(self).toOpaque() else {
        return false
      }
      if object.hasPendingState { return true }
      return stores.table(for: object.home).map { search.isKept(object, in: $0) } ?? false
    }
  }
}

/// Looks for the keepers of objects that are held nowhere else. Lives as long as one look-up or one sweep, during which nothing changes.
struct KeeperSearch {
  private let stores: RegisteredStores
  /// Objects that do not count as held, although they are.
  var ignored: Set<ObjectIdentifier> = []
  private var kept: Set<ObjectIdentifier> = []
  private var gone: Set<ObjectIdentifier> = []

  init(_ stores: RegisteredStores) { self.stores = stores }

  /// Whether `object`, which only its table holds, is kept by an owner that is held elsewhere.
  mutating func isKept(_ object: ManagedObject, in table: IdentityTable) -> Bool {
    let start = ObjectIdentifier(object)
    if kept.contains(start) { return true }
    if gone.contains(start) { return false }
    var seen: Set<ObjectIdentifier> = []
    var waiting = [Step(table: table, key: object.primaryKey)]
    var isFound = false
    /// The note of the object itself that is followed.
    var way: UInt32?
    /// Whether an owner is held; its own keepers are looked at next.
    func visit(_ owners: IdentityTable, _ key: UInt64) -> Bool {
      // The caller holds the object that it looks for.
      guard let identity = owners.identity(of: key), identity != start else { return false }
      if owners.isHeld(key) && !ignored.contains(identity) || kept.contains(identity) { return true }
      if !gone.contains(identity), seen.insert(identity).inserted {
        waiting.append(Step(table: owners, key: key))
      }
      return false
    }
    while !isFound, let step = waiting.popLast() {
      let references = step.table.references
      guard let note = step.note else {
        // Those that refer to it follow one by one: there may be very many, and mostly the first of them will do.
        if let first = references?.first(of: step.key, step.table.hierarchy) {
          waiting.append(Step(table: step.table, key: step.key, note: first))
        }
        for (owners, key) in keepers(of: step.key, in: step.table) where visit(owners, key) {
          isFound = true
          break
        }
        continue
      }
      guard let references else { continue }
      if step.key == object.primaryKey, step.table === table { way = note }
      if let next = references.next(after: note) {
        waiting.append(Step(table: step.table, key: step.key, note: next))
      }
      if let (owners, key) = references.keeper(note) { isFound = visit(owners, key) }
    }
    if isFound {
      kept.insert(start)
      if let way { table.references?.ask(way, firstFor: object.primaryKey, table.hierarchy) }
    } else {
      // Nothing that was looked at is held.
      gone.formUnion(seen)
      gone.insert(start)
    }
    return isFound
  }

  /// An object whose keepers are looked for.
  private struct Step {
    let table: IdentityTable
    let key: UInt64
    /// From which note of a to-one relationship on; nil for all its keepers.
    var note: UInt32?
  }

  /// The owners that are asked for `key` in a to-many relationship and have it, held or not.
  private func keepers(of key: UInt64, in table: IdentityTable) -> [(IdentityTable, UInt64)] {
    var result: [(IdentityTable, UInt64)] = []
    table.withObject(key) { member in
      guard let bound = member.boundReference?.takeUnretainedValue(),
        let store = stores.registered(bound.storeIndex), let context = member.context
      else { return }
      if !table.keepsMembers { return }
      func add(_ owner: UInt64, _ table: IdentityTable, _ relationship: RelationshipSchema, checks: Bool) {
        let keeps = table.withObject(owner) { owner in
          guard let state = owner.relations?.known(relationship), state.keepsMembers else { return false }
          return !checks || state.baseContains(member.referenceBits)
        }
        if keeps == true { result.append((table, owner)) }
      }
      for reference in bound.entity.relationships where !reference.isToMany && !reference.isTransient {
        guard let inverse = context.schema.inverse(of: reference), inverse.isToMany else { continue }
        let owners = store.tables[reference.destinationHierarchy]
        if let bits = member.referenceAtHand(reference) {
          if bits != 0 { add(Reference.primaryKey(bits), owners, inverse, checks: false) }
        } else if member.keeperHint != 0 {
          add(UInt64(member.keeperHint), owners, inverse, checks: true)
        }
      }
      for keeper in table.keepers(of: key) {
        let relationship = context.schema.relationships[keeper.relationship]
        let owners = store.tables[context.schema.entities[relationship.owner].hierarchyNumber]
        add(Reference.primaryKey(keeper.owner), owners, relationship, checks: true)
      }
    }
    return result
  }
}

extension ManagedObject {
  /// What the object refers to, if that is known without reading.
  fileprivate final func referenceAtHand(_ relationship: RelationshipSchema) -> UInt64? {
    if let draft, draft.isChanged(relationship.slot) {
      if case .reference(let bits) = draft[relationship.slot] { return bits }
      return 0
    }
    return snapshot?.reference(relationship, home)
  }
}

/// Which objects hold which at the other end of to-one relationships, for the objects of one store: those that an owner was asked for, or was given.
///
///     owner ── keeperHead ──▶ note ── nextOfOwner ──▶ note …         one for each relationship that was asked for
///     target ── its key ──▶ first note ── nextOfTarget ──▶ note …    one for each owner that was asked
///
/// An owner holds its target while it is no fault and still leads there. Notes of owners that have left the context are dropped where they are
/// met, and all of them when there is no room: so there are at most twice as many as relationships of registered objects.
///
/// Lives on the context's queue.
final class ReferenceKeepers {
  private struct Note {
    /// The owner's key and hierarchy; 0 for a note that is over.
    var owner: UInt64 = 0
    /// The target's key and hierarchy; 0 once it has left the context.
    var target: UInt64 = 0
    var slot: UInt32 = 0
    /// Older notes of the same owner: their numbers descend.
    var nextOfOwner: UInt32 = 0
    var nextOfTarget: UInt32 = 0
    /// Of a target's first note: the first one of another target in the same place.
    var nextInPlace: UInt32 = 0
  }

  private let tables: [IdentityTable]
  /// From 1 on.
  @exclusivity(unchecked) private var notes: UnsafeMutablePointer<Note>?
  /// As many places as notes, each with the first note of one of its targets.
  @exclusivity(unchecked) private var places: UnsafeMutablePointer<UInt32>?
  @exclusivity(unchecked) private var capacity: UInt32 = 0
  @exclusivity(unchecked) private var shift: UInt64 = 0
  @exclusivity(unchecked) private var count: UInt32 = 0

  /// How many objects are not noted before room is looked for again, once there is none.
  @exclusivity(unchecked) private var pause = 0

  /// So many fit into the head of an owner. What comes after that is not held.
  private static let most: UInt32 = 1 << 23

  init(_ tables: [IdentityTable]) { self.tables = tables }

  deinit { release() }

  var isEmpty: Bool {
    @inline(__always) get { count == 0 }
  }

  // MARK: Owners that are asked

  /// The object that `owner` holds already at the other end of the relationship in `slot`, which leads to `key`.
  @inline(__always)
  func target(of owner: ManagedObject, slot: Int, _ key: UInt64, _ hierarchy: Int) -> ManagedObject? {
    let target = Self.name(key, hierarchy)
    let name = Self.name(owner.primaryKey, owner.home.hierarchyNumber)
    guard let notes else { return nil }
    var index = owner.keeperHead
    while index != 0, index <= count, notes[Int(index)].owner == name {
      if notes[Int(index)].slot == UInt32(truncatingIfNeeded: slot) {
        return notes[Int(index)].target == target ? tables[hierarchy].keptObject(key) : nil
      }
      index = notes[Int(index)].nextOfOwner
    }
    return nil
  }

  /// From now on `owner` holds `target` by the relationship in `slot`.
  func note(_ owner: ManagedObject, slot: Int, _ target: ManagedObject) {
    let (home, targetHome) = (owner.home.hierarchyNumber, target.home.hierarchyNumber)
    if owner === target || owner.state.contains(.fault) || tables[targetHome].retainsObjects { return }
    if count == capacity, !makeRoom() { return }
    guard let notes, let places else { return }
    let (name, key) = (Self.name(owner.primaryKey, home), Self.name(target.primaryKey, targetHome))
    let slot = UInt32(truncatingIfNeeded: slot)
    // An object that was in no context for a time may have a head that is another's.
    var head = owner.keeperHead
    if head > count || head != 0 && notes[Int(head)].owner != name { head = 0 }
    var (before, index): (UInt32, UInt32) = (0, head)
    while index != 0, notes[Int(index)].owner == name {
      let known = notes[Int(index)]
      if known.slot == slot {
        if known.target == key { return }
        if before == 0 {
          head = known.nextOfOwner
        } else {
          notes[Int(before)].nextOfOwner = known.nextOfOwner
        }
        notes[Int(index)].owner = 0
        break
      }
      (before, index) = (index, known.nextOfOwner)
    }
    count += 1
    owner.keeperHead = count
    add(Note(owner: name, target: key, slot: slot, nextOfOwner: head), count, to: notes, places)
  }

  /// Puts a note behind the first one of its target.
  private func add(
    _ note: Note, _ number: UInt32, to notes: UnsafeMutablePointer<Note>,
    _ places: UnsafeMutablePointer<UInt32>
  ) {
    var note = note
    let first = firstNote(note.target)
    if first != 0 {
      note.nextOfTarget = notes[Int(first)].nextOfTarget
      notes[Int(first)].nextOfTarget = number
    } else {
      let place = placeNumber(note.target)
      note.nextInPlace = places[place]
      places[place] = number
    }
    notes[Int(number)] = note
  }

  // MARK: Targets that may go

  /// Whether an owner was asked for the object; it may hold it no more.
  @inline(__always)
  func hasKeepers(of key: UInt64, _ hierarchy: Int) -> Bool {
    count != 0 && firstNote(Self.name(key, hierarchy)) != 0
  }

  /// Whether one of the first owners of the object is held outside and holds it. That owner is the first to be asked the next time. Others, and owners that are
  /// kept themselves, are found by `KeeperSearch`: there may be very many.
  func isHeldByOwner(_ key: UInt64, _ hierarchy: Int) -> Bool {
    guard let notes else { return false }
    let first = firstNote(Self.name(key, hierarchy))
    var (before, index): (UInt32, UInt32) = (0, first)
    var left = Self.mostAsked
    while index != 0, left > 0 {
      let next = notes[Int(index)].nextOfTarget
      if notes[Int(index)].owner != 0, !isOver(index) {
        if let (owners, owner) = keeper(index), owners.isHeld(owner) {
          move(index, from: before, behind: first, in: notes)
          return true
        }
        left -= 1
        before = index
      } else if before == 0 {
        // The first one stands for the target.
        notes[Int(index)].owner = 0
        before = index
      } else {
        notes[Int(index)].owner = 0
        notes[Int(before)].nextOfTarget = next
      }
      index = next
    }
    return false
  }

  /// How many owners are asked before a search begins.
  private static let mostAsked = 16

  /// The owner of that note, which keeps the object, is the first to be asked the next time.
  func ask(_ note: UInt32, firstFor key: UInt64, _ hierarchy: Int) {
    guard let notes else { return }
    let first = firstNote(Self.name(key, hierarchy))
    var (before, index): (UInt32, UInt32) = (0, first)
    while index != 0, index != note { (before, index) = (index, notes[Int(index)].nextOfTarget) }
    if index != 0 { move(index, from: before, behind: first, in: notes) }
  }

  private func move(
    _ note: UInt32, from before: UInt32, behind first: UInt32, in notes: UnsafeMutablePointer<Note>
  ) {
    if before == 0 || before == first { return }
    notes[Int(before)].nextOfTarget = notes[Int(note)].nextOfTarget
    notes[Int(note)].nextOfTarget = notes[Int(first)].nextOfTarget
    notes[Int(first)].nextOfTarget = note
  }

  /// The first note of an object; nil for none.
  func first(of key: UInt64, _ hierarchy: Int) -> UInt32? {
    let first = count == 0 ? 0 : firstNote(Self.name(key, hierarchy))
    return first == 0 ? nil : first
  }

  /// The next one of the same object.
  func next(after note: UInt32) -> UInt32? {
    guard let next = notes?[Int(note)].nextOfTarget, next != 0 else { return nil }
    return next
  }

  /// The owner that holds its target by that note; nil if it does not, or not any more.
  func keeper(_ note: UInt32) -> (IdentityTable, UInt64)? {
    guard let known = notes?[Int(note)], known.owner != 0 else { return nil }
    let (owners, key) = owner(known)
    let keeps = owners.withObject(key) { object in
      isOwn(note, of: object, known.owner) && object.holds(known.target >> 16, inSlot: Int(known.slot))
    }
    return keeps == true ? (owners, key) : nil
  }

  /// The object has left the context, or is about to.
  @inline(__always)
  func forget(_ key: UInt64, _ hierarchy: Int) {
    if count != 0 { forgetTarget(Self.name(key, hierarchy)) }
  }

  private func forgetTarget(_ target: UInt64) {
    guard let notes, let places else { return }
    let place = placeNumber(target)
    var (before, index): (UInt32, UInt32) = (0, places[place])
    while index != 0, notes[Int(index)].target != target {
      (before, index) = (index, notes[Int(index)].nextInPlace)
    }
    if index == 0 { return }
    let others = notes[Int(index)].nextInPlace
    if before == 0 { places[place] = others } else { notes[Int(before)].nextInPlace = others }
    while index != 0 {
      notes[Int(index)].target = 0
      index = notes[Int(index)].nextOfTarget
    }
  }

  /// Everything has left the context.
  func removeAll() {
    release()
    (notes, places, capacity, count) = (nil, nil, 0, 0)
  }

  // MARK: Notes

  /// What an object is called here: as references are, with its hierarchy in the place of its entity.
  @inline(__always)
  private static func name(_ key: UInt64, _ hierarchy: Int) -> UInt64 {
    key &<< 16 | UInt64(truncatingIfNeeded: hierarchy)
  }

  private func owner(_ note: Note) -> (IdentityTable, UInt64) {
    (tables[Int(note.owner & 0xFFFF)], note.owner >> 16)
  }

  @inline(__always)
  private func placeNumber(_ target: UInt64) -> Int {
    Int(truncatingIfNeeded: (target &* 0x9E37_79B9_7F4A_7C15) &>> shift)
  }

  /// The first note of a target, 0 for none.
  @inline(__always)
  private func firstNote(_ target: UInt64) -> UInt32 {
    guard let notes, let places else { return 0 }
    var index = places[placeNumber(target)]
    while index != 0, notes[Int(index)].target != target { index = notes[Int(index)].nextInPlace }
    return index
  }

  /// Whether a note is one of `object`, as it is now.
  private func isOwn(_ note: UInt32, of object: ManagedObject, _ name: UInt64) -> Bool {
    guard let notes else { return false }
    var index = object.keeperHead
    if index > count { return false }
    while index > note, notes[Int(index)].owner == name { index = notes[Int(index)].nextOfOwner }
    return index == note
  }

  /// Whether the owner of a note has left the context, or was a fault since.
  private func isOver(_ note: UInt32) -> Bool {
    guard let known = notes?[Int(note)], known.owner != 0 else { return true }
    let (owners, key) = owner(known)
    return owners.withObject(key) { isOwn(note, of: $0, known.owner) } != true
  }

  /// Takes away what is over; makes twice as much room as is needed. False when there is none left.
  private func makeRoom() -> Bool {
    if pause > 0 {
      pause -= 1
      return false
    }
    var left: [Note] = []
    if let notes, count > 0 {
      for number in 1...count {
        let note = notes[Int(number)]
        if note.owner != 0, note.target != 0, !isOver(number) { left.append(note) }
      }
      for number in 1...count where notes[Int(number)].owner != 0 {
        let (owners, key) = owner(notes[Int(number)])
        owners.withObject(key) { $0.keeperHead = 0 }
      }
    }
    release()
    var target: UInt32 = 64
    while Int(target) < left.count * 2 { target *= 2 }
    target = min(target, Self.most)
    let notes = UnsafeMutablePointer<Note>.allocate(capacity: Int(target) + 1)
    notes.initialize(repeating: Note(), count: Int(target) + 1)
    let places = UnsafeMutablePointer<UInt32>.allocate(capacity: Int(target))
    places.initialize(repeating: 0, count: Int(target))
    (self.notes, self.places, capacity, count) = (notes, places, target, 0)
    shift = UInt64(64 - target.trailingZeroBitCount)
    for note in left {
      let (owners, key) = owner(note)
      owners.withObject(key) { object in
        var note = note
        (note.nextOfOwner, note.nextOfTarget, note.nextInPlace) = (object.keeperHead, 0, 0)
        count += 1
        object.keeperHead = count
        add(note, count, to: notes, places)
      }
    }
    if capacity == Self.most, count > capacity / 4 * 3 { pause = Int(capacity) }
    return count < capacity
  }

  private func release() {
    notes?.deallocate()
    places?.deallocate()
  }
}

extension ManagedObjectContext {
  /// `target`, which `owner` has just been asked for or given, is held by it from now on.
  @inline(__always)
  func hold(_ target: ManagedObject, by owner: ManagedObject, _ relationship: RelationshipSchema) {
    stores.registered(owner.home.storeIndex)?.references.note(owner, slot: relationship.slot, target)
  }
}

extension ManagedObject {
  /// Whether the object holds the one of that key at the other end of the to-one relationship in `slot`. A fault holds nothing.
  fileprivate final func holds(_ key: UInt64, inSlot slot: Int) -> Bool {
    guard !state.contains(.fault), let relationship = home.entity.relationship(slot: slot),
      !relationship.isToMany
    else { return false }
    return Reference.primaryKey(reference(relationship)) == key
  }
}
