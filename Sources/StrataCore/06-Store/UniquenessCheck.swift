import Foundation

extension ChangeSetWriter {
  /// The pairs of rows that would share the values of a uniqueness constraint after the change set.
  ///
  /// Rows that the change set itself takes away do not count, so that values can be swapped. Rows with a nil
  /// among the values are never checked (SQL's nulls are distinct).
  func findViolations(_ transaction: borrowing ReadTransaction) throws -> [ConstraintViolation] {
    var violations: [ConstraintViolation] = []
    for (index, changes) in indexChanges where index.isUnique && !changes.insertions.isEmpty {
      guard let keyspace = parts.indexes[index.number] else { continue }
      try findTwins(index, changes, transaction, &violations)
      try transaction.withCursor(keyspace) { cursor in
        try findStored(index, changes, &cursor, transaction, &violations)
      }
    }
    return violations
  }

  /// Rows of the change set that have the same values: neighbours among the sorted entries.
  private func findTwins(
    _ index: IndexSchema, _ changes: IndexChanges, _ transaction: borrowing ReadTransaction,
    _ violations: inout [ConstraintViolation]
  ) throws {
    var first = 0
    for place in 1..<max(changes.insertions.count, 1) {
      guard changes.insertions.entries[place].isConstrained else { continue }
      guard IndexEntries.order(changes.insertions.value(first), changes.insertions.value(place)) == 0 else {
        first = place
        continue
      }
      let key = changes.insertions.primaryKey(place)
      guard changes.insertions.entries[place].isTruncated else {
        violations.append(violation(index, key, changes.insertions.primaryKey(first), isInStore: false))
        continue
      }
      for earlier in first..<place {
        let other = changes.insertions.primaryKey(earlier)
        if try sameValues(index, key, other, transaction) {
          violations.append(violation(index, key, other, isInStore: false))
          break
        }
      }
    }
  }

  /// Stored rows that stay and have the values of a changed row.
  private func findStored(
    _ index: IndexSchema, _ changes: IndexChanges, _ cursor: inout Cursor,
    _ transaction: borrowing ReadTransaction, _ violations: inout [ConstraintViolation]
  ) throws {
    // The smallest stored key that is not below the last value looked for; nil when there is none.
    var next = try cursor.first()
    for place in 0..<changes.insertions.count where changes.insertions.entries[place].isConstrained {
      let value = changes.insertions.value(place)
      if let found = next, IndexEntries.order(found.key, value) < 0 { next = try cursor.seek(atLeast: value) }
      guard let found = next else { return }
      if !IndexEntries.isEntry(found.key, of: value) { continue }
      let key = changes.insertions.primaryKey(place)
      let isTruncated = changes.insertions.entries[place].isTruncated
      var entry = try cursor.seek(atLeast: value)
      while let found = entry, IndexEntries.isEntry(found.key, of: value) {
        let other = PrimaryKeyBytes.last(of: found.key)
        if other != key, !changes.removals.contains(found.key),
          try !isTruncated || sameValues(index, key, other, transaction)
        {
          violations.append(violation(index, key, other, isInStore: true))
          break
        }
        entry = try cursor.next()
      }
    }
  }

  private func violation(
    _ index: IndexSchema, _ key: UInt64, _ other: UInt64, isInStore: Bool
  ) -> ConstraintViolation {
    let owner = parts.schema.entities[index.owner]
    return ConstraintViolation(
      entity: entity(of: key, owner: owner), entityName: owner.name,
      constraint: index.parts.map { owner.attributes[$0.slot].name }, primaryKey: key,
      otherPrimaryKey: other, isInStore: isInStore)
  }

  private func entity(of key: UInt64, owner: EntitySchema) -> Int {
    changedRow(key, hierarchy: owner.hierarchyNumber)?.entity ?? owner.number
  }

  /// Compares all values of two rows, as they will be after the change set. Only for cut keys.
  private func sameValues(
    _ index: IndexSchema, _ key: UInt64, _ other: UInt64, _ transaction: borrowing ReadTransaction
  ) throws -> Bool {
    for part in index.parts {
      let left = try finalValue(index, part.slot, key, transaction)
      let right = try finalValue(index, part.slot, other, transaction)
      if !left.isSame(right) { return false }
    }
    return true
  }

  private func finalValue(
    _ index: IndexSchema, _ slot: Int, _ key: UInt64, _ transaction: borrowing ReadTransaction
  ) throws -> AttributeValue {
    let hierarchy = parts.schema.entities[index.owner].hierarchyNumber
    if let change = changedRow(key, hierarchy: hierarchy) {
      return try reader.value(
        change.storedRow, slot, primaryKey: key, externals: change.externals, transaction)
    }
    let keyspace = try rows(hierarchy)
    guard let bytes = try PrimaryKeyBytes.with(key, { try transaction.get(keyspace, $0) }) else {
      return .null
    }
    return try reader.value(
      try reader.row(bytes, primaryKey: key), slot, primaryKey: key, externals: [], transaction)
  }

  private func changedRow(_ key: UInt64, hierarchy: Int) -> RowChange? {
    if changedRows == nil {
      var rows: [RowAddress: RowChange] = [:]
      for change in changeSet.inserts + changeSet.updates {
        rows[RowAddress(hierarchy: self.hierarchy(ofEntity: change.entity), key: change.primaryKey)] = change
      }
      changedRows = rows
    }
    return changedRows?[RowAddress(hierarchy: hierarchy, key: key)]
  }
}

/// Which row of a store.
struct RowAddress: Hashable {
  let hierarchy: Int
  let key: UInt64
}
