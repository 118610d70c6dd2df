import HashTreeCollections

/// What a record's unsaved changes do to its to-many relationships, as far as rows do not tell: by relationship number and
/// member `MemberChanges.removed`, `unplaced`, or a position.
///
/// Of an ordered relationship whose members follow from the rows at the other end only positions count; a member that has left is
/// noted so that an earlier position is forgotten.
typealias StratumEdges = [Int: TreeDictionary<UInt64, UInt64>]

extension TreeDictionary<UInt64, UInt64> {
  /// The last change of each member.
  init(_ entries: ContiguousArray<MemberChanges.Entry>) {
    self.init()
    for entry in entries { self[entry.member] = entry.position }
  }
}

extension StratumEdges {
  /// `later` over these.
  func followed(by later: StratumEdges) -> StratumEdges {
    if isEmpty { return later }
    if later.isEmpty { return self }
    return merging(later) { $0.merging($1) { $1 } }
  }

  /// What they take out.
  var removals: StratumEdges {
    if isEmpty { return self }
    return mapValues { members in members.filter { $0.value == MemberChanges.removed } }
      .filter { !$0.value.isEmpty }
  }

  /// As a store takes them, for the record `owner`.
  func changes(of owner: UInt64) -> [EdgeChange] {
    flatMap { relationship, members in
      members.map { member, position in EdgeChange(relationship, of: owner, member, position) }
    }
  }
}

extension EdgeChange {
  /// A change as `MemberChanges` notes it: `position` may be `removed` or `unplaced`.
  init(_ relationship: Int, of owner: UInt64, _ member: UInt64, _ position: UInt64) {
    self.init(
      relationship: relationship, owner: owner, member: member,
      kind: position == MemberChanges.removed
        ? .remove : .add(position: position == MemberChanges.unplaced ? nil : position))
  }
}

extension RelationshipSchema {
  /// Whether changes of the members are told beside the rows: all of them, or at least their places.
  var isToldBesideRows: Bool { isEdgeStored || (isToMany && isOrdered && !isTransient) }
}

extension ManagedObject {
  /// What the object's unsaved changes do to relationships, beside what its row and others' tell.
  final var stratumEdges: StratumEdges {
    guard let relations else { return [:] }
    var result: StratumEdges = [:]
    for (number, state) in relations.states
    where state.hasChanges && state.relationship.isToldBesideRows {
      result[number] = StratumEdges.Value(state.changes.entries)
    }
    return result
  }

  /// The references that are not those of the row.
  final var leftReferences: SlotBitmap {
    var result = SlotBitmap()
    guard let draft, let snapshot else { return result }
    for relationship in home.entity.relationships where !relationship.isToMany && !relationship.isTransient {
      guard draft.isChanged(relationship.slot) else { continue }
      let old = snapshot.reference(relationship, home)
      let isSame =
        if case .reference(let bits) = draft[relationship.slot] { bits == old } else { old == 0 }
      if !isSame { result.insert(relationship.slot) }
    }
    return result
  }

  /// A child has deleted the object: what it had taken it out of before does not lead to it, nor it there (rule 213). A reference that was
  /// set here meanwhile stays.
  final func leaveEnds(before deletion: StratumRow) {
    adoptEdges(deletion.edges)
    let left = home.entity.relationships.filter {
      !$0.isToMany && deletion.leftReferences.contains($0.slot)
        && reference($0) == deletion.base?.reference($0, home) ?? 0
    }
    if left.isEmpty { return }
    fire()
    let draft = editableDraft()
    for relationship in left {
      draft[relationship.slot] = .null
      draft.primitive.remove(relationship.slot)
    }
  }

  /// What a child has done to relationships becomes a change of this object's own.
  final func adoptEdges(_ edges: StratumEdges) {
    guard let context else { return }
    for (number, members) in edges {
      let relationship = context.schema.relationships[number]
      let state = relationState(relationship)
      for (member, position) in members {
        if position == MemberChanges.removed {
          state.remove(member)
        } else if position == MemberChanges.unplaced {
          state.add(member)
        } else {
          state.place(member, at: position)
        }
      }
    }
  }
}

/// What one layer does to the members of one relationship of one record.
struct LayerMembers {
  var changes = MemberChanges()
  /// Where members stand that belong to it anyway.
  var placements: [UInt64: UInt64] = [:]

