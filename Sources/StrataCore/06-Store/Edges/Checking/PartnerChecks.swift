import Foundation

// One-to-one: both rows refer to each other, and nothing else records it.

extension EdgeCollection {
  /// A reference of a one-to-one relationship that the change set makes or takes away.
  private struct Partnership {
    let relationship: Int
    let source: UInt64
    let target: UInt64
    let isNew: Bool
  }

  private struct Ends: Hashable {
    let link: Link
    let isNew: Bool
  }

  /// Reports references to rows that do not, or no longer, refer back: one end was changed here, the other by another context.
  ///
  /// Usually both ends are in the change set and cancel each other out, and no row is looked up.
  mutating func checkPartners(_ transaction: borrowing ReadTransaction) throws {
    let partnerships = partnerships()
    let relationships = parts.schema.relationships
    /// Nil for a row that refers to itself.
    func ends(_ one: Partnership) -> Ends? {
      let inverse = relationships[one.relationship].inverse ?? one.relationship
      if inverse == one.relationship, one.source == one.target { return nil }
      let link = Link(one.relationship, inverse: inverse, one.source, one.target)
      return Ends(link: link, isNew: one.isNew)
    }
    if partnerships.reduce(0, { $0 ^ (ends($1).map { $0.link.fingerprint(!$0.isNew) } ?? 0) }) == 0 { return }
    var told: [Ends: Int] = [:]
    for one in partnerships { if let ends = ends(one) { told[ends, default: 0] += 1 } }
    for one in partnerships {
      guard let ends = ends(one), told[ends] == 1, let inverse = relationships[one.relationship].inverse,
        let refersBack = try refers(one.target, to: one.source, by: inverse, transaction)
      else { continue }
      if one.isNew, !refersBack {
        report(one.relationship, source: one.source, target: one.target, isOneSided: true)
      } else if !one.isNew, refersBack {
        report(inverse, source: one.target, target: one.source, isOneSided: true)
      }
    }
  }

  private func partnerships() -> [Partnership] {
    var result: [Partnership] = []
    let changeSet = writer.changeSet
    changeSet.inserts.withUnsafeBufferPointer { inserts in
      var (last, slots) = (-1, [RelationshipCodes.ReferenceSlot]())
      for place in inserts.indices {
        // Objects of one entity mostly come together, and most have no partners.
        if inserts[place].entity != last {
          last = inserts[place].entity
          slots = codes.referenceSlots[last].filter { $0.edgePrefix == 0 }
        }
        for slot in slots {
          // `inserts` keeps the row alive.
          let new = RowBytes.reference(inserts[place].row.base, slot.entry)
          if new == 0 { continue }
          result.append(
            Partnership(
              relationship: slot.relationship, source: inserts[place].primaryKey,
              target: Reference.primaryKey(new), isNew: true))
        }
      }
    }
    for (place, update) in changeSet.updates.enumerated() {
      for slot in codes.referenceSlots[update.entity]
      where slot.edgePrefix == 0 && update.changedSlots.contains(slot.slot) {
        let old = RowBytes.reference(writer.replaced[place].base, slot.entry)
        let new = RowBytes.reference(update.row.base, slot.entry)
        if old == new { continue }
        for (reference, isNew) in [(old, false), (new, true)] where reference != 0 {
          result.append(
            Partnership(
              relationship: slot.relationship, source: update.primaryKey,
              target: Reference.primaryKey(reference), isNew: isNew))
        }
      }
    }
    return result
  }

  /// Whether the row refers to `target` after the change set, when the change set itself does not say so; nil when it is not there.
  private func refers(
    _ key: UInt64, to target: UInt64, by relationship: Int, _ transaction: borrowing ReadTransaction
  ) throws -> Bool? {
    let schema = parts.schema.relationships[relationship]
    let hierarchy = parts.schema.entities[schema.owner].hierarchyNumber
    var deletes = ReferenceFinder(changed.deletes[hierarchy])
    if deletes.find(key) != nil { return nil }
    var inserts = ReferenceFinder(changed.inserts[hierarchy])
    if inserts.find(key) != nil { return false }
    var updates = ReferenceFinder(changed.updates[hierarchy])
    if updates.find(key) != nil {
      let update = writer.changeSet.updates[changed.updatePlaces[hierarchy][updates.place]]
      let slot = codes.referenceSlots[update.entity].first { $0.relationship == relationship }
      guard let slot else { return nil }
      return Reference.primaryKey(RowBytes.reference(update.row.base, slot.entry)) == target
    }
    guard let stored = try writer.reader.row(key, of: hierarchy, transaction),
      let slot = codes.referenceSlots[stored.entity].first(where: { $0.relationship == relationship })
    else { return nil }
    return Reference.primaryKey(RowBytes.reference(stored.base, slot.entry)) == target
  }
}
