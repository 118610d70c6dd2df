import Foundation

/// The first of the two phases for edges: what changes, and whether every end exists.
///
/// ```
///   rows    new, old and deleted references → edges of the inverse, hidden edges
///   edges   what the change set says of relationships that are not in rows, and of order
///   check   each distinct target once, in ascending order
///   deletes what leads to the rows that go: no reference may be left; edges go along
/// ```
///
/// Costs memory for keys, 16 bytes per edge, and no look-up per edge.
struct EdgeCollection {
  let writer: ChangeSetWriter
  let changed: ChangedRows
  var changes = EdgeChanges()
  /// References of one-to-one relationships and members of edge-stored ones: code and target; the source's key and the
  /// target's entity code.
  var targets: ContiguousArray<Edge> = []
  var dangling: [DanglingReferences.Reference] = []
  /// What rows that go leave behind in many-to-many relationships and those without an inverse.
  var abandoned: ContiguousArray<Abandonment> = []
  /// What is wrong with the change set itself.
  var refusal: StorageError?

  var parts: StoreParts { writer.parts }
  var catalogue: StoreCatalogue { writer.catalogue }
  var codes: RelationshipCodes { writer.catalogue.relationships }

  init(_ writer: ChangeSetWriter) {
    self.writer = writer
    changed = ChangedRows(writer)
  }

  /// Collects and checks; nil when the changes can be written.
  mutating func run(_ transaction: borrowing ReadTransaction) throws -> (any Error)? {
    guard let keyspace = parts.edges else {
      throw parts.damaged("The store has no keyspace for relationships.")
    }
    try requireCodes()
    collectFromRows()
    collect(try edgesToldFromBothEnds(transaction))
    if let refusal { return refusal }
    changes.settle()
    let settled = changes.count
    try checkEnds(transaction)
    if writer.changeSet.checksReferences, writer.changeSet.checksPartners { try checkPartners(transaction) }
    try followDeletes(keyspace, transaction)
    if let refusal { return refusal }
    // Hidden edges and those of deleted rows have come along, perhaps.
    if changes.count != settled { changes.settle() }
    if dangling.isEmpty || !writer.changeSet.checksReferences { return nil }
    return DanglingReferences(references: dangling)
  }

  mutating func refuse(_ detail: String) {
    if refusal != nil { return }
    refusal = StorageError(
      .invalid, operation: "commit", path: parts.environment.path, detail: detail)
  }

  /// A catalogue that lacks a code cannot be written with: its edges would be taken for another relationship's.
  private func requireCodes() throws {
    for entity in parts.schema.entities where writer.changedEntities.contains(entity.number) {
      for relationship in entity.relationships
      where !relationship.isTransient && codes.codes[relationship.number] == 0 {
        throw parts.damaged("The relationship \(relationship.qualifiedName) has no code.")
      }
    }
  }
}

// MARK: From rows

extension EdgeCollection {
  private mutating func collectFromRows() {
    collectFromInserts()
    let changeSet = writer.changeSet
    for place in changeSet.updates.indices {
      let entity = changeSet.updates[place].entity
      let member = Reference.bits(
        changeSet.updates[place].primaryKey, entityCode: catalogue.entityCodes[entity])
      for slot in codes.referenceSlots[entity]
      where changeSet.updates[place].changedSlots.contains(slot.slot) {
        let old = RowBytes.reference(writer.replaced[place].base, slot.entry)
        let new = RowBytes.reference(changeSet.updates[place].row.base, slot.entry)
        if old == new { continue }
        remove(slot, old, member)
        add(slot, new, member)
      }
    }
    // By ascending keys, so that the edges of each owner are in order, too.
    writer.forEachDeleted { key, row in
      let member = Reference.bits(key, entityCode: catalogue.entityCodes[row.entity])
      for slot in codes.referenceSlots[row.entity] {
        remove(slot, RowBytes.reference(row.base, slot.entry), member)
      }
    }
  }

  private mutating func collectFromInserts() {
    writer.changeSet.inserts.withUnsafeBufferPointer { inserts in
      var place = 0
      while place < inserts.count {
        let entity = inserts[place].entity
        let slots = codes.referenceSlots[entity]
        let code = catalogue.entityCodes[entity]
        if slots.isEmpty {
          while place < inserts.count, inserts[place].entity == entity { place += 1 }
          continue
        }
        slots.withUnsafeBufferPointer { slots in
          while place < inserts.count, inserts[place].entity == entity {
            let member = Reference.bits(inserts[place].primaryKey, entityCode: code)
            // `inserts` keeps the row alive. The bytes of a nil reference are 0.
            let base = inserts[place].row.base
            for index in slots.indices {
              add(slots[index], RowBytes.reference(base, slots[index].entry), member)
            }
            place += 1
          }
        }
      }
    }
  }