  var isEmpty: Bool { changes.isEmpty && placements.isEmpty }

  func applied(to members: ContiguousArray<PlacedMember>, _ relationship: RelationshipSchema)
    -> ContiguousArray<PlacedMember>
  {
    var result = RelationState.apply([changes], to: members, relationship)
    if placements.isEmpty { return result }
    for place in result.indices {
      guard let position = placements[result[place].member] else { continue }
      result[place] = PlacedMember(position: position, member: result[place].member)
    }
    result.sort { ($0.position, $0.member) < ($1.position, $1.member) }
    return result
  }
}

extension StratumLayer {
  /// Relationships of one store whose members follow from the rows at the other end.
  struct DerivedTable: Hashable, Sendable {
    let storeIndex: Int
    let relationship: Int
  }

  /// Changes of members that follow from rows, by owner and member.
  typealias DerivedMembers = TreeDictionary<UInt64, TreeDictionary<UInt64, UInt64>>

  /// Rows for which `isSkipped` answers true do not count.
  func changes(
    of relationship: RelationshipSchema, _ table: Table, _ owner: UInt64,
    isSkipped: (StratumRow) -> Bool
  ) -> LayerMembers {
    var result = LayerMembers()
    let source = DerivedTable(storeIndex: table.storeIndex, relationship: relationship.number)
    if let members = derived[source]?[owner] {
      let memberTable = Table(storeIndex: table.storeIndex, hierarchy: relationship.destinationHierarchy)
      for (member, position) in members {
        if let row = row(memberTable, Reference.primaryKey(member)), isSkipped(row) { continue }
        if position == MemberChanges.removed {
          result.changes.remove(member)
        } else {
          result.changes.add(member, position: position)
        }
      }
    }
    guard let row = row(table, owner), let members = row.edges[relationship.number], !isSkipped(row) else {
      return result
    }
    for (member, position) in members {
      if !relationship.isEdgeStored {
        if position != MemberChanges.removed { result.placements[member] = position }
      } else if position == MemberChanges.removed {
        result.changes.remove(member)
      } else {
        result.changes.add(member, position: position)
      }
    }
    return result
  }

  /// Takes in, or with `isRemoval` takes out, what `row` says of the members of other records.
  mutating func derive(from row: StratumRow, isRemoval: Bool) {
    for relationship in row.bound.entity.relationships
    where !relationship.isToMany && !relationship.isTransient {
      guard let inverse = relationship.inverse, !relationship.isInverseToOne else { continue }
      if row.kind == .update, !row.changedSlots.contains(relationship.slot) { continue }
      let (old, new) = (
        row.base?.reference(relationship, row.bound), row.row?.reference(relationship, row.bound)
      )
      if old == new { continue }
      let table = DerivedTable(storeIndex: row.bound.storeIndex, relationship: inverse)
      let member = Reference.bits(row.primaryKey, entityCode: row.bound.stamp.entityCode)
      note(isRemoval ? nil : MemberChanges.removed, member, of: old, table)
      note(isRemoval ? nil : MemberChanges.unplaced, member, of: new, table)
    }
  }

  private mutating func note(_ change: UInt64?, _ member: UInt64, of owner: UInt64?, _ table: DerivedTable) {
    guard let owner, owner != 0 else { return }
    let key = Reference.primaryKey(owner)
    if let change {
      derived[table, default: [:]][key, default: [:]][member] = change
    } else if derived[table]?[key]?.removeValue(forKey: member) != nil {
      if derived[table]?[key]?.isEmpty == true { derived[table]?[key] = nil }
      if derived[table]?.isEmpty == true { derived[table] = nil }
    }
  }
}

extension RowSnapshot {
  /// What the row refers to, 0 for nothing.
  func reference(_ relationship: RelationshipSchema, _ bound: BoundEntity) -> UInt64 {
    if case .reference(let bits) = value(relationship.slot, bound.layout) { return bits }
    return 0
  }
}

extension StratumRow {
  /// Whether what the record refers to may differ from what it did beneath.
  func changesReference(_ relationship: RelationshipSchema) -> Bool {
    !relationship.isToMany && !relationship.isTransient
      && (kind != .update || changedSlots.contains(relationship.slot))
  }
}
