// A realised to-many relationship holds its members as long as its owner is held (rule 220): asked again, it fires no fault.
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

/// Looks for the keepers of objects that are held nowhere else. Lives as long as one look-up or one sweep, during which nothing changes.
struct KeeperSearch {
  private let stores: RegisteredStores
  private var kept: Set<ObjectIdentifier> = []
  private var gone: Set<ObjectIdentifier> = []

  init(_ stores: RegisteredStores) { self.stores = stores }

  /// Whether `object`, which only its table holds, is kept by an owner that is held elsewhere.
  mutating func isKept(_ object: ManagedObject, in table: IdentityTable) -> Bool {
    let start = ObjectIdentifier(object)
    if kept.contains(start) { return true }
    if gone.contains(start) { return false }
    var seen: Set<ObjectIdentifier> = []
    var waiting = [(table: table, key: object.primaryKey)]
    var isFound = false
    while !isFound, let next = waiting.popLast() {
      for (owners, key) in keepers(of: next.key, in: next.table) {
        // The caller holds the object that it looks for.
        guard let identity = owners.identity(of: key), identity != start else { continue }
        if owners.isHeld(key) || kept.contains(identity) {
          isFound = true
          break
        }
        if !gone.contains(identity), seen.insert(identity).inserted { waiting.append((owners, key)) }
      }
    }
    if isFound {
      kept.insert(start)
    } else {
      // Nothing that was looked at is held.
      gone.formUnion(seen)
      gone.insert(start)
    }
    return isFound
  }

  /// The owners that are asked for `key` and have it, held or not.
  private func keepers(of key: UInt64, in table: IdentityTable) -> [(IdentityTable, UInt64)] {
    var result: [(IdentityTable, UInt64)] = []
    table.withObject(key) { member in
      guard let bound = member.boundReference?.takeUnretainedValue(),
        let store = stores.registered(bound.storeIndex), let context = member.context
      else { return }
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
