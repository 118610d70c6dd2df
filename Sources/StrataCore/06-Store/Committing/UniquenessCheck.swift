import Foundation

extension ChangeSetWriter {
  /// The pairs of rows that would share the values of a uniqueness constraint after the change set.
  ///
  /// Rows that the change set itself takes away do not count, so that values can be swapped. Rows with a nil
  /// among the values are never checked (SQL's nulls are distinct).
  func findViolations(_ transaction: borrowing ReadTransaction) throws -> [ConstraintViolation] {
    var violations: [ConstraintViolation] = []
    for (index, changes) in indexChanges where index.isUnique && !changes.insertions.isEmpty {
      guard let keyspace = catalogue.indexes.keyspaces[index.number] else { continue }
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
    // The full values of rows whose keys are cut, and the first row that has them.
    var owners: [[AttributeValue]: UInt64] = [:]
    for place in 0..<changes.insertions.count where changes.insertions.entries[place].isConstrained {
      let key = changes.insertions.primaryKey(place)
      let isFirst =
        place == 0
        || KeyOrder.order(changes.insertions.value(first), changes.insertions.value(place)) != 0
      if isFirst {
        first = place
        if !owners.isEmpty { owners = [:] }
      }
      if changes.insertions.entries[place].isTruncated {
        let values = try finalValues(index, key, transaction)
        if let other = owners[values] {
          violations.append(violation(index, key, other, isInStore: false))
        } else {
          owners[values] = key
        }
      } else if !isFirst {
        violations.append(violation(index, key, changes.insertions.primaryKey(first), isInStore: false))
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
    // The stored rows with the last cut key, by their full values.
    var cut: (place: Int, owners: [[AttributeValue]: UInt64])?
    for place in 0..<changes.insertions.count where changes.insertions.entries[place].isConstrained {
      let value = changes.insertions.value(place)
      let key = changes.insertions.primaryKey(place)
      if let found = next, KeyOrder.order(found.key, value) < 0 { next = try cursor.seek(atLeast: value) }
      guard let found = next else { return }
      if !IndexEntries.isEntry(found.key, of: value) { continue }
      guard changes.insertions.entries[place].isTruncated else {
        var entry = try cursor.seek(atLeast: value)
        while let found = entry, IndexEntries.isEntry(found.key, of: value) {
          let other = PrimaryKeyBytes.last(of: found.key)
          if other != key, !changes.removals.contains(found.key) {
            violations.append(violation(index, key, other, isInStore: true))
            break
          }
          entry = try cursor.next()
        }
        continue
      }
      if cut.map({ KeyOrder.order(changes.insertions.value($0.place), value) != 0 }) ?? true {
        var owners: [[AttributeValue]: UInt64] = [:]
        var entry = try cursor.seek(atLeast: value)
        while let found = entry, IndexEntries.isEntry(found.key, of: value) {
          let other = PrimaryKeyBytes.last(of: found.key)
          if !changes.removals.contains(found.key) {
            owners[try finalValues(index, other, transaction)] = other
          }
          entry = try cursor.next()
        }
        cut = (place, owners)
      }
      if let other = cut?.owners[try finalValues(index, key, transaction)], other != key {
        violations.append(violation(index, key, other, isInStore: true))
      }
    }
  }

  private func violation(
    _ index: IndexSchema, _ key: UInt64, _ other: UInt64, isInStore: Bool
  ) -> ConstraintViolation {
    let owner = parts.schema.entities[index.owner]
    return ConstraintViolation(
      entity: entity(of: key, owner: owner), index: index.number, entityName: owner.name,
      constraint: index.parts.map { owner.attributes[$0.slot].name }, primaryKey: key,
      otherPrimaryKey: other, isInStore: isInStore)
  }

  private func entity(of key: UInt64, owner: EntitySchema) -> Int {
    changedRow(key, hierarchy: owner.hierarchyNumber)?.entity ?? owner.number
  }

  /// The values of a row, as they will be after the change set. Only for cut keys.
  private func finalValues(_ index: IndexSchema, _ key: UInt64, _ transaction: borrowing ReadTransaction)
    throws
    -> [AttributeValue]
  {
    var values: [AttributeValue] = []
    for part in index.parts { values.append(try finalValue(index, part.slot, key, transaction)) }
    return values
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
    guard let bytes = try transaction.get(keyspace, key) else {
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