  @inline(__always)
  private mutating func add(_ slot: RelationshipCodes.ReferenceSlot, _ reference: UInt64, _ member: UInt64) {
    if reference == 0 { return }
    guard codes.allows(slot.relationship, reference), Reference.primaryKey(reference) != 0 else {
      return refuse(strangerText(slot.relationship, reference))
    }
    let target = Reference.primaryKey(reference)
    if slot.edgePrefix == 0 {
      // One-to-one: both rows refer, there are no edges.
      targets.append(
        Edge(
          prefix: EdgeKey.prefix(codes.codes[slot.relationship], target),
          member: Reference.bits(
            Reference.primaryKey(member), entityCode: Reference.entityCode(reference))))
    } else if slot.isOrdered {
      changes.placements.append(
        EdgePlacement(
          prefix: slot.edgePrefix | target, member: member, position: 0,
          sequence: UInt32(truncatingIfNeeded: changes.placements.count), kind: .derived))
    } else {
      changes.additions.append(Edge(prefix: slot.edgePrefix | target, member: member))
    }
  }

  @inline(__always)
  private mutating func remove(_ slot: RelationshipCodes.ReferenceSlot, _ reference: UInt64, _ member: UInt64)
  {
    if reference == 0 || slot.edgePrefix == 0 { return }
    changes.removals.append(Edge(prefix: slot.edgePrefix | Reference.primaryKey(reference), member: member))
  }

  private func strangerText(_ relationship: Int, _ reference: UInt64) -> String {
    "A reference of \(parts.schema.relationships[relationship].qualifiedName) leads to entity code "
      + "\(Reference.entityCode(reference)), which is not one of its destination's."
  }
}

// MARK: From what the change set says

extension EdgeCollection {
  private mutating func collect(_ edges: [EdgeChange]) {
    if edges.isEmpty { return }
    // Only then can a change set say two things of one edge.
    let isMixed = edges.contains { $0.kind == .remove } && edges.contains { $0.kind != .remove }
    // Unordered edges of which both may have been said.
    var mixed: ContiguousArray<EdgePlacement> = []
    for edge in edges {
      guard let relationship = checked(edge) else { continue }
      var change = EdgePlacement(
        prefix: EdgeKey.prefix(codes.codes[edge.relationship], edge.owner), member: edge.member,
        position: 0, sequence: UInt32(truncatingIfNeeded: changes.placements.count + mixed.count),
        kind: .append)
      switch edge.kind {
      case .remove: change.kind = .remove
      case .add(nil): break
      case .add(let position?):
        change.position = position
        change.kind = relationship.isEdgeStored ? .add : .move
      }
      if !relationship.isEdgeStored {
        // Who belongs to it is told by rows.
        if relationship.isOrdered, change.kind == .move { changes.placements.append(change) }
      } else if relationship.isOrdered {
        changes.placements.append(change)
      } else if isMixed {
        mixed.append(change)
      } else if change.kind == .remove {
        changes.removals.append(Edge(prefix: change.prefix, member: change.member))
      } else {
        changes.additions.append(Edge(prefix: change.prefix, member: change.member))
      }
    }
    EdgeSort.sort(&mixed)
    for place in mixed.indices {
      let edge = Edge(prefix: mixed[place].prefix, member: mixed[place].member)
      if place + 1 < mixed.count, mixed[place + 1].prefix == edge.prefix,
        mixed[place + 1].member == edge.member
      {
        continue
      }
      if mixed[place].kind == .remove {
        changes.removals.append(edge)
      } else {
        changes.additions.append(edge)
      }
    }
  }

  /// The relationship of an edge; nil for one that is not kept, or refused.
  private mutating func checked(_ edge: EdgeChange) -> RelationshipSchema? {
    let relationships = parts.schema.relationships
    guard relationships.indices.contains(edge.relationship) else {
      refuse("The schema has no relationship \(edge.relationship).")
      return nil
    }
    let relationship = relationships[edge.relationship]
    if relationship.isTransient { return nil }
    guard relationship.isToMany, edge.owner > 0, edge.owner < PrimaryKeyAllocator.limit,
      parts.rows[parts.schema.entities[relationship.owner].hierarchyNumber] != nil
    else {
      refuse("A change set cannot change \(relationship.qualifiedName) of p\(edge.owner) as edges.")
      return nil
    }
    guard codes.codes[relationship.number] != 0 else {
      refuse("The relationship \(relationship.qualifiedName) has no code.")
      return nil
    }
    if edge.kind != .remove, !codes.allows(edge.relationship, edge.member) {
      refuse(strangerText(edge.relationship, edge.member))
      return nil
    }
    return relationship
  }
}
