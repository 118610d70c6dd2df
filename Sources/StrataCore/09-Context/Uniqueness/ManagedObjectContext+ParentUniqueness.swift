import Foundation

/// Uniqueness where a save goes to a parent, for those who ask for it (rule 156).
extension ManagedObjectContext {
  /// Looks for duplicates among what is about to be handed to the parent, in the contexts below and in the stores, and asks the merge
  /// policy about them until there are none.
  ///
  /// - Throws: `CoreDataError` 133021 with the conflicts, or what else the policy throws; `StorageError`.
  func checkUniqueness() throws {
    var last: [ConstraintViolation] = []
    for _ in 0..<Self.mostAttempts {
      var conflicts: [ConstraintConflict] = []
      var violations: [ConstraintViolation] = []
      for binding in coordinator.bindings {
        let found = try violationsBeneath(binding)
        violations += found.violations
        if found.violations.isEmpty { continue }
        conflicts += makeConflicts(ViolationGroups(found.violations, schema), found.beneath, in: binding)
      }
      if conflicts.isEmpty { return }
      if violations == last {
        throw CoreDataError.unresolved(conflicts, "The merge policy has left them as they were.")
      }
      last = violations
      try settle(conflicts)
    }
    throw conflictsGoOn
  }

  /// A record that is about to be handed over.
  private struct Candidate {
    let primaryKey: UInt64
    let entity: Int
  }

  /// What shares values with what: one pass over what is unsaved, and one over the index for each constraint.
  private func violationsBeneath(_ binding: StoreBinding) throws -> (
    violations: [ConstraintViolation], beneath: [RowAddress: (object: ManagedObject, row: RowSnapshot)]
  ) {
    var candidates: [Int: [(key: [AttributeValue], record: Candidate)]] = [:]
    func add(
      _ bound: BoundEntity, _ primaryKey: UInt64, changed: SlotBitmap?,
      _ value: (Int) throws -> AttributeValue
    ) rethrows {
      for index in bound.entity.indexes where index.isUnique && changed?.intersects(index.slots) ?? true {
        let key = try index.parts.map { try value($0.slot) }
        if key.contains(where: \.isNull) { continue }
        candidates[index.number, default: []].append(
          (key, Candidate(primaryKey: primaryKey, entity: bound.entityNumber)))
      }
    }
    for object in changes.inserted where object.home.storeIndex == binding.index {
      add(object.home, object.primaryKey, changed: nil) { object.currentValue($0) }
    }
    for object in changes.updated where object.hasDraft && object.home.storeIndex == binding.index {
      add(object.home, object.primaryKey, changed: object.slotsThatDiffer) { object.currentValue($0) }
    }
    for row in saving.frozenRows.isEmpty ? receivedRows(in: strata.top) : saving.frozenRows
    where row.kind != .delete && row.bound.storeIndex == binding.index {
      try add(row.bound, row.primaryKey, changed: row.kind == .insert ? nil : row.changedSlots) {
        try row.value($0, in: binding)
      }
    }
    var violations: [ConstraintViolation] = []
    var beneath: [RowAddress: (object: ManagedObject, row: RowSnapshot)] = [:]
    for (number, entries) in candidates.sorted(by: { $0.key < $1.key }) {
      let index = schema.indexes[number]
      var places: [[AttributeValue]: Int] = [:]
      var groups: [(key: [AttributeValue], records: [Candidate])] = []
      for (key, record) in entries {
        if let place = places[key] {
          groups[place].records.append(record)
        } else {
          places[key] = groups.count
          groups.append((key, [record]))
        }
      }
      let found = try KeyedRecords.findBeneath(groups.map(\.key), index, self, in: binding)
      for (group, other) in zip(groups, found) {
        let first = group.records[0]
        violations += group.records.dropFirst().map {
          violation(index, $0, first.primaryKey, isInStore: false)
        }
        guard let other, let row = other.snapshot else { continue }
        beneath[RowAddress(hierarchy: other.home.hierarchyNumber, key: other.primaryKey)] = (other, row)
        violations += group.records.map { violation(index, $0, other.primaryKey, isInStore: true) }
      }
    }
    return (violations, beneath)
  }

  private func violation(_ index: IndexSchema, _ record: Candidate, _ other: UInt64, isInStore: Bool)
    -> ConstraintViolation
  {
    let owner = schema.entities[index.owner]
    return ConstraintViolation(
      entity: record.entity, index: index.number, entityName: owner.name,
      constraint: index.parts.map { owner.attributes[$0.slot].name }, primaryKey: record.primaryKey,
      otherPrimaryKey: other, isInStore: isInStore)
  }
}
